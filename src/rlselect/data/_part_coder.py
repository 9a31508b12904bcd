"""From rows of a part, as they lie in the data, to a batch: encoded and checked."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlselect.data._checks import check_finite, is_tame
from rlselect.data._design import Design, bind, encode
from rlselect.data._read import as_numbers, missing_mask, read_table, read_vector
from rlselect.data._schemas import is_number
from rlselect.data._source import Batch
from rlselect.data._store import float_dtype

# numbers that are turned from columns into rows at once, so many rows at a time: what these take stays in the
# cache until the numbers beside them are there; as many columns as fill one of its lines
_TILE = 2**22
_TILE_ROWS = 2**13
_LINE = 8
# rows that are encoded at once where that takes more memory than its result
_ENCODED_ROWS = 8192


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Say where the rows lie that an error speaks of."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from None


class Coder:
    """Encodes and checks rows of one part.

    Parameters
    ----------
    view : View
        Which design columns.
    roles : dict
        Name of the column of y, sample_weight and offset, None where there is none.
    dtype : dtype
        Of the design.
    drops : bool
        Whether rows with a missing value are left out.
    """

    def __init__(self, view: "View", roles: dict[str, str | None], dtype: np.dtype, *, drops: bool) -> None:
        self.view, self.roles, self.dtype, self._drops = view, roles, dtype, drops

    def encode(self, table: pa.Table, where: str) -> Batch:
        """Return the batch; an error says where the part lies."""
        view = self.view
        with _located(where):
            if self._drops:
                table = _without_gaps(table, [n for n in view.names if n not in _unmended(self.roles)])
            return self._batch(view.encode(table, self.dtype), table)

    def deal_pieces(
        self, pieces: Callable[[Sequence[str]], Iterator[pa.Table]], n_rows: int, n_slices: int, where: str
    ) -> list[Batch]:
        """Return a part that comes some columns at a time, for a plain view, its rows dealt out to slices."""
        view = self.view
        sizes = [len(range(k, n_rows, n_slices)) for k in range(n_slices)]
        designs = [np.empty((size, len(view.wanted)), dtype=self.dtype, order="F") for size in sizes]
        done = 0
        vectors = view.names[len(view.features) :]
        rest = next(pieces(vectors)) if vectors else pa.table({})
        for table in pieces(view.wanted):
            names = view.wanted[done : done + table.num_columns]
            with _located(where):
                _deal([X[:, done : done + len(names)] for X in designs], table, names, view.design.missing)
            done += len(names)
        with _located(where):
            values = self._vectors(rest)
        return [
            Batch(X, *(None if v is None else v[k::n_slices].copy() for v in values))
            for k, X in enumerate(designs)
        ]

    def _batch(self, X: np.ndarray, table: pa.Table) -> Batch:
        return Batch(X, *self._vectors(table))

    def _vectors(self, table: pa.Table) -> tuple[np.ndarray | None, ...]:
        """y, sample_weight and offset of rows, checked."""
        y, weight, offset = (
            None if name is None else read_vector(table.column(name), role)
            for role, name in self.roles.items()
        )
        _check_target(y)
        return y, _check_row_numbers(weight, "sample_weight"), _check_row_numbers(offset, "offset")


class View:
    """Some design columns: which columns of the data they need, and how they are made of them."""

    def __init__(
        self, design: Design, needed: np.ndarray | None, columns: np.ndarray | None, roles: dict
    ) -> None:
        names = [str(name) for name in design.feature_names()]
        self._columns: np.ndarray | None = None if columns is None else np.asarray(columns)
        self.design = design
        if needed is not None:
            features = np.unique(design.feature[needed])
            self.design = design.restricted(features)
            names = [names[j] for j in features]
            place = {
                (int(features[j]), int(k)): i
                for i, (j, k) in enumerate(zip(self.design.feature, self.design.kind, strict=True))
            }
            self._columns = np.array(
                [place[int(design.feature[c]), int(design.kind[c])] for c in needed], dtype=np.intp
            )
        self.features = names
        self.names = [*names, *dict.fromkeys(v for v in roles.values() if v is not None)]
        n_all = design.n_features + len(self.names) - len(names)
        self.share = len(self.names) / max(n_all, 1)

    @property
    def is_plain(self) -> bool:
        """Whether every design column is a column of the data, and every row stays."""
        return self.design.is_plain and self.design.missing == "error"

    @property
    def wanted(self) -> list[str]:
        """For a plain design, the column of the data that each design column is."""
        return self.features if self._columns is None else [self.features[j] for j in self._columns]

    def encode(self, table: pa.Table, dtype: np.dtype) -> np.ndarray:
        """Return the design columns of all rows."""
        if self.design.is_plain and self.design.missing != "indicator":
            X = np.empty((len(table), len(self.wanted)), dtype=dtype)
            _fill(X, table, self.wanted, self.design.missing)
            return X
        width = len(self.design.feature) if self._columns is None else len(self._columns)
        X = np.empty((len(table), width), dtype=dtype)
        if self.features:
            table = table.select(self.features)
            for start in range(0, len(table), _ENCODED_ROWS):
                store = bind(read_table(table.slice(start, _ENCODED_ROWS)), self.design)
                X[start : start + _ENCODED_ROWS] = encode(store, self.design, slice(None), self._columns)
        return X


def _fill(X: np.ndarray, table: pa.Table, names: list[str], missing: str) -> None:
    """Write columns of numbers into the columns of X, and check them."""
    step, tame = max(_LINE, _TILE // max(len(table), 1)), True
    for start in range(0, len(names), step):
        columns = [_plain(table.column(name), name) for name in names[start : start + step]]
        # a column at a time into long rows would miss the cache with every number
        for first in range(0, len(X), _TILE_ROWS):
            rows = slice(first, first + _TILE_ROWS)
            for j, column in enumerate(columns, start):
                X[rows, j] = column[rows]
        tame = tame and _all_tame(columns)
    if not tame:
        check_finite(X, names, missing)


def _deal(slices: list[np.ndarray], table: pa.Table, names: list[str], missing: str) -> None:
    """Write columns of numbers into the columns of slices, the rows dealt out evenly, and check them."""
    columns = [_plain(table.column(name), name) for name in names]
    for j, column in enumerate(columns):
        for k, X in enumerate(slices):
            X[:, j] = column[k :: len(slices)]
    if not _all_tame(columns):
        check_finite(np.column_stack(columns), names, missing)


def _all_tame(columns: list[np.ndarray]) -> bool:
    return all(column.dtype.kind != "f" or is_tame(column) for column in columns)


def _plain(column: pa.ChunkedArray, name: str) -> np.ndarray:
    kind = column.type
    if not is_number(kind):
        raise TypeError(f"Column {name!r} of X holds {kind} values, but numbers are needed.")
    if column.null_count or pa.types.is_decimal(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    return column.to_numpy()


def design_dtype(schema: pa.Schema, names: Sequence[str]) -> np.dtype:
    """float32 when these columns hold no other numbers, float64 otherwise."""
    kinds = [schema.field(n).type for n in names]
    return float_dtype(
        [
            np.dtype(np.float32 if k == pa.float32() else np.float64)
            for k in kinds
            if is_number(k) and not pa.types.is_null(k)
        ]
    )


def _unmended(roles: dict[str, str | None]) -> set[str]:
    return {name for role, name in roles.items() if name is not None and role != "y"}


def _without_gaps(table: pa.Table, names: Sequence[str]) -> pa.Table:
    keep = np.ones(len(table), dtype=bool)
    for name in names:
        keep &= ~pc.is_null(table.column(name), nan_is_null=True).to_numpy()
    return table if keep.all() else table.filter(pa.array(keep))


def _check_target(y: np.ndarray | None) -> None:
    if y is None:
        return
    gaps = int(missing_mask(y).sum())
    if gaps:
        raise ValueError(
            f'Input y contains missing values (NaN) in {gaps} of {len(y)} rows read. Use missing="drop" to '
            "leave those rows out."
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(
            f"Input y contains infinity in {np.isinf(y).sum()} of {len(y)} rows read; finite values are "
            "needed."
        )


def _check_row_numbers(values: np.ndarray | None, role: str) -> np.ndarray | None:
    if values is None:
        return None
    numbers = as_numbers(values, role)
    bad = len(numbers) - int(np.isfinite(numbers).sum())
    if bad:
        raise ValueError(
            f"{role} contains NaN or infinity in {bad} of {len(numbers)} rows read; finite values are needed."
        )
    if role == "sample_weight" and (numbers < 0).any():
        raise ValueError(
            f"sample_weight is negative in {(numbers < 0).sum()} of {len(numbers)} rows read; weights must "
            "be at least 0."
        )
    return numbers
