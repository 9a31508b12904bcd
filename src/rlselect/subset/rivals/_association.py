"""How strongly features go with a target and with each other, from 0 to 1, computed when asked for."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import present_clock, while_time

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# of a time budget, for cutting the values of features
_FOR_CUTS = 0.5


class Associations:
    """Associations of features with the target, and row by row with each other.

    Attributes
    ----------
    with_target : array of shape (k,)
    n_known : int
        Features that there was time for.
    """

    def __init__(self, with_target: Array, row: Callable[[int], Array], n_known: int) -> None:
        self.with_target, self.n_known = with_target, n_known
        self._row = row
        self._known: dict[int, Array] = {}

    def between(self, j: int) -> Array:
        """Association of feature j with every feature."""
        if j not in self._known:
            self._known[j] = self._row(j)
        return self._known[j]


def pearson_associations(X: Array, y: NDArray, groups: list[Codes]) -> Associations:
    """Absolute correlations; of features with several columns the multiple one, between two the largest.

    Parameters
    ----------
    X : array of shape (n, p)
        Standardised columns.
    y : array of shape (n,)
    groups : list of int arrays
        Columns of each feature, at least one.
    """
    n = len(X)
    centred = y - y.mean()
    deviation = np.sqrt(np.mean(np.square(centred)))
    z = centred / deviation if deviation > 0 else centred
    columns = np.concatenate(groups) if groups else np.empty(0, dtype=np.intp)
    starts = np.cumsum([0, *(len(g) for g in groups)])[: len(groups)]
    Z = X[:, columns]

    def row(j: int) -> Array:
        return np.maximum.reduceat(np.abs(X[:, groups[j]].T @ Z / n).max(axis=0), starts)

    return Associations(np.array([_multiple_correlation(X[:, g], z) for g in groups]), row, len(groups))


def _multiple_correlation(columns: Array, z: Array) -> float:
    if columns.shape[1] == 1:
        return float(abs(columns[:, 0] @ z) / len(z))
    fitted = columns @ np.linalg.lstsq(columns, z, rcond=1e-10)[0]
    return float(np.sqrt(np.mean(np.square(fitted))))


def uncertainty_associations(X: Array, codes: Codes, groups: list[Codes]) -> Associations:
    """Symmetrical uncertainties of values cut by minimum description length, see `pearson_associations`.

    Columns of two values are not cut; the columns of a feature count together. Where time is short, features
    whose means differ most between the classes are cut, and the others go with nothing.
    """
    features = [np.zeros(len(codes), dtype=np.intp)] * len(groups)
    order, cut = _likeliest(X, codes, groups), np.zeros(len(groups), dtype=bool)
    with present_clock().part(_FOR_CUTS):
        for g in while_time(order.tolist()):
            features[g], cut[g] = _joint([cut_column(X[:, c], codes) for c in groups[g]]), True
    looked_at = np.flatnonzero(cut)

    def against(one: Codes) -> Array:
        found = np.zeros(len(groups))
        found[looked_at] = [symmetrical_uncertainty(one, features[g]) for g in looked_at]
        return found

    return Associations(against(codes), lambda j: against(features[j]), len(looked_at))


def _likeliest(X: Array, codes: Codes, groups: list[Codes]) -> Codes:
    """Features from the one on whose means differ most between the classes, by their best column."""
    present = np.eye(codes.max() + 1)[codes]
    sizes = present.sum(axis=0)
    between = np.square(present.T @ X / np.maximum(sizes, 1.0)[:, None] - X.mean(axis=0)).T @ sizes
    return np.argsort([-between[group].max() for group in groups], kind="stable")


def _joint(parts: list[Codes]) -> Codes:
    """Numbers of the combinations of several numberings."""
    if len(parts) == 1:
        return parts[0]
    return np.unique(np.column_stack(parts), axis=0, return_inverse=True)[1].ravel()


def symmetrical_uncertainty(a: Codes, b: Codes) -> float:
    """Twice the mutual information over the sum of the entropies of two numberings; 0 if both are constant.

    Examples
    --------
    >>> symmetrical_uncertainty(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    joint = np.bincount(a * (b.max() + 1) + b)
    alone = _entropy(np.bincount(a)) + _entropy(np.bincount(b))
    return float(2.0 * (alone - _entropy(joint)) / alone) if alone > 0 else 0.0


def cut_column(values: Array, codes: Codes) -> Codes:
    """Number of the interval of each value, cut where the classes change most, as long as that pays.

    Parameters
    ----------
    values : array of shape (n,)
    codes : int array of shape (n,)
        Classes.

    Examples
    --------
    >>> cut_column(np.arange(12.0), np.repeat([0, 1], 6)).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    """
    kinds, numbers = np.unique(values, return_inverse=True)
    if len(kinds) <= 2:
        return numbers.ravel()
    order = np.argsort(values, kind="stable")
    counts = np.cumsum(np.eye(codes.max() + 1)[codes[order]], axis=0)
    counts = np.vstack([np.zeros(counts.shape[1]), counts])
    changes = np.flatnonzero(np.diff(values[order])) + 1
    cuts: list[int] = []
    pieces = [(0, len(values))]
    while pieces:
        low, high = pieces.pop()
        cut = _best_cut(counts, changes[(changes > low) & (changes < high)], low, high)
        if cut is not None:
            cuts.append(cut)
            pieces += [(low, cut), (cut, high)]
    interval = np.empty(len(values), dtype=np.intp)
    interval[order] = np.searchsorted(np.sort(cuts), np.arange(len(values)), side="right")
    return interval


def _best_cut(counts: Array, places: Codes, low: int, high: int) -> int | None:
    """The cut of the smallest class entropy, if Fayyad and Irani's criterion accepts it."""
    if not len(places):
        return None
    n = high - low
    whole, left = counts[high] - counts[low], counts[places] - counts[low]
    right = whole - left
    entropy_left, entropy_right = _entropies(left), _entropies(right)
    share = (places - low) / n
    mixed = share * entropy_left + (1.0 - share) * entropy_right
    k = int(mixed.argmin())
    entropy = _entropy(whole)
    kinds, kinds_left, kinds_right = (np.count_nonzero(c) for c in (whole, left[k], right[k]))
    detail = np.log2(3.0**kinds - 2.0) - (
        kinds * entropy - kinds_left * entropy_left[k] - kinds_right * entropy_right[k]
    )
    return int(places[k]) if entropy - mixed[k] > (np.log2(n - 1.0) + detail) / n else None


def _entropy(counts: NDArray) -> float:
    return float(_entropies(counts[None, :])[0])


def _entropies(counts: NDArray) -> Array:
    """Entropies in bits of counts in rows."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=1)
