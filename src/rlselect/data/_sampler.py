"""Rows of a table in memory, drawn at random."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# a whole shuffle is cheapest while it is short
_SHUFFLE = 100_000


class RowSampler:
    """Rows drawn without replacement, in time and memory that do not grow with how many are left.

    Parameters
    ----------
    n_rows : int
        Rows there are.
    rng : Generator
        Source of randomness.
    """

    in_memory = True

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self.n_rows = n_rows
        self.n_used = 0
        self._rng = rng
        self._order = rng.permutation(n_rows) if n_rows <= _SHUFFLE else None
        self._used = np.zeros(0 if self._order is not None else n_rows, dtype=bool)

    def draw(self, wanted: int, block: int) -> Iterator[NDArray[np.intp]]:
        """Draw rows, in blocks that belong to two random halves in turn.

        The rows of a half are sorted: those of a block lie close to each other in memory or on disk.
        """
        wanted = min(wanted, self.n_rows - self.n_used)
        if self._order is not None:
            rows = self._order[self.n_used : self.n_used + wanted]
        elif 2 * (self.n_used + wanted) > self.n_rows:
            rows = self._rng.permutation(np.flatnonzero(~self._used))[:wanted]
            self._used[rows] = True
        else:
            rows = np.empty(0, dtype=np.intp)
            while len(rows) < wanted:
                missing = wanted - len(rows)
                more = np.sort(self._rng.integers(self.n_rows, size=missing + missing // 4 + 64))
                more = more[np.append(True, np.diff(more) > 0) & ~self._used[more]]
                more = self._rng.permutation(more)[:missing]
                self._used[more] = True
                rows = np.concatenate([rows, more])
            rows = self._rng.permutation(rows)
        # an even number of blocks, so that the two halves of the rows are of one size
        n_blocks = 2 * -(-len(rows) // (2 * block))
        first = not self.n_used
        self.n_used += len(rows)
        if first or len(rows) < max(2 * n_blocks, 1):
            # the scale of the data is read off the first block: its rows come from everywhere
            for part in np.array_split(rows, max(min(n_blocks, len(rows)), 1)):
                yield np.sort(part)
            return
        halves = [np.array_split(np.sort(half), n_blocks // 2) for half in np.array_split(rows, 2)]
        for pair in zip(*halves, strict=True):
            yield from pair

    def decodes(self, wanted: int) -> float:
        """Rows that have to be touched to draw so many: where each can be had alone, no others."""
        return float(wanted)

    def everything(self, block: int) -> Iterator[slice]:
        """All rows in order, in blocks dealt out evenly between odd and even places."""
        self.n_used = self.n_rows
        for (rows,) in self.stretches(block):
            yield rows

    def stretches(self, block: int) -> list[list[slice]]:
        """All rows in order, an even number of blocks, each of which can be passed over alone."""
        n_blocks = 2 * -(-self.n_rows // (2 * block))
        edges = np.linspace(0, self.n_rows, n_blocks + 1).astype(int)
        return [[slice(int(start), int(stop))] for start, stop in pairwise(edges)]

    def rounds(self, n_rounds: int, block: int, rng: np.random.Generator) -> list[list[slice]]:
        """The stretches dealt out to rounds of about one size."""
        stretches = self.stretches(block)
        order = deal_out(len(stretches), n_rounds, rng)
        return [[stretches[i][0] for i in np.flatnonzero(order == k)] for k in range(order.max() + 1)]


def deal_out(n_stretches: int, n_rounds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """In which round each stretch comes: one of every `n_rounds` neighbours in each, at random.

    So each round holds rows from all over the table, however it is sorted. There are no more rounds than
    stretches.
    """
    n_rounds = min(n_rounds, n_stretches)
    groups = -(-n_stretches // n_rounds)
    order = rng.permuted(np.tile(np.arange(n_rounds), (groups, 1)), axis=1)
    return order.ravel()[:n_stretches]
