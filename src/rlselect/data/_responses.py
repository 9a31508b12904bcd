"""Several targets of the same rows: columns of a table of their own, or some columns of X by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlselect.data._checks import unknown_column
from rlselect.data._open import column_names, is_source
from rlselect.data._read import as_frame
from rlselect.data._without import Without

__all__ = ["Responses", "read_responses"]


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
        return Without(self.X, [name for name in self.taken if name != self.names[number]])


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
    known = column_names(X) if source else [str(name) for name in frame.columns]  # type: ignore[union-attr]
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
