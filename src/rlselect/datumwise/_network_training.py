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
from rlselect.datumwise._network_draws import GainDraws, StateDraws, StepDraws
from rlselect.datumwise._network_inputs import InputColumns
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._rules import PurchaseRules
from rlselect.kernels import adam_sizes, adam_step

__all__ = [
    "Lessons",
    "TrainingTask",
    "cost_shares",
    "kept_factor",
    "leaders",
    "loss_unit",
    "one_cycle",
    "train_networks",
    "utilities",
]


# just below the largest block by which the allocator of the C library learns what to keep
_KEPT_BYTES = (32 << 20) - (64 << 10)


def loss_unit(rules: PurchaseRules) -> float:
    """Difference of costs of answers that is 1 to a network.

    That of the worst answer and the best; of numbers, whose worst error may be very large, a multiple of
    the variance, and twice that, as the squared distance of two draws is twice that of one from the mean.
    """
    if rules.values is not None:
        return 2 * NETWORK.squared_unit
    return rules.spread


def utilities(rules: PurchaseRules) -> Singles:
    """What an answer is worth: 1 for the cheapest and 0 for the dearest, (answers, true classes)."""
    return ((rules.losses.max() - rules.losses) / loss_unit(rules)).astype(np.float32)


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
        shown = np.take(bought, self.unit_of, axis=-1) & known
        return made * np.take(shown, columns.owner, axis=-1)

    def open(self, bought: NDArray, closed: NDArray) -> NDArray:
        """What may be bought in states (..., units)."""
        flat = bought.reshape(-1, bought.shape[-1])
        if self.rules.plain and self.rules.budget is None:
            return ~(bought | closed)
        may = self.rules.open(flat, (flat * self.rules.prices).sum(axis=1))
        return may.reshape(bought.shape) & ~closed


@dataclass(frozen=True)
class TrainingTask:
    """Networks of one kind that are trained together.

    Parameters
    ----------
    lessons : Lessons
        What they learn from.
    columns : InputColumns
        What they see.
    shape : NetworkShape
        Sizes of their layers.
    left_out : (members,) int array
        The fold that each has to do without.
    steps, batch : int
        Steps, and states of a step in which gains are learned.
    rng : Generator
        For all that is left to chance.
    """

    lessons: Lessons
    columns: InputColumns
    shape: NetworkShape
    left_out: NDArray
    steps: int
    batch: int
    rng: np.random.Generator

    @property
    def quiet(self) -> int:
        """Steps that learn classes only."""
        return int(NETWORK.quiet * self.steps)

    def start(self) -> tuple[Singles, StateDraws]:
        """First weights, and the draws of all steps."""
        weights = start_weights(self.shape, len(self.left_out), self.rng)
        lessons = self.lessons
        mass = np.where(lessons.folds[None, :] == self.left_out[:, None], 0.0, lessons.weights)
        # of very few rows, a fold may hold all
        mass[mass.sum(axis=1) == 0] = lessons.weights
        sizes = (lessons.rules.n_units, lessons.codes.shape[1], self.shape.trunk)
        return weights, StateDraws(mass, sizes, lessons.rewards, self.batch, self.rng)


def one_cycle(steps: int) -> tuple[NDArray, Singles]:
    """Rate of every step: one rise and one fall; and the same with Adam's corrections for its start."""
    count = np.arange(1, steps + 1)
    up = max(NETWORK.warm * steps, 1.0)
    rise = 0.04 + 0.48 * (1 - np.cos(np.pi * count / up))
    fall = 0.5 * (1 + np.cos(np.pi * (count - up) / max(steps - up, 1)))
    rates = NETWORK.rate * np.where(count <= up, rise, fall)
    return rates, adam_sizes(rates)


class _States:
    """The states of a step: episodes of the policy's own that go on from step to step, and random states.

    Gains are learned in the first `priced` of them, one half of which are the episodes.
    """

    def __init__(self, lessons: Lessons, draws: StateDraws) -> None:
        self.lessons, self.priced, self.episodes = lessons, draws.priced, draws.episodes
        self.rows = np.zeros((draws.members, draws.batch), dtype=np.intp)
        self.bought = np.zeros((draws.members, draws.batch, draws.units), dtype=bool)
        self.log_price = draws.prices(draws.priced)
        self.leader = leaders(draws)

    def renew(self, drawn: StepDraws) -> None:
        """New random states at the end of the batch."""
        start = self.rows.shape[1] - drawn.rows.shape[1]
        self.rows[:, start:] = drawn.rows
        self.bought[:, start:] = drawn.masks & ~self.lessons.closed[drawn.rows]
        if isinstance(drawn, GainDraws):
            self.log_price[:, :, start:] = drawn.prices

    def advance(self, best: NDArray, worth: NDArray, may: NDArray, drawn: GainDraws) -> None:
        """Episodes buy what is best, or at random; those that end make place for new rows.

        `best`, `worth` (members, episodes) are the purchase and its gain; `may` (members, episodes, units).
        """
        number = self.episodes
        random = np.where(may, drawn.random, -1.0).argmax(axis=2)
        choice = np.where(drawn.stray, random, best)
        ends = (~drawn.stray & (worth <= 0)) | ~may.any(axis=2)
        member, place = np.nonzero(~ends)
        self.bought[member, place, choice[member, place]] = True
        self.rows[:, :number] = np.where(ends, drawn.fresh, self.rows[:, :number])
        self.bought[:, :number][ends] = False
        self.log_price[:, :, :number] = np.where(ends, drawn.fresh_prices, self.log_price[:, :, :number])


