"""Kernel machines on a precomputed kernel matrix, one convention for every loss.

``min_{f, b}  lambda |f|^2 + sum_i w_i L(y_i, f(x_i) + b) / sum_i w_i``; several columns of targets are
several machines whose objectives add up (one class against the rest).
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from rlselect._clock import stop_if_late
from rlselect.kernels import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    active_set_solution,
    damped_newton,
    interior_point_solution,
    low_rank_root,
    mean_and_curvature,
    squared_solution,
)
from rlselect.machines._losses import EpsilonInsensitiveLoss, LogisticLoss, Loss

__all__ = ["MachineSolution", "fold_losses", "fold_numbers", "solve_machine"]

Array = NDArray[np.float64]
_NEWTON_STEPS = 60
# share of the objective that the last step of a logistic machine promises
_GAIN = 1e-12
# an intercept to begin with: log odds of a class that is hardly there, and how often their range is halved
_FAR, _HALVINGS = 10.0, 12
# Weak regularisation can keep libsvm busy without end; past this many O(n) steps interior points are faster.
_LIBSVM_STEPS = 20_000
# From so many rows on interior points in the dimensions of a kernel of few are the faster ones.
_MANY_ROWS = 200
# and logistic machines' steps, up to so many dimensions for each row
_FEW_DIMENSIONS = 0.5


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

    coefficients: Array
    intercept: Array
    objective: float
    norm: float
    dual: Array


def solve_machine(
    gram: Array,
    targets: Array,
    weights: Array,
    lam: float,
    loss: Loss,
    fit_intercept: bool = True,
    start: Array | None = None,
    limit: float = np.inf,
) -> MachineSolution:
    """Fit one machine per column of ``targets`` (real values, or -1 / 1) and add up their objectives.

    ``start`` holds the coefficients of a nearby problem; it speeds the solution up and does not change it. A
    solution whose objective is above the ``limit`` need not be one: it is some point above it.
    """
    solve = _solve_support_vectors
    if loss.squared:
        solve = _solve_squared
    elif loss.name == "logistic":
        solve = _solve_logistic
    starts = [None] * targets.shape[1] if start is None else list(start.T)
    columns = [
        solve(gram, y, weights, lam, loss, fit_intercept, c, limit)
        for y, c in zip(targets.T, starts, strict=True)
    ]
    coefficients = np.column_stack([c for c, _ in columns])
    intercept = np.array([b for _, b in columns])
    smooth = gram @ coefficients
    decision = smooth + intercept
    norm = lam * float(np.sum(coefficients * smooth))
    risk = float(np.sum(weights[:, None] * loss.value(targets, decision)) / weights.sum())
    dual = coefficients
    if loss.name == "logistic":
        dual = LogisticLoss.dual_point(targets, decision, weights, lam, fit_intercept)
    elif not loss.squared:
        dual = _feasible(coefficients, targets, weights, lam, loss, fit_intercept)
    return MachineSolution(coefficients, intercept, norm + risk, norm, dual)


def _feasible(
    coefficients: Array, targets: Array, weights: Array, lam: float, loss: Loss, fit_intercept: bool
) -> Array:
    """Clip to the dual box and shrink the heavier side until positive and negative coefficients balance."""
    reach = (weights / (2.0 * lam * weights.sum()))[:, None]
    dual = np.clip(coefficients, -reach, reach)
    if loss.name == "hinge":
        dual = np.where(targets * dual > 0.0, dual, 0.0)
    if fit_intercept:
        plus, minus = np.maximum(dual, 0.0).sum(axis=0), np.maximum(-dual, 0.0).sum(axis=0)
        least = np.minimum(plus, minus)
        dual = dual * np.where(dual > 0, least / np.maximum(plus, 1e-300), least / np.maximum(minus, 1e-300))
    return dual


def _solve_squared(
    gram: Array,
    y: Array,
    weights: Array,
    lam: float,
    loss: Loss,
    fit_intercept: bool,
    start: Array | None,
    limit: float,
) -> tuple[Array, float]:
    return squared_solution(gram, y, lam * weights.sum() / weights, fit_intercept)


def _solve_support_vectors(
    gram: Array,
    y: Array,
    weights: Array,
    lam: float,
    loss: Loss,
    fit_intercept: bool,
    start: Array | None,
    limit: float,
) -> tuple[Array, float]:
    """Support vector machines: active sets from a nearby solution; where there is none or they fail, interior
    points for kernels of few dimensions and scikit-learn for others.
    """
    tube = loss.epsilon if isinstance(loss, EpsilonInsensitiveLoss) else None
    cost = weights / (2.0 * lam * weights.sum())
    if loss.name == "hinge" and fit_intercept and np.all(y == y[0]):
        # A class that is absent here (a fold, one-vs-rest): the constant already has no loss.
        return np.zeros(len(y)), float(y[0])
    if start is not None:
        exact = active_set_solution(gram, y, cost, tube, start, fit_intercept, max_rounds=8)
        if exact is not None:
            return exact
    root = low_rank_root(gram) if len(y) >= _MANY_ROWS else None
    rough = _libsvm(gram, y, cost, tube, fit_intercept) if root is None else None
    if rough is None:
        rough = interior_point_solution(gram, y, cost, tube, fit_intercept, root, limit / (2.0 * lam))
    if rough is None:
        return np.zeros(len(y)), 0.0
    # few dimensions leave more rows on the margin than can be free: the right guess is at hand or never comes
    exact = active_set_solution(gram, y, cost, tube, rough[0], fit_intercept, 30 if root is None else 3)
    return rough if exact is None else exact


def _libsvm(
    gram: Array, y: Array, cost: Array, tube: float | None, fit_intercept: bool
) -> tuple[Array, float] | None:
    """Sequential minimal optimisation; None when it does not come to an end in reasonable time."""
    n = len(y)
    if not fit_intercept:
        # libsvm always fits an intercept. Each row with its mirror image (-x, -y) at half the cost is a
        # problem whose best intercept is zero, and whose function is the one wanted.
        gram = np.block([[gram, -gram], [-gram, gram]])
        y, cost = np.concatenate([y, -y]), 0.5 * np.concatenate([cost, cost])
    unit = float(cost.mean())
    options = {"kernel": "precomputed", "C": unit, "tol": 1e-4, "cache_size": 500, "max_iter": _LIBSVM_STEPS}
    machine = SVC(**options) if tube is None else SVR(epsilon=tube, **options)
    with config_context(assume_finite=True, skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            machine.fit(gram, y, sample_weight=cost / unit)
        except ConvergenceWarning:
            return None
    coefficients = np.zeros(len(y))
    coefficients[machine.support_] = machine.dual_coef_.ravel()
    if not fit_intercept:
        return coefficients[:n] - coefficients[n:], 0.0
    return coefficients, float(machine.intercept_[0])


def _solve_logistic(
    gram: Array,
    y: Array,
    weights: Array,
    lam: float,
    loss: Loss,
    fit_intercept: bool,
    start: Array | None,
    limit: float,
) -> tuple[Array, float]:
    """Newton steps on kernel logistic regression, in the form that stays well conditioned for small
    curvatures.
    """
    total = weights.sum()
    root = low_rank_root(gram, _FEW_DIMENSIONS) if len(y) >= _MANY_ROWS else None

    def evaluate(at: Array) -> NewtonPoint:
        smooth = gram @ at[0, :-1]
        f = smooth + at[0, -1]
        loss_here = lam * at[0, :-1] @ smooth + weights @ loss.value(y, f) / total
        return NewtonPoint(np.array([loss_here]), (f[None],))

    def direction(at: Array, here: NewtonPoint) -> NewtonStep:
        stop_if_late()
        f = here.kept[0][0]
        s, slope = mean_and_curvature("binomial", -y * f)
        curvature = np.maximum(weights * slope, 1e-12 * weights)
        working = f + weights * y * s / curvature
        scale = np.sqrt(curvature / (2.0 * lam * total))
        solved = _solve_scaled(gram, root, scale, np.array([scale * working, scale]).T)
        towards, per_unit = solved.T * scale
        intercept = towards.sum() / per_unit.sum() if fit_intercept else 0.0
        step = np.append(towards - intercept * per_unit, intercept) - at[0]
        smooth = gram @ step[:-1]
        decrement = 2.0 * lam * step[:-1] @ smooth + curvature @ np.square(smooth + step[-1]) / total
        return NewtonStep(step[None], np.array([decrement]))

    def finished(at: Array, here: NewtonPoint, way: NewtonStep) -> NDArray[np.bool_]:
        return 0.5 * way.decrement <= _GAIN * np.abs(here.loss)

    problem = NewtonProblem(evaluate, direction)
    first = _logistic_start(gram, y, weights, lam, loss, fit_intercept, start)
    found = damped_newton(problem, first[None], finished, most_steps=_NEWTON_STEPS, floor=0.0)
    if start is not None and not found.converged[0]:
        # steps from far on the wrong side of a row have next to no curvature to go by
        first = _logistic_start(gram, y, weights, lam, loss, fit_intercept, None)
        found = damped_newton(problem, first[None], finished, most_steps=_NEWTON_STEPS, floor=0.0)
    found = found.coef[0]
    return found[:-1], float(found[-1])


def _solve_scaled(gram: Array, root: Array | None, scale: Array, sides: Array) -> Array:
    """Solve ``(I + S K S) u = v`` for the columns v of the sides, S being diagonal, by a root of K if there
    is one.
    """
    if root is not None:
        scaled = scale[:, None] * root
        inner = scaled.T @ scaled
    else:
        inner = scale[:, None] * gram * scale
    inner.flat[:: len(inner) + 1] += 1.0
    right = sides if root is None else np.asfortranarray(scaled.T @ sides)
    solved, info = lapack.dposv(inner.T, right, lower=1, overwrite_a=1)[1:]
    if info:
        raise np.linalg.LinAlgError("the kernel matrix is not positive semi-definite")
    return solved if root is None else sides - scaled @ solved


def _logistic_start(
    gram: Array, y: Array, weights: Array, lam: float, loss: Loss, fit_intercept: bool, start: Array | None
) -> Array:
    """Coefficients and intercept to begin with: those of the start where they are better than a constant.

    Of some of the rows of another problem they may be far worse, and Newton's steps from there never end.
    """
    constant = np.append(
        np.zeros(len(y)), _best_level(np.zeros(len(y)), y, weights) if fit_intercept else 0.0
    )
    if start is None:
        return constant
    smooth = gram @ start
    level = _best_level(smooth, y, weights) if fit_intercept else 0.0
    here = lam * start @ smooth + weights @ loss.value(y, smooth + level) / weights.sum()
    if here < weights @ loss.value(y, constant[-1:]) / weights.sum():
        return np.append(start, level)
    return constant


def _best_level(smooth: Array, y: Array, weights: Array) -> float:
    """About the constant that decision values of logistic losses want added, by halving."""
    reach = _FAR + float(np.abs(smooth).max())
    low, high = -reach, reach
    for _ in range(_HALVINGS):
        level = 0.5 * (low + high)
        slope = (weights * y) @ mean_and_curvature("binomial", -y * (smooth + level))[0]
        low, high = (level, high) if slope > 0.0 else (low, level)
    return 0.5 * (low + high)


def fold_numbers(X: Array, y: Array, n_folds: int = 5) -> NDArray[np.intp]:
    """Fold of each row, from its values alone: equal rows share a fold and the order of rows does not matter.

    Rows are sorted by target, then by their sum, and dealt out in turn, so that folds are balanced in the
    target.
    """
    keys = np.column_stack([X, X.sum(axis=1), y])
    order = np.lexsort(keys.T)
    sorted_keys = keys[order]
    new = np.concatenate([[0], np.cumsum(np.any(sorted_keys[1:] != sorted_keys[:-1], axis=1))])
    folds = np.empty(len(y), dtype=int)
    folds[order] = new % n_folds
    return folds


def fold_losses(
    gram: Array,
    targets: Array,
    weights: Array,
    lam: float,
    loss: Loss,
    fit_intercept: bool,
    folds: NDArray[np.intp],
    start: Array | None = None,
) -> Array:
    """Held-out loss of every row (summed over columns), from machines fitted without its fold.

    ``start`` holds the coefficients on all rows, if they are known.
    """
    losses = np.empty(len(targets))
    for fold in np.unique(folds):
        stop_if_late()
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if len(train) == 0:
            train = test
        fitted = solve_machine(
            gram[np.ix_(train, train)],
            targets[train],
            weights[train],
            lam,
            loss,
            fit_intercept,
            None if start is None else start[train],
        )
        decision = gram[np.ix_(test, train)] @ fitted.coefficients + fitted.intercept
        losses[test] = loss.value(targets[test], decision).sum(axis=1)
    return losses
