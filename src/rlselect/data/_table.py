"""A table in memory, with its target, weights and offset: rows out, encoded and checked."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlselect.data._checks import all_finite, check_length, check_missing_mode
from rlselect.data._design import bind, default_names, encode, learn_design
from rlselect.data._encoder import TableEncoder
from rlselect.data._read import as_frame, as_numbers, missing_mask, read_table, read_vector
from rlselect.data._scan import scan_missing
from rlselect.data._source import Batch
from rlselect.data._store import DenseStore, Store, chunks


class Table:
    """Rows of a design with target, weights and offset; made by `open_table`.

    It holds the user's data as they are: rows are encoded and checked when taken.

    Attributes
    ----------
    n_rows, n_columns : int
        Rows that can be taken (after dropping), and design columns.
    encoder : TableEncoder
        Fitted encoder, with the names of features and design columns.
    y : ndarray of shape (n_rows,) or None
        Target as given: numbers, truth values, or text as objects.
    sample_weight, offset : ndarray of shape (n_rows,) or None
        float64.
    is_sparse : bool
        Whether batches are CSR arrays.
    dtype : dtype
        float32 or float64, the dtype of batches.
    rows_dropped : int
        Rows left out by ``missing="drop"``.
    """

    def __init__(
        self,
        store: Store,
        encoder: TableEncoder,
        y: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        kept: np.ndarray | None = None,
    ) -> None:
        self._store = store
        self._kept = kept
        self.encoder = encoder
        self.y = y
        self.sample_weight = sample_weight
        self.offset = offset
        self.n_rows = store.n_rows if kept is None else len(kept)
        self.n_columns = len(encoder.column_names_)
        self.is_sparse = store.is_sparse
        self.dtype = store.dtype
        self.rows_dropped = store.n_rows - self.n_rows

    @property
    def columns(self) -> list[str]:
        """Names of the design columns."""
        return self.encoder.column_names_

    @property
    def is_dense(self) -> bool:
        """Whether rows lie one after the other in one array, so that taking some is copying them."""
        store = self._store
        return isinstance(store, DenseStore) and store.X.flags.c_contiguous and self.encoder._design.is_plain

    @property
    def row_index_(self) -> np.ndarray:
        """Row of the given table that each row here comes from."""
        return np.arange(self.n_rows) if self._kept is None else self._kept

    def take(
        self,
        rows: slice | Sequence[int] | np.ndarray | None = None,
        columns: Sequence[int] | np.ndarray | None = None,
        *,
        check: bool = True,
    ) -> Batch:
        """Return rows, encoded and checked for NaN and infinity.

        Parameters
        ----------
        rows : None, slice or array of int or bool
            Rows wanted, in this order and as often as named; None takes all of them.
        columns : array of int, optional
            Design columns wanted; all of them by default. Only these are read and checked.
        check : bool, default=True
            Leave the check to who sums them up anyway.

        Returns
        -------
        Batch
            X, y, sample_weight and offset of these rows.

        Raises
        ------
        ValueError
            If a value is missing (unless ``missing="indicator"``) or infinite.
        """
        if rows is None:
            rows = slice(None)
        elif not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp, copy=False)
        where = rows if self._kept is None else self._kept[rows]
        wanted = None if columns is None else np.asarray(columns, dtype=np.intp)
        X = encode(self._store, self.encoder._design, where, wanted, check=check)
        vectors = (None if v is None else v[rows] for v in (self.y, self.sample_weight, self.offset))
        return Batch(X, *vectors)

    def sample(
        self, rows: int, columns: Sequence[int] | np.ndarray | None, rng: np.random.Generator
    ) -> Batch:
        """Draw distinct rows at random, in random order; all of them when there are fewer.

        Parameters
        ----------
        rows : int
            How many.
        columns : array of int or None
            Design columns wanted; None for all of them.
        rng : Generator
            Source of randomness.

        Returns
        -------
        Batch
            The rows drawn.
        """
        return self.take(rng.choice(self.n_rows, size=min(rows, self.n_rows), replace=False), columns)

    def scan(self, columns: Sequence[int] | np.ndarray | None = None) -> Iterator[Batch]:
        """Pass over all rows in order, a few million cells at a time.

        Parameters
        ----------
        columns : array of int, optional
            Design columns wanted; all of them by default.

        Yields
        ------
        Batch
            Consecutive rows.
        """
        for part in chunks(self.n_rows, self.n_columns if columns is None else len(columns)):
            yield self.take(part, columns)

    def __repr__(self) -> str:
        kind = "sparse " if self.is_sparse else ""
        return f"<{kind}Table of {self.n_rows} rows x {self.n_columns} columns>"


def open_table(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    missing: str = "error",
    encoder: TableEncoder | None = None,
    owner: str = "TableEncoder",
) -> Table:
    """Open a table that is in memory (or mapped into it).

    Numbers are neither copied nor scanned here, however many there are, unless `missing` asks for it: rows
    are checked when they are taken.

    Parameters
    ----------
    X : array, sparse matrix, list of rows or data frame of shape (n_samples, n_features)
        NumPy array or memory map, any scipy sparse container, pandas / polars / pyarrow table or any other
        eager frame that narwhals knows. Text and categories become indicators, see `TableEncoder`.
    y : array-like of shape (n_samples,) or str, optional
        Target, or the name of the column of X that holds it, which then is no feature.
    sample_weight : array-like of shape (n_samples,) or str, optional
        Finite, non-negative weights, not all of them zero, or the name of their column.
    offset : array-like of shape (n_samples,) or str, optional
        Known part of the linear predictor, or the name of its column.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values, see `TableEncoder`. With "drop", rows with a missing value in X or
        in y are left out of the table; otherwise a missing y is an error. Missing weights and offsets
        always are.
    encoder : TableEncoder, optional
        A fitted encoder, for new data: X is checked against it, `missing` is taken from it, and no row is
        dropped.
    owner : str
        Name of the estimator that asks, for messages.

    Returns
    -------
    Table
        The open table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from rlselect.data import open_table
    >>> frame = pa.table({"age": [31.0, 42.0, 27.0], "city": ["Rome", "Oslo", "Oslo"], "spent": [5, 9, 2]})
    >>> table = open_table(frame, "spent")
    >>> table
    <Table of 3 rows x 2 columns>
    >>> table.columns
    ['age', 'city=Rome']
    >>> batch = table.take([2, 0])
    >>> batch.X
    array([[27.,  0.],
           [31.,  1.]])
    >>> batch.y
    array([2, 5])
    """
    check_missing_mode(missing)
    given = {"y": y, "sample_weight": sample_weight, "offset": offset}
    named = tuple(v for v in given.values() if isinstance(v, str))
    frame = as_frame(X) if named else None
    # Names first: a misspelt target is a better message than what its absence leads to.
    columns = {role: read_vector(v, role, frame) for role, v in given.items() if isinstance(v, str)}
    store = read_table(X, named if encoder is None else (*named, *encoder.ignored_names_))
    vectors = {
        role: columns[role] if role in columns else _row_vector(v, role, store.n_rows)
        for role, v in given.items()
    }
    target = vectors["y"]
    if target is not None:
        check_length(target, store.n_rows, "y")
        _refuse_infinite_target(target)
    if encoder is None:
        kept = _kept_rows(store, target) if missing == "drop" else None
        design = learn_design(store, missing, kept, owner)
        encoder = TableEncoder(missing=missing)._set_design(design, named)
    else:
        kept = None
    store = bind(store, encoder._design, kept)
    if kept is not None:
        vectors = {role: None if v is None else v[kept] for role, v in vectors.items()}
    _refuse_missing_target(vectors["y"], encoder.missing)
    weight = _check_weight(vectors["sample_weight"], store.n_rows if kept is None else len(kept))
    shift = _check_numbers(vectors["offset"], "offset", store.n_rows if kept is None else len(kept))
    return Table(store, encoder, vectors["y"], weight, shift, kept)


def _row_vector(values: Any, role: str, n_rows: int) -> np.ndarray | None:
    if values is None:
        return None
    if role != "y" and np.isscalar(values):
        return np.full(n_rows, values)
    vector = read_vector(values, role)
    check_length(vector, n_rows, role)
    return vector


def _kept_rows(store: Store, y: np.ndarray | None) -> np.ndarray | None:
    """Return the rows without a gap; None when that is all of them."""
    names = default_names(store)
    gaps = scan_missing(store, names)
    lost = gaps.rows if y is None else gaps.rows | missing_mask(y)
    if lost.all():
        worst = int(np.argmax(gaps.counts))
        raise ValueError(
            f'missing="drop" leaves 0 of {store.n_rows} rows: each has a missing value in X or y. Column '
            f"{names[worst]!r} has the most ({gaps.counts[worst]}): leave such columns out, or use "
            'missing="indicator".'
        )
    return np.flatnonzero(~lost) if lost.any() else None


def _refuse_infinite_target(y: np.ndarray) -> None:
    if y.dtype.kind == "f" and not all_finite(y) and np.isinf(y).any():
        raise ValueError(
            f"Input y contains infinity in {np.isinf(y).sum()} of {len(y)} rows; finite values are needed."
        )


def _refuse_missing_target(y: np.ndarray | None, missing: str) -> None:
    if y is None or (y.dtype.kind == "f" and all_finite(y)):
        return
    count = int(missing_mask(y).sum())
    if count:
        raise ValueError(
            f"Input y contains missing values (NaN) in {count} of {len(y)} rows. Remove these rows"
            + (', or use missing="drop".' if missing != "drop" else ".")
        )


def _check_numbers(values: np.ndarray | None, name: str, n_rows: int) -> np.ndarray | None:
    if values is None:
        return None
    numbers = as_numbers(values, name)
    bad = int(n_rows - np.isfinite(numbers).sum())
    if bad:
        raise ValueError(
            f"{name} contains NaN or infinity in {bad} of {n_rows} rows; finite values are needed."
        )
    return numbers


def _check_weight(values: np.ndarray | None, n_rows: int) -> np.ndarray | None:
    weight = _check_numbers(values, "sample_weight", n_rows)
    if weight is None:
        return None
    negative = int((weight < 0).sum())
    if negative:
        raise ValueError(
            f"sample_weight is negative in {negative} of {n_rows} rows; weights must be at least 0."
        )
    if not weight.any():
        raise ValueError("All values of sample_weight are zero; at least one weight must be positive.")
    return weight
