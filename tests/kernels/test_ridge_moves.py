"""Backward moves of ridge regression against refits."""

import numpy as np
import pytest

from rlselect.kernels._change_point import change_point
from rlselect.machines._elimination import RidgeProblem, eliminate


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


def test_change_point_finds_the_knot():
    t = np.arange(30.0)
    curve = 1.0 + 0.01 * t + 0.02 * np.maximum(t - 22, 0) ** 2 + 0.1 * np.maximum(t - 22, 0)
    index, fitted = change_point(curve, 2)
    assert index == 22
    np.testing.assert_allclose(fitted, curve, atol=1e-8)
    assert change_point(1.0 + np.maximum(t - 12, 0), 1)[0] == 12
    assert change_point(1.0 + np.maximum(t - 9, 0) ** 3 + np.maximum(t - 9, 0), 3)[0] == 9


def test_change_point_on_too_few_points():
    index, fitted = change_point([1.0, 2.0], 2)
    assert index == 1
    np.testing.assert_array_equal(fitted, [1.0, 2.0])
