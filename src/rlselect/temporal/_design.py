"""From long data to one dense block: times x covariates x subjects, zeros where a subject is unavailable."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from rlselect.temporal._formula import FormulaDesign, materialise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ProcessDesign:
    """Everything the estimation needs, already aligned.

    Attributes
    ----------
    x : array of shape (times, covariates, subjects)
    y, w : arrays of shape (times, subjects)
        Responses and weights; weight 0 marks an unavailable subject.
    names : covariate names, ``Intercept`` among them
    terms : name of a term -> the positions of its columns
    factors : name of a term -> the factors it is made of
    times, clock : the distinct times as given, and as numbers (days for dates)
    subjects : the distinct ids
    spec : the formula's own record of how columns were coded, or None
    """

    x: Array
    y: Array
    w: Array
    names: list[str]
    terms: dict[str, list[int]]
    factors: dict[str, frozenset[str]]
    times: NDArray[Any]
    clock: Array
    subjects: NDArray[Any]
    response: str
    spec: Any = field(default=None, repr=False)

    def with_terms(self, terms: list[str]) -> "ProcessDesign":
        """The same rows with some of the terms."""
        positions = sorted(k for t in terms for k in self.terms[t])
        where = {old: new for new, old in enumerate(positions)}
        coding = ["1" if t == "Intercept" else t for t in terms]
        return replace(
            self,
            x=np.ascontiguousarray(self.x[:, positions, :]),
            names=[self.names[k] for k in positions],
            terms={t: [where[k] for k in self.terms[t]] for t in terms},
            factors={t: self.factors[t] for t in terms},
            spec=None if self.spec is None else self.spec.subset(coding),
        )

    def positions(self, names: Iterable[str], role: str) -> list[int]:
        """Columns of covariates or terms, each once, in the order given; `role` is for the message."""
        found: list[int] = []
        for name in names:
            if name in self.names:
                found.append(self.names.index(name))
            elif name in self.terms:
                found.extend(self.terms[name])
            else:
                raise ValueError(
                    f"{role} names {name!r}, which is not a covariate; covariates: {', '.join(self.names)}"
                )
        return list(dict.fromkeys(found))

    def reweighted(self, subject_weight: Array) -> "ProcessDesign":
        """The same design with every subject's rows counted `subject_weight` times."""
        return replace(self, w=self.w * subject_weight)


def build_design(
    formula: str | None, data: Any, y: Any, *, id: Any, time: Any, sample_weight: Any, available: Any
) -> ProcessDesign:
    """Read long data; see `TemporalProcessRegression.fit` for what is accepted."""
    if isinstance(data, tuple) and len(data) == 2 and y is None:
        data, y = data
    if isinstance(data, dict):
        data = pa.table({key: pa.array(np.asarray(column)) for key, column in data.items()})
    frame = _as_frame(data)
    length = len(frame) if frame is not None else len(np.asarray(data))
    if length == 0:
        raise ValueError("the data have no rows; at least one subject at one time is needed")
    ids, id_name = _column(frame, id, "id", length)
    when, time_name = _column(frame, time, "time", length)
    weight, weight_name = _numbers(frame, sample_weight, "sample_weight", length)
    usable, available_name = _flags(frame, available, length)
    taken = {name for name in (id_name, time_name, weight_name, available_name) if name is not None}

    subject, subjects = _encode(ids, "id")
    moment, times, clock = _encode_times(when)
    if weight is not None:
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise ValueError(
                "sample_weight must be finite and not negative; a weight of 0 takes a row out, "
                f"given: {int((~(weight >= 0)).sum() + np.isinf(weight).sum())} bad value(s)"
            )
        usable = usable & (weight > 0)

    part = materialise(formula, frame, data, y, usable, taken)
    rows = part.rows
    _refuse_duplicates(subject[rows], moment[rows], subjects, times, len(subjects))
    return _dense(part, rows, subject, moment, weight, subjects, times, clock)


def _dense(
    part: FormulaDesign,
    rows: NDArray[np.intp],
    subject: NDArray[np.intp],
    moment: NDArray[np.intp],
    weight: Array | None,
    subjects: NDArray[Any],
    times: NDArray[Any],
    clock: Array,
) -> ProcessDesign:
    most, p = int(np.bincount(moment[rows]).max()), len(part.names)
    if most <= p:
        # said before a block of times x subjects is laid out that nothing could be estimated from
        raise ValueError(
            f"too few subjects: no time has more than {most} available for {p} coefficients, at least "
            f"{p + 1} are needed; if subjects hardly share a time, round the times to a grid"
        )
    shape = (len(times), len(subjects))
    at = (moment[rows], subject[rows])
    x = np.zeros((shape[0], len(part.names), shape[1]))
    for k in range(len(part.names)):
        x[:, k, :][at] = part.x[:, k]
    y, w = np.zeros(shape), np.zeros(shape)
    y[at] = part.y
    w[at] = 1.0 if weight is None else weight[rows]
    return ProcessDesign(
        x, y, w, part.names, part.terms, part.factors, times, clock, subjects, part.response, part.spec
    )


