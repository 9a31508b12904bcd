"""A source without some of its columns, which are never read."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["Without", "narrowed"]


class Without:
    """A source that is to be read without some columns.

    Parameters
    ----------
    source : source
        Paths, a query, an Arrow dataset, a function that makes batches, or Dask.
    names : sequence of str
        Columns that are left out.
    """

    def __init__(self, source: Any, names: Sequence[str]) -> None:
        self.source = source
        self.names = frozenset(names)


class _Narrowed:
    """Parts or a stream with fewer columns in its schema; all else is that of the whole."""

    def __init__(self, whole: Any, names: frozenset[str]) -> None:
        self._whole, self._names = whole, names

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([field for field in self._whole.schema if field.name not in self._names])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole, name)


def narrowed(opened: Any, names: frozenset[str]) -> Any:
    """A table, a stream or parts without some columns.

    Parameters
    ----------
    opened : pyarrow.Table, Stream or Parts
        The whole.
    names : frozenset of str
        Columns to leave out.
    """
    if not names:
        return opened
    if isinstance(opened, pa.Table):
        return opened.drop_columns([name for name in opened.column_names if name in names])
    return _Narrowed(opened, names)
