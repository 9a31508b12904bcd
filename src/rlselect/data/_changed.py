"""Sources that are changed on the way: rows left out, columns made of others; neither is ever held whole."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlselect.data._opened import Opened
from rlselect.data._parts import Parts, Pick, all_parts
from rlselect.data._streams import Stream

__all__ = ["ColumnMaker", "leave_out_gaps", "make_columns"]

# columns that are made at once of a part that comes some at a time
_FEW_COLUMNS = 8


class ColumnMaker(Protocol):
    """Makes columns of others, each row for itself."""

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Columns after the change."""
        ...

    def needed(self, names: Sequence[str]) -> list[str]:
        """Columns that these are made of."""
        ...

    def make(self, table: pa.Table) -> pa.Table:
        """The rows with the columns that can be made of theirs."""
        ...


def leave_out_gaps(X: Any, names: Sequence[str], told: Callable[[int, int], None]) -> Any:
    """A table or an opened source without the rows in which one of some columns is missing.

    Parameters
    ----------
    X : pyarrow.Table or Opened
        The rows.
    names : sequence of str
        Columns in which a gap costs the row.
    told : callable
        ``told(left_out, n_rows)`` hears of it once all rows were looked at.

    Returns
    -------
    pyarrow.Table or Opened
    """
    if isinstance(X, pa.Table):
        kept = X.filter(_present(X, names))
        told(len(X) - len(kept), len(X))
        return kept
    return X.changed(
        lambda whole: (
            PresentParts(whole, names, told) if hasattr(whole, "visit") else PresentStream(whole, names, told)
        )
    )


def make_columns(X: Opened, maker: ColumnMaker) -> Opened:
    """An opened source with other columns.

    Parameters
    ----------
    X : Opened
        The rows.
    maker : ColumnMaker
        What makes them.
    """
    return X.changed(
        lambda whole: MadeParts(whole, maker) if hasattr(whole, "visit") else MadeStream(whole, maker)
    )


def _present(table: pa.Table, names: Sequence[str]) -> Any:
    """Rows in which no such column is missing; NaN is missing, too, where there can be one."""
    present: Any = pa.array(np.ones(len(table), dtype=bool))
    for name in names:
        present = pc.and_(present, pc.invert(table.column(name).is_null(nan_is_null=True)))
    return present


class _Beside:
    """All that is not changed is that of the whole."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole, name)


class PresentParts(_Beside):
    """Parts without rows that have gaps; one pass over the columns in question finds them.

    Parameters
    ----------
    whole : Parts
        All rows.
    names, told
        As for `leave_out_gaps`.
    """

    def __init__(self, whole: Parts, names: Sequence[str], told: Callable[[int, int], None]) -> None:
        super().__init__(whole)
        self._gaps_in = list(names)
        # of each part that keeps a row: its place, and which rows, a bit each; None for all of them
        self._kept: list[tuple[int, np.ndarray | None]] = []
        lengths = []
        for part, table in enumerate(whole.visit(all_parts(whole), self._gaps_in)):
            present = np.asarray(_present(table, self._gaps_in).to_numpy(zero_copy_only=False), dtype=bool)
            if present.any():
                self._kept.append((part, None if present.all() else np.packbits(present)))
                lengths.append(int(present.sum()))
        n_rows = int(whole.lengths.sum())
        told(n_rows - sum(lengths), n_rows)
        self.lengths = np.array(lengths, dtype=np.int64)

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick."""
        return self._whole.visit([self._found(pick) for pick in picks], names)

    @property
    def by_columns(self) -> Callable[[int, Sequence[str]], Iterator[pa.Table]] | None:
        """As that of the whole."""
        return None if self._whole.by_columns is None else self._by_columns

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        return self._whole.where(self._kept[part][0])

    def fingerprint(self) -> list:
        """Tell this data from other data."""
        return [self._whole.fingerprint(), self._gaps_in]

    def _found(self, pick: Pick) -> Pick:
        part, bits = self._kept[pick.part]
        if bits is None:
            return Pick(part, pick.rows)
        rows = np.flatnonzero(np.unpackbits(bits))
        return Pick(part, rows if pick.rows is None else rows[pick.rows])

    def _by_columns(self, part: int, names: Sequence[str]) -> Iterator[pa.Table]:
        pick = self._found(Pick(part))
        for table in self._whole.by_columns(pick.part, names):
            yield table if pick.rows is None else table.take(pa.array(pick.rows))


class PresentStream(_Beside):
    """A stream without rows that have gaps.

    Parameters
    ----------
    whole : Stream
        All rows.
    names, told
        As for `leave_out_gaps`.
    """

    def __init__(self, whole: Stream, names: Sequence[str], told: Callable[[int, int], None]) -> None:
        super().__init__(whole)
        self._gaps_in, self._told = list(names), told

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table | None]:
        """Pass over some columns."""
        wanted = list(names)
        n_rows, kept = 0, 0
        for table in self._whole.tables([*wanted, *(n for n in self._gaps_in if n not in wanted)]):
            if table is None:
                yield None
                return
            n_rows += len(table)
            table = table.filter(_present(table, self._gaps_in)).select(wanted)
            kept += len(table)
            yield table
        self._told(n_rows - kept, n_rows)


class MadeParts(_Beside):
    """Parts with columns made of others.

    Parameters
    ----------
    whole : Parts
        What they are made of.
    maker : ColumnMaker
        What makes them.
    """

    def __init__(self, whole: Parts, maker: ColumnMaker) -> None:
        super().__init__(whole)
        self._maker, self.schema = maker, maker.schema(whole.schema)

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick."""
        for table in self._whole.visit(picks, self._maker.needed(names)):
            yield self._maker.make(table).select(list(names))

    @property
    def by_columns(self) -> Callable[[int, Sequence[str]], Iterator[pa.Table]] | None:
        """As that of the whole."""
        return None if self._whole.by_columns is None else self._by_columns

    def _by_columns(self, part: int, names: Sequence[str]) -> Iterator[pa.Table]:
        for start in range(0, len(names), _FEW_COLUMNS):
            yield from self.visit([Pick(part)], names[start : start + _FEW_COLUMNS])


class MadeStream(_Beside):
    """A stream with columns made of others.

    Parameters
    ----------
    whole : Stream
        What they are made of.
    maker : ColumnMaker
        What makes them.
    """

    def __init__(self, whole: Stream, maker: ColumnMaker) -> None:
        super().__init__(whole)
        self._maker = maker

    @property
    def schema(self) -> pa.Schema:
        """Columns; final once the stream was read."""
        return self._maker.schema(self._whole.schema)

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table | None]:
        """Pass over some columns."""
        for table in self._whole.tables(self._maker.needed(names)):
            yield None if table is None else self._maker.make(table).select(list(names))
