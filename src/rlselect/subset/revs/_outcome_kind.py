"""Responses that are no numbers: several classes, ordered ones, times until an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import as_numbers
from rlselect.kernels import ClassOutcome, CoxOutcome, OrdinalOutcome, Outcome

Floats = NDArray[np.float64]

# families whose variable is a group of coefficients, or whose rows are not independent terms
OUTCOMES = ("multinomial", "ordinal", "cox")
CLASSES = ("binomial", "multinomial", "ordinal")
_SURVIVAL = ("time", "event", "entry", "stratum")


@dataclass(frozen=True)
class OutcomeKind:
    """What makes a likelihood of the numbers that stand for responses.

    Attributes
    ----------
    family : str
        One of `OUTCOMES`.
    n_classes : int
        Of classes.
    records : array of shape (m, 4), optional
        Distinct times, events, entries and strata of "cox": a row's response is the number of its record.
    late, strata : bool
        Whether rows enter late, and whether there are strata.
    ties : {"efron", "breslow"}
        Of "cox".
    """

    family: str
    n_classes: int = 0
    records: Floats | None = None
    late: bool = False
    strata: bool = False
    ties: str = "efron"

    def make(self, y: Floats, weight: Floats | None, offset: Floats | None) -> Outcome:
        """The likelihood of some rows."""
        codes = np.asarray(y).astype(np.intp)
        w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
        known = np.zeros(len(codes)) if offset is None else np.asarray(offset, dtype=np.float64)
        if self.family == "multinomial":
            return ClassOutcome(codes, self.n_classes, w)
        if self.family == "ordinal":
            return OrdinalOutcome(codes, self.n_classes, w, known)
        return self.survival(codes, w, known)

    def survival(self, codes: NDArray[np.intp], weight: Floats, offset: Floats) -> CoxOutcome:
        """The partial likelihood of some rows."""
        assert self.records is not None
        time, event, entry, stratum = self.records[codes].T
        return CoxOutcome(
            time,
            event > 0,
            weight,
            offset,
            entry=entry if self.late else None,
            stratum=stratum.astype(np.intp) if self.strata else None,
            ties=self.ties,
        )


def is_survival(y: Any) -> bool:
    """Whether a response is made of several parts, as times until an event are.

    A frame is, if its columns have the names of such parts and "event" holds what an event does: of others
    each column is a response.
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    pair = isinstance(y, tuple) and len(y) == 2 and all(isinstance(name, str) for name in y)
    if names is not None or isinstance(y, Mapping) or pair:
        return True
    if not hasattr(y, "columns") or np.ndim(y) != 2:
        return False
    columns = [name for name in y.columns if isinstance(name, str)]
    named = len(columns) == len(y.columns) and {"time", "event"} <= set(columns) <= set(_SURVIVAL)
    return named and _is_flag(np.asarray(y["event"]))


