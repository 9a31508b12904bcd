"""Parquet files, folders, globs and Arrow datasets: one part a row group, checked by their footers."""

import glob
import queue
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyarrow import fs, parquet

from rlselect.data._checks import refuse_repeated
from rlselect.data._file import _PARQUET, _reason
from rlselect.data._parts import Pick
from rlselect.data._schemas import merge_schemas, null_columns

_OPEN_FILES = 16
_FEW_COLUMNS = 4


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


class ParquetParts:
    """Row groups of Parquet files with one schema.

    Only footers are read here; every file is opened once for that.

    Parameters
    ----------
    paths : sequence of str
        The files, in the order of their rows.
    filesystem : pyarrow FileSystem, optional
        Where they are; the local disk by default.
    folders : sequence of dict, optional
        For each file the columns that the names of its folders give, such as ``year=2024``.
    """

    memory: int | None = None

    def __init__(
        self, paths: Sequence[str], filesystem: Any = None, folders: Sequence[dict[str, Any]] | None = None
    ) -> None:
        self._fs = fs.LocalFileSystem() if filesystem is None else filesystem
        self._paths = list(paths)
        self._folders = [{} for _ in self._paths] if folders is None else list(folders)
        self._open: OrderedDict[int, Any] = OrderedDict()
        self._tasks: queue.SimpleQueue[_Ahead | None] | None = None
        lengths: list[int] = []
        places: list[tuple[int, int]] = []
        first: pa.Schema = None
        empty: list[list[str]] = []
        settled: dict[str, str] = {}
        for i, path in enumerate(self._paths):
            file = self._file(i)
            schema = file.schema_arrow
            if first is None:
                first = schema
                refuse_repeated(schema.names, path)
            else:
                first = merge_schemas(first, schema, self._paths[0], path, settled)
            empty.append(null_columns(schema))
            meta = file.metadata
            for g in range(meta.num_row_groups):
                rows = meta.row_group(g).num_rows
                if rows:
                    lengths.append(rows)
                    places.append((i, g))
        if not lengths:
            raise ValueError(f"{_shown(self._paths)} holds no rows.")
        self.lengths = np.array(lengths, dtype=np.int64)
        self._places = places
        # columns without a single value have no type in such a file: there they are missing throughout
        self._nulls = [set(names).difference(null_columns(first)) for names in empty]
        self.schema = self._with_folders(first)

    def _with_folders(self, schema: pa.Schema) -> pa.Schema:
        """Add the columns that folders stand for, unless the files have them too."""
        keys = list(self._folders[0])
        for path, values in zip(self._paths, self._folders, strict=True):
            if list(values) != keys:
                raise ValueError(
                    f"{path!r} lies in folders that name the columns {list(values)}, but "
                    f"{self._paths[0]!r} in folders that name {keys}: all files must have the same columns."
                )
        self._kinds: dict[str, pa.DataType] = {}
        for key in keys:
            if key not in schema.names:
                given = [values[key] for values in self._folders if values[key] is not None]
                whole = all(isinstance(v, int) for v in given)
                self._kinds[key] = pa.int64() if whole else pa.string()
                schema = schema.append(pa.field(key, self._kinds[key]))
        return schema

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        file, group = self._places[part]
        return f"{self._paths[file]!r}, row group {group}"

    def fingerprint(self) -> list:
        """Tell this data from other data, without reading it."""
        sizes = [(info.path, info.size, info.mtime_ns) for info in self._fs.get_file_info(self._paths)]
        return [sizes, self.lengths.tolist()]

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

    def pieces(self, part: int, names: Sequence[str]) -> Iterator[pa.Table]:
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
            rows = None if pick.rows is None else pa.array(pick.rows)
            # a few columns at a time: what decoding needs beside its result is several times the result
            step = _few_columns(len(columns))
            found = self._from_folders(file, pick, [name for name in columns if name in self._kinds])
            found |= self._without_values(pick, [name for name in columns if name in self._nulls[file]])
            inside = [name for name in columns if name not in found]
            for start in range(0, len(inside), step):
                names = inside[start : start + step]
                table = reader.read_row_group(group, columns=names, use_threads=False)
                table = table if rows is None else table.take(rows)
                found.update(zip(table.column_names, table.columns, strict=True))
            return pa.table({name: found[name] for name in columns})
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{self.where(pick.part)} cannot be read: {_reason(error)}.") from None

    def _size(self, pick: Pick) -> int:
        return int(self.lengths[pick.part]) if pick.rows is None else len(pick.rows)

    def _without_values(self, pick: Pick, names: list[str]) -> dict[str, Any]:
        size = self._size(pick)
        return {name: pa.chunked_array([pa.nulls(size, self.schema.field(name).type)]) for name in names}

    def _from_folders(self, file: int, pick: Pick, names: list[str]) -> dict[str, Any]:
        size = self._size(pick)
        found = {}
        for name in names:
            value = self._folders[file][name]
            text = self._kinds[name] == pa.string() and value is not None
            one = pa.scalar(str(value) if text else value, self._kinds[name])
            found[name] = pa.chunked_array([pa.repeat(one, size)])
        return found

    def _file(self, i: int) -> Any:
        if i in self._open:
            self._open.move_to_end(i)
            return self._open[i]
        path = self._paths[i]
        try:
            # checksums are verified where the writer has left them
            file = parquet.ParquetFile(
                self._fs.open_input_file(path), pre_buffer=False, page_checksum_verification=True
            )
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {path!r}.") from None
        except PermissionError:
            raise ValueError(f"{path!r} may not be read: permission denied.") from None
        except (pa.ArrowException, OSError) as error:
            raise ValueError(
                f"{path!r} cannot be read as Parquet (truncated, or another format): {_reason(error)}."
            ) from None
        self._open[i] = file
        if len(self._open) > _OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        return file


