"""The model of the selected columns, and of the average over subsets, for responses that are no numbers."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect._clock import OutOfTime, stop_if_late, time_is_up, while_time
from rlselect.kernels import Outcome, class_contrasts
from rlselect.subset.revs._autocorrelation import warn_if_alike
from rlselect.subset.revs._average import SubsetAverage
from rlselect.subset.revs._dependence import Dependence, describe
from rlselect.subset.revs._dependent_fit import learn_dependence
from rlselect.subset.revs._found import Found, Gather, rows_of
from rlselect.subset.revs._left_out import SHARES, stacked_share
from rlselect.subset.revs._outcome_kind import OutcomeKind
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._search import is_large
from rlselect.subset.revs.evidence import (
    OutcomeFit,
    SeparationWarning,
    fit_outcome,
    jackknife,
    outcome_gains,
    outcome_mode,
    standardise,
)

Floats = NDArray[np.float64]

# a mode takes a fit: the heaviest subsets do as well as all
_MOST = 50
# subsets that are fitted again on other rows, to be compared with the refit
_JUDGES = 10
_FOLDS = 5
_SLABS = 8
# rows times squared coefficients up to which the ridge of all columns is tried, and its widest prior
_ALL_COLUMNS = 1e8
_WIDEST = 100.0
# so many wider ones that are worse end the search: what is wider still is worse, and takes the longest to fit
_WORSE = 2
# of large data, rows on which columns are left out to see what each is worth
_GAIN_ROWS = 2000


class Linear(NamedTuple):
    """Coefficients and intercepts as users see them, and standard errors like the coefficients."""

    coef: Any
    intercept: Any
    errors: Any


class OutcomeModel(NamedTuple):
    """All that is kept of the model of an outcome.

    `gains` are by unit; `baselines` (of "cox") hold for the refit and the average, by stratum, times, the
    cumulative hazard at the middle of the columns, and that middle's predictor.
    """

    columns: NDArray[np.intp]
    refit: Linear
    average: Linear
    averaged: SubsetAverage
    gains: Floats
    baselines: dict[str, list[tuple[Floats, Floats, float]]]
    dependence: Dependence | None = None


def outcome_model(
    problem: Problem, found: Found, apart: Problem | None, rng: np.random.Generator
) -> OutcomeModel:
    """Refit the selected columns, average over the subsets that were counted, and compare the two.

    Parameters
    ----------
    problem, found : Problem, Found
        The data and what the search has found.
    apart : Problem, optional
        Rows that give the coefficients instead, because they took no part in the selection.
    rng : Generator
        Deals out the folds.

    Returns
    -------
    OutcomeModel
    """
    kind = problem.outcome
    assert kind is not None
    if apart is None:
        fitted, own, fit = _signed_fit(problem, found.support, found.gather)
    else:
        fitted, own, fit = _signed_fit(apart, found.support.copy(), rows_of(apart.table, None))
    columns = problem.columns_of(found.support)
    warn_if_alike(problem, fitted, fit)
    if found.visited is None and is_large(problem.table):
        # one subset stands for all, and some rows tell what a column is worth as well as all
        rows, together = _counting(found.gather(columns)), _together(problem)
        few = np.sort(rng.choice(len(rows[1]), min(_GAIN_ROWS, len(rows[1])), replace=False))
        rows = _part(rows, few)
        number = np.arange(len(few)) if together is None else together[few]
    else:
        every, together = _counting(found.gather(np.arange(problem.table.n_columns))), _together(problem)
        rows = (every[0][:, columns], *every[1:])
        number = _distinct(every) if together is None else together
    n = int(number.max(initial=-1)) + 1
    folds = (rng.permutation(n) % _FOLDS)[number]
    gains = np.full(problem.units.n_units, np.nan)
    left = (n if together is None else len(number)) * (1.0 - 1.0 / _FOLDS)
    enough = n >= (4 if together is None else 2) * _FOLDS and left > fit.coef.size + len(fit.own)
    chosen = np.flatnonzero(found.support)
    if enough and len(chosen):
        members = [np.searchsorted(columns, problem.units.columns[u]) for u in chosen]
        gains[chosen] = outcome_gains(rows[0], rows[1], kind.make, members, rows[2], rows[3], folds)
    averaged, average = _average(problem, found, kind, fitted, fit, folds if enough else None)
    shown = _linear(kind, fit, problem.table.n_columns, fitted)
    dependence = None
    if problem.levels is not None:
        shown = _with_errors(problem if apart is None else apart, shown, fitted, own, fit)
        dependence = describe(
            *learn_dependence(problem, columns),
            problem.belonging,
            getattr(problem.table, "sample_weight", None),
        )
    baselines = {}
    if kind.family == "cox":
        baselines["refit"] = _baseline(kind, own, fit.coef[:, 0])
        everything = found.gather(averaged.columns)
        baselines["average"] = _baseline(kind, everything, average.coef[averaged.columns])
    return OutcomeModel(columns, shown, average, averaged, gains, baselines, dependence)


def _together(problem: Problem) -> NDArray[np.intp] | None:
    """Which of the rows that count belong together, numbered without gaps; None where each stands alone."""
    if problem.together is None:
        return None
    weight = getattr(problem.table, "sample_weight", None)
    codes = problem.together if weight is None else problem.together[weight > 0]
    return np.unique(codes, return_inverse=True)[1].ravel().astype(np.intp)


def _with_errors(
    problem: Problem, shown: Linear, columns: NDArray[np.intp], rows: tuple, fit: OutcomeFit
) -> Linear:
    """Errors are the larger of the model's and of those that clusters speak for when they are left out."""
    kind, together = problem.outcome, _together(problem)
    if kind is None or together is None or fit.separated:
        return shown
    A, y, weight, offset = rows
    apart = replace(fit, covariance=jackknife(A, y, kind.make, weight, offset, fit, together))
    robust = _linear(kind, apart, problem.table.n_columns, columns)
    return shown._replace(errors=np.maximum(shown.errors, robust.errors))


