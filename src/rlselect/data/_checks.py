"""The sentences a user reads when data cannot be used, and the cheap tests behind them."""

import difflib
import warnings
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from rlselect._compat import user_level

MissingMode: TypeAlias = Literal["error", "drop", "indicator"]
MISSING_MODES = get_args(MissingMode)
# beyond this the square of a number, times a weight, summed over rows, may be none
LARGEST = 1e130
_SHOWN = 5  # a message names at most this many columns

_FIXES = {
    "error": (
        'Fit with missing="indicator", which imputes the mean and adds a column that marks them, or with '
        'missing="drop", which leaves those rows out of the fit and still predicts none with gaps.'
    ),
    "drop": (
        'missing="drop" leaves rows out when fitting, but every row needs an answer here: remove these rows '
        'first, or fit with missing="indicator".'
    ),
    "indicator": "",
}


def check_missing_mode(missing: Any) -> None:
    """Refuse an unknown way of treating missing values."""
    if missing not in MISSING_MODES:
        allowed = ", ".join(f'"{m}"' for m in MISSING_MODES)
        raise ValueError(f"missing={missing!r} is not known; use one of {allowed}.")


def nearest_names(name: str, known: Iterable[Any]) -> list[str]:
    """Up to three of the known names that look most like `name`, whatever their case.

    Examples
    --------
    >>> nearest_names("incme", ["age", "Income", "city"])
    ['Income']
    """
    by_lower: dict[str, str] = {}
    for other in known:
        by_lower.setdefault(str(other).lower(), str(other))
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.5)
    return [by_lower[c] for c in close]


def unknown_column(role: str, name: str, known: Sequence[Any], table: str = "X") -> ValueError:
    """Build the error for a column name that the table does not have."""
    close = nearest_names(name, known)
    if close:
        hint = "Did you mean " + " or ".join(repr(c) for c in close) + "?"
    else:
        shown = ", ".join(repr(str(c)) for c in list(known)[:_SHOWN])
        hint = f"Its columns are {shown}{', ...' if len(known) > _SHOWN else ''}."
    return ValueError(f"{role}={name!r} is not a column of {table}. {hint}")


def check_shape(shape: tuple[int, ...], table: str = "X") -> None:
    """Refuse anything but a table with at least one row and one column."""
    if len(shape) < 2:
        got = "a scalar" if not shape else f"a 1D array of shape {shape}"
        raise ValueError(
            f"Expected a 2D table for {table}, got {got}. Reshape your data with {table}.reshape(-1, 1) if "
            f"it is one feature, or {table}.reshape(1, -1) if it is one row."
        )
    if len(shape) > 2:
        raise ValueError(
            f"Found array with dim {len(shape)} for {table} (shape={shape}), while dim <= 2 is required."
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def require_target(y: Any, owner: str) -> None:
    """Refuse a fit without a target."""
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None; pass it or its column's name."
        )


def name_of(y: Any) -> str | None:
    """What data call a target: the name of its column, of a series, or of the only column of a frame.

    Examples
    --------
    >>> name_of("price"), name_of(("days", "died")), name_of([1.0, 2.0])
    ('price', 'days', None)
    """
    if isinstance(y, str):
        return y
    if isinstance(y, tuple) and len(y) == 2:
        return name_of(y[0])
    # arrays of Dask have names, too, that nobody gave them
    columns: Any = [y.name] if hasattr(y, "to_frame") else getattr(y, "column_names", None)
    columns = getattr(y, "columns", ()) if columns is None else columns
    name = columns[0] if len(columns) == 1 else None
    return name if isinstance(name, str) and name.strip() else None


def require_rows(n_rows: int, least: int, owner: str) -> None:
    """Refuse a table that is too short to learn from."""
    if n_rows < least:
        raise ValueError(
            f"Found array with {n_rows} sample(s) (n_samples = {n_rows}) while a minimum of {least} is "
            f"required by {owner}."
        )


def check_length(values: Sized, n_rows: int, name: str, table: str = "X") -> None:
    """Refuse a row-length vector of another length than the table."""
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} values, but {table} has {n_rows} rows; they must agree.")


def warn_of_order(table: Any, values: Any, name: str, called: str = "X") -> None:
    """Rows meet by position: of two indices with the same labels in another order, one was sorted alone."""
    mine: Any = getattr(table, "index", None)
    other: Any = getattr(values, "index", None)
    # lists have an index too, which is a method
    if not (hasattr(mine, "equals") and hasattr(other, "equals")) or len(mine) != len(other):
        return
    if mine.equals(other) or not (mine.is_unique and other.is_unique and mine.isin(other).all()):
        return
    warnings.warn(
        f"The index of {name} has the labels of that of {called} in another order, and rows are matched by "
        f"position, not by label. Where {name} was sorted or shuffled alone, give "
        f"{name}.loc[{called}.index]; where it was not, {name}.to_numpy() says so.",
        UserWarning,
        stacklevel=user_level(),
    )


def _listed(names: Sequence[str], counts: np.ndarray) -> str:
    shown = [f"{n!r} ({c} row{'s' if c > 1 else ''})" for n, c in zip(names[:_SHOWN], counts, strict=False)]
    if len(names) > _SHOWN:
        shown.append(f"and {len(names) - _SHOWN} more")
    return f"column{'s' if len(names) > 1 else ''} " + ", ".join(shown)


