"""The map from features to design columns: learned once, then applied to any rows of any table like it."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from rlselect._compat import user_level
from rlselect.data._checks import check_finite, check_finite_sparse, check_names, missing_error
from rlselect.data._gaps import Gaps, scan_missing
from rlselect.data._store import Column, ColumnStore, DenseStore, RowSelection, SparseStore, Store
from rlselect.data._written import say_comma

# Text of more levels than this, and of fewer rows for each on average than that, names rows or is free text:
# it is left out rather than spread out. A column of a type for categories is meant to be one.
_FEW_LEVELS, _ROWS_PER_LEVEL = 20, 4
# No column may become more indicators than this.
_MOST_LEVELS = 1000

# What a design column holds: the numbers of its feature, the mark of its gaps, or level k >= 1 of its text.
_NUMBERS, _MARK = 0, -1
_UNSEEN = -2  # code of a level that was not there when the design was learned


@dataclass
class Design:
    """What is known of a table once its design is learned."""

    missing: str
    names: np.ndarray | None
    n_features: int
    levels: dict[int, list[str]]
    gaps: Gaps | None
    owner: str = "TableEncoder"
    left_out: frozenset[int] = frozenset()  # text that has no design column, whatever it holds
    feature: np.ndarray = field(init=False)
    kind: np.ndarray = field(init=False)
    column_names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        feature: list[int] = []
        kind: list[int] = []
        for j in range(self.n_features):
            if j in self.left_out:
                continue
            kinds = range(1, len(self.levels[j])) if j in self.levels else (_NUMBERS,)
            feature += [j] * len(kinds)
            kind += kinds
        if self.gaps is not None:
            marked = np.setdiff1d(np.flatnonzero(self.gaps.counts), sorted(self.left_out))
            feature += marked.tolist()
            kind += [_MARK] * len(marked)
        self.feature = np.array(feature, dtype=np.intp)
        self.kind = np.array(kind, dtype=np.intp)
        self.column_names = self.name_columns(self.feature_names())

    def refuse_empty(self) -> "Design":
        """Refuse a design without columns; otherwise give it back."""
        if len(self.feature) == 0:
            raise ValueError(
                "X gives no design column: each of its columns is text with a single level, or names rows."
            )
        return self

    @property
    def is_plain(self) -> bool:
        """Whether design column j is numeric feature j and nothing else."""
        return not self.levels and len(self.feature) == self.n_features

    @property
    def marks_gaps(self) -> np.ndarray:
        """Which design columns say that a value is missing."""
        return self.kind == _MARK

    def feature_names(self) -> list[str]:
        """Return the names of the features, x0, x1, ... when they have none."""
        if self.names is None:
            return [f"x{j}" for j in range(self.n_features)]
        return list(self.names)

    def restricted(self, features: np.ndarray) -> "Design":
        """The design of some of the features."""
        gaps = self.gaps
        if gaps is not None:
            gaps = Gaps(gaps.rows, gaps.counts[features], gaps.means[features])
        names = None if self.names is None else self.names[features]
        levels = {k: self.levels[int(j)] for k, j in enumerate(features) if int(j) in self.levels}
        left_out = frozenset(k for k, j in enumerate(features) if int(j) in self.left_out)
        return Design(self.missing, names, len(features), levels, gaps, self.owner, left_out)

    def name_columns(self, features: list[str]) -> list[str]:
        """Name the design columns after the given names of the features."""
        names: list[str] = []
        taken: set[str] = set()
        for j, kind in zip(self.feature.tolist(), self.kind.tolist(), strict=True):
            name = features[j]
            if kind == _MARK:
                name += "=missing"
            elif kind != _NUMBERS:
                name += f"={self.levels[j][kind]}"
            while name in taken:  # a level called "missing", or a feature called "city=Paris"
                name += "'"
            taken.add(name)
            names.append(name)
        return names


def default_names(store: Store) -> list[str]:
    """Return the names of the features of a table, x0, x1, ... when it has none."""
    return store.names if store.names is not None else [f"x{j}" for j in range(store.n_features)]


def learn_design(
    store: Store, missing: str, rows: np.ndarray | None = None, owner: str = "TableEncoder"
) -> Design:
    """Learn the design from a table, or from some of its rows.

    Numbers are looked at with ``missing="indicator"`` only; text always, for its levels.
    """
    names = default_names(store)
    gaps = scan_missing(store, names) if missing == "indicator" else None
    levels: dict[int, list[str]] = {}
    absent: dict[str, int] = {}
    for j, column in store.text().items():
        codes = np.asarray(column.codes)[slice(None) if rows is None else rows]
        counts = np.bincount(codes + 1, minlength=len(column.levels) + 1)
        if counts[0]:
            absent[names[j]] = int(counts[0])
        levels[j] = [level for level, count in zip(column.levels, counts[1:], strict=True) if count]
    n_rows = store.n_rows if rows is None else len(rows)
    declared = {j for j, column in store.text().items() if column.declared}
    left_out = leave_out_names(levels, declared, names, n_rows)
    if missing == "error":
        absent = {name: count for name, count in absent.items() if names.index(name) not in left_out}
        if absent:
            raise missing_error(list(absent), np.array(list(absent.values())), store.n_rows, missing)
    fitted_names = None if store.names is None else np.array(store.names, dtype=object)
    return Design(missing, fitted_names, store.n_features, levels, gaps, owner, left_out).refuse_empty()


def names_rows(n_levels: int, n_rows: int) -> bool:
    """Whether text of so many levels in so many rows names rows, or is free text, rather than categories."""
    return n_levels > _MOST_LEVELS or n_levels > max(_FEW_LEVELS, n_rows // _ROWS_PER_LEVEL)


def leave_out_names(
    levels: dict[int, list[str]],
    declared: Collection[int],
    names: Sequence[str],
    n_rows: int,
    called: str = "X",
) -> frozenset[int]:
    """Text columns that name rows, with a warning; their levels are taken out of `levels`.

    Parameters
    ----------
    levels : dict
        Feature -> levels of all text columns.
    declared : collection of int
        Those of a type for categories, which stay; of very many levels they are refused.
    names : list of str
        Of all features.
    n_rows : int
        In which the levels were seen.
    called : str
        What the table is called in messages.
    """
    found: dict[int, str] = {}
    for j, own in list(levels.items()):
        if not names_rows(len(own), n_rows):
            continue
        if j not in declared:
            found[j] = f"{names[j]!r} ({len(own)} levels{', all numbers' if _reads_as_numbers(own) else ''})"
            del levels[j]
        elif len(own) > _MOST_LEVELS:
            raise ValueError(
                f"Column {names[j]!r} of {called} is a category with {len(own)} levels in {n_rows} rows, "
                f"more than the {_MOST_LEVELS} that can become indicators. Drop the column if it identifies "
                "rows, or merge its rare levels."
            )
    if found:
        shown = ", ".join(list(found.values())[:5]) + (", ..." if len(found) > 5 else "")
        warnings.warn(
            f"{called} has text that names its {n_rows} rows rather than groups of them, and is left out: "
            f"{shown}. To use a column, merge its rare levels, make numbers of what are numbers, or give it "
            "a type for categories.",
            UserWarning,
            stacklevel=user_level(),
        )
    return frozenset(found)


def _reads_as_numbers(levels: list[str]) -> bool:
    try:
        [float(level) for level in levels]
    except ValueError:
        return False
    return True


def bind(store: Store, design: Design, rows: np.ndarray | None = None) -> Store:
    """Check a table (or some rows of it) against the design, and put its text into the design's codes."""
    store, unseen = match(store, design, rows)
    if not design.levels:
        return store
    if unseen:
        warnings.warn(
            f"X has levels that were not there in fit ({unseen}); their indicators are all zero, as for the "
            "reference level.",
            UserWarning,
            stacklevel=4,
        )
    assert isinstance(store, ColumnStore)
    _check_text_gaps(store.cols, design, design.feature_names(), slice(None) if rows is None else rows)
    return store


