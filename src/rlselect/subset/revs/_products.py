"""Interactions: which products of two columns are worth a place in a search, and a problem with them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect._limits import require_memory
from rlselect.data import ColumnPairs, FeatureUnits, PairTable, Table, Units
from rlselect.kernels import Outcome, SharedOutcome, learn_spread, pair_scores, score_and_curvature
from rlselect.subset.revs._dependence import Belonging
from rlselect.subset.revs._dependent_fit import learn_dependence
from rlselect.subset.revs._found import Found, rows_of
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._search import climb_once, is_large
from rlselect.subset.revs._structure import Structure
from rlselect.subset.revs.evidence import fit_glm, fit_outcome, standardise

Floats = NDArray[np.float64]

# products that take part in a search: the best of all, and the best of those whose columns matter alone
_KEPT, _KEPT_BESIDE = 100, 50
# with more columns than this, they and their products would be more than a walk takes
_MOST_COLUMNS = 1500
# numbers that a look at all products passes over, and the rows that it has at least
_WORK, _LEAST = 4e9, 1000
# rows that tell which columns matter
_ROWS = 5000
_LEAST_CURVATURE = 1e-8


def with_products(
    problem: Problem,
    apart: Problem | None,
    penalty: float | None,
    rng: np.random.Generator,
    clock: Clock,
) -> tuple[Problem, Problem | None]:
    """The problem with those products of two columns that say most beside the columns that matter.

    Parameters
    ----------
    problem : Problem
        With columns alone.
    apart : Problem, optional
        The same of other rows, which have no say in the choice.
    penalty, rng, clock
        Of the search.

    Returns
    -------
    problem, apart : Problem
        A product may only be in beside both of its columns.
    """
    table = problem.table
    assert isinstance(table, Table)
    if table.n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"order=2 was given for {table.n_columns:,} design columns; it is for at most {_MOST_COLUMNS:,}: "
            "select among them with order=1 first."
        )
    require_memory(8.0 * 12 * table.n_columns**2, "the scores of all products of two columns", "order=1")
    if is_large(table):
        few = table.part(np.sort(rng.choice(table.n_rows, size=min(_ROWS, table.n_rows), replace=False)))
        few.start(rng)
        sample = replace(problem, table=few)
    else:
        sample = problem
    inside = climb_once(sample, penalty, rng, clock)
    most = int(np.clip(_WORK / table.n_columns**2, min(_LEAST, table.n_rows), table.n_rows))
    rows: Any = slice(0, table.n_rows)
    if problem.outcome is None and most < table.n_rows:
        rows = np.sort(rng.choice(table.n_rows, size=most, replace=False))
    found, centre = _scores(problem, sample, inside, rows)
    pairs = ColumnPairs(*_best(problem, found, inside), centre)
    return _extended(problem, pairs), None if apart is None else _extended(apart, pairs)


def _scores(problem: Problem, sample: Problem, inside: NDArray[np.bool_], rows: Any) -> tuple[Floats, Floats]:
    """What each product says beside the units inside, and the means of the columns."""
    columns = problem.columns_of(inside)
    X, y, weight, offset = rows_of(problem.table, rows)(np.arange(problem.table.n_columns))
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    known = np.zeros(len(y)) if offset is None else offset
    A, few_y, few_weight, few_offset = rows_of(sample.table, None)(columns)
    if problem.outcome is None:
        fit = fit_glm(A, few_y, problem.family, few_weight, few_offset)
        family = "poisson" if problem.family == "negative_binomial" else problem.family
        eta = X[:, columns] @ fit.coef + fit.intercept + known
        score, curvature = score_and_curvature(family, y, eta, fit.overdispersion)
        if problem.levels is not None:
            belonging, own = problem.belonging.part(rows), eta - known
            score = _beside_levels(belonging, X[:, columns], own, score, curvature, w)
        score = score[None]
    else:
        outcome: Outcome = problem.outcome.make(y, weight, offset)
        outcome_fit = fit_outcome(A, few_y, problem.outcome.make, few_weight, few_offset)
        eta = (X[:, columns] @ outcome_fit.coef).T
        if problem.levels is not None:
            outcome = SharedOutcome(outcome, problem.levels, learn_dependence(problem, columns)[0])
        order = np.arange(len(y)) if outcome.order is None else outcome.order
        score = np.empty_like(eta)
        # the likelihood has counted the weights already
        score[:, order] = outcome.at(outcome_fit.own, eta[:, order]).score
        score = np.divide(score, w, out=np.zeros_like(score), where=w > 0)
    Z, centre, _ = standardise(X, w)
    return pair_scores(Z, w, score), centre


def _beside_levels(
    belonging: Belonging, A: Floats, eta: Floats, score: Floats, curvature: Floats, weight: Floats
) -> Floats:
    """Scores without what rows share: products that are alike throughout a cluster would crowd out others."""
    levels, curvature = belonging.levels, np.maximum(curvature, _LEAST_CURVATURE)
    assert levels is not None
    left, precision = score / curvature, weight * curvature
    noise = 1.0 / float(np.average(curvature, weights=weight))
    if np.ptp(curvature) == 0:
        # the noise of a linear model is what is left, not one
        noise = float(np.average(left**2, weights=weight))
        if not noise > 0:
            # squares of so small numbers are none
            return score
        precision = weight / noise
    design = np.column_stack([np.ones(len(A)), A])
    spread = learn_spread(levels, design, eta + left, precision, row_noise=noise)
    level = levels.factor(precision, spread).solve(levels.collect(precision * left))
    return np.asarray(score - curvature * levels.to_rows(level))


def _best(
    problem: Problem, found: Floats, inside: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The two columns of each product that is kept."""
    unit_of = problem.units.unit_of
    usable = (problem.allowed | problem.always)[unit_of]
    first, second = np.triu_indices(len(unit_of), 1)
    may = usable[first] & usable[second] & (unit_of[first] != unit_of[second])
    values = np.where(may, found[first, second], 0.0)
    beside = inside[unit_of[first]] & inside[unit_of[second]]
    kept = [
        np.argsort(-some, kind="stable")[:most]
        for some, most in ((values, _KEPT), (np.where(beside, values, 0.0), _KEPT_BESIDE))
    ]
    every = np.unique(np.concatenate(kept))
    every = every[values[every] > 0]
    return first[every].astype(np.intp), second[every].astype(np.intp)


