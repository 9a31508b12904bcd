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
    becomes wider (whole numbers, numbers, those with marks or units, text) and the pass starts again; a
    column of numbers in which only a few cells are text is refused, as in `read_file`.

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
        # columns of numbers that are read as text, for their marks between thousands and their units
        self._grouped = set(numbers) if cells.marks.in_text else set()
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
            self._grouped |= {found.name} if found.grouped else set()
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
                for batch in self._open(path, {name: self._read_as(name) for name in inside}):
                    known = [n for n in inside if n in self._fixed or self._read_as(n) != self._kinds[n]]
                    stray.add(batch.drop_columns(known))
                    columns = {name: self._values(name, batch.column(name)) for name in inside}
                    columns |= self._folders.values(i, names, batch.num_rows)
                    self._stamps.check(i)
                    yield pa.table({name: columns[name] for name in names})
                self._stamps.check(i)
                stray.check()
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                self._stamps.check(i)
                self._widen(error, path)
                raise ValueError(f"{path!r} cannot be read as a table: {first_line(error)}.") from None

    def _read_as(self, name: str) -> pa.DataType:
        """What Arrow is to make of a column."""
        grouped = name in self._grouped and self._kinds[name] == pa.float64()
        return pa.string() if grouped else self._kinds[name]

    def _values(self, name: str, column: Any) -> Any:
        if self._read_as(name) != self._kinds[name]:
            column = self._cells.marks.read_column(column)
            if column is None and name in self._fixed:
                raise pa.ArrowInvalid(f"column {name!r} holds text, but was a number in fit")
            if column is None:
                raise _WiderColumn(name, pa.string())
        return self._cells.without_codes(column)

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
                schema = reader.schema
                return self._guess_grouped(reader) if self._cells.marks.in_text else schema
        except PermissionError:
            raise ValueError(f"{path!r} may not be read: permission denied.") from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path!r} cannot be read as a table: {first_line(error)}.") from None

    def _guess_grouped(self, reader: Any) -> pa.Schema:
        """Types by the first block, with text that is numbers with marks or units as such."""
        schema, block = reader.schema, next(iter(reader), None)
        for k, column in enumerate(() if block is None else block.columns):
            if self._cells.ungrouped(column).type != column.type:
                schema = schema.set(k, pa.field(schema.names[k], pa.float64()))
                self._grouped.add(schema.names[k])
        return schema

    def _widen(self, error: Exception, path: str) -> None:
        """Raise `_WiderColumn` for a cell that its column's type cannot hold, unless the type is given."""
        found = re.search(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error", str(error))
        if found is None:
            return
        name = self._headers[path][int(found[1])]
        kind = self._kinds[name]
        if kind == pa.float64() and self._cells.marks.in_text and name not in self._grouped:
            raise _WiderColumn(name, kind, grouped=True) from None
        if name not in self._fixed and kind != pa.string():
            raise _WiderColumn(name, _wider(kind)) from None


class _WiderColumn(Exception):
    """A column that needs a wider type."""

    def __init__(self, name: str, kind: pa.DataType, *, grouped: bool = False) -> None:
        super().__init__(name)
        self.name, self.kind, self.grouped = name, kind, grouped


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
