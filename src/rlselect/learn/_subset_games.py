"""Games over subsets: start with nothing, add units one by one, stop, be rewarded.

Two players share the board. `UpperConfidenceTree` learns from whole games, `TemporalDifferences` from each
single step. Neither sees X and y: a judge says what a subset is worth.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Subset = frozenset[int]
# the worth of a subset, from 0 to 1; a second call for the same subset may differ
Judge = Callable[[Subset], float]

_NOTHING: Subset = frozenset()


class Means:
    """Running means and variances of several quantities.

    Examples
    --------
    >>> means = Means(2)
    >>> means.add([0], 1.0), means.add([0], 3.0)
    (None, None)
    >>> means.mean.tolist(), means.count.tolist()
    ([2.0, 0.0], [2, 0])
    """

    def __init__(self, size: int) -> None:
        self.count = np.zeros(size, dtype=np.int64)
        self.mean = np.zeros(size)
        self._squares = np.zeros(size)

    def add(self, which: Iterable[int], value: float) -> None:
        """One more value of some of them."""
        for k in which:
            self.count[k] += 1
            step = value - self.mean[k]
            self.mean[k] += step / self.count[k]
            self._squares[k] += step * (value - self.mean[k])

    def variance(self, which: NDArray[np.intp]) -> Array:
        """Variances of some that have values."""
        return self._squares[which] / self.count[which]


@dataclass
class Place:
    """What is known of a subset: games that came through, its moves, and games below it that used a unit."""

    moves: Means
    below: Means
    visits: int = 0


class UpperConfidenceTree:
    """UCT over subsets with rapid action values and discretely many moves, as FUSE has it.

    A game goes down the known subsets by the largest upper confidence bound (UCB1-tuned), adds one subset
    that is new, and is finished at random: with d units it stops with probability ``1 - continuation ** d``.
    Of a subset seen T times the ``floor(T ** widening)`` moves are considered that looked best when they
    came up for it. Means of moves are mixed with the rewards of all games that used the unit, below this
    subset and anywhere.

    Parameters
    ----------
    n_units : int
        Number of units; "stop" is move number ``n_units``.
    judge : callable
        Worth of a frozenset of units, from 0 to 1.
    rng : Generator
    exploration, widening, continuation : float
        As above; `exploration` multiplies the squared width of the bounds.
    local_weight, global_weight : float
        Games until a move's own mean counts as much as the rapid values, and until those of this subset count
        as much as those of all games.
    """

    def __init__(
        self,
        n_units: int,
        judge: Judge,
        rng: np.random.Generator,
        *,
        exploration: float = 0.1,
        widening: float = 0.5,
        continuation: float = 0.9,
        local_weight: float = 20.0,
        global_weight: float = 20.0,
    ) -> None:
        self.n_units = n_units
        self.stop = n_units
        self._judge = judge
        self._rng = rng
        self._exploration = exploration
        self._widening = widening
        self._continuation = continuation
        self._local_weight, self._global_weight = local_weight, global_weight
        self.places: dict[Subset, Place] = {}
        # rewards of all games that used a unit, and of those that stopped with so many units
        self.units = Means(n_units)
        self.sizes = Means(n_units + 1)
        self._considered: dict[Subset, list[int]] = {}

    def play(self) -> tuple[Subset, float]:
        """One game; its subset, and the reward."""
        subset, path = _NOTHING, []
        while subset in self.places:
            move = self._choose(subset)
            path.append((subset, move))
            if move == self.stop:
                break
            subset = subset | {move}
        else:
            self.places[subset] = self._place()
            subset = self._finish(subset)
        reward = self._judge(subset)
        self.units.add(subset, reward)
        self.sizes.add([len(subset)], reward)
        for place, move in path:
            known = self.places[place]
            known.visits += 1
            known.moves.add([move], reward)
            known.below.add(subset - place, reward)
        return subset, reward

    def best_path(self) -> list[int]:
        """Units along the moves that were taken most often."""
        subset, path = _NOTHING, list[int]()
        while subset in self.places and self.places[subset].visits:
            counts = self.places[subset].moves.count
            means = self.places[subset].moves.mean
            move = int(np.lexsort((means, counts))[-1])
            if move == self.stop:
                break
            path.append(move)
            subset = subset | {move}
        return path

    def _place(self) -> Place:
        return Place(Means(self.n_units + 1), Means(self.n_units))

    def _finish(self, subset: Subset) -> Subset:
        units = list(subset)
        left = self._rng.permutation(_others(self.n_units, subset))
        for unit in left:
            if self._rng.random() < 1.0 - self._continuation ** len(units):
                break
            units.append(int(unit))
        return frozenset(units)

    def _choose(self, subset: Subset) -> int:
        place = self.places[subset]
        considered = self._considered.setdefault(subset, [])
        room = int((place.visits + 1) ** self._widening)
        if len(considered) < min(room, self.n_units + 1 - len(subset)):
            new = _others(self.n_units + 1, [*subset, *considered])
            considered.append(int(new[_largest(self._rapid(subset, new), self._rng)]))
        moves = np.array(considered, dtype=np.intp)
        return int(moves[_largest(self._bounds(subset, moves), self._rng)])

    def _bounds(self, subset: Subset, moves: NDArray[np.intp]) -> Array:
        known = self.places[subset].moves
        count = known.count[moves]
        own = count / (count + self._local_weight)
        score = own * known.mean[moves] + (1.0 - own) * self._rapid(subset, moves)
        tried = count > 0
        width = np.full(len(moves), np.inf)
        logs = math.log(max(self.places[subset].visits, 2)) / count[tried]
        spread = np.minimum(0.25, known.variance(moves[tried]) + np.sqrt(2.0 * logs))
        width[tried] = np.sqrt(self._exploration * logs * spread)
        return score + width

    def _rapid(self, subset: Subset, moves: NDArray[np.intp]) -> Array:
        """Rewards of games that used a unit, of this subset and of all; of stopping, those of its size."""
        below = self.places[subset].below
        rapid = np.full(len(moves), self.sizes.mean[len(subset)])
        units = moves[moves != self.stop]
        local = below.count[units] / (below.count[units] + self._global_weight)
        rapid[moves != self.stop] = local * below.mean[units] + (1.0 - local) * self.units.mean[units]
        return rapid


class TemporalDifferences:
    """Values of subsets by temporal differences, and of units by what they add, as FSTD has it.

    A step from F to F + u is rewarded by the difference of their worths. The value of F moves towards the
    reward plus the discounted value of F + u. Units are chosen by an upper confidence bound of the mean
    reward of their steps, plus what the graph of known subsets says of this very step; a share of steps is
    random. A game ends after so many steps without any gain, or with so many units.

    Parameters
    ----------
    n_units : int
    judge : callable
        Worth of a frozenset of units.
    rng : Generator
    rate, discount : float
        Step and discount of the temporal differences.
    exploration : float
        Width of the bounds.
    epsilon : float
        Share of random steps.
    patience : int
        Steps without gain that end a game.
    max_size : int
        Most units.
    """

    def __init__(
        self,
        n_units: int,
        judge: Judge,
        rng: np.random.Generator,
        *,
        rate: float = 0.5,
        discount: float = 0.7,
        exploration: float = 0.1,
        epsilon: float = 0.1,
        patience: int = 2,
        max_size: int = 20,
    ) -> None:
        self.n_units = n_units
        self._judge = judge
        self._rng = rng
        self._rate, self._discount = rate, discount
        self._exploration, self._epsilon = exploration, epsilon
        self._patience, self._max_size = patience, min(max_size, n_units)
        self.units = Means(n_units)
        self.values: dict[Subset, float] = {}
        self.steps: dict[Subset, Means] = {}

    def play(self) -> tuple[Subset, float]:
        """One game; the best subset on its way, and its worth."""
        subset, worth = _NOTHING, self._judge(_NOTHING)
        best, idle = (subset, worth), 0
        while idle < self._patience and len(subset) < self._max_size:
            unit = self._choose(subset)
            larger = subset | {unit}
            next_worth = self._judge(larger)
            reward = next_worth - worth
            self._learn(subset, unit, larger, reward)
            idle = 0 if reward > 0 else idle + 1
            subset, worth = larger, next_worth
            if worth > best[1]:
                best = (subset, worth)
        return best

    def _learn(self, subset: Subset, unit: int, larger: Subset, reward: float) -> None:
        value = self.values.get(subset, 0.0)
        target = reward + self._discount * self.values.get(larger, 0.0)
        self.values[subset] = value + self._rate * (target - value)
        self.units.add([unit], reward)
        self.steps.setdefault(subset, Means(self.n_units)).add([unit], reward)

    def _choose(self, subset: Subset) -> int:
        open_units = _others(self.n_units, subset)
        if self._rng.random() < self._epsilon:
            return int(self._rng.choice(open_units))
        count = self.units.count[open_units]
        score = np.full(len(open_units), np.inf)
        tried = count > 0
        total = math.log(max(int(self.units.count.sum()), 2))
        score[tried] = self.units.mean[open_units[tried]] + self._exploration * np.sqrt(total / count[tried])
        known = self.steps.get(subset)
        if known is not None:
            for k in np.flatnonzero(known.count[open_units] > 0):
                unit = int(open_units[k])
                ahead = self._discount * self.values.get(subset | {unit}, 0.0)
                bonus = self._exploration * math.sqrt(total / known.count[unit])
                score[k] = known.mean[unit] + ahead + bonus
        return int(open_units[_largest(score, self._rng)])


def _others(count: int, some: Iterable[int]) -> NDArray[np.intp]:
    """Numbers below a count but for some of them."""
    left = np.ones(count, dtype=bool)
    left[list(some)] = False
    return np.flatnonzero(left)


def _largest(scores: Array, rng: np.random.Generator) -> int:
    """Place of the largest score, by lot among equals."""
    return int(rng.choice(np.flatnonzero(scores == scores.max())))
