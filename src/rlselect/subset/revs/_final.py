"""The model of the selected columns, and what each of them is worth on held-out rows."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import log_likelihood
from rlselect.subset.revs._dependent_fit import dependent_fit
from rlselect.subset.revs._found import Found
from rlselect.subset.revs._problem import COUNTS, Problem
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

# rows that held-out gains of few rows are told by, and from which Newton's method starts on many
_FEW_ROWS = 2000


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
            break
        found.support[wrong] = False
    if rows is None:
        return columns, fit, _gains_on_many(problem, found, columns, fit)
    return columns, fit, _gains(problem, columns, rows, rng, fit.overdispersion)


def _fit_selected(
    problem: Problem, found: Found, columns: NDArray[np.intp], rng: np.random.Generator
) -> tuple[Fit, tuple | None]:
    """The model of some columns, and the rows it comes from unless they are many."""
    fit = _from_moments(found, columns)
    many = is_large(problem.table) and problem.levels is None
    if fit is None and found.gather_blocks and many:
        fit = _fit_blocks(problem, found, columns, rng)
    if fit is not None:
        return fit, None
    rows = found.gather(columns)
    A, y, weight, offset = rows
    fit = fit_glm(A, y, fitted_family(problem, found), weight, offset)
    if problem.levels is not None:
        fit, found.dependence = dependent_fit(problem, columns, fit)
    return fit, None if many else rows


def _from_moments(found: Found, columns: NDArray[np.intp]) -> Fit | None:
    """The model from the sums of the search, None where another pass over the rows is more precise."""
    moments = None if found.moments is None or not len(columns) else found.moments(columns)
    if moments is None:
        return None
    fit = fit_moments(moments)
    return fit if is_precise(fit, moments) else None


def _fit_blocks(
    problem: Problem, found: Found, columns: NDArray[np.intp], rng: np.random.Generator
) -> Fit | None:
    """Fit a block at a time; from some of the rows where Newton's method has to start."""
    assert found.gather_blocks is not None
    blocks: Any = partial(found.gather_blocks, columns)
    if problem.family == "gaussian":
        assert found.first is not None
        return fit_linear_blocks(blocks, _middle(found.first(columns)))
    if problem.table.in_memory:
        few = _some_rows(blocks, found.n_rows_read, rng)
    else:
        # the rows read first are a sample of all of them
        few = tuple(problem.table.glance(_FEW_ROWS, columns))
    return fit_glm_blocks(blocks, few, fitted_family(problem, found))


def _middle(rows: tuple) -> NDArray[np.float64]:
    A, y, _, offset = rows
    return np.append(A.mean(axis=0, dtype=np.float64), np.mean(y if offset is None else y - offset))


def _some_rows(blocks: Any, n_rows: int, rng: np.random.Generator) -> tuple:
    """Columns, response, weight and offset of some rows at random, out of blocks of them."""
    which = np.sort(rng.choice(n_rows, size=min(_FEW_ROWS, n_rows), replace=False))
    start, parts = 0, []
    for block in blocks():
        stop = start + len(block[1])
        mine = which[np.searchsorted(which, start) : np.searchsorted(which, stop)] - start
        parts.append(tuple(None if v is None else v[mine] for v in block))
        start = stop
    return tuple(None if v[0] is None else np.concatenate(v) for v in zip(*parts, strict=True))


def fitted_family(problem: Problem, found: Found) -> str:
    """That of the problem, unless the search found Poisson counts to be more spread than that."""
    return "negative_binomial" if found.dispersion else problem.family


def _gains_on_many(
    problem: Problem, found: Found, columns: NDArray[np.intp], fit: Fit
) -> NDArray[np.float64]:
    """What each selected unit saves on new rows, read off a fit to many.

    That is what it saves on these rows, the other coefficients having moved by a step, less twice what it
    costs to learn its own: once since these rows have been fitted, once for new ones (Akaike). Folds of some
    thousand rows would say the same, with an error larger than many an effect that many rows show.
    """
    units, place = problem.units, np.full(problem.table.n_columns, -1)
    place[columns] = np.arange(len(columns))
    gains = np.full(units.n_units, np.nan)
    kept = np.unique(units.unit_of[columns])
    inside = [place[units.columns[u]] + 1 for u in kept]
    coef, spread = fit.all_coef, fit.covariance
    pulls = [np.linalg.pinv(spread[np.ix_(i, i)], hermitian=True) @ coef[i] for i in inside]
    cost = fit.dispersion * np.array([len(i) for i in inside])
    if problem.family == "gaussian":
        # a step ends in the very minimum
        saved = np.array([coef[i] @ pull for i, pull in zip(inside, pulls, strict=True)])
        gains[kept] = (saved - 2.0 * cost) / fit.counted
    elif len(kept):
        without = [coef - spread[:, i] @ pull for i, pull in zip(inside, pulls, strict=True)]
        all_coef = np.column_stack([coef, *without])
        likelihood = partial(_likelihoods, problem.family, fit.overdispersion, all_coef)
        if found.gather_blocks is None:
            total = likelihood(*found.gather(columns))
        else:
            total = np.sum(list(found.gather_blocks(columns, likelihood)), axis=0)
        gains[kept] = (total[0] - total[1:] - cost) / fit.counted
    return gains


def _likelihoods(
    family: str, excess: float, all_coef: NDArray, A: NDArray, y: NDArray, weight: Any, offset: Any
) -> NDArray[np.float64]:
    """Log likelihood of some rows under coefficients, a column each with the intercept first."""
    known = 0.0 if offset is None else offset[:, None]
    eta = all_coef[0] + A @ all_coef[1:] + known
    name = "poisson" if family in COUNTS else family
    each = log_likelihood(name, y[:, None], eta, dispersion=excess)
    return np.asarray((np.ones(len(y)) if weight is None else weight) @ each)


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
    kept[order[before < _FEW_ROWS]] = True
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
    if max(len(y), 0.0 if weight is None else weight.sum()) > _FEW_ROWS:
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
