"""Whether a response goes with its columns at all: greedy fits of it against fits of the permuted response.

The permutations go through the same search over all columns, so that every look is counted: under pure noise
the response is one of many alike, and leads them with the probability of the level, whatever the columns are.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

from rlselect._clock import while_time

__all__ = ["beats_permutations", "beats_sets", "shapes"]

Array = NDArray[np.float64]

# permutations, those of them that come first, and the multiple of the level after which these are enough
_PERMUTATIONS, _FIRST, _HOPELESS = 499, 99, 4.0
# columns that are taken one after the other
_STEPS = 16
# how many columns move with a response by themselves, and by how many standard errors, if any do
_CROWD, _EFFECT = 4, 2.0
# a column has to keep so much of its sum of squares beside those taken
_OWN_SHARE = 1e-6
# numbers that a stack of searches may hold, and the Gram matrix, or the products of columns
_CELLS, _GRAM, _PRODUCTS = 4_000_000, 2000, 10_000_000
# cosines of the ranks of a column, by their half waves: with the column itself, any shape of few turns
_WAVES = (2, 3, 4, 5)


def beats_permutations(X: Array, Y: Array, level: float, rng: np.random.Generator) -> bool:
    """Whether forward selection explains a response better than it explains its permutations.

    The statistic is the sum of two, in standard deviations over the permutations: what the first sixteen
    columns explain, on average over their numbers, and the odds that a few of all columns move with the
    response, each by itself. Both see one clear effect and several weak ones.

    Parameters
    ----------
    X : array of shape (n, p)
    Y : array of shape (n, q)
    level : float
        Share of the permutations that may lead.
    rng : Generator

    Returns
    -------
    bool
    """
    n, p = X.shape
    if p == 0:
        return False
    search = _Forward(X, max(1, min(_STEPS, p, n // 4)))
    Y = Y - Y.mean(axis=0)
    # in the first row the response itself
    gains, crowds = [search.gains(Y[None])], [search.crowd(Y[None])]
    least = 1.0
    for count in while_time((_FIRST, max(_PERMUTATIONS, math.ceil(2.0 / level)) - _FIRST)):
        for some in _permuted(Y, count, search.at_once, rng):
            gains.append(search.gains(some))
            crowds.append(search.crowd(some))
        share = _share_of_leaders(np.concatenate(gains), np.concatenate(crowds))
        least = 1.0 / sum(map(len, gains))
        if share > _HOPELESS * max(level, least):
            break
    return share <= max(level, least)


def _permuted(Y: Array, count: int, at_once: int, rng: np.random.Generator) -> Iterator[Array]:
    for start in range(0, count, at_once):
        yield np.stack([rng.permutation(Y) for _ in range(min(at_once, count - start))])


def _share_of_leaders(gains: Array, crowds: Array) -> float:
    """Share of the rows, the first among them, whose statistic is at least that of the first."""
    scores = _standard(_standard(gains).mean(axis=1)) + _standard(crowds)
    # sums of the same numbers in another order are ties
    return float(np.mean(scores >= scores[0] - 1e-9))


def _standard(values: Array) -> Array:
    """Values in standard deviations from their mean, over the rows."""
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


class _Forward:
    """Forward selection by least squares, of many responses at once.

    Parameters
    ----------
    X : array of shape (n, p)
    steps : int
        Columns to take.
    """

    def __init__(self, X: Array, steps: int) -> None:
        self._X = X - X.mean(axis=0)
        self._steps = steps
        self._size = np.square(self._X).sum(axis=0)
        p = X.shape[1]
        self._gram = self._X.T @ self._X if p <= _GRAM else None
        self.at_once = max(1, _CELLS // max(steps * p, 1))

    def gains(self, responses: Array) -> Array:
        """Log of the risk of a constant over that with the first, the first two, ... columns.

        Parameters
        ----------
        responses : array of shape (m, n, q)
            Centred.

        Returns
        -------
        array of shape (m, steps)
        """
        every = np.arange(len(responses))
        cross = responses.swapaxes(1, 2) @ self._X
        total = np.square(responses).sum(axis=(1, 2))
        least = 1e-12 * total
        rest, left = total.copy(), np.repeat(self._size[None], len(responses), axis=0)
        # rows of the Cholesky factors of the columns taken so far
        factor = np.zeros((len(responses), self._steps, self._X.shape[1]), dtype=self._X.dtype)
        out = np.empty((len(responses), self._steps))
        for step in range(self._steps):
            usable = left > _OWN_SHARE * np.maximum(self._size, 1e-300)
            score = np.where(usable, np.square(cross).sum(axis=1) / np.where(usable, left, 1.0), 0.0)
            best = score.argmax(axis=1)
            rest = np.maximum(rest - score[every, best], least)
            out[:, step] = np.log(np.where(total > 0, total, 1.0) / np.where(total > 0, rest, 1.0))
            known = factor[every, :step, best][:, None, :] @ factor[:, :step]
            own = np.where(usable[every, best], left[every, best], np.inf)
            row = (self._products(best) - known[:, 0]) / np.sqrt(own)[:, None]
            factor[:, step] = row
            cross = cross - (cross[every, :, best] / np.sqrt(own)[:, None])[:, :, None] * row[:, None, :]
            left = left - np.square(row)
        return out

    def crowd(self, responses: Array) -> Array:
        """Log odds that a few of all columns move with a response, if each did by itself.

        Parameters
        ----------
        responses : array of shape (m, n, q)
            Centred.

        Returns
        -------
        array of shape (m,)
        """
        total = np.square(responses).sum(axis=(1, 2))[:, None]
        usable = self._size > 0
        squares = np.square(responses.swapaxes(1, 2) @ self._X).sum(axis=1)
        squares = (
            len(self._X) * squares / (np.where(usable, self._size, 1.0) * np.where(total > 0, total, 1.0))
        )
        width = 1.0 + _EFFECT**2
        odds = np.where(usable, np.exp(0.5 * squares * (1.0 - 1.0 / width)) / math.sqrt(width), 1.0)
        share = min(_CROWD / len(self._size), 0.5)
        return np.asarray(np.log1p(share * (odds - 1.0)).sum(axis=1))

    def _products(self, columns: NDArray[np.intp]) -> Array:
        """Sums over rows of the products of some columns with all columns."""
        if self._gram is not None:
            return np.asarray(self._gram[columns])
        some, place = np.unique(columns, return_inverse=True)
        return np.asarray((self._X[:, some].T @ self._X)[place])


def shapes(X: Array) -> Array | None:
    """Columns, their turning shapes and their products in pairs; None where those are too many."""
    n, p = X.shape
    count = p * (p - 1) // 2 + p * (1 + len(_WAVES))
    if n * count > _PRODUCTS:
        return None
    ranks = np.pi * (rankdata(X, axis=0) - 0.5) / n
    first, second = np.triu_indices(p, 1)
    parts = [X, *(np.cos(wave * ranks) for wave in _WAVES), X[:, first] * X[:, second]]
    return np.concatenate(parts, axis=1, dtype=np.float32)


def beats_sets(gain: Array, n_units: int, size: int, level: float) -> bool:
    """Whether a set saves more of the losses of rows than the best of all sets of its size would by chance.

    Parameters
    ----------
    gain : array of shape (n,)
        What the set saves of the held-out loss of each row.
    n_units : int
        Units there were to choose from.
    size : int
        Of the set, in units.
    level : float
        For all sets of all sizes; those of size k have a share of 1 / (k (k + 1)).

    Returns
    -------
    bool
    """
    if len(gain) < 3 or not 0 < size <= n_units:
        return False
    sets = math.lgamma(n_units + 1) - math.lgamma(size + 1) - math.lgamma(n_units - size + 1)
    error = float(gain.std(ddof=1)) / math.sqrt(len(gain))
    tail = student.logsf(float(gain.mean()) / max(error, 1e-300), len(gain) - 1)
    return bool(tail + sets + math.log(size * (size + 1)) < math.log(level))
