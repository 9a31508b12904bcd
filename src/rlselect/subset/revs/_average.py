"""The model averaged over the subsets that a walk has counted, beside the refit of one subset."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from rlselect._clock import time_is_up
from rlselect.subset.revs._found import Found, Gather, rows_of
from rlselect.subset.revs._left_out import LeftOutRows, Said, caution
from rlselect.subset.revs._problem import COUNTS, Problem
from rlselect.subset.revs._visited import Visited
from rlselect.subset.revs.evidence import (
    Fit,
    Posteriors,
    RowLikelihood,
    StandardRows,
    glm_posteriors,
    linear_posteriors,
    standardise,
)

Floats = NDArray[np.float64]

# a flat posterior needs all of its subsets; a mode of other families takes a fit, and the heaviest do as well
_MOST_LINEAR = 2500
_MOST_OTHER = 50
# so many of them judge the rows that are left out
_JUDGES = 200
# rows times squared columns up to which the ridge of all columns is tried: a fraction of a second
_ALL_COLUMNS = 2e7


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
    share_of_all : float
        What the ridge of all columns weighs beside them.
    trust : float
        How much of the variance of log odds counts, see `caution`.
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
    share_of_all: float = 0.0
    trust: float = 1.0

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
        (MacKay 1992, The evidence framework applied to classification networks). Of the variance counts what
        left-out rows bear out: near separation it is too large.
        """
        return caution(self.trust * self.doubt_of(X))

    def half_width(self, X: Any, level: float) -> Floats:
        """Half of the interval that holds a new response with probability `level`; X has the u columns."""
        variance = self.doubt_of(X) + self.noise * (1.0 + 1.0 / self.rows)
        return np.asarray(stats.t.ppf(0.5 + 0.5 * level, max(self.rows - 1.0, 1.0)) * np.sqrt(variance))


class _Mixture(NamedTuple):
    """Subsets, the places of their columns and their weights, and what they say together of left-out rows."""

    posteriors: Posteriors
    places: list[NDArray[np.intp]]
    weights: Floats
    said: Said

    def joined(self, other: "_Mixture", share: float) -> "_Mixture":
        """These and others, which have this share together; what each says of left-out rows stays theirs."""
        own, its = self.posteriors, other.posteriors
        posteriors = Posteriors(
            np.vstack([own.coef, its.coef]),
            np.append(own.intercept, its.intercept),
            np.append(own.noise, its.noise),
            [*own.variances, *its.variances],
            own.left_out,
        )
        places, said = [*self.places, *other.places], self.said.mixed(other.said, share)
        weights = np.append((1.0 - share) * self.weights, share * other.weights)
        return _Mixture(posteriors, places, weights, said)


