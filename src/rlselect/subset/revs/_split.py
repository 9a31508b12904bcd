"""Rows that take no part in a selection, so that what they say of it is honest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Table, require_rows
from rlselect.subset.revs._dependent_fit import dependent_fit
from rlselect.subset.revs._found import rows_of
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs.evidence import Fit, fit_glm


def split_rows(problems: Sequence[Problem], rng: np.random.Generator) -> tuple[list[Problem], list[Problem]]:
    """Two halves of the rows at random, each class divided evenly: to select, and to estimate.

    The problems are those of the same rows, one per response. Clusters stay whole, and a series is cut in the
    middle: its first part selects.
    """
    table = problems[0].table
    if not isinstance(table, Table):
        raise ValueError(
            'inference="split" was given, but the rows are read in parts: load them (or a sample), or use '
            'inference="refit".'
        )
    require_rows(table.n_rows, 6, "REVS(inference='split')")
    first = _first_half(problems, table, rng)
    return _half(problems, np.flatnonzero(first), rng), _half(problems, np.flatnonzero(~first), rng)


def _half(problems: Sequence[Problem], rows: np.ndarray, rng: np.random.Generator) -> list[Problem]:
    half = []
    for problem in problems:
        assert isinstance(problem.table, Table)
        table = problem.table.part(np.sort(rows))
        table.start(rng)
        half.append(replace(problem, table=table))
    return half


def _first_half(problems: Sequence[Problem], table: Table, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows select."""
    together = problems[0].together
    number = np.arange(table.n_rows) if together is None else together
    size = np.bincount(number)
    order = rng.permutation(len(size))
    for problem in problems:
        if problem.classes is not None:
            mean = np.bincount(number, problem.table.targets()) / size
            order = order[np.argsort(mean[order], kind="stable")]
    part = np.zeros(len(size), dtype=bool)
    part[order[::2]] = True
    if problems[0].time_ordered and problems[0].belonging.codes is None:
        part = np.arange(len(size)) < (len(size) + 1) // 2
    first = part[number]
    if together is not None:
        _require_both(problems, first)
    return first


def _require_both(problems: Sequence[Problem], first: NDArray[np.bool_]) -> None:
    """Refuse halves of clusters that are too small, or lack a class."""
    for problem in problems:
        y, classes = problem.table.targets(), problem.classes
        for rows in (first, ~first):
            lacks = classes is not None and len(np.unique(y[rows])) < len(classes)
            if lacks or np.count_nonzero(rows) < 3:
                what = "a class is missing in" if lacks else "there are fewer than three rows in"
                raise ValueError(
                    f'inference="split" was given, but {what} one half of the clusters (or of the series): '
                    'use inference="refit".'
                )


def refit_apart(apart: Problem, columns: np.ndarray) -> tuple[np.ndarray, Fit]:
    """The model of the selected columns on the rows that were kept apart, without those of a wrong sign."""
    while True:
        A, y, weight, offset = rows_of(apart.table, None)(columns)
        fit = fit_glm(A, y, apart.family, weight, offset)
        if apart.levels is not None:
            fit = dependent_fit(apart, columns, fit)[0]
        wrong = apart.wrong_unit(columns, fit.coef, fit.errors)
        if wrong is None:
            return columns, fit
        columns = np.setdiff1d(columns, apart.units.columns[wrong])
