"""The rows a reward is computed from: kept, spilled, taken again, or left with those who hold them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data import Batch, Workers
from rlselect.subset.revs.evidence._block import (
    Block,
    Floats,
    as_given,
    common_scale,
    is_harmless,
    make_block,
)
from rlselect.subset.revs.evidence._meeting import Meeting, Pass, answer_all, answer_here
from rlselect.subset.revs.evidence._placement import Placed, Shelf, Spilled


class Rows:
    """Rows used so far, kept while they fit the memory allowance and taken again when they do not.

    Parameters
    ----------
    take : callable
        ``take(rows, columns)`` returns a batch, whose y are numbers.
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
    slow : bool
        Whether taking rows again costs more than many products with them, as where they have to be decoded.
    workers : Workers, optional
        Those who can work on some rows where these lie.
    nearby : int
        Bytes of design that are brought here before any rows are left with the workers.
    """

    def __init__(
        self,
        take: Callable[..., Batch],
        *,
        single: bool = False,
        as_is: bool = False,
        memory: int = 2**30,
        whole: bool = True,
        resident: bool = False,
        spill: bool = False,
        slow: bool = False,
        workers: Workers | None = None,
        nearby: int = 0,
    ) -> None:
        self._take = take
        self._dtype = np.float32 if single else np.float64
        self._as_is = as_is
        self._memory = memory
        self._whole = whole
        self._resident = resident
        self._workers = workers
        self._nearby = nearby
        self._meeting: Meeting | None = None
        self.slow = slow
        self._shelf = Shelf() if spill else None
        self._kept: list[Block | Placed | Spilled | None] = []
        self._where: list[Any] = []
        self._lengths: list[int] = []
        self._shift: NDArray[np.float64] | None = None
        self._scale: NDArray[np.float64] | None = None
        self._changes = True
        self.n_rows = 0
        self.counted = 0.0

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
        self._lengths.append(len(block))
        self._keep(len(self._where) - 1, block)
        self.n_rows += len(block)
        weight = block.weight if isinstance(block, Block) else None
        self.counted += len(block) if weight is None else float(weight.sum())
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
        answers = self.ask(list(placed.values()), as_given, columns, self._way_back(columns), then)
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
            return values, batch.y, batch.sample_weight, batch.offset
        return as_given(self._block(i), columns, self._way_back(columns), None)

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

    def pour_first(self, n_rows: int, into: Callable[[int, Any], None], function: Callable[..., Any]) -> None:
        """As `pour`, for the blocks that came first, up to so many rows; one at least."""
        self._serve([Pass(into, function, ())], n_rows)

    def side_by_side(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run searches over these rows in threads that share their passes; what each returns."""
        self._meeting = Meeting(self._serve, len(jobs))
        try:
            return self._meeting.run(jobs)
        finally:
            self._meeting = None

    def ask(self, blocks: Sequence[Placed], function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """``function(block, *args)`` of blocks that others hold, in order; they start at once."""
        if self._workers is None or not blocks:
            return iter(())
        return self._workers.start(function, blocks, *args)

    def pass_by(self, places: Sequence[Any], function: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """``function(block, *args)`` of rows that are not kept, in order."""
        placed = {i: self._left(rows) for i, rows in enumerate(places) if self._is_left(rows)}
        answers = self.ask(list(placed.values()), function, *args)
        for i, rows in enumerate(places):
            yield next(answers) if i in placed else function(self._load(rows), *args)

    def _serve(self, passes: list[Pass], n_rows: float = np.inf) -> None:
        n_blocks = max(int(np.count_nonzero(np.cumsum(self._lengths) <= n_rows)), 1)
        placed = {i: block for i, block in self._placed().items() if i < n_blocks}
        answers = self.ask(list(placed.values()), answer_all, [(p.function, p.args) for p in passes])
        for i in range(n_blocks if self._where else 0):
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
        self._kept, self._where, self._lengths, self.n_rows, self.counted = [], [], [], 0, 0.0
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
        return self._left(rows) if self._is_left(rows) else self._load(rows)

    def _is_left(self, rows: Any) -> bool:
        """Whether rows are worked on where they lie; the first block is here: it tells the common scale."""
        if self._workers is None or self._shift is None or not self._workers.holds(rows):
            return False
        return self.n_rows * len(self._shift) * np.dtype(self._dtype).itemsize >= self._nearby

    def _left(self, rows: Any) -> Placed:
        assert self._workers is not None
        how = partial(make_block, *self.scale, changes=self._changes, dtype=self._dtype)
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
            self._shift, self._scale, constant = common_scale(batch.X, weight)
            if self._as_is and is_harmless(self._shift, self._scale, constant):
                self._shift, self._scale = np.zeros_like(self._shift), np.ones_like(self._scale)
            self._changes = bool(np.any(self._shift != 0) or np.any(self._scale != 1))
        return make_block(*self.scale, batch, changes=self._changes, dtype=self._dtype)
