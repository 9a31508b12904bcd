"""The model of the selected columns, and what each of them is worth on held-out rows."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.revs._dependent_fit import dependent_fit
from rlselect.subset.revs._found import Found, rows_of
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._search import WIDE, is_large
from rlselect.subset.revs.evidence import (
    Fit,
    distinct_rows,
    fit_glm,
    fit_glm_blocks,
    fit_linear_blocks,
    fit_moments,
    heldout_gains,
    is_precise,
)

# held-out gains are told apart by a few thousand rows
_GAIN_ROWS = 2000


def final_model(
    problem: Problem, found: Found, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Fit, NDArray[np.float64]]:
    """Refit the selected columns on all rows that were used.

    A unit whose coefficient has a sign that it must not have leaves the selection. That loses nothing: the
    best coefficients that have the right signs are zero for some columns and, the loss being convex, the best
    ones of all for the others.

    Parameters
    ----------
    problem, found : Problem, Found
        The data and the selection.
    rng : Generator
        Deals out the folds, and chooses rows where there are many.

    Returns
    -------
    columns : array of int
        The selected design columns.
    fit : Fit
        Their coefficients.
    gains : array over units
        Held-out loss that each unit saves, NaN where it was not judged.
    """
    while True:
        columns = problem.columns_of(found.support)
        fit, rows = _fit_selected(problem, found, columns, rng)
        wrong = problem.wrong_unit(columns, fit.coef, fit.errors)
        if wrong is None:
            return columns, fit, _gains(problem, columns, rows, rng, fit.overdispersion)
        found.support[wrong] = False


def _fit_selected(
    problem: Problem, found: Found, columns: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Fit, tuple]:
    """The model of some columns, with (some of) the rows it comes from."""
    fit = _from_moments(found, columns)
    if fit is not None:
        return fit, _some_rows(problem, found, columns, rng)
    if found.gather_blocks and is_large(problem.table) and problem.levels is None:
        fit, rows = _fit_blocks(problem, found, columns, rng)
    if fit is None:
        rows = found.gather(columns)
        A, y, weight, offset = rows
        fit = fit_glm(A, y, fitted_family(problem, found), weight, offset)
        if problem.levels is not None:
            fit, found.dependence = dependent_fit(problem, columns, fit)
    return fit, rows


def _from_moments(found: Found, columns: NDArray[np.intp]) -> Fit | None:
    """The model from the sums of the search, None where another pass over the rows is more precise."""
    moments = None if found.moments is None or not len(columns) else found.moments(columns)
    if moments is None:
        return None
    fit = fit_moments(moments)
    return fit if is_precise(fit, moments) else None


def _some_rows(
    problem: Problem, found: Found, columns: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Any, ...]:
    """Rows of the selected columns, at random out of those that were used."""
    table = problem.table
    if not table.in_memory:
        # the rows read first are a sample of all of them
        return tuple(table.glance(_GAIN_ROWS, columns))
    assert found.numbers is not None
    places = rng.choice(found.n_rows_read, size=min(_GAIN_ROWS, found.n_rows_read), replace=False)
    return rows_of(table, found.numbers(np.sort(places)))(columns)


def _fit_blocks(
    problem: Problem, found: Found, columns: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Fit | None, tuple]:
    """Fit a block at a time, with some of the rows at random."""
    assert found.gather_blocks is not None
    blocks: Any = partial(found.gather_blocks, columns)
    table, linear = problem.table, problem.family == "gaussian"
    few = _Few(found.n_rows_read, rng) if table.in_memory else None
    if few is not None and linear:
        assert found.first is not None
        fit = fit_linear_blocks(partial(few.watch, blocks), _middle(found.first(columns)))
        return fit, few.rows
    if few is not None:
        for _ in few.watch(blocks, lambda *_: None):
            pass
        rows = few.rows
    else:
        # the rows read first are a sample of all of them
        rows = tuple(table.glance(_GAIN_ROWS, columns))
    if linear:
        return fit_linear_blocks(blocks, _middle(rows)), rows
    return fit_glm_blocks(blocks, rows, fitted_family(problem, found)), rows


def _middle(rows: tuple) -> NDArray[np.float64]:
    A, y, _, offset = rows
    return np.append(A.mean(axis=0, dtype=np.float64), np.mean(y if offset is None else y - offset))


class _Few:
    """Some rows at random out of those that pass by."""

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._which = np.sort(rng.choice(n_rows, size=min(_GAIN_ROWS, n_rows), replace=False))
        self._parts: list[tuple] = []

    def watch(self, blocks: Any, then: Any) -> Iterator[Any]:
        """Pass blocks on, and keep some of their rows."""
        start = 0
        for block in blocks():
            stop = start + len(block[1])
            mine = self._which[np.searchsorted(self._which, start) : np.searchsorted(self._which, stop)]
            self._parts.append(tuple(None if v is None else v[mine - start] for v in block))
            start = stop
            yield then(*block)

    @property
    def rows(self) -> tuple:
        """Columns, response, weight and offset."""
        return tuple(None if v[0] is None else np.concatenate(v) for v in zip(*self._parts, strict=True))


def fitted_family(problem: Problem, found: Found) -> str:
    """That of the problem, unless the search found Poisson counts to be more spread than that."""
    return "negative_binomial" if found.dispersion else problem.family


def _that_count(
    X: NDArray, y: NDArray, weight: NDArray | None, offset: NDArray | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Distinct rows at random until so many count, whether each stands there often or has a weight."""
    some = np.flatnonzero(np.ones(len(y)) if weight is None else weight)
    number = distinct_rows(X[some], y[some], None if offset is None else offset[some])
    counted = np.bincount(number, None if weight is None else weight[some])
    order = rng.permutation(len(counted))
    before = np.cumsum(counted[order]) - counted[order]
    kept = np.zeros(len(counted), dtype=bool)
    kept[order[before < _GAIN_ROWS]] = True
    return some[kept[number]]


def _gains(
    problem: Problem, columns: NDArray, rows: tuple, rng: np.random.Generator, overdispersion: float
) -> NDArray[np.float64]:
    table, units = problem.table, problem.units
    family = "negative_binomial" if overdispersion else problem.family
    place = np.full(table.n_columns, -1)
    if table.in_memory and not is_large(table) and table.n_columns <= WIDE:
        batch = table.take()
        rows = (batch.X.toarray() if table.is_sparse else batch.X, *batch[1:])
        place = np.arange(table.n_columns)
    else:
        # of large data only what is selected: the other columns would cost more than the whole search
        place[columns] = np.arange(len(columns))
    X, y, weight, offset = rows
    together = problem.together
    if max(len(y), 0.0 if weight is None else weight.sum()) > _GAIN_ROWS:
        few = _that_count(X, y, weight, offset, rng)
        X, y, weight, offset, together = (
            None if v is None else v[few] for v in (X, y, weight, offset, together)
        )
    absent = np.unique(units.unit_of[place < 0])
    kept = np.setdiff1d(np.arange(units.n_units), absent)
    gains = np.full(units.n_units, np.nan)
    if len(kept):
        members = [place[units.columns[u]] for u in kept]
        A = np.asarray(X, dtype=np.float64)
        gains[kept] = heldout_gains(
            A,
            y,
            family,
            place[columns],
            members,
            weight,
            offset,
            rng,
            overdispersion=overdispersion,
            together=together,
        )
    return gains
