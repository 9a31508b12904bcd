"""ActorCriticPredictor as its users meet it."""

import numpy as np
import pytest

from rlselect import ActorCriticPredictor


def linear_problem(n=120, p=15, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :3] @ np.array([1.0, -1.0, 1.0]) + 0.5 * rng.standard_normal(n)


def product_problem(n=150, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + X[:, 3] * X[:, 7] + 0.3 * rng.standard_normal(n)


def selected(fitted):
    return np.flatnonzero(fitted.support_).tolist()


def test_a_linear_truth_is_found_by_the_linear_predictor():
    X, y = linear_problem()
    fitted = ActorCriticPredictor(random_state=0).fit(X, y)
    assert selected(fitted) == [0, 1, 2]
    assert fitted.predictor_.name == "linear"
    assert fitted.stop_reason_ == "converged"
    assert fitted.score(X, y) > 0.85
    assert fitted.transform(X).shape == (120, 3)
    assert sorted(fitted.ranking_) == list(range(1, 16))
    assert set(np.argsort(fitted.ranking_)[:3]) == {0, 1, 2}


def test_partners_without_a_marginal_effect_are_found_by_the_kernel():
    X, y = product_problem()
    fitted = ActorCriticPredictor(random_state=0).fit(X, y)
    assert selected(fitted) == [0, 3, 7]
    assert fitted.predictor_.name == "kernel"
    assert fitted.predictor_.scores["kernel"] < fitted.predictor_.scores["linear"]
    fresh, truth = product_problem(seed=1)
    assert fitted.score(fresh, truth) > 0.8


def test_the_papers_search_with_a_linear_predictor():
    X, y = linear_problem()
    fitted = ActorCriticPredictor.paper(predictor="linear", max_iter=60, random_state=0).fit(X, y)
    assert {0, 1, 2} <= set(np.argsort(-fitted.inclusion_)[:4])
    assert fitted.path_["theta"].shape == (60, 15)
    assert fitted.path_["theta"].min() >= 0.02
    assert fitted.path_["theta"].max() <= 0.98


@pytest.mark.parametrize("kind", ["binary", "several"])
def test_classes(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    eta = 3.0 * (X[:, 1] - X[:, 4])
    y = (eta > 0).astype(int) if kind == "binary" else np.digitize(eta, [-2.0, 2.0])
    labels = np.array(["a", "b", "c"])[y]
    fitted = ActorCriticPredictor(random_state=0).fit(X, labels)
    assert selected(fitted) == [1, 4]
    assert set(fitted.predict(X)) == set(labels)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    assert fitted.score(X, labels) > 0.85


def test_a_kernel_whose_trial_useless_columns_spoil_has_a_second_one():
    rng = np.random.default_rng([1023001, 1])
    X = np.column_stack([rng.standard_normal((200, 2)), rng.standard_normal((200, 18))])
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    y += y.std() / 3 * rng.standard_normal(200)
    fitted = ActorCriticPredictor(random_state=1023001).fit(X, y)
    assert fitted.predictor_.name == "kernel"
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), [0, 1])
