"""All that is left to chance in the training of networks, drawn before it is needed.

What is drawn does not depend on what was learned, so that NumPy and torch meet the same rows and states.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._network import Singles
from rlselect.datumwise._plan import NETWORK

__all__ = ["GainDraws", "StateDraws", "StepDraws", "find_rows"]


@dataclass(frozen=True)
class StepDraws:
    """What a step that learns classes needs, for all members.

    Parameters
    ----------
    rows : (members, new) int array
        Rows of new random states, which take the last places of the batch.
    masks : (members, new, units) bool array
        What these have bought.
    noise : (members, batch, features) float32 array
        Normal numbers.
    kept : (members, batch, trunk) uint8 array
        Hidden units whose number is small enough are kept.
    """

    rows: NDArray
    masks: NDArray
    noise: Singles
    kept: NDArray


@dataclass(frozen=True)
class GainDraws(StepDraws):
    """What a step that also learns gains needs besides.

    Parameters
    ----------
    prices : (rewards, members, new) float32 array
        Logarithms of prices of the new states in which gains are learned.
    luck : (members, priced, units) float32 array
        The purchases with the largest numbers are tried.
    stray : (members, episodes) bool array
        Episodes that buy at random.
    random : (members, episodes, units) float32 array
        What they buy: the largest.
    fresh : (members, episodes) int array
        Rows of new episodes.
    fresh_prices : (rewards, members, episodes) float32 array
        Their prices.
    """

    prices: Singles
    luck: Singles
    stray: NDArray
    random: Singles
    fresh: NDArray
    fresh_prices: Singles


class StateDraws:
    """Draws for networks that leave out one fold each.

    Parameters
    ----------
    mass : (members, rows) array
        Weights of the rows for each network.
    sizes : tuple of int
        Units, features, hidden units of the trunk.
    rewards : tuple of int
        As in `Lessons`.
    priced : int
        States of a step in which gains are learned; one half of them are episodes.
    rng : Generator
        Of these networks alone.
    """

    def __init__(
        self,
        mass: NDArray,
        sizes: tuple[int, int, int],
        rewards: tuple[int, ...],
        priced: int,
        rng: np.random.Generator,
    ) -> None:
        self.mass = np.cumsum(mass, axis=1)
        self.members, self.n_rows = mass.shape
        self.units, self.features, self.trunk = sizes
        self.rewards, self.priced, self.rng = rewards, priced, rng
        self.batch, self.episodes = priced * NETWORK.class_states, priced // 2

    def prices(self, number: int) -> Singles:
        """Logarithms (rewards, members, number), each reward in its own range."""
        ends = np.log10(np.array([NETWORK.prices[reward] for reward in self.rewards]))
        low, high = ends.T[:, :, None, None]
        drawn = self.rng.random((len(ends), self.members, number))
        return (low + (high - low) * drawn).astype(np.float32)

    def step(self) -> StepDraws:
        """What the next step needs if it learns classes only: all states are random and new."""
        return StepDraws(*self._states(self.batch))

    def gain_step(self) -> GainDraws:
        """What the next step needs if it learns gains too: episodes keep their places."""
        rng, playing = self.rng, (self.members, self.episodes)
        return GainDraws(
            *self._states(self.batch - self.episodes),
            prices=self.prices(self.priced - self.episodes),
            luck=rng.random((self.members, self.priced, self.units), dtype=np.float32),
            stray=rng.random(playing) < NETWORK.explore,
            random=rng.random((*playing, self.units), dtype=np.float32),
            fresh=self._rows(self.episodes),
            fresh_prices=self.prices(self.episodes),
        )

    def _states(self, number: int) -> tuple[NDArray, NDArray, Singles, NDArray]:
        """So many new states, with noise and dropout of the whole batch."""
        rng, shape = self.rng, (self.members, number)
        rows = self._rows(number)
        share = rng.random((*shape, 1), dtype=np.float32) ** 2
        masks = rng.random((*shape, self.units), dtype=np.float32) < share
        noise = rng.standard_normal((self.members, self.batch, self.features), dtype=np.float32)
        size = (self.members, self.batch, self.trunk)
        # one byte of chance for each hidden unit is enough
        kept = np.frombuffer(rng.bytes(int(np.prod(size))), dtype=np.uint8).reshape(size)
        return rows, masks, noise, kept

    def _rows(self, number: int) -> NDArray:
        at = self.rng.random((self.members, number))
        return np.array([find_rows(mass, own) for mass, own in zip(self.mass, at, strict=True)])


def find_rows(mass: NDArray, at: NDArray) -> NDArray:
    """Rows by their weights, whose sums up to each are `mass` (rows,); `at` (any,) are between 0 and 1."""
    return np.minimum(np.searchsorted(mass, at * mass[-1], side="right"), len(mass) - 1)
