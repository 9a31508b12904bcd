"""Files of one table, read whole: CSV (plain or gzip), Parquet and Feather, as Arrow tables."""

import codecs
import gzip
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlselect.data._checks import refuse_repeated
from rlselect.data._paths import kind_of, refuse_pipe
from rlselect.data._unchanged import FileStamps
from rlselect.data._written import NumberMarks, say_comma

_GAPS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
_NAME_IT = "save it as such, or name its encoding (--encoding {}, encoding of pandas)"
_NO_UTF8 = f"not UTF-8 text; {_NAME_IT.format('cp1252')}"
_MOSTLY = 0.9  # a text column of which so many cells read as numbers was meant to be numbers
_SHOWN = 6  # texts that a message says how to read


class CsvCells(NamedTuple):
    """How cells of CSV files are written.

    Attributes
    ----------
    missing : sequence of str
        Cells that mean "missing", besides empty ones and NA, N/A, NaN, null and None; a number however it is
        written, such as -999 for -999.00.
    decimal : str
        What stands before the decimals of a number, a point or a comma.
    encoding : str
        How letters are written as bytes.
    thousands : str
        What stands between groups of three digits, see `NumberMarks`.
    lenient : bool
        Whether numbers with a few cells of text among them may be read as text: for a look, not for a fit.
    units : tuple of str
        What may stand beside a number, see `NumberMarks`.
    """

    missing: Sequence[str] = ()
    decimal: str = "."
    encoding: str = "utf-8"
    thousands: str = ""
    lenient: bool = False
    units: tuple[str, ...] = ()

    @property
    def marks(self) -> NumberMarks:
        """How numbers are written."""
        return NumberMarks(self.decimal, self.thousands, self.units)

    def without_codes(self, column: Any) -> Any:
        """A column of an Arrow table; numbers that mean "missing" are null."""
        kind = column.type
        codes = [code for text in self.missing if (code := self.marks.read(text)) is not None]
        if not codes or not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            return column
        hit = pc.is_in(pc.cast(column, pa.float64(), safe=False), value_set=pa.array(codes))
        return pc.if_else(hit, pa.scalar(None, kind), column)

    def is_number(self, text: str) -> bool:
        """Whether a cell reads as a number; with a comma before decimals, a point has no place in it."""
        return self.marks.read(text) is not None

    def ungrouped(self, column: Any) -> Any:
        """A column of an Arrow table; text that is numbers with marks between thousands or units is such."""
        if not self.marks.in_text or not pa.types.is_string(column.type) or column.null_count == len(column):
            return column
        numbers = self.marks.read_column(column)
        return column if numbers is None else numbers


USUAL_CELLS, _BOTH = CsvCells(), CsvCells(decimal=",", thousands=".")


def read_file(path: str | Path, *, cells: CsvCells = USUAL_CELLS) -> pa.Table:
    """Read a table from a CSV, Parquet, Feather or JSON lines file.

    Parameters
    ----------
    path : str or Path
        A file ending in .csv, .tsv or .txt (each also with .gz), .parquet or .pq, .feather, .arrow or .ipc,
        or .jsonl or .ndjson (also with .gz) with an object per line. A CSV needs a header row; its separator
        may be a comma, a semicolon, a tab or a vertical bar.
    cells : CsvCells
        How those of a CSV are written.

    Returns
    -------
    pyarrow.Table
        At least one row, distinct column names.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file cannot be read as a table: another format, empty, truncated, rows of different widths, not
        UTF-8, or a column of numbers with a few cells of text; the message is one sentence that says which.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; give a single file.")
    refuse_pipe(path)
    kind = kind_of(path)
    if kind is None:
        raise ValueError(
            f"{str(path)!r} is of an unknown kind; give a .csv, .csv.gz, .parquet, .feather or .jsonl file."
        )
    try:
        stamps = FileStamps([str(path)])
        empty = path.stat().st_size == 0
        table = None if empty else _read(path, kind, cells)
    except PermissionError:
        raise ValueError(f"{str(path)!r} may not be read: permission denied.") from None
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as a table: {first_line(error)}.") from None
    stamps.check(0)
    if table is None or table.num_columns == 0:
        raise ValueError(f"{str(path)!r} is empty.")
    if table.num_rows == 0:
        raise ValueError(f"{str(path)!r} has column names but no rows.")
    refuse_repeated(table.column_names, str(path))
    return table


def first_line(error: Exception) -> str:
    """Shorten what the reader says to the first line, without a full stop."""
    if isinstance(error, UnicodeDecodeError):
        if error.encoding.lower().startswith("utf-8"):
            if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                return f"it is UTF-16 text, not UTF-8; {_NAME_IT.format('utf-16')}"
            return f"its header is {_NO_UTF8}"
        return f"it is not text in the encoding {error.encoding!r}"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = lines[0].strip().rstrip(".")
    widths = re.fullmatch(r"CSV parse error: (?:Row #\d+: )?Expected (\d+) columns, got (\d+): ?(.*)", text)
    if widths:
        header, line, shown = widths.groups()
        cells = "cell" if header == "1" else "cells"
        return (
            f"its first line has {header} {cells} and the line {shown[:60]!r} has {line}; the first "
            "line is to name the columns, and every other to have as many cells"
        )
    return text if len(text) <= 200 else text[:197] + "..."


def _read(path: Path, kind: str, cells: CsvCells) -> pa.Table | None:
    if kind == "parquet":
        from pyarrow import parquet

        return parquet.read_table(path)
    if kind == "feather":
        from pyarrow import feather

        return feather.read_table(path)
    if kind == "json":
        from pyarrow import json

        return json.read_json(path)
    from pyarrow import csv

    separator = find_separator(str(path), cells.encoding)
    if separator is None:
        return None
    table = csv.read_csv(path, **csv_options(separator, cells))
    refuse_repeated(table.column_names, str(path))
    stray = StrayText(cells)
    stray.add(table)
    stray.check()
    columns = [cells.without_codes(cells.ungrouped(column)) for column in table.columns]
    return pa.table(columns, table.column_names)


def find_separator(path: str, encoding: str) -> str | None:
    """Comma, semicolon, tab or bar, whichever a CSV file's first line has most of; None if it is empty."""
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    # a mark of the order of bytes is no letter
    encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    with opener(path, "rb") as file:
        # the last letter of a line may be cut where letters have several bytes
        header = codecs.getincrementaldecoder(encoding)().decode(file.readline(1 << 20))
    # a name between quotes may hold any of them
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=bare.count) if header.strip() else None


