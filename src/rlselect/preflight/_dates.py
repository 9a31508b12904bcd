"""Dates as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import narwhals as nw
import pyarrow as pa

from rlselect.data import unknown_column
from rlselect.preflight._columns import date_format

__all__ = ["DateColumns", "expand_dates", "find_dates"]


def expand_dates(frame: Any, columns: Sequence[str] | None = None, *, but: Sequence[str] = ()) -> Any:
    """Put numbers in the place of dates: days since 2000, month, weekday, and hour if there are any.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars, pyarrow or any other library that narwhals knows.
    columns : sequence of str, optional
        Columns of dates, or of text that is a date; all of them by default.
    but : sequence of str, optional
        Columns that stay as they are, such as a target.

    Returns
    -------
    data frame
        Of the same library. ``date`` becomes ``date.days`` (since 1 January 2000), ``date.month`` (1 to 12),
        ``date.weekday`` (1 for Monday to 7) and, with times of the day, ``date.hour``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> expand_dates(pa.table({"seen": ["2024-01-01", "2024-02-03"]})).to_pydict()
    {'seen.days': [8766.0, 8799.0], 'seen.month': [1, 2], 'seen.weekday': [1, 6]}
    """
    return find_dates(frame, columns, but=but).make(frame)


@dataclass(frozen=True)
class DateColumns:
    """Which columns are dates, and what is made of them, for rows that were not seen yet.

    Attributes
    ----------
    written : dict of str to str or None
        How each of them is written as text; None where it is no text.
    hours : frozenset of str
        Those of them with times of the day.
    """

    written: dict[str, str | None]
    hours: frozenset[str]

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Columns with numbers in the place of dates."""
        kinds = {"days": pa.float64()}
        fields = []
        for field in given:
            made = [pa.field(f"{field.name}.{u}", kinds.get(u, pa.int64())) for u in self._made(field.name)]
            fields += made if field.name in self.written else [field]
        return pa.schema(fields)

    def needed(self, names: Sequence[str]) -> list[str]:
        """Columns that these are made of, each once."""
        origin = {f"{name}.{unit}": name for name in self.written for unit in self._made(name)}
        return list(dict.fromkeys(origin.get(name, name) for name in names))

    def make(self, frame: Any) -> Any:
        """Put numbers in the place of the dates of a data frame that are among its columns."""
        table = nw.from_native(frame, eager_only=True)
        out = [series for name in table.columns for series in self._expanded(table[name])]
        return table.select(*out).to_native()

    def _made(self, name: str) -> list[str]:
        return ["days", "month", "weekday", *(["hour"] if name in self.hours else [])]

    def _expanded(self, series: Any) -> list[Any]:
        name = series.name
        if name not in self.written:
            return [series]
        when = _moments(series, self.written[name])
        since = (when - datetime(2000, 1, 1)).dt.total_seconds() / 86400.0
        made = {"days": since, "month": when.dt.month(), "weekday": when.dt.weekday(), "hour": when.dt.hour()}
        return [made[unit].alias(f"{name}.{unit}") for unit in self._made(name)]


def find_dates(
    frame: Any,
    columns: Sequence[str] | None = None,
    *,
    but: Sequence[str] = (),
    hours: Sequence[str] | None = None,
) -> DateColumns:
    """Which columns of a data frame are dates.

    Parameters
    ----------
    frame, columns, but
        As for `expand_dates`.
    hours : sequence of str, optional
        Columns with times of the day, where that is known; otherwise those that have any here.
    """
    table = nw.from_native(frame, eager_only=True)
    dates = (name for name in table.columns if name not in but and _is_date(table[name]))
    chosen = list(dates) if columns is None else list(columns)
    for name in chosen:
        if name not in table.columns:
            raise unknown_column("columns", name, table.columns)
        # of a column that is named as a date, one cell is enough, or none
        if not _is_date(table[name], fewest=1) and not table[name].is_null().all():
            raise ValueError(f"Column {name!r} holds no dates; leave it out of columns.")
    written = {name: _written(table[name], fewest=1) for name in chosen}
    if hours is None:
        whens = {name: _moments(table[name], written[name]) for name in chosen}
        hours = [name for name, when in whens.items() if bool((when.dt.hour() != 0).any())]
    return DateColumns(written, frozenset(hours))


def _is_date(series: Any, fewest: int = 2) -> bool:
    if series.dtype in (nw.Date, nw.Datetime):
        return True
    return _written(series, fewest) is not None


def _written(series: Any, fewest: int) -> str | None:
    if series.dtype not in (nw.String, nw.Object):
        return None
    texts = [value for value in series.drop_nulls().head(2000).to_list() if isinstance(value, str)]
    return date_format(list(dict.fromkeys(texts)), fewest) if texts else None


def _moments(series: Any, written: str | None) -> Any:
    """Dates as moments; a part of a file may hold them as text where the rows seen first did not."""
    is_text = series.dtype in (nw.String, nw.Object)
    if is_text:
        series = _read(series, written or _written(series, fewest=1) or "%Y-%m-%d")
    elif series.dtype == nw.Unknown:  # nothing is known here
        series = series.cast(nw.String).str.to_datetime(format="%Y-%m-%d")
    return series.cast(nw.Datetime("us"))


def _read(series: Any, written: str) -> Any:
    """Dates that are written as text."""
    try:
        return series.str.to_datetime(format=written)
    except Exception:  # each library has its own
        strays = [text for text in series.drop_nulls().unique().to_list() if not _is_written(text, written)]
        shown = f"{strays[0]!r}" + (f" and {len(strays) - 1} more" if len(strays) > 1 else "")
        raise ValueError(
            f"Column {series.name!r} holds dates but for {shown}; correct them, or read them as missing "
            f"(--na {strays[0]!r}, na_values of pandas)."
        ) from None


def _is_written(text: str, written: str) -> bool:
    try:
        datetime.strptime(text, written)
    except ValueError:
        return False
    return True
