"""A table that is read in parts: row groups of files, chunks of an iterator, partitions of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlselect.data._checks import check_finite, unknown_column
from rlselect.data._design import Design, bind, encode
from rlselect.data._encoder import TableEncoder
from rlselect.data._pool import Draw, Piece, Pool
from rlselect.data._read import as_numbers, missing_mask, read_table, read_vector
from rlselect.data._source import Batch
from rlselect.data._store import float_dtype

# a batch is one row group in memory; larger ones are not needed, and much smaller ones are put together
_BATCH_ROWS = 65_536
_FEWEST_ROWS = 51_200
_MOST_BYTES = 2**28
# rows of the first look that stay, fewer when they are wide
_GLANCE = 2048
_GLANCE_BYTES = 2**25
# numbers that are turned from columns into rows at once, which stay in the cache
_TILE = 2**18
# rows that are encoded at once where that takes more memory than its result
_ENCODED_ROWS = 8192


class Pick(NamedTuple):
    """Some rows of one part, ascending; None is all of them."""

    part: int
    rows: np.ndarray | None = None


class Slice(NamedTuple):
    """Every `step`-th row of a part from row `start`: rows are dealt out evenly, however sorted."""

    part: int
    start: int
    step: int


class Parts(Protocol):
    """What a source of parts offers; parts never change while it is open."""

    lengths: np.ndarray
    schema: pa.Schema
    memory: int | None

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick, in the order asked for."""
        ...

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        ...

    def fingerprint(self) -> list:
        """Tell this data from other data, without reading it."""
        ...


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
    pool : Pool
        The sample, once `start` was called.
    """

    streams = True
    is_sparse = False

    def __init__(
        self, parts: Parts, encoder: TableEncoder, roles: dict[str, str | None], spread: float = 0.0
    ) -> None:
        self.parts = parts
        self.encoder = encoder
        self.roles = roles
        self.spread = spread
        self.response: Callable[[np.ndarray], np.ndarray] | None = None
        self.n_rows = int(parts.lengths.sum())
        self.n_columns = len(encoder.column_names_)
        self.dtype = _dtype(parts.schema, _features(encoder._design))
        self._decoded = 0.0
        self._glance: Batch | None = None
        self._workers: Any = None
        self._scan: tuple[int, Iterator[pa.Table] | None] = (-1, None)
        self._last: tuple[Any, Batch | None] = (None, None)
        self.row_bytes = max(self.n_columns * self.dtype.itemsize, 1)
        fewest = min(_FEWEST_ROWS, max(_MOST_BYTES // self.row_bytes, 1024))
        self.batch_rows = max(min(int(parts.lengths.max()), _BATCH_ROWS), fewest)
        self.batch_bytes = self.batch_rows * self.row_bytes
        # what stays in memory between passes beside the pool: nothing, where reading again is cheap
        self.memory = 0 if parts.memory is None else parts.memory

    @property
    def columns(self) -> list[str]:
        """Names of the design columns."""
        return self.encoder.column_names_

    @property
    def n_rows_decoded(self) -> int:
        """Rows decoded so far."""
        return round(self._decoded)

    def start(self, rng: np.random.Generator) -> None:
        """Make the sample that rows are drawn from."""
        self._glance = None
        make = getattr(self.parts, "make_pool", Pool)
        self.pool = make(self, int(rng.integers(2**62)))

    @property
    def workers(self) -> Any:
        """Who can work on rows where they lie; None when they have to come here."""
        make = getattr(self.parts, "make_workers", None)
        if self._workers is None and make is not None:
            self._workers = make(self)
        return self._workers

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
        found = join(list(self.read(picks, columns)))
        if self.encoder.missing != "drop":
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
        picks = [Pick(g) for g in range(len(self.parts.lengths))]
        for batch in self.read(picks, columns, count=count):
            yield self._respond(batch)

    def frames(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Pass over some columns as they lie in the data, one part at a time."""
        return self.parts.visit([Pick(g) for g in range(len(self.parts.lengths))], names)

    def everything(self, block: int) -> Iterator[Slice]:
        """All rows, part by part, in an even number of slices of up to `block` rows or some thousands."""
        # every slice passes over all columns of a part once more
        block = max(block, min(8192, 2**24 // max(self.n_columns, 1)))
        for g, size in enumerate(self.parts.lengths):
            step = 2 * -(-int(size) // (2 * block))
            yield from (Slice(g, i, step) for i in range(min(step, int(size))))

    def read(
        self, picks: Sequence[Pick], columns: np.ndarray | None = None, *, count: bool = True
    ) -> Iterator[Batch]:
        """Yield the rows of each pick, encoded and checked, with y as it lies in the data."""
        view = self._view(columns)
        tables = self._visit(picks, view, count)
        for pick in picks:
            # no name for the table: it would outlive its use
            yield self._encode(next(tables), pick.part, view)

    def _visit(self, picks: Sequence[Pick], view: "_View", count: bool) -> Iterator[pa.Table]:
        tables = self.parts.visit(picks, view.names)
        for pick in picks:
            if count:
                self._decoded += self.parts.lengths[pick.part] * view.share
            yield next(tables)

    def _take_slice(self, rows: Slice, columns: np.ndarray | None) -> Batch:
        key = (rows.part, None if columns is None else tuple(np.asarray(columns).tolist()))
        if self._last[0] != key:
            self._last = (None, None)  # let go of the last part before the next one comes
            # encoded once for all of its slices
            self._last = (key, self._take_part(rows.part, columns))
        part = self._last[1]
        assert part is not None
        # a copy: what keeps some of the slices must not keep the part
        return Batch(*(None if v is None else v[rows.start :: rows.step].copy() for v in part))

    def _take_part(self, part: int, columns: np.ndarray | None) -> Batch:
        view = self._view(columns)
        pieces = getattr(self.parts, "pieces", None)
        if pieces is not None and view.is_plain:
            self._decoded += self.parts.lengths[part] * view.share
            size, where = int(self.parts.lengths[part]), self.parts.where(part)
            return self.coder(view).encode_pieces(partial(pieces, part), size, where)
        expected, tables = self._scan
        if expected != part or tables is None or columns is not None:
            rest = [Pick(g) for g in range(part, len(self.parts.lengths))]
            tables = self._visit(rest, view, True)
        self._scan = (part + 1, tables) if columns is None else (-1, None)
        return self._encode(next(tables), part, view)

    def _view(self, columns: np.ndarray | None) -> "_View":
        # which rows are dropped depends on all columns
        reads_all = columns is None or self.encoder.missing == "drop"
        return _View(self.encoder._design, None if reads_all else np.asarray(columns), columns, self.roles)

    def _encode(self, table: pa.Table, part: int, view: "_View") -> Batch:
        return self.coder(view).encode(table, self.parts.where(part))

    def coder(self, view: "_View | None" = None) -> "Coder":
        """What turns a part as it lies in the data into a batch, for whoever holds the part."""
        return Coder(self._view(None) if view is None else view, self.roles, self.dtype)

    def _respond(self, batch: Batch) -> Batch:
        if self.response is None or batch.y is None:
            return batch
        return batch._replace(y=self.response(batch.y))

    def __repr__(self) -> str:
        return (
            f"<PartTable of {self.n_rows} rows x {self.n_columns} columns in {len(self.parts.lengths)} parts>"
        )


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Say where the rows lie that an error speaks of."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from None


class Coder:
    """Encodes and checks rows of one part."""

    def __init__(self, view: "_View", roles: dict[str, str | None], dtype: np.dtype) -> None:
        self.view, self.roles, self.dtype = view, roles, dtype

    def encode(self, table: pa.Table, where: str) -> Batch:
        """Return the batch; an error says where the part lies."""
        view = self.view
        with _located(where):
            if view.design.missing == "drop":
                table = _without_gaps(table, [n for n in view.names if n not in _unmended(self.roles)])
            return self._batch(view.encode(table, self.dtype), table)

    def encode_pieces(
        self, pieces: Callable[[Sequence[str]], Iterator[pa.Table]], n_rows: int, where: str
    ) -> Batch:
        """Return the batch of a part that comes some columns at a time, for a plain view."""
        view = self.view
        X = np.empty((n_rows, len(view.wanted)), dtype=self.dtype)
        done = 0
        vectors = view.names[len(view.features) :]
        rest = next(pieces(vectors)) if vectors else pa.table({})
        for table in pieces(view.wanted):
            names = view.wanted[done : done + table.num_columns]
            with _located(where):
                _fill(X[:, done : done + len(names)], table, names, view.design.missing)
            done += len(names)
        with _located(where):
            return self._batch(X, rest)

    def _batch(self, X: np.ndarray, table: pa.Table) -> Batch:
        y, weight, offset = (
            None if name is None else read_vector(table.column(name), role)
            for role, name in self.roles.items()
        )
        _check_target(y)
        return Batch(X, y, _check_row_numbers(weight, "sample_weight"), _check_row_numbers(offset, "offset"))


class _View:
    """Some design columns: which columns of the data they need, and how they are made of them."""

    def __init__(
        self, design: Design, needed: np.ndarray | None, columns: np.ndarray | None, roles: dict
    ) -> None:
        names = _features(design)
        self._columns: np.ndarray | None = None if columns is None else np.asarray(columns)
        self.design = design
        if needed is not None:
            features = np.unique(design.feature[needed])
            self.design = _restrict(design, features)
            names = [names[j] for j in features]
            place = {
                (int(features[j]), int(k)): i
                for i, (j, k) in enumerate(zip(self.design.feature, self.design.kind, strict=True))
            }
            self._columns = np.array(
                [place[int(design.feature[c]), int(design.kind[c])] for c in needed], dtype=np.intp
            )
        self.features = names
        self.names = [*names, *dict.fromkeys(v for v in roles.values() if v is not None)]
        n_all = design.n_features + len(self.names) - len(names)
        self.share = len(self.names) / max(n_all, 1)

    @property
    def is_plain(self) -> bool:
        """Whether every design column is a column of the data, and every row stays."""
        return self.design.is_plain and self.design.missing == "error"

    @property
    def wanted(self) -> list[str]:
        """For a plain design, the column of the data that each design column is."""
        return self.features if self._columns is None else [self.features[j] for j in self._columns]

    def encode(self, table: pa.Table, dtype: np.dtype) -> np.ndarray:
        """Return the design columns of all rows."""
        if self.design.is_plain and self.design.missing != "indicator":
            X = np.empty((len(table), len(self.wanted)), dtype=dtype)
            _fill(X, table, self.wanted, self.design.missing)
            return X
        width = len(self.design.feature) if self._columns is None else len(self._columns)
        X = np.empty((len(table), width), dtype=dtype)
        if self.features:
            table = table.select(self.features)
            for start in range(0, len(table), _ENCODED_ROWS):
                store = bind(read_table(table.slice(start, _ENCODED_ROWS)), self.design)
                X[start : start + _ENCODED_ROWS] = encode(store, self.design, slice(None), self._columns)
        return X


def _fill(X: np.ndarray, table: pa.Table, names: list[str], missing: str) -> None:
    """Write columns of numbers into the columns of X, and check them."""
    # a number at a time into long rows would miss the cache every time
    step = max(1, _TILE // max(len(table), 1))
    for start in range(0, len(names), step):
        some = names[start : start + step]
        tile = np.empty((len(some), len(table)), dtype=X.dtype)
        for k, name in enumerate(some):
            tile[k] = _plain(table.column(name), name)
        X[:, start : start + step] = tile.T
    check_finite(X, names, missing)


def _features(design: Design) -> list[str]:
    return [str(name) for name in design.feature_names()]


def _restrict(design: Design, features: np.ndarray) -> Design:
    """The design of some of the features."""
    from rlselect.data._scan import Gaps

    gaps = design.gaps
    if gaps is not None:
        gaps = Gaps(gaps.rows, gaps.counts[features], gaps.means[features])
    names = None if design.names is None else design.names[features]
    levels = {k: design.levels[int(j)] for k, j in enumerate(features) if int(j) in design.levels}
    return Design(design.missing, names, len(features), levels, gaps, design.owner)


def _plain(column: pa.ChunkedArray, name: str) -> np.ndarray:
    kind = column.type
    if not is_number(kind):
        raise TypeError(f"Column {name!r} of X holds {kind} values, but numbers are needed.")
    if column.null_count or pa.types.is_decimal(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    return column.to_numpy()


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type is one design column; without a single value it might as well be."""
    types = pa.types
    tests = (types.is_floating, types.is_integer, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def _dtype(schema: pa.Schema, names: Sequence[str]) -> np.dtype:
    kinds = [schema.field(n).type for n in names]
    return float_dtype(
        [
            np.dtype(np.float32 if k == pa.float32() else np.float64)
            for k in kinds
            if is_number(k) and not pa.types.is_null(k)
        ]
    )


def _unmended(roles: dict[str, str | None]) -> set[str]:
    return {name for role, name in roles.items() if name is not None and role != "y"}


def _without_gaps(table: pa.Table, names: Sequence[str]) -> pa.Table:
    keep = np.ones(len(table), dtype=bool)
    for name in names:
        keep &= ~pc.is_null(table.column(name), nan_is_null=True).to_numpy()
    return table if keep.all() else table.filter(pa.array(keep))


def _check_target(y: np.ndarray | None) -> None:
    if y is None:
        return
    gaps = int(missing_mask(y).sum())
    if gaps:
        raise ValueError(
            f'Input y contains missing values (NaN) in {gaps} of {len(y)} rows read. Use missing="drop" to '
            "leave those rows out."
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(
            f"Input y contains infinity in {np.isinf(y).sum()} of {len(y)} rows read; finite values are "
            "needed."
        )


def _check_row_numbers(values: np.ndarray | None, role: str) -> np.ndarray | None:
    if values is None:
        return None
    numbers = as_numbers(values, role)
    bad = len(numbers) - int(np.isfinite(numbers).sum())
    if bad:
        raise ValueError(
            f"{role} contains NaN or infinity in {bad} of {len(numbers)} rows read; finite values are needed."
        )
    if role == "sample_weight" and (numbers < 0).any():
        raise ValueError(
            f"sample_weight is negative in {(numbers < 0).sum()} of {len(numbers)} rows read; weights must "
            "be at least 0."
        )
    return numbers


def join(batches: Sequence[Batch]) -> Batch:
    """Put batches one after the other."""
    return Batch(*(None if v[0] is None else np.concatenate(v) for v in zip(*batches, strict=True)))


def check_roles(given: dict[str, Any], names: Sequence[str]) -> dict[str, str | None]:
    """Refuse anything but the names of columns: the rows of a large source have no second home."""
    for role, value in given.items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise TypeError(
                f"{role} is a {type(value).__name__}, but X is read in parts: give the name of its column."
            )
        if value not in names:
            raise unknown_column(role, value, names)
    return dict(given)


def plain_design(names: list[str], missing: str, owner: str) -> Design:
    """The design of a table of numbers, known without a look at it."""
    return Design(missing, np.array(names, dtype=object), len(names), {}, None, owner)
