"""Dask collections: one part a partition, sampled on the worker that holds it."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.data._parquet import _same_columns
from rlselect.data._parts import Pick

# partitions asked for at once: enough to keep workers busy, few enough to hold what comes back
_AT_ONCE = 16


class DaskParts:
    """Partitions of a Dask DataFrame or row chunks of a Dask Array.

    Opening computes the length and the columns of every partition where it lies; reading sends row numbers
    out and gets those rows back. Which rows are drawn follows from the seed and the partitions alone: the
    answer does not depend on the number of workers, and work of a worker that dies is done again by others.
    A collection that is not persisted is computed again whenever a partition is read.

    Parameters
    ----------
    collection : dask DataFrame or Array
        The data; columns of an array are called x0, x1, ...
    """

    memory: int | None = 2**30

    def __init__(self, collection: Any) -> None:
        import dask

        if hasattr(collection, "chunks"):
            if collection.ndim != 2:
                raise ValueError(f"X is a Dask Array of {collection.ndim} dimensions; two are needed.")
            collection = collection.rechunk({1: -1})
            self._parts = list(np.ravel(collection.to_delayed()))
        else:
            self._parts = list(collection.to_delayed())
        facts = dask.compute(*(dask.delayed(_facts)(part) for part in self._parts))
        lengths = np.array([n for n, _ in facts], dtype=np.int64)
        self._numbers = np.flatnonzero(lengths)
        if not len(self._numbers):
            raise ValueError("X is a Dask collection without rows.")
        self.lengths = lengths[self._numbers]
        self.schema: pa.Schema = facts[self._numbers[0]][1]
        for k in self._numbers[1:]:
            _same_columns(self.schema, facts[k][1], f"partition {self._numbers[0]}", f"partition {k}")

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        return f"Partition {self._numbers[part]} of X"

    def fingerprint(self) -> list:
        """Tell this data from other data, without reading it."""
        return [self.lengths.tolist()]

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick, taken on the workers."""
        import dask

        columns = list(names)
        # whole partitions come one at a time: they may be as large as memory allows
        step = _AT_ONCE if picks and picks[0].rows is not None else 1
        for start in range(0, len(picks), step):
            some = picks[start : start + step]
            yield from dask.compute(
                *(dask.delayed(_rows)(self._parts[self._numbers[p.part]], p.rows, columns) for p in some)
            )


def _as_arrow(part: Any) -> pa.Table:
    if isinstance(part, np.ndarray):
        return pa.table({f"x{j}": np.ascontiguousarray(part[:, j]) for j in range(part.shape[1])})
    return pa.Table.from_pandas(part, preserve_index=False).replace_schema_metadata(None)


def _facts(part: Any) -> tuple[int, pa.Schema]:
    return len(part), _as_arrow(part[:1]).schema


def _rows(part: Any, rows: np.ndarray | None, columns: list[str]) -> pa.Table:
    if isinstance(part, np.ndarray):
        which = [int(name[1:]) for name in columns]
        part = part[:, which] if rows is None else part[rows][:, which]
        return _as_arrow(part).rename_columns(columns)
    part = part[columns]
    return _as_arrow(part if rows is None else part.iloc[rows])
