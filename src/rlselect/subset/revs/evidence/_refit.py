"""The final model: an unpenalised fit on the selected columns, and what each of them is worth."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._compat import user_level
from rlselect.kernels import (
    CANONICAL_LINK,
    SINGULAR,
    Minimum,
    damped_newton,
    dispersion_likelihoods,
    glm_problem,
    heldout_block_remove,
    heldout_moves,
    likeliest_dispersion,
    log_likelihood,
    looks_separated,
    null_intercept,
    score_and_curvature,
    separating_direction,
    separation_sentence,
    separation_signs,
    small_decrement,
    solve_shortest,
    summed_problem,
)

Floats = NDArray[np.float64]

MOST_STEPS = 50
# of the log likelihood: where the steps of an unpenalised fit end
TOLERANCE = 1e-10
_MANY_ROWS = 5000
# coefficients and the overdispersion of counts hardly depend on each other: few turns are enough
MOST_TURNS = 12
EXCESS_TOLERANCE = 1e-3


class SeparationWarning(UserWarning):
    """The selected columns predict every row with certainty; coefficients are those of a penalised fit."""


@dataclass
class Fit:
    """A generalised linear model on some columns; `counted` is what its rows count."""

    intercept: float
    coef: Floats
    errors: Floats
    covariance: Floats
    dispersion: float
    separated: bool
    overdispersion: float = 0.0
    counted: float = 0.0

    @property
    def all_coef(self) -> Floats:
        """Intercept and coefficients."""
        return np.concatenate([[self.intercept], self.coef])


def fit_glm(
    A: Floats,
    y: Floats,
    family: str,
    weight: Floats | None = None,
    offset: Floats | None = None,
    overdispersion: float | None = None,
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
    family : {"gaussian", "binomial", "poisson", "negative_binomial"}
        The distribution.
    weight, offset : array of shape (n,), optional
        As often as a row counts, and the known part of its linear predictor.
    overdispersion : float, optional
        That of "negative_binomial", if it is known; the most likely one otherwise.

    Returns
    -------
    Fit
    """
    w = np.ones(len(y)) if weight is None else weight
    known = np.zeros(len(y)) if offset is None else offset
    n = float(w.sum())
    standard, shift, scale = standardise(A, w)
    design = np.empty((A.shape[1] + 1, len(y)))
    design[0], design[1:] = 1.0, standard.T
    dispersion, separation, excess = 1.0, None, 0.0
    if family == "gaussian":
        coef, hessian = _least_squares(design, y - known, w)
        residual = y - known - coef @ design
        dispersion = float(w @ residual**2) / max(n - len(coef), 1.0)
    else:
        if family == "negative_binomial":
            family = "poisson"
            excess = _excess(design, y, w, known) if overdispersion is None else overdispersion
        coef, hessian, separation = _maximum(design, y, family, w, known, excess)
    if separation is not None:
        warnings.warn(
            f"{separation}, so that the likelihood has no maximum; coefficients are those of a "
            "ridge-penalised fit and their standard errors mean little.",
            SeparationWarning,
            stacklevel=user_level(),
        )
    covariance = np.linalg.pinv(hessian, rcond=SINGULAR, hermitian=True)
    # back to the scale of the data
    turn = np.diag(np.concatenate([[1.0], 1.0 / scale]))
    turn[0, 1:] = -shift / scale
    coef, covariance = turn @ coef, turn @ covariance @ turn.T
    errors = np.sqrt(np.maximum(dispersion * np.diagonal(covariance)[1:], 0.0))
    return Fit(float(coef[0]), coef[1:], errors, covariance, dispersion, separation is not None, excess, n)


