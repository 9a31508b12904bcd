"""Rows that come as a stream of Arrow batches: queries of polars and DuckDB, Arrow scans, CSV files.

A stream can be run again, but not entered in the middle, and nothing promises that its rows come in the same
order the next time. Who needs them more than once therefore writes them to a temporary file first. That costs
hardly more than the pass itself: 0.15 s on top of 4.3 s for 438 MB of CSV, nothing measurable for a DuckDB
query of 1.2 s over 279 MB; a pass over the file then takes 0.05 s, and any rows of it can be had alone.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
from pyarrow import ipc

from rlselect._clock import Reading
from rlselect._watch import tell
from rlselect.data._encoder import TableEncoder
from rlselect.data._file import first_line
from rlselect.data._file_parts import FileParts
from rlselect.data._part_coder import Coder, View, design_dtype
from rlselect.data._parts import Parts, all_parts
from rlselect.data._source import Batch
from rlselect.data._unchanged import FileStamps

# rows of a batch that is asked for, and at most of a block of the temporary file; fewer when they are wide,
# since two blocks are in memory while one is written
_BATCH_ROWS = 65_536
_BLOCK_BYTES = 2**25


class Stream(Protocol):
    """Tables that follow each other."""

    @property
    def schema(self) -> pa.Schema:
        """Columns; final once the stream was read."""
        ...

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table | None]:
        """Run the query for some columns; ends with None where a type has changed: it has to be run again."""
        ...

    def where(self, rows: int) -> str:
        """Where the rows after so many lie, for messages."""
        ...

    def expected_bytes(self, first: pa.Table) -> float | None:
        """About how many bytes all rows take, judged by the first ones; None where nothing tells."""
        ...


class QueryStream:
    """A query that yields Arrow batches whenever it is run.

    Parameters
    ----------
    what : str
        What X is, for messages.
    schema : pyarrow.Schema
        Its columns.
    run : callable
        ``run(names)`` starts the query for these columns and returns an iterable of Arrow tables or record
        batches, with a method ``close`` where it can be left early.
    stamps : FileStamps, optional
        Of the files that it reads, where they are known.
    """

    def __init__(
        self,
        what: str,
        schema: pa.Schema,
        run: Callable[[list[str]], Any],
        stamps: FileStamps | None = None,
    ) -> None:
        self._what, self._run, self._stamps = what, run, stamps
        self.schema = _without_dictionaries(schema)

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table | None]:
        """Run the query for some columns."""
        wanted = pa.schema([self.schema.field(name) for name in names])
        batches: Any = None
        try:
            batches = self._run(list(names))
            for batch in batches:
                table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
                yield table.select(list(names)).cast(wanted)
            self._check()
        except MemoryError:
            raise
        except Exception as error:
            self._check()
            raise ValueError(f"X is {self._what}, which cannot be run: {first_line(error)}.") from None
        finally:
            # a result that is not read to its end would keep a connection busy
            if hasattr(batches, "close"):
                batches.close()

    def _check(self) -> None:
        if self._stamps is not None:
            self._stamps.check_each()

    def where(self, rows: int) -> str:
        """Where the rows after so many lie, for messages."""
        return f"Rows from {rows} on of X"

    def expected_bytes(self, first: pa.Table) -> float | None:
        """Nothing tells how many rows there are."""
        return None


class PartStream:
    """Parts that can only be had whole, such as chunks and partitions, one after the other."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self.schema = parts, _without_dictionaries(parts.schema)

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table | None]:
        """Pass over some columns; None where numbers are of a wider type than those before."""
        wanted = pa.schema([self.schema.field(name) for name in names])
        for table in self._parts.visit(all_parts(self._parts), names):
            both = pa.unify_schemas(
                [wanted, _without_dictionaries(table.schema)], promote_options="permissive"
            )
            if not both.equals(wanted):
                for field in both:
                    self.schema = self.schema.set(self.schema.get_field_index(field.name), field)
                yield None
                return
            yield table.cast(wanted)

    def where(self, rows: int) -> str:
        """Where the rows after so many lie, for messages."""
        return f"Rows from {rows} on of X"

    def expected_bytes(self, first: pa.Table) -> float | None:
        """Nothing tells how many rows there are."""
        return None


