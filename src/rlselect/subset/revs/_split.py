"""Rows that take no part in a selection, so that what they say of it is honest."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Table, require_rows
from rlselect.subset.revs._dependence import cluster_codes
from rlselect.subset.revs._dependent_fit import dependent_fit
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._search import rows_of
from rlselect.subset.revs.evidence import Fit, fit_glm


def split_rows(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Problem]:
    """Two halves of the rows at random, each class divided evenly: to select, and to estimate.

    Clusters stay whole, and a series is cut in the middle: its first part selects.
    """
    table = problem.table
    if not isinstance(table, Table):
        raise ValueError(
            'inference="split" was given, but the rows are read in parts: load them (or a sample), or use '
            'inference="refit".'
        )
    require_rows(table.n_rows, 6, "REVS(inference='split')")
    halves = [table.part(np.flatnonzero(side)) for side in _sides(problem, table, rng)]
    for half in halves:
        half.start(rng)
    first, second = (replace(problem, table=half) for half in halves)
    return first, second


def _sides(
    problem: Problem, table: Table, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows each half has."""
    number, y = problem.together, table.targets()
    if number is None:
        number = np.arange(table.n_rows)
    mean = np.bincount(number, y) / np.bincount(number)
    order = rng.permutation(len(mean))
    if problem.classes is not None:
        order = order[np.argsort(mean[order], kind="stable")]
    second = np.zeros(len(mean), dtype=bool)
    second[order[1::2]] = True
    if problem.time_ordered and cluster_codes(table) is None:
        second = np.arange(len(mean)) >= (len(mean) + 1) // 2
    side = second[number]
    for rows in (side, ~side):
        alike = problem.classes is not None and len(np.unique(y[rows])) < len(problem.classes)
        if problem.together is not None and (np.count_nonzero(rows) < 3 or alike):
            what = "a class is missing in" if alike else "there are fewer than three rows in"
            raise ValueError(
                f'inference="split" was given, but {what} one half of the clusters (or of the series): use '
                'inference="refit".'
            )
    return ~side, side


def refit_apart(apart: Problem, columns: np.ndarray) -> Fit:
    """The model of the selected columns on the rows that were kept apart."""
    A, y, weight, offset = rows_of(apart.table, None)(columns)
    fit = fit_glm(A, y, apart.family, weight, offset)
    return fit if apart.levels is None else dependent_fit(apart, columns, fit)[0]
