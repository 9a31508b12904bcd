"""A source that is open already: who looks at it first and then learns from it does not open it twice."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import pyarrow as pa

from rlselect.data._file import CsvCells

__all__ = ["Opened"]


class Opened:
    """A source as what it can be read as, perhaps without some of its columns.

    Parameters
    ----------
    source : source
        As it was given.
    whole : pyarrow.Table, Stream or Parts
        What it was opened as.
    drop : sequence of str
        Columns that are left out.
    cells : CsvCells
        How cells of CSV files are written.

    Attributes
    ----------
    names : list of str
        All columns, those that are left out included.
    parts : pyarrow.Table, Stream or Parts
        What is read.
    changes : list of callable
        What the stream or the parts went through; who opens the source again does it again.
    """

    def __init__(self, source: Any, whole: Any, drop: Sequence[str], cells: CsvCells) -> None:
        self.source, self.cells = source, cells
        self.names = list(whole.schema.names)
        self.parts = _narrowed(whole, frozenset(drop))
        self.changes: list[Callable[[Any], Any]] = []

    def changed(self, change: Callable[[Any], Any]) -> Self:
        """The same source, whose stream or parts went through a change."""
        other = copy(self)
        other.parts = change(self.parts)
        other.names = list(other.parts.schema.names)
        other.changes = [*self.changes, change]
        return other


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


def _narrowed(opened: Any, names: frozenset[str]) -> Any:
    """A table, a stream or parts without some columns, which are never read."""
    if not names:
        return opened
    if isinstance(opened, pa.Table):
        return opened.drop_columns([name for name in opened.column_names if name in names])
    return _Narrowed(opened, names)
