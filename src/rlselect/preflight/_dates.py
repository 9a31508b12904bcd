"""Dates as numbers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import narwhals as nw

from rlselect.data import unknown_column
from rlselect.preflight._columns import date_format

__all__ = ["expand_dates"]


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
    table = nw.from_native(frame, eager_only=True)
    dates = (name for name in table.columns if name not in but and _is_date(table[name]))
    chosen = list(dates) if columns is None else list(columns)
    for name in chosen:
        if name not in table.columns:
            raise unknown_column("columns", name, table.columns)
        if not _is_date(table[name]):
            raise ValueError(f"Column {name!r} holds no dates; leave it out of columns.")
    out = [series for name in table.columns for series in _expanded(table[name], name in chosen)]
    return table.select(*out).to_native()


def _is_date(series: Any) -> bool:
    if series.dtype in (nw.Date, nw.Datetime):
        return True
    return _written(series) is not None


def _written(series: Any) -> str | None:
    if series.dtype not in (nw.String, nw.Object):
        return None
    texts = [value for value in series.drop_nulls().head(2000).to_list() if isinstance(value, str)]
    return date_format(list(dict.fromkeys(texts))) if texts else None


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


def _expanded(series: Any, is_chosen: bool) -> list[Any]:
    if not is_chosen:
        return [series]
    name, written = series.name, _written(series)
    when = (series if written is None else _read(series, written)).cast(nw.Datetime("us"))
    since = (when - datetime(2000, 1, 1)).dt.total_seconds() / 86400.0
    out = [since.alias(f"{name}.days"), when.dt.month().alias(f"{name}.month")]
    out.append(when.dt.weekday().alias(f"{name}.weekday"))
    hour = when.dt.hour()
    return [*out, hour.alias(f"{name}.hour")] if bool((hour != 0).any()) else out
