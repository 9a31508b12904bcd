"""Actions, batches and rewards of the paper's search: equations (2) to (4), each against a naive fit."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from rlselect.subset.revs._sarsa_reward import (
    RIDGE_LIKELIHOOD,
    Environment,
    RewardSet,
    StageRows,
    paired_scores,
)


def regression(n, p, coef, seed, family="gaussian"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, : len(coef)] @ np.asarray(coef, dtype=float)
    if family == "binomial":
        return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    if family == "poisson":
        return X, rng.poisson(np.exp(eta)).astype(float)
    return X, 1.0 + eta + rng.standard_normal(n)


def environment(X, y, *, sizes=(20, 20), seed=0, price=0.2, family="gaussian", units=None, **masks):
    units = [np.array([j]) for j in range(X.shape[1])] if units is None else units
    return Environment(
        lambda rows: (X[rows], y[rows], None, None),
        len(y),
        X.shape[1],
        family=family,
        units=units,
        allowed=masks.get("allowed", np.ones(len(units), dtype=bool)),
        always=masks.get("always", np.zeros(len(units), dtype=bool)),
        price=price,
        batch_sizes=sizes,
        rng=np.random.default_rng(seed),
    )


def naive_mse(X, y, train, valid, columns):
    A, Av = (np.column_stack([np.ones(len(rows)), X[np.ix_(rows, columns)]]) for rows in (train, valid))
    coef = np.linalg.lstsq(A, y[train], rcond=None)[0]
    return float(np.mean((y[valid] - Av @ coef) ** 2))


# ---------------------------------------------------------------- equations (2)-(4): actions and transitions


def test_actions_and_transitions():
    X, y = regression(50, 3, [1.0], 0)
    world = environment(X, y)
    assert world.n_actions == 4
    for state in itertools.product([False, True], repeat=3):
        state = np.array(state)
        reached = [world.after(state, action) for action in range(4)]
        for j in range(3):
            assert np.flatnonzero(reached[j] != state).tolist() == [j]
            assert world.signed(state, j) == (-(j + 1) if state[j] else j + 1)
        np.testing.assert_array_equal(reached[3], state)
        assert world.signed(state, 3) == 0


def test_forced_and_forbidden_units_are_no_actions():
    X, y = regression(50, 4, [1.0], 0)
    allowed, always = np.array([True, False, True, True]), np.array([False, False, True, False])
    world = environment(X, y, allowed=allowed, always=always)
    assert world.n_actions == 3
    assert [world.signed(np.zeros(2, dtype=bool), a) for a in range(3)] == [1, 4, 0]


# ---------------------------------------------------------------- equation (3): rewards


@pytest.mark.parametrize("state", [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
@pytest.mark.parametrize("action", [0, 1, 2, 3])
def test_reward_is_the_decline_in_mse_less_the_signed_price(state, action):
    X, y = regression(100, 3, [1.0, -0.5], 1)
    state = np.array(state, dtype=bool)
    world, twin = environment(X, y, seed=5, price=0.3), environment(X, y, seed=5)
    step = world.step(state, action)
    if action == 3:
        assert step.reward == 0.0
        assert world.n_read == 0
        return
    train, valid = twin.draw_rows()
    following = world.after(state, action)
    before, after = (naive_mse(X, y, train, valid, np.flatnonzero(s)) for s in (state, following))
    sign = -1.0 if state[action] else 1.0
    assert step.reward == pytest.approx(before - after - 0.3 * sign, abs=1e-6)
    assert (step.before, step.after) == pytest.approx((-before, -after), abs=1e-6)


def test_reward_by_hand():
    """Train x = 0..3, y = 0,0,2,2 (slope .8 about the mean 1); valid x = 1.5, 2.5, y = 1, 3."""
    train = StageRows(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.0, 2.0, 2.0]), None, None)
    valid = StageRows(np.array([[1.5], [2.5]]), np.array([1.0, 3.0]), None, None)
    without, with_it = paired_scores("gaussian", train, valid, 0)
    assert without == pytest.approx(-(0.0 + 4.0) / 2)
    assert with_it == pytest.approx(-(0.0 + 1.2**2) / 2, abs=1e-6)


def naive_likelihood(family, train, valid, k):
    """Penalised fit by a general optimiser, on columns standardised by the training rows."""
    mean, scale = train.X.mean(axis=0), train.X.std(axis=0)
    Z, Zv = (np.column_stack([np.ones(len(b.y)), ((b.X - mean) / scale)[:, :k]]) for b in (train, valid))
    shift, shift_v = (0.0 if b.offset is None else b.offset for b in (train, valid))

    def mean_log_likelihood(y, eta):
        return np.mean(y * eta - (np.logaddexp(0, eta) if family == "binomial" else np.exp(eta)))

    def loss(coef):
        return -mean_log_likelihood(train.y, Z @ coef + shift) + RIDGE_LIKELIHOOD / 2 * np.sum(coef[1:] ** 2)

    coef = minimize(loss, np.zeros(k + 1), method="BFGS", options={"gtol": 1e-7}).x
    return mean_log_likelihood(valid.y, Zv @ coef + shift_v)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("with_offset", [False, True])
def test_likelihood_reward_is_the_increase_in_mean_log_likelihood(family, with_offset):
    X, y = regression(120, 4, [0.8, -0.5], 2, family)
    offset = 0.3 * X[:, 3] if with_offset else None
    whole = StageRows(3.0 + 10.0 * X[:, :3], y, None, offset)
    train, valid = whole.part(slice(None, 80)), whole.part(slice(80, None))
    got = paired_scores(family, train, valid, 2)
    expected = [naive_likelihood(family, train, valid, k) for k in (2, 3)]
    assert got == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_weight_k_is_a_row_repeated_k_times(family):
    X, y = regression(90, 3, [0.7], 3, family)
    weight = np.random.default_rng(0).integers(0, 4, 90)
    offset = 0.1 * X[:, 1]
    weighted = StageRows(X, y, weight.astype(float), offset)
    repeat = np.repeat(np.arange(90), weight)
    cut = int(weight[:60].sum())
    repeated = StageRows(X[repeat], y[repeat], None, offset[repeat])
    got = paired_scores(family, weighted.part(slice(None, 60)), weighted.part(slice(60, None)), 2)
    expected = paired_scores(family, repeated.part(slice(None, cut)), repeated.part(slice(cut, None)), 2)
    assert got == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_offset_of_a_gaussian_is_subtracted_and_a_constant_offset_changes_nothing(family):
    X, y = regression(90, 3, [0.7], 4, family)
    plain = StageRows(X, y, None, None)
    shifted = StageRows(X, y + 2.0 if family == "gaussian" else y, None, np.full(90, 2.0))
    scores = [
        paired_scores(family, b.part(slice(None, 60)), b.part(slice(60, None)), 2) for b in (plain, shifted)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize(
    "trouble", ["separated", "aliased", "wide", "constant", "one class", "scales", "no weight"]
)
def test_troubled_batches_have_a_finite_reward(family, trouble):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 70 if trouble == "wide" else 4))
    y = (X[:, 0] > 0).astype(float)
    weight = None
    if trouble == "aliased":
        X[:, 3] = X[:, 2] = X[:, 1]
    elif trouble == "constant":
        X[:, 1], X[:, 3] = 7.0, 1e9
    elif trouble == "one class":
        y[:] = 0.0
    elif trouble == "scales":
        X = X * np.array([1e-200, 1e150, 1e-8, 1.0]) + np.array([0.0, 0.0, 0.0, 1e8])
    elif trouble == "no weight":
        weight = np.zeros(60)
    whole = StageRows(X, y, weight, None)
    scores = paired_scores(family, whole.part(slice(None, 30)), whole.part(slice(30, None)), X.shape[1] - 1)
    assert np.all(np.isfinite(scores))


def test_scale_and_origin_of_a_column_do_not_matter():
    X, y = regression(100, 3, [1.0], 6)
    scaled = X * np.array([1e-100, 1e100, 1.0]) + np.array([0.0, 0.0, 1e6])
    scores = [
        paired_scores("gaussian", b.part(slice(None, 50)), b.part(slice(50, None)), 2)
        for b in (StageRows(X, y, None, None), StageRows(scaled, y, None, None))
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-7)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("where", ["X", "y"])
def test_missing_values_are_named(family, where):
    X, y = regression(40, 2, [1.0], 7, family)
    if where == "X":
        X[:, 0] = np.nan
    else:
        y[:] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        environment(X, y, family=family).step(np.array([True, False]), 1)


def test_a_reward_beyond_the_floats_is_the_worst_one():
    X, y = regression(40, 2, [1.0], 7)
    assert environment(X, 1e200 * y).step(np.zeros(2, dtype=bool), 1).reward == -1e100


def test_a_group_is_one_action_with_one_price():
    X, y = regression(200, 6, [0.8, 0.8, 0.0, 0.0, 0.0, 1.0], 6)
    units = [np.array([0, 1]), np.array([2, 3, 4]), np.array([5])]
    world = environment(X, y, units=units, seed=3, price=0.2)
    twin = environment(X, y, units=units, seed=3)
    step = world.step(np.array([False, False, True]), 0)
    rows = twin.draw_rows()
    expected = naive_mse(X, y, *rows, [5]) - naive_mse(X, y, *rows, [5, 0, 1]) - 0.2
    assert step.reward == pytest.approx(expected, abs=1e-6)


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ("n", "sizes", "expected", "disjoint"),
    [
        (1000, (200, 200), (200, 200), True),
        (400, (200, 200), (200, 200), True),
        (399, (200, 200), (200, 200), False),
        (200, (150, 150), (150, 150), False),
        (200, (200, 200), (150, 150), False),
        (200, (150, 50), (150, 50), True),
        (2, (200, 200), (1, 1), True),
    ],
)
def test_batches_are_disjoint_where_rows_allow(n, sizes, expected, disjoint):
    X, y = regression(n, 1, [1.0], 0)
    world = environment(X, y, sizes=sizes)
    overlaps = []
    for _ in range(30):
        train, valid = world.draw_rows()
        assert (len(train), len(valid)) == expected
        assert len(np.unique(train)) == len(train)
        assert len(np.unique(valid)) == len(valid)
        overlaps.append(len(np.intersect1d(train, valid)))
    if disjoint:
        assert max(overlaps) == 0
    else:
        # Independent draws share n_train * n_valid / n rows on average.
        assert np.mean(overlaps) == pytest.approx(expected[0] * expected[1] / n, rel=0.05)


# ---------------------------------------------------------------- the reward set


def test_reward_set_quantiles_are_numpy_quantiles():
    rng = np.random.default_rng(0)
    rewards, values = RewardSet(), []
    assert rewards.quantile(0.6) == -math.inf
    for _ in range(200):
        values.append(round(rng.standard_normal(), 1))
        rewards.add(values[-1])
        for tau in (0.0, 0.37, 0.6, 0.95, 1.0):
            assert rewards.quantile(tau) == pytest.approx(np.quantile(values, tau), abs=1e-12)
    assert len(rewards) == 200


def test_a_window_of_rewards_forgets_the_oldest():
    rng, rewards, seen = np.random.default_rng(3), RewardSet(window=7), []
    for _ in range(40):
        seen.append(float(rng.integers(5)))
        rewards.add(seen[-1])
        assert len(rewards) == min(len(seen), 7)
        for tau in (0.0, 0.35, 0.9, 1.0):
            assert rewards.quantile(tau) == pytest.approx(np.quantile(seen[-7:], tau))
