"""Outcomes whose rows share levels, against explicit levels and finite differences."""

import numpy as np
import pytest

from rlselect.kernels import (
    ClassOutcome,
    ClusterLevels,
    CourseLevels,
    CoxOutcome,
    OrdinalOutcome,
    SharedOutcome,
    Spread,
    _shared_outcomes,
    learn_shared,
)

N, K = 48, 3
CODE = np.repeat(np.arange(8), 6)


def outcome_of(name, seed=0):
    rng = np.random.default_rng(seed)
    weight, offset = rng.integers(0, 3, N).astype(float), 0.3 * rng.standard_normal(N)
    codes = np.append(np.arange(3), rng.integers(0, 3, N - 3))
    if name == "class":
        return ClassOutcome(codes, 3, weight)
    if name == "ordinal":
        return OrdinalOutcome(codes, 3, weight, offset)
    time, event = rng.integers(1, 9, N).astype(float), rng.random(N) < 0.7
    return CoxOutcome(time, event, weight, offset, stratum=rng.integers(0, 2, N))


def levels_of(name):
    if name == "clusters":
        return ClusterLevels(CODE), Spread(0.7)
    return CourseLevels(CODE % 2), Spread(0.7, 0.6)


def columns_of(outcome, seed=1):
    X = np.random.default_rng(seed).standard_normal((K, N))
    return X if outcome.order is None else X[:, outcome.order]


def precision_of(levels, spread):
    """Q of the nodes, dense."""
    one = np.eye(levels.n_nodes)
    return np.array([levels.pull(v, spread) for v in one])


@pytest.mark.parametrize("shared", ["clusters", "series"])
@pytest.mark.parametrize("name", ["class", "ordinal", "cox"])
def test_derivatives_are_those_of_levels_at_their_mode(name, shared, monkeypatch):
    monkeypatch.setattr(_shared_outcomes, "_DECREMENT", 1e-20)
    plain, (levels, spread) = outcome_of(name), levels_of(shared)
    outcome, A = SharedOutcome(plain, levels, spread), columns_of(plain)
    f, q = outcome.n_own, outcome.n_predictors
    coef = 0.2 * np.random.default_rng(2).standard_normal(K * q)
    theta = np.concatenate([outcome.start(), coef])

    def gradient(at):
        point = outcome.at(at[:f], at[f:].reshape(K, q).T @ A)
        return point, np.concatenate([point.own_score, (A @ point.score.T).ravel()])

    point, score = gradient(theta)
    steps = 1e-4 * np.eye(len(theta))
    found = [(gradient(theta + s)[0].value - gradient(theta - s)[0].value) / 2e-4 for s in steps]
    np.testing.assert_allclose(score, found, atol=1e-5)
    numeric = [-(gradient(theta + s)[1] - gradient(theta - s)[1]) / 2e-4 for s in steps]
    hessian = point.hessian(A)
    np.testing.assert_allclose(hessian, numeric, atol=2e-3)
    own = hessian[f:, f:].reshape(K, q, K, q)
    np.testing.assert_allclose(point.squares(A), np.einsum("iaib->iab", own), atol=1e-10)


@pytest.mark.parametrize("shared", ["clusters", "series"])
@pytest.mark.parametrize("name", ["class", "ordinal", "cox"])
def test_volume_is_that_of_explicit_levels(name, shared):
    plain, (levels, spread) = outcome_of(name), levels_of(shared)
    outcome = SharedOutcome(plain, levels, spread)
    q, eta = outcome.n_predictors, np.zeros((outcome.n_predictors, N))
    point = outcome.at(outcome.start(), eta)
    there, level = outcome.settled(outcome.start(), eta)
    # one indicator per level and predictor
    order = np.arange(N) if plain.order is None else plain.order
    Z = levels.to_rows(np.eye(levels.n_nodes))[order].T
    bent = np.einsum("abkn,ln->kbla", there.bend(Z), Z).reshape(len(Z) * q, len(Z) * q)
    Q = np.kron(precision_of(levels, spread), np.eye(q))
    volume = np.linalg.slogdet(bent + Q)[1] - np.linalg.slogdet(Q)[1]
    assert point.volume == pytest.approx(volume, abs=1e-8)
    back = np.argsort(order)
    v = levels.collect(level[:, back].T) / levels.collect(np.ones((N, 1)))
    assert point.value == pytest.approx(
        there.value - 0.5 * v.T.ravel() @ np.kron(np.eye(q), Q[::q, ::q]) @ v.T.ravel()
    )


def test_many_levels_of_a_partial_likelihood_are_near_those_that_meet(monkeypatch):
    plain, (levels, spread) = outcome_of("cox"), levels_of("clusters")
    A = columns_of(plain)
    exact = SharedOutcome(plain, levels, spread).at(np.empty(0), np.zeros((1, N)))
    monkeypatch.setattr(_shared_outcomes, "_MOST_MET", 0)
    near = SharedOutcome(plain, levels, spread).at(np.empty(0), np.zeros((1, N)))
    assert near.value == pytest.approx(exact.value, abs=1e-6)
    np.testing.assert_allclose(near.score, exact.score, atol=1e-3)
    # never more is taken off, and little less
    alone = plain.at(np.empty(0), np.zeros((1, N))).squares(A)[:, 0, 0]
    one, other = near.squares(A)[:, 0, 0], exact.squares(A)[:, 0, 0]
    assert np.all((one >= other) & (one - other < 0.35 * (alone - other)))


@pytest.mark.parametrize("name", ["class", "ordinal", "cox"])
def test_levels_of_no_variance_are_none(name):
    plain, (levels, _) = outcome_of(name), levels_of("clusters")
    A, eta = columns_of(plain), np.zeros((plain.n_predictors, N))
    shared, alone = (o.at(o.start(), eta) for o in (SharedOutcome(plain, levels, Spread(0.0)), plain))
    assert shared.value == pytest.approx(alone.value, abs=1e-3)
    np.testing.assert_allclose(shared.hessian(A), alone.hessian(A), atol=1e-3)
    assert shared.volume == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("name", ["class", "ordinal", "cox"])
@pytest.mark.parametrize("size", [0.0, 1.5])
def test_what_rows_share_is_learnt(name, size):
    rng = np.random.default_rng(3)
    code = np.repeat(np.arange(60), 12)
    n, q = len(code), 3 if name == "class" else 1
    eta = np.sqrt(size) * rng.standard_normal((60, q))[code]
    if name == "class":
        plain = ClassOutcome(np.argmax(eta + rng.gumbel(size=(n, 3)), axis=1), 3, np.ones(n))
    elif name == "ordinal":
        codes = np.digitize(eta[:, 0] + rng.logistic(size=n), [-1, 0, 1])
        plain = OrdinalOutcome(codes, 4, np.ones(n), np.zeros(n))
    else:
        time, end = rng.exponential(np.exp(-eta[:, 0])), rng.exponential(size=n) * 3
        plain = CoxOutcome(np.minimum(time, end), time <= end, np.ones(n), np.zeros(n))
    outcome = SharedOutcome(plain, ClusterLevels(code), Spread(0.4))
    for _ in range(6):
        outcome.spread, noise = learn_shared(outcome, np.empty((0, n)), outcome.start(), n)
    assert noise > 1.0
    assert outcome.spread.size == pytest.approx(size, abs=0.7 if size else 0.1)
