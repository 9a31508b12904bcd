"""What a column holds: numbers, truth values, text, dates."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rlselect.data import USUAL_CELLS, CsvCells, NumberMarks, find_marks, is_stray

__all__ = [
    "SLASHED",
    "ColumnFacts",
    "Kind",
    "common_marks",
    "date_format",
    "day_stands_first",
    "in_either_order",
    "is_constant",
    "read_column",
    "reads",
]

Kind = Literal[
    "number",
    "truth",
    "text",
    "category",
    "date",
    "text date",
    "text number",
    "spoilt number",
    "empty",
    "other",
]
_DATES = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
)
# 01/02/2024 is a day of January or of February: by whether the day stands first
SLASHED = {True: "%d/%m/%Y", False: "%m/%d/%Y"}
# cells of text that are tried, and the share of them that has to be a date
_TRIED, _MOSTLY = 1000, 0.95
# different numbers that text has to hold to be taken for a column of numbers with strays
_FEW = 3


@dataclass(frozen=True)
class ColumnFacts:
    """A column as numbers, with what was seen of it.

    Attributes
    ----------
    name, kind : str
        Its name and what it holds.
    values : (n,) array
        Numbers, days of dates, and codes of text in sorted order of the levels; NaN where missing.
    levels : list of str
        Of text, categories, numbers with marks that are not read, and dates that two orders can read.
    n_missing, n_distinct : int
        Gaps, and different values beside them.
    strays : dict of str to int
        Texts among numbers and the rows, from 0 on, in which each stands first.
    n_strays : int
        Cells that hold one.
    """

    name: str
    kind: Kind
    values: NDArray[np.float64]
    levels: list[str]
    n_missing: int
    n_distinct: int
    strays: dict[str, int] = field(default_factory=dict)
    n_strays: int = 0

    @property
    def is_number(self) -> bool:
        """Whether its values have an order and a distance."""
        return self.kind in ("number", "truth", "text number", "spoilt number")

    @property
    def is_text(self) -> bool:
        """Whether its values are names."""
        return self.kind in ("text", "category")

    @property
    def is_date(self) -> bool:
        """Whether its values are days, written as such or as text."""
        return self.kind in ("date", "text date")

    @property
    def in_either_order(self) -> bool:
        """Whether it holds dates such as 01/02/2024, of which none tells what stands first."""
        return self.kind == "text date" and bool(self.levels)

    @property
    def marks(self) -> NumberMarks | None:
        """Marks of text that most readers would take for numbers: 3,5 or 1,000; None for all else."""
        return find_marks(self.levels) if self.kind == "text number" else None

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        known = self.values[np.isfinite(self.values)]
        return self.kind == "number" and bool(np.all(known == np.round(known)))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Rows that are not missing."""
        return ~np.isnan(self.values)


