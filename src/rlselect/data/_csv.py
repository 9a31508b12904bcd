"""CSV files as a stream: types that hold for every row of every file, found on the way."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv

from rlselect.data._checks import refuse_repeated
from rlselect.data._file import USUAL_CELLS, CsvCells, StrayText, csv_options, find_separator, first_line
from rlselect.data._paths import Files, FolderColumns
from rlselect.data._schemas import merge_schemas
from rlselect.data._unchanged import FileStamps

# text parsed at once: types are guessed from the first such block
_BLOCK = 2**22


class CsvStream:
    """Rows of CSV files with one header, in the order of the files.

    Types are guessed from the first 4 MB of each file. Where a later cell contradicts the guess, the column
    becomes wider (whole numbers, numbers, text) and the pass starts again; a column of numbers in which only
    a few cells are text is refused, as in `read_file`.

    Parameters
    ----------
    files : Files
        The files.
    text, numbers : sequence of str
        Columns whose type is known, for new data.
    cells : CsvCells
        How cells are written, as for `read_file`.
    """

    def __init__(
        self,
        files: Files,
        *,
        text: Sequence[str] = (),
        numbers: Sequence[str] = (),
        cells: CsvCells = USUAL_CELLS,
    ) -> None:
        self._paths, self._cells = files.paths, cells
        self._stamps = FileStamps(files.paths)
        self._separators: dict[str, str] = {}
        self._headers: dict[str, list[str]] = {}
        kinds: dict[str, pa.DataType] = {}
        first: pa.Schema = None
        for path in self._paths:
            schema = self._guess(path)
            refuse_repeated(schema.names, path)
            self._headers[path] = schema.names
            names = pa.schema([(name, pa.string()) for name in schema.names])
            first = names if first is None else merge_schemas(first, names, self._paths[0], path, {})
            for field in schema:
                kinds[field.name] = _widest(kinds.get(field.name, pa.null()), field.type)
        self._fixed = {name: pa.string() for name in text}
        # truth values are numbers too, but are not written as such
        self._fixed |= {n: kinds[n] if kinds.get(n) == pa.bool_() else pa.float64() for n in numbers}
        self._kinds = {name: self._fixed.get(name, kinds[name]) for name in first.names}
        self._folders = FolderColumns(self._paths, files.folders, first.names)

    @property
    def schema(self) -> pa.Schema:
        """Columns, as far as is known now: reading may widen their types."""
        return self._folders.added_to(pa.schema(list(self._kinds.items())))

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table | None]:
        """Pass over some columns; ends with None where a type has changed, and all before it is void."""
        try:
            yield from self._pass(names)
        except _WiderColumn as found:
            self._kinds[found.name] = found.kind
            yield None

    def where(self, rows: int) -> str:
        """Say where rows lie, for messages."""
        return f"Rows from {rows} on of {self._paths[0]!r}" + (" and others" if len(self._paths) > 1 else "")

    def expected_bytes(self, first: pa.Table) -> float | None:
        """About how many bytes all rows take as Arrow tables; of compressed files they may be more."""
        sizes = [os.path.getsize(path) for path in self._paths]
        return sum(sizes) * first.nbytes / max(min(_BLOCK, sizes[0]), 1)

    def _pass(self, names: Sequence[str]) -> Iterator[pa.Table]:
        stray = StrayText(self._cells)
        # without a column there would be no rows
        inside = [name for name in names if name in self._kinds] or list(self._kinds)[:1]
        for i, path in enumerate(self._paths):
            try:
                for batch in self._open(path, {name: self._kinds[name] for name in inside}):
                    stray.add(batch.drop_columns([name for name in inside if name in self._fixed]))
                    values = (self._cells.without_codes(column) for column in batch.columns)
                    columns = dict(zip(inside, values, strict=True))
                    columns |= self._folders.values(i, names, batch.num_rows)
                    self._stamps.check(i)
                    yield pa.table({name: columns[name] for name in names})
                self._stamps.check(i)
                stray.check()
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                self._stamps.check(i)
                self._widen(error, path)
                raise ValueError(f"{path!r} cannot be read as a table: {first_line(error)}.") from None

    def _open(self, path: str, kinds: dict[str, pa.DataType] | None) -> Any:
        known: dict[str, Any] = (
            {} if kinds is None else {"column_types": kinds, "include_columns": list(kinds)}
        )
        return csv.open_csv(path, **csv_options(self._separators[path], self._cells, _BLOCK, **known))

    def _guess(self, path: str) -> pa.Schema:
        try:
            separator = find_separator(path, self._cells.encoding)
            if separator is None:
                raise ValueError(f"{path!r} is empty.")
            self._separators[path] = separator
            with self._open(path, None) as reader:
                return reader.schema
        except PermissionError:
            raise ValueError(f"{path!r} may not be read: permission denied.") from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path!r} cannot be read as a table: {first_line(error)}.") from None

    def _widen(self, error: Exception, path: str) -> None:
        """Raise `_WiderColumn` for a cell that its column's type cannot hold, unless the type is given."""
        found = re.search(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error", str(error))
        if found is None:
            return
        name = self._headers[path][int(found[1])]
        if name not in self._fixed and self._kinds[name] != pa.string():
            raise _WiderColumn(name, _wider(self._kinds[name])) from None


class _WiderColumn(Exception):
    """A column that needs a wider type."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        super().__init__(name)
        self.name, self.kind = name, kind


_LADDER = [pa.null(), pa.int64(), pa.float64(), pa.string()]


def _wider(kind: pa.DataType) -> pa.DataType:
    return _LADDER[_LADDER.index(kind) + 1] if kind in _LADDER[:-1] else pa.string()


def _widest(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds what both hold."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = {one, other} <= {pa.int64(), pa.float64()}
    return pa.float64() if numbers else pa.string()
