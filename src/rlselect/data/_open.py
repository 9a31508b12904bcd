"""The door: tables in memory on one side, sources that are read in parts on the other."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.data._checks import check_missing_mode, check_names
from rlselect.data._design import Design, learn_design
from rlselect.data._encoder import TableEncoder
from rlselect.data._file import _CSV, read_file
from rlselect.data._iterator import IteratorParts
from rlselect.data._parquet import ParquetParts, find_parquet, folder_columns, from_dataset, from_url
from rlselect.data._parts import Parts, PartTable, Pick, check_roles, is_number, plain_design
from rlselect.data._pool import _moments, clustering
from rlselect.data._read import read_table, read_vector
from rlselect.data._scan import Gaps, scan_missing
from rlselect.data._table import Table, open_table

# parts that are looked at, in a few columns, before the first rows are drawn
_PROBED = 16
_PROBE_COLUMNS = 3
# up to so many rows a source is simply loaded
SMALL = 5000


def is_source(X: Any) -> bool:
    """Whether X is read in parts: paths, an Arrow dataset, an iterator factory or a Dask collection.

    Examples
    --------
    >>> import numpy as np
    >>> is_source("data/*.parquet"), is_source(["a.parquet", "b.parquet"]), is_source(np.ones((2, 2)))
    (True, True, False)
    """
    if isinstance(X, str | Path) or _is_paths(X):
        return True
    if callable(X) and not isinstance(X, type):
        return True
    return _is_dask(X) or type(X).__module__.startswith(("pyarrow._dataset", "pyarrow.dataset"))


def _is_paths(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(path, str | Path) for path in X)


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def open_source(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    missing: str = "error",
    encoder: TableEncoder | None = None,
    validate: str = "read",
    owner: str = "TableEncoder",
) -> Table | PartTable:
    """Open a table that is in memory, or a source that is read in parts.

    Parameters
    ----------
    X : table or source
        What `open_table` takes, or a path (file, folder or glob of Parquet files; one CSV file), a list of
        such paths, a URL that Arrow reads (``s3://bucket/folder``), an Arrow dataset of Parquet files, a Dask
        DataFrame or Array, or a function that returns an iterable of data frames, the same ones at every
        call.
    y, sample_weight, offset : array-like or str, optional
        As in `open_table`; for a source, names of its columns.
    missing, encoder, owner
        As in `open_table`. Levels of text and, with "indicator", columns with gaps are those seen in up to 16
        parts, spread over the source, or in all of it with ``validate="all"``.
    validate : {"read", "all"}, default="read"
        Check the rows that are read, or pass over all of a source first.

    Returns
    -------
    Table or PartTable
        A source of at most 5,000 rows comes back as a Table.
    """
    check_missing_mode(missing)
    if validate not in ("read", "all"):
        raise ValueError(f"validate={validate!r} is not known; use 'read' or 'all'.")
    given = {"y": y, "sample_weight": sample_weight, "offset": offset}
    memory: dict[str, Any] = {"missing": missing, "encoder": encoder, "owner": owner}
    if hasattr(X, "__next__") or hasattr(X, "read_next_batch"):
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read once only; give a function that makes it anew at "
            "every call, such as `lambda: make_batches()`."
        )
    if not is_source(X):
        return open_table(X, **given, **memory)
    if isinstance(X, str | Path) and str(X).lower().removesuffix(".gz").endswith(_CSV):
        return open_table(read_file(X), **given, **memory)
    parts = _open_parts(X)
    ignored = () if encoder is None else encoder.ignored_names_
    roles = check_roles(given, parts.schema.names)
    names = [n for n in parts.schema.names if n not in {*roles.values(), *ignored}]
    if encoder is None and parts.lengths.sum() <= SMALL:
        whole = pa.concat_tables(
            parts.visit([Pick(g) for g in range(len(parts.lengths))], parts.schema.names),
            promote_options="permissive",
        )
        return open_table(whole, **given, **memory)
    if encoder is not None:
        wanted = encoder._design.feature_names()
        # columns that the model does not know are not read; those that it needs have to be there
        check_names(np.asarray(wanted), [n for n in wanted if n in set(names)], owner)
    if not names:
        raise ValueError("X has no column beside y, sample_weight and offset; at least one is needed.")
    spread = 0.0
    if encoder is None:
        _refuse_unreadable(parts, names)
        looked = _looked_at(parts, len(parts.lengths) if validate == "all" else _PROBED)
        design = _learn(parts, names, missing, looked, owner)
        encoder = TableEncoder(missing=missing)._set_design(
            design, tuple(v for v in roles.values() if v is not None)
        )
        spread = _probe(parts, names, roles)
    table = PartTable(parts, encoder, roles, spread)
    if validate == "all":
        for _ in table.scan(count=False):
            pass
    return table


def _open_parts(X: Any) -> Parts:
    if isinstance(X, str) and "://" in X:
        return from_url(X)
    if isinstance(X, str | Path):
        paths = find_parquet(X)
        return ParquetParts(paths, folders=folder_columns(paths, X))
    if _is_paths(X):
        paths = [found for path in X for found in find_parquet(path)]
        path, times = Counter(paths).most_common(1)[0]
        if times > 1:
            raise ValueError(f"X names {path!r} {times} times; name each file once.")
        base = os.path.commonpath([Path(path).parent for path in paths])
        return ParquetParts(paths, folders=folder_columns(paths, base))
    if _is_dask(X):
        from rlselect.data._dask import DaskParts

        return DaskParts(X)
    return IteratorParts(X) if callable(X) else from_dataset(X)


def _refuse_unreadable(parts: Parts, names: Sequence[str]) -> None:
    """Let an empty table with the schema go through the door: what is no number and no text is refused."""
    for name in names:
        kind = parts.schema.field(name).type
        if not is_number(kind):
            read_table(pa.table({name: pa.nulls(1, kind)}))


def _looked_at(parts: Parts, most: int) -> list[int]:
    """Parts spread evenly from the first to the last."""
    n = len(parts.lengths)
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist()


def _learn(parts: Parts, names: list[str], missing: str, looked: list[int], owner: str) -> Design:
    """Learn the design, one part in memory at a time."""
    text = [n for n in names if not is_number(parts.schema.field(n).type)]
    if not text and missing != "indicator":
        return plain_design(names, missing, owner)
    wanted = names if missing == "indicator" else text
    distinct: dict[str, list[Any]] = {name: [] for name in text}
    seen, counts, sums = 0, np.zeros(len(names), dtype=np.int64), np.zeros(len(names))
    for part, table in zip(looked, parts.visit([Pick(g) for g in looked], wanted), strict=True):
        for name in text:
            distinct[name].append(_distinct(table.column(name)))
        if missing == "indicator":
            try:
                gaps = scan_missing(read_table(table), names)
            except ValueError as error:
                raise ValueError(f"{parts.where(part)}: {error}") from None
            counts += gaps.counts
            sums += gaps.means * (len(table) - gaps.counts)
            seen += len(table)
    levels: dict[int, list[str]] = {}
    for name, values in distinct.items():
        column = pa.chunked_array(values).unique()
        if len(column):
            levels[names.index(name)] = learn_design(read_table(pa.table({name: column})), "drop").levels[0]
        else:
            levels[names.index(name)] = []
    gaps = Gaps(np.zeros(0, dtype=bool), counts, sums / np.maximum(seen - counts, 1))
    design = Design(
        missing,
        np.array(names, dtype=object),
        len(names),
        levels,
        gaps if missing == "indicator" else None,
        owner,
    )
    if len(design.feature) == 0:
        raise ValueError("X gives no design column: each of its columns is text with a single level.")
    return design


def _distinct(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.unique().drop_null().cast(pa.large_string())


def _probe(parts: Parts, names: list[str], roles: dict[str, str | None]) -> float:
    """Look at y and a few columns of several parts: do the rows of one part resemble each other?"""
    if len(parts.lengths) < 2:
        return 0.0
    numbers = [n for n in names if is_number(parts.schema.field(n).type)]
    some = np.unique(np.linspace(0, len(numbers) - 1, min(_PROBE_COLUMNS, len(numbers))).astype(int))
    wanted = [numbers[j] for j in some]
    target = roles["y"]
    looked = _looked_at(parts, _PROBED)
    moments, classes = [], None
    read = [*wanted, *([target] if target else [])]
    for table in parts.visit([Pick(g) for g in looked], read):
        columns = [np.nan_to_num(np.asarray(read_vector(table.column(n), n), dtype=float)) for n in wanted]
        if target is not None:
            y = read_vector(table.column(target), "y")
            if y.dtype.kind == "O":
                classes = y[0] if classes is None else classes
                y = y == classes
            columns.append(np.nan_to_num(np.asarray(y, dtype=float), posinf=0.0, neginf=0.0))
        if columns:
            # columns that lie together are summed several times faster
            moments.append(_moments(np.stack(columns).T))
    return clustering(moments) if moments else 0.0