def read_column(name: str, column: Any, cells: CsvCells | None = None) -> ColumnFacts:
    """What an Arrow column holds.

    Parameters
    ----------
    name : str
        Its name.
    column : pyarrow.Array or ChunkedArray
        Its values.
    cells : CsvCells, optional
        How cells of the CSV file it comes from are written; without, text is meant to be text.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind, values, levels = _values(column)
    found = _facts(name, kind, values, levels)
    return _spoilt(found, cells) if kind == "text" else found


def _facts(name: str, kind: Kind, values: NDArray[np.float64], levels: list[str]) -> ColumnFacts:
    seen = values[~np.isnan(values)]
    distinct = len(levels) if levels else len(np.unique(seen))
    return ColumnFacts(name, kind, values, levels, int(np.isnan(values).sum()), distinct)


def _spoilt(column: ColumnFacts, cells: CsvCells | None) -> ColumnFacts:
    """A column of text with the strays among its numbers, if that is what it holds."""
    read = [(cells or USUAL_CELLS).marks.read(level) for level in column.levels]
    numbers = np.array([np.nan if number is None else number for number in read])
    codes = column.values[column.present].astype(int)
    texts = np.isnan(numbers)
    n_strays = int(texts[codes].sum())
    if not is_stray(n_strays, len(codes)) or len(np.unique(numbers[~texts])) < _FEW:
        return column
    rows = np.flatnonzero(column.present)
    levels, first = np.unique(codes, return_index=True)
    strays = {column.levels[k]: int(rows[i]) for k, i in zip(levels, first, strict=True) if texts[k]}
    strays = dict(sorted(strays.items(), key=lambda stray: stray[1]))
    if cells is not None:
        values = np.full(len(column.values), np.nan)
        values[column.present] = numbers[codes]
        column = _facts(column.name, "spoilt number", values, [])
    return replace(column, strays=strays, n_strays=n_strays)


def is_constant(column: ColumnFacts) -> bool:
    """Whether there is nothing to learn from a column."""
    return column.n_distinct <= 1 and column.kind != "other"


def common_marks(columns: Sequence[ColumnFacts]) -> NumberMarks | None:
    """Marks by which the columns of one file that have any are numbers; None where none has."""
    # 1,234 alone may be either, and is what its neighbours are
    marked = [(column, marks) for column in columns if (marks := column.marks) is not None]
    texts = [level for column, _ in marked for level in column.levels[: max(_TRIED // len(marked), 2)]]
    units = dict.fromkeys(unit for _, marks in marked for unit in marks.units)
    return find_marks(texts, tuple(units)) or next((marks for _, marks in marked), None)


def _values(column: Any) -> tuple[Kind, NDArray[np.float64], list[str]]:
    types, of = pa.types, column.type
    if types.is_null(of):
        return "empty", np.full(len(column), np.nan), []
    if types.is_boolean(of):
        return "truth", _numbers(column.cast(pa.int8())), []
    if types.is_integer(of) or types.is_floating(of) or types.is_decimal(of):
        return "number", _numbers(column), []
    if types.is_duration(of):
        return "number", _numbers(column.cast(pa.int64())), []
    if types.is_time(of):
        return "other", np.full(len(column), np.nan), []
    if types.is_temporal(of):
        return "date", _days(column), []
    category = types.is_dictionary(of)
    if category:
        column = column.cast(of.value_type)
    if types.is_string(column.type) or types.is_large_string(column.type):
        codes, levels = _codes(column)
        written = None if category else date_format(levels)
        if written is not None:
            return (
                "text date",
                _days(pc.strptime(column, written, "s", error_is_null=True)),
                (levels if in_either_order(levels, written) else []),
            )
        marks = None if category else find_marks(levels)
        if marks is not None:
            read = (marks.read(level) for level in levels)
            numbers = np.array([*(np.nan if number is None else number for number in read), np.nan])
            return "text number", numbers[np.nan_to_num(codes, nan=-1).astype(int)], levels
        return ("category" if category else "text"), codes, levels
    if category:  # of numbers
        codes, levels = _codes(column.cast(pa.string()))
        return "category", codes, levels
    return "other", np.where(column.is_null().to_numpy(zero_copy_only=False), np.nan, 0.0), []


def _numbers(column: Any) -> NDArray[np.float64]:
    values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _days(column: Any) -> NDArray[np.float64]:
    seconds = pc.cast(pc.cast(column, pa.timestamp("s"), safe=False), pa.int64())
    return _numbers(seconds) / 86400.0


def _codes(column: Any) -> tuple[NDArray[np.float64], list[str]]:
    coded = column.dictionary_encode()
    levels = [str(v) for v in coded.dictionary.to_pylist()]
    order = np.argsort(np.array(levels, dtype=object), kind="stable") if levels else np.zeros(0, dtype=int)
    places = np.empty(len(levels))
    places[order] = np.arange(len(levels))
    codes = _numbers(coded.indices).copy()
    known = ~np.isnan(codes)
    codes[known] = places[codes[known].astype(int)]
    return codes, [levels[k] for k in order]


def date_format(levels: list[str], fewest: int = 2) -> str | None:
    """How dates are written in these texts, so many at least; None where they are no dates.

    Examples
    --------
    >>> date_format(["2024-05-01", "2023-12-31"]), date_format(["red", "blue"])
    ('%Y-%m-%d', None)
    """
    some = pa.array([level for level in levels[:_TRIED] if level.strip()], pa.string())
    if len(some) < fewest:
        return None
    shares = {written: reads(some, written) for written in _DATES}
    best = max(_DATES, key=shares.__getitem__)
    return best if shares[best] >= _MOSTLY else None


def day_stands_first(written: str | None) -> bool | None:
    """What stands first in texts such as 01/02/2024; None where dates are written in another way.

    Examples
    --------
    >>> day_stands_first("%d/%m/%Y"), day_stands_first("%Y-%m-%d")
    (True, None)
    """
    return next((first for first, slashed in SLASHED.items() if slashed == written), None)


def in_either_order(levels: list[str], written: str) -> bool:
    """Whether dates that are written so can be read day first as well as month first."""
    if day_stands_first(written) is None:
        return False
    day, month = (reads(levels, SLASHED[first]) for first in (True, False))
    return day == month


def reads(texts: Any, written: str) -> float:
    """Share of some texts that are dates if they are written so; years have four digits.

    Examples
    --------
    >>> reads(["31/12/2024", "1/2/2024"], "%m/%d/%Y"), reads(["01/02/24"], "%Y/%m/%d")
    (0.5, 0.0)
    """
    read = pc.strptime(pa.array(texts, pa.string()), written, "s", error_is_null=True)
    whole = pc.greater_equal(pc.year(read), 1000)
    return float(pc.sum(pc.fill_null(whole, False)).as_py() or 0) / max(len(read), 1)
