"""The rows a reward is computed from: blocks of a design brought to a common scale, dense or sparse."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.floating]

# squares of small designs are asked for thousands of times, those of large ones a few times
_SQUARES_KEPT = 2**25
# numbers copied at once where columns are picked
_WITHIN_CELLS = 2**21


@dataclass
class Block:
    """Some rows: the design, shifted and scaled (implicitly when sparse), response, weight and offset.

    Vectors over the rows lie in the rows of an array: that is the order BLAS multiplies fastest.
    """

    X: Any
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    offset: NDArray[np.float64] | None
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def nbytes(self) -> int:
        """Memory of the design."""
        if not sparse.issparse(self.X):
            return int(self.X.nbytes)
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)

    def weighted(self, V: Floats) -> Floats:
        """Multiply vectors over the rows by the weights."""
        return V if self.weight is None else V * self.weight.astype(V.dtype, copy=False)

    def products(self, V: Floats) -> NDArray[np.float64]:
        """V X for vectors V of shape (m, rows), in float64."""
        if not sparse.issparse(self.X):
            return np.asarray(V.astype(self.X.dtype, copy=False) @ self.X, dtype=np.float64)
        return ((self.X.T @ V.T).T - np.multiply.outer(V.sum(axis=1), self.shift)) / self.scale

    def columns(self, which: Any) -> Floats:
        """Some columns as vectors, shape (m, rows)."""
        if not sparse.issparse(self.X):
            return np.ascontiguousarray(self.X[:, which].T)
        inside = self.X[:, which].toarray().T
        return (inside - self.shift[which, None]) / self.scale[which, None]

    def squares(self, w: Floats | None) -> NDArray[np.float64]:
        """Weighted sum of squares of every column."""
        if not sparse.issparse(self.X):
            if w is None:
                return np.einsum("ij,ij->j", self.X, self.X).astype(np.float64)
            if self.nbytes > _SQUARES_KEPT:
                return np.einsum("ij,ij,i->j", self.X, self.X, w.astype(self.X.dtype)).astype(np.float64)
            return np.asarray(w.astype(self.X.dtype) @ self._squared, dtype=np.float64)
        w = np.ones(len(self)) if w is None else w
        square = self.X.multiply(self.X).T @ w
        first = self.X.T @ w
        return (square - 2.0 * self.shift * first + self.shift**2 * w.sum()) / self.scale**2

    def within(self, columns: NDArray[np.intp], w: Floats | None) -> NDArray[np.float64]:
        """Weighted products of the columns of each block with each other, (b, m) columns to (b, m, m)."""
        b, m = columns.shape
        out = np.empty((b, m, m))
        step = max(1, _WITHIN_CELLS // (m * max(len(self), 1)))
        for start in range(0, b, step):
            some = columns[start : start + step]
            V = self.columns(some.ravel()).reshape(len(some), m, len(self))
            left = V if w is None else V * w.astype(V.dtype, copy=False)
            out[start : start + step] = left @ V.transpose(0, 2, 1)
        return out

    @cached_property
    def _squared(self) -> Floats:
        return self.X * self.X


class Rows:
    """Rows used so far, kept while they fit the memory allowance and taken again when they do not.

    Parameters
    ----------
    take : callable
        ``take(rows)`` returns a batch with X, y, sample_weight, offset.
    response : callable
        Turns the raw y of a batch into numbers.
    single : bool
        Compute in float32, for large data; the common scale makes that safe.
    as_is : bool
        Leave columns whose scale is harmless as they are, for consumers that centre and scale the sums.
    memory : int
        Bytes of design that may be kept.
    whole : bool
        Whether `take` returns all columns only.
    resident : bool
        Whether `take` may return views of data that stay in memory.
    """

    def __init__(
        self,
        take: Callable[..., Any],
        response: Callable[[Any], NDArray[np.float64]],
        *,
        single: bool = False,
        as_is: bool = False,
        memory: int = 2**30,
        whole: bool = True,
        resident: bool = False,
    ) -> None:
        self._take = take
        self._response = response
        self._dtype = np.float32 if single else np.float64
        self._as_is = as_is
        self._memory = memory
        self._whole = whole
        self._resident = resident
        self._kept: list[Block | None] = []
        self._where: list[Any] = []
        self._shift: NDArray[np.float64] | None = None
        self._scale: NDArray[np.float64] | None = None
        self._changes = True
        self.n_rows = 0

    @property
    def scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shift and scale that every block was brought to."""
        assert self._shift is not None
        assert self._scale is not None
        return self._shift, self._scale

    def append(self, rows: Any) -> Block:
        """Take more rows."""
        block = self._load(rows)
        self._kept.append(None)
        self._where.append(rows)
        self._keep(len(self._where) - 1, block)
        self.n_rows += len(block)
        return block

    def gather(self, columns: NDArray[np.intp]) -> tuple[Any, Any, Any, Any]:
        """Some columns on the scale of the data, with response, weight and offset of all rows so far."""
        parts = list(self.gather_blocks(columns))
        X, y, weight, offset = (
            None if values[0] is None else np.concatenate(values) for values in zip(*parts, strict=True)
        )
        return X, y, weight, offset

    def gather_blocks(self, columns: NDArray[np.intp]) -> Iterator[tuple[Floats, Floats, Any, Any]]:
        """What `gather` returns, a block at a time; of blocks not kept only these columns are read."""
        for block, rows in zip(self._kept, self._where, strict=True):
            if block is None and not self._whole:
                batch = self._take(rows, columns)
                values = np.asarray(batch.X, dtype=np.float64)
                yield values, self._response(batch.y), batch.sample_weight, batch.offset
                continue
            block = self._load(rows) if block is None else block
            values = block.columns(columns).T.astype(np.float64)
            if self._changes:
                shift, scale = self.scale
                values = values * scale[columns] + shift[columns]
            yield values, block.y, block.weight, block.offset

    def clear(self) -> None:
        """Forget all rows, but not their common scale."""
        self._memory += sum(self._held(b) for b in self._kept if b is not None)
        self._kept, self._where, self.n_rows = [], [], 0

    def __getstate__(self) -> dict[str, Any]:
        # a checkpoint names the rows; they are taken again from where they lie
        held = sum(self._held(b) for b in self._kept if b is not None)
        return {**self.__dict__, "_kept": [None] * len(self._kept), "_memory": self._memory + held}

    def __iter__(self) -> Iterator[Block]:
        for i, rows in enumerate(self._where):
            block = self._kept[i]
            if block is None:
                block = self._load(rows)
                self._keep(i, block)
            yield block

    def _keep(self, i: int, block: Block) -> None:
        size = self._held(block)
        if size <= self._memory:
            self._memory -= size
            self._kept[i] = block

    def _held(self, block: Block) -> int:
        # a view of data that are in memory anyway costs nothing
        view = self._resident and not sparse.issparse(block.X) and not block.X.flags.owndata
        return 0 if view else block.nbytes

    def __len__(self) -> int:
        return len(self._where)

    def _load(self, rows: Any) -> Block:
        batch = self._take(rows)
        X = batch.X
        weight = None if batch.sample_weight is None else np.asarray(batch.sample_weight, dtype=float)
        offset = None if batch.offset is None else np.asarray(batch.offset, dtype=float)
        if self._shift is None or self._scale is None:
            self._shift, self._scale, constant = _common_scale(X, weight)
            if self._as_is and _harmless(self._shift, self._scale, constant):
                self._shift, self._scale = np.zeros_like(self._shift), np.ones_like(self._scale)
            self._changes = bool(np.any(self._shift != 0) or np.any(self._scale != 1))
        shift = self._shift
        if sparse.issparse(X):
            X, shift = _shift_stored(sparse.csr_array(X, dtype=np.float64), shift)
        elif self._changes:
            X = _standardise(X, shift, self._scale, self._dtype)
        else:
            X = X.astype(self._dtype, copy=False)
        return Block(X, self._response(batch.y), weight, offset, shift, self._scale)


