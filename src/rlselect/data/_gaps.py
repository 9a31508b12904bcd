"""One pass over a table for its missing values, a few million cells at a time."""

from dataclasses import dataclass

import numpy as np

from rlselect.data._checks import infinity_error
from rlselect.data._store import SparseStore, Store, chunks


@dataclass
class Gaps:
    """Where values are missing.

    Attributes
    ----------
    rows : ndarray of bool
        Rows with a missing value.
    counts : ndarray of int
        Missing values of each feature.
    means : ndarray
        Mean of the other values of each numeric feature; 0 for text, and where there are none.
    """

    rows: np.ndarray
    counts: np.ndarray
    means: np.ndarray


def scan_missing(store: Store, names: list[str]) -> Gaps:
    """Find the missing values of a table; infinite ones are refused on the way."""
    if isinstance(store, SparseStore):
        return _scan_sparse(store, names)
    n, p = store.n_rows, store.n_features
    rows = np.zeros(n, dtype=bool)
    counts = np.zeros(p, dtype=np.int64)
    infinite = np.zeros(p, dtype=np.int64)
    sums = np.zeros(p)
    for part in chunks(n, p):
        block = store.block(part)
        gap = np.isnan(block)
        rows[part] = gap.any(axis=1)
        counts += gap.sum(axis=0)
        infinite += np.isinf(block).sum(axis=0)
        with np.errstate(invalid="ignore", over="ignore"):
            sums += np.where(gap, 0.0, block).sum(axis=0, dtype=np.float64)
    _refuse_infinity(infinite, names, store)
    for j, column in store.text().items():
        gap = np.asarray(column.codes) == -1
        rows |= gap
        counts[j] = gap.sum()
    return Gaps(rows, counts, sums / np.maximum(n - counts, 1))


def _scan_sparse(store: SparseStore, names: list[str]) -> Gaps:
    X = store.block(slice(None))
    p = store.n_features
    _refuse_infinity(np.bincount(X.indices[np.isinf(X.data)], minlength=p), names, store)
    gap = np.isnan(X.data)
    counts = np.bincount(X.indices[gap], minlength=p)
    rows = np.zeros(store.n_rows, dtype=bool)
    rows[np.repeat(np.arange(store.n_rows), np.diff(X.indptr))[gap]] = True
    sums = np.bincount(X.indices[~gap], weights=X.data[~gap].astype(np.float64), minlength=p)
    return Gaps(rows, counts, sums / np.maximum(store.n_rows - counts, 1))


def _refuse_infinity(counts: np.ndarray, names: list[str], store: Store) -> None:
    bad = np.flatnonzero(counts)
    if len(bad):
        raise infinity_error([names[j] for j in bad], counts[bad], store.n_rows, store.dtype)
