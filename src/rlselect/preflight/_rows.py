"""What is seen in the rows: repeats, an order that matters, subjects that come again."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rlselect.preflight._columns import ColumnFacts
from rlselect.preflight._features import is_constant
from rlselect.preflight._findings import Finding, SeenRows

__all__ = ["Visits", "find_visits", "look_at_rows"]

_SUBJECT = re.compile(
    r"(^|[_.\W])(id|ids|subject|patient|person|customer|user|pid|subj)([_.\W]|$)", re.IGNORECASE
)
_TIME = re.compile(
    r"(^|[_.\W])(time|day|days|week|month|year|visit|wave|date|age|t)([_.\W]|$)", re.IGNORECASE
)
# neighbours so alike in y are no chance, and matter
_ALIKE, _ERRORS = 0.2, 4.0
_CLASSES = 20


class Visits(NamedTuple):
    """Subjects that were seen several times."""

    subject: str
    time: str | None
    n_subjects: int


def look_at_rows(look: SeenRows) -> Iterator[Finding]:
    """All that the rows show.

    Parameters
    ----------
    look : SeenRows
        The rows.
    """
    yield from _repeated(look)
    visits = find_visits(look)
    if visits is not None:
        when = f", at times that {visits.time!r} tells" if visits.time else ""
        yield Finding(
            "repeated measures",
            "warning",
            [name for name in (visits.subject, visits.time) if name],
            f"{visits.subject!r} tells {visits.n_subjects:,} subjects apart, which come several times each"
            f"{when}: their rows are not independent.",
            f"TemporalProcessRegression(formula).fit(X, id={visits.subject!r}, time={visits.time or ...!r})",
            f"rlselect effects DATA --formula ... --id {visits.subject} --time {visits.time or '...'}",
        )
    elif look.neighbours:
        yield from _in_order(look)


def _repeated(look: SeenRows) -> Iterator[Finding]:
    columns = [*look.columns, *([look.target] if look.target else [])]
    if not any(c.n_distinct > 0.1 * look.n_seen for c in columns):
        return  # where all columns have few values rows repeat by chance
    rows = np.stack([c.values for c in columns], axis=1)
    distinct = len({row.tobytes() for row in np.ascontiguousarray(rows + 0.0)})
    again = look.n_seen - distinct
    if again > max(1, 0.01 * look.n_seen):
        yield Finding(
            "repeated rows",
            "warning",
            [],
            f"{again:,} of {look.n_seen:,} rows repeat another one in every column: were they copied?",
            "leave the copies out, or count them once with sample_weight",
            "leave the copies out",
        )


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


def _in_order(look: SeenRows) -> Iterator[Finding]:
    y = look.target
    if y is None or y.n_distinct < 2 or look.n_seen < 50:
        return
    values = y.values[y.present]
    changes = int(np.count_nonzero(np.diff(values)))
    if y.is_text and y.n_distinct > 2:
        values = (values == np.bincount(values.astype(int)).argmax()).astype(float)
    ranks = rankdata(values)
    ranks -= ranks.mean()
    spread = float(ranks @ ranks)
    place = np.arange(len(ranks)) - 0.5 * (len(ranks) - 1)
    trend = float(ranks @ place) / np.sqrt(spread * float(place @ place))
    follow = float(ranks[1:] @ ranks[:-1]) / spread
    if abs(trend) > 0.9 or (y.n_distinct <= _CLASSES and changes <= 2 * (y.n_distinct - 1)):
        yield Finding(
            "sorted rows",
            "warning",
            [y.name],
            f"The rows are sorted by {y.name!r}: never split them in their order.",
            "rows are drawn at random here; shuffle them for other tools",
        )
    elif follow > max(_ALIKE, _ERRORS / np.sqrt(len(ranks))):
        yield Finding(
            "rows that follow each other",
            "warning",
            [y.name],
            f"{y.name!r} resembles itself from row to row (correlation {follow:.2f}): rows in order of time, "
            "or groups of rows that belong together, count as fewer than they are.",
            "name the groups or the time, and do not trust probabilities near one",
        )
