"""Columns of a table by name, or arrays beside it, each read in its role: for trials and long data."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence, Sized
from datetime import datetime
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from rlselect._compat import user_level
from rlselect.data._checks import check_length, check_shape, refuse_huge, unknown_column, warn_of_order
from rlselect.data._design import leave_out_names
from rlselect.data._open import open_columns
from rlselect.data._part_columns import PartColumns
from rlselect.data._read import (
    as_array,
    as_frame,
    as_numbers,
    missing_mask,
    read_objects,
    read_series,
    read_vector,
)
from rlselect.data._store import Column
from rlselect.data._table import check_weight

Floats = NDArray[np.float64]
_DAY = 86_400e6  # microseconds
# dates and moments as text: 24.12.2024, 2024-12-24, 2024-12-24 10:30:00
_DAY_FIRST = re.compile(r"\d{2}\.\d{2}\.\d{4}")
_YEAR_FIRST = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
_UNIVERSAL = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


class Covariate(NamedTuple):
    """Numbers, or positions among labels where there are any; NaN where missing."""

    values: Floats
    labels: tuple[str, ...] = ()


class Distinct(NamedTuple):
    """Sorted distinct values, and the position of each row's value among them."""

    positions: NDArray[np.intp]
    values: NDArray[Any]


class Columns:
    """A table whose columns are read one at a time, each in a role such as id, time, action or reward.

    Where a role is read, the name of a column will do as well as an array with one value per row.

    Parameters
    ----------
    table : data frame, Arrow table, dict of columns, source, array of two dimensions, or None
        A lazy frame is collected. Columns of a large source (see `open_source`) are read from it whenever
        they are asked for, and not kept. None: all roles are arrays, as long as the first one that is read.
    called : str
        What messages call the table.
    names : sequence of str, optional
        Names of the columns of an array, which are x0, x1, ... and not for users otherwise.

    Attributes
    ----------
    names : list of str
    n_rows : int or None

    Examples
    --------
    >>> columns = Columns({"who": ["b", "a", "b"], "gain": [1, None, 3]}, "data")
    >>> columns.numbers("gain", "reward")
    array([ 1., nan,  3.])
    >>> columns.distinct("who", "id").positions
    array([1, 0, 1])
    >>> columns.labels("wo", "id")
    Traceback (most recent call last):
        ...
    ValueError: id='wo' is not a column of data. Did you mean 'who'?
    """

    def __init__(self, table: Any, called: str, names: Sequence[str] | None = None) -> None:
        self.called, given = called, table
        self.n_rows: int | None = None
        self._columns: Mapping[str, Any] = {}
        self.has_names = True
        table = open_columns(table, called)
        if table is None:
            self.has_names = False
        elif isinstance(table, PartColumns):
            self._columns, self.n_rows = table, table.n_rows
        elif isinstance(table, Mapping):
            self._set({str(name): _series_or_array(values) for name, values in table.items()})
        else:
            frame = as_frame(table, called, collect=True)
            if frame is not None:
                self._set({str(s.name): s for s in frame.iter_columns()}, frame.shape[0])
            else:
                self._set_array(table, names)
        self.names = list(self._columns)
        self._given_table = given

    def _set(self, columns: dict[str, Any], n_rows: int | None = None) -> None:
        lengths = {name: _length(values, name, self.called) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The columns of {self.called} differ in length: {lengths}.")
        self.n_rows = next(iter(lengths.values()), 0) if n_rows is None else n_rows
        check_shape((self.n_rows, len(columns)), self.called)
        self._columns = columns

    def _set_array(self, table: Any, names: Sequence[str] | None) -> None:
        if not isinstance(table, np.ndarray | Sequence) and not hasattr(table, "__array__"):
            raise TypeError(
                f"{self.called} is of type {type(table).__name__}; give a data frame, an Arrow table, a dict "
                "of columns, the path of a CSV or Parquet file, or an array."
            )
        array = as_array(table, self.called)
        if names is not None and array.shape[1] != len(names):
            raise ValueError(
                f"{self.called} has {array.shape[1]} columns, but {len(names)} are needed: "
                f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
            )
        self.has_names = names is not None
        self._columns = dict(zip(names or [f"x{j}" for j in range(array.shape[1])], array.T, strict=True))
        self.n_rows = len(array)

    def _given(self, given: Any, role: str) -> tuple[Any, str]:
        """A series or array, and what messages call it."""
        if given is None:
            raise ValueError(f"{role} is needed: the name of a column, or an array with one value per row.")
        if not isinstance(given, str):
            warn_of_order(self._given_table, given, role, self.called)
            return _series_or_array(given), role
        if not self.has_names:
            lack = f"{self.called} has no column names" if self._columns else f"there is no {self.called}"
            raise TypeError(
                f"{role}={given!r} names a column, but {lack}: give a table with names, or the values "
                f"themselves as {role}."
            )
        if given not in self._columns:
            raise unknown_column(role, given, self.names, self.called)
        return self._columns[given], f"{role} (column {given!r})"

    def _vector(self, given: Any, role: str, *, dates: bool = False) -> tuple[np.ndarray, str]:
        """Numbers as they are, text as objects, dates where they are allowed; gaps are NaN, None or NaT."""
        values, name = self._given(given, role)
        found = read_dates(values) if dates else None
        vector = read_vector(values, name) if found is None else found
        self._check_length(vector, role)
        return vector, name

    def _check_length(self, values: Sized, role: str) -> None:
        if self.n_rows is None:
            self.n_rows, self.called = len(values), role
        check_length(values, self.n_rows, role, self.called)

    def numbers(self, given: Any, role: str) -> Floats:
        """Numbers, NaN where missing."""
        return as_numbers(*self._vector(given, role))

    def matrix(self, names: Sequence[str], role: str) -> Floats:
        """Columns of numbers side by side: (n_rows, len(names)), for arrays without names too."""
        found = np.empty((self.n_rows or 0, len(names)))
        for j, name in enumerate(names):
            if name not in self._columns:
                raise unknown_column(role, name, self.names, self.called)
            what = f"{role} (column {name!r})"
            found[:, j] = as_numbers(read_vector(self._columns[name], what), what)
        return found

    def weights(self, given: Any) -> Floats | None:
        """Row weights: finite, not negative, not all of them zero; None where none are given."""
        if given is None:
            return None
        vector, _ = self._vector(given, "sample_weight")
        return check_weight(vector, len(vector))

    def labels(self, given: Any, role: str) -> np.ndarray:
        """Labels as Python values, see `read_labels`."""
        return _as_labels(self._vector(given, role)[0])

    def flags(self, given: Any, role: str) -> NDArray[np.bool_]:
        """Truth values, also as 1 and 0; a missing one is False."""
        vector, name = self._vector(given, role)
        strange = next((v for v in vector[~missing_mask(vector)].tolist() if v not in (0, 1)), None)
        if strange is not None:
            raise ValueError(f"{name} must hold True and False (or 1 and 0), but holds {strange!r} too.")
        return np.asarray(vector == 1)

    def _column(self, given: Any, role: str, *, as_values: bool) -> tuple[Column, str]:
        """Numbers, or codes of texts; `as_values`: also dates, and categories of numbers as numbers."""
        values, name = self._given(given, role)
        dates = read_dates(values) if as_values else None
        if dates is not None:
            column = Column(values=dates)
        elif isinstance(values, nw.Series) and (values.dtype == nw.String or not as_values):
            column = read_series(values, name)
        else:
            vector = read_vector(values, name)
            column = read_objects(vector, name) if vector.dtype == object else Column(values=vector)
        self._check_length(np.asarray(column.codes if column.values is None else column.values), role)
        return column, name

    def covariate(self, given: Any, role: str) -> Covariate:
        """Numbers or, of text and categories, positions among the labels that occur."""
        return _read_covariate(self._column(given, role, as_values=False)[0])

    def covariates(self, names: Sequence[str], role: str) -> dict[str, Covariate]:
        """Several, by name; text that names rows is left out with a warning, as in every other table."""
        columns = [self._column(name, role, as_values=False)[0] for name in names]
        found = [_read_covariate(column) for column in columns]
        labels = {j: list(mine.labels) for j, mine in enumerate(found) if mine.labels}
        declared = [j for j, column in enumerate(columns) if column.declared]
        left_out = leave_out_names(labels, declared, names, self.n_rows or 0, self.called)
        return {
            name: mine for j, (name, mine) in enumerate(zip(names, found, strict=True)) if j not in left_out
        }

    def distinct(self, given: Any, role: str) -> Distinct:
        """Sorted distinct numbers, texts or dates; every row must have one."""
        column, name = self._column(given, role, as_values=True)
        if column.values is not None:
            return _distinct(column.values, name)
        codes = np.asarray(column.codes, dtype=np.intp)
        _refuse_gaps(codes < 0, name)
        return Distinct(codes, np.array(column.levels, dtype=object))

    def times(self, given: Any, role: str) -> Distinct:
        """Sorted distinct times, numbers or dates; every row must have a finite one."""
        vector, name = self._times(given, role)
        _warn_of_zone(self._given(given, role)[0], name)
        if np.isinf(to_clock(vector)).any():
            raise ValueError(f"{name} holds infinite values; every time must be finite.")
        refuse_huge(vector, name)
        return _distinct(vector, name)

    def clock(self, given: Any, role: str) -> Floats:
        """Times as numbers, see `to_clock`; NaN where missing."""
        return to_clock(self._times(given, role)[0])

    def _times(self, given: Any, role: str) -> tuple[np.ndarray, str]:
        vector, name = self._vector(given, role, dates=True)
        vector = _with_dates(vector)
        if vector.dtype.kind in "Ob":
            shown = next((v for v in vector.tolist() if v is not None), None)
            raise TypeError(
                f"{name} must be numbers or dates, but holds {shown!r}; write dates as 2024-12-31 or "
                "31.12.2024, and other times as numbers, keeping their order."
            )
        return vector, name

    def to_pandas(self, names: Sequence[str], rows: NDArray[np.intp]) -> Any:
        """Some rows of some columns as a pandas frame.

        Decimals are numbers, and categories have no unused levels.
        """
        import pandas as pd

        columns = {name: self._columns[name] for name in names}
        series = {n: c.to_pandas() if isinstance(c, nw.Series) else pd.Series(c) for n, c in columns.items()}
        frame = pd.DataFrame(
            {name: s.reset_index(drop=True) for name, s in series.items()}, index=range(self.n_rows or 0)
        )
        frame = frame.iloc[rows].reset_index(drop=True)
        for name in names:
            if frame[name].dtype.name == "category":
                frame[name] = frame[name].cat.remove_unused_categories()
            elif pd.api.types.infer_dtype(frame[name], skipna=True) == "decimal":
                # numbers of databases, which pandas holds as objects
                frame[name] = frame[name].astype(float)
        return frame

    def stretches(self, names: Sequence[str], numbers: int) -> Iterator[tuple[int, "Columns"]]:
        """Consecutive rows of some columns as tables of their own, with the place of their first row.

        Each has at most so many `numbers`, or one row.
        """
        size, first, n_rows = max(1, numbers // max(len(names), 1)), 0, self.n_rows or 0
        if n_rows <= size:
            yield 0, self
        elif isinstance(self._columns, PartColumns):
            for table in self._columns.tables(names):
                for start in range(0, len(table), size):
                    yield first + start, Columns(table.slice(start, size), self.called)
                first += len(table)
        else:
            for first in range(0, n_rows, size):
                some = {name: self._columns[name][first : first + size] for name in names}
                yield first, Columns(some, self.called)


def _read_covariate(column: Column) -> Covariate:
    if column.values is not None:
        return Covariate(column.values.astype(np.float64))
    codes = np.asarray(column.codes)
    seen = np.unique(codes[codes >= 0])
    positions = np.where(codes < 0, np.nan, np.searchsorted(seen, codes))
    return Covariate(positions, tuple(column.levels[k] for k in seen))


def _series_or_array(values: Any) -> Any:
    return nw.from_native(values, series_only=True, pass_through=True)


def _length(values: Any, name: str, called: str) -> int:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"Column {name!r} of {called} is {values!r}; one value per row is needed.")
    return len(values)


def read_dates(values: Any) -> np.ndarray | None:
    """Dates, moments and durations as NumPy's, in universal time; None for a column of something else."""
    if isinstance(values, nw.Series):
        if not (values.dtype.is_temporal() or values.dtype == nw.Object):
            return None
        values = values.to_native() if values.dtype == nw.Object else values.to_arrow()
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = np.asarray(values)
        if values.ndim != 1 or values.dtype.kind not in "mMO":
            return None
        if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] not in (
            "D",
            "s",
            "ms",
            "us",
            "ns",
        ):
            # pandas and Arrow know no months, and nothing between seconds and days
            values = values.astype(f"{values.dtype.kind}8[s]")
        try:
            array = pa.array(values, from_pandas=True) if values.dtype == object else None
        except (pa.ArrowException, OverflowError, TypeError):
            return None
        if array is None:
            return values
        values = array
    kind = values.type
    if pa.types.is_date(kind):
        return values.to_numpy(zero_copy_only=False).astype("datetime64[D]")
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return values.to_numpy(zero_copy_only=False)
    return None


