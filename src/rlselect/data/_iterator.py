"""A function that yields tables: one part per table, found again by calling the function again."""

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from rlselect.data._parts import Pick
from rlselect.data._pool import LocalParts
from rlselect.data._schemas import empty_columns, merge_schemas, typed, untyped, with_types
from rlselect.data._unchanged import content_sums, refuse_changed


class IteratorParts(LocalParts):
    """Chunks of an iterator that a factory makes anew for every pass.

    There is no way to a chunk but through those before it: opening is one pass, for columns and lengths, and
    every refill of the sample is another one. What was drawn is therefore kept in memory, up to 1 GiB.

    Parameters
    ----------
    factory : callable
        Without arguments, returns an iterable of data frames (pandas, polars, Arrow, ...), the same ones each
        time. Columns of two-dimensional arrays are called x0, x1, ...
    """

    memory: int | None = 2**30

    def __init__(self, factory: Callable[[], Any]) -> None:
        _refuse_arguments(factory)
        self._factory = factory
        lengths = []
        self._sums: list[dict[str, int]] = []
        first = merged = None
        settled: dict[str, str] = {}
        for i, table in enumerate(self._tables()):
            schema = untyped(table.schema, empty_columns(table))
            if first is None:
                first, merged = table.schema, schema
            else:
                merged = merge_schemas(merged, schema, "chunk 0", f"chunk {i}", settled)
            lengths.append(len(table))
            self._sums.append(content_sums(table))
        if not sum(lengths):
            raise ValueError("X is an iterator factory that yields no rows.")
        self.schema: pa.Schema = typed(merged, first)
        self._chunks = np.flatnonzero(lengths)
        self.lengths = np.array(lengths, dtype=np.int64)[self._chunks]

    def _tables(self) -> Iterator[pa.Table]:
        made = self._factory()
        if not hasattr(made, "__iter__"):
            raise TypeError(
                f"X is a callable that returns a {type(made).__name__}; it must return an iterable of data "
                "frames, anew at every call."
            )
        for i, chunk in enumerate(made):
            if isinstance(chunk, np.ndarray) and chunk.ndim == 2:
                yield pa.table({f"x{j}": np.ascontiguousarray(column) for j, column in enumerate(chunk.T)})
                continue
            if isinstance(chunk, pa.RecordBatch):
                yield pa.Table.from_batches([chunk])
                continue
            try:
                frame = nw.from_native(chunk, eager_only=True)
            except TypeError:
                raise TypeError(
                    f"Chunk {i} of X is a {type(chunk).__name__}; data frames (pandas, polars, Arrow) with "
                    "named columns are needed."
                ) from None
            yield frame.to_arrow()

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        return f"Chunk {self._chunks[part]} of X"

    def fingerprint(self) -> list:
        """Tell this data from other data, by the content of the chunks."""
        return [self.lengths.tolist(), [self._sums[chunk] for chunk in self._chunks]]

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick; picks in the order of their parts cost one pass."""
        place, tables = -1, iter(())
        columns = list(names)
        for pick in picks:
            chunk = int(self._chunks[pick.part])
            if chunk <= place:
                place = -1
            if place < 0:
                tables = self._tables()
            table = None
            while place < chunk:
                table = next(tables, None)
                place += 1
                if table is None or (place == chunk and len(table) != self.lengths[pick.part]):
                    raise ValueError(
                        f"{self.where(pick.part)} has changed since the first pass: the function must yield "
                        "the same chunks at every call."
                    )
            assert table is not None
            if not set(columns).issubset(table.column_names):
                raise ValueError(
                    f"{self.where(pick.part)} has changed since the first pass: it has other columns, but "
                    "the function must yield the same chunks at every call."
                )
            table = table.select(columns)
            refuse_changed(content_sums(table), self._sums[chunk], columns, self.where(pick.part))
            table = with_types(table, self.schema)
            yield table if pick.rows is None else table.take(pa.array(pick.rows))


def _refuse_arguments(factory: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called as it is."""
    try:
        asked = signature(factory)
    except (TypeError, ValueError):  # functions in C need not tell
        return
    try:
        asked.bind()
    except TypeError as error:
        raise TypeError(
            f"X is a function of {asked} ({error}); a function without arguments is needed, which returns "
            "an iterable of data frames, anew at every call."
        ) from None