def survival_parts(y: Any) -> dict[str, Any]:
    """Time, event, entry and stratum of a response as the user gave it: values, or names of columns.

    Parameters
    ----------
    y : structured array, data frame, two names, mapping, or array of shape (n, 2)
        With fields (columns, keys) "time" and "event", and "entry" and "stratum" where wanted. A structured
        array or a frame of two fields, of which one alone holds truth values or zeros and ones, needs no such
        names. An array has the times first, then zeros and ones.
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    if isinstance(y, tuple | list) and len(y) == 2 and all(isinstance(name, str) for name in y):
        parts = dict(zip(("time", "event"), y, strict=True))
    elif names is not None:
        parts = _by_flags({name: np.asarray(y[name]) for name in names})
    elif isinstance(y, Mapping):
        parts = dict(y)
    elif hasattr(y, "columns") and np.ndim(y) == 2:
        parts = _by_flags({str(name): np.asarray(y[name]) for name in y.columns})
    elif np.ndim(y) == 2 and np.shape(y)[1] == 2 and _is_flag(np.asarray(y)[:, 1]):
        parts = {"time": np.asarray(y)[:, 0], "event": np.asarray(y)[:, 1]}
    else:
        raise ValueError(
            f"family='cox' was given with a y of type {type(y).__name__}; y must be a structured array with "
            "the fields 'event' and 'time' or a frame with such columns, an array of two columns (times, "
            "then zeros and ones), the names y=('time', 'event') of two columns of X, or a mapping with the "
            "keys 'time', 'event' and, where wanted, 'entry' and 'stratum'."
        )
    strange = [str(name) for name in parts if name not in _SURVIVAL]
    lost = [name for name in ("time", "event") if parts.get(name) is None]
    if strange or lost:
        what = f"has no {lost[0]!r}" if lost else f"has a field {strange[0]!r}"
        message = f"y {what}; its fields are 'time' and 'event', and may be 'entry' and 'stratum'."
        if len(strange) and len(parts) == 2:
            message += (
                " Of two other names the event is the one that alone holds truth values, or zeros and ones: "
                "compare it with what marks an event, as in y['status'] == 2."
            )
        raise ValueError(message)
    return parts


def _by_flags(parts: dict[str, NDArray]) -> dict[str, Any]:
    """Two fields of other names by what they hold."""
    flags = [name for name, values in parts.items() if _is_flag(values)]
    if len(parts) == 2 and len(flags) == 1 and set(parts) != {"time", "event"}:
        return {"event" if name in flags else "time": values for name, values in parts.items()}
    return dict(parts)


def _is_flag(values: NDArray) -> bool:
    """Whether these are truth values, or nothing but zeros and ones."""
    return values.dtype.kind == "b" or (values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all()))


def read_survival(
    time: NDArray, parts: Mapping[str, NDArray], ties: str
) -> tuple[OutcomeKind, Floats, NDArray]:
    """Records of times until an event, the number of each row's record, and the labels of the strata."""
    ends = as_numbers(time, "time")
    _refuse(~np.isfinite(ends) | (ends < 0), "time", ends, "times of zero or more")
    if _is_flag(ends) and len(np.unique(parts["event"])) > 2:
        raise ValueError(
            "time holds zeros and ones alone, and event other values: the two seem to be in each other's "
            "place; swap them."
        )
    happened = read_events(parts["event"])
    entry = np.zeros(len(ends)) if parts.get("entry") is None else as_numbers(parts["entry"], "entry")
    _refuse(~np.isfinite(entry) | ((entry >= ends) & (entry > 0)), "entry", entry, "entries before the time")
    late = bool((entry > 0).any())
    # who is there from the start is at risk at any time, zero included
    entry = np.where(entry > 0, entry, -np.inf if late else 0.0)
    labels, stratum = np.zeros(1), np.zeros(len(ends), dtype=np.intp)
    if parts.get("stratum") is not None:
        labels, stratum = np.unique(parts["stratum"], return_inverse=True)
    if not happened.any():
        raise ValueError("y holds no event: every row is censored, and nothing can be learnt from that.")
    every = np.column_stack([ends, happened, entry, stratum]).astype(np.float64)
    records, codes = np.unique(every, axis=0, return_inverse=True)
    kind = OutcomeKind("cox", records=records, late=late, strata=len(labels) > 1, ties=ties)
    codes = codes.ravel()
    if not kind.survival(codes, np.ones(len(codes)), np.zeros(len(codes))).compares:
        where, way = (" of its stratum", ": are the strata names of rows?") if kind.strata else ("", ".")
        raise ValueError(
            f"No event of y has another row{where} at risk at its time. Rows are compared with those at risk "
            f"alone, so that nothing can be learnt{way}"
        )
    return kind, codes.astype(np.float64), labels


def read_events(event: NDArray) -> NDArray[np.bool_]:
    """Truth values, or zeros and ones."""
    values = np.asarray(event)
    text = next((v for v in values if isinstance(v, str)), None) if values.dtype.kind in "OUST" else None
    if text is not None:
        raise TypeError(
            f"event holds text ({str(text)!r}); truth values, or 0 and 1 are needed: compare it with the "
            f"text that marks an event, as in event == {str(text)!r}."
        )
    if values.dtype.kind != "b":
        numbers = as_numbers(values, "event")
        wanted = "truth values, or 0 and 1 (as in event == 2, where 2 marks an event)"
        _refuse((numbers != 0) & (numbers != 1), "event", numbers, wanted)
        values = numbers == 1
    return values


def check_pair(y: tuple[str, str], time: NDArray, event: NDArray) -> None:
    """Refuse two names that "auto" takes for a time and its event, where none of the two holds events.

    A list of the same names would have been two responses.
    """
    if _is_flag(np.asarray(time)):
        return
    try:
        read_events(event)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{error} The tuple y={y!r} names a time and its event; two responses are a list, y={list(y)!r}."
        ) from None


def _refuse(bad: NDArray[np.bool_], name: str, values: Floats, needed: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} holds {values[row]:g} (row {row}); {needed} are needed.")
