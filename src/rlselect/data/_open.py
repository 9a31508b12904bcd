"""The door: tables in memory on one side, sources that are read in parts on the other."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.data._checks import check_missing_mode, check_names, unknown_column
from rlselect.data._csv import CsvStream
from rlselect.data._dask import DaskParts
from rlselect.data._encoder import TableEncoder
from rlselect.data._file import USUAL_CELLS, CsvCells, first_line, read_file
from rlselect.data._file_parts import FileParts
from rlselect.data._first_look import (
    PROBED,
    learn_from_parts,
    probe_clustering,
    refuse_unreadable,
    spread_parts,
)
from rlselect.data._iterator import IteratorParts
from rlselect.data._opened import Opened
from rlselect.data._part_columns import PartColumns
from rlselect.data._part_table import PartTable
from rlselect.data._parts import Parts, all_parts
from rlselect.data._paths import find_files, is_paths, kind_of
from rlselect.data._source import DataSource, RowStream
from rlselect.data._streams import (
    OnePass,
    PartStream,
    Stream,
    collect,
    is_query,
    open_query,
    open_scan,
    spill,
)
from rlselect.data._table import Table, make_table

# up to so many rows a source is simply loaded
_SMALL = 5000
# and so is a single CSV file of up to so many bytes; of a larger one, parts are found again more cheaply
SMALL_CSV = 2**26
# and columns that are read by name, of up to so many bytes as numbers
_SMALL_COLUMNS = 2**27
# memory where nobody says how much there is
_USUAL_MEMORY = 2**33


def is_source(X: Any) -> bool:
    """Whether X is read in parts: paths, a lazy query, an Arrow dataset, an iterator factory or Dask.

    Examples
    --------
    >>> import numpy as np
    >>> is_source("data/*.parquet"), is_source(["a.csv", "b.csv"]), is_source(np.ones((2, 2)))
    (True, True, False)
    """
    if isinstance(X, Opened) or is_paths(X) or (callable(X) and not isinstance(X, type)):
        return True
    return _is_dask(X) or _is_dataset(X) or is_query(X)


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def _is_dataset(X: Any) -> bool:
    return type(X).__module__.startswith(("pyarrow._dataset", "pyarrow.dataset"))


def _is_small_csv(X: Any) -> bool:
    if isinstance(X, list | tuple) or not is_paths(X) or kind_of(X) != "csv":
        return False
    return os.path.isfile(X) and os.path.getsize(X) <= SMALL_CSV


def open_table(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    missing: str = "error",
    encoder: TableEncoder | None = None,
    owner: str = "TableEncoder",
) -> Table:
    """Open a table that is in memory (or mapped into it), or load one that is not.

    Numbers are neither copied nor scanned here, however many there are, unless `missing` asks for it: rows
    are checked when they are taken.

    Parameters
    ----------
    X : array, sparse matrix, list of rows, data frame of shape (n_samples, n_features), or source
        NumPy array or memory map, any scipy sparse container, pandas / polars / pyarrow table or any other
        eager frame that narwhals knows. Text and categories become indicators, see `TableEncoder`. A source,
        see `open_source`, is loaded as long as its numbers take up to half of the machine's memory.
    y : array-like of shape (n_samples,) or str, optional
        Target, or the name of the column of X that holds it, which then is no feature.
    sample_weight : array-like of shape (n_samples,) or str, optional
        Finite, non-negative weights, not all of them zero, or the name of their column.
    offset : array-like of shape (n_samples,) or str, optional
        Known part of the linear predictor, or the name of its column.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values, see `TableEncoder`. With "drop", rows with a missing value in X or
        in y are left out of the table; otherwise a missing y is an error. Missing weights and offsets
        always are.
    encoder : TableEncoder, optional
        A fitted encoder, for new data: X is checked against it, `missing` is taken from it, and no row is
        dropped.
    owner : str
        Name of the estimator that asks, for messages.

    Returns
    -------
    Table
        The open table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rlselect.data import open_table
    >>> frame = pa.table({"age": [31.0, 42.0, 27.0], "city": ["Rome", "Oslo", "Oslo"], "spent": [5, 9, 2]})
    >>> table = open_table(frame, "spent")
    >>> table
    <Table of 3 rows x 2 columns>
    >>> table.columns
    ['age', 'city=Rome']
    >>> batch = table.take([2, 0])
    >>> batch.X
    array([[27.,  0.],
           [31.,  1.]])
    >>> batch.y
    array([2, 5])
    """
    check_missing_mode(missing)
    given = {"y": y, "sample_weight": sample_weight, "offset": offset}
    return make_table(load_source(X, owner), given, missing, encoder, owner)


def load_source(X: Any, owner: str) -> Any:
    """All rows of a source as an Arrow table; what is no source comes back as it is.

    Parameters
    ----------
    X : table or source
        See `open_source`.
    owner : str
        Name of the estimator that needs all rows in memory, for messages.

    Returns
    -------
    table
        In memory.
    """
    refuse_used_up(X)
    if not is_source(X):
        return X
    opened = open_parts(X)
    if isinstance(opened, pa.Table):
        return opened
    if hasattr(opened, "visit"):
        return _load(opened, owner)
    width = len(opened.schema)
    tables, _ = collect(opened, opened.schema.names, lambda n_rows: _refuse_large(n_rows, width, owner))
    return _together(tables)


def open_parts(X: Any, cells: CsvCells = USUAL_CELLS) -> Any:
    """A source as what it can be read as: a table for a small CSV file, a stream, or parts."""
    if isinstance(X, Opened):
        return X.parts
    if _is_small_csv(X):
        return read_file(X, cells=cells)
    stream = _stream_of(X, cells=cells)
    return _parts_of(X) if stream is None else stream


def open_once(X: Any, *, drop: Sequence[str] = (), cells: CsvCells = USUAL_CELLS) -> Opened:
    """Open a source for all who read it: one that asks for its names, one that looks, one that learns.

    Parameters
    ----------
    X : source
        See `open_source`.
    drop : sequence of str
        Columns that are left out, and never read.
    cells : CsvCells
        How those of CSV files are written.
    """
    return Opened(X, open_parts(X, cells), drop, cells)


def open_columns(X: Any, owner: str) -> Any:
    """A table in memory as it is; of a source all rows where they are few, else columns by name.

    Parameters
    ----------
    X : table or source
        See `open_source`. Queries, filtered datasets and large CSV files are run once, into a temporary file,
        and so are large Dask collections and iterators.
    owner : str
        Who asks, for messages.

    Returns
    -------
    table or PartColumns
    """
    refuse_used_up(X)
    if not is_source(X):
        return X
    opened = open_parts(X)
    if isinstance(opened, pa.Table):
        return opened
    parts = opened if hasattr(opened, "visit") else spill(opened)
    n_rows = int(parts.lengths.sum())
    if 8 * n_rows * len(parts.schema) > _SMALL_COLUMNS:
        return PartColumns(parts if isinstance(parts, FileParts) else spill(PartStream(parts)))
    return _load(parts, owner)


def _load(parts: Parts, owner: str) -> pa.Table:
    """All rows of all parts."""
    _refuse_large(int(parts.lengths.sum()), len(parts.schema), owner)
    return _together(list(parts.visit(all_parts(parts), parts.schema.names)))


def _together(tables: list[pa.Table]) -> pa.Table:
    if not sum(map(len, tables)):
        raise ValueError("X holds no rows.")
    return pa.concat_tables(tables, promote_options="permissive")


def _refuse_large(n_rows: int, n_columns: int, owner: str) -> None:
    """Refuse to load what would not leave room for a second copy: learners keep one on a common scale."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = _USUAL_MEMORY
    size = 8 * n_rows * n_columns
    if size > memory // 2:
        raise ValueError(
            f"X has {n_rows} rows or more of {n_columns} columns, {size / 2**30:.1f} GB as numbers, but "
            f"{owner} needs all of them in half of the {memory / 2**30:.0f} GB of memory here: give it fewer "
            "columns or a sample of the rows, or use REVS, which reads no more rows than it needs."
        )