def _harmless(shift: Any, scale: Any, constant: Any) -> bool:
    """Whether sums of products of these columns lose no digits that matter."""
    near = np.abs(shift) <= np.where(constant, 0.0, 4.0 * scale)
    return bool(np.all(near & (scale > 1e-4) & (scale < 1e4)))


def _shift_stored(X: Any, shift: Any) -> tuple[Any, Any]:
    """Shift the columns without a zero in memory: it costs no memory and saves the digits of a far mean."""
    full = (np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]) & (shift != 0)
    if not full.any():
        return X, shift
    stored = np.where(full, shift, 0.0)
    data = X.data - stored[X.indices]
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape), shift - stored


def _standardise(X: Any, shift: Any, scale: Any, dtype: Any) -> Any:
    if X.dtype == np.float32 and dtype == np.float32 and not np.any(np.abs(shift) > 1e3 * scale):
        out = X - shift.astype(np.float32)
        out /= scale.astype(np.float32)
        return out
    out = np.subtract(X, shift, dtype=np.float64)
    out /= scale
    return out.astype(dtype, copy=False)


def _common_scale(X: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Mean and standard deviation of each column, and which are constant. Safe for huge values.

    The standard deviation of a constant column is given as its size, or as 1 when it is zero.
    """
    if weight is None or not weight.any():
        w = np.ones(X.shape[0])
    else:
        X, w = X[weight > 0], weight[weight > 0]
    total = w.sum()
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        each = np.repeat(w, np.diff(X.indptr))

        def sums(values: Any) -> Any:
            return np.bincount(X.indices, each * values, minlength=X.shape[1])

        largest = np.zeros(X.shape[1])
        np.maximum.at(largest, X.indices, np.abs(X.data))
        unit = np.where(largest > 0, largest, 1.0)
        scaled = X.data / unit[X.indices]
        mean = sums(scaled) / total
        zeros = np.maximum(total - sums(1.0), 0.0)
        variance = (sums((scaled - mean[X.indices]) ** 2) + zeros * mean**2) / total
    else:
        largest = np.abs(X).max(axis=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)
        scaled = X / unit
        mean = w @ scaled / total
        variance = w @ (scaled - mean) ** 2 / total
    spread = np.sqrt(variance)
    # spread at rounding level is a constant column
    constant = spread <= 1e-13 * np.maximum(np.abs(mean), 1e-3)
    shift = np.where(constant, np.sign(mean), mean) * unit
    return shift, np.where(constant, unit, spread * unit), constant