def _few_columns(n_columns: int) -> int:
    return max(_FEW_COLUMNS, n_columns // 16)


def find_parquet(path: str | Path) -> list[str]:
    """List the Parquet files that a path, a folder or a glob names, in order of their names."""
    text = str(path)
    if glob.has_magic(text):
        found = sorted(p for p in glob.glob(text, recursive=True) if Path(p).is_file())
        if not found:
            raise FileNotFoundError(f"No file matches {text!r}.")
        return found
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"There is no file or folder {text!r}.")
    if not place.is_dir():
        return [text]
    # names that begin with . or _ are what other programs leave beside their data
    found = sorted(
        str(p)
        for p in place.rglob("*")
        if p.is_file() and p.name.lower().endswith(_PARQUET) and not p.name.startswith((".", "_"))
    )
    if not found:
        raise FileNotFoundError(f"The folder {text!r} holds no Parquet file (.parquet or .pq).")
    return found


def folder_columns(paths: Sequence[str], path: str | Path) -> list[dict[str, Any]]:
    """Columns that the names of folders below a path give to each file, as in ``year=2024/month=1``.

    Examples
    --------
    >>> folder_columns(["d/year=2024/city=Paris/a.parquet"], "d")
    [{'year': 2024, 'city': 'Paris'}]
    """
    fixed = []
    for part in Path(path).parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    below = [Path(p).parts[len(fixed) : -1] for p in paths]
    return [dict(_key_and_value(part) for part in parts if "=" in part) for parts in below]


def _key_and_value(part: str) -> tuple[str, Any]:
    key, text = (unquote(piece) for piece in part.split("=", 1))
    if text == "__HIVE_DEFAULT_PARTITION__":
        return key, None
    return key, int(text) if re.fullmatch(r"-?\d{1,18}", text) else text


def from_dataset(dataset: Any) -> ParquetParts:
    """Open the files of an Arrow dataset."""
    kind = getattr(getattr(dataset, "format", None), "default_extname", None)
    if kind != "parquet":
        raise TypeError(
            f"X is an Arrow {type(dataset).__name__} of kind {kind!r}; only datasets of Parquet files are "
            "read in parts. Load others with X.to_table()."
        )
    if not dataset.files:
        raise ValueError("X is an Arrow dataset without files.")
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        raise ValueError(
            "X is an Arrow dataset with a filter, which reading in parts cannot follow: write the rows that "
            "you want to files of their own, or load them with X.to_table()."
        ) from None
    from pyarrow.dataset import get_partition_keys

    keys = [get_partition_keys(fragment.partition_expression) for fragment in fragments]
    folders = [{name: key[name] for name in dataset.schema.names if name in key} for key in keys]
    return ParquetParts([fragment.path for fragment in fragments], dataset.filesystem, folders)


def from_url(url: str) -> ParquetParts:
    """Open a file or a folder of Parquet files elsewhere, such as ``s3://bucket/folder``, as Arrow does."""
    from pyarrow import dataset

    try:
        return from_dataset(dataset.dataset(url, format="parquet", partitioning="hive"))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{url!r} cannot be opened: {_reason(error)}. For a place that needs more than its name, give a "
            "pyarrow.dataset with its filesystem."
        ) from None


def _shown(paths: Sequence[str]) -> str:
    return repr(paths[0]) + (f" and {len(paths) - 1} more files" if len(paths) > 1 else "")