def refuse_used_up(X: Any) -> None:
    """Refuse what can be read once only."""
    if hasattr(X, "__next__") or hasattr(X, "read_next_batch"):
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read once only; give a function that makes it anew at "
            "every call, such as `lambda: make_batches()`."
        )


def read_columns(X: Any, names: Sequence[str]) -> Iterator[pa.Table]:
    """Pass over some columns in the order of the rows; cells of CSV files that are read in parts are text.

    Parameters
    ----------
    X : pyarrow.Table or Opened
        As `open_once` returns it, or rows in memory.
    names : sequence of str
        The columns.

    Yields
    ------
    pyarrow.Table
        Further rows.
    """
    opened = X.parts if isinstance(X, Opened) else X
    if isinstance(X, Opened) and is_paths(X.source):
        files = find_files(X.source)
        # as they were written, and of one type in every part
        opened = CsvStream(files, text=names, cells=X.cells) if files.kind == "csv" else opened
    if isinstance(opened, pa.Table):
        yield opened.select(list(names))
    elif hasattr(opened, "visit"):
        yield from opened.visit(all_parts(opened), list(names))
    else:
        yield from opened.tables(list(names))


def open_source(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    missing: str = "error",
    validate: str = "read",
    owner: str = "TableEncoder",
    extra: Mapping[str, Any] | None = None,
) -> DataSource:
    """Open a table that is in memory, or a source that is read in parts, to learn from it.

    Parameters
    ----------
    X : table or source
        What `open_table` takes, or a path (file, folder or glob of Parquet, Feather or CSV files), a list of
        such paths, a URL that Arrow reads (``s3://bucket/folder``), an Arrow dataset, a LazyFrame of polars,
        a relation of DuckDB, a Dask DataFrame or Array, or a function that returns an iterable of data
        frames, the same ones at every call.
    y, sample_weight, offset : array-like or str, optional
        As in `open_table`; for a source, names of its columns.
    missing, owner
        As in `open_table`. Levels of text and, with "indicator", columns with gaps are those seen in up to 16
        parts, spread over the source, or in all of it with ``validate="all"``.
    validate : {"read", "all"}, default="read"
        Check the rows that are read, or pass over all of a source first.
    extra : mapping, optional
        Further roles of rows (of a survival time, of clusters): values, or the name of a column. Such a table
        is in memory.

    Returns
    -------
    DataSource
        A Table in memory for at most 5,000 rows and for a single CSV file of at most 64 MB.

    Notes
    -----
    Queries, filtered datasets and CSV files are run once, into a temporary file, which needs as much disk as
    their rows: parts of it can be read in any order, and no later run can bring the rows in another order.

    A source stays what it was when it was opened: a file that is rewritten, swapped or deleted meanwhile, and
    a function or a Dask collection that gives other rows at a later pass, is an error that names it.
    """
    check_missing_mode(missing)
    if validate not in ("read", "all"):
        raise ValueError(f"validate={validate!r} is not known; use 'read' or 'all'.")
    given = {"y": y, "sample_weight": sample_weight, "offset": offset, **(extra or {})}
    refuse_used_up(X)
    if extra and is_source(X):
        X = load_source(X, owner)
    if not is_source(X):
        return make_table(X, given, missing, None, owner)
    opened = open_parts(X)
    if isinstance(opened, pa.Table):
        return make_table(opened, given, missing, None, owner)
    is_stream = not hasattr(opened, "visit")
    if is_stream:
        # a misspelt name is told before the query is run
        _check_roles(given, opened.schema.names)
    parts: Parts = spill(opened) if is_stream else opened
    roles = _check_roles(given, parts.schema.names)
    if parts.lengths.sum() <= _SMALL:
        whole = parts.visit(all_parts(parts), parts.schema.names)
        return make_table(pa.concat_tables(whole, promote_options="permissive"), given, missing, None, owner)
    named = {name for name in roles.values() if name is not None}
    names = [name for name in parts.schema.names if name not in named]
    if not names:
        raise ValueError("X has no column beside y, sample_weight and offset; at least one is needed.")
    refuse_unreadable(parts, names)
    looked = spread_parts(parts, len(parts.lengths) if validate == "all" else PROBED)
    design = learn_from_parts(parts, names, missing, looked, owner)
    encoder = TableEncoder(missing=missing).set_design(
        design, tuple(name for name in roles.values() if name is not None)
    )
    table = PartTable(parts, encoder, roles, probe_clustering(parts, names, roles), drops=missing == "drop")
    if validate == "all":
        for _ in table.scan(count=False):
            pass
    return table


