"""The final model of rows that are read a block at a time."""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import log_likelihood, mean_and_curvature, newton_step, null_intercept
from rlselect.subset.revs.evidence._gram import Moments
from rlselect.subset.revs.evidence._refit import (
    _DRIFT,
    _MOST_STEPS,
    _SEPARATED,
    _SINGULAR,
    Fit,
    SeparationWarning,
    _standardise,
    fit_glm,
)

Floats = NDArray[np.floating]


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
    return Fit(intercept, coef, errors, covariance, dispersion, False)


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


class _Sums(NamedTuple):
    hessian: Floats
    gradient: Floats
    value: float
    margin: float


def fit_glm_blocks(blocks: Callable[[Callable], Iterable[Any]], few: tuple, family: str) -> Fit | None:
    """Maximum likelihood from sums over blocks; the same answer as `fit_glm` on all rows.

    Parameters
    ----------
    blocks : callable
        As in `fit_linear_blocks`.
    few : tuple
        Columns, response, weight and offset of some of the rows: where Newton's method starts.
    family : {"binomial", "poisson"}
        The distribution.

    Returns
    -------
    Fit or None
        None when the rows are separated, which takes a penalty and all rows at once.
    """
    coef, shift, scale = _start(few, family)
    last, here = -np.inf, coef
    for _ in range(_MOST_STEPS):
        parts = list(blocks(partial(_glm_sums, coef, shift, scale, family)))
        hessian = np.sum([part.hessian for part in parts], axis=0)
        value = sum(part.value for part in parts)
        if value < last - 1e-12 * abs(last):
            coef = 0.5 * (coef + here)
            continue
        step, decrement = newton_step(hessian, np.sum([part.gradient for part in parts], axis=0))
        if not np.isfinite(decrement):
            return None
        if decrement < 1e-10 * max(abs(value), 1.0):
            break
        last, here, coef = value, coef, coef + step
    drift = max(blocks(partial(_drift, step, scale)), default=0.0)
    if drift > _DRIFT or min(part.margin for part in parts) > 0.5 * _SEPARATED:
        return None
    turn = np.diag(np.concatenate([[1.0], 1.0 / scale]))
    turn[0, 1:] = -shift / scale
    covariance = turn @ np.linalg.pinv(hessian, rcond=_SINGULAR, hermitian=True) @ turn.T
    coef = turn @ coef
    errors = np.sqrt(np.maximum(np.diagonal(covariance)[1:], 0.0))
    return Fit(float(coef[0]), coef[1:], errors, covariance, 1.0, False)


def _start(few: tuple, family: str) -> tuple[Floats, Floats, Floats]:
    A, y, weight, offset = few
    w = np.ones(len(y)) if weight is None else weight
    _, shift, scale = _standardise(np.asarray(A, dtype=np.float64), w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        first = fit_glm(A, y, family, weight, offset)
    if first.separated or not np.isfinite(first.all_coef).all():
        known = np.zeros(len(y)) if offset is None else offset
        return np.append(null_intercept(family, y, w, known), np.zeros(len(scale))), shift, scale
    return np.append(first.intercept + first.coef @ shift, first.coef * scale), shift, scale


def _glm_sums(
    coef: Floats, shift: Floats, scale: Floats, family: str, A: Floats, y: Floats, weight: Any, offset: Any
) -> _Sums:
    design = np.empty((len(coef), len(y)))
    design[0], design[1:] = 1.0, ((A - shift) / scale).T
    eta = coef @ design if offset is None else coef @ design + offset
    w = np.ones(len(y)) if weight is None else weight
    mean, curvature = mean_and_curvature(family, eta)
    counted = w > 0
    margin = np.inf
    if family != "binomial":
        margin = -np.inf
    elif counted.any():
        margin = float(np.where(y > 0.5, eta, -eta)[counted].min())
    return _Sums(
        (design * (w * curvature)) @ design.T,
        design @ (w * (y - mean)),
        float(w @ log_likelihood(family, y, eta)),
        margin,
    )


def _drift(step: Floats, scale: Floats, A: Floats, y: Floats, weight: Any, offset: Any) -> float:
    moved = np.abs((A - A.mean(axis=0)) @ (step[1:] / scale)) if len(step) > 1 else np.zeros(len(y))
    return float(moved.max(initial=0.0)) if weight is None else float(moved[weight > 0].max(initial=0.0))
