"""Rows that take no part in a selection, so that what they say of it is honest."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect._compat import user_level
from rlselect._limits import slower_here
from rlselect.data import Table, require_rows
from rlselect.subset.revs._dependent_fit import dependent_fit
from rlselect.subset.revs._found import rows_of
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs.evidence import Fit, fit_glm

# of a walk's beginning, for a row, a column and two predictors, in a third of a budget; and rows taken anyway
_SECONDS_A_CELL, _FEWEST = 6e-6, 200


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


def rows_in_time(problem: Problem, seconds: float | None, rng: np.random.Generator) -> tuple[Problem, str]:
    """The problem, or that of some rows where outcomes of rows that belong together take too long for all.

    One price of all columns takes a pass over them for every predictor, with what rows share, and nothing can
    begin without. Clusters stay whole, of a series the first part is taken. Where that would be too short to
    say anything, rows of a series stand for themselves.

    Returns
    -------
    Problem
    str
        How many rows there is time for, or that they stand for themselves; nothing where it is all of them.
    """
    table, kind = problem.table, problem.outcome
    if seconds is None or kind is None or problem.levels is None or not isinstance(table, Table):
        return problem, ""
    predictors = max(kind.n_classes - 1, 1) if kind.family == "multinomial" else 1
    room = seconds / slower_here() / (_SECONDS_A_CELL * table.n_columns * predictors**2)
    count = max(int(room), _FEWEST)
    if room < _FEWEST and problem.belonging.codes is None:
        warnings.warn(
            f"time_budget={seconds:g} is too short for a likelihood of {table.n_rows} rows in order with "
            f"{predictors} predictors: rows are taken as independent of each other, which makes effects "
            "look surer than they are. Give more time, or fewer columns.",
            UserWarning,
            stacklevel=user_level(),
        )
        return replace(problem, time_ordered=False), "rows taken as independent"
    if count >= table.n_rows:
        return problem, ""
    rows = np.arange(count)
    if problem.belonging.codes is not None:
        codes = problem.belonging.codes
        order = rng.permutation(int(codes.max()) + 1)
        kept = order[np.cumsum(np.bincount(codes)[order]) <= max(count, np.bincount(codes).max())]
        rows = np.flatnonzero(np.isin(codes, kept))
    return _half([problem], rows, rng)[0], f"{len(rows)} of {table.n_rows} rows"


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