def match(store: Store, design: Design, rows: np.ndarray | None = None) -> tuple[Store, str]:
    """Check names and kinds of the columns, and put text into the codes of the design's levels.

    Returns
    -------
    store : Store
        Code -1 is a gap, -2 a level that the design does not know.
    unseen : str
        Some of the unknown levels (of `rows`), by column; empty when there are none.
    """
    if store.names is not None or store.n_features == design.n_features:
        warning = check_names(design.names, store.names, design.owner)
        if warning:
            warnings.warn(warning, UserWarning, stacklevel=user_level())
    if store.n_features != design.n_features:
        raise ValueError(
            f"X has {store.n_features} features, but {design.owner} is expecting {design.n_features} "
            "features as input."
        )
    names = design.feature_names()
    text = store.text()
    for j in text.keys() - design.levels.keys() - design.left_out:
        shown = (text[j].levels or ["None"])[0]
        raise TypeError(
            f"Column {names[j]!r} of X holds text ({shown!r}), but was a number in fit: numbers are "
            f"needed{say_comma(shown)}."
        )
    if not design.levels:
        return store, ""
    if isinstance(store, SparseStore):
        raise TypeError(f"Column {names[min(design.levels)]!r} of X was text in fit, but X is sparse now.")
    dense = isinstance(store, DenseStore)
    columns = [Column(values=x) for x in store.X.T] if dense else list(store.cols)  # type: ignore[union-attr]
    unseen = {}
    for j, levels in design.levels.items():
        strange = _recode(columns, j, levels, names[j], slice(None) if rows is None else rows)
        if strange:
            unseen[names[j]] = strange
    shown = "; ".join(f"{name!r}: {', '.join(map(repr, new[:3]))}" for name, new in list(unseen.items())[:5])
    return ColumnStore(columns, store.names), shown


