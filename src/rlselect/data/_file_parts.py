"""Files that parts can be read from in any order: Parquet row groups and the batches of Feather files."""

import hashlib
import queue
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyarrow import fs, ipc, parquet

from rlselect.data._checks import refuse_repeated
from rlselect.data._file import first_line
from rlselect.data._parts import Pick
from rlselect.data._paths import FolderColumns, kind_of
from rlselect.data._pool import LocalParts
from rlselect.data._schemas import merge_schemas, null_columns
from rlselect.data._unchanged import FileStamps

_OPEN_FILES = 16
_FEW_COLUMNS = 4
# a record batch may be as long as its file: parts of it are no longer than this
_PART_ROWS = 65_536
# choices of columns of one record batch that are remembered: a pass asks for some sixteen
_HELD = 64
# record batches of others' files up to this size are read; larger ones are mapped, a page at a time
_READ_BYTES = 2**28


class _Reader(Protocol):
    """A file of one table, in groups of rows."""

    schema: pa.Schema
    lengths: list[int]

    def read(self, group: int, names: list[str], first: int | None = None) -> pa.Table:
        """Some columns of a group, or of so many of its first rows."""
        ...

    def close(self) -> None: ...


class _ParquetReader:
    """Row groups."""

    def __init__(self, file: Any) -> None:
        # checksums are verified where the writer has left them
        self._file = parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)
        self.schema = self._file.schema_arrow
        meta = self._file.metadata
        self.lengths = [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]

    def read(self, group: int, names: list[str], first: int | None = None) -> pa.Table:
        if first is None:
            return self._file.read_row_group(group, columns=names, use_threads=False)
        # nothing behind the pages that hold them is decoded
        how = {"row_groups": [group], "columns": names, "use_threads": False}
        return pa.Table.from_batches([next(self._file.iter_batches(batch_size=first, **how))])

    def close(self) -> None:
        self._file.close()


class _FeatherReader:
    """Slices of record batches; where they are not compressed, nothing but what is used is read."""

    def __init__(self, file: Any, *, mapped: bool = False) -> None:
        self._file, self._mapped = file, mapped
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=[0]))
        self.schema = ipc.open_file(file).schema
        self._places: list[tuple[int, int]] = []
        self.lengths = []
        for batch in range(reader.num_record_batches):
            rows = reader.get_batch(batch).num_rows
            for start in range(0, rows, _PART_ROWS):
                self._places.append((batch, start))
                self.lengths.append(min(_PART_ROWS, rows - start))
        self._batch, self._held = -1, dict[tuple[str, ...], pa.Table]()

    def read(self, group: int, names: list[str], first: int | None = None) -> pa.Table:
        batch, start = self._places[group]
        # the slices of a batch are mostly read one after the other: it is decompressed once
        if batch != self._batch or len(self._held) > _HELD:
            self._batch, self._held = batch, {}
        key = tuple(names)
        if key not in self._held:
            fields = sorted(self.schema.get_field_index(name) for name in names)
            reader = ipc.open_file(self._file, options=ipc.IpcReadOptions(included_fields=fields))
            self._held[key] = pa.Table.from_batches([reader.get_batch(batch)]).select(names)
        table = self._held[key].slice(start, self.lengths[group] if first is None else first)
        # a map shows what is written into the file later
        return table.take(pa.array(np.arange(len(table)))) if self._mapped else table

    def close(self) -> None:
        self._held = {}
        self._file.close()


class _Ahead:
    """The result of a call that another thread makes; nobody has to wait for it."""

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self._call, self._args = call, args
        self._value: Any = None
        self._error: BaseException | None = None
        self._done = threading.Event()

    def run(self) -> None:
        try:
            self._value = self._call(*self._args)
        except BaseException as error:
            self._error = error
        self._done.set()

    def result(self) -> Any:
        self._done.wait()
        value, self._value = self._value, None
        if self._error is not None:
            raise self._error
        return value


def _work(tasks: "queue.SimpleQueue[_Ahead | None]") -> None:
    while (task := tasks.get()) is not None:
        task.run()
        del task


