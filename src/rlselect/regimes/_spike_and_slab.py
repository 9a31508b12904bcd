r"""Linear slopes averaged over which of them there are: spikes and slabs, one pair for each block of columns.

Each slope is 0 or, with the probability :math:`\pi_b` of its block, normal with the variance
:math:`\tau_b = \rho_b / (\pi_b m_b)`, where :math:`m_b` is the number of its columns and :math:`\rho_b` what
they explain together. Beforehand every share is as likely as any other, and so is the standard deviation of
what is explained: few large slopes and many small ones are equally welcome. (Variances that know nothing of
the shares expect of many slopes that they explain much, and take many small ones for none.) Both are learnt
with the slopes, so that few large slopes of one block and many small ones of another are told from each
other, and no penalty is chosen: a decision hangs on the direction of slopes, which the penalty that predicts
best spoils where slopes are many, and a choice among penalties on folds is a matter of chance.

Some blocks may be alike: with even odds beforehand they have one share and one variance, those of a block of
all their columns. An arm of few subjects cannot say by itself how rare its slopes are.

The average is that of Gibbs samplers, side by side from few to many expected slopes. They see the sums of
squares and products alone, and visit columns from the one that moves most with the response on: the order of
rows or columns does not matter.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from rlselect._clock import stop_if_late

__all__ = ["Average", "ColumnMoments", "average_slopes"]

# chains cost little beside each other; of half as many, and fewer sweeps, regimes were left to chance
_CHAINS, _SWEEPS, _FIRST = 32, 60, 20
# shares of slopes that are there, in logits, and of the response's variance that a block explains, as
# standard deviations
_LOGITS, _DEVIATIONS = np.linspace(-7.0, 7.0, 15), (np.arange(12) + 0.5) / 12.0
# columns that are averaged over at most, and what is expected of the square of other slopes
_MOST, _NOTHING = 150, 1e-8
# decimals of what columns explain, as shares of the most: the indicators of two actions explain the same, and
# rounding must not say which comes first
_DECIMALS = 10


class ColumnMoments(NamedTuple):
    """Centred sums of squares and products, of several data sets with the same columns.

    Attributes
    ----------
    gram : (m, d, d) array
    cross : (m, d) array
        Of the columns with the response.
    total, rows : (m,) arrays
        Of the response, and numbers of rows.
    """

    gram: np.ndarray
    cross: np.ndarray
    total: np.ndarray
    rows: np.ndarray


class Average(NamedTuple):
    """What samplers say of slopes.

    Attributes
    ----------
    slopes, squares : (m, d) arrays
        Expected slopes, and their expected squares.
    there : (m, d) array
        How probable it is that a slope is not 0.
    noise : (m,) array
        Expected variance of the noise.
    """

    slopes: np.ndarray
    squares: np.ndarray
    there: np.ndarray
    noise: np.ndarray


def average_slopes(data: ColumnMoments, blocks: np.ndarray, alike: int = 0) -> Average:
    """Slopes of each data set by itself; they share random numbers alone.

    Parameters
    ----------
    data : ColumnMoments
    blocks : (d,) int array
        Block of each column, from 0 on.
    alike : int
        How many blocks, the first ones, may have one share and one variance.
    """
    if len(blocks) <= _MOST:
        return _averaged(data, blocks, np.bincount(blocks), alike)
    alone = [ColumnMoments(*(part[k : k + 1] for part in data)) for k in range(len(data.total))]
    found = (_of_strongest(one, blocks, alike) for one in alone)
    return Average(*map(np.concatenate, zip(*found, strict=True)))


def _of_strongest(data: ColumnMoments, blocks: np.ndarray, alike: int) -> Average:
    """The average over the columns of one data set that move most with its response; others have no slope."""
    kept = np.sort(np.argsort(-_strength(data), kind="stable")[:_MOST])
    gram = data.gram[:, kept][:, :, kept]
    # those that were left out have no slope, and say how rare these are
    sizes = np.bincount(blocks)
    some = ColumnMoments(gram, data.cross[:, kept], data.total, data.rows)
    found = _averaged(some, blocks[kept], sizes, alike)
    shape = data.cross.shape
    every = np.zeros(shape), np.full(shape, _NOTHING * data.total / data.rows), np.zeros(shape)
    for whole, part in zip(every, found, strict=False):
        whole[:, kept] = part
    return Average(*every, found.noise)


def _strength(data: ColumnMoments) -> np.ndarray:
    """What each column by itself explains of the responses of all data sets, as a share of the most (d,)."""
    tiny = np.finfo(float).tiny
    size = np.einsum("mjj->j", data.gram)
    explained = np.square(data.cross).sum(axis=0) / np.maximum(size, tiny)
    return np.round(explained / max(explained.max(), tiny), _DECIMALS)


def _averaged(data: ColumnMoments, blocks: np.ndarray, sizes: np.ndarray, alike: int) -> Average:
    chains = _Chains(data, blocks, sizes, alike)
    found = []
    for sweep in range(_SWEEPS):
        stop_if_late()
        drawn = chains.sweep()
        if sweep >= _FIRST:
            found.append((*drawn, chains.noise.mean(axis=1)))
    parts = (np.mean(part, axis=0) for part in zip(*found, strict=True))
    return Average(*(part.T for part in parts))


class _Chains:
    """Gibbs samplers of some data sets, side by side.

    Parameters
    ----------
    data : ColumnMoments
    blocks : (d,) int array
    sizes : (b,) int array
        Of the blocks, columns that are not among these included.
    alike : int
        How many of them, the first ones, may be one.

    Attributes
    ----------
    slopes : (d, m, c) array
        Of the columns, by data set and chain.
    noise : (m, c) array
        Variance of the noise.
    """

    def __init__(self, data: ColumnMoments, blocks: np.ndarray, sizes: np.ndarray, alike: int) -> None:
        self._rng = np.random.default_rng(0)
        self._gram = np.ascontiguousarray(np.moveaxis(data.gram, 0, -1))
        self._cross, self._total, self._rows = data.cross.T[..., None], data.total, data.rows
        self._size = np.array(np.einsum("jjm->jm", self._gram))[..., None]
        strength = _strength(data)
        self._order = np.argsort(-strength, kind="stable")
        self._blocks, self._members = blocks, np.equal.outer(np.arange(len(sizes)), blocks).astype(float)
        # random numbers go to blocks by what they say, whatever they are called
        said = np.bincount(blocks, weights=strength, minlength=len(sizes))
        self._block_order = np.argsort(-said, kind="stable")
        shape = (len(sizes), len(data.total), _CHAINS)
        self._unit = (data.total / data.rows)[:, None]
        self._grid = _Grid(sizes, self._unit, alike)
        self.noise = np.broadcast_to(0.5 * self._unit, shape[1:]).copy()
        self._slab = np.broadcast_to(0.1 * self._unit, shape).copy()
        self._share = np.broadcast_to(np.linspace(0.1, 0.9, _CHAINS), shape).copy()
        self.slopes = np.zeros((len(blocks), *shape[1:]))
        self._fitted = np.zeros_like(self.slopes)

    def sweep(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw all once: expected slopes and squares, and their chances, (d, m) means over the chains."""
        slab, noise = self._slab[self._blocks], self.noise
        spread = 1.0 / (self._size / noise + 1.0 / slab)
        odds = np.log(self._share / (1.0 - self._share))[self._blocks] + 0.5 * np.log(spread / slab)
        gain, half, size = spread / noise, 0.5 / spread, self._size
        shape = self.slopes.shape
        # random numbers go to columns by their rank, wherever they stand
        chance, normal = np.empty(shape), np.empty(shape)
        chance[self._order] = self._rng.uniform(size=shape)
        normal[self._order] = self._rng.normal(size=shape)
        step = np.sqrt(spread) * normal
        with np.errstate(divide="ignore"):
            hurdle = np.log(chance / (1.0 - chance)) - odds
        means = np.empty(shape)
        for j in self._order:
            old = self.slopes[j]
            mean = gain[j] * (self._cross[j] - self._fitted[j] + size[j] * old)
            new = np.where(half[j] * mean * mean > hurdle[j], mean + step[j], 0.0)
            self._fitted += self._gram[j][..., None] * (new - old)
            self.slopes[j], means[j] = new, mean
        there = expit(odds + half * np.square(means))
        self._draw_blocks()
        squares = there * (np.square(means) + spread)
        return (there * means).mean(axis=2), squares.mean(axis=2), there.mean(axis=2)

    def _draw_blocks(self) -> None:
        """Shares and variances of the slopes of each block, and the variance of the noise."""
        there, squares = (
            (self._members @ part.reshape(len(part), -1)).reshape(self._share.shape)
            for part in (self.slopes != 0.0, np.square(self.slopes))
        )
        chance = np.empty(self._share.shape)
        chance[self._block_order] = self._rng.uniform(size=chance.shape)
        one = self._rng.uniform(size=chance.shape[1:])
        self._share, self._slab = self._grid.draw(there, squares, chance, one)
        left = self._total[:, None] + (self.slopes * (self._fitted - 2.0 * self._cross)).sum(axis=0)
        left = np.maximum(left, 1e-9 * self._total[:, None])
        self.noise = left / (2.0 * self._rng.gamma(0.5 * (self._rows[:, None] - 1.0), size=left.shape))