def _signed_fit(
    problem: Problem, support: NDArray[np.bool_], gather: Gather
) -> tuple[NDArray[np.intp], tuple[Any, ...], OutcomeFit]:
    """Columns, rows and the model of the units in `support`, which those of a wrong sign leave."""
    assert problem.outcome is not None
    while True:
        columns = problem.columns_of(support)
        rows = _counting(gather(columns))
        fit = fit_outcome(rows[0], rows[1], problem.outcome.make, rows[2], rows[3])
        errors = np.sqrt(np.maximum(np.diagonal(fit.covariance), 0.0))
        wrong = problem.wrong_unit(columns, fit.coef[:, 0], errors[:: fit.coef.shape[1]])
        if wrong is None:
            return columns, rows, fit
        support[wrong] = False


def _counting(rows: tuple) -> tuple[Any, ...]:
    """Rows that count."""
    weight = rows[2]
    return rows if weight is None or weight.all() else _part(rows, weight > 0)


def _distinct(rows: tuple) -> NDArray[np.intp]:
    """Number of each row by what it holds: copies share one, and the order of the rows does not matter."""
    X, y, _, offset = rows
    # one number per row in place of its columns, summed up in the same order for every row
    mark = np.einsum("ij,j->i", X, np.random.default_rng(0).standard_normal(X.shape[1])) + 0.0
    every = np.column_stack([mark, y] if offset is None else [mark, y, offset])
    return np.unique(every, axis=0, return_inverse=True)[1].ravel()


def _linear(kind: OutcomeKind, fit: OutcomeFit, p: int, columns: NDArray[np.intp]) -> Linear:
    """What `coef_` and `intercept_` hold."""
    k, q = fit.coef.shape
    coef, errors = np.zeros((q, p)), np.zeros((q, p))
    if kind.family != "multinomial":
        coef[0, columns] = fit.coef[:, 0]
        errors[0, columns] = np.sqrt(np.maximum(np.diagonal(fit.covariance), 0.0))
        # the log odds of a class above each cut point
        return Linear(coef[0], -fit.own if kind.family == "ordinal" else 0.0, errors[0])
    contrasts = class_contrasts(kind.n_classes)
    coef[:, columns] = fit.coef.T
    blocks = np.einsum("iaib->iab", fit.covariance.reshape(k, q, k, q))
    spread = np.zeros((kind.n_classes, p))
    spread[:, columns] = np.sqrt(np.maximum(np.einsum("ca,iab,cb->ci", contrasts, blocks, contrasts), 0.0))
    return Linear(contrasts @ coef, contrasts @ fit.own, spread)


def _baseline(kind: OutcomeKind, rows: tuple, coef: Floats) -> list[tuple[Floats, Floats, float]]:
    A, y, weight, offset = rows
    w = np.ones(len(y)) if weight is None else weight
    known = np.zeros(len(y)) if offset is None else offset
    middle = float(np.average(A @ coef, weights=w)) if len(coef) else 0.0
    outcome = kind.survival(y.astype(np.intp), w, known)
    eta = (A @ coef - middle)[outcome.order]
    return [(times, hazard, middle) for times, hazard in outcome.baseline(eta[None])]