def missing_error(names: Sequence[str], counts: np.ndarray, n_rows: int, missing: str) -> ValueError:
    """Build the error for missing values in X: where, how many, and what to do."""
    where = _listed(names, counts)
    text = f"Input X contains missing values (NaN) in {where}, of {n_rows} rows read. {_FIXES[missing]}"
    return ValueError(text.rstrip())


def infinity_error(names: Sequence[str], counts: np.ndarray, n_rows: int, dtype: np.dtype) -> ValueError:
    """Build the error for infinite values in X."""
    return ValueError(
        f"Input X contains infinity or a value too large for {dtype} in {_listed(names, counts)}, of "
        f"{n_rows} rows read. Replace those values, or mark them as missing (NaN)."
    )


def huge_error(names: Sequence[str], counts: np.ndarray, n_rows: int, dtype: np.dtype) -> ValueError:
    """Build the error for values of X that cannot be squared and summed."""
    return ValueError(
        f"Input X holds numbers beyond {LARGEST:.0e} in {_listed(names, counts)}, of {n_rows} rows read, "
        "which cannot be squared and summed. Is the file damaged, or do they mark missing values? Correct "
        "them, replace them by NaN and set `missing`, or use other units."
    )


def refuse_huge(values: np.ndarray, name: str) -> None:
    """Refuse numbers that cannot be squared and summed; NaN and infinity are for others to find."""
    if values.dtype.kind != "f" or is_tame(values):
        return
    huge = np.isfinite(values) & _is_huge(values)
    if huge.any():
        raise ValueError(
            f"{name} holds {values[huge][0]:.3g}; numbers beyond {LARGEST:.0e} cannot be squared and summed. "
            "Correct it, or use other units."
        )


def is_tame(values: np.ndarray) -> bool:
    """Whether no value is NaN, infinite or huge: one pass, which a small sum of squares proves."""
    with np.errstate(over="ignore", invalid="ignore"):
        if values.flags.c_contiguous or values.flags.f_contiguous:
            flat = values.ravel(order="K")
            squares = np.dot(flat, flat)
        else:
            squares = np.multiply(values, values).sum()
        if squares < LARGEST**2:
            return True
    return bool((np.abs(values) <= _most(values)).all())


def _most(values: np.ndarray) -> float:
    return min(LARGEST, float(np.finfo(values.dtype).max))


def all_finite(values: np.ndarray) -> bool:
    """Whether no value is NaN or infinite; one pass without a temporary when the answer is yes."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.add.reduce(values, axis=None)):
            return True
    # A finite sum proves it; one that is not may only have overflowed.
    return bool(np.isfinite(values).all())


def _is_huge(values: np.ndarray) -> np.ndarray:
    return np.abs(values) > _most(values)


_TESTS: tuple[tuple[Callable[..., np.ndarray], Callable[..., ValueError]], ...] = (
    (np.isnan, missing_error),
    (np.isinf, infinity_error),
    (_is_huge, huge_error),
)


def check_finite(values: np.ndarray, names: Sequence[str], missing: str) -> None:
    """Refuse NaN, infinity or huge numbers in a dense block, naming its columns."""
    if is_tame(values):
        return
    for test, build in _TESTS:
        counts = test(values).sum(axis=0)
        if counts.any():
            bad = np.flatnonzero(counts)
            last: Any = missing if build is missing_error else values.dtype
            raise build([names[int(j)] for j in bad], counts[bad], len(values), last)


def check_finite_sparse(X: Any, names: Sequence[str], missing: str) -> None:
    """Refuse NaN, infinity or huge numbers among the stored values of a CSR array, naming its columns."""
    if is_tame(X.data):
        return
    for test, build in _TESTS:
        counts = np.bincount(X.indices[test(X.data)], minlength=X.shape[1])
        if counts.any():
            bad = np.flatnonzero(counts)
            last: Any = missing if build is missing_error else X.dtype
            raise build([names[int(j)] for j in bad], counts[bad], X.shape[0], last)


def check_names(fitted: np.ndarray | None, given: list[str] | None, owner: str) -> str | None:
    """Compare column names with those of fit; return the warning to give, if any."""
    if fitted is None and given is None:
        return None
    if given is None:
        return f"X does not have valid feature names, but {owner} was fitted with feature names"
    if fitted is None:
        return f"X has feature names, but {owner} was fitted without feature names"
    if list(fitted) == given:
        return None
    lines = ["The feature names should match those that were passed during fit."]
    for title, extra in (
        ("Feature names unseen at fit time:", sorted(set(given) - set(fitted))),
        ("Feature names seen at fit time, yet now missing:", sorted(set(fitted) - set(given))),
    ):
        if extra:
            lines.append(title)
            lines += [f"- {name}" for name in extra[:_SHOWN]]
            lines += ["- ..."] if len(extra) > _SHOWN else []
    if len(lines) == 1:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise ValueError("\n".join(lines) + "\n")


def refuse_repeated(names: Iterable[str], path: str) -> None:
    """Refuse a file with two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen and not name.strip():
            raise ValueError(
                f"{path!r} has two columns without a name; its first line is to name each, differently. "
                "Where a title stands above the names, delete its lines."
            )
        if name in seen:
            raise ValueError(f"{path!r} has two columns called {name!r}; column names must differ.")
        seen.add(name)
