"""Rows that take no part in a selection, so that what they say of it is honest."""

from dataclasses import replace

import numpy as np

from rlselect.data import Table, require_rows
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs._search import rows_of
from rlselect.subset.revs.evidence import Fit, fit_glm


def split_rows(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Problem]:
    """Two halves of the rows at random, each class divided evenly: to select, and to estimate."""
    table = problem.table
    if not isinstance(table, Table):
        raise ValueError(
            'inference="split" was given, but the rows are read in parts: load them (or a sample), or use '
            'inference="refit".'
        )
    require_rows(table.n_rows, 6, "REVS(inference='split')")
    order = rng.permutation(table.n_rows)
    if problem.classes is not None:
        order = order[np.argsort(table.targets()[order], kind="stable")]
    halves = [table.part(np.sort(order[start::2])) for start in (0, 1)]
    for half in halves:
        half.start(rng)
    first, second = (replace(problem, table=half) for half in halves)
    return first, second


def refit_apart(apart: Problem, columns: np.ndarray) -> tuple[np.ndarray, Fit]:
    """The model of the selected columns on the rows that were kept apart, without those of a wrong sign."""
    while True:
        A, y, weight, offset = rows_of(apart.table, None)(columns)
        fit = fit_glm(A, y, apart.family, weight, offset)
        wrong = apart.wrong_unit(columns, fit.coef, fit.errors)
        if wrong is None:
            return columns, fit
        columns = np.setdiff1d(columns, apart.units.columns[wrong])
