"""The rows a reward is computed from: blocks of a design brought to a common scale, dense or sparse."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.evidence._meeting import Meeting, Pass, answer_all, answer_here
from rlselect.evidence._placement import Placed, Shelf, Spilled

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
    spill : bool
        Put blocks beyond the memory into a temporary file instead of taking them again.
    dear : bool
        Whether taking rows again costs more than many products with them, as where they have to be decoded.
    workers : object, optional
        Those who can work on some rows where these lie: ``holds(rows)``, ``size(rows)`` and ``start(function,
        blocks, *args)``, which yields the answers in order.
    nearby : int
        Bytes of design that are brought here before any rows are left with the workers.
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
        spill: bool = False,
        dear: bool = False,
        workers: Any = None,
        nearby: int = 0,
    ) -> None:
        self._take = take
        self._response = response
        self._dtype = np.float32 if single else np.float64
        self._as_is = as_is
        self._memory = memory
        self._whole = whole
        self._resident = resident
        self._workers = workers
        self._nearby = nearby
        self._meeting: Meeting | None = None
        self.dear = dear
        self._shelf = Shelf() if spill else None
        self._kept: list[Block | Placed | Spilled | None] = []
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

    @property
    def rounding(self) -> float:
        """Error of the mean of a product of two columns of unit variance, roughly."""
        return float(np.finfo(self._dtype).eps)

    def append(self, rows: Any) -> "Block | Placed":
        """Take more rows."""
        block = self._get(rows)
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

    def numbers(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Row numbers at these places, ascending, among the rows so far; of rows taken by their numbers."""
        found, start = [], 0
        for rows in self._where:
            size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
            some = places[np.searchsorted(places, start) : np.searchsorted(places, start + size)] - start
            found.append(rows.start + some if isinstance(rows, slice) else rows[some])
            start += size
        return np.concatenate(found)

    def gather_blocks(
        self, columns: NDArray[np.intp], then: Callable[..., Any] | None = None
    ) -> Iterator[Any]:
        """What `gather` returns, a block at a time; of blocks not kept only these columns are read.

        With `then`, what it makes of the four: where others hold the rows, only that comes back.
        """
        placed = self._placed()
        answers = self.ask(list(placed.values()), _as_given, columns, self._way_back(columns), then)
        for i in range(len(self._where)):
            if i in placed:
                yield next(answers)
            else:
                given = self._given(i, columns)
                yield given if then is None else then(*given)

    def first(self, columns: NDArray[np.intp]) -> tuple[Any, Any, Any, Any]:
        """What `gather` returns, of the first block only."""
        return self._given(0, columns)

    def _given(self, i: int, columns: NDArray[np.intp]) -> tuple[Any, Any, Any, Any]:
        if self._kept[i] is None and not self._whole:
            batch = self._take(self._where[i], columns)
            values = np.asarray(batch.X, dtype=np.float64)
            return values, self._response(batch.y), batch.sample_weight, batch.offset
        return _as_given(self._block(i), columns, self._way_back(columns), None)

    def _way_back(self, columns: NDArray[np.intp]) -> tuple[Floats, ...] | None:
        return tuple(v[columns] for v in self.scale) if self._changes else None

    def pour(
        self, into: Callable[[int, Any], None], function: Callable[..., Any], *args: Any, each: Any = None
    ) -> None:
        """Call ``into(i, function(block, *args))`` for every block in order.

        Other holders work on theirs at the same time. `each` is one more argument for blocks that are here.
        Searches that run `side_by_side` share the pass.
        """
        wanted = Pass(into, function, args, each)
        if self._meeting is None:
            self._serve([wanted])
        else:
            self._meeting.ask(wanted)

    def side_by_side(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run searches over these rows in threads that share their passes; what each returns."""
        self._meeting = Meeting(self._serve, len(jobs))
        try:
            return self._meeting.run(jobs)
        finally:
            self._meeting = None

    def ask(self, blocks: Sequence[Placed], function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """``function(block, *args)`` of blocks that others hold, in order; they start at once."""
        return self._workers.start(function, blocks, *args) if blocks else iter(())

    def _serve(self, passes: list[Pass]) -> None:
        placed = self._placed()
        answers = self.ask(list(placed.values()), answer_all, [(p.function, p.args) for p in passes])
        for i in range(len(self._where)):
            # no name for the block: it would outlive its use while the next one is read
            found = next(answers) if i in placed else answer_here(self._block(i), i, passes)
            for wanted, answer in zip(passes, found, strict=True):
                wanted.into(i, answer)

    def _placed(self) -> dict[int, Placed]:
        """Blocks that others hold, by number."""
        if self._workers is None:
            return {}
        placed = {}
        for i, rows in enumerate(self._where):
            kept = self._kept[i]
            if kept is None and self._workers.holds(rows):
                kept = self._block(i)
            if isinstance(kept, Placed):
                placed[i] = kept
        return placed

    def clear(self) -> None:
        """Forget all rows, but not their common scale."""
        self._memory += sum(self._held(b) for b in self._kept if b is not None)
        self._kept, self._where, self.n_rows = [], [], 0
        if self._shelf is not None:
            self._shelf = Shelf()

    def __getstate__(self) -> dict[str, Any]:
        # a checkpoint names the rows; they are taken again from where they lie
        held = sum(self._held(b) for b in self._kept if b is not None)
        anew = {"_kept": [None] * len(self._kept), "_memory": self._memory + held, "_meeting": None}
        return {**self.__dict__, **anew}

    def __iter__(self) -> Iterator[Block | None]:
        """Every block in order, None for those that others hold."""
        placed = self._placed()
        for i in range(len(self._where)):
            yield None if i in placed else self._block(i)

    def _block(self, i: int) -> Any:
        block = self._kept[i]
        if block is None:
            block = self._get(self._where[i])
            self._keep(i, block)
        return block.load() if isinstance(block, Spilled) else block

    def _get(self, rows: Any) -> "Block | Placed":
        # the first block stays here: it tells the common scale
        if self._workers is None or self._shift is None or not self._workers.holds(rows):
            return self._load(rows)
        if self.n_rows * len(self._shift) * np.dtype(self._dtype).itemsize < self._nearby:
            return self._load(rows)
        how = partial(
            _make_block, *self.scale, changes=self._changes, dtype=self._dtype, response=self._response
        )
        return Placed(rows, self._workers.size(rows), how)

    def _keep(self, i: int, block: "Block | Placed") -> None:
        size = self._held(block)
        if size <= self._memory:
            self._memory -= size
            self._kept[i] = block
        elif self._shelf is not None and isinstance(block, Block) and not sparse.issparse(block.X):
            self._kept[i] = self._shelf.put(block)

    def _held(self, block: "Block | Placed | Spilled") -> int:
        if not isinstance(block, Block):
            return 0
        # a view of data that are in memory anyway costs nothing
        view = self._resident and not sparse.issparse(block.X) and not block.X.flags.owndata
        return 0 if view else block.nbytes

    def __len__(self) -> int:
        return len(self._where)

    def _load(self, rows: Any) -> Block:
        batch = self._take(rows)
        if self._shift is None or self._scale is None:
            weight = None if batch.sample_weight is None else np.asarray(batch.sample_weight, dtype=float)
            self._shift, self._scale, constant = _common_scale(batch.X, weight)
            if self._as_is and _harmless(self._shift, self._scale, constant):
                self._shift, self._scale = np.zeros_like(self._shift), np.ones_like(self._scale)
            self._changes = bool(np.any(self._shift != 0) or np.any(self._scale != 1))
        return _make_block(
            *self.scale, batch, changes=self._changes, dtype=self._dtype, response=self._response
        )


def _make_block(
    shift: NDArray[np.float64],
    scale: NDArray[np.float64],
    batch: Any,
    *,
    changes: bool,
    dtype: Any,
    response: Callable[[Any], NDArray[np.float64]],
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
    return Block(X, response(batch.y), weight, offset, shift, scale)


class OverflowedColumns(ArithmeticError):
    """Values beyond what can be squared and summed, next to the spread of their column."""

    def __init__(self, columns: NDArray[np.intp]) -> None:
        super().__init__(columns)
        self.columns = columns


def refuse_overflow(bad: NDArray[np.bool_]) -> None:
    """Raise where any column is bad."""
    if bad.any():
        raise OverflowedColumns(np.flatnonzero(bad))


def _as_given(block: Block, columns: NDArray[np.intp], back: Any, then: Any) -> Any:
    """Some columns of a block on the scale of the data, with response, weight and offset."""
    values = block.columns(columns).T.astype(np.float64)
    if back is not None:
        values = values * back[1] + back[0]
    given = values, block.y, block.weight, block.offset
    return given if then is None else then(*given)


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
        # one value so large that most others vanish beside it is no scale
        refuse_overflow(((np.abs(scaled) < 1e-30) & (X != 0)).mean(axis=0) > 0.5)
        mean = w @ scaled / total
        variance = w @ (scaled - mean) ** 2 / total
    spread = np.sqrt(variance)
    # spread at rounding level is a constant column
    constant = spread <= 1e-13 * np.maximum(np.abs(mean), 1e-3)
    shift = np.where(constant, np.sign(mean), mean) * unit
    return shift, np.where(constant, unit, spread * unit), constant
