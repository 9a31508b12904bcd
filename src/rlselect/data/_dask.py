"""Dask collections: one part per partition, sampled and worked on by the worker that holds it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rlselect._parallel import alone
from rlselect.data._file import first_line
from rlselect.data._part_coder import Coder
from rlselect.data._part_table import PartTable
from rlselect.data._parts import Pick, Piece, Slice
from rlselect.data._pool import LocalParts, Pool, share_out
from rlselect.data._schemas import empty_columns, is_number, merge_schemas, typed, untyped, with_types
from rlselect.data._source import Batch
from rlselect.data._unchanged import content_sums, refuse_changed, sum_of_values

# partitions asked for at once: enough to keep workers busy, few enough to hold what comes back
_AT_ONCE = 16
_AT_ONCE_BYTES = 2**26
# pieces of one draw: each sends sums back, so that a large draw is better made of large pieces
_MOST_PIECES = 256


# what distributed raises when results, workers or the scheduler are gone
_LOST = ("CancelledError", "FutureCancelledError", "FutureLostError", "CommClosedError", "ClosedClientError")


class DaskParts(LocalParts):
    """Partitions of a Dask DataFrame or row chunks of a Dask Array.

    Opening computes the length and the columns of every partition where it lies; reading sends row numbers
    out and gets those rows back. Which rows are drawn follows from the seed and the partitions alone: the
    answer does not depend on the number of workers, and work of a worker that dies is done again by others.
    A collection that is not persisted is computed again whenever a partition is read.

    Parameters
    ----------
    collection : dask DataFrame or Array
        The data; columns of an array are called x0, x1, ...
    """

    memory: int | None = 2**30

    def __init__(self, collection: Any) -> None:
        import dask

        if hasattr(collection, "chunks"):
            if collection.ndim != 2:
                raise ValueError(f"X is a Dask Array of {collection.ndim} dimensions; two are needed.")
            collection = collection.rechunk({1: -1})
            delayed = list(np.ravel(collection.to_delayed()))
        else:
            delayed = list(collection.to_delayed())
        with _computing():
            facts = dask.compute(*(dask.delayed(_facts)(part) for part in delayed))
        lengths = np.array([n for n, *_ in facts], dtype=np.int64)
        self._numbers = np.flatnonzero(lengths)
        if not len(self._numbers):
            raise ValueError("X is a Dask collection without rows.")
        self.lengths = lengths[self._numbers]
        self.delayed = [delayed[number] for number in self._numbers]
        self.sums = [facts[number][3] for number in self._numbers]
        start = self._numbers[0]
        _, first, empty, _ = facts[start]
        merged, settled = untyped(first, empty), dict[str, str]()
        for k in self._numbers[1:]:
            schema = untyped(facts[k][1], facts[k][2])
            merged = merge_schemas(merged, schema, f"partition {start}", f"partition {k}", settled)
        self.schema: pa.Schema = typed(merged, first)
        # of these a part, or some rows of one, may have no value that tells the type
        loose = {name for _, schema, empty, _ in facts for name in (*empty, *_texts(schema))}
        self.loose = pa.schema([field for field in self.schema if field.name in loose])

    def make_pool(self, table: PartTable, seed: int) -> Pool:
        """Make the sample: rows after the first refill stay where they are."""
        return Pool(table, seed) if table.drops else PiecePool(table, seed)

    def make_workers(self, table: PartTable) -> "DaskWorkers | None":
        """Return those who hold the partitions, when a distributed client is there."""
        client = _client()
        return None if client is None or table.drops else DaskWorkers(self, table, client)

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        return f"Partition {self._numbers[part]} of X"

    def fingerprint(self) -> list:
        """Tell this data from other data, by the content of the partitions."""
        return [self.lengths.tolist(), self.sums]

    def expected(self, part: int, names: Sequence[str]) -> "Expected":
        """What a partition was at first, for who reads these columns of it."""
        sums = self.sums[part]
        return Expected({name: sums[name] for name in names}, self.where(part), self.loose)

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick, taken on the workers."""
        import dask

        columns = list(names)
        step = _AT_ONCE
        if picks and picks[0].rows is None:
            # whole partitions may be as large as memory allows
            largest = 8 * int(self.lengths.max()) * max(len(columns), 1)
            step = int(np.clip(_AT_ONCE_BYTES // largest, 1, _AT_ONCE))
        for start in range(0, len(picks), step):
            some = picks[start : start + step]
            with _computing():
                found = dask.compute(
                    *(
                        dask.delayed(_some_rows)(self.delayed[p.part], p.rows, self.expected(p.part, columns))
                        for p in some
                    )
                )
            yield from found


class Expected(NamedTuple):
    """What a partition was when it was first seen.

    Attributes
    ----------
    sums : dict
        Sums over the content of the columns wanted.
    where : str
        Which partition, for messages.
    loose : pyarrow.Schema
        Columns of which rows may have no value that tells the type.
    """

    sums: dict[str, int]
    where: str
    loose: pa.Schema


class PiecePool(Pool):
    """A pool whose later rows are pieces of partitions, so that each can be worked on where it lies.

    The first refill is shuffled and comes here, as with any source: it tells the family, the scale of the
    columns and whether the rows of a partition resemble each other. After it, every draw is spread over the
    partitions as a refill is, and each partition gives its rows in two pieces, one for each half.
    """

    def draw(self, wanted: int, block: int) -> Iterator[Any]:
        """Draw rows: what is left of the first refill, then pieces of about `block` rows."""
        wanted = min(wanted, self.n_rows - self.n_used)
        here = min(wanted, self._sizes[-1] - self._place)
        yield from super().draw(here, block)
        wanted -= here
        if wanted <= 0:
            return
        rng = np.random.default_rng([self.seed, self.n_used, 3])
        several = max(self._n_parts(wanted), min(-(-wanted // (2 * block)), _MOST_PIECES // 2))
        shares = share_out(self._left, wanted, min(several, int(np.count_nonzero(self._left))), rng)
        starts, self._taken = self._taken, self._taken + shares
        self.n_used += int(shares.sum())
        for part in np.flatnonzero(shares):
            start, stop = int(starts[part]), int(self._taken[part])
            middle = (start + stop + 1) // 2
            yield Piece(int(part), start, middle)
            if middle < stop:
                yield Piece(int(part), middle, stop)

    def everything(self, block: int) -> Iterator[Slice]:
        """All rows, each partition in two slices."""
        self.n_used = self.n_rows
        self._held.clear()
        for part, size in enumerate(self._lengths):
            yield from (Slice(part, start, 2) for start in range(min(2, int(size))))


class DaskWorkers:
    """Those who hold the partitions of a collection, and work on rows of them.

    Parameters
    ----------
    parts : DaskParts
        The partitions.
    table : PartTable
        How their rows become a batch.
    client : distributed.Client
        The cluster.
    """

    def __init__(self, parts: "DaskParts", table: PartTable, client: Any) -> None:
        self._parts, self._table, self._client = parts, table, client

    def holds(self, rows: Any) -> bool:
        """Whether these rows are worked on where they lie."""
        return isinstance(rows, Piece | Slice)

    def size(self, rows: Piece | Slice) -> int:
        """Number of rows."""
        if isinstance(rows, Piece):
            return rows.stop - rows.start
        return len(range(rows.start, int(self._parts.lengths[rows.part]), rows.step))

    def start(self, function: Callable[..., Any], blocks: Sequence[Any], *args: Any) -> Iterator[Any]:
        """Start ``function(block, *args)`` where each block is; yields the answers in order.

        A task serves all blocks of a partition: at a millisecond or two of the scheduler each, tasks cost
        more than what they compute on a few thousand rows. Which worker does one is of no consequence.
        """
        with _computing():
            return self._start(function, blocks, args)

    def _start(self, function: Callable[..., Any], blocks: Sequence[Any], args: tuple) -> Iterator[Any]:
        self._make([block for block in blocks if block.handle is None])
        groups: dict[int, list[int]] = {}
        for i, block in enumerate(blocks):
            groups.setdefault(block.rows.part, []).append(i)
        tasks = []
        for places in groups.values():
            handles = [blocks[i].handle for i in places]
            holders = {holder.key: holder for holder, _ in handles}
            numbers = [(list(holders).index(holder.key), number) for holder, number in handles]
            tasks.append(self._client.submit(_work, function, args, numbers, *holders.values(), pure=False))
        return self._collect(tasks, list(groups.values()))

    def _collect(self, tasks: list[Any], groups: list[list[int]]) -> Iterator[Any]:
        """Answers in the order of the blocks; those of a few tasks are here at a time."""
        here: dict[int, Any] = {}
        first = 0
        for i in range(sum(map(len, groups))):
            while i not in here:
                some = slice(first, first + _AT_ONCE)
                with _computing():
                    answers = self._client.gather(tasks[some])
                for places, found in zip(groups[some], answers, strict=True):
                    here.update(zip(places, found, strict=True))
                first += _AT_ONCE
            yield here.pop(i)

    def _make(self, blocks: Sequence[Any]) -> None:
        """Have blocks made and kept where their rows lie, those of a partition together."""
        import dask

        table, parts = self._table, self._parts
        groups: dict[int, list[Any]] = {}
        for block in blocks:
            groups.setdefault(block.rows.part, []).append(block)
        made = []
        for part, mine in groups.items():
            table.count_decoded(part)
            rows = [block.rows for block in mine]
            coder = table.coder()
            expected = parts.expected(part, coder.view.names)
            how = (table.pool.seed, coder, table.response, expected, mine[0].how)
            made.append(dask.delayed(_made)(parts.delayed[part], rows, *how))
        for holder, mine in zip(self._client.compute(made), groups.values(), strict=True):
            for number, block in enumerate(mine):
                block.handle = (holder, number)


@contextmanager
def _computing() -> Iterator[None]:
    """Tell in our words what goes wrong in a cluster; what a partition's content is refused for stays."""
    try:
        yield
    except (ValueError, TypeError):
        raise
    except Exception as error:
        kind = type(error).__name__
        if isinstance(error, MemoryError) or kind == "KilledWorker":
            what = "its workers run out of memory, or die, on one of the partitions; make partitions smaller"
        elif kind in _LOST or isinstance(error, ConnectionError | TimeoutError):
            what = (
                "the scheduler, or the workers that hold the partitions, cannot be reached; start them again"
            )
        else:
            what = "a partition cannot be computed; mend the collection"
        raise RuntimeError(
            f"X is a Dask collection, and {what} and fit again. With checkpoint= and the name of a file, a "
            f"search goes on from where it was last saved. ({kind}: {first_line(error)})"
        ) from None


def _client() -> Any:
    """Return the distributed client that Dask would use here, if there is one."""
    import dask

    if dask.config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
        return None
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _work(function: Callable[..., Any], args: tuple, numbers: list[tuple[int, int]], *held: list) -> list:
    """On a worker: what a function makes of some of the blocks it holds."""
    return alone(lambda: [function(held[place][number], *args) for place, number in numbers])


def _made(
    part: Any,
    rows: Sequence[Piece | Slice],
    seed: int,
    coder: Coder,
    response: Callable[[np.ndarray], np.ndarray] | None,
    expected: Expected,
    function: Callable[[Any], Any],
) -> list:
    """On a worker: rows of a partition, encoded, checked and handed to a function, for each of `rows`."""
    _refuse_changed(part, expected)
    numbers = [
        np.sort(some.of(seed, len(part)))
        if isinstance(some, Piece)
        else np.arange(some.start, len(part), some.step)
        for some in rows
    ]
    # all of them are encoded at once: a table of many columns has its price, however few its rows
    batch = coder.encode(_taken(part, np.concatenate(numbers), expected), expected.where)
    if response is not None and batch.y is not None:
        batch = batch._replace(y=response(batch.y))
    edges = np.cumsum([len(some) for some in numbers])[:-1]
    cut = [[None] * len(rows) if v is None else np.split(v, edges) for v in batch]
    return alone(lambda: [function(Batch(*some)) for some in zip(*cut, strict=True)])


def _as_arrow(part: Any) -> pa.Table:
    if isinstance(part, np.ndarray):
        return pa.table({f"x{j}": np.ascontiguousarray(part[:, j]) for j in range(part.shape[1])})
    kinds = set(part.dtypes)
    if len(kinds) == 1 and isinstance(part.dtypes.iloc[0], np.dtype) and part.dtypes.iloc[0].kind in "fiu":
        # a frame of one type is a matrix, whose columns can be handed over as they lie
        columns = np.ascontiguousarray(part.to_numpy().T)
        gaps = bool(np.isnan(columns).any())
        return pa.Table.from_arrays(
            [pa.array(v, from_pandas=gaps) for v in columns], names=[str(c) for c in part.columns]
        )
    return pa.Table.from_pandas(part, preserve_index=False, nthreads=1).replace_schema_metadata(None)


def _facts(part: Any) -> tuple[int, pa.Schema, list[str], dict[str, int]]:
    """Length and types of a partition, its columns without a single value, and sums over its content."""
    first = _as_arrow(part[:1])
    sums = _sums(part, first.column_names)
    if isinstance(part, np.ndarray):
        return len(part), first.schema, [], sums
    schema, empty = first.schema, []
    for name in empty_columns(first):
        given = part[[name]].dropna()[:1]
        if len(given):
            schema = schema.set(schema.get_field_index(name), _as_arrow(given).schema.field(0))
        else:
            empty.append(name)
    return len(part), schema, empty, sums


def _sums(part: Any, names: Sequence[str]) -> dict[str, int]:
    """Sums over the content of some columns of a partition, of numbers without a copy where they lie so."""
    if isinstance(part, np.ndarray):
        return {name: sum_of_values(part[:, int(name[1:])], len(part)) for name in names}
    sums = {}
    places = {str(name): j for j, name in enumerate(part.columns)}
    for name in names:
        column = part.iloc[:, places[name]]
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
            sums[name] = sum_of_values(column.to_numpy(), len(part))
        else:
            sums |= content_sums(_as_arrow(column.to_frame(name)))
    return sums


def _refuse_changed(part: Any, expected: Expected) -> None:
    """On a worker: refuse a partition that is computed anew and is another one."""
    known = [f"x{j}" for j in range(part.shape[1])] if isinstance(part, np.ndarray) else part.columns
    absent = set(expected.sums).difference(map(str, known))
    now = dict.fromkeys(expected.sums, -1) if absent else _sums(part, list(expected.sums))
    refuse_changed(now, expected.sums, list(expected.sums), expected.where)


def _texts(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if not is_number(field.type)]


def _some_rows(part: Any, rows: np.ndarray | None, expected: Expected) -> pa.Table:
    _refuse_changed(part, expected)
    return _taken(part, rows, expected)


def _taken(part: Any, rows: np.ndarray | None, expected: Expected) -> pa.Table:
    columns = list(expected.sums)
    if isinstance(part, np.ndarray):
        which = [int(name[1:]) for name in columns]
        part = part[:, which] if rows is None else part[rows][:, which]
        return _as_arrow(part).rename_columns(columns)
    part = part[columns]
    return with_types(_as_arrow(part if rows is None else part.iloc[rows]), expected.loose)
