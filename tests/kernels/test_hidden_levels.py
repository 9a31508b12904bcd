"""Hidden levels against dense covariance matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rlselect.kernels import ClusterLevels, CourseLevels, Spread, learn_spread, settle_levels, turn_constant
from rlselect.kernels._hidden_levels import level_likelihood

CODE = np.array([2, 0, 0, 1, 2, 2, 1, 0, 3, 2, 0, 1])
WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 3.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.5])
KINDS = [
    (ClusterLevels(CODE), Spread(0.7)),
    (CourseLevels(np.zeros(12, dtype=int)), Spread(1.4, 0.6)),
    (CourseLevels(CODE), Spread(0.4, -0.3)),
]


def covariance(levels, spread):
    """Of the levels of the rows, by definition."""
    n = len(CODE)
    cov = np.zeros((n, n))
    code = np.zeros(n, dtype=int) if levels is KINDS[1][0] else CODE
    place = np.array([np.count_nonzero(code[:i] == code[i]) for i in range(n)])
    for i in range(n):
        for j in range(n):
            if code[i] == code[j]:
                cov[i, j] = spread.size * spread.memory ** abs(int(place[i]) - int(place[j]))
    return cov


def columns(m=3):
    return np.random.default_rng(0).normal(size=(12, m)) + 1.0


@pytest.mark.parametrize(("levels", "spread"), KINDS)
def test_products_of_whitened_rows_are_those_of_the_inverse_covariance(levels, spread):
    X = columns()
    white = levels.whiten(X, WEIGHT, spread)
    inverse = np.linalg.inv(np.diag(1.0 / WEIGHT) + covariance(levels, spread))
    np.testing.assert_allclose((white * WEIGHT[:, None]).T @ white, X.T @ inverse @ X, rtol=1e-9)


@pytest.mark.parametrize(("levels", "spread"), KINDS)
def test_factor_eliminates_the_levels(levels, spread):
    X, root = columns(), np.sqrt(WEIGHT)
    cov = covariance(levels, spread)
    factor = levels.factor(WEIGHT, spread)
    logdet = np.linalg.slogdet(np.eye(12) + root[:, None] * cov * root)[1]
    assert factor.logdet == pytest.approx(logdet, rel=1e-9)
    half = factor.half(levels.collect(X * WEIGHT[:, None]))
    left = (X * WEIGHT[:, None]).T @ X - half.T @ half
    inverse = np.linalg.inv(np.diag(1.0 / WEIGHT) + cov)
    np.testing.assert_allclose(left, X.T @ inverse @ X, rtol=1e-8)
    v = np.arange(1.0, levels.n_nodes + 1)
    # (Z'WZ + Q) x = v
    x = factor.solve(v)
    np.testing.assert_allclose(
        levels.collect(WEIGHT * levels.to_rows(x)) + levels.pull(x, spread), v, rtol=1e-8
    )


def test_a_weight_says_the_same_as_copies():
    X, weight = columns(), np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 0.0])
    copies = np.repeat(np.arange(12), weight.astype(int))
    few, many = ClusterLevels(CODE), ClusterLevels(CODE[copies])
    spread = Spread(0.7)
    one = few.whiten(X, weight, spread)
    other = many.whiten(X[copies], np.ones(len(copies)), spread)
    np.testing.assert_allclose((one * weight[:, None]).T @ one, other.T @ other)
    np.testing.assert_allclose(
        level_likelihood(few, spread, X, X[:, 0] ** 2, weight, known_noise=False),
        level_likelihood(many, spread, X[copies], X[copies, 0] ** 2, np.ones(len(copies)), known_noise=False),
    )


@pytest.mark.parametrize(("levels", "spread"), KINDS)
def test_turned_rows_keep_their_products_and_have_a_constant(levels, spread):
    X = np.column_stack([columns(), np.ones(12)])
    white = levels.whiten(X, WEIGHT, spread)
    turned, stretch = turn_constant(white, white[:, -1], WEIGHT)
    np.testing.assert_allclose(turned[:, -1], 1.0 / stretch)
    np.testing.assert_allclose((turned * WEIGHT[:, None]).T @ turned, (white * WEIGHT[:, None]).T @ white)


@pytest.mark.parametrize("known_noise", [True, False])
@pytest.mark.parametrize(("levels", "spread"), KINDS)
def test_restricted_likelihood_by_definition(levels, spread, known_noise):
    A = np.column_stack([np.ones(12), columns(2)])
    y = np.random.default_rng(1).normal(size=12)

    def dense(spread):
        V = np.diag(1.0 / WEIGHT) + covariance(levels, spread)
        inverse = np.linalg.inv(V)
        inside = A.T @ inverse @ A
        left = y - A @ np.linalg.solve(inside, A.T @ inverse @ y)
        quad = left @ inverse @ left
        value = quad if known_noise else (WEIGHT.sum() - 3) * np.log(quad)
        return -0.5 * (value + np.linalg.slogdet(V)[1] + np.linalg.slogdet(inside)[1])

    other = spread._replace(size=0.1)
    ours = [level_likelihood(levels, s, A, y, WEIGHT, known_noise=known_noise) for s in (spread, other)]
    assert ours[0] - ours[1] == pytest.approx(dense(spread) - dense(other), abs=1e-6)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize(("levels", "spread"), KINDS)
def test_settled_levels_are_the_mode(levels, spread, family):
    rng = np.random.default_rng(2)
    y, eta = rng.integers(0, 2, size=12).astype(float), rng.normal(size=12)
    found = settle_levels(levels, spread, (family, 0.0), y, eta, WEIGHT, np.zeros(levels.n_nodes))

    def loss(v):
        t = eta + levels.to_rows(v)
        cumulant = np.logaddexp(0.0, t) if family == "binomial" else np.exp(t)
        return 0.5 * v @ levels.pull(v, spread) - WEIGHT @ (y * t - cumulant)

    best = minimize(loss, np.zeros(levels.n_nodes), tol=1e-12)
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_what_rows_share_is_learnt():
    rng = np.random.default_rng(3)
    code = np.repeat(np.arange(200), 5)
    A = np.ones((1000, 1))
    y = rng.normal(size=200)[code] * np.sqrt(0.4) + rng.normal(size=1000) * np.sqrt(0.6)
    found = learn_spread(ClusterLevels(code), A, y, np.ones(1000))
    assert found.size / (1.0 + found.size) == pytest.approx(0.4, abs=0.08)
    course = np.zeros(1000)
    for t in range(1, 1000):
        course[t] = 0.8 * course[t - 1] + 0.6 * rng.normal()
    found = learn_spread(CourseLevels(np.zeros(1000, dtype=int)), A, course + 0.5 * y, np.ones(1000))
    assert found.memory == pytest.approx(0.8, abs=0.12)
    nothing = learn_spread(ClusterLevels(code), A, rng.normal(size=1000), np.ones(1000))
    assert nothing.size < 0.06


def test_a_long_course_is_learnt_from_some_of_its_rows():
    rng = np.random.default_rng(5)
    code = np.array([1, 0] * 3000)
    levels, rows = CourseLevels(code).telling()
    # the first series, and as much of the second as there is room for
    assert np.count_nonzero(code[rows] == 0) == 3000
    assert np.count_nonzero(code[rows] == 1) == 2000
    y = rng.normal(size=6000)
    ones = np.ones((6000, 1))
    whole = learn_spread(CourseLevels(code), ones, y, np.ones(6000))
    assert whole == learn_spread(levels, ones[rows], y[rows], np.ones(5000))


def test_two_clusters_are_not_taken_for_independent():
    rng = np.random.default_rng(4)
    found = learn_spread(
        ClusterLevels(np.repeat([0, 1], 10)), np.ones((20, 1)), rng.normal(size=20), np.ones(20)
    )
    assert found.size > 0.1