def leaders(draws: StateDraws) -> NDArray:
    """Which reward leads each of the episodes: each has its share of them."""
    return np.arange(draws.episodes) % len(draws.rewards)


def kept_factor(dropout: float) -> tuple[int, float]:
    """Hidden units are kept whose byte is below this, times what makes up for the others."""
    below = round(256 * (1 - dropout))
    return below, 256 / below


def train_networks(task: TrainingTask, clock: Clock, must_end: bool = True) -> Singles | None:
    """Weights (members, numbers) of networks that have not seen their folds.

    Without time for all steps they are what they are by then, or, unless it `must_end`, None.
    """
    lessons, columns, shape = task.lessons, task.columns, task.shape
    # freed at once: the allocator then keeps what steps give back, for the next ones
    np.empty(_KEPT_BYTES, dtype=np.uint8)
    weights, draws = task.start()
    slow, grads = weights.copy(), np.zeros_like(weights)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    views, slow_views, grad_views = shape.views(weights), shape.views(slow), shape.views(grads)
    states = _States(lessons, draws)
    below, factor = kept_factor(columns.dropout)
    for step, (rate, size) in enumerate(zip(*one_cycle(task.steps), strict=True)):
        if clock.look() is not None:
            if not must_end:
                return None
            break
        if step == task.quiet:
            states.bought[:, : states.episodes] = False
        drawn = draws.step() if step < task.quiet else draws.gain_step()
        states.renew(drawn)
        labels = lessons.labels[states.rows]
        codes, known = lessons.codes[states.rows], lessons.known[states.rows]
        noisy = codes + columns.noise * drawn.noise
        x = lessons.inputs(columns, columns.make(noisy), states.bought, known)
        drop = (drawn.kept < below) * np.float32(factor)
        log_price = states.log_price if step >= task.quiet else states.log_price[:, :, :0]
        seen = forward(views, x, log_price, drop)
        slope = softmax(seen.logits)
        slope.ravel()[np.arange(0, slope.size, shape.classes) + labels.ravel()] -= 1
        slope /= np.float32(labels.shape[1])
        d_gains: list[Singles] = []
        d_aheads: list[Singles] = []
        if isinstance(drawn, GainDraws):
            d_gains, d_aheads = _gain_slopes(
                lessons, columns, slow_views, states, drawn, seen.gains, seen.aheads
            )
        backward(views, grad_views, seen, log_price, slope, d_gains, d_aheads, drop)
        length = np.sqrt(np.einsum("ep,ep->e", grads, grads))
        grads *= np.minimum(1.0, NETWORK.clip_norm / np.maximum(length, 1e-12))[:, None].astype(np.float32)
        weights *= np.float32(1 - rate * NETWORK.decay)
        adam_step(weights, grads, mean, square, size)
        np.subtract(weights, slow, out=grads)
        grads *= np.float32(NETWORK.slow)
        slow += grads
        grads[...] = 0
    return weights


def _gain_slopes(
    lessons: Lessons,
    columns: InputColumns,
    slow: dict[str, Singles],
    states: _States,
    drawn: GainDraws,
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
    luck = np.where(may, drawn.luck, -1.0)
    tried = min(NETWORK.tried, n_units)
    lucky = np.argpartition(-luck, tried - 1, axis=2)[..., :tried]
    tries = np.concatenate([lucky, *(b[..., None] for b in best)], axis=2)
    n_tries = tries.shape[2]
    # where the purchases stand among those of all states, one by one
    places = tries + np.arange(0, may.size, n_units).reshape(members, batch, 1)
    valid = may.ravel()[places]
    # what the slow copy says before and after
    before = forward(slow, lessons.inputs(columns, made, bought, known), states.log_price[:, :, :0])
    after = np.repeat(bought[:, :, None, :], n_tries, axis=2)
    after.ravel()[np.arange(0, after.size, n_units) + tries.ravel()] = True
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
            error = (found.ravel()[places] - target) * valid * size
            slope = np.zeros_like(found)
            # a purchase may be tried twice
            for k in range(n_tries):
                slope.ravel()[places[..., k]] += error[..., k]
            out.append(slope)
    leads = np.stack(scores)[states.leader, :, np.arange(states.episodes)].swapaxes(0, 1)
    choice = leads.argmax(axis=2)
    worth = np.take_along_axis(leads, choice[..., None], axis=2)[..., 0]
    states.advance(choice, worth, may[:, : states.episodes], drawn)
    return d_gains, d_aheads