def _recode(columns: list[Column], j: int, levels: list[str], name: str, rows: RowSelection) -> list[str]:
    """Put column j into the codes of `levels`, and return the levels of `rows` that are not among them."""
    column = columns[j] if columns[j].codes is not None else _numbers_as_text(columns[j], levels, name)
    codes = np.asarray(column.codes)
    place = {level: k for k, level in enumerate(levels)}
    remap = np.array([place.get(level, _UNSEEN) for level in column.levels] + [-1], dtype=np.int32)
    columns[j] = Column(codes=remap[codes], levels=levels)
    if not (remap == _UNSEEN).any():
        return []
    used = np.unique(codes[rows])
    return [column.levels[k] for k in used if remap[k] == _UNSEEN]


def _numbers_as_text(column: Column, levels: list[str], name: str) -> Column:
    """Numbers in the place of text: gaps, or levels that are written like them (categories of years, say).

    A frame of few rows may hold nothing that tells its categories from numbers.
    """
    values, codes = np.unique(np.asarray(column.values), return_inverse=True)
    gap = np.isnan(values.astype(float))
    text = [str(v) if str(v) in levels or v % 1 else str(int(v)) for v in values[~gap].tolist()]
    if text and not set(text) & set(levels):
        raise TypeError(f"Column {name!r} of X holds numbers, but was text in fit.")
    return Column(codes=np.where(gap[codes], -1, codes), levels=text)


def _check_text_gaps(columns: list[Column], design: Design, names: list[str], rows: RowSelection) -> None:
    gaps = {j: np.asarray(columns[j].codes)[rows] == -1 for j in design.levels}
    counts = {j: int(gap.sum()) for j, gap in gaps.items() if gap.any()}
    if not counts:
        return
    if design.missing != "indicator":
        n_rows = len(next(iter(gaps.values())))
        raise missing_error(
            [names[j] for j in counts], np.array(list(counts.values())), n_rows, design.missing
        )
    assert design.gaps is not None
    _warn_new_gaps([names[j] for j in counts if not design.gaps.counts[j]])


def _warn_new_gaps(names: list[str]) -> None:
    if names:
        shown = ", ".join(map(repr, names[:5]))
        warnings.warn(
            f"X has missing values in columns that had none in fit ({shown}): the mean (the reference level "
            "for text) stands in for them.",
            UserWarning,
            stacklevel=6,
        )