def _average(
    problem: Problem,
    found: Found,
    kind: OutcomeKind,
    columns: NDArray[np.intp],
    fit: OutcomeFit,
    folds: NDArray[np.intp] | None,
) -> tuple[SubsetAverage, Linear]:
    """Modes of the heaviest subsets, weighted by their visits; the refit where there are none, or no time."""
    p = problem.table.n_columns
    refit = _linear(kind, fit, p, columns)
    count = float(found.n_rows_read)
    if found.visited is None or time_is_up():
        return _kept(columns, refit, count, 1), refit
    visited = found.visited.heaviest(_MOST)
    every = [problem.columns_of(np.isin(np.arange(problem.units.n_units), s)) for s in visited.subsets]
    union = np.unique(np.concatenate(every)).astype(np.intp)
    all_columns = None if folds is None else _all_columns(problem, found, kind)
    design = union if all_columns is None else all_columns
    places = [np.searchsorted(design, c) for c in every]
    rows = _counting(found.gather(design))
    slab = _slab(problem, kind, rows, places)
    signs = np.zeros(len(design)) if problem.structure is None else problem.structure.signs[design]
    mean = _blend(kind, rows, _modes(kind, rows, places, slab, signs), visited.weights)
    losses: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    share = 0.0
    if folds is not None and np.isin(columns, design).all():
        alone = None if problem.together is None else np.searchsorted(design, columns)
        with suppress(OutOfTime):  # then the refit answers
            judged = _held_out(kind, rows, places, visited.weights, slab, alone, folds, signs)
            ridge = None if all_columns is None else _ridge_of_all(kind, rows, folds)
            losses, share = _compared(kind, rows, folds, judged, ridge)
            if share and ridge is not None:
                mean, union = mean.mixed(ridge[0], share), design
    shown = _linear(kind, mean, p, design)
    return _kept(union, shown, count, len(places), losses, share), shown


def _kept(
    columns: NDArray[np.intp],
    shown: Linear,
    rows: float,
    n: int,
    losses: tuple[float, float, float] = (np.nan, np.nan, np.nan),
    share: float = 0.0,
) -> SubsetAverage:
    none = sparse.csr_array((len(columns), len(columns)))
    coef = np.atleast_2d(shown.coef)[:, columns]
    centre = np.zeros(len(columns))
    return SubsetAverage(
        columns, coef, shown.intercept, centre, none, 1.0, rows, n, *losses, share_of_all=share
    )


def _all_columns(problem: Problem, found: Found, kind: OutcomeKind) -> NDArray[np.intp] | None:
    """Every column that may be in, where a ridge of them all may have a share, as in `average_subsets`."""
    plain = problem.structure is None and problem.together is None
    columns = problem.columns_of(problem.allowed | problem.always)
    _, y, weight, _ = found.gather(columns[:0])
    n = float(len(y) if weight is None else np.sum(weight))
    size = len(columns) * max(kind.n_classes - 1 if kind.family == "multinomial" else 1, 1)
    return columns if plain and size <= n and n * size**2 <= _ALL_COLUMNS else None


def _modes(
    kind: OutcomeKind, rows: tuple, places: list[NDArray[np.intp]], slab: float, signs: NDArray
) -> Iterator[OutcomeFit | None]:
    """Modes of some subsets on the scale of the data; None for those with a wrong sign.

    The heaviest come first, and may be all there is time for.
    """
    A, y, weight, offset = rows
    outcome = kind.make(y, weight, offset)
    w = np.ones(len(y)) if weight is None else weight
    Z, shift, scale = standardise(np.asarray(A, dtype=np.float64), w)
    standard = np.ascontiguousarray(Z.T if outcome.order is None else Z.T[:, outcome.order])
    f, q = outcome.n_own, outcome.n_predictors
    for where in while_time(places):
        start = np.concatenate([outcome.start(), np.zeros(len(where) * q)])
        mode = outcome_mode(outcome, standard[where], slab, start)
        coef = np.zeros((A.shape[1], q))
        coef[where] = mode.coef[f:].reshape(-1, q)
        wrong = np.any(coef * signs[:, None] < 0)
        yield None if wrong else _as_given(outcome, mode.coef[:f], coef, shift, scale)


