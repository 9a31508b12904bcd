"""A table in memory, with its target, weights and offset: rows out, encoded and checked."""

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np

from rlselect._compat import user_level
from rlselect.data._checks import all_finite, check_length, warn_of_order
from rlselect.data._design import bind, default_names, encode, learn_design
from rlselect.data._encoder import TableEncoder
from rlselect.data._gaps import scan_missing
from rlselect.data._read import as_frame, as_numbers, missing_mask, read_table, read_vector
from rlselect.data._sampler import RowSampler
from rlselect.data._source import Batch, Keeping, Workers
from rlselect.data._store import DenseStore, Store, chunks

# rows of a smaller mean weight are probably weighted by shares, not by copies
_LEAST_WEIGHT = 0.1
_LARGEST_WEIGHT = 1e15
# and so often may one row count beside all others
_MOST_OF_ONE = 1e10
# rows of an array that are kept beside it
_FEW_BYTES = 2**25
# what every table has; others come with an outcome
_ROLES = ("y", "sample_weight", "offset")


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
    extra : dict
        Further vectors that go with the rows, by role.
    rows_dropped : int
        Rows left out by ``missing="drop"``.
    """

    in_memory = True
    # nothing has to be decoded, and nobody else holds the rows
    n_rows_decoded = 0
    workers: Workers | None = None

    def __init__(
        self,
        store: Store,
        encoder: TableEncoder,
        y: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        kept: np.ndarray | None = None,
        extra: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._store = store
        self._kept = kept
        self.encoder = encoder
        self.y = y
        self.sample_weight = sample_weight
        self.offset = offset
        self.extra = dict(extra or {})
        self.n_rows = store.n_rows if kept is None else len(kept)
        self.n_columns = len(encoder.column_names_)
        self.is_sparse = store.is_sparse
        self.dtype = store.dtype
        self.batch_rows = self.n_rows
        self.rows_dropped = store.n_rows - self.n_rows

    @property
    def columns(self) -> list[str]:
        """Names of the design columns."""
        return self.encoder.column_names_

    @property
    def is_dense(self) -> bool:
        """Whether rows lie one after the other in one array, so that taking some is copying them."""
        store = self._store
        return isinstance(store, DenseStore) and store.X.flags.c_contiguous and self.encoder.design_.is_plain

    @property
    def row_index_(self) -> np.ndarray:
        """Row of the given table that each row here comes from."""
        return np.arange(self.n_rows) if self._kept is None else self._kept

    def start(self, rng: np.random.Generator) -> None:
        """Prepare to draw rows at random."""
        self._rng = rng
        self.__dict__.pop("sampler", None)

    @cached_property
    def sampler(self) -> RowSampler:
        """Where rows are drawn from; made when it is first asked for, since it may shuffle all rows."""
        return RowSampler(self.n_rows, self._rng)

    def resume(self, sampler: RowSampler) -> None:
        """Go on with the sampler of a search that was interrupted."""
        self.sampler = sampler

    def targets(self) -> np.ndarray:
        """Raw y of all rows."""
        assert self.y is not None
        return self.y

    def set_response(self, response: Callable[[np.ndarray], np.ndarray], known: np.ndarray) -> None:
        """Put numbers into the place of y; `known` is what `response` makes of it."""
        self.y = known

    def glance(self, rows: int, columns: np.ndarray | None = None) -> Batch:
        """Return the first rows."""
        return self.take(slice(0, min(rows, self.n_rows)), columns)

    def keeping(self, *, many_passes: bool, large: bool) -> Keeping:
        """How to hold rows that are needed again."""
        if many_passes or not (large and self.is_dense):
            return Keeping(self.take)
        # rows are copied again in less time than the memory for keeping them takes to be made; a value that
        # is missing or infinite shows in the sums of squares of who takes them
        return Keeping(partial(self.take, check=False), _FEW_BYTES, whole=False, resident=True)

    def where(self, batch: int) -> str:
        """Nothing to add to a message: there is one place only."""
        return ""

    def fingerprint(self) -> list:
        """Tell this table from others by all of its content, about a second for two gigabytes."""
        digest = sha256()
        for part in chunks(self.n_rows, self.n_columns):
            batch = self.take(part, check=False)
            X = (batch.X.data, batch.X.indices, batch.X.indptr) if self.is_sparse else (batch.X,)
            for values in (*X, *batch[1:]):
                if values is not None:
                    digest.update(_content(values))
        return [digest.hexdigest(), self.sample_weight is not None, self.offset is not None]

    def check_unchanged(self) -> None:
        """Nothing to do: what is in memory is its owner's to keep."""

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
        X = encode(self._store, self.encoder.design_, where, wanted, check=check)
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

    def first_rows(self, rows: int, columns: np.ndarray | None = None) -> Batch:
        """Up to so many rows from the first on, in their order."""
        return self.take(slice(0, min(rows, self.n_rows)), columns)

    def part(self, rows: np.ndarray) -> "Table":
        """Some of the rows as a table of their own; `rows` are numbers, in this order."""
        y, weight, offset = (
            None if v is None else v[rows] for v in (self.y, self.sample_weight, self.offset)
        )
        extra = {role: values[rows] for role, values in self.extra.items()}
        return Table(self._store, self.encoder, y, weight, offset, self.row_index_[rows], extra)

    def with_target(self, y: np.ndarray) -> "Table":
        """The same rows with another y."""
        twin = copy.copy(self)
        twin.y = y
        return twin

    def scan(
        self, columns: Sequence[int] | np.ndarray | None = None, *, count: bool = True
    ) -> Iterator[Batch]:
        """Pass over all rows in order, a few million cells at a time.

        Parameters
        ----------
        columns : array of int, optional
            Design columns wanted; all of them by default.
        count : bool
            Without effect: nothing is decoded here.

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


def _content(values: np.ndarray) -> Any:
    """Bytes that say what an array holds."""
    if values.dtype == object:
        return repr(values.tolist()).encode("utf-8", "surrogatepass")
    return np.ascontiguousarray(values).view(np.uint8).data


def make_table(
    X: Any, given: dict[str, Any], missing: str, encoder: TableEncoder | None, owner: str
) -> Table:
    """Open a table that is in memory, see `open_table`; `given` are what goes with its rows, by role."""
    store, vectors, named = read_with_vectors(X, given, () if encoder is None else encoder.ignored_names_)
    target = vectors["y"]
    if encoder is None:
        others = [v for role, v in vectors.items() if role not in _ROLES]
        kept = _kept_rows(store, [target, *others]) if missing == "drop" else None
        design = learn_design(store, missing, kept, owner)
        encoder = TableEncoder(missing=missing).set_design(design, named)
    else:
        kept = None
    store = bind(store, encoder.design_, kept)
    if kept is not None:
        vectors = {role: None if v is None else v[kept] for role, v in vectors.items()}
    fix = ', or use missing="drop"' if encoder.missing != "drop" else ""
    refuse_missing_target(vectors["y"], fix)
    weight = check_weight(vectors["sample_weight"], store.n_rows if kept is None else len(kept))
    shift = _check_numbers(vectors["offset"], "offset", store.n_rows if kept is None else len(kept))
    extra = {role: v for role, v in vectors.items() if role not in _ROLES and v is not None}
    for role, values in extra.items():
        _refuse_gaps(values, role, fix)
    return Table(store, encoder, vectors["y"], weight, shift, kept, extra)


def read_with_vectors(
    X: Any, given: dict[str, Any], ignored: Sequence[str] = ()
) -> tuple[Store, dict[str, np.ndarray | None], tuple[str, ...]]:
    """Read a table and what goes with its rows.

    Parameters
    ----------
    X : table
        As for `open_table`.
    given : dict
        Role ("y", "sample_weight", ...) -> values, name of a column, or None.
    ignored : sequence of str
        Columns of a frame that are no features.

    Returns
    -------
    store : Store
        Without the columns that have a role.
    vectors : dict
        Role -> values of the length of X, or None.
    named : tuple of str
        Columns that have a role.
    """
    named = tuple(v for v in given.values() if isinstance(v, str))
    frame = as_frame(X) if named else None
    # Names first: a misspelt target is a better message than what its absence leads to.
    columns = {role: read_vector(v, role, frame) for role, v in given.items() if isinstance(v, str)}
    store = read_table(X, (*named, *ignored))
    for role, values in given.items():
        warn_of_order(X, values, role)
    vectors = {
        role: columns[role] if role in columns else _row_vector(v, role, store.n_rows)
        for role, v in given.items()
    }
    target = vectors.get("y")
    if target is not None:
        check_length(target, store.n_rows, "y")
        _refuse_infinite_target(target)
    return store, vectors, named


def read_vectors(X: Any, given: dict[str, Any]) -> dict[str, np.ndarray | None]:
    """Targets and weights of a table's rows, for those who have read the table already.

    Parameters
    ----------
    X : table
        As for `open_table`.
    given : dict
        ``y`` and ``sample_weight``: values, the name of a column, or None.

    Returns
    -------
    dict
        Checked arrays, or None.
    """
    store, vectors, _ = read_with_vectors(X, given)
    refuse_missing_target(vectors["y"])
    return {**vectors, "sample_weight": check_weight(vectors["sample_weight"], store.n_rows, counts=False)}


def _row_vector(values: Any, role: str, n_rows: int) -> np.ndarray | None:
    if values is None:
        return None
    if role != "y" and np.isscalar(values):
        return np.full(n_rows, values)
    vector = read_vector(values, role)
    check_length(vector, n_rows, role)
    return vector


def _kept_rows(store: Store, targets: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Return the rows without a gap; None when that is all of them."""
    names = default_names(store)
    gaps = scan_missing(store, names)
    lost = np.logical_or.reduce([gaps.rows, *(missing_mask(y) for y in targets if y is not None)])
    if lost.all():
        worst = int(np.argmax(gaps.counts))
        raise ValueError(
            f'missing="drop" leaves 0 of {store.n_rows} rows: each has a missing value in X or y. Column '
            f"{names[worst]!r} has the most ({gaps.counts[worst]}): leave such columns out, or use "
            'missing="indicator".'
        )
    return np.flatnonzero(~lost) if lost.any() else None