def _warn_of_zone(values: Any, name: str) -> None:
    """Moments of a time zone are told in universal time, in which they may be of another day."""
    zone = _zone(values)
    if zone is not None and zone not in _UNIVERSAL:
        warnings.warn(
            f"{name} has the time zone {zone}; its times are told in UTC, where they may be of another day. "
            "For local ones take the zone off before: .dt.tz_localize(None) of pandas, "
            ".dt.replace_time_zone(None) of polars.",
            UserWarning,
            stacklevel=user_level(),
        )


def _zone(values: Any) -> str | None:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.type.tz if pa.types.is_timestamp(values.type) else None
    if isinstance(values, nw.Series):
        return values.dtype.time_zone if isinstance(values.dtype, nw.Datetime) else None
    first = next((v for v in values if v is not None), None)
    return str(first.tzinfo) if isinstance(first, datetime) and first.tzinfo is not None else None


def _with_dates(vector: np.ndarray) -> np.ndarray:
    """Text such as 24.12.2024 or 2024-12-24 as dates, where all of it is; with points the day comes first."""
    if vector.dtype.kind != "O":
        return vector
    texts = [None if text is None else str(text).strip() for text in vector]
    for pattern, read in ((_DAY_FIRST, _read_day_first), (_YEAR_FIRST, datetime.fromisoformat)):
        if any(text is not None for text in texts) and all(t is None or pattern.fullmatch(t) for t in texts):
            try:
                moments = np.array([None if t is None else read(t) for t in texts], dtype="datetime64[us]")
            except (TypeError, ValueError):  # the 31st of February
                return vector
            days = moments.astype("datetime64[D]")
            return days if np.array_equal(days, moments, equal_nan=True) else moments
    return vector