def _blend(kind: OutcomeKind, rows: tuple, modes: Iterable[OutcomeFit | None], weights: Floats) -> OutcomeFit:
    """Mean of some modes; those with a wrong sign do not count."""
    total, own, coef = 0.0, np.zeros(0), np.zeros(0)
    for mode, share in zip(modes, weights, strict=False):
        if mode is not None:
            own = own + share * mode.own if total else share * mode.own
            coef = coef + share * mode.coef if total else share * mode.coef
            total += share
    if total:
        size = coef.size
        return OutcomeFit(own / total, coef / total, np.zeros((size, size)), False, np.nan)
    outcome = kind.make(*rows[1:])
    p = rows[0].shape[1]
    nothing = np.zeros((p, outcome.n_predictors))
    return _as_given(outcome, outcome.start(), nothing, np.zeros(p), np.ones(p))


def _as_given(outcome: Outcome, own: Floats, coef: Floats, shift: Floats, scale: Floats) -> OutcomeFit:
    """A model of standardised columns on the scale of the data."""
    coef, size = coef / scale[:, None], coef.size
    return OutcomeFit(outcome.absorb(own, -shift @ coef), coef, np.zeros((size, size)), False, np.nan)


def _slab(problem: Problem, kind: OutcomeKind, rows: tuple, places: list[NDArray[np.intp]]) -> float:
    """Prior variance of the coefficients that the heaviest subset with any column speaks for."""
    sizes = [len(where) for where in places]
    first = int(np.argmax(np.asarray(sizes) > 0))
    A, y, weight, offset = rows
    w = np.ones(len(y)) if weight is None else weight
    smallest = min(2.0 * np.log(max(problem.units.n_units, 3)) / float(w.sum()), 1.0)
    slabs = np.geomspace(smallest, 4.0, _SLABS)
    if not sizes[first]:
        return float(slabs[0])
    outcome = kind.make(y, weight, offset)
    Z = standardise(np.asarray(A, dtype=np.float64)[:, places[first]], w)[0].T
    Z = np.ascontiguousarray(Z if outcome.order is None else Z[:, outcome.order])
    start = np.concatenate([outcome.start(), np.zeros(len(Z) * outcome.n_predictors)])
    tried = [outcome_mode(outcome, Z, float(g), start).evidence for g in while_time(slabs)]
    return float(slabs[int(np.argmax(tried))])


class _Ridge:
    """The ridge of all columns on some rows; each begins at the one before, under a narrower prior."""

    def __init__(self, kind: OutcomeKind, rows: tuple) -> None:
        A, y, weight, offset = rows
        self.outcome = kind.make(y, weight, offset)
        w = np.ones(len(y)) if weight is None else weight
        Z, self.shift, self.scale = standardise(np.asarray(A, dtype=np.float64), w)
        order = slice(None) if self.outcome.order is None else self.outcome.order
        self.standard = np.ascontiguousarray(Z.T[:, order])
        none = np.zeros(A.shape[1] * self.outcome.n_predictors)
        self.coef = np.concatenate([self.outcome.start(), none])

    def under(self, slab: float) -> OutcomeFit:
        """The mode under this prior variance."""
        self.coef = outcome_mode(self.outcome, self.standard, slab, self.coef).coef
        f, q = self.outcome.n_own, self.outcome.n_predictors
        return _as_given(self.outcome, self.coef[:f], self.coef[f:].reshape(-1, q), self.shift, self.scale)


def _ridge_of_all(
    kind: OutcomeKind, rows: tuple, folds: NDArray[np.intp]
) -> tuple[OutcomeFit, list[OutcomeFit]]:
    """The ridge of all columns, and that without each fold; what is left out says how wide its prior is."""
    n = float(len(rows[1]) if rows[2] is None else rows[2].sum())
    outside = [_part(rows, folds == fold) for fold in range(_FOLDS)]
    ridges = [_Ridge(kind, _part(rows, folds != fold)) for fold in range(_FOLDS)]
    fits: list[list[OutcomeFit]] = []
    losses: list[float] = []
    slabs = np.geomspace(0.1 / n, _WIDEST, _SLABS)
    for slab in slabs:
        fits.append([])
        for ridge in ridges:
            fits[-1].append(ridge.under(float(slab)))
            stop_if_late()
        loss = sum(_loss(kind, part, fit) for part, fit in zip(outside, fits[-1], strict=True))
        losses.append(loss if np.isfinite(loss) else np.inf)
        best = int(np.argmin(losses))
        if len(losses) > best + _WORSE:
            break
    return _Ridge(kind, rows).under(float(slabs[best])), fits[best]


