"""What commands read and where they write."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rlselect.cli._progress import say
from rlselect.report import printable

if TYPE_CHECKING:
    from rlselect.data import CsvCells

__all__ = [
    "DateOrder",
    "check_outputs",
    "columns_of",
    "flags_of",
    "load_data",
    "name_targets",
    "names_in",
    "open_data",
    "require_column",
    "split_names",
    "title_of",
    "with_categories",
    "with_moments",
    "with_numbers",
    "with_target",
]

DateOrder = Literal["told", "day", "month"]
# what is made of a date
_UNITS = ("days", "weekday", "hour")


def check_outputs(data: str | Path | Sequence[str], *paths: Path | None) -> None:
    """Refuse outputs that cannot be written, or would replace the data, before the search, not after it."""
    given = [path for path in paths if path is not None]
    read = [Path(one) for one in ([data] if isinstance(data, str | Path) else data) if "://" not in str(one)]
    for k, path in enumerate(given):
        if any(_same_file(path, one) for one in read):
            raise ValueError(f"{str(path)!r} is the file of the data; give another name for what is written.")
        if any(_same_file(path, other) for other in given[:k]):
            raise ValueError(f"{str(path)!r} is named for two outputs; give each a name of its own.")
        if str(path) == "-" or (path.exists() and not (path.is_file() or path.is_dir())):
            raise ValueError(f"{str(path)!r} is no file: results are written to files, whole or not at all.")
        if path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder; give the name of a file to write.")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"The folder of {str(path)!r} does not exist; make it first.")
        if not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
            raise ValueError(f"The folder of {str(path)!r} may not be written to: permission denied.")


def _same_file(one: Path, other: Path) -> bool:
    """Whether two names, with links of either kind followed, lead to one file."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and os.path.samefile(one, other)


def names_in(table: Any) -> list[str]:
    """Columns of what `open_data` returns."""
    return list(table.names if hasattr(table, "names") else table.column_names)


def split_names(word: str, columns: Sequence[str]) -> list[str]:
    """Names of columns that a word lists with commas between; a column of that very name stands alone."""
    return [word] if word in columns else [name.strip() for name in word.split(",") if name.strip()]


def name_targets(target: str, weight: str | None) -> dict[str, str]:
    return {"--target": target} if weight is None else {"--target": target, "--weight": weight}


def open_data(
    data: Sequence[str],
    named: Mapping[str, str],
    drop: Sequence[str],
    cells: "CsvCells",
    *,
    several: bool = False,
    look: bool = False,
) -> Any:
    """What the words of a command name: a table for a small file, else a source that is read in parts.

    Parameters
    ----------
    data : sequence of str
        Files, folders, globs or one URL.
    named : mapping
        Options that name columns, and the names.
    drop : sequence of str
        Columns to leave out.
    cells : CsvCells
        How cells of CSV files are written.
    several : bool
        Whether --target may list several columns.
    look : bool
        Whether it is for a look, which tells what is refused otherwise.
    """
    from rlselect.data import SMALL_CSV, USUAL_CELLS, kind_of, open_once, read_file

    if cells != USUAL_CELLS and any(kind_of(path) not in ("csv", None) for path in data):
        flag = next(_cell_flags(cells))
        raise ValueError(
            f"{flag} is for CSV files; these data say themselves how they are read: leave it out."
        )
    cells = cells._replace(lenient=look)
    single = not look and len(data) == 1 and "://" not in data[0] and Path(data[0]).is_file()
    if single and kind_of(data[0]) != "parquet" and Path(data[0]).stat().st_size <= SMALL_CSV:
        frame = read_file(data[0], cells=cells)
        _check_names(frame.column_names, title_of(data), named, drop, several)
        return frame.drop_columns(list(drop)) if drop else frame
    opened = open_once(data[0] if len(data) == 1 else list(data), drop=drop, cells=cells)
    _check_names(opened.names, title_of(data), named, drop, several)
    return opened


def flags_of(drop: Sequence[str], cells: "CsvCells") -> str:
    """How a command was told to read the data, for one that reads them again."""
    flags = [word for name in drop for word in ("--drop", name)]
    return shlex.join([*flags, *_cell_flags(cells)])


def _cell_flags(cells: "CsvCells") -> Iterator[str]:
    yield from (word for mark in cells.missing for word in ("--na", mark))
    yield from cells.marks.flags
    yield from ["--encoding", cells.encoding] if cells.encoding != "utf-8" else []


def load_data(
    data: Sequence[str],
    named: Mapping[str, str],
    drop: Sequence[str],
    cells: "CsvCells",
    owner: str,
) -> Any:
    """All rows of what the words of a command name, in memory; `owner` is who needs them so."""
    from rlselect.data import load_source

    return load_source(open_data(data, named, drop, cells), owner)