def average_subsets(problem: Problem, found: Found, columns: NDArray[np.intp], refit: Fit) -> SubsetAverage:
    """Average the posterior of the coefficients over the subsets that were counted.

    Subsets of linear models count by their visits and each has the ridge of its own evidence; of the other
    families the fifty heaviest do, at the modes of their posteriors. They are `found.predicting`, if that
    is there.

    To compare with the refit, rows are left out one by one (`LeftOutRows`). They also say what all columns
    together are worth: where many effects are too small to be told apart, a ridge of all of them knows
    more than any subset, and gets the share of the average that suits rows that are left out (stacking: Yao,
    Vehtari, Simpson and Gelman 2018, Using stacking to average Bayesian predictive distributions).

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
    likelihood = RowLikelihood("poisson" if problem.family in COUNTS else problem.family, found.dispersion)
    visited = (found.predicting or found.visited).heaviest(_MOST_LINEAR if linear else _MOST_OTHER)
    inside, everything = _columns(problem, visited), _all_columns(problem, found)
    if found.fresh is not None:
        inside = np.union1d(inside, _columns(problem, found.visited.heaviest(_MOST_OTHER)))
    design = inside if everything is None else everything
    rows, shift, scale = _standard_rows(found.gather, design, partial(_single, problem, found))
    rows = rows._replace(together=problem.together)
    places = [np.searchsorted(design, _columns_of(problem, units)) for units in visited.subsets]
    n = float(rows.weight.sum())
    posteriors = _posteriors(rows, places, likelihood, _slabs(problem, n))
    # the heaviest ones alone, where time was up
    n_subsets = len(posteriors.coef)
    places, weights = places[:n_subsets], visited.heaviest(n_subsets).weights
    if problem.structure is not None and problem.structure.is_signed:
        # the ridge of a subset's own evidence may turn a sign that the ridge of the walk has not
        weights = weights * problem.structure.right_signs(posteriors.coef, design)
        if not weights.any():
            return _of_refit(columns, refit, found.n_rows_read)
        weights = weights / weights.sum()
    # clusters that do not tell what rows share are of one row each, or the only one: it changes nothing
    alike = 0.0 if found.dependence is None else float(np.nan_to_num(found.dependence.share))
    left_out = LeftOutRows.judged_by(likelihood, rows, posteriors, weights, alike)
    mean = _Mixture(posteriors, places, weights, left_out.said_by(posteriors, places))
    if found.fresh is None:
        said_by_refit = left_out.said_by_refit(places, problem.cut)
    else:
        mean, said_by_refit = _with_selected(problem, found, mean, left_out, design), found.fresh.refit
    given = shift, scale
    if found.noise is not None:
        # the rows of the search suit its noise: what predicts the response is judged on those as given
        rows, given_shift, given_scale = _standard_rows(rows_of(problem.table, None), design)
        left_out, given = left_out._replace(rows=rows), (given_shift, given_scale)
    share = 0.0
    if everything is not None and not time_is_up():
        whole = _ridge_of_all(rows, likelihood)
        share = left_out.share_of(whole.said, mean.said, even=found.noise is None)
        if share:
            whole = whole._replace(posteriors=_rescaled(whole.posteriors, *given, shift, scale))
            mean = mean.joined(whole, share)
    posteriors, places, weights, said = mean
    trust, used = left_out.trust_in(said), np.unique(np.concatenate(places))
    coef = (weights @ posteriors.coef) / scale
    intercept = float(weights @ posteriors.intercept - shift @ coef)
    noise = float(weights @ posteriors.noise)
    if found.noise is not None:
        size = float(weights @ [len(where) for where in places])
        noise = _noise_as_it_is(problem, design, coef, intercept, size)
    loss, refit_loss, doubt = left_out.compare(said.trusted(trust), said_by_refit)
    if found.fresh is not None:
        # one more row that is told wrongly may still come, and costs the refit as much as it is sure
        doubt += float(np.average(np.abs(said_by_refit), weights=rows.weight)) / n
    return SubsetAverage(
        design[used],
        coef[used],
        intercept,
        shift[used],
        _moments(posteriors, places, weights, scale)[np.ix_(used, used)],
        noise,
        n,
        n_subsets,
        loss,
        refit_loss,
        doubt,
        share_of_all=share,
        trust=trust,
    )


def _with_selected(
    problem: Problem, found: Found, mean: _Mixture, left_out: LeftOutRows, design: NDArray[np.intp]
) -> _Mixture:
    """The subsets of the selection beside those that predict, with the share that fresh folds speak for."""
    assert found.visited is not None
    assert found.fresh is not None
    said = Said(found.fresh.eta, found.fresh.doubt)
    share = left_out.share_of(said, mean.said)
    if not share:
        return mean
    rows, counted = left_out.rows, found.visited.heaviest(_MOST_OTHER)
    places = [np.searchsorted(design, _columns_of(problem, units)) for units in counted.subsets]
    posteriors = _posteriors(rows, places, left_out.likelihood, _slabs(problem, float(rows.weight.sum())))
    done = len(posteriors.coef)
    return mean.joined(_Mixture(posteriors, places[:done], counted.heaviest(done).weights, said), share)


def _standard_rows(
    gather: Gather, columns: NDArray[np.intp], single: Callable[[Floats], Floats] | None = None
) -> tuple[StandardRows, Floats, Floats]:
    """The rows with these columns, and where these lay and how wide they were."""
    A, y, weight, offset = gather(columns)
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    Z, shift, scale = standardise(np.asarray(A, dtype=np.float64), w)
    known = np.zeros(len(y)) if offset is None else offset
    copy = np.minimum(w, 1.0) if single is None else single(w)
    return StandardRows(Z, np.asarray(y, dtype=np.float64), w, known, copy), shift, scale


def _posteriors(
    rows: StandardRows, places: list[NDArray[np.intp]], likelihood: RowLikelihood, slabs: Floats
) -> Posteriors:
    if likelihood.family == "gaussian":
        return linear_posteriors(rows, places, slabs, _JUDGES)
    return glm_posteriors(rows, places, likelihood, slabs, _JUDGES)


def _all_columns(problem: Problem, found: Found) -> NDArray[np.intp] | None:
    """Every column that may be in, where a ridge of them all may have a share of the average.

    Not where subsets have to follow rules, nor where rows belong together.
    """
    plain = problem.structure is None and problem.together is None
    columns = problem.columns_of(problem.allowed | problem.always)
    _, y, weight, _ = found.gather(columns[:0])
    n = float(len(y) if weight is None else np.sum(weight))
    few = len(columns) <= n and n * float(len(columns)) ** 2 <= _ALL_COLUMNS
    return columns if plain and few else None


def _ridge_of_all(rows: StandardRows, likelihood: RowLikelihood) -> _Mixture:
    """The ridge of all columns under the prior variance of largest evidence, and what it says of the rows."""
    n, p = float(rows.weight.sum()), rows.columns.shape[1]
    places = [np.arange(p)]
    # the least of them shrinks all effects to a few per cent of their size
    posteriors = _posteriors(rows, places, likelihood, np.geomspace(0.1 / n, 4.0, 10))
    alone = LeftOutRows(likelihood, rows, np.ones((1, len(rows.y))))
    return _Mixture(posteriors, places, np.ones(1), alone.said_by(posteriors, places))


def _rescaled(
    posteriors: Posteriors, shift: Floats, scale: Floats, new_shift: Floats, new_scale: Floats
) -> Posteriors:
    """Posteriors of all columns, as they are once these are standardised otherwise."""
    stretch = new_scale / scale
    return posteriors._replace(
        coef=posteriors.coef * stretch,
        intercept=posteriors.intercept + posteriors.coef @ ((new_shift - shift) / scale),
        variances=[variance * np.multiply.outer(stretch, stretch) for variance in posteriors.variances],
    )


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