def _part(rows: tuple, mask: NDArray) -> tuple[Any, ...]:
    return tuple(None if v is None else v[mask] for v in rows)


def _held_out(
    kind: OutcomeKind,
    rows: tuple,
    places: list[NDArray[np.intp]],
    weights: Floats,
    slab: float,
    chosen: NDArray[np.intp] | None,
    folds: NDArray[np.intp],
    signs: NDArray,
) -> list[tuple[OutcomeFit, OutcomeFit]]:
    """The average and the refit without each fold, both with coefficients of all columns.

    Without a fold a subset weighs its share divided by the density that it gives to the responses there: rows
    that have had a part in choosing subsets think too well of these. The refit is that of the columns that
    would be selected then. Rows that belong together repeat one another, and say less than their
    density: where columns are `chosen`, weights and columns stay as they are.
    """
    places, weights = places[:_JUDGES], weights[:_JUDGES]
    inside = np.zeros((len(places), rows[0].shape[1]))
    for i, where in enumerate(places):
        inside[i, where] = 1.0
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        for fold in range(_FOLDS):
            known, left = _part(rows, folds != fold), _part(rows, folds == fold)
            modes, share = list(_modes(kind, known, places, slab, signs)), weights
            stop_if_late()
            columns = chosen
            if columns is None:
                share = _share_without(kind, left, modes, weights)
                columns = np.flatnonzero(share @ inside > 0.5)
            mean = _blend(kind, known, modes, share)
            refit = fit_outcome(known[0][:, columns], known[1], kind.make, known[2], known[3])
            coef = np.zeros_like(mean.coef)
            coef[columns] = refit.coef
            fits.append((mean, replace(refit, coef=coef)))
    return fits


def _share_without(kind: OutcomeKind, left: tuple, modes: list[OutcomeFit | None], weights: Floats) -> Floats:
    """What subsets weigh without the rows that are `left` out."""
    losses = np.array([np.inf if mode is None else _loss(kind, left, mode) for mode in modes])
    with np.errstate(divide="ignore"):
        # what weighs nothing beside the likely ones weighs nothing here
        share = np.where(np.isfinite(losses), np.log(weights) + losses, -np.inf)
    if np.isneginf(share).all():
        return weights
    share = np.exp(share - share.max())
    return np.asarray(share / share.sum())


def _loss(kind: OutcomeKind, rows: tuple, fit: OutcomeFit) -> float:
    """Minus the log likelihood of some rows."""
    judge = kind.make(rows[1], rows[2], rows[3])
    eta = (rows[0] @ fit.coef).T
    return -float(judge.at(fit.own, eta if judge.order is None else eta[:, judge.order]).value)


def _compared(
    kind: OutcomeKind,
    rows: tuple,
    folds: NDArray[np.intp],
    judged: list[tuple[OutcomeFit, OutcomeFit]],
    ridge: tuple[OutcomeFit, list[OutcomeFit]] | None,
) -> tuple[tuple[float, float, float], float]:
    """Mean losses of held-out folds of the average and the refit, the error of their difference, and a share.

    The share is that of the ridge of all columns in the average.
    """
    outside = [_part(rows, folds == fold) for fold in range(_FOLDS)]
    counts = np.array([len(part[1]) if part[2] is None else part[2].sum() for part in outside], dtype=float)
    means, share = [mean for mean, _ in judged], 0.0
    if ridge is not None:
        mixtures = [[a.mixed(b, s) for a, b in zip(means, ridge[1], strict=True)] for s in SHARES]
        total = [sum(_loss(kind, o, fit) for o, fit in zip(outside, m, strict=True)) for m in mixtures]
        if np.isfinite(total).all():
            share = stacked_share(np.array(total))
            means = [a.mixed(b, share) for a, b in zip(means, ridge[1], strict=True)]
    losses = np.array(
        [
            [_loss(kind, part, fit) / count for fit in (mean, refit)]
            for part, count, mean, (_, refit) in zip(outside, counts, means, judged, strict=True)
        ]
    )
    if not np.isfinite(losses).all():
        # rows of a class that the other folds lack have no likelihood: nothing can be compared
        return (np.nan, np.nan, np.nan), share
    loss, refit_loss = losses.mean(axis=0)
    doubt = float(np.std(losses[:, 0] - losses[:, 1], ddof=1) / np.sqrt(_FOLDS))
    return (float(loss), float(refit_loss), doubt), share
