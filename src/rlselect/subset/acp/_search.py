"""The default search: one actor learns from one predictor until it is sure, then looks around."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock, OutOfTime, while_time
from rlselect._watch import tell
from rlselect.data import Units
from rlselect.learn import Critic, LogitActor, sample_masks
from rlselect.subset.acp._price import Tariff, learnt_prices, least_prices, noise_price
from rlselect.subset.acp.masked import MaskedPredictor

Array = NDArray[np.float64]
Masks = NDArray[np.bool_]

_STEP, _MEMORY, _GAMMA = 0.6, 8, 0.01
# how many variables the first subsets hold, at most
_FIRST_SIZE = 30
# and beside a product of three, which others would hide
_FIRST_FEW = 4
_KNOWN = 0.8
# the actor is sure when what is in is above and what is out is below
SURE_IN, SURE_OUT = 0.95, 0.25
_PATIENCE = 5
# and has to look around after so many iterations even if it is not sure
_WAIT = 32
# probability of those that had better leave, all at once
_LEAVING = 0.1
_TUNE_EVERY = 5
_LOOKS = 8
_REPEATS = 8
_NOISE_COLUMNS = 128
# sets of the likeliest so many units that an actor looks at when it is stopped
_PREFIXES = 16
# and how many of them are looked at first
_FEW = 4
_FIRST_PRICE = 1.0
# the first price is that of the last of so many variables
_USUAL_SIZE = 16


@dataclass
class Effort:
    """Counts of a whole fit, shared by its actors.

    Attributes
    ----------
    fits : int
        Models fitted (a k-fold or leave-one-out judgement of a subset counts as one).
    cache_hits : int
        Judgements taken from the dictionary.
    history : list of dict
        One entry per iteration.
    """

    fits: int = 0
    cache_hits: int = 0
    history: list[dict] = field(default_factory=list)


class Actor:
    """One actor with its predictor; `run` may be called again to go on.

    Parameters
    ----------
    predictor : MaskedPredictor
        Judges sets of columns.
    units : Units
        Columns that enter and leave together.
    n_variables : int
        Variables there were before screening, which the price of a variable has to pay for.
    penalty : float or None
        Price of a column in units of ``log(n) / n``; None finds one.
    batch_size, max_iter : int
    rng : Generator
    clock : Clock
    effort : Effort
    expand : callable
        Theta of these units -> theta of all features, for the history.
    known : bool array over units, optional
        Units that another actor has found: with them nearly always in, the others are heard.
    alert : bool
        Whether the others are drawn often at first; where three have to be in together, they drown them.
    """

    def __init__(
        self,
        predictor: MaskedPredictor,
        units: Units,
        *,
        n_variables: int,
        penalty: float | None,
        batch_size: int,
        max_iter: int,
        rng: np.random.Generator,
        clock: Clock,
        effort: Effort,
        expand: Callable[[Array], Array],
        known: NDArray[np.bool_] | None = None,
        alert: bool = True,
    ) -> None:
        self.predictor = predictor
        self.units = units
        self.n_variables = n_variables
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.rng = rng
        self.clock = clock
        self.effort = effort
        self.expand = expand
        # what noise gains in a linear model is known; elsewhere it has to be asked
        self.adapts = penalty is None and not predictor.additive
        n = predictor.n_rows
        classes = predictor.target.n_classes
        self.learns = penalty is None and (self.adapts or classes <= 2)
        columns = units.n_columns
        if penalty is None:
            # one price for all: if the first ones cost more, the others would never get their chance
            steps = least_prices(n, n_variables, max(classes - 1, 1), columns)
            # with several classes noise does harm to a kernel rather than good, and is asked itself
            first = _FIRST_PRICE if self.adapts and classes > 2 else steps[min(_USUAL_SIZE, columns) - 1]
            self.tariff = Tariff(np.full(columns, first))
        else:
            self.tariff = Tariff(np.full(columns, 2.0 * penalty))
        # Where partners have to meet, a price would send each of them away before they do.
        self._cheap = Tariff(np.full(columns, _FIRST_PRICE)) if self.adapts else None
        m = units.n_units
        self._sizes = np.array([len(c) for c in units.columns])
        # a unit of very many columns is drawn less often, or every subset would be as long as it
        first_size = _FIRST_SIZE if alert else _FIRST_FEW
        theta = np.minimum(min(0.5, first_size / m), first_size / np.maximum(self._sizes, 1))
        if known is not None:
            theta[known] = _KNOWN
        self.actor = LogitActor(theta, _STEP, _MEMORY, _GAMMA)
        self.critic = Critic()
        self.gains = np.full(m, np.nan)
        self.iterations = self.looks = 0
        self.ended = False
        self._seen: dict[bytes, float] = {}
        self._mode = self.mode
        self._calm = self._waited = 0
        self._priced: bytes | None = None
        self._changed = np.zeros(m, dtype=bool)
        self._trail: list[Array] = []

    @property
    def theta(self) -> Array:
        """Probability of each unit."""
        return self.actor.theta

    @property
    def mode(self) -> NDArray[np.bool_]:
        """The likeliest subset."""
        return self.actor.theta > 0.5

    @property
    def mean_theta(self) -> Array:
        """Theta averaged over the second half of the iterations."""
        return np.mean(self._trail[len(self._trail) // 2 :], axis=0) if self._trail else self.theta

    def columns(self, masks: Masks) -> Masks:
        """Masks of columns from masks of units."""
        return masks[..., self.units.unit_of]

    def criterion(self, masks: Masks) -> Array:
        """Held-out criterion of subsets, each judged once."""
        keys = [mask.tobytes() for mask in masks]
        fresh: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self._seen:
                fresh.setdefault(key, i)
        for some in self._parcels(list(fresh)):
            values = self.predictor.criterion(self.columns(masks[[fresh[key] for key in some]]))
            self._seen.update(zip(some, values.tolist(), strict=True))
        self.effort.fits += len(fresh)
        self.effort.cache_hits += len(keys) - len(fresh)
        return np.array([self._seen[key] for key in keys])

    def _parcels(self, keys: list[bytes]) -> Iterator[list[bytes]]:
        """Subsets to judge at once: all of them, unless a slow predictor has a time budget to keep to."""
        if self.clock.left is None or not self.predictor.slow:
            yield keys
            return
        for number, key in enumerate(keys):
            if number and self.clock.look() is not None:
                raise OutOfTime
            yield [key]

    def rewards(self, masks: Masks) -> Array:
        """Minus the criterion, minus the price of the columns."""
        return -self.criterion(masks) - self.total_price(masks)

    def total_price(self, masks: Masks) -> Array:
        """Price of subsets."""
        tariff = self.tariff if self._cheap is None else self._cheap
        return tariff.total(masks @ self._sizes) / self.predictor.n_rows

    @property
    def price(self) -> float:
        """Price of one more column beside the likeliest subset."""
        tariff = self.tariff if self._cheap is None else self._cheap
        return tariff.next(int(self._sizes[self.mode].sum())) / self.predictor.n_rows

    def run(self, iterations: int | None = None) -> str | None:
        """Learn until sure, stopped, or so many iterations are done (then None)."""
        left = self.max_iter - self.iterations
        left = left if iterations is None else min(left, iterations)
        for _ in range(left):
            reason = self.clock.tick()
            if reason is not None:
                return reason
            try:
                self._iterate()
            except OutOfTime:
                return str(self.clock.reason)
            if (self._calm >= _PATIENCE or self._waited >= _WAIT) and self._look_around():
                self.ended = True
                return "converged"
        if self.iterations < self.max_iter:
            return None
        self.ended = True
        return "max iterations"

    def best_so_far(self, alone: Array) -> NDArray[np.bool_]:
        """The best of the likeliest subset, those of the last batch and the first few by probability.

        For an actor that was stopped before it was sure. ``alone`` (units) orders units of one probability.
        """
        mode = self.mode
        order = np.lexsort((-alone, -self.theta))
        few = order[: min(_PREFIXES, len(order))]
        prefixes = np.zeros((len(few) + 1, len(mode)), dtype=bool)
        for size in range(1, len(prefixes)):
            prefixes[size:, few[size - 1]] = True
        seen = [np.frombuffer(key, dtype=bool) for key in self._seen]
        # those of a few units first: there may not be time for all
        sizes = sorted(range(len(prefixes)), key=lambda size: (size > 0, abs(size - _FEW)))
        masks = np.concatenate([*([np.stack(seen)] if seen else []), mode[None], prefixes[sizes]])
        if not seen:
            self.predictor.redraw(self.rng)
            if not self.predictor.slow:
                self.predictor.tune(self.columns(prefixes[1]))
        # a subset with a unit of very many columns takes longer than all others
        longest = max(_FIRST_SIZE, int(self._sizes[mode].sum()))
        masks = masks[masks @ self._sizes <= longest]
        if self.predictor.slow:
            masks = self._judged_in_time(masks)
        return np.asarray(masks[int(np.argmax(self.rewards(masks)))])

    def _judged_in_time(self, masks: Masks) -> Masks:
        """Those of some subsets that are known, and as many others as there is time for in the end."""
        # what follows takes its time too
        end = time.perf_counter() + 0.5 * self.clock.grace
        known = []
        for mask in masks:
            if mask.tobytes() in self._seen or time.perf_counter() < end:
                self.criterion(mask[None])
                known.append(mask)
        return np.stack(known)

    def _iterate(self) -> None:
        if self.iterations % _TUNE_EVERY == 0 and self.predictor.tune(self.columns(self.mode)):
            self._seen.clear()
        if self.predictor.redraw(self.rng):
            self._seen.clear()
        masks = sample_masks(self.theta, self.batch_size, self.rng)
        rewards = self.rewards(masks)
        baseline = self.critic.observe(rewards)
        self.actor.learn(masks, self.critic.standardize(rewards))
        self.iterations += 1
        self._trail.append(self.theta)
        self._record(rewards, baseline)
        mode, theta = self.mode, self.theta
        tell(features=int(np.count_nonzero(mode)), best=float(rewards.max()))
        sure = np.all(theta[mode] >= SURE_IN) and np.all(theta[~mode] <= SURE_OUT)
        self._calm = self._calm + 1 if sure and np.array_equal(mode, self._mode) else 0
        self._mode = mode
        self._waited += 1

    def _record(self, rewards: Array, baseline: float) -> None:
        self.effort.history.append(
            {
                "theta": self.expand(self.theta),
                "reward": float(rewards.mean()),
                "best": float(rewards.max()),
                "baseline": baseline,
                "size": float(self.theta.sum()),
                "price": self.price,
                "predictor": self.predictor.name,
            }
        )

    def _look_around(self) -> bool:
        """Judge every single change of the likeliest subset; whether none is better.

        What is better becomes undecided again. The price of a variable is set here, when it adapts, from what
        permuted columns gain beside the subset.
        """
        self.looks += 1
        self._waited = 0
        mode = self.mode
        self.gains = self._changes(mode) * np.where(mode, -1.0, 1.0)
        if self.learns and mode.tobytes() != self._priced:
            self._priced = mode.tobytes()
            if self.adapts:
                # out of time, the last price has to do
                if self.clock.look() is None:
                    self._set_price(mode)
            elif mode.any():
                size = self.predictor.n_rows * float(np.mean(self.gains[mode] / self._sizes[mode]))
                count = self.units.n_columns
                steps = learnt_prices(size, self.n_variables, count)
                self.tariff = Tariff(np.full(count, steps[min(int(self._sizes[mode].sum()), count - 1)]))
        here = self.total_price(mode[None])[0]
        falls = np.where(mode, -self.gains, self.gains)
        worth = falls + here - self.total_price(_neighbours(mode))
        better = worth > 0
        # what is to change a second time stays so: the actor, who sees one smoothing, would change it back
        again = self._changes_together(mode, better & self._changed, worth)
        self.actor.pin(np.flatnonzero(again & mode), False)
        self.actor.pin(np.flatnonzero(again & ~mode), True)
        self._changed |= better
        if not better.any() or self.looks >= _LOOKS:
            return True
        leaving = self._leave_together(mode, better & mode, worth)
        self.actor.reopen(np.flatnonzero(better), np.where(leaving, _LEAVING, 0.5)[better])
        self._calm = 0
        return False

    def _leave_together(
        self, mode: NDArray[np.bool_], some: NDArray[np.bool_], worth: Array
    ) -> NDArray[np.bool_]:
        """As many of those that had better leave as do so best at once, the least missed first."""
        leaving = np.zeros_like(some)
        order = np.argsort(np.where(some, -worth, np.inf), kind="stable")[: int(some.sum())]
        if not len(order):
            return leaving
        masks = np.repeat(mode[None], len(order), axis=0)
        for count, unit in enumerate(order):
            masks[count:, unit] = False
        paid = self.predictor.tuned_criterion(self.columns(masks)) + self.total_price(masks)
        self.effort.fits += len(masks)
        leaving[order[: int(np.argmin(paid)) + 1]] = True
        return leaving

    def _changes_together(
        self, mode: NDArray[np.bool_], some: NDArray[np.bool_], worth: Array
    ) -> NDArray[np.bool_]:
        """Changes that are better one by one, if they are better together as well; else the best of them.

        Of two columns that stand for each other either may leave, but not both.
        """
        if some.sum() < 2:
            return some
        masks = np.stack([mode, mode ^ some])
        paid = self.predictor.tuned_criterion(self.columns(masks)) + self.total_price(masks)
        self.effort.fits += 2
        if paid[1] < paid[0]:
            return some
        best = np.zeros_like(some)
        best[np.argmax(np.where(some, worth, -np.inf))] = True
        return best

    def _set_price(self, mode: NDArray[np.bool_]) -> None:
        """Ask what noise gains beside the subset, and beside it without its weakest member.

        A useless member takes the place that noise would compete for, so the subset alone would judge it too
        mildly.
        """
        n, prices = self.predictor.n_rows, []
        beside, worth = [mode], np.where(mode, self.gains / self._sizes, np.inf)
        if mode.any():
            beside.append(mode.copy())
            beside[1][np.argmin(worth)] = False
        others = n * worth[beside[-1]]
        for mask in while_time(beside):
            gains = n * self.predictor.noise_gains(self.columns(mask), _NOISE_COLUMNS, self.rng)
            self.effort.fits += _NOISE_COLUMNS + 1
            prices.append(noise_price(gains, self.n_variables, int(self._sizes[mask].sum()), others))
        self._cheap = None
        self.tariff.ask(max(prices))

    def _changes(self, mode: NDArray[np.bool_]) -> Array:
        """Fall of the criterion from each single change of a subset."""
        m = len(mode)
        masks = np.concatenate([_neighbours(mode), mode[None]])
        falls: list[Array] = []
        for _ in range(_REPEATS):
            void = self.predictor.redraw(self.rng)
            if void:
                self._seen.clear()
            values = self.predictor.tuned_criterion(self.columns(masks))
            self.effort.fits += m + 1
            falls.append(values[-1] - values[:-1])
            if not void or self.clock.tick() is not None:
                break
        return np.asarray(np.mean(falls, axis=0))


def _neighbours(mode: NDArray[np.bool_]) -> Masks:
    """Subsets that differ from one by one unit."""
    return np.asarray(mode[None] ^ np.eye(len(mode), dtype=bool))
