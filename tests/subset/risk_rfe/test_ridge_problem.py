"""Elimination from ridge regression against refits."""

import numpy as np
import pytest

from rlselect._clock import Clock
from rlselect.machines import eliminate
from rlselect.subset.risk_rfe._ridge_problem import RidgeProblem


def _refit(X, y, weights, lam, fit_intercept):
    total = weights.sum()
    centre = weights @ X / total if fit_intercept else 0.0 * X[0]
    level = weights @ y / total if fit_intercept else 0.0
    Xc, yc = X - centre, y - level
    coef = np.linalg.solve(
        Xc.T @ (weights[:, None] * Xc) + lam * total * np.eye(X.shape[1]), Xc.T @ (weights * yc)
    )
    return weights @ (yc - Xc @ coef) ** 2 / total + lam * coef @ coef


@pytest.mark.parametrize("shape", [(40, 10), (12, 30)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("grouped", [False, True])
def test_path_equals_refits(shape, fit_intercept, grouped):
    rng = np.random.default_rng(0)
    n, d = shape
    X = rng.normal(size=shape) + 0.5
    y = X[:, 0] - 2 * X[:, 3] + rng.normal(size=n)
    weights = rng.integers(1, 4, size=n).astype(float)
    groups = [np.arange(j, j + 2) for j in range(0, d, 2)] if grouped else [np.array([j]) for j in range(d)]
    lam = 0.05
    problem = RidgeProblem(X, y, weights, lam, fit_intercept, groups)
    path = eliminate(problem, lambda left: 1)
    left = list(range(len(groups)))
    for size, objective in zip(path.sizes, path.objective, strict=True):
        assert len(left) == size
        columns = np.concatenate([groups[g] for g in left]) if left else np.empty(0, dtype=int)
        assert objective == pytest.approx(_refit(X[:, columns], y, weights, lam, fit_intercept), rel=1e-7)
        if not left:
            break
        costs = {}
        for g in left:
            keep = [h for h in left if h != g]
            columns = np.concatenate([groups[h] for h in keep]) if keep else np.empty(0, dtype=int)
            costs[g] = _refit(X[:, columns], y, weights, lam, fit_intercept)
        assert path.order[len(groups) - len(left)] == min(costs, key=lambda g: costs[g])
        left.remove(path.order[len(groups) - len(left)])


@pytest.mark.parametrize("shape", [(40, 10), (12, 30)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_slopes_predict_as_a_refit_does(shape, fit_intercept):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=shape) + 0.5, rng.normal(size=shape[0])
    weights = rng.integers(1, 4, size=shape[0]).astype(float)
    problem = RidgeProblem(X, y, weights, 0.05, fit_intercept, [np.array([j]) for j in range(shape[1])])
    problem.drop([0, 3])
    slopes, intercept = problem.slopes()
    ones = np.column_stack([X[:, problem.columns], np.ones(len(y))])
    ridge = 0.05 * weights.sum() * np.eye(ones.shape[1])
    ridge[-1, -1] = 0.0
    if not fit_intercept:
        ones[:, -1] = 0.0
        ridge[-1, -1] = 1.0
    found = np.linalg.solve(ones.T @ (weights[:, None] * ones) + ridge, ones.T @ (weights * y))
    np.testing.assert_allclose(np.append(slopes, intercept), found, atol=1e-10)


def test_equal_removals_do_not_depend_on_the_order_of_rows():
    # of two rows all columns say the same once they are standardised
    rng = np.random.default_rng(3)
    weights, y = np.array([1.2, 1.7]), np.array([-1.0, 1.8])
    middle = weights @ [0.0, 1.0] / weights.sum()
    for _ in range(20):
        X = np.outer([-middle, 1.0 - middle], rng.choice([-1.0, 1.0], 5)) * (1.0 + 1e-13 * rng.normal(size=5))
        for rows in ([0, 1], [1, 0]):
            singles = [np.array([j]) for j in range(5)]
            problem = RidgeProblem(X[rows], y[rows], weights[rows], 1e-4, True, singles)
            assert eliminate(problem, lambda left: 1).order == [0, 1, 2, 3, 4]


def test_many_columns_leave_a_wide_problem_at_once():
    """More than there are rows: the same as a problem that never had them, also at other penalties."""
    rng = np.random.default_rng(4)
    X, y, weights = rng.normal(size=(12, 300)), rng.normal(size=12), rng.integers(1, 4, 12).astype(float)
    each = [np.array([j]) for j in range(300)]
    whole = RidgeProblem(X, y, weights, 0.3, True, each)
    for gone in (range(100, 300), range(40, 100), [3]):
        whole.drop(list(gone))
    kept = [j for j in range(40) if j != 3]
    alone = RidgeProblem(X[:, kept], y, weights, 0.3, True, each[:39])
    assert whole.active == kept
    for problem in (whole, alone):
        problem.refresh()
    np.testing.assert_allclose(whole.losses, alone.losses, rtol=1e-9)
    np.testing.assert_allclose(whole.risk_at([0.1, 0.3], 1.0), alone.risk_at([0.1, 0.3], 1.0), rtol=1e-9)
    assert alone.risk_at([0.3], 1.0)[0] == pytest.approx(weights @ alone.losses / weights.sum())
    with Clock(0.0):
        assert len(whole.risk_at([0.1, 0.3], 1.0)) == 1