def open_stream(X: Any, encoder: TableEncoder, *, offset: Any = None, owner: str) -> RowStream:
    """Open a source of new rows, which pass by once.

    Parameters
    ----------
    X : source
        See `open_source`. Columns that the encoder does not know are not read.
    encoder : TableEncoder
        Fitted.
    offset : str, optional
        Name of the column of the offset.
    owner : str
        Name of the estimator that asks, for messages.

    Returns
    -------
    RowStream
    """
    cells, changes = USUAL_CELLS, list[Any]()
    if isinstance(X, Opened):
        X, cells, changes = X.source, X.cells, X.changes
    stream = _stream_of(X, encoder, offset, cells)
    parts = _parts_of(X) if stream is None else None
    for change in changes:
        stream, parts = (change(stream), None) if stream is not None else (None, change(parts))
    known = (stream or parts).schema.names  # type: ignore[union-attr]
    roles = _check_roles({"y": None, "sample_weight": None, "offset": offset}, known)
    wanted = encoder.feature_names
    # columns that the model does not know are not read; those that it needs have to be there
    check_names(np.asarray(wanted), [name for name in wanted if name in set(known)], owner)
    if stream is not None:
        return OnePass(stream, encoder, roles)
    assert parts is not None
    return PartTable(parts, encoder, roles)


