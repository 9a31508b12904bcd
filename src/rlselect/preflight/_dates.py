"""Dates as numbers."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import narwhals as nw
import pyarrow as pa

from rlselect.data import unknown_column
from rlselect.preflight._columns import SLASHED, date_format, day_stands_first, in_either_order, reads

__all__ = ["DateColumns", "DateTexts", "expand_dates", "find_date_texts", "find_dates"]


def expand_dates(
    frame: Any,
    columns: Sequence[str] | None = None,
    *,
    but: Sequence[str] = (),
    day_first: bool | None = None,
) -> Any:
    """Put numbers in the place of dates: days since 2000, month, weekday, and hour if there are any.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars, pyarrow or any other library that narwhals knows.
    columns : sequence of str, optional
        Columns of dates, or of text that is a date; all of them by default.
    but : sequence of str, optional
        Columns that stay as they are, such as a target.
    day_first : bool, optional
        Whether the day or the month stands first in text such as 01/02/2024. By default the cells tell, as
        31/12/2024 does; where none of them does, the text is refused rather than guessed.

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
    >>> expand_dates(pa.table({"seen": ["01/02/2024"]}), ["seen"], day_first=True)["seen.month"].to_pylist()
    [2]
    """
    return find_dates(frame, columns, but=but, day_first=day_first).make(frame)


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

    @property
    def day_first(self) -> dict[str, bool]:
        """Columns of text such as 01/02/2024, and whether their day stands first."""
        orders = {name: day_stands_first(how) for name, how in self.written.items()}
        return {name: first for name, first in orders.items() if first is not None}

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
    day_first: bool | Mapping[str, bool] | None = None,
) -> DateColumns:
    """Which columns of a data frame are dates.

    Parameters
    ----------
    frame, columns, but
        As for `expand_dates`.
    hours : sequence of str, optional
        Columns with times of the day, where that is known; otherwise those that have any here.
    day_first : bool or mapping of str to bool, optional
        As for `expand_dates`, of all columns or of some.

    Returns
    -------
    DateColumns
        ``make(frame)`` puts numbers in their place, in these rows and in others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> dates = find_dates(pa.table({"seen": ["03.02.2024", "01.01.2000"]}))
    >>> dates.make(pa.table({"seen": ["02.01.2000"]})).to_pydict()
    {'seen.days': [1.0], 'seen.month': [1], 'seen.weekday': [7]}
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
    orders = day_first if isinstance(day_first, Mapping) else dict.fromkeys(chosen, day_first)
    written = {name: _ordered(table[name], orders.get(name)) for name in chosen}
    if hours is None:
        whens = {name: _moments(table[name], written[name]) for name in chosen}
        hours = [name for name, when in whens.items() if bool((when.dt.hour() != 0).any())]
    return DateColumns(written, frozenset(hours))


@dataclass(frozen=True)
class DateTexts:
    """A column of text that is dates, which stays where it is, and how its dates are written.

    Attributes
    ----------
    name, written : str
    """

    name: str
    written: str

    @property
    def day_first(self) -> bool | None:
        """What stands first in text such as 01/02/2024; None where it is written in another way."""
        return day_stands_first(self.written)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Columns with moments in the place of text."""
        if self.name not in given.names:
            return given
        return given.set(given.get_field_index(self.name), pa.field(self.name, pa.timestamp("us")))

    def needed(self, names: Sequence[str]) -> list[str]:
        """Columns that these are made of: themselves."""
        return list(names)

    def make(self, frame: Any) -> Any:
        """Put moments in the place of the text of a data frame that has the column."""
        table = nw.from_native(frame, eager_only=True)
        if self.name not in table.columns:
            return frame
        return table.with_columns(_moments(table[self.name], self.written)).to_native()


def find_date_texts(frame: Any, column: str, *, day_first: bool | None = None) -> DateTexts | None:
    """How the dates of a column of text are written; None where it holds no text, or no dates.

    Parameters
    ----------
    frame, day_first
        As for `expand_dates`.
    column : str
        The column.

    Returns
    -------
    DateTexts or None
        ``make(frame)`` reads them, in these rows and in others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> visits = pa.table({"seen": ["01/02/2024", "13/02/2024"]})
    >>> find_date_texts(visits, "seen").make(visits)["seen"][0].as_py().month
    2
    """
    series = nw.from_native(frame, eager_only=True)[column]
    written = _written(series, fewest=1)
    return None if written is None else DateTexts(column, _ordered(series, day_first) or written)


def _is_date(series: Any, fewest: int = 2) -> bool:
    if series.dtype in (nw.Date, nw.Datetime):
        return True
    return _written(series, fewest) is not None


def _written(series: Any, fewest: int) -> str | None:
    if series.dtype not in (nw.String, nw.Object):
        return None
    texts = _texts(series.drop_nulls().head(2000))
    return date_format(texts, fewest) if texts else None


def _texts(series: Any) -> list[str]:
    return list(dict.fromkeys(value for value in series.drop_nulls().to_list() if isinstance(value, str)))


def _ordered(series: Any, day_first: bool | None) -> str | None:
    """How dates are written, with the order of day and month that was told, or that all of the cells tell."""
    written = _written(series, fewest=1)
    if written is None or day_stands_first(written) is None:
        return written
    if day_first is None:
        texts = _texts(series)
        if in_either_order(texts, written):
            raise ValueError(
                f"Column {series.name!r} holds dates such as {texts[0]!r}, and no cell tells whether the day "
                "or the month stands first; give day_first=True or day_first=False."
            )
        day_first = reads(texts, SLASHED[True]) > reads(texts, SLASHED[False])
    return SLASHED[day_first]


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
    read = None
    with suppress(Exception):  # each library has its own
        read = series.str.to_datetime(format=written)
        # some libraries take 01/02/24 for a year of antiquity
        if not (read.dt.year() < 1000).any():
            return read
    texts = series.drop_nulls().unique().to_list()
    strays = [text for text in texts if not _is_written(text, written)]
    if read is not None and not strays:
        return read
    first = (strays or texts)[0]
    shown = f"{first!r}" + (f" and {len(strays) - 1} more" if len(strays) > 1 else "")
    order = {SLASHED[True]: ", day first,", SLASHED[False]: ", month first,"}.get(written, "")
    raise ValueError(
        f"Column {series.name!r} holds dates{order} but for {shown}; correct them, or read them as missing "
        f"(--na {first!r}, na_values of pandas)."
    )


def _is_written(text: object, written: str) -> bool:
    try:
        datetime.strptime(str(text), written)
    except ValueError:
        return False
    return True