def is_query(X: Any) -> bool:
    """Whether X is a lazy frame or a relation, of polars or DuckDB."""
    return _kind(X) is not None


def _native(X: Any) -> Any:
    return X.to_native() if isinstance(X, nw.LazyFrame) else X


def _kind(X: Any) -> str | None:
    kind = type(_native(X))
    module = kind.__module__.split(".")[0].removeprefix("_")
    return {("polars", "LazyFrame"): "polars", ("duckdb", "DuckDBPyRelation"): "duckdb"}.get(
        (module, kind.__name__)
    )


def open_query(X: Any) -> QueryStream:
    """Read a lazy frame of polars or a relation of DuckDB as a stream."""
    return (_from_polars if _kind(X) == "polars" else _from_duckdb)(_native(X))


def _from_polars(frame: Any) -> QueryStream:
    import polars as pl

    if not hasattr(frame, "collect_batches"):
        raise TypeError(
            f"X is a LazyFrame of polars {pl.__version__}, which cannot yet hand over a query in batches: "
            "update polars, write the rows with X.sink_parquet(path) and give that path, or collect them."
        )
    oldest = pl.CompatLevel.oldest()
    try:
        schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow(compat_level=oldest).schema
    except Exception as error:
        raise ValueError(f"X is a LazyFrame, which cannot be run: {first_line(error)}.") from None

    def run(names: list[str]) -> Iterator[pa.Table]:
        batches = frame.select(names).collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
        return (batch.to_arrow(compat_level=oldest) for batch in batches)

    return QueryStream("a LazyFrame", schema, run)


def _from_duckdb(relation: Any) -> QueryStream:
    try:
        schema = relation.limit(0).to_arrow_table().schema
    except Exception as error:
        raise ValueError(f"X is a DuckDB relation, which cannot be run: {first_line(error)}.") from None

    def run(names: list[str]) -> Any:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return relation.project(quoted).to_arrow_reader(_BATCH_ROWS)

    return QueryStream("a DuckDB relation", schema, run)


def open_scan(dataset: Any) -> QueryStream:
    """Read an Arrow dataset of any format, filtered or not, as a stream."""

    def run(names: list[str]) -> Any:
        return dataset.scanner(columns=names, batch_size=_BATCH_ROWS).to_reader()

    files = getattr(dataset, "files", None)
    stamps = FileStamps(files, dataset.filesystem) if files else None
    return QueryStream("an Arrow dataset", dataset.schema, run, stamps)


def _without_dictionaries(schema: pa.Schema) -> pa.Schema:
    """Categories as text: their codes may differ from batch to batch."""
    fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema]
    return pa.schema(fields)


def collect(
    stream: Stream, names: Sequence[str], enough: Callable[[int], object]
) -> tuple[list[pa.Table], bool]:
    """Tables of a stream, of types that hold for all of them, until so many rows are enough.

    It takes the time of `Reading`.

    Parameters
    ----------
    stream : Stream
        The rows.
    names : sequence of str
        Columns.
    enough : callable
        ``enough(n_rows)`` is true when no more rows are wanted; it may raise where there are too many.

    Returns
    -------
    tables : list of pyarrow.Table
    whole : bool
        Whether these are all rows.
    """
    with Reading() as reading:
        while True:
            kept, n_rows, n_bytes = list[pa.Table](), 0, 0
            for table in stream.tables(names):
                if table is None:  # a type has changed: all before it is void
                    break
                kept.append(table)
                n_rows += len(table)
                n_bytes += table.nbytes
                expected = stream.expected_bytes(kept[0])
                reading.expect(n_bytes / expected if expected else None)
                tell(rows=n_rows)
                if enough(n_rows):
                    return kept, False
            else:
                return kept, True


