"""The final model of rows that are read a block at a time."""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    SINGULAR,
    damped_newton,
    dispersion_likelihoods,
    likeliest_dispersion,
    log_likelihood,
    looks_separated,
    null_intercept,
    score_and_curvature,
    separation_signs,
    small_decrement,
    summed_problem,
)
from rlselect.subset.revs.evidence._gram import Moments
from rlselect.subset.revs.evidence._refit import (
    EXCESS_TOLERANCE,
    MOST_STEPS,
    MOST_TURNS,
    TOLERANCE,
    Fit,
    SeparationWarning,
    fit_glm,
    standardise,
)

Floats = NDArray[np.float64]


def fit_linear_blocks(blocks: Callable[[Callable], Iterable[Floats]], center: Floats) -> Fit:
    """Least squares with an intercept, from sums over blocks; the same answer as `fit_glm` on all rows.

    Parameters
    ----------
    blocks : callable
        ``blocks(then)`` yields ``then(A, y, weight, offset)`` for the columns, response, weight and offset of
        some rows at a time.
    center : array of shape (k + 1,)
        Values amid those of the k columns and of y: sums are taken about them, so that columns far from zero
        keep their digits.

    Returns
    -------
    Fit
    """
    center = np.concatenate([[0.0], center])
    sums = np.zeros((len(center), len(center)))
    for products in blocks(partial(_products, center)):
        sums += products
    n = sums[0, 0]
    mean = sums[0, 1:] / n
    return fit_moments(Moments(n, center[1:] + mean, sums[1:, 1:] - n * np.outer(mean, mean)))


def fit_moments(moments: Moments) -> Fit:
    """Least squares with an intercept from sums that were made on the way."""
    n, mean, about, _ = moments
    n_columns = len(mean) - 1
    scale = np.sqrt(np.maximum(np.diagonal(about), 0.0) / n)
    scale = np.where(scale > 1e-12 * np.abs(mean), scale, 1.0)[:-1]
    gram = about[:-1, :-1] / np.outer(scale, scale)
    inverse = np.linalg.pinv(gram, hermitian=True)
    coef = inverse @ (about[:-1, -1] / scale) / scale
    middle = mean[:-1]
    intercept = float(mean[-1] - middle @ coef)
    rest = about[-1, -1] - 2.0 * coef @ about[:-1, -1] + coef @ about[:-1, :-1] @ coef
    dispersion = float(max(rest, 0.0)) / max(n - n_columns - 1.0, 1.0)
    slopes = inverse / np.outer(scale, scale)
    covariance = np.zeros((n_columns + 1, n_columns + 1))
    covariance[1:, 1:] = slopes
    covariance[0, 1:] = covariance[1:, 0] = -slopes @ middle
    covariance[0, 0] = 1.0 / n + middle @ slopes @ middle
    errors = np.sqrt(np.maximum(dispersion * np.diagonal(slopes), 0.0))
    return Fit(intercept, coef, errors, covariance, dispersion, False, counted=n)


def is_precise(fit: Fit, moments: Moments) -> bool:
    """Whether the rounding of the sums moves no coefficient by a hundredth of its standard error.

    Errors of the products that are independent of each other are assumed, as rounding makes them.
    """
    n, _, about, rounding = moments
    sd = np.sqrt(np.maximum(np.diagonal(about), 0.0) / n)
    if not np.all(sd > 0):
        return False
    scale, y_scale = sd[:-1], sd[-1]
    share = np.sqrt(fit.dispersion) / y_scale
    inverse = fit.covariance[1:, 1:] * np.outer(scale, scale) * n
    beta = np.abs(fit.coef) * scale / y_scale
    moved = rounding * (1.0 + beta.sum()) * np.sqrt((inverse**2).sum(axis=1))
    error = share * np.sqrt(np.maximum(np.diagonal(inverse), 0.0) / n)
    return bool(np.all(moved <= 0.01 * error))


def _products(center: Floats, A: Floats, y: Floats, weight: Floats | None, offset: Floats | None) -> Floats:
    rows = np.empty((len(center), len(y)))
    rows[0], rows[1:-1], rows[-1] = 1.0, A.T, y if offset is None else y - offset
    rows -= center[:, None]
    return rows @ (rows if weight is None else rows * weight).T


