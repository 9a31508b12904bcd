import numpy as np
import pytest

from rlselect import ActorCriticPredictor


def linear(n=60, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 2.0 * X[:, 0] - X[:, 3] + 0.5 * rng.standard_normal(n)


def naive(X, y, *, batch, iterations, rng, standardised=False, step=1.0, ridge=0.0, most=None):
    """Algorithm 2 with the linear predictor by plain loops; thetas of all iterations."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    n, p = Z.shape
    rng.integers(2**31 - 1)  # the seed that predictors of chance would have
    theta, baseline, known, trail = np.full(p, 0.5), 0.0, {}, []
    for _ in range(iterations):
        actions = [tuple(row) for row in rng.random((batch, p)) < theta]
        fresh = list(dict.fromkeys(a for a in actions if a not in known))
        if fresh:
            splits = np.argsort(rng.random((len(fresh), n)), axis=1)
        for action, order in zip(fresh, splits, strict=True) if fresh else []:
            judged = order[: round(0.3 * n)]
            learnt = np.setdiff1d(np.arange(n), judged)
            A = np.column_stack([np.ones(n), Z[:, list(action)]])
            penalty = np.diag([0.0] + [ridge + 1e-9 * n] * (A.shape[1] - 1))
            inner = A[learnt].T @ A[learnt] + penalty
            coef = np.linalg.solve(inner, A[learnt].T @ y[learnt])
            known[action] = -np.mean((y[judged] - A[judged] @ coef) ** 2)
        rewards = np.array([known[a] for a in actions])
        baseline = 0.05 * baseline + 0.95 * rewards.mean()
        advantage = (rewards - rewards.mean()) / rewards.std() if standardised else rewards - baseline
        S = np.array(
            [[a / t - (1 - a) / (1 - t) for a, t in zip(row, theta, strict=True)] for row in actions]
        )
        w = np.linalg.solve(S.T @ S / batch + 0.01 * np.eye(p), S.T @ advantage / batch)
        if most is not None and np.linalg.norm(w) > most:
            w = w * most / np.linalg.norm(w)
        theta = np.clip(theta + step * w, 0.02, 0.98)
        trail.append(theta)
    return np.array(trail)


@pytest.mark.parametrize(
    ("settings", "naive_settings"),
    [
        ({}, {}),
        ({"reading": "published"}, {"standardised": True, "step": 0.1, "ridge": 20.0}),
        ({"most": 0.2, "step": 0.5}, {"most": 0.2, "step": 0.5}),
    ],
)
def test_algorithm_2_is_that_of_plain_loops(settings, naive_settings):
    X, y = linear()
    made = ActorCriticPredictor.paper(
        predictor="linear", batch_size=16, max_iter=12, tolerance=0.0, random_state=3, **settings
    )
    found = made.fit(X, y).path_["theta"]
    expected = naive(X, y, batch=16, iterations=12, rng=np.random.default_rng(3), **naive_settings)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_published_reading_finds_what_the_literal_one_does_not():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 100))
    y = X[:, :8] @ np.tile([2.0, -2.0], 4) + rng.standard_normal(200)
    options = {"predictor": "linear", "max_iter": 150, "random_state": 0}
    published = ActorCriticPredictor.paper(reading="published", **options).fit(X, y)
    assert np.flatnonzero(published.support_).tolist() == list(range(8))


def test_readings_and_a_ridge_without_effect_are_sentences():
    with pytest.raises(ValueError, match="reading='other' was given; it must be 'literal' or 'published'"):
        ActorCriticPredictor.paper(reading="other")
    assert ActorCriticPredictor.paper(reading="published").search.ridge == 0.0
    with pytest.raises(ValueError, match=r"ridge=1\.0 has no effect with predictor='network'"):
        ActorCriticPredictor.paper(ridge=1.0, max_iter=1).fit(*linear())


def test_the_summary_says_what_theta_is():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = X[:, 0] + 0.3 * rng.standard_normal(60)
    paper = ActorCriticPredictor.paper(predictor="linear", reading="published", max_iter=60, random_state=0)
    assert "at most 0.98" in str(paper.fit(X, y).summary())
    assert "draws a variable" not in str(ActorCriticPredictor(random_state=0).fit(X, y).summary())
