"""Units whose columns repeat each other exactly."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data._source import DataSource
from rlselect.data._units import Units

_GLANCE = 256
_CELLS = 2**20


def find_twins(table: DataSource, units: Units) -> NDArray[np.intp]:
    """For every unit the first one with exactly the same column (itself for units of several columns).

    A glance at a few rows finds the suspects; only those are compared on all rows.
    """
    twin_of = np.arange(units.n_units)
    single = np.array([int(c[0]) for c in units.columns if len(c) == 1], dtype=np.intp)
    if len(single) < 2:
        return twin_of
    few = table.glance(_GLANCE if table.in_memory else 8 * _GLANCE).X
    if not table.in_memory:
        # rare events are all alike in a few rows, and a look at all rows is slow: let them be
        single = single[few.min(axis=0)[single] < few.max(axis=0)[single]]
    suspects = [g for g in _equal_columns(few, single) if len(g) > 1]
    if suspects and table.n_rows > _GLANCE:
        which = np.concatenate(suspects)
        label = np.concatenate([np.full(len(g), i) for i, g in enumerate(suspects)])
        for batch in table.scan(which, count=False):
            parts = _equal_columns(batch.X, np.arange(len(which)))
            equal = np.empty(len(which), dtype=np.intp)
            for i, part in enumerate(parts):
                equal[part] = i
            _, label = np.unique(label * len(which) + equal, return_inverse=True)
        suspects = [which[label == i] for i in range(label.max() + 1)]
    unit_of = units.unit_of
    for same in suspects:
        first = unit_of[same].min()
        twin_of[unit_of[same]] = first
    return twin_of


def selectable_units(table: DataSource, units: Units, constant: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Units with a column that is not constant, without those that only repeat an earlier one."""
    some = np.array([not constant[c].all() for c in units.columns], dtype=bool)
    return np.flatnonzero(some & (find_twins(table, units) == np.arange(units.n_units)))


def _equal_columns(X: Any, which: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    if sparse.issparse(X):
        X = sparse.csc_array(X)
        X.sum_duplicates()
        X.eliminate_zeros()
        keys = [
            (
                X.indices[X.indptr[j] : X.indptr[j + 1]].tobytes(),
                X.data[X.indptr[j] : X.indptr[j + 1]].tobytes(),
            )
            for j in which
        ]
    else:
        # some columns at a time, and short names of what they hold: a wide table is not held twice
        step = max(1, _CELLS // max(len(X), 1))
        keys = []
        for start in range(0, len(which), step):
            columns = np.ascontiguousarray(X[:, which[start : start + step]].T) + 0.0  # -0.0 is 0.0
            keys += [(blake2b(column).digest(), b"") for column in columns]
    groups: dict[Any, list[int]] = {}
    for j, key in zip(which, keys, strict=True):
        groups.setdefault(key, []).append(int(j))
    return [np.array(g, dtype=np.intp) for g in groups.values()]
