"""From what users pass (arrays, sparse matrices, lists, data frames) to a store and to row-length vectors."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.exceptions import DuplicateError
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from rlselect.data._checks import check_shape, refuse_huge, unknown_column
from rlselect.data._store import Column, ColumnStore, DenseStore, SparseStore, Store, as_csr
from rlselect.data._written import say_comma

_NUMBER = "fiub"


def as_frame(X: Any, table: str = "X", *, collect: bool = False) -> nw.DataFrame | None:
    """Return a narwhals frame when X is a data frame in memory, None when it is something else.

    `table` is what messages call it; `collect` reads lazy frames into memory instead of refusing them.
    """
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"The column names of {table} must differ from each other. {error}") from None
    if isinstance(frame, nw.LazyFrame):
        if collect:
            return frame.collect()
        raise TypeError(
            f"X is a lazy frame ({type(X).__module__}); collect it into memory first, or give the path of "
            "its files or a function that returns an iterable of data frames."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def read_table(X: Any, exclude: Sequence[str] = ()) -> Store:
    """Hold X without copying numbers and without scanning them.

    Parameters
    ----------
    X : array, sparse matrix, list of rows, or data frame
        What the user gave.
    exclude : sequence of str
        Columns of a frame that are not features; those that the frame lacks are ignored.
    """
    if isinstance(X, str | bytes):
        raise TypeError(f"X={X!r} is text; pass the table itself, read into memory.")
    if sparse.issparse(X):
        return _read_sparse(X)
    frame = as_frame(X)
    if frame is not None:
        return _read_frame(frame, exclude)
    if isinstance(X, dict | set | frozenset) or X is None:
        raise TypeError(f"X is a {type(X).__name__}; pass an array, a sparse matrix or a data frame.")
    return _read_array(X)


def _refuse_complex(dtype: np.dtype, name: str) -> None:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {dtype}.")


def _refuse_dates(dtype: Any, name: str) -> None:
    raise TypeError(
        f"{name} holds dates or times ({dtype}); turn it into numbers first, for instance days since a start,"
        " or leave it out."
    )


def _read_sparse(X: Any) -> SparseStore:
    check_shape(X.shape)
    _refuse_complex(X.dtype, "X")
    if X.dtype.kind not in _NUMBER:
        raise TypeError(f"X is a sparse matrix of dtype {X.dtype}; numbers are needed.")
    check_pointers(X)
    return SparseStore(as_csr(X))


def check_pointers(X: Any) -> None:
    """Refuse positions outside of a sparse matrix, which compiled code would read without looking."""
    if not sparse.issparse(X):
        return
    sound = True
    if X.format in ("csr", "csc", "bsr"):
        try:
            X.check_format(full_check=True)
        except ValueError:
            sound = False
    elif X.format == "coo":
        both = zip(X.coords, X.shape, strict=True)
        sound = all(len(at) == len(X.data) and _lie_within(at, size) for at, size in both)
    if not sound:
        raise ValueError(
            f"X is a sparse matrix ({X.format}) whose indices do not fit its shape {X.shape}; build it "
            "again, for instance from its rows, columns and values with scipy.sparse.coo_array."
        )


def _lie_within(at: np.ndarray, size: int) -> bool:
    return not len(at) or (int(at.min()) >= 0 and int(at.max()) < size)


def as_array(X: Any, table: str = "X") -> np.ndarray:
    """An array of two dimensions from an array or a list of rows; text beside numbers makes objects."""
    X = _unmasked(X)
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not hasattr(X, "dtype"):
            # NumPy turns rows of numbers and text into text throughout; objects keep the numbers.
            array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"{table} cannot be read as a table: its rows differ in length or depth ({error})."
        ) from None
    check_shape(array.shape, table)
    _refuse_complex(array.dtype, table)
    return array


def _unmasked(values: Any) -> Any:
    """Masked numbers as gaps: what lies under a mask is no value."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind not in _NUMBER:
        return np.ma.filled(values.astype(object), None)
    return np.ma.filled(values.astype(np.promote_types(values.dtype, np.float32)), np.nan)


def _read_array(X: Any) -> Store:
    array = as_array(X)
    kind = array.dtype.kind
    if kind in _NUMBER:
        return DenseStore(array)
    if kind in "Mm":
        _refuse_dates(array.dtype, "X")
    if kind not in "OUST":
        raise TypeError(f"X has dtype {array.dtype}; an array of numbers or text is needed.")
    columns = [read_objects(array[:, j], f"Column 'x{j}' of X") for j in range(array.shape[1])]
    return ColumnStore(columns)


