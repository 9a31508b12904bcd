"""The order of a target's labels, where its type says one."""

from typing import Any

import narwhals as nw
import pyarrow as pa

from rlselect.data._open import open_parts
from rlselect.data._opened import Opened
from rlselect.data._parts import Pick
from rlselect.data._paths import find_files, is_paths

__all__ = ["category_order"]


def category_order(X: Any, y: Any) -> list[Any] | None:
    """Labels of a target whose type says their order, in that order: ordered categories and enumerations.

    Parameters
    ----------
    X : table or source
        Where `y` may name a column; of files, those that keep types, such as Parquet.
    y : array-like or str
        The target.

    Examples
    --------
    >>> import polars as pl
    >>> category_order(None, pl.Series(["high", "low"], dtype=pl.Enum(["low", "high"])))
    ['low', 'high']
    """
    if isinstance(y, str):
        return _of_column(X, y)
    if isinstance(y, pa.Array | pa.ChunkedArray):
        return _of_arrow(y)
    return _of_type(getattr(y, "dtype", None))


def _of_column(X: Any, name: str) -> list[Any] | None:
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return _of_type(frame.collect_schema().get(name))
    if isinstance(frame, nw.DataFrame):
        return category_order(None, frame[name].to_native()) if name in frame.columns else None
    return _of_file(X, name) if _keeps_types(X) else None


def _of_file(X: Any, name: str) -> list[Any] | None:
    parts = open_parts(X)
    # nearly always the type says that there is no order, and nothing has to be decoded to learn it
    if not _is_ordered(parts.schema.field(name).type):
        return None
    return _of_arrow(next(parts.visit([Pick(0)], [name])).column(name))


def _keeps_types(X: Any) -> bool:
    source = X.source if isinstance(X, Opened) else X
    is_local = is_paths(source) and not (isinstance(source, str) and "://" in source)
    return is_local and find_files(source).kind in ("parquet", "feather")


def _of_arrow(values: Any) -> list[Any] | None:
    if not _is_ordered(values.type):
        return None
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return chunks[0].dictionary.to_pylist() if chunks else None


def _is_ordered(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) and kind.ordered


def _of_type(said: Any) -> list[Any] | None:
    known = getattr(said, "ordered", False) is True or type(said).__name__ == "Enum"
    return list(said.categories) if known else None
