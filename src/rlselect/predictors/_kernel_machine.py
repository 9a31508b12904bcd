"""Kernel machines on a precomputed kernel matrix, one convention for every loss.

``min_{f, b}  lambda |f|^2 + sum_i w_i L(y_i, f(x_i) + b) / sum_i w_i``; several columns of targets are several machines
whose objectives add up (one class against the rest).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn import config_context
from sklearn.svm import SVC, SVR

from rlselect.kernels._squared_bounds import projected_inverse
from rlselect.predictors._losses import LogisticLoss

__all__ = ["MachineSolution", "fold_losses", "fold_numbers", "solve_machine"]

_NEWTON_STEPS = 60
_SOLVER_TOLERANCE = 1e-5


@dataclass(frozen=True)
class MachineSolution:
    """A fitted kernel machine.

    Attributes
    ----------
    coefficients : (n, c) array
        ``f = K @ coefficients`` (without the intercept).
    intercept : (c,) array
    objective, norm : float
        The regularised risk and ``lambda |f|^2``, summed over columns.
    dual : (n, c) array
        A dual feasible point, for bounds on other kernels.
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    objective: float
    norm: float
    dual: np.ndarray


def solve_machine(
    gram: np.ndarray, targets: np.ndarray, weights: np.ndarray, lam: float, loss: Any, fit_intercept: bool = True
) -> MachineSolution:
    """Fit one machine a column of ``targets`` (real values, or -1 / 1) and add up their objectives."""
    solve = {
        "squared": _solve_squared,
        "hinge": _solve_support_vectors,
        "epsilon_insensitive": _solve_support_vectors,
        "logistic": _solve_logistic,
    }[loss.name]
    columns = [solve(gram, y, weights, lam, loss, fit_intercept) for y in targets.T]
    coefficients = np.column_stack([c for c, _ in columns])
    intercept = np.array([b for _, b in columns])
    smooth = gram @ coefficients
    decision = smooth + intercept
    norm = lam * float(np.sum(coefficients * smooth))
    risk = float(np.sum(weights[:, None] * loss.value(targets, decision)) / weights.sum())
    dual = coefficients
    if loss.name == "logistic":
        dual = LogisticLoss.dual_point(targets, decision, weights, lam, fit_intercept)
    elif loss.name != "squared" and not fit_intercept:
        dual = _into_the_box(coefficients, targets, weights, lam, loss)
    return MachineSolution(coefficients, intercept, norm + risk, norm, dual)


def _into_the_box(coefficients, targets, weights, lam, loss):
    """Clip to the dual box, which is the whole constraint when there is no intercept."""
    reach = (weights / (2.0 * lam * weights.sum()))[:, None]
    if loss.name == "hinge":
        return targets * np.clip(targets * coefficients, 0.0, reach)
    return np.clip(coefficients, -reach, reach)


def _solve_squared(gram, y, weights, lam, loss, fit_intercept):
    ridge = lam * weights.sum() / weights
    coefficients = projected_inverse(gram, ridge, fit_intercept) @ y
    intercept = 0.0
    if fit_intercept:
        intercept = float(np.mean(y - gram @ coefficients - ridge * coefficients))
    return coefficients, intercept


def _solve_support_vectors(gram, y, weights, lam, loss, fit_intercept):
    """Support vector machines by scikit-learn; C_i = w_i / (2 lambda W) gives our convention."""
    n, cost = len(y), 1.0 / (2.0 * lam * weights.sum())
    if not fit_intercept:
        # libsvm always fits an intercept. Each row with its mirror image (-x, -y) at half the cost is a problem whose
        # best intercept is zero, and whose function is the one wanted.
        gram = np.block([[gram, -gram], [-gram, gram]])
        y, weights, cost = np.concatenate([y, -y]), np.concatenate([weights, weights]), 0.5 * cost
    elif loss.name == "hinge" and np.all(y == y[0]):
        # A class that is absent here (a fold, one-vs-rest): the constant already has no loss.
        return np.zeros(n), float(y[0])
    options = {"kernel": "precomputed", "C": cost, "tol": _SOLVER_TOLERANCE, "cache_size": 500}
    machine = SVC(**options) if loss.name == "hinge" else SVR(epsilon=loss.epsilon, **options)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        machine.fit(gram, y, sample_weight=weights)
    coefficients = np.zeros(len(y))
    coefficients[machine.support_] = machine.dual_coef_.ravel()
    if not fit_intercept:
        return coefficients[:n] - coefficients[n:], 0.0
    return coefficients, float(machine.intercept_[0])


def _solve_logistic(gram, y, weights, lam, loss, fit_intercept):
    """Newton steps on kernel logistic regression, in the form that stays well conditioned for small curvatures."""
    n, total = len(y), weights.sum()
    coefficients, intercept = np.zeros(n), 0.0

    def objective(c, b):
        f = gram @ c
        return lam * c @ f + weights @ loss.value(y, f + b) / total

    present = objective(coefficients, intercept)
    for _ in range(_NEWTON_STEPS):
        f = gram @ coefficients + intercept
        s = expit(-y * f)
        curvature = np.maximum(weights * s * (1.0 - s), 1e-12 * weights)
        working = f + weights * y * s / curvature
        root = np.sqrt(curvature / (2.0 * lam * total))
        inner = root[:, None] * gram * root
        inner[np.diag_indices(n)] += 1.0
        factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)
        sides = root[:, None] * np.column_stack([working, np.ones(n)])
        solved = root[:, None] * cho_solve(factor, sides, check_finite=False)
        new_b = solved[:, 0].sum() / solved[:, 1].sum() if fit_intercept else 0.0
        new_c = solved[:, 0] - new_b * solved[:, 1]
        step, value = 1.0, objective(new_c, new_b)
        while not value <= present + 1e-14 * abs(present) and step > 1e-6:
            step *= 0.5
            value = objective(
                coefficients + step * (new_c - coefficients), intercept + step * (new_b - intercept)
            )
        coefficients = coefficients + step * (new_c - coefficients)
        intercept = intercept + step * (new_b - intercept)
        gain, present = present - value, value
        if gain <= 1e-12 * abs(present):
            break
    return coefficients, float(intercept)


def fold_numbers(X: np.ndarray, y: np.ndarray, n_folds: int = 5) -> np.ndarray:
    """Fold of each row, from its values alone: equal rows share a fold and the order of rows does not matter.

    Rows are sorted by target, then by their sum, and dealt out in turn, so that folds are balanced in the target.
    """
    keys = np.column_stack([X, X.sum(axis=1), y])
    order = np.lexsort(keys.T)
    sorted_keys = keys[order]
    new = np.concatenate([[0], np.cumsum(np.any(sorted_keys[1:] != sorted_keys[:-1], axis=1))])
    folds = np.empty(len(y), dtype=int)
    folds[order] = new % n_folds
    return folds


def fold_losses(gram, targets, weights, lam, loss, fit_intercept, folds) -> np.ndarray:
    """Held-out loss of every row (summed over columns), from machines fitted without its fold."""
    losses = np.empty(len(targets))
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if len(train) == 0:
            train = test
        fitted = solve_machine(
            gram[np.ix_(train, train)], targets[train], weights[train], lam, loss, fit_intercept
        )
        decision = gram[np.ix_(test, train)] @ fitted.coefficients + fitted.intercept
        losses[test] = loss.value(targets[test], decision).sum(axis=1)
    return losses