def csv_options(
    separator: str, cells: CsvCells, block_size: int | None = None, **convert: Any
) -> dict[str, Any]:
    """How Arrow is to read, parse and convert a CSV file."""
    from pyarrow import csv

    return {
        "read_options": csv.ReadOptions(encoding=cells.encoding, block_size=block_size),
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            null_values=[*_GAPS, *cells.missing],
            strings_can_be_null=True,
            decimal_point=cells.decimal,
            **convert,
        ),
    }


class StrayText:
    """Finds columns of numbers with a few cells of text: read as categories they would be silently wrong.

    Parameters
    ----------
    cells : CsvCells
        How they are written.
    """

    def __init__(self, cells: CsvCells) -> None:
        self._cells = cells
        self._rows = 0
        self._given: Counter[str] = Counter()
        self._strays: Counter[str] = Counter()
        self._first: dict[str, tuple[str, int]] = {}
        self._texts: dict[str, dict[str, None]] = {}

    def add(self, table: Any) -> None:
        """Look at the text among the columns of more rows (a table or a record batch)."""
        for name, column in zip(table.schema.names, table.columns, strict=True):
            if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
                raise pa.ArrowInvalid(f"column {name!r} is {_NO_UTF8}")
            if pa.types.is_string(column.type):
                self._look(name, column)
        self._rows += table.num_rows

    def _look(self, name: str, column: Any) -> None:
        self._given[name] += len(column) - column.null_count
        texts = column.unique().drop_null().to_pylist()
        strays = [text for text in texts if not self._cells.is_number(text)]
        if not strays:
            return
        self._texts[name] = dict.fromkeys([*self._texts.get(name, ()), *strays][: _SHOWN + 1])
        stray = pc.is_in(column, pa.array(strays, type=column.type)).to_numpy(zero_copy_only=False)
        self._strays[name] += int(stray.sum())
        if name not in self._first:
            first = int(np.flatnonzero(stray)[0])
            self._first[name] = (column[first].as_py(), self._rows + first + 1)

    def check(self) -> None:
        """Refuse what was found."""
        if self._cells.lenient:
            return
        for name, (text, row) in self._first.items():
            count, where = self._strays[name], f"{self._first[name][0]!r} in data row {row}"
            if self._cells.decimal != "." and USUAL_CELLS.is_number(text):
                grouped = ", say --thousands ." if _BOTH.is_number(text) else ""
                raise pa.ArrowInvalid(
                    f"column {name!r} holds {where}, which has a point where decimals follow a comma; write "
                    f"it without the point{grouped}, or leave out --decimal"
                )
            if is_stray(count, self._given[name]):
                more = f" and {count - 1} more cells of text" if count > 1 else ""
                raise pa.ArrowInvalid(
                    f"column {name!r} holds numbers but for {where}{more}; correct them, or read them as "
                    f"missing ({self._marks()}, na_values of pandas){say_comma(text)}"
                )

    def _marks(self) -> str:
        """Flags for the stray texts of all columns."""
        spoilt = [name for name in self._first if is_stray(self._strays[name], self._given[name])]
        texts = list(dict.fromkeys(text for name in spoilt for text in self._texts[name]))
        more = ", ...; rlselect check shows all" if len(texts) > _SHOWN else ""
        return shlex.join(word for text in texts[:_SHOWN] for word in ("--na", text)) + more


def is_stray(n_text: int, n_given: int) -> bool:
    """Whether so many cells of text among all that are given are strays in a column of numbers."""
    return 0 < n_text <= (1 - _MOSTLY) * n_given
