"""Products of three variables that chance does not explain, for truths without any effect of lower order."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import stop_if_late

__all__ = ["MOST_COLUMNS", "surprising_triples"]

Array = NDArray[np.float64]
Triple = tuple[int, int, int]

# all triples of so many columns are looked at
MOST_COLUMNS = 200
# a triple has to exceed the largest of each of so many permutations, and their mean by so many deviations
_PERMUTATIONS, _DEVIATIONS = 49, 3.5
_ROUNDS = 4
_CLIP = 3.0


def surprising_triples(X: Array, residual: Array) -> list[Triple]:
    """Triples of columns whose product goes with a residual more than any does when its rows are permuted.

    Two products are tried: of the values, cut off at three standard deviations, and of the sides of the
    median that they are on. Those that surprise join a regression, and the next round sees what it leaves.
    The permutations are the same for every seed of a fit.

    Parameters
    ----------
    X : array of shape (n, p)
        Standardised columns.
    residual : array of shape (n, q)
        What effects of lower order leave of the response.

    Returns
    -------
    list of (int, int, int)
        Columns, none for more than 200 of them.
    """
    n, p = X.shape
    if not 3 <= p <= MOST_COLUMNS or n < 10:
        return []
    rng = np.random.default_rng(n)
    bases = [np.clip(X, -_CLIP, _CLIP), np.where(np.median(X, axis=0) < X, 1.0, -1.0)]
    searches = [_TripleSearch(base) for base in bases]
    residual = residual - residual.mean(axis=0)
    found: set[Triple] = set()
    products: list[Array] = [np.ones(n)]
    for _ in range(_ROUNDS):
        fresh = []
        for base, search in zip(bases, searches, strict=True):
            triple = search.surprise(residual, rng)
            if triple is not None:
                fresh.append(triple)
                products.append(base[:, triple].prod(axis=1))
        if not fresh or 2 * len(products) > n:
            break
        found.update(fresh)
        design = np.column_stack(products)
        residual = residual - design @ np.linalg.lstsq(design, residual, rcond=None)[0]
    return sorted(found)


class _TripleSearch:
    """Correlations of residuals with all products of three columns.

    Parameters
    ----------
    Z : array of shape (n, p)
    """

    def __init__(self, Z: Array) -> None:
        # single precision: the largest of many correlations is far from the next by more than that
        self._Z = np.asfortranarray(Z, dtype=np.float32)
        ones = np.ones((len(Z), 1), dtype=np.float32)
        squares = self._Z**2
        self._sizes = [np.maximum(block[0], 1e-6 * len(Z)) for block in _sums(squares, ones)]

    def surprise(self, residual: Array, rng: np.random.Generator) -> Triple | None:
        """The best triple, if it exceeds what permuted residuals reach."""
        r = residual.astype(np.float32)
        best, triple = self._best(r)
        reached = []
        for _ in range(_PERMUTATIONS):
            reached.append(self._best(rng.permutation(r))[0])
            if reached[-1] >= best:
                return None
        return triple if best > float(np.mean(reached) + _DEVIATIONS * np.std(reached)) else None

    def _best(self, r: NDArray[np.float32]) -> tuple[float, Triple]:
        """The triple of the largest correlation with residuals of shape (n, q), and its size."""
        best, triple = -1.0, (0, 1, 2)
        for i, sums in enumerate(_sums(self._Z, r)):
            stop_if_late()
            score = np.triu(np.square(sums).sum(axis=0) / self._sizes[i], 1)
            flat = int(score.argmax())
            if score.flat[flat] > best:
                j, k = divmod(flat, score.shape[1])
                best, triple = float(score.flat[flat]), (i, i + 1 + j, i + 1 + k)
        return float(np.sqrt(best)), triple


def _sums(Z: NDArray[np.float32], r: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """For each column i the sums over rows of r z_i z_j z_k for all later j and k, of shape (q, m, m)."""
    for i in range(Z.shape[1] - 2):
        later = Z[:, i + 1 :]
        yield np.stack([later.T @ (later * (Z[:, i] * column)[:, None]) for column in r.T])
