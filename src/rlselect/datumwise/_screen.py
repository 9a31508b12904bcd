"""Which units are worth learning about at all, when there are very many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["quick_trends", "screen_features", "screen_units", "unit_worth", "with_needs"]


def screen_units(
    codes: NDArray,
    labels: NDArray,
    weights: NDArray,
    rules: PurchaseRules,
    most: int | None,
    unordered: frozenset[int] = frozenset(),
    missing: float = np.nan,
) -> NDArray:
    """Units that tell most about the class, one at a time, and what these need as prerequisites.

    A feature is compared with the classes, or with numbers, in two ways: as bins, and as a trend, unless it
    is `unordered`. Where there are more than `most` units, so many are kept as seem to tell more than chance
    does: by the rule of Benjamini and Hochberg, at a share of false ones of `PLAN.false_units`; at least
    `PLAN.least_units` and no more than `most`. `codes` (rows, features) are bins as numbers, one of which
    says that a value is `missing`. Cost O(rows x features x classes).
    """
    if most is None or rules.n_units <= most:
        return np.arange(rules.n_units)
    ratios, single = _told_alone(codes, labels, weights, rules.values, unordered, missing)
    keep = _tell_most(ratios, single, rules.groups, most)
    return np.flatnonzero(with_needs(keep, rules.needs))


def screen_features(
    codes: NDArray,
    labels: NDArray,
    weights: NDArray,
    groups: list[NDArray],
    most: int,
    values: NDArray | None = None,
    unordered: frozenset[int] = frozenset(),
    missing: float = np.nan,
) -> NDArray:
    """Features of groups to learn about (bools): what `screen_units` would keep, and the best of each."""
    ratios, single = _told_alone(codes, labels, weights, values, unordered, missing)
    keep = _tell_most(ratios, single, [np.array([j]) for j in range(codes.shape[1])], most)
    for group in groups:
        keep[group[np.argmin(single[group])]] = True
    return keep


def _told_alone(
    codes: NDArray,
    labels: NDArray,
    weights: NDArray,
    values: NDArray | None,
    unordered: frozenset[int],
    missing: float,
) -> tuple[NDArray, NDArray]:
    """What each feature tells in bins, (features, 2), and the logarithm of the chance of what it tells."""
    tables = [_table(codes[:, j], labels, weights) for j in range(codes.shape[1])]
    ratios = np.array([_bins_apart(*one, values) for one in tables])
    trends = np.array([_trend(*one, values, missing) for one in tables])
    trends[list(unordered)] = 0.0
    # the least of several chances is smaller by chance
    return ratios, np.log(2) + np.minimum(_log_chances(ratios), _log_chances(trends))


def _tell_most(ratios: NDArray, single: NDArray, groups: list[NDArray], most: int) -> NDArray:
    """Groups of features (bools) that tell more than chance does: some, and no more than `most`."""
    alone = np.array([min(0.0, np.log(len(group)) + single[group].min()) for group in groups])
    shares = PLAN.false_units * np.arange(1, len(groups) + 1) / len(groups)
    number = int(np.flatnonzero(np.sort(alone) <= np.log(shares)).max(initial=-1)) + 1
    best = np.lexsort((-_largest(ratios, groups), alone))
    keep = np.zeros(len(groups), dtype=bool)
    keep[best[: min(max(number, PLAN.least_units), most)]] = True
    return keep


def with_needs(keep: NDArray, needs: NDArray | None) -> NDArray:
    """Units that are kept (bools) and what they need as prerequisites, and what these need."""
    asked = keep
    while needs is not None and asked.any():
        asked = needs[asked].any(axis=0) & ~keep
        keep = keep | asked
    return keep


def quick_trends(X: Any, labels: NDArray, weights: NDArray, values: NDArray | None) -> NDArray:
    """How far a feature's means lie apart by class, or how it follows the numbers: (features,) at a glance.

    `X` (rows, features) may be sparse; a gap counts as a mean value.
    """
    answers = np.eye(int(labels.max()) + 1)[labels] if values is None else values[labels][:, None]
    own = (weights @ answers) / weights.sum()
    answers = (answers - own) * weights[:, None] / np.sqrt(np.maximum(own, 1e-300) if values is None else 1.0)
    if sparse.issparse(X):
        X = sparse.csr_array((np.nan_to_num(X.tocsr().data), X.tocsr().indices, X.tocsr().indptr), X.shape)
        means = X.T @ weights / weights.sum()
        spread = X.power(2).T @ weights - means**2 * weights.sum()
    else:
        known = ~np.isnan(X)
        totals = np.where(known, X, 0.0)
        means = weights @ totals / np.maximum(weights @ known, 1e-300)
        X = np.where(known, X - means, 0.0)
        spread = weights @ np.square(X)
    found = np.square(X.T @ answers).sum(axis=1)
    return np.divide(found, spread, out=np.zeros_like(found), where=spread > 0)


def unit_worth(codes: NDArray, labels: NDArray, weights: NDArray, groups: list[NDArray]) -> NDArray:
    """What each unit alone tells about the class: (units,), the larger, the more.

    The chi-squared statistic of bins against classes over its degrees of freedom, the largest over the
    features of a unit.
    """
    tables = (_table(codes[:, j], labels, weights) for j in range(codes.shape[1]))
    return _largest(np.array([_bins_apart(*one, None) for one in tables]), groups)


def _log_chances(found: NDArray) -> NDArray:
    """Logarithms of the chances of statistics as large, of (features, 2) of them and degrees of freedom.

    Of many rows, most chances are too small for a number, and yet not equal: columns that are nearly always
    zero tell for sure, but little.
    """
    statistic, freedom = found[:, 0], np.maximum(found[:, 1], 1)
    chances = special.chdtrc(freedom, statistic)
    half = np.maximum(statistic, 1.0) / 2
    far = (freedom / 2 - 1) * np.log(half) - half - special.gammaln(freedom / 2)
    return np.where(chances > 1e-250, np.log(np.maximum(chances, 1e-250)), far)


def _largest(found: NDArray, groups: list[NDArray]) -> NDArray:
    """The largest statistic over its degrees of freedom in each group, of (features, 2) of both."""
    ratios = found[:, 0] / np.maximum(found[:, 1], 1)
    return np.array([ratios[group].max() for group in groups])


def _table(codes: NDArray, labels: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Codes that occur (NaN is one of them), and the weight of each with each class."""
    levels, place = np.unique(codes, return_inverse=True)
    n_classes = int(labels.max()) + 1
    table = np.bincount(place * n_classes + labels, weights, minlength=len(levels) * n_classes)
    return levels, table.reshape(len(levels), n_classes)


