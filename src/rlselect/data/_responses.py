"""Several targets of the same rows: columns of a table of their own, or some columns of X by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlselect.data._checks import unknown_column
from rlselect.data._open import is_source, load_source, open_once, open_source
from rlselect.data._read import as_frame, as_numbers
from rlselect.data._table import Table

__all__ = ["NumberResponses", "Responses", "number_responses", "open_responses", "read_responses"]


@dataclass(frozen=True)
class Responses:
    """Several targets.

    Attributes
    ----------
    names : list of str
        One per target.
    values : list
        A vector for each, or the name of its column where X is a source.
    X : table or source
        The features; a source still has the targets among its columns.
    taken : tuple of str
        The targets that were columns of X.
    """

    names: list[str]
    values: list[Any]
    X: Any
    taken: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def beside(self, number: int) -> Any:
        """X for one target: without the others."""
        if not is_source(self.X):
            return self.X
        return open_once(self.X, drop=[name for name in self.taken if name != self.names[number]])


def read_responses(X: Any, y: Any) -> Responses | None:
    """Several targets, or None where y is a single one (one column is).

    Parameters
    ----------
    X : table or source
        As for `open_source`.
    y : array-like or data frame of shape (n_samples, n_responses), or list of str
        The values, or names of columns of X.

    Returns
    -------
    Responses or None

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.data import read_responses
    >>> read_responses(np.ones((3, 2)), np.zeros((3, 2))).names
    ['y0', 'y1']
    >>> read_responses(np.ones((3, 2)), np.zeros(3)) is None
    True
    """
    if isinstance(y, list | tuple) and len(y) > 1 and all(isinstance(name, str) for name in y):
        return _named(X, list(y))
    if isinstance(y, dict | str) or getattr(getattr(y, "dtype", None), "names", None) is not None:
        return None
    frame = as_frame(y, "y") if hasattr(y, "columns") or hasattr(y, "column_names") else None
    if frame is not None:
        if frame.shape[1] < 2:
            return None
        names = [str(name) for name in frame.columns]
        return Responses(names, [frame.get_column(name) for name in frame.columns], X, ())
    if not (isinstance(y, np.ndarray) or (isinstance(y, list | tuple) and _is_nested(y))):
        return None
    values = _as_columns(y)
    if values is None or values.ndim != 2 or values.shape[1] < 2:
        return None
    return Responses([f"y{j}" for j in range(values.shape[1])], list(values.T), X, ())


def _is_nested(y: Sequence[Any]) -> bool:
    return len(y) > 0 and isinstance(y[0], list | tuple | np.ndarray)


def _as_columns(y: Any) -> np.ndarray | None:
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths: who reads a single target says so
        return None
    # numbers that became text because they stand beside text are numbers again in their own column
    return (
        np.asarray(y, dtype=object) if values.dtype.kind in "US" and isinstance(y, list | tuple) else values
    )


def _named(X: Any, names: list[str]) -> Responses | None:
    source = is_source(X)
    frame = None if source else as_frame(X)
    if not source and frame is None:
        return None
    known = open_once(X).names if source else [str(name) for name in frame.columns]  # type: ignore[union-attr]
    strange = [name for name in names if name not in known]
    if frame is not None and (len(strange) == len(names) or (strange and len(frame) == len(names))):
        # labels of rows
        return None
    if strange:
        raise unknown_column("y", strange[0], known)
    if len(set(names)) < len(names):
        raise ValueError(f"y names the column {max(names, key=names.count)!r} twice; name each once.")
    if frame is None:
        return Responses(names, list(names), X, tuple(names))
    features = frame.drop(names).to_native()
    return Responses(names, [frame.get_column(name) for name in names], features, tuple(names))


def open_responses(
    given: Responses, *, sample_weight: Any = None, offset: Any = None, missing: str = "error", owner: str
) -> tuple[Table, list[np.ndarray]]:
    """All rows in memory, and the values of every target; the first one is that of the table.

    Parameters
    ----------
    given : Responses
        The targets and the features.
    sample_weight, offset, missing, owner
        As in `open_source`; with ``missing="drop"``, rows without one of the targets are left out too.

    Returns
    -------
    table : Table
    targets : list of arrays of shape (n_rows,)
    """
    if len(set(given.names)) < len(given.names):
        raise ValueError(f"y has two columns {max(given.names, key=given.names.count)!r}; rename one.")
    X = load_source(given.X, owner)
    if is_source(given.X):
        frame = as_frame(X)
        assert frame is not None
        values = [frame.get_column(name) for name in given.taken]
        X = frame.drop(list(given.taken)).to_native()
    else:
        values = given.values
    table = open_source(
        X,
        values[0],
        sample_weight=sample_weight,
        offset=offset,
        missing=missing,
        owner=owner,
        extra={f"y column {name!r}": v for name, v in zip(given.names[1:], values[1:], strict=True)},
    )
    assert isinstance(table, Table)
    table.encoder.ignored_names_ = (*table.encoder.ignored_names_, *given.taken)
    return table, [table.targets(), *table.extra.values()]


@dataclass(frozen=True)
class NumberResponses:
    """Several targets that are numbers, each with mean zero and variance one.

    Attributes
    ----------
    names : list of str
    values : array of shape (n_rows, n_responses)
    center, scale : array of shape (n_responses,)
        What was subtracted and divided.
    """

    names: list[str]
    values: np.ndarray
    center: np.ndarray
    scale: np.ndarray


def number_responses(
    names: list[str], targets: list[np.ndarray], weight: np.ndarray | None, owner: str
) -> NumberResponses:
    """Read targets that have to be numbers; others are refused with the name of who takes them.

    Parameters
    ----------
    names, targets : list
        As `open_responses` has them.
    weight : array of shape (n_rows,), optional
        What each row counts.
    owner : str
        Who asks.
    """
    for name, y in zip(names, targets, strict=True):
        if y.dtype.kind in "OUSb":
            raise ValueError(
                f"Response {name!r} holds {y[0]!r}: several responses of {owner} are numbers; REVS takes "
                "classes beside others."
            )
    Y = np.column_stack([as_numbers(y, f"y column {name!r}") for name, y in zip(names, targets, strict=True)])
    center = np.average(Y, axis=0, weights=weight)
    scale = np.sqrt(np.average((Y - center) ** 2, axis=0, weights=weight))
    scale[~(scale > 1e-12 * np.abs(Y).max(axis=0))] = 1.0
    return NumberResponses(list(names), (Y - center) / scale, center, scale)
