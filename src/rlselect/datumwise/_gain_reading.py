"""What purchases gain at once, read from the trunks of learned networks by least squares.

What a purchase gains in a single case is nearly all chance, so that steps of gradients learn little more than
its mean when there are many purchases. Once networks stand still, the gains of all purchases in a state cost
little more than those of one, as they differ by a few columns of input; least squares on some thousand states
then finds what the trunk knows about them. States are those that the policy comes to, with what lies ahead
and without it, which is read anew in rounds. NumPy does it whatever the device: it is short, and all devices
then read the same.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect.datumwise._network import Singles, ahead_head, softmax
from rlselect.datumwise._network_draws import find_rows
from rlselect.datumwise._network_training import TrainingTask
from rlselect.datumwise._plan import NETWORK

__all__ = ["read_gains"]


def read_gains(task: TrainingTask, weights: Singles, rng: np.random.Generator, clock: Clock) -> Singles:
    """The networks of a task (members, numbers) with the layers of gains at once read anew.

    Each learns from its own rows; how much to shrink is what suits the rows that they have not seen. Without
    time for a round, gains are what they were before it.
    """
    weights = weights.copy()
    readers = [_GainReader(task, weights, member) for member in range(len(weights))]
    for _ in range(NETWORK.reading_rounds):
        for reader in readers:
            if clock.look() is not None:
                return weights
            reader.look(rng)
        errors = sum(reader.errors() for reader in readers)
        for reader in readers:
            reader.write(np.argmin(errors, axis=1))
    return weights


@dataclass(frozen=True)
class _Sight:
    """States of a round: what the trunk sees, a constant beside it, what may be bought, and what it gains."""

    seen: Singles
    may: NDArray
    gains: list[Singles]


class _GainReader:
    """One network: the states that it has come to, as sums, and the gains read from them."""

    def __init__(self, task: TrainingTask, weights: Singles, member: int) -> None:
        self.task, self.lessons = task, task.lessons
        self.whole = task.shape.views(weights[member : member + 1])
        self.views = {name: part[0] for name, part in self.whole.items()}
        lessons, owner = task.lessons, task.columns.owner
        own = np.where(lessons.folds == task.left_out[member], 0.0, lessons.weights)
        self.own, self.others = np.cumsum(own), np.cumsum(lessons.weights - own)
        unit = lessons.unit_of[owner]
        self.columns = [np.flatnonzero(unit == u) for u in range(lessons.rules.n_units)]
        size = task.shape.trunk + 1
        self.squares = np.zeros((len(self.columns), size, size))
        self.products = np.zeros((len(lessons.rewards), len(self.columns), size))

    def look(self, rng: np.random.Generator) -> None:
        """Add the states of a round, and find what other rows say about ways to shrink."""
        number = min(NETWORK.reading_states, NETWORK.reading_steps * self.task.batch)
        own = self.own if self.own[-1] > 0 else self.others
        sight = self._sight(find_rows(own, rng.random(number)), rng)
        for unit, may in enumerate(sight.may.T):
            seen = sight.seen[may]
            self.squares[unit] += seen.T @ seen
            for products, gains in zip(self.products, sight.gains, strict=True):
                products[unit] += gains[may, unit] @ seen
        # of very few rows, a fold may hold none, or all
        known = self.others if self.others[-1] > 0 else self.own
        self.check = self._sight(find_rows(known, rng.random(number // 4)), rng)
        self.found = self._solve()

    def errors(self) -> NDArray:
        """Squared errors of gains in states of rows that the network has not seen: (rewards, ridges)."""
        sight = self.check
        out = [
            [np.square((sight.seen @ read.T - gains)[sight.may]).sum(dtype=float) for read in found]
            for found, gains in zip(self.found, sight.gains, strict=True)
        ]
        return np.array(out)

    def write(self, chosen: NDArray) -> None:
        """Take the gains of one ridge for each reward."""
        for r, ridge in enumerate(chosen):
            read = self.found[r][ridge].T
            self.views[f"gain{r}"][...] = read[:-1]
            self.views[f"gain{r}_bias"][...] = read[-1]

    def _solve(self) -> list[list[Singles]]:
        """Layers (units, trunk + 1) of each reward for each ridge; constants are not shrunk."""
        size = self.squares.shape[1]
        usual = np.trace(self.squares[:, :-1, :-1], axis1=1, axis2=2) / (size - 1)
        flat = np.append(np.ones(size - 1), 0.0)
        out: list[list[Singles]] = [[] for _ in self.products]
        for ridge in NETWORK.ridges:
            # a unit that could never be bought gains nothing
            least = np.where(flat > 0, np.maximum(ridge * usual, 1e-6)[:, None], 1e-6)
            whole = self.squares + least[:, :, None] * np.eye(size)
            solved = np.linalg.solve(whole, np.moveaxis(self.products, 0, -1))
            for r, own in enumerate(out):
                own.append(solved[..., r].astype(np.float32))
        return out

    def _sight(self, rows: NDArray, rng: np.random.Generator) -> _Sight:
        """States that the policy comes to with these rows, and what each purchase gains there."""
        lessons, views = self.lessons, self.views
        made = self.task.columns.make(lessons.codes[rows])
        made *= np.take(lessons.known[rows], self.task.columns.owner, axis=1)
        pre, bought = self._play(rows, made, rng)
        labels = lessons.labels[rows]
        second, shares = self._think(pre)
        before = [lessons.reward(kind, shares, labels) for kind in lessons.rewards]
        gains = [np.empty(bought.shape, dtype=np.float32) for _ in before]
        for unit, own in enumerate(self.columns):
            shares = self._think(pre + made[:, own] @ views["input"][own])[1]
            for kind, now, out in zip(lessons.rewards, before, gains, strict=True):
                out[:, unit] = lessons.reward(kind, shares, labels) - now
        seen = np.concatenate([second, np.ones((len(rows), 1), dtype=np.float32)], axis=1)
        return _Sight(seen, lessons.open(bought, lessons.closed[rows]), gains)

    def _think(self, pre: Singles) -> tuple[Singles, Singles]:
        """The second hidden layer and class probabilities, from the first before it is cut off."""
        views = self.views
        second = np.maximum(pre, 0) @ views["trunk"]
        second += views["trunk_bias"]
        np.maximum(second, 0, out=second)
        return second, softmax(second @ views["class"] + views["class_bias"])

    def _scores(self, second: Singles, leader: NDArray, ahead: NDArray, price: Singles) -> Singles:
        """What purchases gain beyond their price by the reward that leads a state, or by that and further on.

        `second` (states, trunk); `leader`, `ahead` (whether what lies ahead counts) and `price` (states,).
        """
        scores = -price[:, None] * self.lessons.cost
        for r in range(len(self.lessons.rewards)):
            led = leader == r
            scores[led] += second[led] @ self.views[f"gain{r}"] + self.views[f"gain{r}_bias"]
            far = led & ahead
            further = ahead_head(self.whole, second[None, far], np.log10(price[None, far]), r)[1][0]
            scores[far] += np.maximum(further, 0)
        return scores

    def _play(self, rows: NDArray, made: Singles, rng: np.random.Generator) -> tuple[Singles, NDArray]:
        """The first layer, before it is cut off, and what is bought after some of the best purchases."""
        lessons, views = self.lessons, self.views
        n_units, number = len(self.columns), len(rows)
        # as many states with one purchase or two as with ten or twenty
        left = np.floor((n_units + 1.0) ** rng.random(number)).astype(np.intp) - 1
        leader = np.arange(number) % len(lessons.rewards)
        # the policy that looks ahead comes to other states than the one that does not
        ahead = np.arange(number) // len(lessons.rewards) % 2 == 1
        ends = np.log10(np.array([NETWORK.prices[kind] for kind in lessons.rewards]))[leader]
        price = np.power(10.0, ends[:, 0] + (ends[:, 1] - ends[:, 0]) * rng.random(number)).astype(np.float32)
        pre = np.repeat(views["input_bias"], number, axis=0)
        bought = np.zeros((number, n_units), dtype=bool)
        live = np.flatnonzero(left > 0)
        while len(live):
            scores = self._scores(self._think(pre[live])[0], leader[live], ahead[live], price[live])
            stray = rng.random(len(live)) < NETWORK.explore
            scores[stray] = rng.random((int(stray.sum()), n_units), dtype=np.float32)
            may = lessons.open(bought[live], lessons.closed[rows[live]])
            best = np.where(may, scores, -np.inf).argmax(axis=1)
            goes = may.any(axis=1)
            live, best = live[goes], best[goes]
            bought[live, best] = True
            for unit in np.unique(best):
                who, own = live[best == unit], self.columns[unit]
                pre[who] += made[np.ix_(who, own)] @ views["input"][own]
            left[live] -= 1
            live = live[left[live] > 0]
        return pre, bought