def with_numbers(
    data: Any, order: DateOrder, named: Sequence[str] = (), *, model: Any = None
) -> tuple[Any, dict[str, bool]]:
    """The rows with numbers in the place of dates; a source stays one that is read in parts.

    Parameters
    ----------
    data : table or source
        What `open_data` returns.
    order : "told", "day" or "month"
        What stands first in dates such as 01/02/2024; "told" leaves that to the model, and then to the cells.
    named : sequence of str
        Columns that an option names, which stay.
    model : estimator, optional
        It knows which columns were dates, which of them had hours, and what stood first.

    Returns
    -------
    rows
        As `data`.
    day_first : dict of str to bool
        Columns of dates such as 01/02/2024, and whether their day stood first.
    """
    import pyarrow as pa

    from rlselect.data import make_columns, some_rows
    from rlselect.preflight import find_dates

    known: dict[str, Any] = {"but": named, "day_first": {"day": True, "month": False}.get(order)}
    features = getattr(model, "feature_names_in_", None)
    if features is not None:
        units = {
            unit: {n.removesuffix(f".{unit}") for n in features if n.endswith(f".{unit}")} for unit in _UNITS
        }
        dates = [name for name in names_in(data) if name in units["days"] & units["weekday"]]
        known |= {"columns": dates, "hours": [name for name in dates if name in units["hour"]]}
        if order == "told":
            known["day_first"] = getattr(model, "day_first_", {})
    found = find_dates(data if isinstance(data, pa.Table) else some_rows(data, 10_000).table, **known)
    made = found.make(data) if isinstance(data, pa.Table) else make_columns(data, found)
    return made, found.day_first


def with_categories(data: Any, columns: Sequence[str], where: str) -> Any:
    """The rows with categories in the place of the numbers of some columns; a source stays one."""
    import pyarrow as pa

    from rlselect.data import CategoryColumns, make_columns

    for name in columns:
        require_column(name, names_in(data), "--category", where)
    if not columns:
        return data
    maker = CategoryColumns(columns)
    return maker.make(data) if isinstance(data, pa.Table) else make_columns(data, maker)


def with_moments(data: Any, column: str, day_first: bool | None) -> tuple[Any, dict[str, bool | None]]:
    """The rows with dates in the place of a column of text that holds them; a source stays one.

    Parameters
    ----------
    data : table or source
        What `open_data` returns.
    column : str
        Column of times.
    day_first : bool or None
        What stands first in dates such as 01/02/2024; None leaves that to the cells.

    Returns
    -------
    rows
        As `data`.
    day_first : dict of str to bool or None
        The column, and what stood first, None where that is no question; empty where it is no text of dates.
    """
    import pyarrow as pa

    from rlselect.data import make_columns, some_rows
    from rlselect.preflight import find_date_texts

    found = None
    if column in names_in(data):
        rows = data if isinstance(data, pa.Table) else some_rows(data, 10_000).table
        found = find_date_texts(rows, column, day_first=day_first)
    order = None if found is None else found.day_first
    if day_first is not None and order is None:
        flag = "--day-first" if day_first else "--month-first"
        raise ValueError(f"{flag} is for dates such as 01/02/2024; {column!r} holds none: leave it out.")
    if found is None:
        return data, {}
    return found.make(data) if isinstance(data, pa.Table) else make_columns(data, found), {column: order}


def with_target(data: Any, targets: Sequence[str]) -> Any:
    """The rows in which no target is missing; a source stays one that is read in parts."""
    from rlselect.data import leave_out_gaps

    def told(left_out: int, n_rows: int) -> None:
        if left_out == n_rows:
            raise ValueError(
                f"--drop-missing-target leaves no row: --target {', '.join(targets)} is missing in all."
            )
        line = f"Left out {left_out:,} of {n_rows:,} rows without {printable(', '.join(targets))}"
        # a stream may be passed over twice
        if left_out and line not in said:
            said.append(line)
            say(line)

    said: list[str] = []
    return leave_out_gaps(data, targets, told)


def title_of(data: Sequence[str]) -> str:
    """What the data are called."""
    first = data[0].rstrip("/").rsplit("/", 1)[-1] or data[0]
    return first if len(data) == 1 else f"{first} and {len(data) - 1} more"


def columns_of(table: Any, names: Sequence[str], option: str, where: str) -> Iterator[Any]:
    """Some columns of what `open_data` returns, by the words of an option, as tables of further rows."""
    from rlselect.data import read_columns

    for name in names:
        require_column(name, names_in(table), option, where)
    return read_columns(table, list(dict.fromkeys(names)))


def require_column(name: str, columns: Sequence[str], option: str, where: str) -> None:
    """Refuse a name that is no column, with those that it may have been meant to be."""
    from rlselect.data import nearest_names

    if name not in columns:
        close = nearest_names(name, columns)
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        if set(several := name.split(",")) <= set(columns):
            hint = f" Of several say {shlex.join(word for one in several for word in (option, one))}."
        raise ValueError(f"{option} {name!r} is not a column of {where}.{hint}")


def _check_names(
    columns: Sequence[str], where: str, named: Mapping[str, str], drop: Sequence[str], several: bool
) -> None:
    """Refuse options that name columns which are not there."""
    given = [
        (option, name)
        for option, word in named.items()
        for name in (split_names(word, columns) if several and option == "--target" else [word])
    ]
    for option, name in [*given, *(("--drop", d) for d in drop)]:
        require_column(name, columns, option, where)
    for option, name in given:
        if name in drop:
            raise ValueError(
                f"{name!r} is both {option} and --drop; it is never a variable: leave out --drop."
            )
