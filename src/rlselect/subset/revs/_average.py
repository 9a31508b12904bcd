"""The model averaged over the subsets that a walk has counted, beside the refit of one subset."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from rlselect.subset.revs._found import Found, rows_of
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._visited import Visited
from rlselect.subset.revs.evidence import (
    Fit,
    Posteriors,
    RowLikelihood,
    SeparationWarning,
    StandardRows,
    fit_glm,
    glm_posteriors,
    left_out_predictor,
    linear_posteriors,
    standardise,
)

Floats = NDArray[np.float64]

# a flat posterior needs all of its subsets; a mode of other families takes a fit, and the heaviest do as well
_MOST_LINEAR = 2500
_MOST_OTHER = 50
# so many of them judge the rows that are left out
_JUDGES = 200
# refits for rows without which another subset would have been selected
_MOST_REFITS = 20


@dataclass(frozen=True)
class SubsetAverage:
    """Posterior of the coefficients, averaged over subsets.

    Attributes
    ----------
    columns : array of int of shape (u,)
        Design columns that are in some subset.
    coef : array of shape (u,)
        Their mean coefficients on the scale of the data.
    intercept : float
        The mean intercept; one per class where there are several.
    centre : array of shape (u,)
        Where the columns lie in the middle.
    moments : sparse array of shape (u, u)
        Second moments of the coefficients.
    noise : float
        Mean variance of a response about its mean.
    rows : float
        What the rows of the fit count.
    n_subsets : int
        Subsets averaged over.
    loss, refit_loss : float
        Mean loss of rows left out one by one, of the average and of the refit: squared error, or minus the
        log likelihood; NaN where the refit is all there is.
    doubt : float
        Standard error of their difference.
    """

    columns: NDArray[np.intp]
    coef: Floats
    intercept: float
    centre: Floats
    moments: Any
    noise: float
    rows: float
    n_subsets: int
    loss: float = np.nan
    refit_loss: float = np.nan
    doubt: float = np.nan

    @property
    def serves(self) -> bool:
        """Whether the refit is not clearly better, by more than a standard error, on left-out rows."""
        return self.loss - self.refit_loss <= self.doubt

    def doubt_of(self, X: Any) -> Floats:
        """Variance of the linear predictor over subsets and their coefficients; X has the u columns."""
        away = X - self.centre
        second = np.einsum("ij,ij->i", away @ self.moments, away)
        return np.maximum(second - (away @ self.coef) ** 2, 0.0)

    def caution(self, X: Any) -> Floats:
        """What log odds are multiplied by to be those of the mean probability; X has the u columns.

        The mean over what the log odds may be is nearer to one half than the probability of their mean
        (MacKay 1992, The evidence framework applied to classification networks).
        """
        return _caution(self.doubt_of(X))

    def half_width(self, X: Any, level: float) -> Floats:
        """Half of the interval that holds a new response with probability `level`; X has the u columns."""
        variance = self.doubt_of(X) + self.noise * (1.0 + 1.0 / self.rows)
        return np.asarray(stats.t.ppf(0.5 + 0.5 * level, max(self.rows - 1.0, 1.0)) * np.sqrt(variance))


def average_subsets(problem: Problem, found: Found, columns: NDArray[np.intp], refit: Fit) -> SubsetAverage:
    """Average the posterior of the coefficients over the subsets that were counted.

    Subsets of linear models count by their visits and each has the ridge of its own evidence; of the other
    families the fifty heaviest do, at the modes of their posteriors.

    To compare with the refit, rows are left out one by one. Without row i a subset weighs its share divided
    by the density that it gives to the response of that row, and predicts the row from the others; the refit
    is that of the subset that would be selected with these weights.

    Parameters
    ----------
    problem, found : Problem, Found
        The data and what the search has found.
    columns, refit : array of int and Fit
        The selected design columns and their model, which is all there is where nothing was counted.

    Returns
    -------
    SubsetAverage
    """
    if found.visited is None:
        return _of_refit(columns, refit, found.n_rows_read)
    linear = problem.family == "gaussian"
    family = "poisson" if problem.family == "negative_binomial" else problem.family
    likelihood = RowLikelihood(family, found.dispersion)
    visited = found.visited.heaviest(_MOST_LINEAR if linear else _MOST_OTHER)
    chosen, columns = columns, _columns(problem, visited)
    A, y, weight, offset = found.gather(columns)
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    Z, shift, scale = standardise(np.asarray(A, dtype=np.float64), w)
    known = np.zeros(len(y)) if offset is None else offset
    single = _single(problem, found, w)
    rows = StandardRows(Z, np.asarray(y, dtype=np.float64), w, known, single, problem.together)
    places = [np.searchsorted(columns, _columns_of(problem, units)) for units in visited.subsets]
    slabs = _slabs(problem, float(w.sum()))
    if linear:
        posteriors = linear_posteriors(rows, places, slabs, _JUDGES)
    else:
        posteriors = glm_posteriors(rows, places, likelihood, slabs, _JUDGES)
    if problem.structure is not None and problem.structure.is_signed:
        # the ridge of a subset's own evidence may turn a sign that the ridge of the walk has not
        weights = visited.weights * problem.structure.right_signs(posteriors.coef, columns)
        if not weights.any():
            return _of_refit(chosen, refit, found.n_rows_read)
        visited = Visited(visited.subsets, weights / weights.sum())
    coef = (visited.weights @ posteriors.coef) / scale
    intercept = float(visited.weights @ posteriors.intercept - shift @ coef)
    noise = float(visited.weights @ posteriors.noise)
    if found.noise is not None:
        size = float(visited.weights @ [len(where) for where in places])
        noise = _noise_as_it_is(problem, columns, coef, intercept, size)
    alike = 0.0 if found.dependence is None else found.dependence.share
    losses = _left_out_losses(likelihood, rows, places, posteriors, visited.weights, alike)
    return SubsetAverage(
        columns,
        coef,
        intercept,
        shift,
        _moments(posteriors, places, visited.weights, scale),
        noise,
        float(w.sum()),
        len(places),
        *losses,
    )


def _caution(doubt: Floats) -> Floats:
    return np.asarray(1.0 / np.sqrt(1.0 + np.pi / 8.0 * doubt))


def _single(problem: Problem, found: Found, weight: Floats) -> Floats:
    """What one copy of each row weighs; its precision may be part of the weight."""
    if found.noise is None:
        return np.minimum(weight, 1.0)
    copies = rows_of(problem.table, None)(np.empty(0, dtype=np.intp))[2]
    return weight if copies is None else weight / np.maximum(copies, 1.0)


def _noise_as_it_is(
    problem: Problem, columns: NDArray[np.intp], coef: Floats, intercept: float, size: float
) -> float:
    """Noise variance of the rows as they were given, where the search has evened it out or shortened it."""
    X, y, weight, offset = rows_of(problem.table, None)(columns)
    residual = y - X @ coef - intercept - (0.0 if offset is None else offset)
    w = np.ones(len(y)) if weight is None else weight
    return float(w @ residual**2) / max(float(w.sum()) - size - 1.0, 1.0)


def _of_refit(columns: NDArray[np.intp], refit: Fit, rows: float) -> SubsetAverage:
    inside = refit.covariance[1:, 1:]
    # the intercept is least uncertain where the columns lie in the middle
    centre = -np.asarray(np.linalg.lstsq(inside, refit.covariance[1:, 0], rcond=None)[0], dtype=np.float64)
    moments = refit.dispersion * inside + np.multiply.outer(refit.coef, refit.coef)
    return SubsetAverage(
        columns, refit.coef, refit.intercept, centre, sparse.csr_array(moments), refit.dispersion, rows, 1
    )


def _columns_of(problem: Problem, units: NDArray[np.intp]) -> NDArray[np.intp]:
    every = [problem.units.columns[u] for u in units]
    return np.sort(np.concatenate(every)) if every else np.empty(0, dtype=np.intp)


def _columns(problem: Problem, visited: Visited) -> NDArray[np.intp]:
    return _columns_of(problem, np.unique(np.concatenate(visited.subsets)).astype(np.intp))


def _slabs(problem: Problem, n: float) -> Floats:
    """Prior variances of the coefficients to choose from, as in the walk."""
    smallest = min(2.0 * np.log(max(problem.units.n_units, 3)) / n, 1.0)
    return np.geomspace(smallest, 4.0, 24 if problem.family == "gaussian" else 8)


def _moments(
    posteriors: Posteriors, places: list[NDArray[np.intp]], weights: Floats, scale: Floats
) -> sparse.csr_array:
    total = np.zeros((len(scale), len(scale)))
    for where, weight, coef, variance in zip(
        places, weights, posteriors.coef, posteriors.variances, strict=True
    ):
        inside = coef[where]
        total[np.ix_(where, where)] += weight * (variance + np.multiply.outer(inside, inside))
    return sparse.csr_array(total / np.multiply.outer(scale, scale))


def _left_out_losses(
    likelihood: RowLikelihood,
    rows: StandardRows,
    places: list[NDArray[np.intp]],
    posteriors: Posteriors,
    weights: Floats,
    alike: float,
) -> tuple[float, float, float]:
    """Mean losses of left-out rows, of the average and the refit, and the error of their difference.

    `alike` is the correlation of rows that are left out together.
    """
    predictor, density = posteriors.left_out
    if rows.together is not None:
        density = _joint_density(density, rows, alike)
    judges = len(predictor)
    share = np.log(np.maximum(weights[:judges, None], 1e-300)) - density
    share = np.exp(share - share.max(axis=0))
    share /= share.sum(axis=0)
    inside = np.zeros((judges, rows.columns.shape[1]))
    for i, where in enumerate(places[:judges]):
        inside[i, where] = 1.0
    chosen = share.T @ inside > 0.5
    kinds, kind_of = np.unique(chosen, axis=0, return_inverse=True)
    often = np.argsort(-np.bincount(kind_of.ravel()), kind="stable")
    refits = np.zeros((min(len(kinds), _MOST_REFITS), len(rows.y)))
    number = np.zeros(len(kinds), dtype=np.intp)
    for i, kind in enumerate(often[: len(refits)]):
        number[kind] = i
        refits[i] = _left_out_refit(rows, likelihood, kinds[kind])
    refit = refits[number[kind_of.ravel()], np.arange(len(rows.y))]
    eta = (share * predictor).sum(axis=0)
    if likelihood.family == "binomial":
        doubt = (predictor - eta) ** 2
        for i, where in enumerate(places[:judges]):
            Z = rows.columns[:, where]
            doubt[i] += np.einsum("ij,ij->i", Z @ posteriors.variances[i], Z)
        eta *= _caution((share * doubt).sum(axis=0))
    own, other = (_losses(likelihood, rows.y, by) for by in (eta, refit))
    part = rows.weight / rows.weight.sum()
    loss, refit_loss = float(part @ own), float(part @ other)
    if rows.together is not None:
        sums = np.bincount(rows.together, part * (own - other - loss + refit_loss))
        return loss, refit_loss, float(np.linalg.norm(sums))
    spread = float(part @ (own - other - loss + refit_loss) ** 2)
    return loss, refit_loss, float(np.sqrt(spread / rows.weight.sum()))


def _joint_density(density: Floats, rows: StandardRows, alike: float) -> Floats:
    """Log density of all rows that are left out with each one, less what they repeat of one another."""
    assert rows.together is not None
    counts = np.bincount(rows.together, rows.weight)
    sums = np.array([np.bincount(rows.together, each) for each in density * rows.weight])
    return (sums / (1.0 + np.maximum(counts - 1.0, 0.0) * alike))[:, rows.together]


def _left_out_refit(rows: StandardRows, likelihood: RowLikelihood, chosen: NDArray[np.bool_]) -> Floats:
    A = rows.columns[:, chosen]
    family = "negative_binomial" if likelihood.dispersion else likelihood.family
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        fit = fit_glm(A, rows.y, family, rows.weight, rows.offset)
    design = np.column_stack([np.ones(len(A)), A])
    return left_out_predictor(design, rows, likelihood, fit.all_coef, fit.covariance)


def _losses(likelihood: RowLikelihood, y: Floats, eta: Floats) -> Floats:
    return (y - eta) ** 2 if likelihood.family == "gaussian" else -likelihood.of(y, eta)
