"""Whether a response goes with its columns at all: what they say of it against what they say of it permuted.

The permutations are judged by the same look at all columns, so that every look is counted: under pure noise
the response is one of many alike, and leads them with the probability of the level, whatever the columns are.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, rel_entr
from scipy.stats import rankdata
from scipy.stats import t as student

from rlselect._clock import while_time

__all__ = ["beats_permutations", "beats_sets", "shapes"]

Array = NDArray[np.float64]

# permutations, those of them that come first, and the multiple of the level after which these are enough
_PERMUTATIONS, _FIRST, _HOPELESS = 499, 99, 4.0
_FEW = 19
# how many columns move with a response by themselves, and by how many standard errors, if any do
_CROWD, _EFFECT = 4, 2.0
# the same together: so many columns for each row, with effects of so many squared standard errors on average;
# a few more would explain all of the response, so that small effects are expected and nothing else
_TOGETHER, _SMALL = 0.4, 3.0
# columns that are judged together, those that move most with a response by themselves, and how often
_STRONGEST, _ROUNDS = 64, 4
# share of the response that effects together leave at least
_LEFT = 0.05
# numbers that a stack of responses may hold, columns of a Gram matrix, and numbers of products of columns
_CELLS, _GRAM, _PRODUCTS = 4_000_000, 2000, 10_000_000
# cosines of the ranks of a column, by their half waves: with the column itself, any shape of few turns
_WAVES = (2, 3, 4, 5)


def beats_permutations(X: Array, Y: Array, level: float, rng: np.random.Generator) -> bool:
    """Whether columns say more of a response than of its permutations.

    The statistic is the sum of two, in standard deviations over the permutations: the evidence for small
    effects of many columns together, and the odds that a few of all columns move with the response, each by
    itself. The first sees several weak effects, of which none is a surprise, the second one clear effect.

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
    columns = _Columns(X)
    if columns.count == 0:
        return False
    Y = Y - Y.mean(axis=0)
    values: list[Array] = []
    least = 1.0
    for count in while_time((_FIRST, max(_PERMUTATIONS, math.ceil(2.0 / level)) - _FIRST)):
        at_once = max(1, _CELLS // (max(columns.numbers, len(Y)) * Y.shape[1]))
        # some of them do where time is up
        least_parts = -(-min(count, _FEW) // at_once)
        for some in while_time(_permuted(Y, count, at_once, rng), least=least_parts):
            # in the first row of all the response itself
            values.append(columns.statistics(some if values else np.concatenate([Y[None], some])))
        scores = _standard(np.concatenate(values)).sum(axis=1)
        # sums of the same numbers in another order are ties
        share = float(np.mean(scores >= scores[0] - 1e-9))
        least = 1.0 / len(scores)
        if share > _HOPELESS * max(level, least):
            break
    return share <= max(level, least)


def _permuted(Y: Array, count: int, at_once: int, rng: np.random.Generator) -> Iterator[Array]:
    for start in range(0, count, at_once):
        yield np.stack([rng.permutation(Y) for _ in range(min(at_once, count - start))])


def _standard(values: Array) -> Array:
    """Values in standard deviations from their mean, over the rows."""
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _largest(values: Array, count: int) -> NDArray[np.intp]:
    """Places of the so many largest values of each row, the largest first."""
    some = np.argpartition(-values, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(values, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


class _Columns:
    """Columns, and how much they say of many responses at once.

    Parameters
    ----------
    X : array of shape (n, p)

    Attributes
    ----------
    count : int
        Columns that are not constant.
    numbers : int
        What a response takes of memory.
    """

    def __init__(self, X: Array) -> None:
        X = X - X.mean(axis=0)
        size = np.square(X).sum(axis=0)
        usable = size > 1e-12 * size.max(initial=0.0)
        self._X = X[:, usable] * np.sqrt(len(X) / size[usable])
        n, self.count = self._X.shape
        self._most = min(_STRONGEST, self.count)
        self._gram = self._X.T @ self._X if self.count <= _GRAM else None
        self.numbers = self._most**2 + self.count + (0 if self._gram is not None else self._most * n)

    def statistics(self, responses: Array) -> Array:
        """Evidence for many small effects together, and for a few by themselves.

        Parameters
        ----------
        responses : array of shape (m, n, q)
            Centred.

        Returns
        -------
        array of shape (m, 2)
        """
        m, n, q = responses.shape
        total = np.square(responses).sum(axis=(1, 2))
        scale = np.sqrt(n * q / np.where(total > 0, total, np.inf))
        cross = responses.swapaxes(1, 2).reshape(m * q, n).astype(self._X.dtype) @ self._X
        cross = cross.reshape(m, q, self.count) * scale[:, None, None]
        squares = np.square(cross).sum(axis=1)
        return np.stack([self._together(cross, squares), self._apart(squares / (n * q))], axis=1)

    def _apart(self, squares: Array) -> Array:
        """Log odds that a few of all columns move with a response, if each did by itself.

        Parameters
        ----------
        squares : array of shape (m, count)
            Squared effects in those of their standard errors.
        """
        width = 1.0 + _EFFECT**2
        odds = 0.5 * squares * (1.0 - 1.0 / width) - 0.5 * math.log(width)
        share = min(_CROWD / self.count, 0.5)
        return np.asarray(np.logaddexp(math.log(1.0 - share), math.log(share) + odds).sum(axis=1))

    def _together(self, cross: Array, squares: Array) -> Array:
        """Lower bound of the log evidence for normal effects of some columns, beside no effect of others.

        Spike and slab, with an approximate posterior in which columns are independent. Only the strongest
        columns are looked at, each in the light of what the others are thought to explain.

        Parameters
        ----------
        cross : array of shape (m, q, count)
            Sums of products of standardised responses and columns.
        squares : array of shape (m, count)
            Sums of their squares.
        """
        (m, q, _), n = cross.shape, len(self._X)
        slab, share = _SMALL / n, min(_TOGETHER * n / self.count, 0.5)
        strongest = _largest(squares, self._most)
        products = self._products(strongest)
        first = np.take_along_axis(cross, strongest[:, None, :], axis=2).astype(np.float64)
        rest, mean, effect = first.copy(), np.zeros_like(first), np.zeros_like(first)
        inside, noise = np.full((m, self._most), share), np.ones(m)
        for _ in range(_ROUNDS):
            variance = noise / (n + noise / slab)
            odds = math.log(share / (1.0 - share)) + 0.5 * q * np.log(variance / slab)
            for k in range(self._most):
                known = rest[:, :, k] + n * effect[:, :, k]
                mean[:, :, k] = known * (variance / noise)[:, None]
                inside[:, k] = expit(odds + np.square(mean[:, :, k]).sum(axis=1) / (2.0 * variance))
                change = inside[:, k, None] * mean[:, :, k] - effect[:, :, k]
                rest -= change[:, :, None] * products[:, None, k]
                effect[:, :, k] += change
            spread = np.square(mean).sum(axis=1) + q * variance[:, None]
            unsure = (inside * spread - np.square(effect).sum(axis=1)).sum(axis=1)
            left = n * q - (effect * (first + rest)).sum(axis=(1, 2)) + n * unsure
            noise = np.maximum(left / (n * q), _LEFT)
        surprise = (rel_entr(inside, share) + rel_entr(1.0 - inside, 1.0 - share)).sum(axis=1)
        gain = (inside * (q + q * np.log(variance / slab)[:, None] - spread / slab)).sum(axis=1)
        return np.asarray(0.5 * gain - surprise - 0.5 * n * q * np.log(noise))

    def _products(self, columns: NDArray[np.intp]) -> Array:
        """Sums over rows of the products of some columns with each other, for each response."""
        if self._gram is not None:
            return np.asarray(self._gram[columns[:, :, None], columns[:, None, :]])
        some = self._X.T[columns]
        return np.asarray(some @ some.swapaxes(1, 2))


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
