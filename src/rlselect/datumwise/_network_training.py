"""How the networks of one kind learn: states, targets from a slow copy, AdamW on one cycle."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect.datumwise._network import (
    NetworkShape,
    Singles,
    backward,
    forward,
    softmax,
    start_weights,
)
from rlselect.datumwise._network_inputs import InputColumns
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["Lessons", "cost_shares", "train_networks", "utilities"]


def utilities(rules: PurchaseRules) -> Singles:
    """What an answer is worth: 1 for the cheapest and 0 for the dearest, (answers, true classes)."""
    low, high = rules.losses.min(), rules.losses.max()
    return ((high - rules.losses) / (high - low if high > low else 1.0)).astype(np.float32)


def cost_shares(rules: PurchaseRules) -> Singles:
    """Prices as multiples of their mean."""
    mean = rules.prices.mean()
    return (rules.prices / mean if mean > 0 else np.ones(rules.n_units)).astype(np.float32)


@dataclass
class Lessons:
    """Rows that networks learn from.

    Parameters
    ----------
    rules : PurchaseRules
        The rules.
    codes : (rows, features) float32 array
        Codes without gaps.
    known : (rows, features) bool array
        Which codes are there.
    closed : (rows, units) bool array
        What cannot be bought.
    labels, weights, folds : (rows,) arrays
        True classes, weights, and the fold of each row.
    rewards : tuple of int
        0 for the expected utility of the answer, 1 for the log probability of the true class.
    """

    rules: PurchaseRules
    codes: Singles
    known: NDArray
    closed: NDArray
    labels: NDArray
    weights: NDArray
    folds: NDArray
    rewards: tuple[int, ...]

    def __post_init__(self) -> None:
        self.cost = cost_shares(self.rules)
        self.worth = utilities(self.rules).T.copy()
        self.unit_of = np.empty(len(self.rules.order), dtype=np.intp)
        for unit, group in enumerate(self.rules.groups):
            self.unit_of[group] = unit

    def reward(self, kind: int, probabilities: Singles, labels: NDArray) -> Singles:
        """What states (...) with class probabilities (..., classes) are worth to rows of these labels."""
        if kind == 0:
            return np.einsum("...c,...c->...", probabilities, self.worth[labels])
        true = np.take_along_axis(probabilities, labels[..., None], axis=-1)[..., 0]
        return np.maximum(np.log(np.maximum(true, 1e-30)), np.float32(NETWORK.floor))

    def inputs(self, columns: InputColumns, made: Singles, bought: NDArray, known: NDArray) -> Singles:
        """Input columns of states, from those of whole rows: (..., columns)."""
        shown = bought[..., self.unit_of] & known
        return made * shown[..., columns.owner]

    def open(self, bought: NDArray, closed: NDArray) -> NDArray:
        """What may be bought in states (..., units)."""
        flat = bought.reshape(-1, bought.shape[-1])
        if self.rules.plain and self.rules.budget is None:
            return ~(bought | closed)
        may = self.rules.open(flat, (flat * self.rules.prices).sum(axis=1))
        return may.reshape(bought.shape) & ~closed


class _OneCycle:
    """AdamW with decay of the matrices, on one cycle of the rate."""

    def __init__(self, weights: Singles, steps: int) -> None:
        self.weights, self.steps = weights, steps
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)
        self.count = 0

    def _rate(self) -> float:
        up = max(NETWORK.warm * self.steps, 1.0)
        if self.count <= up:
            share = 0.5 * (1 - np.cos(np.pi * self.count / up))
            return float(NETWORK.rate * (0.04 + 0.96 * share))
        return float(NETWORK.rate * 0.5 * (1 + np.cos(np.pi * (self.count - up) / max(self.steps - up, 1))))

    def step(self, grads: Singles) -> None:
        self.count += 1
        length = np.sqrt(np.einsum("ep,ep->e", grads, grads))
        grads *= np.minimum(1.0, NETWORK.clip_norm / np.maximum(length, 1e-12))[:, None].astype(np.float32)
        rate = self._rate()
        self.mean += np.float32(0.1) * (grads - self.mean)
        np.multiply(grads, grads, out=grads)
        grads -= self.square
        grads *= np.float32(0.001)
        self.square += grads
        fix = np.sqrt(1 - 0.999**self.count)
        np.sqrt(self.square, out=grads)
        grads += np.float32(1e-8 * fix)
        np.divide(self.mean, grads, out=grads)
        grads *= np.float32(rate * fix / (1 - 0.9**self.count))
        self.weights *= np.float32(1 - rate * NETWORK.decay)
        self.weights -= grads


class _States:
    """The states of a step: episodes of the policy's own that go on from step to step, and random states.

    Gains are learned in the first `priced` of them, one half of which are the episodes.
    """

    def __init__(self, lessons: Lessons, left_out: NDArray, priced: int, rng: np.random.Generator) -> None:
        batch = priced * NETWORK.class_states
        self.lessons, self.rng, self.batch, self.priced = lessons, rng, batch, priced
        mass = np.where(lessons.folds[None, :] == left_out[:, None], 0.0, lessons.weights)
        # of very few rows, a fold may hold all
        mass[mass.sum(axis=1) == 0] = lessons.weights
        self.mass = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
        self.members = len(left_out)
        shape = (self.members, batch)
        self.rows = self._draw(batch)
        self.bought = np.zeros((*shape, lessons.rules.n_units), dtype=bool)
        prices = [self._prices(r, (self.members, priced)) for r in lessons.rewards]
        self.log_price = np.stack(prices)
        # each reward leads its share of the episodes
        self.leader = np.arange(priced // 2) % len(lessons.rewards)

    def _draw(self, number: int) -> NDArray:
        at = self.rng.random((self.members, number))
        out = [np.searchsorted(mass, own, side="right") for mass, own in zip(self.mass, at, strict=True)]
        return np.minimum(np.array(out), len(self.lessons.labels) - 1)

    def _prices(self, reward: int, shape: tuple[int, ...]) -> Singles:
        low, high = np.log10(NETWORK.prices[reward])
        return (low + (high - low) * self.rng.random(shape)).astype(np.float32)

    def renew(self, start: int) -> None:
        """New random states from this place of the batch on."""
        number = self.batch - start
        shape = (self.members, number)
        self.rows[:, start:] = self._draw(number)
        share = self.rng.random((*shape, 1), dtype=np.float32) ** 2
        masks = self.rng.random((*shape, self.bought.shape[2]), dtype=np.float32) < share
        self.bought[:, start:] = masks & ~self.lessons.closed[self.rows[:, start:]]
        shape = (self.members, self.priced - start)
        for place, reward in enumerate(self.lessons.rewards):
            self.log_price[place, :, start:] = self._prices(reward, shape)

    def advance(self, best: NDArray, worth: NDArray, may: NDArray) -> None:
        """Episodes buy what is best, or at random; those that end make place for new rows.

        `best`, `worth` (members, episodes) are the purchase and its gain; `may` (members, episodes, units).
        """
        number = len(self.leader)
        shape = (self.members, number)
        stray = self.rng.random(shape) < NETWORK.explore
        random = np.where(may, self.rng.random(may.shape, dtype=np.float32), -1.0).argmax(axis=2)
        choice = np.where(stray, random, best)
        ends = (~stray & (worth <= 0)) | ~may.any(axis=2)
        member, place = np.nonzero(~ends)
        self.bought[member, place, choice[member, place]] = True
        fresh = self._draw(number)
        self.rows[:, :number] = np.where(ends, fresh, self.rows[:, :number])
        self.bought[:, :number][ends] = False
        for r, reward in enumerate(self.lessons.rewards):
            new = self._prices(reward, shape)
            self.log_price[r, :, :number] = np.where(ends, new, self.log_price[r, :, :number])


def train_networks(
    lessons: Lessons,
    columns: InputColumns,
    shape: NetworkShape,
    left_out: NDArray,
    steps: int,
    batch: int,
    rng: np.random.Generator,
    clock: Clock,
    must_end: bool = True,
) -> Singles | None:
    """Weights (members, numbers) of networks that have not seen their folds.

    Without time for all steps they are what they are by then, or, unless it `must_end`, None.
    """
    members = len(left_out)
    weights = start_weights(shape, members, rng)
    slow, grads = weights.copy(), np.zeros_like(weights)
    views, slow_views, grad_views = shape.views(weights), shape.views(slow), shape.views(grads)
    adam, states = _OneCycle(weights, steps), _States(lessons, left_out, batch, rng)
    half = batch // 2
    nobody = states.log_price[:, :, :0]
    quiet = int(NETWORK.quiet * steps)
    for step in range(steps):
        if clock.look() is not None:
            if not must_end:
                return None
            break
        states.renew(half if step > quiet else 0)
        if step == quiet:
            states.bought[:, :half] = False
        labels = lessons.labels[states.rows]
        codes, known = lessons.codes[states.rows], lessons.known[states.rows]
        noisy = codes + columns.noise * rng.standard_normal(codes.shape, dtype=np.float32)
        x = lessons.inputs(columns, columns.make(noisy), states.bought, known)
        keep = 1 - columns.dropout
        size = (members, states.batch, shape.trunk)
        drop = _dropout(keep, size, rng)
        log_price = states.log_price if step >= quiet else nobody
        seen = forward(views, x, log_price, drop)
        slope = softmax(seen.logits)
        np.put_along_axis(
            slope, labels[..., None], np.take_along_axis(slope, labels[..., None], axis=2) - 1, axis=2
        )
        slope /= np.float32(states.batch)
        d_gains: list[Singles] = []
        d_aheads: list[Singles] = []
        if step >= quiet:
            d_gains, d_aheads = _gain_slopes(lessons, columns, slow_views, states, seen.gains, seen.aheads)
        backward(views, grad_views, seen, log_price, slope, d_gains, d_aheads, drop)
        adam.step(grads)
        grads[...] = 0
        slow += np.float32(NETWORK.slow) * (weights - slow)
    return weights


def _dropout(keep: float, size: tuple[int, ...], rng: np.random.Generator) -> Singles:
    """Zeros, and numbers that make up for them; one byte of chance for each is enough."""
    drawn = np.frombuffer(rng.bytes(int(np.prod(size))), dtype=np.uint8).reshape(size)
    return (drawn < round(256 * keep)) * np.float32(256 / round(256 * keep))


def _gain_slopes(
    lessons: Lessons,
    columns: InputColumns,
    slow: dict[str, Singles],
    states: _States,
    gains: list[Singles],
    aheads: list[Singles],
) -> tuple[list[Singles], list[Singles]]:
    """Slopes of the squared errors of the gains of some purchases; episodes go on with the best ones."""
    rows, bought = states.rows[:, : states.priced], states.bought[:, : states.priced]
    members, batch, n_units = bought.shape
    labels, known = lessons.labels[rows], lessons.known[rows]
    made = columns.make(lessons.codes[rows])
    may = lessons.open(bought, lessons.closed[rows])
    price = np.power(np.float32(10), states.log_price)
    scores = []
    for r, (gain, ahead) in enumerate(zip(gains, aheads, strict=True)):
        score = gain - price[r][..., None] * lessons.cost + np.maximum(ahead, 0)
        scores.append(np.where(may, score, -np.inf))
    best = [score.argmax(axis=2) for score in scores]
    luck = np.where(may, states.rng.random(may.shape, dtype=np.float32), -1.0)
    tried = min(NETWORK.tried, n_units)
    drawn = np.argpartition(-luck, tried - 1, axis=2)[..., :tried]
    tries = np.concatenate([drawn, *(b[..., None] for b in best)], axis=2)
    valid = np.take_along_axis(may, tries, axis=2)
    n_tries = tries.shape[2]
    # what the slow copy says before and after
    before = forward(slow, lessons.inputs(columns, made, bought, known), states.log_price[:, :, :0])
    after = np.repeat(bought[:, :, None, :], n_tries, axis=2)
    np.put_along_axis(after, tries[..., None], True, axis=3)
    x = lessons.inputs(columns, made[:, :, None], after, known[:, :, None])
    log_price = np.repeat(states.log_price, n_tries, axis=2)
    then = forward(slow, x.reshape(members, batch * n_tries, -1), log_price)
    then_may = lessons.open(after, lessons.closed[rows][:, :, None])
    then_labels = np.repeat(labels, n_tries, axis=1)
    shares_before, shares_then = softmax(before.logits), softmax(then.logits)
    d_gains: list[Singles] = []
    d_aheads: list[Singles] = []
    for r, kind in enumerate(lessons.rewards):
        reward = lessons.reward(kind, shares_then, then_labels).reshape(tries.shape)
        reward = reward - lessons.reward(kind, shares_before, labels)[..., None]
        further = then.gains[r] - np.power(np.float32(10), log_price[r])[..., None] * lessons.cost
        further += np.maximum(then.aheads[r], 0)
        further = np.where(then_may, further.reshape(then_may.shape), 0.0).max(axis=3)
        further = np.maximum(further, 0)
        size = np.float32(2 * NETWORK.weights[kind] / (batch * n_tries))
        for target, found, out in ((reward, gains[r], d_gains), (further, aheads[r], d_aheads)):
            error = (np.take_along_axis(found, tries, axis=2) - target) * valid * size
            slope = np.zeros_like(found)
            for k in range(n_tries):
                at = tries[..., k : k + 1]
                np.put_along_axis(
                    slope, at, np.take_along_axis(slope, at, axis=2) + error[..., k : k + 1], axis=2
                )
            out.append(slope)
    leads = np.stack(scores)[states.leader, :, np.arange(len(states.leader))].swapaxes(0, 1)
    choice = leads.argmax(axis=2)
    worth = np.take_along_axis(leads, choice[..., None], axis=2)[..., 0]
    states.advance(choice, worth, may[:, : len(states.leader)])
    return d_gains, d_aheads
