"""Parts of a table that is not in memory, and the ways to name some of their rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa


class Pick(NamedTuple):
    """Some rows of one part, ascending; None is all of them."""

    part: int
    rows: np.ndarray | None = None


class Slice(NamedTuple):
    """Every `step`-th row of a part from row `start`: rows are dealt out evenly, however sorted."""

    part: int
    start: int
    step: int


class Draw(NamedTuple):
    """Consecutive rows of one refill of the pool."""

    refill: int
    start: int
    stop: int


class Piece(NamedTuple):
    """Consecutive rows of the random order of one part."""

    part: int
    start: int
    stop: int

    def of(self, seed: int, length: int) -> np.ndarray:
        """Their numbers in the part; whoever holds the part can tell them."""
        return np.random.default_rng([seed, self.part, 2, 0]).permutation(length)[self.start : self.stop]


class Parts(Protocol):
    """What a source of parts offers; parts never change while it is open.

    Attributes
    ----------
    lengths : array of int
        Rows of each part.
    schema : pyarrow.Schema
        Columns of all parts.
    memory : int or None
        Bytes of drawn rows that are worth keeping; None where reading some of them again is cheap.
    """

    lengths: np.ndarray
    schema: pa.Schema
    memory: int | None

    def visit(self, picks: Sequence[Pick], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each pick, in the order asked for."""
        ...

    @property
    def by_columns(self) -> Callable[[int, Sequence[str]], Iterator[pa.Table]] | None:
        """``by_columns(part, names)`` yields a part some columns at a time; None where that saves nothing."""
        ...

    def make_pool(self, table: Any, seed: int) -> Any:
        """Make the sample of a table of these parts."""
        ...

    def make_workers(self, table: Any) -> Any:
        """Who can work on rows where they lie, None when they have to come here."""
        ...

    def where(self, part: int) -> str:
        """Say where a part lies, for messages."""
        ...

    def fingerprint(self) -> list:
        """Tell this data from other data, by content as far as it was read."""
        ...

    def check_unchanged(self) -> None:
        """Refuse data that have changed since they were opened, where reading them could not tell."""
        ...


def all_parts(parts: Parts) -> list[Pick]:
    """Every row of every part, in order."""
    return [Pick(part) for part in range(len(parts.lengths))]