def fit_glm_blocks(blocks: Callable[[Callable], Iterable[Any]], few: tuple, family: str) -> Fit | None:
    """Maximum likelihood from sums over blocks; the same answer as `fit_glm` on all rows.

    Parameters
    ----------
    blocks : callable
        As in `fit_linear_blocks`.
    few : tuple
        Columns, response, weight and offset of some of the rows: where Newton's method starts.
    family : {"binomial", "poisson", "negative_binomial"}
        The distribution.

    Returns
    -------
    Fit or None
        None when the rows are separated, which takes a penalty and all rows at once.
    """
    coef, shift, scale, excess = _start(few, family)
    learns, family = family == "negative_binomial", "poisson" if family == "negative_binomial" else family

    def sums(coef: Floats) -> tuple[float, Floats, Floats]:
        parts = list(blocks(partial(_glm_parts, coef, shift, scale, family, excess)))
        loss, hessian, gradient = (sum(part) for part in zip(*parts, strict=True))
        return loss, hessian, gradient

    def likelihoods(grid: Floats) -> Floats:
        return np.sum(list(blocks(partial(_dispersion_parts, found.coef[0], shift, scale, grid))), axis=0)

    rule = small_decrement(TOLERANCE, relative=True)
    for _ in range(MOST_TURNS):
        found = damped_newton(summed_problem(sums), coef[None], rule, polish=False, most_steps=MOST_STEPS)
        before, excess = excess, likeliest_dispersion(likelihoods, 0.0) if learns else 0.0
        coef = found.coef[0]
        if abs(excess - before) <= EXCESS_TOLERANCE * excess:
            break
    coef, hessian, step = found.coef[0], found.direction.hessian[0], found.direction.step[0]
    signs = list(blocks(partial(_signs, coef, step, shift, scale, family)))
    if looks_separated(max(drift for drift, *_ in signs), min(margin for _, margin, _ in signs)):
        return None
    turn = np.diag(np.concatenate([[1.0], 1.0 / scale]))
    turn[0, 1:] = -shift / scale
    covariance = turn @ np.linalg.pinv(hessian, rcond=SINGULAR, hermitian=True) @ turn.T
    coef = turn @ coef
    errors = np.sqrt(np.maximum(np.diagonal(covariance)[1:], 0.0))
    counted = sum(total for *_, total in signs)
    return Fit(float(coef[0]), coef[1:], errors, covariance, 1.0, False, excess, counted)


def _start(few: tuple, family: str) -> tuple[Floats, Floats, Floats, float]:
    A, y, weight, offset = few
    w = np.ones(len(y)) if weight is None else weight
    _, shift, scale = standardise(np.asarray(A, dtype=np.float64), w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        first = fit_glm(A, y, family, weight, offset)
    if first.separated or not np.isfinite(first.all_coef).all():
        known = np.zeros(len(y)) if offset is None else offset
        level = null_intercept("binomial" if family == "binomial" else "poisson", y, w, known)
        return np.append(level, np.zeros(len(scale))), shift, scale, first.overdispersion
    start = np.append(first.intercept + first.coef @ shift, first.coef * scale)
    return start, shift, scale, first.overdispersion


def _rows_of(
    shift: Floats, scale: Floats, A: Floats, y: Floats, weight: Any, offset: Any
) -> tuple[Floats, Floats, Floats | float]:
    """Standardised design of a block, rows last, with its weight and offset."""
    design = np.empty((len(scale) + 1, len(y)))
    design[0], design[1:] = 1.0, ((A - shift) / scale).T
    return design, np.ones(len(y)) if weight is None else weight, 0.0 if offset is None else offset


def _glm_parts(
    coef: Floats,
    shift: Floats,
    scale: Floats,
    family: str,
    excess: float,
    A: Floats,
    y: Floats,
    weight: Any,
    offset: Any,
) -> tuple[float, Floats, Floats]:
    """What a block adds to minus the log likelihood, its Hessian and the score."""
    design, w, known = _rows_of(shift, scale, A, y, weight, offset)
    eta = coef @ design + known
    score, curvature = score_and_curvature(family, y, eta, excess)
    hessian = (design * (w * curvature)) @ design.T
    return -float(w @ log_likelihood(family, y, eta, dispersion=excess)), hessian, design @ (w * score)


def _dispersion_parts(
    coef: Floats, shift: Floats, scale: Floats, grid: Floats, A: Floats, y: Floats, weight: Any, offset: Any
) -> Floats:
    """What a block adds to the log likelihood of counts under every dispersion of a grid."""
    design, _, known = _rows_of(shift, scale, A, y, weight, offset)
    return dispersion_likelihoods(y, coef @ design + known, weight, grid)


def _signs(
    coef: Floats, step: Floats, shift: Floats, scale: Floats, family: str, A: Floats, y: Floats, *more: Any
) -> tuple[float, float, float]:
    """What tells whether a block is separated, and what its rows count."""
    design, w, known = _rows_of(shift, scale, A, y, *more)
    drift, margin = separation_signs(family, y, coef @ design + known, step @ design, w)
    return drift, margin, float(np.sum(w))