class _Grid:
    """Shares and variances that slopes of a block may have, (g,) pairs of them, and how probable they are.

    Parameters
    ----------
    sizes : (b,) int array
        Of the blocks.
    unit : (m, 1) array
        Variances of the responses.
    alike : int
        How many blocks, the first ones, may have one share and one variance.
    """

    def __init__(self, sizes: np.ndarray, unit: np.ndarray, alike: int) -> None:
        self._alike, self._unit = alike, unit
        # the last block is that of all columns of those that may be alike
        sizes = np.append(sizes, sizes[:alike].sum())
        self._share, deviation = (part.ravel() for part in np.meshgrid(expit(_LOGITS), _DEVIATIONS))
        share, rare = np.log(self._share), np.log(1.0 - self._share)
        self._slab = np.square(deviation) / np.maximum(self._share * sizes[:, None], 1.0)
        # all shares are equally likely, and lie the closer the nearer they are to 0 or 1
        prior = share + rare - np.log(np.exp(share + rare).sum())
        self._none = prior + sizes[:, None] * rare
        self._each = share - rare - 0.5 * np.log(self._slab)
        self._square = -0.5 / (self._slab[:, None] * unit)

    def draw(
        self, there: np.ndarray, squares: np.ndarray, chance: np.ndarray, one: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A share and a variance for each block, given how many slopes there are and their squares.

        All are (b, m, c) arrays; ``chance`` is uniform on 0 to 1, and so is ``one`` (m, c), which decides
        whether blocks that may be alike are.
        """
        there, squares = (np.concatenate([part, self._together(part)]) for part in (there, squares))
        # what is drawn for all of them together takes the place of what is for the first
        chance = np.concatenate([chance, chance[:1]])
        logs = there[..., None] * self._each[:, None, None] + squares[..., None] * self._square[:, :, None]
        logs += self._none[:, None, None]
        top = logs.max(axis=-1, keepdims=True)
        shares = np.exp(logs - top).cumsum(axis=-1)
        drawn = (shares < chance[..., None] * shares[..., -1:]).sum(axis=-1)
        share, slab = self._share[drawn], np.take_along_axis(self._slab[:, None], drawn, axis=-1) * self._unit
        if self._alike:
            evidence = top[..., 0] + np.log(shares[..., -1])
            apart = self._together(evidence[:-1])[0]
            alike = one < expit(evidence[-1] - apart)
            for part in (share, slab):
                part[: self._alike] = np.where(alike, part[-1], part[: self._alike])
        return share[:-1], slab[:-1]

    def _together(self, parts: np.ndarray) -> np.ndarray:
        """The sum over the blocks that may be alike (1, m, c)."""
        return parts[: self._alike].sum(axis=0, keepdims=True)
