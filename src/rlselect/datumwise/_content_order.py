"""An order of units that follows from what their columns hold: the order of the columns is no matter."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._encoding import column_of
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["by_content"]


def by_content(X: Any, labels: NDArray, weights: NDArray, rules: PurchaseRules, units: NDArray) -> NDArray:
    """These units in an order that does not depend on that of columns and rows, for draws to be made in.

    A weight of two is as two rows. Columns of one group keep their order, in which their values are told.
    """
    keys = {
        unit: ([_key(column_of(X, j), labels, weights) for j in rules.groups[unit]], rules.prices[unit])
        for unit in units.tolist()
    }
    return np.array(sorted(keys, key=keys.__getitem__), dtype=np.intp)


def _key(values: NDArray, labels: NDArray, weights: NDArray) -> bytes:
    """A digest of which values come with which labels, and how often."""
    order = np.lexsort((labels, values))
    # minus zero is zero
    pairs = np.column_stack([values[order] + 0.0, labels[order]])
    same = (pairs[1:] == pairs[:-1]) | (np.isnan(pairs[1:]) & np.isnan(pairs[:-1]))
    starts = np.concatenate([[0], 1 + np.flatnonzero(~same.all(axis=1))])
    # in single precision sums do not tell in which order they were made
    mass = np.add.reduceat(weights[order], starts).astype(np.float32)
    return blake2b(pairs[starts].tobytes() + mass.tobytes(), digest_size=16).digest()
