"""A table that is read in parts: row groups of files, chunks of an iterator, partitions of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.data._dealt import DealtPart, HeldPart, WholePart
from rlselect.data._encoder import TableEncoder
from rlselect.data._part_coder import Coder, View, design_dtype
from rlselect.data._parts import Draw, Parts, Pick, Piece, Slice, all_parts
from rlselect.data._pool import Pool
from rlselect.data._source import Batch, Keeping, Workers

# a batch is one row group in memory; larger ones are not needed, and much smaller ones are put together
_BATCH_ROWS = 65_536
_FEWEST_ROWS = 51_200
_MOST_BYTES = 2**28
# rows of the first look that stay, fewer when they are wide
_GLANCE = 2048
_GLANCE_BYTES = 2**25
# a table of so many batches, and bytes, stays in memory once it was decoded for a search; of a larger one,
# the parts that the first rows are from, until they are passed over
_HELD_BATCHES = 2.25
_HELD_BYTES = 2**28


class PartTable:
    """Rows of a design in parts, encoded and checked as they are read; made by `open_source`.

    Parameters
    ----------
    parts : Parts
        Where the rows are.
    encoder : TableEncoder
        Fitted.
    roles : dict
        Name of the column of y, sample_weight and offset, None where there is none.
    spread : float
        Share of the variance that lies between parts, see `clustering`.
    drops : bool
        Whether rows with a missing value are left out.

    Attributes
    ----------
    n_rows, n_columns : int
        Rows in all parts, and design columns.
    row_bytes : int
        Size of a row of the design.
    batch_rows, batch_bytes : int
        Size of a batch: what is decoded at a time, and the unit of the memory that reading takes.
    n_rows_decoded : int
        Rows decoded so far, again each time; a pass over some of the columns counts in proportion.
    is_held : bool
        Whether what was decoded once stays in memory, as all of the table fits there.
    pool : Pool
        The sample, once `start` was called.
    """

    is_sparse = False
    in_memory = False

    def __init__(
        self,
        parts: Parts,
        encoder: TableEncoder,
        roles: dict[str, str | None],
        spread: float = 0.0,
        *,
        drops: bool = False,
    ) -> None:
        self.parts = parts
        self.encoder = encoder
        self.roles = roles
        self.spread = spread
        self.drops = drops
        self.response: Callable[[np.ndarray], np.ndarray] | None = None
        self.n_rows = int(parts.lengths.sum())
        self.n_columns = len(encoder.column_names_)
        self.dtype = design_dtype(parts.schema, encoder.feature_names)
        self._decoded = 0.0
        self._glance: Batch | None = None
        self._workers: Any = None
        self._scan: tuple[int, Iterator[pa.Table] | None] = (-1, None)
        self._last: tuple[Any, HeldPart | None] = (None, None)
        self._held: dict[int, HeldPart] = {}
        self._stays: set[int] = set()
        self.is_held = False
        self.row_bytes = max(self.n_columns * self.dtype.itemsize, 1)
        fewest = min(_FEWEST_ROWS, max(_MOST_BYTES // self.row_bytes, 1024))
        self.batch_rows = max(min(int(parts.lengths.max()), _BATCH_ROWS), fewest)
        self.batch_bytes = self.batch_rows * self.row_bytes

    @property
    def columns(self) -> list[str]:
        """Names of the design columns."""
        return self.encoder.column_names_

    @property
    def n_rows_decoded(self) -> int:
        """Rows decoded so far."""
        return round(self._decoded)

    def count_decoded(self, part: int, share: float = 1.0) -> None:
        """Count a part that is decoded, or some of its columns."""
        self._decoded += self.parts.lengths[part] * share

    def start(self, rng: np.random.Generator) -> None:
        """Make the sample that rows are drawn from."""
        self._glance = None
        self._held = {}
        self.is_held = self.n_rows * self.row_bytes <= self._room
        self.pool: Pool = self.parts.make_pool(self, int(rng.integers(2**62)))

    def hold(self, parts: Sequence[int]) -> list[int]:
        """Keep as many of these parts as there is room for, once decoded, until they are passed over.

        Returns those parts; none where the whole table stays anyway.
        """
        if self.is_held:
            return []
        self._held = {}
        sizes = np.cumsum(self.parts.lengths[parts]) * self.row_bytes
        self._stays = set(parts[: int(np.count_nonzero(sizes <= self._room))])
        return sorted(self._stays)

    @property
    def _room(self) -> float:
        """Bytes of decoded parts that may stay."""
        if self.parts.by_columns is None or self.drops:
            return 0.0
        return min(_HELD_BATCHES * self.batch_bytes, _HELD_BYTES)

    @property
    def sampler(self) -> Pool:
        """The sample that rows are drawn from, once `start` was called."""
        return self.pool

    def resume(self, sampler: Pool) -> None:
        """Go on with the sample of a search that was interrupted."""
        self.pool = sampler

    @property
    def workers(self) -> Workers | None:
        """Who can work on rows where they lie; None when they have to come here."""
        if self._workers is None:
            self._workers = self.parts.make_workers(self)
        return self._workers

    def targets(self) -> np.ndarray:
        """Raw y of the rows read first."""
        y = self.pool.first().y
        assert y is not None
        return y

    def set_response(self, response: Callable[[np.ndarray], np.ndarray], known: np.ndarray) -> None:
        """Turn every y into numbers from now on."""
        self.response = response

    def keeping(self, *, many_passes: bool, large: bool) -> Keeping:
        """How to hold rows that are needed again: nothing is kept where reading them again is cheap."""
        memory = self.parts.memory or 0
        if many_passes:
            # as a Newton step is one: rows stay in memory, or in a file where the data did
            return Keeping(self.take, max(memory, self.batch_bytes // 2), spill=True)
        return Keeping(self.take, memory, whole=False, slow=self.parts.memory is None)

    def where(self, batch: int) -> str:
        """Where a batch of `scan` lies, for messages."""
        return self.parts.where(batch)

    def fingerprint(self) -> list:
        """Tell these data from others, by what opening them has shown of their content."""
        return self.parts.fingerprint()

    def check_unchanged(self) -> None:
        """Refuse data that have changed since they were opened, once all that is needed was read."""
        self.parts.check_unchanged()

    def glance(self, rows: int, columns: np.ndarray | None = None) -> Batch:
        """Return rows at random from those read first."""
        if self._glance is None:
            few = min(_GLANCE, max(_GLANCE_BYTES // self.row_bytes, 1))
            self._glance = Batch(*(None if v is None else v[:few].copy() for v in self.pool.first()))
        # what is asked for again later is small; all of the first rows are at hand in the beginning only
        if rows <= len(self._glance.X):
            X = self._glance.X[:rows]
            batch = self._glance._replace(X=X if columns is None else X[:, columns])
        else:
            batch = self.pool.first(columns)
        return self._respond(Batch(*(None if v is None else v[:rows] for v in batch)))

    def take(self, rows: Any = None, columns: np.ndarray | None = None) -> Batch:
        """Return rows, encoded and checked.

        Parameters
        ----------
        rows : Draw, Piece, Slice, slice, array of int or None
            What the sampler hands out, or row numbers over all parts in order; None takes all rows.
        columns : array of int, optional
            Design columns wanted; all of them by default. Only these are read, where the format allows.

        Returns
        -------
        Batch
            X, y, sample_weight and offset of these rows.
        """
        if isinstance(rows, Draw):
            return self._respond(self.pool.take(rows, columns))
        if isinstance(rows, Piece):
            length = int(self.parts.lengths[rows.part])
            pick = Pick(rows.part, np.sort(rows.of(self.pool.seed, length)))
            return self._respond(next(self.read([pick], columns)))
        if isinstance(rows, Slice):
            return self._respond(self._take_slice(rows, columns))
        numbers = np.arange(self.n_rows)[slice(None) if rows is None else rows]
        if len(numbers) == 0:
            raise ValueError("No rows were asked for; at least one is needed.")
        wanted, back = np.unique(numbers, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(self.parts.lengths)])
        part = np.searchsorted(starts, wanted, side="right") - 1
        picks = [Pick(int(g), wanted[part == g] - starts[g]) for g in np.unique(part)]
        found = Batch(*map(_joined, zip(*self.read(picks, columns), strict=True)))
        if not self.drops:
            found = Batch(*(None if v is None else v[back] for v in found))
        return self._respond(found)

    def sample(self, rows: int, columns: np.ndarray | None, rng: np.random.Generator) -> Batch:
        """Draw distinct rows at random, in random order; all of them when there are fewer.

        Every part that holds one of them is decoded: for more than a few rows, `start` and the pool are the
        faster way.
        """
        return self.take(rng.choice(self.n_rows, size=min(rows, self.n_rows), replace=False), columns)

    def scan(self, columns: np.ndarray | None = None, *, count: bool = True) -> Iterator[Batch]:
        """Pass over all rows in order, one part at a time; uncounted when it serves validation only."""
        for batch in self.read(all_parts(self.parts), columns, count=count):
            yield self._respond(batch)

    def first_rows(self, rows: int, columns: np.ndarray | None = None) -> Batch:
        """Up to so many rows of the first part, in their order; not counted as decoded."""
        first = Pick(0, np.arange(min(rows, int(self.parts.lengths[0]))))
        return self._respond(next(self.read([first], columns, count=False)))

    def frames(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Pass over some columns as they lie in the data, one part at a time."""
        return self.parts.visit(all_parts(self.parts), names)

    def everything(self, block: int) -> Iterator[Slice]:
        """All rows, part by part, in an even number of slices of up to `block` rows or some thousands."""
        for g, size in enumerate(self.parts.lengths):
            step = self._n_slices(g, block)
            yield from (Slice(g, i, step) for i in range(min(step, int(size))))

    def _n_slices(self, part: int, block: int = 0) -> int:
        # every slice of a part in one piece passes over all of its columns once more
        block = max(block, min(8192, 2**24 // max(self.n_columns, 1)))
        return 2 * -(-int(self.parts.lengths[part]) // (2 * block))

    def read(
        self, picks: Sequence[Pick], columns: np.ndarray | None = None, *, count: bool = True
    ) -> Iterator[Batch]:
        """Yield the rows of each pick, encoded and checked, with y as it lies in the data."""
        view = self._view(columns)
        kept = {pick.part for pick in picks if self._keeps(pick.part)}
        tables = self._visit([pick for pick in picks if pick.part not in kept], view, count)
        for pick in picks:
            if pick.part in kept:
                yield self._take_part(pick.part, columns).rows(pick.rows)
            else:
                # no name for the table: it would outlive its use
                yield self._encode(next(tables), pick.part, view)

    def _keeps(self, part: int) -> bool:
        return self.is_held or part in self._stays

    def _visit(self, picks: Sequence[Pick], view: View, count: bool) -> Iterator[pa.Table]:
        tables = self.parts.visit(picks, view.names)
        for pick in picks:
            if count:
                self.count_decoded(pick.part, view.share)
            yield next(tables)

    def _take_slice(self, rows: Slice, columns: np.ndarray | None) -> Batch:
        key = (rows.part, None if columns is None else tuple(np.asarray(columns).tolist()))
        if self._last[0] != key:
            self._last = (None, None)  # let go of the last part before the next one comes
            # encoded once for all of its slices
            self._last = (key, self._take_part(rows.part, columns))
            if not self.is_held:
                self._held.pop(rows.part, None)
                self._stays.discard(rows.part)
        part = self._last[1]
        assert part is not None
        return part.slice(rows.start, rows.step)

    def _take_part(self, part: int, columns: np.ndarray | None) -> HeldPart:
        if not self._keeps(part):
            return self._decode_part(part, columns)
        if part not in self._held:
            self._held[part] = self._decode_part(part, None)
        whole = self._held[part]
        return whole if columns is None else whole.columns(columns)

    def _decode_part(self, part: int, columns: np.ndarray | None) -> HeldPart:
        view = self._view(columns)
        pieces = self.parts.by_columns
        if pieces is not None and view.is_plain:
            self.count_decoded(part, view.share)
            size, where = int(self.parts.lengths[part]), self.parts.where(part)
            n_slices = min(self._n_slices(part), size)
            return DealtPart(self.coder(view).deal_pieces(partial(pieces, part), size, n_slices, where))
        expected, tables = self._scan
        if expected != part or tables is None or columns is not None:
            rest = [Pick(g) for g in range(part, len(self.parts.lengths))]
            tables = self._visit(rest, view, True)
        self._scan = (part + 1, tables) if columns is None else (-1, None)
        return WholePart(self._encode(next(tables), part, view), stays=self.is_held)

    def _view(self, columns: np.ndarray | None) -> View:
        # which rows are dropped depends on all columns
        reads_all = columns is None or self.drops
        return View(self.encoder.design_, None if reads_all else np.asarray(columns), columns, self.roles)

    def _encode(self, table: pa.Table, part: int, view: View) -> Batch:
        return self.coder(view).encode(table, self.parts.where(part))

    def coder(self, view: View | None = None) -> Coder:
        """What turns a part as it lies in the data into a batch, for whoever holds the part."""
        return Coder(self._view(None) if view is None else view, self.roles, self.dtype, drops=self.drops)

    def _respond(self, batch: Batch) -> Batch:
        if self.response is None or batch.y is None:
            return batch
        return batch._replace(y=self.response(batch.y))

    def __repr__(self) -> str:
        return (
            f"<PartTable of {self.n_rows} rows x {self.n_columns} columns in {len(self.parts.lengths)} parts>"
        )


def _joined(pieces: Sequence[Any]) -> Any:
    return None if pieces[0] is None else np.concatenate(pieces)