def _as_frame(data: Any) -> Any:
    if isinstance(data, np.ndarray | list):
        return None
    try:
        return nw.from_native(data, eager_only=True)
    except TypeError:
        raise TypeError(
            f"data must be a pandas, polars or Arrow table, a dict of columns, or an array with y, "
            f"given {type(data).__name__}"
        ) from None


def _column(frame: Any, given: Any, what: str, length: int) -> tuple[Any, str | None]:
    """A column by name or an array of the data's length, and the name it takes out of the covariates."""
    if given is None:
        raise ValueError(
            f"{what} is needed: the name of a column of the data, or an array with one entry per row"
        )
    if isinstance(given, str):
        if frame is None:
            raise ValueError(
                f"{what}={given!r} names a column, but the data are an array; give {what} as an array"
            )
        if given not in frame.columns:
            raise ValueError(
                f"{what}={given!r} is not a column of the data; columns: {', '.join(frame.columns)}"
            )
        return _arrow_column(frame[given], what), given
    series = nw.from_native(given, series_only=True, allow_series=True, pass_through=True)
    values = _arrow_column(series, what) if isinstance(series, nw.Series) else _to_arrow(given)
    if len(values) != length:
        raise ValueError(f"{what} has {len(values)} entries, the data have {length} rows; they must agree")
    return values, None


def _arrow_column(series: Any, what: str) -> Any:
    try:
        return series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueError(
            f"{what} mixes values of different types; make them all text or all numbers"
        ) from None


def _to_arrow(given: Any) -> Any:
    values = np.asarray(given)
    if values.ndim != 1:
        raise ValueError(f"one entry per row is needed, given an array of shape {values.shape}")
    if values.dtype.kind == "M":
        # Arrow knows no coarser unit than a day
        values = values.astype("datetime64[ns]") if values.dtype != np.dtype("M8[D]") else values
    return pa.array(values.tolist() if values.dtype.kind in "OU" else values, from_pandas=True)


def _numbers(frame: Any, given: Any, what: str, length: int) -> tuple[Array | None, str | None]:
    if given is None:
        return None, None
    values, name = _column(frame, given, what, length)
    try:
        return _plain(values).astype(float), name
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, given {values.type}") from None


def _flags(frame: Any, given: Any, length: int) -> tuple[NDArray[np.bool_], str | None]:
    """Rows that count as observed; a missing flag counts as unavailable."""
    if given is None:
        return np.ones(length, dtype=bool), None
    values, name = _column(frame, given, "available", length)
    listed = values.to_pylist()
    numbers = np.array([v if isinstance(v, bool | int | float) else np.nan for v in listed], dtype=float)
    strange = [v for v in listed if v is not None and v not in (0, 1) and v == v]
    if strange:
        raise ValueError(f"available must hold True/False (or 1/0), given also {strange[0]!r}")
    return numbers == 1.0, name


def _plain(values: Any) -> NDArray[Any]:
    """Arrow to numpy; nulls of numeric columns become NaN, of date columns NaT."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _encode(values: Any, what: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Positions of the rows in the sorted distinct values, so that the order of rows does not matter."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = pa.array(values.to_numpy(zero_copy_only=False), from_pandas=True)
    if values.null_count:
        raise ValueError(
            f"{what} is missing in {values.null_count} row(s); every row needs one, drop or fill them"
        )
    coded = values.dictionary_encode()
    levels = np.asarray(coded.dictionary.to_numpy(zero_copy_only=False))
    order = np.argsort(levels, kind="stable")
    place = np.empty(len(levels), dtype=np.intp)
    place[order] = np.arange(len(levels))
    return place[np.asarray(coded.indices)], levels[order]


def _encode_times(values: Any) -> tuple[NDArray[np.intp], NDArray[Any], Array]:
    kind = values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    dated = pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    if not (numeric or dated):
        raise ValueError(
            f"time must be numbers or dates, given {kind}; convert the column, keeping its order"
        )
    moment, times = _encode(values, "time")
    if times.dtype.kind == "O":
        times = times.astype("datetime64[D]")
    clock = to_clock(times)
    if not np.isfinite(clock).all():
        raise ValueError("time holds infinite values; every time must be finite")
    return moment, times, clock


def to_clock(times: ArrayLike) -> Array:
    """Numbers to integrate and smooth over: numbers as they are, dates and durations in days."""
    values = np.asarray(times)
    if values.dtype.kind == "O":
        values = values.astype("datetime64[ns]")
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]").astype(np.int64) / 86_400e6
    if values.dtype.kind == "m":
        return values.astype("timedelta64[us]").astype(np.int64) / 86_400e6
    return values.astype(float)


def _refuse_duplicates(
    subject: NDArray[np.intp], moment: NDArray[np.intp], subjects: NDArray[Any], times: NDArray[Any], n: int
) -> None:
    flat = moment * n + subject
    counts = np.bincount(flat, minlength=1)
    if counts.max(initial=0) > 1:
        worst = int(counts.argmax())
        raise ValueError(
            f"subject {subjects[worst % n]!s} has {counts[worst]} rows at time {times[worst // n]!s} "
            f"({int((counts > 1).sum())} such pair(s) of id and time); one row per subject and time is "
            "needed: average or drop the others"
        )