def _bins_apart(levels: NDArray, table: NDArray, values: NDArray | None) -> tuple[float, int]:
    """Chi-squared statistic of bins against classes, or of the means of their numbers; degrees of freedom."""
    if min(table.shape) < 2:
        return 0.0, 0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    if values is None:
        gap = np.divide((table - expected) ** 2, expected, out=np.zeros_like(table), where=expected > 0)
        return float(gap.sum()), (table.shape[0] - 1) * (table.shape[1] - 1)
    between = ((table - expected) @ values) ** 2 / table.sum(axis=1)
    return float(between.sum()) / _variance(values, table.sum(axis=0)), len(table) - 1


def _trend(
    levels: NDArray, table: NDArray, values: NDArray | None, missing: float = np.nan
) -> tuple[float, int]:
    """The same of the mean code of each class, or of the correlation of codes and numbers."""
    known = (levels != missing) & ~np.isnan(levels)
    levels, table = levels[known].astype(float), table[known]
    table = table[:, table.sum(axis=0) > 0] if values is None else table
    if min(table.shape) < 2:
        return 0.0, 0
    levels = levels - np.average(levels, weights=table.sum(axis=1))
    spread = _variance(levels, table.sum(axis=1))
    if values is None:
        between = (levels @ table) ** 2 / table.sum(axis=0)
        return float(between.sum()) / spread, table.shape[1] - 1
    spread *= _variance(values, table.sum(axis=0))
    return float(levels @ table @ values) ** 2 / (table.sum() * spread) if spread > 0 else 0.0, 1


def _variance(values: NDArray, weights: NDArray) -> float:
    mean = np.average(values, weights=weights)
    return float(np.average((values - mean) ** 2, weights=weights))