def standardise(X: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
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


def _least_squares(design: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Coefficients and Gram matrix."""
    weighted = design * w
    gram = weighted @ design.T
    # the normal equations of standardised columns keep enough digits unless columns nearly repeat each other
    if len(y) > _MANY_ROWS and np.linalg.cond(gram) < 1e8:
        return np.asarray(np.linalg.solve(gram, weighted @ y)), gram
    root = np.sqrt(w)
    return np.asarray(np.linalg.lstsq((design * root).T, root * y, rcond=None)[0]), gram


def _excess(design: Floats, y: Floats, w: Floats, known: Floats) -> float:
    """Overdispersion of counts at the maximum of the likelihood, found in turns with the coefficients."""
    excess = 0.0
    for _ in range(MOST_TURNS):
        eta = _newton(design, y, "poisson", w, known, None, excess).coef[0] @ design + known
        before, excess = excess, likeliest_dispersion(partial(dispersion_likelihoods, y, eta, w), 0.0)
        if abs(excess - before) <= EXCESS_TOLERANCE * excess:
            break
    return excess


def _maximum(
    design: Floats, y: Floats, family: str, w: Floats, known: Floats, excess: float
) -> tuple[Floats, Floats, str | None]:
    """Coefficients and Hessian; where rows separate, of a penalised fit with a sentence that says so."""
    found = _newton(design, y, family, w, known, None, excess)
    moved = found.direction.step[0] @ design
    signs = separation_signs(family, y, found.coef[0] @ design + known, moved, w)
    separation = None
    # counts of nothing but zeros have no finite intercept either, but that is not for columns to answer
    if len(design) > 1 and looks_separated(*signs):
        x, live = design[:, w > 0].T, y[w > 0]
        direction = separating_direction(x, live, upper=family == "binomial")
        if direction is not None:
            separation = separation_sentence(x, live, direction, None, "the response", "row")
            ridge = np.ones(len(design))
            ridge[0] = 0.0
            found = _newton(design, y, family, w, known, ridge, excess)
    return found.coef[0], found.direction.hessian[0], separation


def _newton(
    design: Floats,
    y: Floats,
    family: str,
    w: Floats,
    known: Floats,
    ridge: Floats | None,
    excess: float,
) -> Minimum:
    link, start, zero = CANONICAL_LINK[family], np.zeros((1, len(design))), np.zeros(len(y))
    start[0, 0] = null_intercept(family, y, w, known)
    # the tolerance is a share of the whole log likelihood, the term of y alone included
    constant = log_likelihood(family, y, zero, constant=False) - log_likelihood(family, y, zero)
    rule = small_decrement(TOLERANCE, relative=True, constant=float(w @ constant))
    if excess:
        penalty = np.zeros(len(design)) if ridge is None else ridge
        return damped_newton(
            summed_problem(lambda coef: _count_sums(design, y, w, known, penalty, excess, coef)),
            start,
            small_decrement(TOLERANCE, relative=True),
            polish=False,
            most_steps=MOST_STEPS,
        )
    problem = glm_problem(
        design[None], y[None], w[None], link, family, offset=known[None], ridge=ridge, solve=solve_shortest
    )
    return damped_newton(problem, start, rule, polish=False, most_steps=MOST_STEPS)


def _count_sums(
    design: Floats, y: Floats, w: Floats, known: Floats, ridge: Floats, excess: float, coef: Floats
) -> tuple[float, Floats, Floats]:
    """Minus the log likelihood of negative binomial counts and a ridge penalty, the Hessian and the score."""
    eta = coef @ design + known
    score, curvature = score_and_curvature("poisson", y, eta, excess)
    loss = 0.5 * float(ridge @ coef**2) - float(w @ log_likelihood("poisson", y, eta, dispersion=excess))
    hessian = (design * (w * curvature)) @ design.T + np.diag(ridge)
    return loss, hessian, design @ (w * score) - ridge * coef


def distinct_rows(X: Floats, y: Floats, offset: Floats | None) -> NDArray[np.intp]:
    """Number of each row's first copy: copies share a fold, as a weight cannot be divided."""
    rows = np.column_stack([X, y] if offset is None else [X, y, offset]) + 0.0  # -0.0 is 0.0
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], dtype=np.intp)


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
    overdispersion: float = 0.0,
    together: NDArray[np.intp] | None = None,
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
    overdispersion : float, default=0
        That of "negative_binomial".
    together : array of int of shape (n,), optional
        Rows of a number share a fold.

    Returns
    -------
    array of shape (n_units,)
        Held-out loss that the unit saves when it is in the model, or would save when it is not. NaN for
        units of several columns outside the model, and where there are too few rows to tell.
    """
    if weight is not None:
        keep = weight > 0
        X, y, weight, offset = X[keep], y[keep], weight[keep], None if offset is None else offset[keep]
        together = None if together is None else together[keep]
    number = distinct_rows(X, y, offset)
    n = int(number.max(initial=-1)) + 1
    gains = np.full((n_folds, len(columns_of)), np.nan)
    if n < 4 * n_folds or n - n // n_folds <= len(subset) + 1:
        return gains[0]
    if together is not None:
        number = np.unique(together, return_inverse=True)[1].ravel()
        n = int(number.max()) + 1
        # a fold of few clusters may be most of the rows
        if n < 2 * n_folds:
            return gains[0]
    X = standardise(X, np.ones(len(y)) if weight is None else weight)[0]
    chosen = {int(j): i + 1 for i, j in enumerate(subset)}
    single = np.array([c[0] for c in columns_of])
    likelihood = "poisson" if family == "negative_binomial" else family
    folds = (rng.permutation(n) % n_folds)[number]
    for fold in range(n_folds):
        inside = folds != fold
        part: list[tuple[Any, Any]] = [
            (None, None) if v is None else (v[inside], v[~inside]) for v in (weight, offset)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            fit = fit_glm(X[inside][:, subset], y[inside], family, part[0][0], part[1][0], overdispersion)
        known: tuple[Any, Any] = (0.0, 0.0) if offset is None else part[1]
        moves = heldout_moves(
            likelihood,
            fit.all_coef,
            subset,
            (X[inside], y[inside]),
            (X[~inside], y[~inside]),
            part[0],
            known,
            overdispersion,
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
                    likelihood,
                    fit.all_coef,
                    places,
                    fit.covariance,
                    valid,
                    part[0][1],
                    known[1],
                    overdispersion,
                )
    counted = np.isfinite(gains).sum(axis=0)
    return np.where(counted > 0, np.nansum(gains, axis=0) / np.maximum(counted, 1), np.nan)