def keep_products(selector: Any, problem: Problem, found: Found, gains: Floats) -> None:
    """Set what a fitted selector knows of products, and forget those without a coefficient.

    Parameters
    ----------
    selector : REVS
        With coefficients of all columns.
    problem, found : Problem, Found
        With products, and what the search has found.
    gains : array over units
        Held-out loss that each saves.
    """
    table = problem.table
    assert isinstance(table, PairTable)
    names, p = table.encoder.column_names_, len(table.pairs.centre)
    used = np.zeros(table.n_columns, dtype=bool)
    used[:p] = used[selector._average.columns] = True
    used[np.flatnonzero(np.atleast_2d(selector.coef_).any(axis=0))] = True
    columns = np.flatnonzero(used)
    selector._pairs = pairs = table.pairs.part(columns[p:] - p)
    features, of = table.encoder.feature_names, table.encoder.column_feature_
    units = problem.units.unit_of[columns[p:]]
    selector.interactions_ = [
        {
            "name": name,
            "features": [features[of[i]], features[of[j]]],
            "inclusion": float(found.inclusion[unit]),
            "gain": float(gains[unit]),
            "selected": bool(found.support[unit]),
        }
        for unit, name, i, j in zip(units, pairs.name(names), pairs.first, pairs.second, strict=True)
    ]
    selector.column_names_ = [*names, *pairs.name(names)]
    for name in ("coef_", "coef_average_", "_errors"):
        setattr(selector, name, getattr(selector, name)[..., columns])
    average = selector._average
    selector._average = replace(average, columns=np.searchsorted(columns, average.columns))


def _extended(problem: Problem, pairs: ColumnPairs) -> Problem:
    """The problem with products as further units, each of one column."""
    table, units, m = problem.table, problem.units, len(pairs)
    assert isinstance(table, Table)
    wider = Units(np.concatenate([units.unit_of, units.n_units + np.arange(m)]))
    none = np.zeros(m, dtype=bool)
    old = problem.structure
    if old is None:
        old = Structure(
            np.empty((0, units.n_units), dtype=bool),
            np.empty(0, dtype=np.intp),
            np.zeros(units.n_columns, dtype=np.int8),
            np.full((units.n_units, 2), -1, dtype=np.intp),
        )
    parents = np.column_stack([units.unit_of[pairs.first], units.unit_of[pairs.second]])
    structure = Structure(
        np.column_stack([old.members, np.zeros((len(old.most), m), dtype=bool)]),
        old.most,
        np.concatenate([old.signs, np.zeros(m, dtype=np.int8)]),
        np.concatenate([old.parents, parents]),
    )
    return replace(
        problem,
        table=PairTable(table, pairs),
        groups=FeatureUnits(wider, problem.groups.unit_of_feature),
        allowed=np.concatenate([problem.allowed, ~none]),
        always=np.concatenate([problem.always, none]),
        twin_of=np.concatenate([problem.twin_of, units.n_units + np.arange(m)]),
        structure=structure,
    )
