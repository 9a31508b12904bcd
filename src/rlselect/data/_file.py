"""Files of one table, read whole: CSV (plain or gzip) and Parquet, as Arrow tables."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlselect.data._checks import refuse_repeated

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_GAPS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
_MOSTLY = 0.9  # a text column of which so many cells read as numbers was meant to be numbers


def read_file(path: str | Path, *, missing_marks: Sequence[str] = ()) -> pa.Table:
    """Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
        A file ending in .csv, .tsv or .txt (each also with .gz), .parquet or .pq. A CSV needs a header row;
        its separator may be a comma, a semicolon or a tab.
    missing_marks : sequence of str
        Cells of a CSV that mean "missing", besides empty ones and NA, N/A, NaN, null and None.

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
        raise ValueError(f"{str(path)!r} is a folder; give a single CSV or Parquet file.")
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(_CSV + _PARQUET):
        raise ValueError(f"{str(path)!r} is of an unknown kind; give a .csv, .csv.gz or .parquet file.")
    try:
        empty = path.stat().st_size == 0
        table = None if empty else _read(path, name.endswith(_CSV), missing_marks)
    except PermissionError:
        raise ValueError(f"{str(path)!r} may not be read: permission denied.") from None
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as a table: {_reason(error)}.") from None
    if table is None or table.num_columns == 0:
        raise ValueError(f"{str(path)!r} is empty.")
    if table.num_rows == 0:
        raise ValueError(f"{str(path)!r} has column names but no rows.")
    refuse_repeated(table.column_names, str(path))
    return table


def _reason(error: Exception) -> str:
    """Shorten what the reader says to the first line, without a full stop."""
    if isinstance(error, UnicodeDecodeError):
        return "its header is not UTF-8 text"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = lines[0].strip().rstrip(".")
    return text if len(text) <= 200 else text[:197] + "..."


def _read(path: Path, is_csv: bool, missing_marks: Sequence[str]) -> pa.Table | None:
    if not is_csv:
        from pyarrow import parquet

        return parquet.read_table(path)
    from pyarrow import csv

    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        header = file.readline(1 << 20).decode("utf-8-sig")
    if not header.strip():
        return None
    separator = max(",;\t", key=header.count)
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=csv.ConvertOptions(null_values=[*_GAPS, *missing_marks], strings_can_be_null=True),
    )
    for column_name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            raise pa.ArrowInvalid(f"column {column_name!r} is not UTF-8 text")
        if pa.types.is_string(column.type):
            _refuse_stray_text(column_name, column)
    return table


def _refuse_stray_text(name: str, column: Any) -> None:
    """Refuse numbers with a few cells of text: read as categories they would be silently wrong."""
    distinct = column.unique().drop_null().to_pylist()
    strays = [text for text in distinct if not _is_number(text)]
    if not strays or len(strays) == len(distinct):
        return
    stray = pc.is_in(column, pa.array(strays, type=column.type)).to_numpy()
    given = len(column) - column.null_count
    if stray.sum() > (1 - _MOSTLY) * given:
        return
    first = int(np.flatnonzero(stray)[0])
    more = f" and {stray.sum() - 1} more cells of text" if stray.sum() > 1 else ""
    raise pa.ArrowInvalid(
        f"column {name!r} holds numbers but for {column[first].as_py()!r} in data row {first + 1}{more}; "
        "correct them, or declare them as marks of missing values"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
