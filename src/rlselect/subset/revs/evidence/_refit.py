"""The final model: an unpenalised fit on the selected columns, and what each of them is worth."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._compat import user_level
from rlselect.kernels import (
    heldout_block_remove,
    heldout_moves,
    log_likelihood,
    mean_and_curvature,
    newton_step,
    null_intercept,
)

Floats = NDArray[np.floating]

_MOST_STEPS = 50
# a linear predictor this far out means a fitted probability of 1e-6: the classes are separated
_SEPARATED = 14.0
# Newton's step moves a linear predictor without a maximum by about one, and others by next to nothing
_DRIFT = 0.5
_SINGULAR = 1e-12
_MANY_ROWS = 5000


class SeparationWarning(UserWarning):
    """The selected columns predict every row with certainty; coefficients are those of a penalised fit."""


@dataclass
class Fit:
    """A generalised linear model on some columns."""

    intercept: float
    coef: Floats
    errors: Floats
    covariance: Floats
    dispersion: float
    separated: bool

    @property
    def all_coef(self) -> Floats:
        """Intercept and coefficients."""
        return np.concatenate([[self.intercept], self.coef])


def fit_glm(
    A: Floats, y: Floats, family: str, weight: Floats | None = None, offset: Floats | None = None
) -> Fit:
    """Maximum likelihood on the columns of A, with an intercept.

    Separated classes (or counts) have no maximum: they are answered by a ridge penalty of one on the
    standardised scale and a `SeparationWarning`. Columns that repeat each other share their effect.

    Parameters
    ----------
    A : array of shape (n, k)
        The columns.
    y : array of shape (n,)
        Response; 0 and 1 for "binomial".
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    weight, offset : array of shape (n,), optional
        As often as a row counts, and the known part of its linear predictor.

    Returns
    -------
    Fit
    """
    w = np.ones(len(y)) if weight is None else weight
    known = np.zeros(len(y)) if offset is None else offset
    n = float(w.sum())
    standard, shift, scale = _standardise(A, w)
    design = np.column_stack([np.ones(len(y)), standard])
    coef, hessian, separated = _newton(design, y, family, w, known, ridge=0.0)
    if separated:
        warnings.warn(
            "The selected variables separate the response, or a part of it, perfectly, so that the "
            "likelihood has no maximum; coefficients are those of a ridge-penalised fit and their standard "
            "errors mean little.",
            SeparationWarning,
            stacklevel=user_level(),
        )
        coef, hessian, _ = _newton(design, y, family, w, known, ridge=1.0)
    covariance = np.linalg.pinv(hessian, rcond=_SINGULAR, hermitian=True)
    dispersion = 1.0
    if family == "gaussian":
        residual = y - known - design @ coef
        dispersion = float(w @ residual**2) / max(n - len(coef), 1.0)
    # back to the scale of the data
    turn = np.diag(np.concatenate([[1.0], 1.0 / scale]))
    turn[0, 1:] = -shift / scale
    coef, covariance = turn @ coef, turn @ covariance @ turn.T
    errors = np.sqrt(np.maximum(dispersion * np.diagonal(covariance)[1:], 0.0))
    return Fit(float(coef[0]), coef[1:], errors, covariance, dispersion, separated)


def _standardise(X: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    """Columns of mean zero and variance one (constant ones of zeros), with their shift and scale."""
    if not X.shape[1]:
        return X, np.zeros(0), np.ones(0)
    total = w.sum()
    shift = (w @ X) / total
    standard = X - shift
    spread = np.sqrt(np.einsum("ij,ij,i->j", standard, standard, w) / total)
    varies = spread > 1e-13 * np.abs(shift)
    scale = np.where(varies, spread, 1.0)
    standard /= scale
    standard[:, ~varies] = 0.0
    return standard, shift, scale


def _newton(
    design: Floats, y: Floats, family: str, w: Floats, known: Floats, ridge: float
) -> tuple[Floats, Floats, bool]:
    k = design.shape[1]
    coef = np.zeros(k)
    penalty = np.full(k, ridge)
    penalty[0] = 0.0
    if family != "gaussian":
        coef[0] = null_intercept(family, y, w, known)
    value = -np.inf
    for _ in range(_MOST_STEPS):
        eta = design @ coef + known
        mean, curvature = mean_and_curvature(family, eta)
        hessian = (design * (w * curvature)[:, None]).T @ design + np.diag(penalty)
        gradient = design.T @ (w * (y - mean)) - penalty * coef
        if family == "gaussian":
            return coef + _least_squares(design, y - eta, w, hessian, gradient), hessian, False
        value = float(w @ log_likelihood(family, y, eta)) - 0.5 * float(penalty @ coef**2)
        step, decrement = newton_step(hessian, gradient)
        if not np.isfinite(decrement):
            return coef, hessian, True
        if decrement < 1e-10 * max(abs(value), 1.0):
            break
        scale = 1.0
        for _ in range(20):
            trial = coef + scale * step
            better = float(w @ log_likelihood(family, y, design @ trial + known)) - 0.5 * float(
                penalty @ trial**2
            )
            if better >= value - 1e-12 * abs(value):
                break
            scale *= 0.5
        coef = trial
    counted = w > 0
    certain = family == "binomial" and bool(
        np.all(np.where(y > 0.5, eta, -eta)[counted] > 0) and np.abs(eta[counted]).min() > 0.5 * _SEPARATED
    )
    # the likelihood stands still while some rows still move on: their mean has no finite best place
    drift = float(np.abs(design[counted, 1:] @ step[1:]).max(initial=0.0))
    return coef, hessian, ridge == 0.0 and (certain or drift > _DRIFT)


def _least_squares(design: Floats, y: Floats, w: Floats, gram: Floats, cross: Floats) -> Floats:
    # the normal equations of standardised columns keep enough digits unless columns nearly repeat each other
    if len(y) > _MANY_ROWS and np.linalg.cond(gram) < 1e8:
        return np.linalg.solve(gram, cross)
    root = np.sqrt(w)
    return np.linalg.lstsq(design * root[:, None], root * y, rcond=None)[0]


def heldout_gains(
    X: Floats,
    y: Floats,
    family: str,
    subset: NDArray[np.intp],
    columns_of: list[NDArray[np.intp]],
    weight: Floats | None,
    offset: Floats | None,
    rng: np.random.Generator,
    n_folds: int = 5,
) -> Floats:
    """What each unit is worth on held-out rows, averaged over folds.

    Parameters
    ----------
    X, y, family, weight, offset
        The rows, as in `fit_glm`, with all design columns.
    subset : array of int
        Selected columns.
    columns_of : list of arrays of int
        Columns of each unit.
    rng : Generator
        Deals out the folds.
    n_folds : int, default=5
        Number of folds.

    Returns
    -------
    array of shape (n_units,)
        Held-out loss that the unit saves when it is in the model, or would save when it is not. NaN for
        units of several columns outside the model, and where there are too few rows to tell.
    """
    n = len(y)
    gains = np.full((n_folds, len(columns_of)), np.nan)
    if n < 4 * n_folds or n - n // n_folds <= len(subset) + 1:
        return gains[0]
    X = _standardise(X, np.ones(n))[0]
    chosen = {int(j): i + 1 for i, j in enumerate(subset)}
    single = np.array([c[0] for c in columns_of])
    folds = rng.permutation(n) % n_folds
    for fold in range(n_folds):
        inside = folds != fold
        part: list[tuple[Any, Any]] = [
            (None, None) if v is None else (v[inside], v[~inside]) for v in (weight, offset)
        ]
        if any(w is not None and not w.sum() > 0 for w in part[0]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            fit = fit_glm(X[inside][:, subset], y[inside], family, part[0][0], part[1][0])
        known: tuple[Any, Any] = (0.0, 0.0) if offset is None else part[1]
        moves = heldout_moves(
            family, fit.all_coef, subset, (X[inside], y[inside]), (X[~inside], y[~inside]), part[0], known
        )
        signs = np.ones(len(moves))
        signs[subset] = -1.0
        gains[fold] = (signs * moves)[single]
        for unit, columns in enumerate(columns_of):
            if len(columns) == 1:
                continue
            gains[fold, unit] = np.nan
            if int(columns[0]) in chosen:
                places = np.array([chosen[int(j)] for j in columns])
                valid = (X[~inside][:, subset], y[~inside])
                gains[fold, unit] = -heldout_block_remove(
                    family, fit.all_coef, places, fit.covariance, valid, part[0][1], known[1]
                )
    counted = np.isfinite(gains).sum(axis=0)
    return np.where(counted > 0, np.nansum(gains, axis=0) / np.maximum(counted, 1), np.nan)