def _refuse_gaps(values: np.ndarray, role: str, fix: str) -> None:
    count = int(missing_mask(values).sum())
    if count:
        raise ValueError(
            f"{role} has missing values (NaN) in {count} of {len(values)} rows. Remove these rows{fix}."
        )


def _refuse_infinite_target(y: np.ndarray) -> None:
    if y.dtype.kind == "f" and not all_finite(y) and np.isinf(y).any():
        raise ValueError(
            f"Input y contains infinity in {np.isinf(y).sum()} of {len(y)} rows; finite values are needed."
        )


def refuse_missing_target(y: np.ndarray | None, fix: str = "") -> None:
    """Refuse a target with gaps; `fix` names another way out than removing the rows."""
    if y is None or (y.dtype.kind == "f" and all_finite(y)):
        return
    count = int(missing_mask(y).sum())
    if count:
        raise ValueError(
            f"Input y contains missing values (NaN) in {count} of {len(y)} rows. Remove these rows{fix}."
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


def check_weight(values: np.ndarray | None, n_rows: int, *, counts: bool = True) -> np.ndarray | None:
    """Weights as numbers; negative ones, gaps, huge ones and nothing but zeros are refused.

    Where weights count rows, those that look like shares are warned about.
    """
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
    if weight.max() > _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight holds {weight.max():.3g}: a weight of k stands for k copies of a row, and beyond "
            f"{_LARGEST_WEIGHT:.0e} one row more would not show. Divide the weights by a number."
        )
    others = float(np.delete(weight, np.argmax(weight)).sum())
    if 0 < others < weight.max() / _MOST_OF_ONE:
        raise ValueError(
            f"sample_weight holds {weight.max():.3g} for one row and {others:.3g} for all others together: "
            "what they say is lost in rounding beside it. Lower that weight, or leave the row out."
        )
    if weight.max() < 1.0 / _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight is at most {weight.max():.3g}: a weight of k stands for k copies of a row. "
            "Multiply the weights by a number."
        )
    if counts:
        _warn_of_shares(weight)
    # beside the largest a weight this small counts nothing, and its inverse may be no number
    return np.where(weight < 1e-30 * weight.max(), 0.0, weight)


def _warn_of_shares(weight: np.ndarray) -> None:
    positive = weight[weight > 0]
    mean = positive.mean()
    if mean < _LEAST_WEIGHT:
        warnings.warn(
            f"sample_weight has the mean {mean:.2g}, so that {len(positive)} rows count as "
            f"{weight.sum():.2g}: a weight of k stands for k copies of a row. Multiply the weights if they "
            "are meant as shares.",
            UserWarning,
            stacklevel=user_level(),
        )