def _read_frame(frame: nw.DataFrame, exclude: Sequence[str]) -> Store:
    names = frame.columns
    n_text = sum(isinstance(n, str) for n in names)
    if 0 < n_text < len(names):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but X has a mix of "
            "string and other column names. Convert them with X.columns = X.columns.astype(str)."
        )
    outside = set(exclude)
    keep = [j for j, n in enumerate(names) if n not in outside]
    check_shape((frame.shape[0], len(keep)))
    kept_names = [names[j] for j in keep] if n_text else None
    if frame.implementation.is_pandas_like() and len(keep) == len(names):
        whole = _whole_pandas(frame.to_native(), kept_names)
        if whole is not None:
            return whole
    columns = [
        read_series(series, f"Column {name!r} of X")
        for name, series in zip(names, frame.iter_columns(), strict=True)
        if name not in outside
    ]
    return ColumnStore(columns, kept_names)


def _whole_pandas(native: Any, names: list[str] | None) -> Store | None:
    """Hold a pandas frame as one array when it is stored as one; None when it is not."""
    dtypes = list(native.dtypes)
    # pandas leaves out NaN by default; a matrix can leave out zeros alone
    if all(getattr(d, "fill_value", None) == 0 for d in dtypes):
        return SparseStore(as_csr(native.sparse.to_coo()), names)
    first = dtypes[0]
    if not isinstance(first, np.dtype) or first.kind not in _NUMBER or any(d != first for d in dtypes):
        return None
    ends = [native.iloc[:, j].to_numpy() for j in (0, -1)]
    for k, end in enumerate(ends):
        while isinstance(end.base, np.ndarray):
            end = end.base
        ends[k] = end
    # Columns that live in several blocks would be copied into one array here: they stay columns instead.
    return DenseStore(native.to_numpy(), names) if ends[0] is ends[1] else None


def read_series(series: nw.Series, name: str) -> Column:
    """Read one column of a frame."""
    dtype = series.dtype
    if dtype.is_temporal():
        _refuse_dates(dtype, name)
    if dtype.is_numeric() or dtype == nw.Boolean or dtype == nw.Unknown:
        # NumPy has no whole numbers of 128 bits
        values = (series.cast(nw.Float64) if dtype in (nw.Int128, nw.UInt128) else series).to_numpy()
        if values.ndim != 1:  # such as intervals in polars
            several = f"{np.size(values, 1)} numbers per cell"
            raise TypeError(f"{name} holds {several}: each argument must be a string or a number.")
        _refuse_complex(values.dtype, name)
        if values.dtype.kind in _NUMBER and not (dtype == nw.Unknown and np.isnan(values).all()):
            return Column(values=values, truth=dtype == nw.Boolean)
        if dtype != nw.Unknown:  # decimals, and booleans with gaps
            return Column(values=_numbers(series.to_arrow()), truth=dtype == nw.Boolean)
    if dtype == nw.Object:
        return read_objects(series.to_numpy(), name)
    # pandas categoricals and Enums keep the order in which their user declared the levels
    declared = series.implementation.is_pandas_like() or dtype == nw.Enum
    try:
        array = series.to_arrow()
    except (pa.ArrowException, TypeError):
        raise _mixture(series.to_numpy(), name) from None
    return _read_arrow(array, name, declared_order=declared)


def read_objects(values: np.ndarray, name: str, *, booleans_as_text: bool = True) -> Column:
    """Read an array of Python objects as numbers or as text; a mixture is refused."""
    values = values.astype(object, copy=False)
    if any(isinstance(value, np.longdouble) for value in values):  # beside whole numbers Arrow rounds them
        values = np.array([float(v) if isinstance(v, np.longdouble) else v for v in values], dtype=object)
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        raise _mixture(values, name) from None
    # after a number Arrow takes truth values as numbers, before one it does not
    if pa.types.is_floating(array.type) and any(isinstance(value, bool | np.bool_) for value in values):
        raise _mixture(values, name)
    return _read_arrow(array, name, booleans_as_text=booleans_as_text)


