"""A block of rows brought to a common scale, dense or sparse, and the products that are made of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data import Batch

Floats = NDArray[np.floating]

# squares of small designs are asked for thousands of times, those of large ones a few times
_SQUARES_KEPT = 2**25
# columns of smaller numbers count as constant
SMALLEST = 1e-130
# so few columns are picked out of a row, instead of passing over all of it
_FEW = 4
# rows whose products are summed in the precision of the block
_STRETCH = 2048
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
            left, total = V.astype(self.X.dtype, copy=False), np.zeros((len(V), self.X.shape[1]))
            for start in range(0, len(self), _STRETCH):
                total += left[:, start : start + _STRETCH] @ self.X[start : start + _STRETCH]
            return total
        return ((self.X.T @ V.T).T - np.multiply.outer(V.sum(axis=1), self.shift)) / self.scale

    def combination(self, which: list[int], coef: Floats) -> Floats:
        """Sum of some columns times their coefficients, for every row."""
        if not which:
            return np.zeros(len(self))
        if sparse.issparse(self.X):
            scaled = coef / self.scale[which]
            return np.asarray(self.X[:, which] @ scaled - self.shift[which] @ scaled)
        if _FEW * len(which) <= self.X.shape[1]:
            if self.X.flags.f_contiguous:
                return np.asarray(coef.astype(self.X.dtype) @ self.X.T[which])
            return np.asarray(self.X.take(which, axis=1, mode="clip") @ coef.astype(self.X.dtype))
        whole = np.zeros(self.X.shape[1], dtype=self.X.dtype)
        whole[which] = coef
        return np.asarray(self.X @ whole)

    def gram(self) -> NDArray[np.float64]:
        """Products of all columns with each other."""
        if sparse.issparse(self.X):
            return self.products(self.weighted(self.columns(slice(None))))
        X = self.X if self.weight is None else self.X * np.sqrt(self.weight).astype(self.X.dtype)[:, None]
        # a matrix times itself takes half the work
        total = (X[:_STRETCH].T @ X[:_STRETCH]).astype(np.float64)
        for start in range(_STRETCH, len(X), _STRETCH):
            part = X[start : start + _STRETCH]
            total += part.T @ part
        return total

    def columns(self, which: Any) -> Floats:
        """Some columns as vectors, shape (m, rows)."""
        if not sparse.issparse(self.X):
            # where columns lie in one run each, those wanted are copied as they are
            return self.X.T[which] if self.X.flags.f_contiguous else np.ascontiguousarray(self.X[:, which].T)
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


def make_block(
    shift: NDArray[np.float64],
    scale: NDArray[np.float64],
    batch: Batch,
    *,
    changes: bool,
    dtype: Any,
) -> Block:
    """Bring a batch to the common scale."""
    X = batch.X
    weight = None if batch.sample_weight is None else np.asarray(batch.sample_weight, dtype=float)
    offset = None if batch.offset is None else np.asarray(batch.offset, dtype=float)
    given = X
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            X, shift = _shift_stored(sparse.csr_array(X, dtype=np.float64), shift)
        elif changes:
            X = _standardise(X, shift, scale, dtype)
        else:
            X = X.astype(dtype, copy=False)
        if X is not given and not sparse.issparse(X) and not np.isfinite(np.add.reduce(X, axis=None)):
            refuse_overflow(~np.isfinite(X).all(axis=0))
    assert batch.y is not None
    return Block(X, batch.y, weight, offset, shift, scale)


class OverflowedColumns(ArithmeticError):
    """Values beyond what can be squared and summed, next to the spread of their column."""

    def __init__(self, columns: NDArray[np.intp]) -> None:
        super().__init__(columns)
        self.columns = columns


def refuse_overflow(bad: NDArray[np.bool_]) -> None:
    """Raise where any column is bad."""
    if bad.any():
        raise OverflowedColumns(np.flatnonzero(bad))


def as_given(block: Block, columns: NDArray[np.intp], back: Any, then: Any) -> Any:
    """Some columns of a block on the scale of the data, with response, weight and offset."""
    values = block.columns(columns).T.astype(np.float64)
    if back is not None:
        values = values * back[1] + back[0]
    given = values, block.y, block.weight, block.offset
    return given if then is None else then(*given)


def is_harmless(shift: Any, scale: Any, constant: Any) -> bool:
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


def _is_lost(scaled: Any, values: Any) -> Any:
    """Which values vanish beside the largest of their column: where most do, that one is no scale."""
    return (np.abs(scaled) < 1e-30) & (values != 0)


def common_scale(X: Any, weight: Any) -> tuple[Any, Any, Any]:
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
        lost = np.bincount(X.indices, _is_lost(scaled, X.data), minlength=X.shape[1])
        refuse_overflow(lost > 0.5 * X.shape[0])
        mean = sums(scaled) / total
        # rounding must leave no zeros in a full column: beside a far mean they would be its whole spread
        full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
        zeros = np.where(full, 0.0, np.maximum(total - sums(1.0), 0.0))
        variance = (sums((scaled - mean[X.indices]) ** 2) + zeros * mean**2) / total
    else:
        largest = np.abs(X).max(axis=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)
        scaled = X / unit
        refuse_overflow(_is_lost(scaled, X).mean(axis=0) > 0.5)
        mean = w @ scaled / total
        variance = w @ (scaled - mean) ** 2 / total
    spread = np.sqrt(variance)
    # spread at rounding level is a constant column
    constant = spread <= 1e-13 * np.maximum(np.abs(mean), 1e-3)
    # and so is what vanishes when it is squared: the variance of its coefficient would be no number
    faint = unit < SMALLEST
    constant, unit, mean = constant | faint, np.where(faint, 1.0, unit), np.where(faint, 0.0, mean)
    shift = np.where(constant, np.sign(mean), mean) * unit
    return shift, np.where(constant, unit, spread * unit), constant
