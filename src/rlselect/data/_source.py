"""What every table offers to those who learn from it, wherever its rows live."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from rlselect.data._encoder import TableEncoder


class Batch(NamedTuple):
    """Some rows, encoded and checked.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_columns)
        Design, float32 or float64; of a dense one either the rows or the columns are contiguous. It may be a
        view of the user's data: never write into it.
    y : ndarray of shape (n_rows,) or None
        Target as given, or as the response of the table makes it.
    sample_weight, offset : ndarray of shape (n_rows,) or None
        float64.
    """

    X: Any
    y: np.ndarray | None
    sample_weight: np.ndarray | None
    offset: np.ndarray | None


class Keeping(NamedTuple):
    """How to hold rows of a table that are needed again and again.

    Attributes
    ----------
    take : callable
        ``take(rows, columns)`` returns a batch.
    memory : int
        Bytes of design that may be kept; rows beyond are taken again.
    whole : bool
        Whether all columns are taken where some are wanted.
    resident : bool
        Whether batches may be views of data that stay in memory, and cost nothing to keep.
    spill : bool
        Whether rows beyond the memory go to a temporary file instead of being taken again.
    slow : bool
        Whether taking rows again costs more than many products with them, as where they have to be decoded.
    """

    take: Callable[..., Batch]
    memory: int = 2**30
    whole: bool = True
    resident: bool = False
    spill: bool = False
    slow: bool = False


class Sampler(Protocol):
    """Draws rows without replacement; what it yields is taken by `DataSource.take`."""

    n_rows: int
    n_used: int
    # whether any stretch of rows can be passed over at the price of memory
    in_memory: bool

    def draw(self, wanted: int, block: int) -> Iterator[Any]:
        """Draw rows, in blocks of about `block` rows that belong to two random halves in turn."""
        ...

    def everything(self, block: int) -> Iterator[Any]:
        """All rows, in blocks dealt out evenly between odd and even places."""
        ...

    def stretches(self, block: int) -> list[list[Any]]:
        """All rows in the order in which they lie, in stretches of some blocks that can be passed over alone.

        Rows that are passed over are not drawn.
        """
        ...

    def rounds(self, n_rounds: int, block: int, rng: np.random.Generator) -> list[list[Any]]:
        """These blocks in up to so many rounds, each with rows from all over the table."""
        ...

    def decodes(self, wanted: int) -> float:
        """About how many rows have to be touched to draw so many."""
        ...


class Workers(Protocol):
    """Those who hold some rows, and work on them where they lie."""

    def holds(self, rows: Any) -> bool:
        """Whether these rows are worked on where they lie."""
        ...

    def size(self, rows: Any) -> int:
        """Number of rows."""
        ...

    def start(self, function: Callable[..., Any], blocks: Sequence[Any], *args: Any) -> Iterator[Any]:
        """Start ``function(block, *args)`` where each block is; yields the answers in order."""
        ...


class RowStream(Protocol):
    """Rows that pass by in order: enough to predict from."""

    def scan(self, columns: np.ndarray | None = None) -> Iterator[Batch]:
        """Pass over all rows once, a batch at a time; `columns` are numbers of design columns."""
        ...

    def frames(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Pass over some columns as they lie in the data."""
        ...


class DataSource(Protocol):
    """A table of any kind, as learners see it: random rows, and whole passes.

    `columns` arguments are numbers of design columns; None means all of them. What `take` understands as
    rows depends on the source: it is what its sampler yields, or row numbers.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted, with the names of features and design columns.
    n_rows, n_columns : int
        Rows, and design columns.
    dtype : dtype
        float32 or float64, the dtype of batches.
    is_sparse : bool
        Whether batches are CSR arrays.
    in_memory : bool
        Whether any rows can be had for the price of copying them; if not, a look at all of them is slow, and
        rows come in the order in which they are read.
    batch_rows : int
        Rows that are held at once.
    sampler : Sampler
        Where rows are drawn from, after `start`.
    workers : Workers or None
        Who can work on rows where they lie.
    """

    encoder: TableEncoder
    n_rows: int
    n_columns: int
    dtype: np.dtype
    is_sparse: bool
    in_memory: bool
    batch_rows: int

    @property
    def columns(self) -> list[str]:
        """Names of the design columns."""
        ...

    @property
    def n_rows_decoded(self) -> int:
        """Rows decoded so far, 0 where rows need no decoding."""
        ...

    @property
    def sampler(self) -> Sampler:
        """Where rows are drawn from."""
        ...

    @property
    def workers(self) -> Workers | None:
        """Who can work on rows where they lie; None when they have to come here."""
        ...

    def start(self, rng: np.random.Generator) -> None:
        """Prepare to draw rows at random."""
        ...

    def resume(self, sampler: Any) -> None:
        """Go on with the sampler of a search that was interrupted."""
        ...

    def targets(self) -> np.ndarray:
        """Raw y of all rows, or of those that are read first where there are too many."""
        ...

    def set_response(self, response: Callable[[np.ndarray], np.ndarray], known: np.ndarray) -> None:
        """Turn every y into numbers from now on; `known` is what `response` makes of `targets()`."""
        ...

    def glance(self, rows: int, columns: np.ndarray | None = None) -> Batch:
        """Up to so many rows that are at hand: the first ones in memory, random ones of a source."""
        ...

    def take(self, rows: Any = None, columns: np.ndarray | None = None) -> Batch:
        """Return rows, encoded and checked; all of them by default."""
        ...

    def scan(self, columns: np.ndarray | None = None, *, count: bool = True) -> Iterator[Batch]:
        """Pass over all rows in order, some at a time; uncounted when it serves validation only."""
        ...

    def first_rows(self, rows: int, columns: np.ndarray | None = None) -> Batch:
        """Up to so many rows from the first on, in their order; of parts, those of the first one."""
        ...

    def keeping(self, *, many_passes: bool, large: bool) -> Keeping:
        """How to hold rows that are needed again, for few passes or for many."""
        ...

    def where(self, batch: int) -> str:
        """Where a batch of `scan` lies, for messages; empty in memory."""
        ...

    def fingerprint(self) -> list:
        """Plain values that tell these data from others, by their content."""
        ...

    def check_unchanged(self) -> None:
        """Refuse data that have changed since they were opened, once all that is needed was read."""
        ...