def is_gap(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _mixture(values: np.ndarray, name: str) -> Exception:
    """Say what an object column holds that cannot be read as one kind of thing."""
    odd, text, number = None, None, None
    for value in values:
        if isinstance(value, complex):
            return ValueError(f"Complex data not supported: {name} holds {value!r}.")
        if isinstance(value, str):
            text = value if text is None else text
        elif isinstance(value, int | float | np.number | np.bool_):
            number = value if number is None and not is_gap(value) else number
        elif value is not None and type(value).__name__ not in ("NAType", "NaTType"):
            odd = value if odd is None else odd
    if odd is not None:
        return TypeError(f"{name} holds a {type(odd).__name__}: each argument must be a string or a number.")
    if text is None:
        return ValueError(f"{name} mixes truth values or very large whole numbers with other numbers.")
    return ValueError(
        f"{name} mixes numbers ({number!r}) and text ({text!r}): make it all numbers, or all text for "
        "categories."
    )


def _numbers(array: Any) -> np.ndarray:
    """Whole numbers and truth values stay what they are unless there are gaps; the rest becomes float64."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count == 0 and not pa.types.is_decimal(array.type):
        return array.to_numpy(zero_copy_only=False)
    return pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _read_arrow(
    array: Any, name: str, *, declared_order: bool = False, booleans_as_text: bool = False
) -> Column:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    types = pa.types
    if types.is_null(kind):
        return Column(values=np.full(len(array), np.nan, np.float32), codes=np.full(len(array), -1, np.int32))
    if types.is_temporal(kind):
        _refuse_dates(kind, name)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return Column(values=_numbers(array))
    if types.is_boolean(kind) and not booleans_as_text:
        return Column(values=_numbers(array), truth=True)
    if types.is_dictionary(kind):
        return replace(_levels(array, name, sort=not (kind.ordered or declared_order)), declared=True)
    if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        return _levels(array.dictionary_encode(), name, sort=True)
    if types.is_string_view(kind):
        # through Python: older Arrow versions cannot cast views
        return _levels(pa.array(array.to_pylist(), pa.large_string()).dictionary_encode(), name, sort=True)
    raise TypeError(f"{name} holds {kind} values: each argument must be a string or a number.")


def _levels(array: Any, name: str, *, sort: bool) -> Column:
    """Turn a dictionary array into codes whose order is the order of the levels."""
    raw = array.dictionary.to_pylist()
    if any(isinstance(v, dict | list) for v in raw):
        raise TypeError(
            f"{name} holds {array.type.value_type} values: each argument must be a string or a number."
        )
    known = [v for v in raw if not is_gap(v)]
    if sort:
        known.sort(key=lambda v: (isinstance(v, str), v))
    levels = list(dict.fromkeys(str(v) for v in known))
    place = {level: k for k, level in enumerate(levels)}
    # One more entry than the dictionary has, so that code -1 (a gap) finds -1 at its end.
    remap = np.array([-1 if is_gap(v) else place[str(v)] for v in raw] + [-1], dtype=np.int32)
    codes = pc.fill_null(pc.cast(array.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    return Column(codes=remap[codes], levels=levels)


def read_vector(values: Any, name: str, frame: nw.DataFrame | None = None) -> np.ndarray:
    """Read a row-length vector as a 1-D array: numbers stay numbers, text becomes objects, gaps NaN or None.

    `values` may be the name of a column of `frame`.
    """
    if isinstance(values, str):
        if frame is None:
            raise TypeError(
                f"{name}={values!r} names a column, but X has no column names: pass a data frame as X, or "
                f"the values themselves as {name}."
            )
        if values not in frame.columns:
            raise unknown_column(name, values, frame.columns)
        values = frame.get_column(values)
        name = f"{name} (column {values.name!r})"
    else:
        values = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(values, nw.Series):
        dtype = values.dtype
        if dtype.is_numeric() or dtype == nw.Boolean or dtype.is_temporal():
            return _untyped(read_series(values, name))
        values = values.to_numpy()
    values = _unmasked(values)
    if isinstance(values, dict | set | frozenset):
        raise TypeError(f"{name} is a {type(values).__name__}; a 1-D array is needed.")
    if sparse.issparse(values):
        raise TypeError(
            f"{name} is a sparse matrix; pass a dense 1-D array, for instance {name}.toarray().ravel()."
        )
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not hasattr(values, "dtype"):
            array = np.asarray(values, dtype=object)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as a 1-D array: {str(error).rstrip('.')}.") from None
    _refuse_complex(array.dtype, name)
    if array.ndim != 1:
        # scikit-learn's rule: a single column is flattened with a warning, anything wider refused
        try:
            array = column_or_1d(array, warn=True)
        except ValueError:
            raise ValueError(f"{name} should be a 1d array, got an array of shape {array.shape}.") from None
    kind = array.dtype.kind
    if kind in _NUMBER:
        return np.asarray(array)
    if kind in "Mm":
        _refuse_dates(array.dtype, name)
    return _untyped(read_objects(array, name, booleans_as_text=False))


def _untyped(column: Column) -> np.ndarray:
    """Return the values of a column as one plain array."""
    if column.values is not None:
        values = column.values
        return values.astype(np.float64) if values.dtype == np.float16 else values
    return np.array([*column.levels, None], dtype=object)[column.codes]


def missing_mask(values: np.ndarray) -> np.ndarray:
    """Mark the gaps of a vector made by `read_vector`."""
    if values.dtype.kind in "fmM":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([v is None for v in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def as_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Return a vector made by `read_vector` as float64; text is refused with an example of it.

    Examples
    --------
    >>> as_numbers(np.array(["3.5", "cat"], dtype=object), "y")
    Traceback (most recent call last):
        ...
    TypeError: y holds text ('3.5'), but numbers are needed here; convert it first.
    """
    if values.dtype.kind not in _NUMBER:
        shown = next((v for v in values if v is not None), None)
        mend = f"convert it first{say_comma(shown)}"
        raise TypeError(f"{name} holds text ({str(shown)!r}), but numbers are needed here; {mend}.")
    refuse_huge(values, name)
    return values.astype(np.float64, copy=False)