def _stream_of(
    X: Any,
    encoder: TableEncoder | None = None,
    offset: str | None = None,
    cells: CsvCells = USUAL_CELLS,
) -> Stream | None:
    """The source as a stream, where that is the only way to read it; types of known columns are settled."""
    if isinstance(X, str) and "://" in X:
        X = _from_url(X)
    if is_query(X):
        return open_query(X)
    if _is_dataset(X):
        return None if _dataset_files(X) is not None else open_scan(X)
    if not is_paths(X):
        return None
    files = find_files(X)
    if files.kind == "json":
        return open_scan(_json_lines(files.paths))
    if files.kind != "csv":
        return None
    if encoder is None:
        return CsvStream(files, cells=cells)
    names = encoder.feature_names
    text = [names[j] for j in encoder.levels_]
    numbers = [name for name in (*names, offset) if name is not None and name not in text]
    return CsvStream(files, text=text, numbers=numbers, cells=cells)


def _parts_of(X: Any) -> Parts:
    if isinstance(X, str) and "://" in X:
        X = _from_url(X)
    if is_paths(X):
        files = find_files(X)
        return FileParts(files.paths, folders=files.folders)
    if _is_dask(X):
        return DaskParts(X)
    if callable(X):
        return IteratorParts(X)
    found = _dataset_files(X)
    assert found is not None
    return found


def _dataset_files(dataset: Any) -> FileParts | None:
    """The files of an Arrow dataset, None where they cannot be read in parts: filtered, or another format."""
    if getattr(getattr(dataset, "format", None), "default_extname", None) not in ("parquet", "arrow"):
        return None
    if not dataset.files:
        raise ValueError("X is an Arrow dataset without files.")
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filter
        return None
    from pyarrow.dataset import get_partition_keys

    keys = [get_partition_keys(fragment.partition_expression) for fragment in fragments]
    folders = [{name: key[name] for name in dataset.schema.names if name in key} for key in keys]
    return FileParts([fragment.path for fragment in fragments], dataset.filesystem, folders)


def _from_url(url: str) -> Any:
    """The Arrow dataset of a file or a folder elsewhere, such as ``s3://bucket/folder``."""
    from pyarrow import dataset

    try:
        return dataset.dataset(url, format=kind_of(url) or "parquet", partitioning="hive")
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{url!r} cannot be opened: {first_line(error)}. For a place that needs more than its name, give "
            "a pyarrow.dataset with its filesystem."
        ) from None


def _json_lines(paths: list[str]) -> Any:
    """The Arrow dataset of files with one JSON object per line."""
    from pyarrow import dataset

    try:
        return dataset.dataset(paths, format="json")
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{paths[0]!r} cannot be read as JSON lines: {first_line(error)}.") from None


def _check_roles(given: dict[str, Any], names: Sequence[str]) -> dict[str, str | None]:
    """Refuse anything but the names of columns: the rows of a large source have no second home."""
    for role, value in given.items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise TypeError(
                f"{role} is a {type(value).__name__}, but X is read in parts: give the name of its column."
            )
        if value not in names:
            raise unknown_column(role, value, names)
    return dict(given)
