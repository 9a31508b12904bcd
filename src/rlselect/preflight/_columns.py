"""What a column holds: numbers, truth values, text, dates."""

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["ColumnFacts", "date_format", "read_column"]

Kind = Literal["number", "truth", "text", "category", "date", "text date", "text number", "empty", "other"]
_DATES = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
)
# cells of text that are tried, and the share of them that has to be a date
_TRIED, _MOSTLY = 1000, 0.95
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*")
_COMMA, _WHOLE = re.compile(r"\s*[-+]?\d+(,\d+)+([.eE][-+]?\d+)?\s*"), re.compile(r"\s*[-+]?\d+\s*")


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
        Of text, categories and numbers written with commas.
    n_missing, n_distinct : int
        Gaps, and different values beside them.
    """

    name: str
    kind: Kind
    values: NDArray[np.float64]
    levels: list[str]
    n_missing: int
    n_distinct: int

    @property
    def is_number(self) -> bool:
        """Whether its values have an order and a distance."""
        return self.kind in ("number", "truth", "text number")

    @property
    def is_text(self) -> bool:
        """Whether its values are names."""
        return self.kind in ("text", "category")

    @property
    def is_date(self) -> bool:
        """Whether its values are days, written as such or as text."""
        return self.kind in ("date", "text date")

    @property
    def has_commas(self) -> bool:
        """Whether it is text that most readers would take for numbers: 3,5 or 1,000."""
        return self.kind == "text number"

    @property
    def has_thousands(self) -> bool:
        """Whether commas of its numbers stand between thousands, as in 1,000 or 1,000.50."""
        return self.has_commas and _between_thousands(self.levels)

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        known = self.values[np.isfinite(self.values)]
        return self.kind == "number" and bool(np.all(known == np.round(known)))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Rows that are not missing."""
        return ~np.isnan(self.values)


def read_column(name: str, column: Any) -> ColumnFacts:
    """What an Arrow column holds.

    Parameters
    ----------
    name : str
        Its name.
    column : pyarrow.Array or ChunkedArray
        Its values.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind, values, levels = _values(column)
    seen = values[~np.isnan(values)]
    distinct = len(levels) if levels else len(np.unique(seen))
    return ColumnFacts(name, kind, values, levels, int(np.isnan(values).sum()), distinct)


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
            return "text date", _days(pc.strptime(column, written, "s", error_is_null=True)), []
        if _have_commas(levels):
            numbers = np.array([*_read_commas(levels), np.nan])
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


def _have_commas(levels: list[str]) -> bool:
    tried = levels[:_TRIED]
    n_commas = sum(_COMMA.fullmatch(level) is not None for level in tried)
    n_numbers = n_commas + sum(_WHOLE.fullmatch(level) is not None for level in tried)
    return n_commas > 1 and n_numbers >= _MOSTLY * len(tried)


def _between_thousands(levels: list[str]) -> bool:
    return all(_THOUSANDS.fullmatch(level) is not None for level in levels[:_TRIED] if "," in level)


def _read_commas(levels: list[str]) -> list[float]:
    """The numbers that are meant; NaN for what is none."""
    comma = "" if _between_thousands(levels) else "."
    meant = (level.strip().replace(",", comma) for level in levels)
    return [float(text) if _NUMBER.fullmatch(text) else np.nan for text in meant]


def date_format(levels: list[str]) -> str | None:
    """How dates are written in these texts; None where they are no dates.

    Examples
    --------
    >>> date_format(["2024-05-01", "2023-12-31"]), date_format(["red", "blue"])
    ('%Y-%m-%d', None)
    """
    some = pa.array([level for level in levels[:_TRIED] if level.strip()], pa.string())
    if len(some) < 2:
        return None
    for written in _DATES:
        read = pc.strptime(some, written, "s", error_is_null=True)
        if len(read) - read.null_count >= _MOSTLY * len(read):
            return written
    return None
