"""Held-out prices: exact refits for least squares, one written-out Newton step otherwise."""

import numpy as np
import pytest
from scipy.special import expit

from rlselect.kernels import heldout_block_remove, heldout_moves, log_likelihood, mean_and_curvature

FAMILIES = ["gaussian", "binomial", "poisson"]


def problem(family, seed=0, n=70, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    offset = 0.3 * rng.standard_normal(n)
    eta = 0.2 + 0.5 * X[:, 0] - 0.4 * X[:, 2] + offset
    if family == "gaussian":
        y = eta + rng.standard_normal(n)
    elif family == "binomial":
        y = (rng.random(n) < expit(eta)).astype(float)
    else:
        y = rng.poisson(np.exp(eta)).astype(float)
    return X, y, rng.uniform(0.2, 3.0, size=n), offset


def with_one(X):
    return np.column_stack([np.ones(len(X)), X])


def maximum(family, A, y, w, offset):
    coef = np.zeros(A.shape[1])
    for _ in range(100):
        mean, curvature = mean_and_curvature(family, A @ coef + offset)
        coef = coef + np.linalg.solve((A * (w * curvature)[:, None]).T @ A, A.T @ (w * (y - mean)))
    return coef


def loss(family, y, eta, w):
    values = (y - eta) ** 2 if family == "gaussian" else -log_likelihood(family, y, eta)
    return np.average(values, weights=w)


def naive_step(family, X, y, w, offset, coef, subset, there):
    """One Newton step from the fit of `subset` to a subset with one column more or fewer."""
    if set(there) > set(subset):
        A, start = with_one(X[:, there]), np.append(coef, [0.0] * (len(there) - len(subset)))
        mean, curvature = mean_and_curvature(family, A @ start + offset)
        hessian = (A * (w * curvature)[:, None]).T @ A
        return start + np.linalg.solve(hessian, A.T @ (w * (y - mean)))
    # removal: the constrained maximum of the quadratic model around the fit
    A = with_one(X[:, subset])
    _, curvature = mean_and_curvature(family, A @ coef + offset)
    hessian = (A * (w * curvature)[:, None]).T @ A
    keep = [0] + [1 + subset.index(j) for j in there]
    gone = [i for i in range(len(coef)) if i not in keep]
    pull = hessian[np.ix_(keep, gone)] @ coef[gone]
    return coef[keep] + np.linalg.solve(hessian[np.ix_(keep, keep)], pull)


def split(family, weighted):
    X, y, w, offset = problem(family)
    inside = np.arange(len(y)) % 3 > 0
    w = w if weighted else np.ones(len(y))
    offset = offset if weighted else np.zeros(len(y))
    return inside, X, y, w, offset


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subset", [[], [2], [0, 2, 5], list(range(6))])
def test_moves_are_naive_steps(family, subset, weighted):
    inside, X, y, w, offset = split(family, weighted)
    train = X[inside], y[inside], w[inside], offset[inside]
    coef = maximum(family, with_one(train[0][:, subset]), *train[1:])
    weight = (w[inside], w[~inside]) if weighted else (None, None)
    known = (offset[inside], offset[~inside]) if weighted else (0.0, 0.0)
    moves = heldout_moves(
        family,
        coef,
        np.array(subset, dtype=np.intp),
        (X[inside], y[inside]),
        (X[~inside], y[~inside]),
        weight,
        known,
    )

    def judged(coefs, columns):
        eta = with_one(X[~inside][:, columns]) @ coefs + offset[~inside]
        return loss(family, y[~inside], eta, w[~inside])

    here = judged(coef, subset)
    for j in range(X.shape[1]):
        there = [k for k in subset if k != j] if j in subset else [*subset, j]
        step = naive_step(family, *train, coef, subset, there)
        assert moves[j] == pytest.approx(here - judged(step, there), abs=1e-8)
        if family == "gaussian":
            refit = maximum(family, with_one(train[0][:, there]), *train[1:])
            assert moves[j] == pytest.approx(here - judged(refit, there), abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("gone", [[2], [2, 5], [0, 2, 5]])
def test_block_removal_is_a_naive_step(family, gone):
    inside, X, y, w, offset = split(family, weighted=True)
    subset = [0, 2, 5]
    train = X[inside], y[inside], w[inside], offset[inside]
    A = with_one(train[0][:, subset])
    coef = maximum(family, A, *train[1:])
    _, curvature = mean_and_curvature(family, A @ coef + offset[inside])
    covariance = np.linalg.inv((A * (w[inside] * curvature)[:, None]).T @ A)
    places = np.array([1 + subset.index(j) for j in gone])
    fall = heldout_block_remove(
        family, coef, places, covariance, (X[~inside][:, subset], y[~inside]), w[~inside], offset[~inside]
    )
    there = [j for j in subset if j not in gone]
    step = naive_step(family, *train, coef, subset, there)
    before = loss(family, y[~inside], with_one(X[~inside][:, subset]) @ coef + offset[~inside], w[~inside])
    after = loss(family, y[~inside], with_one(X[~inside][:, there]) @ step + offset[~inside], w[~inside])
    assert fall == pytest.approx(before - after, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_block_of_one_is_a_move(family):
    inside, X, y, w, offset = split(family, weighted=False)
    subset = np.array([0, 2])
    A = with_one(X[inside][:, subset])
    coef = maximum(family, A, y[inside], w[inside], offset[inside])
    _, curvature = mean_and_curvature(family, A @ coef)
    covariance = np.linalg.inv((A * curvature[:, None]).T @ A)
    moves = heldout_moves(family, coef, subset, (X[inside], y[inside]), (X[~inside], y[~inside]))
    alone = heldout_block_remove(family, coef, np.array([2]), covariance, (X[~inside][:, subset], y[~inside]))
    assert moves[2] == pytest.approx(alone, abs=1e-10)


def test_a_column_the_subset_explains_is_worth_nothing():
    inside, X, y, w, offset = split("gaussian", weighted=False)
    X[:, 4] = 2.0 * X[:, 0] - 3.0
    coef = maximum("gaussian", with_one(X[inside][:, [0]]), y[inside], w[inside], offset[inside])
    moves = heldout_moves("gaussian", coef, np.array([0]), (X[inside], y[inside]), (X[~inside], y[~inside]))
    assert moves[4] == 0.0
