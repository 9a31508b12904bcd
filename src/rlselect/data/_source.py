"""What every source of data offers, wherever its rows live."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np


class Batch(NamedTuple):
    """Some rows, encoded and checked.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_columns)
        Design, float32 or float64; a dense one is C-contiguous. It may be a view of the user's data: never
        write into it.
    y : ndarray of shape (n_rows,) or None
        Target as given.
    sample_weight, offset : ndarray of shape (n_rows,) or None
        float64.
    """

    X: Any
    y: np.ndarray | None
    sample_weight: np.ndarray | None
    offset: np.ndarray | None


@runtime_checkable
class DataSource(Protocol):
    """The contract between data and learners: random batches, and whole passes.

    A learner that only uses these four members runs on any source. `columns` arguments are positions in
    `columns`, the names of the design columns; None means all of them.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows that can be drawn."""
        ...

    @property
    def columns(self) -> list[str]:
        """Names of the design columns."""
        ...

    def sample(
        self, rows: int, columns: Sequence[int] | np.ndarray | None, rng: np.random.Generator
    ) -> Batch:
        """Draw `rows` distinct rows at random, in random order."""
        ...

    def scan(self, columns: Sequence[int] | np.ndarray | None = None) -> Iterator[Batch]:
        """Pass over all rows once, a batch at a time, in order."""
        ...
