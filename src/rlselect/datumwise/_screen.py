"""Which units are worth learning about at all, when there are very many."""

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._rules import PurchaseRules

__all__ = ["screen_units", "unit_worth"]


def screen_units(
    codes: NDArray, labels: NDArray, weights: NDArray, rules: PurchaseRules, most: int | None
) -> NDArray:
    """Units whose bins tell most about the class, one at a time, and what these need as prerequisites.

    `codes` (rows, features) are bins as numbers. Cost O(rows x features x classes).
    """
    if most is None or rules.n_units <= most:
        return np.arange(rules.n_units)
    worth = unit_worth(codes, labels, weights, rules.groups)
    keep = np.zeros(rules.n_units, dtype=bool)
    keep[np.argsort(-worth, kind="stable")[:most]] = True
    if rules.needs is not None:
        for _ in range(rules.n_units):
            keep |= rules.needs[keep].any(axis=0)
    return np.flatnonzero(keep)


def unit_worth(codes: NDArray, labels: NDArray, weights: NDArray, groups: list[NDArray]) -> NDArray:
    """What each unit alone tells about the class: (units,), the larger, the more.

    The chi-squared statistic of bins against classes over its degrees of freedom, the largest over the
    features of a unit.
    """
    single = np.array([_statistic(codes[:, j], labels, weights) for j in range(codes.shape[1])])
    return np.array([single[group].max() for group in groups])


def _statistic(codes: NDArray, labels: NDArray, weights: NDArray) -> float:
    levels, place = np.unique(codes, return_inverse=True)
    n_classes = int(labels.max()) + 1
    if len(levels) < 2 or n_classes < 2:
        return 0.0
    table = np.bincount(place * n_classes + labels, weights, minlength=len(levels) * n_classes)
    table = table.reshape(len(levels), n_classes)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    gap = np.divide((table - expected) ** 2, expected, out=np.zeros_like(table), where=expected > 0)
    return float(gap.sum()) / ((len(levels) - 1) * (n_classes - 1))
