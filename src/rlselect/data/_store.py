"""Tables as they are held: one array, one sparse matrix, or a list of columns; no copies, no scans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

# rows of a store: a slice, or an array of row numbers
RowSelection: TypeAlias = "slice | np.ndarray"
_CHUNK_CELLS = 1 << 22


def float_dtype(dtypes: Sequence[np.dtype]) -> np.dtype:
    """Return float32 when every dtype is float32, float64 otherwise."""
    single = len(dtypes) > 0 and all(d == np.float32 for d in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def count_rows(rows: RowSelection, n_rows: int) -> int:
    """Count the rows that a selection takes."""
    return len(range(*rows.indices(n_rows))) if isinstance(rows, slice) else len(rows)


def chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the rows into slices of a few million cells."""
    step = max(1, _CHUNK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


@dataclass
class Column:
    """One feature: numbers (`values`, NaN = missing), or text (`codes` into `levels`, -1 = missing).

    A column that is missing throughout has both faces, since nothing tells which one it is. `truth`: whether
    the numbers are truth values, also where gaps have made floats of them. `declared`: whether the text is of
    a type for categories, which somebody has given it.
    """

    values: np.ndarray | None = None
    codes: np.ndarray | None = None
    levels: list[str] = field(default_factory=list)
    truth: bool = False
    declared: bool = False

    @property
    def is_text(self) -> bool:
        """Whether only the text face exists."""
        return self.values is None


class DenseStore:
    """A numeric array with one column per feature."""

    is_sparse = False

    def __init__(self, X: np.ndarray, names: list[str] | None = None) -> None:
        self.X = X
        self.names = names
        self.n_rows, self.n_features = X.shape
        self.dtype = float_dtype([X.dtype])

    def text(self) -> dict[int, Column]:
        """Return the text columns: none."""
        return {}

    def block(self, rows: RowSelection, features: np.ndarray | None = None) -> np.ndarray:
        """Return rows (and features) as a C-contiguous float array; a view where that is possible."""
        if isinstance(rows, slice):
            part = self.X[rows] if features is None else self.X[rows][:, features]
        elif features is not None and (
            16 * len(features) < self.n_features or len(rows) * self.n_features > _CHUNK_CELLS
        ):
            part = self.X[np.ix_(rows, features)]
        else:
            if self.X.flags.c_contiguous and len(rows) and rows.min() >= 0 and rows.max() < self.n_rows:
                # copies whole rows, twice as fast as an index; it would first copy all of another layout, and
                # without the bounds checked it would have to
                part = np.take(self.X, rows, axis=0, mode="clip")
            else:
                part = self.X[rows]
            # a row lies in one place: all of it is read as fast as some of it
            part = part if features is None else part[:, features]
        return np.ascontiguousarray(part, dtype=self.dtype)


class ColumnStore:
    """A list of columns, each an array of its own."""

    is_sparse = False

    def __init__(self, columns: list[Column], names: list[str] | None = None) -> None:
        self.cols = columns
        self.names = names
        self.n_features = len(columns)
        first = columns[0].values if columns[0].values is not None else columns[0].codes
        self.n_rows = len(first) if first is not None else 0
        self.dtype = float_dtype([c.values.dtype for c in columns if c.values is not None])

    def text(self) -> dict[int, Column]:
        """Return the text columns by feature number."""
        return {j: c for j, c in enumerate(self.cols) if c.is_text}

    def block(self, rows: RowSelection, features: np.ndarray | None = None) -> np.ndarray:
        """Return rows of the numeric features as a C-contiguous float array; text features read as 0."""
        wanted = range(self.n_features) if features is None else features
        out = np.empty((count_rows(rows, self.n_rows), len(wanted)), dtype=self.dtype)
        for k, j in enumerate(wanted):
            values = self.cols[j].values
            out[:, k] = 0 if values is None else values[rows]
        return out


class SparseStore:
    """A CSR array."""

    is_sparse = True

    def __init__(self, X: Any, names: list[str] | None = None) -> None:
        self.X = X
        self.names = names
        self.n_rows, self.n_features = X.shape
        self.dtype = float_dtype([X.dtype])

    def text(self) -> dict[int, Column]:
        """Return the text columns: none."""
        return {}

    def block(self, rows: RowSelection, features: np.ndarray | None = None) -> Any:
        """Return rows (and features) as a CSR array without duplicate entries."""
        part = self.X if isinstance(rows, slice) and rows == slice(None) else self.X[rows]
        if features is not None:
            part = part[:, features]
        if not part.has_canonical_format:
            part = part.copy()
            part.sum_duplicates()
        return part.astype(self.dtype, copy=False)


Store: TypeAlias = DenseStore | ColumnStore | SparseStore


def as_csr(X: Any) -> Any:
    """Return any scipy sparse container as a csr_array, sharing memory where the format allows."""
    return sparse.csr_array(X)