def spill(stream: Stream) -> FileParts:
    """Write all rows to a temporary file, in the folder of `tempfile`; it is gone with what is returned."""
    handle, name = tempfile.mkstemp(prefix="rlselect-", suffix=".arrow")
    os.close(handle)
    path = Path(name)
    try:
        with Reading() as reading:
            n_rows = _write(stream, name, reading)
        if not n_rows:
            raise ValueError("X holds no rows.")
        return FileParts([name], temporary=True)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ValueError(
            f"The rows of X cannot be written to {tempfile.gettempdir()!r}, where they are kept for the next "
            f"pass: {first_line(error)}. Set TMPDIR to a folder with more room."
        ) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _require_room(needed: float | None, folder: str) -> None:
    """Refuse rows that would fill the disk before hours are spent on them."""
    free = shutil.disk_usage(folder).free
    if needed is not None and needed > free:
        raise ValueError(
            f"The rows of X take about {needed / 1e9:.3g} GB in {folder!r}, where they are kept for the next "
            f"pass, but {free / 1e9:.3g} GB are free. Set TMPDIR to a folder with more room, or write X as "
            "Parquet files, which are read where they lie."
        )


def _write(stream: Stream, path: str, reading: Reading) -> int:
    """Write a stream in blocks of one size, however its batches come; the number of rows."""
    size = int(np.clip(_BLOCK_BYTES // (8 * len(stream.schema)), 1024, _BATCH_ROWS))
    while True:
        n_rows, n_bytes, waiting = 0, 0, list[pa.Table]()
        writer: Any = None
        try:
            for table in stream.tables(stream.schema.names):
                if table is None:
                    break
                if writer is None:
                    expected = stream.expected_bytes(table)
                    _require_room(expected, os.path.dirname(path))
                    writer = ipc.new_file(path, table.schema)
                n_bytes += table.nbytes
                reading.expect(n_bytes / expected if expected else None)
                waiting.append(table)
                n_rows += len(table)
                tell(rows=n_rows)
                if sum(map(len, waiting)) >= size:
                    block = pa.concat_tables(waiting).combine_chunks()
                    whole = len(block) // size * size
                    writer.write_table(block.slice(0, whole), max_chunksize=size)
                    waiting = [block.slice(whole)]
            else:
                for table in waiting:
                    writer.write_table(table)
                return n_rows
        finally:
            if writer is not None:
                writer.close()


class OnePass:
    """New rows of a stream, encoded as they pass by.

    Parameters
    ----------
    stream : Stream
        The rows.
    encoder : TableEncoder
        Fitted.
    roles : dict
        Name of the column of y, sample_weight and offset, None where there is none.
    """

    def __init__(self, stream: Stream, encoder: TableEncoder, roles: dict[str, str | None]) -> None:
        self._stream, self._encoder, self._roles = stream, encoder, roles

    def scan(self, columns: np.ndarray | None = None) -> Iterator[Batch]:
        """Pass over all rows once, a batch at a time."""
        view = View(self._encoder.design_, columns, columns, self._roles)
        dtype = design_dtype(self._stream.schema, self._encoder.feature_names)
        coder = Coder(view, self._roles, dtype, drops=False)
        rows = 0
        # rows have to be counted also where no column is wanted
        for table in self.frames(view.names or self._encoder.feature_names[:1]):
            yield coder.encode(table, self._stream.where(rows))
            rows += len(table)

    def frames(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Pass over some columns as they lie in the data."""
        for table in self._stream.tables(names):
            if table is None:
                raise ValueError(
                    "A column of X changes its type on the way, after rows were handed on: write it alike in "
                    "all rows."
                )
            if len(table):
                yield table
