"""Data stay what they are while they are read: stamps of files, and sums over the content of chunks."""

import os
import time
import zlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

# the end of a Parquet or Feather file says where its columns lie, of what size, between which values
_TAIL = 2**16
# two writes within one tick of a file system's clock have the same time
_TICK = 0.02


class FileStamps:
    """What tells a file from what it was when it was first opened: size, times, place on the disk, and end.

    A file on a local disk is looked at after each read, so that nothing is used that was read after a change;
    elsewhere a look costs a message, and files are looked at when they are opened, and when all is done.

    Parameters
    ----------
    paths : sequence of str
        The files.
    filesystem : pyarrow FileSystem, optional
        Where they are; the local disk by default.
    """

    def __init__(self, paths: Sequence[str], filesystem: Any = None) -> None:
        self._paths = [str(path) for path in paths]
        self._fs = None if filesystem is None or isinstance(filesystem, fs.LocalFileSystem) else filesystem
        self._first = [self._look(i) for i in range(len(self._paths))]
        if self._fs is None and any(0 <= time.time_ns() - seen[-1] < _TICK * 1e9 for seen in self._first):
            # written just now: what is written from now on shall have a later time
            time.sleep(_TICK)
            self._first = [self._look(i) for i in range(len(self._paths))]
        self._tails: dict[int, int] = {}

    def _look(self, i: int) -> tuple[int, ...]:
        if self._fs is None:
            try:
                seen = os.stat(self._paths[i])
            except FileNotFoundError:
                raise FileNotFoundError(f"There is no file {self._paths[i]!r}.") from None
            except OSError:  # who opens it says why
                return (0,)
            return seen.st_size, seen.st_mtime_ns, seen.st_dev, seen.st_ino, seen.st_ctime_ns
        info = self._fs.get_file_info(self._paths[i])
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"There is no file {self._paths[i]!r}.")
        return info.size or 0, info.mtime_ns or 0

    def check(self, i: int) -> None:
        """Refuse a file that has changed, or is gone."""
        try:
            same = self._look(i) == self._first[i]
        except FileNotFoundError:
            self._refuse(i, "is gone since it was first read")
        if not same:
            self._refuse(i, "has changed since it was first read")

    def check_after_read(self, i: int) -> None:
        """Refuse a file that has changed, where that can be seen at once."""
        if self._fs is None:
            self.check(i)

    def check_opened(self, i: int, file: Any) -> None:
        """Refuse a file that has changed since it was opened for the first time, by its end too."""
        size = file.size()
        file.seek(max(size - _TAIL, 0))
        tail = zlib.crc32(file.read())
        file.seek(0)
        if self._tails.setdefault(i, tail) != tail:
            self._refuse(i, "has changed since it was first read")
        self.check(i)

    def check_all(self) -> None:
        """Refuse files that have changed where that could not be seen at each read."""
        if self._fs is not None:
            self.check_each()

    def check_each(self) -> None:
        """Refuse files that have changed."""
        for i in range(len(self._paths)):
            self.check(i)

    def fingerprint(self) -> list:
        """Size, time and end of each file."""
        return [(path, *self._first[i][:2], self._tails.get(i)) for i, path in enumerate(self._paths)]

    def _refuse(self, i: int, what: str) -> None:
        raise ValueError(
            f"{self._paths[i]!r} {what}: data must stay as they are until all is done. Start again, on a "
            "copy if others write to the file."
        ) from None


def content_sums(table: pa.Table) -> dict[str, int]:
    """A sum over the content of each column, the same however the rows are held (3 GB/s).

    Examples
    --------
    >>> one = pa.table({"x": [1.0, None], "g": ["a", "b"]})
    >>> two = pa.concat_tables([one.slice(0, 1), one.slice(1)])
    >>> content_sums(one) == content_sums(two), content_sums(one) == content_sums(one.take([1, 0]))
    (True, False)
    """
    return {name: _sum(column) for name, column in zip(table.column_names, table.columns, strict=True)}


def _sum(column: pa.ChunkedArray) -> int:
    total = len(column)
    if pa.types.is_dictionary(column.type):
        # which number a level has may differ from one time to the next
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        column, kind = column.cast(pa.large_string()), pa.large_string()
    if pa.types.is_binary(kind):
        column, kind = column.cast(pa.large_binary()), pa.large_binary()
    if column.null_count:
        # what lies where nothing is known is no content
        total = _add(total, [chunk.is_null() for chunk in column.chunks])
        column = column.drop_null()
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        total = _add(total, [pc.binary_length(chunk) for chunk in column.chunks])
        for chunk in column.chunks:
            _, places, data = chunk.buffers()
            ends = np.frombuffer(places, dtype=np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
            if len(ends) and data is not None:
                total = zlib.crc32(memoryview(data)[ends[0] : ends[-1]], total)
        return total
    return _add(total, column.chunks)


def _add(total: int, chunks: Sequence[pa.Array]) -> int:
    for chunk in chunks:
        total = sum_of_values(chunk.to_numpy(zero_copy_only=False), total)
    return total


def sum_of_values(values: np.ndarray, start: int = 0) -> int:
    """A sum over the content of an array, on from `start`."""
    if values.dtype == object:
        return zlib.crc32(repr(values.tolist()).encode("utf-8", "surrogatepass"), start)
    flat = np.ascontiguousarray(values).reshape(-1)
    return zlib.crc32(flat.view(np.uint8).data, start) if flat.size else start


def refuse_changed(now: dict[str, int], then: dict[str, int], names: Collection[str], where: str) -> None:
    """Refuse a chunk whose content is another than at the first pass; `where` says which one."""
    changed = [name for name in names if now[name] != then[name]]
    if changed:
        raise ValueError(
            f"{where} has changed since the first pass, in column {changed[0]!r}"
            + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
            + ": data must be the same at every pass. Write them to a file that stays as it is, and give its "
            "path."
        )
