"""Units whose columns repeat each other, as they are or in other units."""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data._source import DataSource
from rlselect.data._units import Units

_GLANCE = 256
_CELLS = 2**20
# what rounding leaves of the difference of two columns, in roundings of their largest values
_ROUNDINGS = 64.0


def find_twins(table: DataSource, units: Units, *, turned: bool = True) -> NDArray[np.intp]:
    """For every unit the first one with the same column (itself for units of several columns).

    The same are columns that are equal and, where they may be `turned`, those that differ in their unit and
    origin only, up to rounding: degrees of two scales, or x and 1 - x. A glance at a few rows finds the
    suspects; only those are compared on all rows.
    """
    twin_of = np.arange(units.n_units)
    single = np.array([int(c[0]) for c in units.columns if len(c) == 1], dtype=np.intp)
    if len(single) < 2:
        return twin_of
    few = table.glance(_GLANCE if table.in_memory else 8 * _GLANCE).X
    if not table.in_memory:
        # rare events are all alike in a few rows, and a look at all rows is slow: let them be
        single = single[few.min(axis=0)[single] < few.max(axis=0)[single]]
    equal = _equal(table, few, single)
    unit_of = units.unit_of
    for same in equal:
        twin_of[unit_of[same]] = unit_of[same].min()
    if turned:
        repeats = [j for same in equal for j in same[1:]]
        for first, other in _turned(table, few, np.setdiff1d(single, repeats)):
            twin_of[twin_of == twin_of[unit_of[other]]] = twin_of[unit_of[first]]
    return twin_of


def _equal(table: DataSource, few: Any, single: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Columns that are equal in all rows, those of a kind together."""
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
    return [g for g in suspects if len(g) > 1]


def _turned(table: DataSource, few: Any, single: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Pairs of columns, the first one first, that are the same in units of their own."""
    marks, middle, size, rounding = _own_units(few, single)
    order = np.argsort(np.abs(marks), kind="stable")
    close = np.diff(np.abs(marks)[order]) <= rounding[order[1:]] + rounding[order[:-1]]
    # neighbours that may be the same, those of a run against its first
    runs = np.split(order, np.flatnonzero(~close) + 1)
    pairs = np.array([(run.min(), j) for run in runs for j in run if j != run.min()], dtype=np.intp)
    if not len(pairs):
        return []
    which, place = np.unique(pairs, return_inverse=True)
    first, other = place.reshape(pairs.shape).T
    scale = np.sign(marks[which]) / size[which]
    same = np.ones(len(pairs), dtype=bool)
    # the few rows first: where they tell all pairs apart, the others are not read
    for part in chain([few[:, single[which]]], _some_cells(table, single[which])):
        Z = (_dense(part) - middle[which]) * scale
        known = rounding[which] + _ROUNDINGS * np.finfo(few.dtype).eps * np.abs(Z).max(axis=0, initial=0.0)
        same &= np.abs(Z[:, first] - Z[:, other]).max(axis=0, initial=0.0) <= known[first] + known[other]
        if not same.any():
            break
    return [(int(single[a]), int(single[b])) for a, b in pairs[same]]


def _some_cells(table: DataSource, columns: NDArray[np.intp]) -> Iterator[Any]:
    """Pass over all rows of some columns, so few at a time that sparse ones can be spread out."""
    step = max(1, _CELLS // len(columns))
    for batch in table.scan(columns, count=False):
        for start in range(0, batch.X.shape[0], step):
            yield batch.X[start : start + step]


def _own_units(few: Any, single: NDArray[np.intp]) -> tuple[NDArray[np.float64], ...]:
    """What tells columns apart in units of their own, their means and sizes in a few rows, and roundings.

    The first is a sum with random signs, of which turning a column changes the sign.
    """
    n, step = few.shape[0], max(1, _CELLS // max(few.shape[0], 1))
    draw = np.random.default_rng(0).normal(size=n) / max(n, 1)
    marks, middle, size, rounding = np.zeros((4, len(single)))
    by_column = sparse.csc_array(few) if sparse.issparse(few) else few
    for start in range(0, len(single), step):
        part = slice(start, start + step)
        A = _dense(by_column[:, single[part]])
        with np.errstate(divide="ignore", invalid="ignore"):
            middle[part] = A.mean(axis=0)
            A -= middle[part]
            size[part] = np.sqrt((A * A).mean(axis=0))
            largest = np.abs(A).max(axis=0) + np.abs(middle[part])
            rounding[part] = _ROUNDINGS * np.finfo(few.dtype).eps * largest / size[part]
            marks[part] = draw @ (A / size[part])
    # constants have no unit, and what is nearly constant none beyond rounding
    none = ~np.isfinite(marks) | ~(rounding < 1e-3)
    marks[none], rounding[none], size[none] = -np.arange(1, none.sum() + 1) * 1e6, 0.0, 1.0
    return marks, middle, size, rounding


def _dense(X: Any) -> NDArray[np.float64]:
    return np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


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
