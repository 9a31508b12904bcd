"""Subjects that come again, and the times at which they do."""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.preflight._columns import ColumnFacts, is_constant
from rlselect.preflight._findings import SeenRows

__all__ = ["Visits", "find_visits"]

_SUBJECT = re.compile(
    r"(^|[_.\W])(id|ids|subject|patient|person|customer|user|pid|subj)([_.\W]|$)", re.IGNORECASE
)
_TIME = re.compile(
    r"(^|[_.\W])(time|day|days|week|month|year|visit|wave|date|age|t)([_.\W]|$)", re.IGNORECASE
)


class Visits(NamedTuple):
    """Subjects that were seen several times."""

    subject: str
    time: str | None
    n_subjects: int


def find_visits(look: SeenRows) -> Visits | None:
    """Subjects with several rows each and the column of their times, where the data look like that."""
    for column in look.columns:
        if not (column.is_text or column.is_whole) or column.n_missing or not column.n_distinct:
            continue
        each = look.n_seen / column.n_distinct
        if column.n_distinct < 8 or not 1.8 <= each <= 200:
            continue
        others = [c for c in look.columns if c is not column and not is_constant(c)]
        codes = np.unique(column.values, return_inverse=True)[1]
        time = _clock(codes, others)
        told = _SUBJECT.search(column.name) is not None
        settled = any(_within(codes, c.values) for c in others)
        if (told and (time or settled)) or (time and settled and column.is_text):
            return Visits(column.name, time, column.n_distinct)
    return None


def _within(codes: NDArray, values: NDArray) -> bool:
    """Whether a column is constant within subjects."""
    if np.isnan(values).any() or len(np.unique(values)) < 2:
        return False
    order = np.lexsort([values, codes])
    same = codes[order][1:] == codes[order][:-1]
    return bool(np.all(values[order][1:][same] == values[order][:-1][same]))


def _clock(codes: NDArray, others: list[ColumnFacts]) -> str | None:
    """A column that rises from row to row of each subject."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    if not same.any():
        return None
    rising = []
    for column in others:
        if column.is_text or np.isnan(column.values).any():
            continue
        steps = np.diff(column.values[order])[same]
        if np.mean(steps > 0) >= 0.95:
            rising.append(column.name)
    named = [name for name in rising if _TIME.search(name)]
    return next(iter([*named, *rising]), None)
