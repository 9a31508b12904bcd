"""A fair sample of a table in parts, held a piece at a time and read again when it is needed again."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.data._clustering import clustering, column_moments
from rlselect.data._parts import Draw, Pick, Piece
from rlselect.data._sampler import deal_out
from rlselect.data._source import Batch, Workers

# rows decoded for one refill when the rows lie in random order: two row groups of the usual size, or two
# batches of wide rows
_DECODE_ROWS = 131_072
_DECODE_BYTES = 2**29
_FIRST_ROWS = 25_600
# how much the variance of a mean may grow because the rows of one part resemble each other
_DESIGN_EFFECT = 0.05


class Pool:
    """Rows at random from a table in parts, without replacement.

    A *refill* visits some parts, chosen without replacement with chances by the rows they have left, takes
    rows at random from each, and shuffles them together. `draw` hands out the rows of the refill until it is
    used up. The rows of a refill are found again from a seed and three numbers per part: only the last refill
    and one earlier one are in memory.

    How many parts a refill visits follows from how much the rows of one part resemble each other (`spread`,
    the intraclass correlation r): m rows of one part inflate the variance of a mean by 1 + (m - 1) r, and m
    is kept so small that this is at most 1.05. Up to all parts are visited, each by its share of the rows;
    then the sample is stratified and no order of the rows can bias it. The first refill is tested in all
    columns before any of it is used; when it shows clustering that nobody knew of, it is drawn again over
    more parts.

    Parameters
    ----------
    table : PartTable
        Where rows come from.
    seed : int
        Of all random choices.
    """

    in_memory = False

    def __init__(self, table: Any, seed: int) -> None:
        self._table = table
        self._lengths = table.parts.lengths
        self.seed = seed
        self.spread = float(table.spread)
        self.n_rows = table.n_rows
        self.n_used = 0
        self._taken = np.zeros(len(self._lengths), dtype=np.int64)
        self._refills: list[list[tuple[int, int, int]]] = []
        self._sizes: list[int] = []
        self._held: dict[Any, Batch] = {}
        self._place = 0
        self._at_hand: list[int] = []
        self._fill_first()

    def first(self, columns: np.ndarray | None = None) -> Batch:
        """All rows of the first refill."""
        return self._load(int(np.flatnonzero(self._sizes)[0]), columns)

    def decodes(self, wanted: int) -> float:
        """About how many rows have to be decoded to draw so many."""
        if self._table.parts.memory is not None or self._table.is_held:
            return float(wanted)
        size = self._table.batch_rows // 2
        refills = -(-max(wanted - (self._sizes[-1] - self._place), 0) // size)
        return refills * self._n_parts(size) * self._usual

    def draw(self, wanted: int, block: int) -> Iterator[Draw]:
        """Draw rows, in blocks of random members."""
        wanted = min(wanted, self.n_rows - self.n_used)
        while wanted > 0:
            if self._place == self._sizes[-1]:
                if self._refill(self._table.batch_rows // 2) is None:
                    return
                wanted = min(wanted, self.n_rows - self.n_used)
                continue
            size = min(wanted, self._sizes[-1] - self._place)
            # an even number of blocks, so that the two halves of the rows are of one size
            n_blocks = max(min(2 * -(-size // (2 * block)), size), 1)
            edges = self._place + np.linspace(0, size, n_blocks + 1).astype(int)
            self._place += size
            self.n_used += size
            wanted -= size
            last = len(self._sizes) - 1
            yield from (Draw(last, int(a), int(b)) for a, b in pairwise(edges))

    def everything(self, block: int) -> Iterator[Any]:
        """All rows, part by part."""
        self.n_used = self.n_rows
        self._held.clear()
        return self._table.everything(block)

    def stretches(self, block: int) -> list[list[Any]]:
        """All rows, the slices of one part together: a part is decoded once for all of them."""
        found: dict[int, list[Any]] = {}
        for rows in self._table.everything(block):
            found.setdefault(rows.part, []).append(rows)
        return list(found.values())

    def rounds(self, n_rounds: int, block: int, rng: np.random.Generator) -> list[list[Any]]:
        """The parts dealt out to rounds; in the first one those that the first rows are from come first."""
        stretches = self.stretches(block)
        order = deal_out(len(stretches), n_rounds, rng)
        # they are still decoded, and were chosen at random: each takes the place of a neighbour
        size = int(order.max()) + 1
        for part in self._at_hand:
            neighbours = np.arange(part - part % size, min(part - part % size + size, len(order)))
            order[neighbours[order[neighbours] == 0]] = order[part]
            order[part] = -1
        found: dict[int, list[Any]] = {}
        for i in np.argsort(order, kind="stable"):
            found.setdefault(max(int(order[i]), 0), []).extend(stretches[i])
        return list(found.values())

    def take(self, rows: Draw, columns: np.ndarray | None = None) -> Batch:
        """Return rows that were drawn."""
        batch = self._load(rows.refill, columns)
        part = slice(rows.start, rows.stop)
        return Batch(*(None if v is None else v[part] for v in batch))

    def __getstate__(self) -> dict[str, Any]:
        # a checkpoint names the rows; they are read again from where they lie
        return {**self.__dict__, "_held": {}}

    def _fill_first(self) -> None:
        size = min(_FIRST_ROWS, self._table.batch_rows // 2)
        parts = self._refill(size)
        # with gaps left out, a refill may come back empty
        while not self._sizes[-1] and self._left.any():
            parts = self._refill(size)
        if not self._sizes[-1]:
            raise ValueError(
                'missing="drop" leaves no row: every row has a missing value. Leave out the columns that '
                'have the most, or use missing="indicator".'
            )
        visited = len(self._refills[-1])
        spread = max(self.spread, clustering(parts) if parts else 0.0)
        if spread > self.spread and visited < len(self._lengths):
            self.spread = spread
            if self._n_parts(size) > visited:
                self._taken[:] = 0
                self._refills, self._sizes, self.n_rows = [], [], self._table.n_rows
                self._refill(size)

    @property
    def _left(self) -> np.ndarray:
        return self._lengths - self._taken

    @property
    def _usual(self) -> float:
        return float(self._lengths.sum() / len(self._lengths))

    def _n_parts(self, size: int) -> int:
        rows = min(_DECODE_ROWS, _DECODE_BYTES / self._table.row_bytes)
        several = max(2, int(rows / max(self._usual, 1)))
        if self.spread > 0:
            several = max(several, int(np.ceil(size / (1.0 + _DESIGN_EFFECT / self.spread))))
        return min(several, int(np.count_nonzero(self._left)))

    def _refill(self, size: int) -> list[np.ndarray] | None:
        """Choose and read the next rows; what was read of each part, None when nothing is left."""
        left = self._left
        size = min(size, int(left.sum()))
        if not size:
            return None
        number = len(self._refills)
        rng = np.random.default_rng([self.seed, number])
        shares = share_out(left, size, self._n_parts(size), rng)
        refill = [
            (int(g), int(self._taken[g]), int(self._taken[g] + shares[g])) for g in np.flatnonzero(shares)
        ]
        self._taken += shares
        self._refills.append(refill)
        self._held.clear()
        self._at_hand = self._table.hold([part for part, _, _ in refill] if number == 0 else [])
        parts: list[np.ndarray] = []
        batch = self._gather(number, None, parts if number == 0 else None)
        self._held[(number, None)] = batch
        self.n_rows -= size - len(batch.X)
        self._sizes.append(len(batch.X))
        self._place = 0
        return parts

    def _load(self, number: int, columns: np.ndarray | None = None) -> Batch:
        whole = self._held.get((number, None))
        if whole is not None:
            return whole if columns is None else whole._replace(X=whole.X[:, columns])
        key = (number, None if columns is None else tuple(np.asarray(columns).tolist()))
        if key not in self._held:
            # the last refill has rows to give; of the earlier ones a single one is held at a time
            last = (len(self._refills) - 1, None)
            self._held = {k: batch for k, batch in self._held.items() if k == last}
            self._held[key] = self._gather(number, columns, None)
        return self._held[key]

    def _gather(self, number: int, columns: Any, parts: list[np.ndarray] | None) -> Batch:
        refill = self._refills[number]
        picks = [
            Pick(g, np.sort(Piece(g, start, stop).of(self.seed, int(self._lengths[g]))))
            for g, start, stop in refill
        ]
        size = sum(stop - start for _, start, stop in refill)
        order = np.random.default_rng([self.seed, number, 1]).permutation(size)
        width = self._table.n_columns if columns is None else len(columns)
        X = np.empty((size, width), dtype=self._table.dtype)
        kept = np.zeros(size, dtype=bool)
        vectors: list[list[np.ndarray]] = [[], [], []]
        done = 0
        for batch in self._table.read(picks, columns):
            places = order[done : done + len(batch.X)]
            X[places] = batch.X
            kept[places] = True
            if parts is not None and len(batch.X):
                parts.append(column_moments(batch.X))
            for store, values in zip(vectors, batch[1:], strict=True):
                if values is not None:
                    store.append(values)
            done += len(batch.X)
            # the next one comes before the name is given to it
            del batch
        turned = np.argsort(order[:done])
        shuffled = [np.concatenate(v)[turned] if v else None for v in vectors]
        return Batch(X if done == size else X[kept], *shuffled)


def share_out(left: np.ndarray, size: int, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    """Rows to take from each part, so that every row has the same chance.

    With as many parts as there are, each gives its share. With fewer, equally spaced points on the rows of
    all parts, laid end to end in random order, hit parts by their row counts; each hit takes as many rows.
    """
    shares = np.zeros(len(left), dtype=np.int64)
    while size > 0:
        free = left - shares
        if n_parts >= np.count_nonzero(free):
            ends = np.cumsum(size * (free / free.sum()))
            ends[-1] = size
            ends = np.floor(ends + rng.random()).astype(np.int64)
            more = np.minimum(np.diff(ends, prepend=0), free)
        else:
            order = rng.permutation(len(left))
            points = (np.arange(n_parts) + rng.random()) * (free.sum() / n_parts)
            hits = order[np.searchsorted(np.cumsum(free[order]), points, side="right")]
            more = np.zeros_like(shares)
            np.add.at(more, hits, np.diff(np.linspace(0, size, n_parts + 1).astype(np.int64)))
            more = np.minimum(more, free)
        shares += more
        size -= int(more.sum())
    return shares


class LocalParts:
    """What parts are that come here to be worked on: read whole, sampled by a `Pool`."""

    # ``by_columns(part, names)`` yields a part some columns at a time, where the format allows
    by_columns: Callable[[int, Sequence[str]], Iterator[pa.Table]] | None = None

    def make_pool(self, table: Any, seed: int) -> Pool:
        """Make the sample of a table of these parts."""
        return Pool(table, seed)

    def make_workers(self, table: Any) -> Workers | None:
        """Who can work on rows where they lie: nobody."""
        return None

    def check_unchanged(self) -> None:
        """Nothing to do where the content of every part is compared whenever it is read."""