def _read_day_first(text: str) -> datetime:
    return datetime.strptime(text, "%d.%m.%Y")


def _refuse_gaps(gaps: NDArray[np.bool_], name: str) -> None:
    if gaps.any():
        raise ValueError(
            f"{name} is missing in {gaps.sum()} row(s), the first is row {gaps.argmax()}; every row needs "
            "one: fill it in, or leave those rows out."
        )


def _distinct(vector: np.ndarray, name: str) -> Distinct:
    _refuse_gaps(missing_mask(vector), name)
    values, positions = np.unique(vector, return_inverse=True)
    return Distinct(positions, values)


def read_labels(values: Any, name: str) -> np.ndarray:
    """Labels (of actions, say) as an array of Python values: None where missing, whole numbers as integers.

    Examples
    --------
    >>> read_labels([1.0, np.nan, 2.0], "action")
    array([1, None, 2], dtype=object)
    """
    return _as_labels(read_vector(values, name))


def _as_labels(vector: np.ndarray) -> np.ndarray:
    labels = np.empty(len(vector), dtype=object)
    for row, (value, gap) in enumerate(zip(vector.tolist(), missing_mask(vector), strict=True)):
        if not gap:
            labels[row] = int(value) if isinstance(value, float) and value.is_integer() else value
    return labels


def to_clock(times: ArrayLike) -> Floats:
    """Times as numbers: numbers stay, dates and durations are in days; NaN where missing."""
    values = np.asarray(times)
    if values.dtype.kind not in "mM":
        return values.astype(np.float64)
    days = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64) / _DAY
    return np.where(np.isnat(values), np.nan, days)


def refuse_repeated_pairs(subjects: Distinct, moments: Distinct, rows: Any, moment: str) -> None:
    """Refuse two of the rows for one subject at one moment; `moment` is what the latter is called."""
    n = len(subjects.values)
    pairs, counts = np.unique(moments.positions[rows] * n + subjects.positions[rows], return_counts=True)
    if counts.max(initial=0) > 1:
        worst = int(counts.argmax())
        raise ValueError(
            f"Subject {subjects.values[pairs[worst] % n]!s} has {counts[worst]} rows at {moment} "
            f"{moments.values[pairs[worst] // n]!s} ({int((counts > 1).sum())} such pair(s)); one row per "
            f"subject and {moment} is needed: average or drop the others."
        )