def encode(
    store: Store, design: Design, rows: RowSelection, columns: np.ndarray | None = None, *, check: bool = True
) -> Any:
    """Return the design of some rows (and design columns), checked for NaN and infinity.

    Parameters
    ----------
    store : Store
        A table that went through `bind`.
    design : Design
        The map.
    rows : slice or ndarray of int
        Rows wanted.
    columns : ndarray of int, optional
        Design columns wanted; all by default.
    check : bool, default=True
        Whether dense values are looked at.

    Returns
    -------
    ndarray or csr_array
        C-contiguous when dense; possibly a view of the user's data.
    """
    names = design.column_names if columns is None else [design.column_names[c] for c in columns]
    if isinstance(store, SparseStore):
        X = (
            store.block(rows, columns)
            if design.gaps is None
            else _encode_sparse(store, design, rows, columns)
        )
        check_finite_sparse(X, names, design.missing)
        return X
    out = store.block(rows, columns) if design.is_plain else _encode_dense(store, design, rows, columns)
    if design.is_plain and design.missing == "indicator" and np.isnan(out).any():
        out = _impute_plain(out, design, columns)
    if check:
        check_finite(out, names, design.missing)
    return out


def _impute_plain(out: np.ndarray, design: Design, columns: np.ndarray | None) -> np.ndarray:
    """Impute features that had no gap in fit, hence no mark."""
    features = np.arange(design.n_features) if columns is None else columns
    gap = np.isnan(out)
    names = design.feature_names()
    _warn_new_gaps([names[features[k]] for k in np.flatnonzero(gap.any(axis=0))])
    assert design.gaps is not None
    return np.where(gap, design.gaps.means[features].astype(out.dtype), out)


def _encode_dense(
    store: DenseStore | ColumnStore, design: Design, rows: RowSelection, columns: np.ndarray | None
) -> np.ndarray:
    wanted = np.arange(len(design.feature)) if columns is None else np.asarray(columns)
    features, place = np.unique(design.feature[wanted], return_inverse=True)
    numbers = store.block(rows, features)
    gap = np.isnan(numbers)
    if design.gaps is not None and gap.any():
        names = design.feature_names()
        seen = gap.any(axis=0) & (design.gaps.counts[features] == 0)
        _warn_new_gaps([names[j] for j in features[seen]])
        numbers = np.where(gap, design.gaps.means[features].astype(numbers.dtype), numbers)
    codes = {j: store.cols[j].codes[rows] for j in features if j in design.levels}  # type: ignore[union-attr]
    out = np.empty((len(numbers), len(wanted)), dtype=store.dtype)
    for k, c in enumerate(wanted):
        j, kind = design.feature[c], design.kind[c]
        if kind == _NUMBERS:
            out[:, k] = numbers[:, place[k]]
        elif j in codes:
            out[:, k] = codes[j] == kind
        else:
            out[:, k] = gap[:, place[k]]
    return out


def _encode_sparse(store: SparseStore, design: Design, rows: RowSelection, columns: np.ndarray | None) -> Any:
    """Impute gaps and mark them; nothing else makes the design of a sparse matrix differ from the matrix."""
    assert design.gaps is not None
    X = store.block(rows)
    gap = np.isnan(X.data)
    marked = np.flatnonzero(design.kind == _MARK)
    place = np.full(design.n_features, -1)
    place[design.feature[marked]] = np.arange(len(marked))
    data = X.data.copy()
    data[gap] = design.gaps.means[X.indices[gap]]
    names = design.feature_names()
    at = place[X.indices[gap]]
    _warn_new_gaps([names[j] for j in np.unique(X.indices[gap][at < 0])])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[gap]
    marks = sparse.csr_array(
        (np.ones(np.count_nonzero(at >= 0), X.dtype), (row[at >= 0], at[at >= 0])),
        shape=(X.shape[0], len(marked)),
    )
    filled = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    out = sparse.hstack([filled, marks], format="csr")
    return out if columns is None else out[:, columns]
