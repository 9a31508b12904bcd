"""Rows that take no part in a selection, so that what they say of it is honest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rlselect.data import Table, require_rows
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._search import rows_of
from rlselect.subset.revs.evidence import Fit, fit_glm


def split_rows(problems: Sequence[Problem], rng: np.random.Generator) -> tuple[list[Problem], list[Problem]]:
    """Two halves of the rows at random, each class divided evenly: to select, and to estimate.

    The problems are those of the same rows, one per response.
    """
    table = problems[0].table
    if not isinstance(table, Table):
        raise ValueError(
            'inference="split" was given, but the rows are read in parts: load them (or a sample), or use '
            'inference="refit".'
        )
    require_rows(table.n_rows, 6, "REVS(inference='split')")
    order = rng.permutation(table.n_rows)
    for problem in problems:
        if problem.classes is not None:
            order = order[np.argsort(problem.table.targets()[order], kind="stable")]
    return _half(problems, order[::2], rng), _half(problems, order[1::2], rng)


def _half(problems: Sequence[Problem], rows: np.ndarray, rng: np.random.Generator) -> list[Problem]:
    half = []
    for problem in problems:
        assert isinstance(problem.table, Table)
        table = problem.table.part(np.sort(rows))
        table.start(rng)
        half.append(replace(problem, table=table))
    return half


def refit_apart(apart: Problem, columns: np.ndarray) -> tuple[np.ndarray, Fit]:
    """The model of the selected columns on the rows that were kept apart, without those of a wrong sign."""
    while True:
        A, y, weight, offset = rows_of(apart.table, None)(columns)
        fit = fit_glm(A, y, apart.family, weight, offset)
        wrong = apart.wrong_unit(columns, fit.coef, fit.errors)
        if wrong is None:
            return columns, fit
        columns = np.setdiff1d(columns, apart.units.columns[wrong])
