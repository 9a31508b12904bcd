"""Products of design columns as further columns, made when rows are taken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data._source import Batch, RowStream
from rlselect.data._table import Table


@dataclass(frozen=True)
class ColumnPairs:
    """Products of two design columns, each about its mean, that stand after the columns they are made of.

    About the mean, a product says little that its columns say alone, wherever their zero is.

    Attributes
    ----------
    first, second : int array of shape (m,)
        The two columns of each product.
    centre : array of shape (p,)
        Means of the design columns.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    centre: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first)

    def name(self, columns: Sequence[str]) -> list[str]:
        """Names of the products, "a:b", after those of the design columns."""
        return [f"{columns[i]}:{columns[j]}" for i, j in zip(self.first, self.second, strict=True)]

    def part(self, which: NDArray[np.intp]) -> "ColumnPairs":
        """Some of the products."""
        return ColumnPairs(self.first[which], self.second[which], self.centre)

    def sources(self, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Design columns that some columns, products among them, are made of."""
        made = columns[columns >= len(self.centre)] - len(self.centre)
        plain = columns[columns < len(self.centre)]
        return np.unique(np.concatenate([plain, self.first[made], self.second[made]]))

    def make(self, X: Any, sources: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.floating]:
        """Some columns, dense, from rows of the design columns `sources`."""
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        out = np.empty((len(X), len(columns)), dtype=X.dtype)
        plain = columns < len(self.centre)
        out[:, plain] = X[:, np.searchsorted(sources, columns[plain])]
        made = columns[~plain] - len(self.centre)
        left, right = (
            X[:, np.searchsorted(sources, of)] - self.centre[of].astype(X.dtype)
            for of in (self.first[made], self.second[made])
        )
        out[:, ~plain] = left * right
        return out

    def scan(self, rows: Table | RowStream, columns: NDArray[np.intp] | None = None) -> Iterator[Batch]:
        """Batches of rows with some columns, products among them; all columns by default."""
        wanted = np.arange(len(self.centre) + len(self)) if columns is None else columns
        sources = self.sources(wanted)
        for batch in rows.scan(sources):
            yield batch._replace(X=self.make(batch.X, sources, wanted))


class PairTable(Table):
    """A table with products of its columns after them.

    Parameters
    ----------
    table : Table
        The columns.
    pairs : ColumnPairs
        The products.
    """

    is_dense = False

    def __init__(self, table: Table, pairs: ColumnPairs) -> None:
        self.__dict__.update(table.__dict__)
        self.pairs = pairs
        self.n_columns = len(pairs.centre) + len(pairs)
        self.is_sparse = False

    @property
    def columns(self) -> list[str]:
        """Names of the design columns and of the products."""
        names = self.encoder.column_names_
        return [*names, *self.pairs.name(names)]

    def take(
        self,
        rows: slice | Sequence[int] | np.ndarray | None = None,
        columns: Sequence[int] | np.ndarray | None = None,
        *,
        check: bool = True,
    ) -> Batch:
        """Return rows as `Table.take` does."""
        wanted = np.arange(self.n_columns) if columns is None else np.asarray(columns, dtype=np.intp)
        sources = self.pairs.sources(wanted)
        batch = super().take(rows, sources, check=check)
        return batch._replace(X=self.pairs.make(batch.X, sources, wanted))

    def part(self, rows: np.ndarray) -> "PairTable":
        """Some of the rows as a table of their own."""
        return PairTable(super().part(rows), self.pairs)