class FileParts(LocalParts):
    """Row groups of Parquet files, or record batches of Feather files, with one schema.

    Only footers are read here; every file is opened once for that.

    Parameters
    ----------
    paths : sequence of str
        The files, in the order of their rows.
    filesystem : pyarrow FileSystem, optional
        Where they are; the local disk by default.
    folders : sequence of dict, optional
        For each file the columns that the names of its folders give, such as ``year=2024``.
    temporary : bool
        Whether the files were made for this object, and go with it.
    """

    memory: int | None = None

    def __init__(
        self,
        paths: Sequence[str],
        filesystem: Any = None,
        folders: Sequence[dict[str, Any]] | None = None,
        *,
        temporary: bool = False,
    ) -> None:
        self._fs = fs.LocalFileSystem() if filesystem is None else filesystem
        self._paths = list(paths)
        self._stamps = FileStamps(self._paths, self._fs)
        self._open: OrderedDict[int, _Reader] = OrderedDict()
        self._temporary = temporary
        if temporary:
            weakref.finalize(self, _remove, self._open, self._paths)
        self._tasks: queue.SimpleQueue[_Ahead | None] | None = None
        lengths: list[int] = []
        places: list[tuple[int, int]] = []
        first: pa.Schema = None
        empty: list[list[str]] = []
        settled: dict[str, str] = {}
        for i, path in enumerate(self._paths):
            file = self._file(i)
            schema = file.schema
            if first is None:
                first = schema
                refuse_repeated(schema.names, path)
            else:
                first = merge_schemas(first, schema, self._paths[0], path, settled)
            empty.append(null_columns(schema))
            for g, rows in enumerate(file.lengths):
                if rows:
                    lengths.append(rows)
                    places.append((i, g))
        if not lengths:
            raise ValueError(f"{_shown(self._paths)} holds no rows.")
        self.lengths = np.array(lengths, dtype=np.int64)
        self._places = places
        # columns without a single value have no type in such a file: there they are missing throughout
        self._nulls = [set(names).difference(null_columns(first)) for names in empty]
        given = [{} for _ in self._paths] if folders is None else folders
        self._folders = FolderColumns(self._paths, given, first.names)
        self.schema = self._folders.added_to(first)

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        file, group = self._places[part]
        if self._temporary:
            start = int(self.lengths[:part].sum())
            return f"Rows {start} to {start + int(self.lengths[part]) - 1} of X"
        kind = "batch" if kind_of(self._paths[file]) == "feather" else "row group"
        return f"{self._paths[file]!r}, {kind} {group}"

    def fingerprint(self) -> list:
        """Tell this data from other data: by size, time and end of files, or by the bytes of our own."""
        if self._temporary:
            return [_digest(path) for path in self._paths]
        return [self._stamps.fingerprint(), self.lengths.tolist()]

    def check_unchanged(self) -> None:
        """Refuse files that have changed since they were opened, where reading them could not tell."""
        self._stamps.check_all()

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick; the next sample is decoded in the background meanwhile."""
        columns = list(names)
        ahead: _Ahead | None = None
        for i, pick in enumerate(picks):
            ahead = ahead or self._submit(pick, columns)
            table = [ahead.result()]
            # a whole part is as large as a batch: only one of them at a time
            more = i + 1 < len(picks) and picks[i + 1].rows is not None
            ahead = self._submit(picks[i + 1], columns) if more else None
            # no name for it here: it would outlive its use
            yield table.pop()
        # what the allocator keeps for a next time would add to what a search holds
        pa.default_memory_pool().release_unused()

    def by_columns(self, part: int, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield a whole part some columns at a time; the next ones are decoded in the background meanwhile.

        Beside what is made of it, all of a part at once would be another batch.
        """
        step = _few_columns(len(names))
        pick = Pick(part)
        ahead = self._submit(pick, list(names[:step]))
        for start in range(0, len(names), step):
            table = [ahead.result()]
            if start + step < len(names):
                ahead = self._submit(pick, list(names[start + step : start + 2 * step]))
            yield table.pop()

    def _submit(self, pick: Pick, columns: list[str]) -> _Ahead:
        # one thread for all of them, since allocators keep memory for each thread; it ends with this object
        if self._tasks is None:
            self._tasks = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._tasks,), name="rlselect-parquet", daemon=True).start()
            weakref.finalize(self, self._tasks.put, None)
        ahead = _Ahead(self._decode, pick, columns)
        self._tasks.put(ahead)
        return ahead

    def _decode(self, pick: Pick, columns: list[str]) -> pa.Table:
        file, group = self._places[pick.part]
        try:
            reader = self._file(file)
            rows, first = None if pick.rows is None else pa.array(pick.rows), self._first(pick)
            # a few columns at a time: what decoding needs beside its result is several times the result
            step = _few_columns(len(columns))
            found: dict[str, Any] = self._folders.values(file, columns, self._size(pick))
            found |= self._without_values(pick, [name for name in columns if name in self._nulls[file]])
            inside = [name for name in columns if name not in found]
            for start in range(0, len(inside), step):
                names = inside[start : start + step]
                table = reader.read(group, names, first)
                table = table if rows is None else table.take(rows)
                found.update(zip(table.column_names, table.columns, strict=True))
            self._stamps.check_after_read(file)
            return pa.table({name: found[name] for name in columns})
        except (pa.ArrowException, OSError) as error:
            self._stamps.check_after_read(file)
            raise ValueError(f"{self.where(pick.part)} cannot be read: {first_line(error)}.") from None

    def _first(self, pick: Pick) -> int | None:
        """How many of the first rows of its group hold a pick, None where that is most of the group."""
        last = int(pick.rows[-1]) + 1 if pick.rows is not None and len(pick.rows) else 0
        return last if 0 < 2 * last <= self.lengths[pick.part] else None

    def _size(self, pick: Pick) -> int:
        return int(self.lengths[pick.part]) if pick.rows is None else len(pick.rows)

    def _without_values(self, pick: Pick, names: list[str]) -> dict[str, Any]:
        size = self._size(pick)
        return {name: pa.chunked_array([pa.nulls(size, self.schema.field(name).type)]) for name in names}

    def _file(self, i: int) -> _Reader:
        if i in self._open:
            self._open.move_to_end(i)
            return self._open[i]
        path = self._paths[i]
        file: _Reader
        kind = "Feather" if kind_of(path) == "feather" else "Parquet"
        try:
            opened = self._fs.open_input_file(path)
            self._stamps.check_opened(i, opened)
            file = _ParquetReader(opened) if kind == "Parquet" else self._feather(path, opened)
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {path!r}.") from None
        except PermissionError:
            raise ValueError(f"{path!r} may not be read: permission denied.") from None
        except (pa.ArrowException, OSError) as error:
            raise ValueError(
                f"{path!r} cannot be read as {kind} (truncated, or another format): {first_line(error)}."
            ) from None
        self._open[i] = file
        if len(self._open) > _OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        return file

    def _feather(self, path: str, opened: Any) -> _Reader:
        """A file of ours is mapped; of others, which may be cut short meanwhile, those of huge batches."""
        if not isinstance(self._fs, fs.LocalFileSystem):
            return _FeatherReader(opened)
        large = opened.size() > _READ_BYTES * max(ipc.open_file(opened).num_record_batches, 1)
        if self._temporary or large:
            opened.close()
            return _FeatherReader(pa.memory_map(path), mapped=not self._temporary)
        return _FeatherReader(opened)


def _few_columns(n_columns: int) -> int:
    return max(_FEW_COLUMNS, n_columns // 16)


def _shown(paths: Sequence[str]) -> str:
    return repr(paths[0]) + (f" and {len(paths) - 1} more files" if len(paths) > 1 else "")


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _remove(readers: "OrderedDict[int, _Reader]", paths: Sequence[str]) -> None:
    for reader in readers.values():
        reader.close()
    for path in paths:
        Path(path).unlink(missing_ok=True)
