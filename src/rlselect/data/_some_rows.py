"""Some rows of whatever holds data, as they are: for a look before anything is learnt."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from rlselect.data._file import USUAL_CELLS, CsvCells
from rlselect.data._first_look import PROBED, spread_parts
from rlselect.data._open import is_source, open_parts, refuse_used_up
from rlselect.data._opened import Opened
from rlselect.data._parts import Parts, Pick
from rlselect.data._paths import find_files, is_paths
from rlselect.data._read import as_frame, read_table
from rlselect.data._streams import Stream, collect

__all__ = ["SomeRows", "some_rows"]


class SomeRows(NamedTuple):
    """Raw rows, and where they come from.

    Attributes
    ----------
    table : pyarrow.Table
        The rows, with the types they came with.
    n_rows : int or None
        How many there are in all; None where only a whole pass would tell.
    neighbours : bool
        Whether rows that follow each other here do so there.
    cells : CsvCells or None
        How the cells of CSV files are written; None for what has types of its own.
    """

    table: pa.Table
    n_rows: int | None
    neighbours: bool
    cells: CsvCells | None = None


def some_rows(X: Any, most: int = 100_000) -> SomeRows:
    """Up to so many rows of a table or a source, numbers, text and dates as they are.

    Columns of CSV files that are numbers but for a few cells of text, which a fit refuses, come as text.

    Parameters
    ----------
    X : table or source
        What `open_source` takes, dates and other columns that no estimator takes included.
    most : int, default=100_000
        Rows to take: every k-th of a table in memory, the first ones of up to 16 parts of a source.
    """
    refuse_used_up(X)
    if not is_source(X):
        return _of_memory(X, most)
    cells = _cells_of(X)
    opened = open_parts(X, USUAL_CELLS if cells is None else cells)
    if isinstance(opened, pa.Table):
        return _of_memory(opened, most)._replace(cells=cells)
    names = list(opened.schema.names)
    if hasattr(opened, "visit"):
        return _of_parts(opened, names, most)
    return _of_stream(opened, names, most)._replace(cells=cells)


def _cells_of(X: Any) -> CsvCells | None:
    """How cells are written, where they are those of CSV files."""
    source, cells = (X.source, X.cells) if isinstance(X, Opened) else (X, USUAL_CELLS._replace(lenient=True))
    is_local = is_paths(source) and not (isinstance(source, str) and "://" in source)
    return cells if is_local and find_files(source).kind == "csv" else None


def _of_memory(X: Any, most: int) -> SomeRows:
    """Rows are chosen first: what is not looked at is not converted."""
    frame = None if isinstance(X, pa.Table) else as_frame(X)
    names = None
    if frame is None and not isinstance(X, pa.Table):
        names = read_table(X).names  # refuses what is no table
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    n_rows = X.shape[0] if frame is None else len(frame)
    if not n_rows:
        raise ValueError("X holds no rows.")
    rows = np.linspace(0, n_rows - 1, most).astype(np.int64) if n_rows > most else None
    if isinstance(X, pa.Table):
        table = X if rows is None else X.take(rows)
    elif frame is not None:
        some = frame if rows is None else frame[rows]
        table = pa.table({str(name): _column(some[name]) for name in some.columns})
    else:
        values = X if rows is None else X[rows]
        values = values.toarray() if sparse.issparse(values) else values
        names = names or [f"x{j}" for j in range(values.shape[1])]
        table = pa.table({name: _array(values[:, j]) for j, name in enumerate(names)})
    return SomeRows(table, n_rows, rows is None)


def _column(series: Any) -> Any:
    values = series.to_numpy() if series.dtype.is_numeric() else None
    if values is not None and values.dtype.kind in "fiu" and values.ndim == 1:
        return _array(values)
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([None if v is None else str(v) for v in series.to_list()])


def _array(values: np.ndarray) -> pa.Array:
    if values.dtype == np.longdouble or values.dtype == np.float16:
        values = values.astype(np.float64)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if v is None else str(v) for v in values.tolist()])


def _of_parts(parts: Parts, names: list[str], most: int) -> SomeRows:
    n_rows = int(parts.lengths.sum())
    looked = range(len(parts.lengths)) if n_rows <= most else spread_parts(parts, PROBED)
    share = -(-most // max(len(looked), 1))
    picks = [
        Pick(g) if n_rows <= most else Pick(g, np.arange(min(share, int(parts.lengths[g])))) for g in looked
    ]
    tables = [table for table in parts.visit(picks, names) if len(table)]
    if not tables:
        raise ValueError("X holds no rows.")
    return SomeRows(pa.concat_tables(tables, promote_options="permissive"), n_rows, True)


def _of_stream(stream: Stream, names: list[str], most: int) -> SomeRows:
    kept, whole = collect(stream, names, lambda n_rows: n_rows >= most)
    if not sum(map(len, kept)):
        raise ValueError("X holds no rows.")
    table = pa.concat_tables(kept, promote_options="permissive").slice(0, most)
    return SomeRows(table, len(table) if whole else None, True)
