"""Tables in files, written as they come: CSV, Parquet, Feather and JSON lines."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from rlselect._watch import tell
from rlselect.report import replace_file

__all__ = ["require_table_name", "write_tables"]


class _Writer(Protocol):
    def write_table(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


def require_table_name(out: Path) -> None:
    """Refuse a name that does not say how the table is to be written."""
    if out.suffix.lower() not in _WRITERS:
        raise ValueError(f"--out {str(out)!r} was given; its name must end in {', '.join(_WRITERS)}.")


def write_tables(out: Path, tables: Iterable[pa.Table]) -> int:
    """Write tables of one schema below each other, whole or not at all; the number of rows.

    Parameters
    ----------
    out : Path
        Its end says how, see `require_table_name`.
    tables : iterable of pyarrow.Table
        At least one.
    """
    count = 0

    def pieces() -> Iterator[bytes]:
        nonlocal count
        file = _Pieces()
        writer: _Writer | None = None
        for table in tables:
            writer = writer or _WRITERS[out.suffix.lower()](file, table.schema)
            writer.write_table(table)
            count += len(table)
            tell(rows=count)
            yield file.taken()
        if writer is not None:
            writer.close()
        yield file.taken()

    replace_file(out, pieces())
    return count


class _Pieces(io.RawIOBase):
    """What is written, to be taken away piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[bytes] = []
        self._count = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._kept.append(bytes(content))
        self._count += len(self._kept[-1])
        return len(self._kept[-1])

    def tell(self) -> int:
        return self._count

    def taken(self) -> bytes:
        """All that was written since the last time."""
        content, self._kept = b"".join(self._kept), []
        return content


class _JsonLines:
    """An object per row; a number that JSON has no word for is null."""

    def __init__(self, file: _Pieces, _: pa.Schema) -> None:
        self._file = file

    def write_table(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            known = {name: None if value != value else value for name, value in row.items()}
            self._file.write((json.dumps(known, default=str) + "\n").encode())

    def close(self) -> None:
        pass


def _csv(file: _Pieces, schema: pa.Schema) -> _Writer:
    from pyarrow import csv

    return csv.CSVWriter(file, schema)


def _parquet(file: _Pieces, schema: pa.Schema) -> _Writer:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema)


def _feather(file: _Pieces, schema: pa.Schema) -> _Writer:
    return pa.ipc.new_file(file, schema)


_WRITERS: dict[str, Callable[[_Pieces, pa.Schema], _Writer]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".feather": _feather,
    ".jsonl": _JsonLines,
}
