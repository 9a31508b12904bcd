"""Before a stop: what all rows would show, from one look at them and the products of those that were read."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Sampler
from rlselect.subset.revs._walk import SubsetState, Walker, tune_prior

# an effect is called detectable when it is seen with this normal quantile to spare: probability 0.9
_SPARE = 1.2816
# blocks between two glances at the clock
_BREATH = 64


@dataclass(frozen=True)
class LookPlan:
    """How much of the data is looked at before a search may stop.

    A look costs one product per number, about a tenth of a Gram pass over 200 columns. Up to `cells` numbers
    all rows are looked at; of more, as many rows as make so many numbers, but never less than the share
    `least` of them: then a stop costs a bounded time, or a bounded share of a pass. Where these show anything
    that might be an effect, the rows looked at are doubled until that is settled, or all have been seen.

    Parameters
    ----------
    cells : float
        Numbers looked at in any case. Two hundred million take less than a tenth of a second, about as long
        as the search took to get there.
    least : float
        Smallest share of the rows. A quarter halves every z.
    slow_cells, slow_least : float
        The same where rows have to be decoded, which costs several times as much as the look itself.
    leftover : float
        Signal that the two halves of a partial look may agree on, in standard errors, before it goes on.
    """

    cells: float = 2e8
    least: float = 0.25
    slow_cells: float = 5e7
    slow_least: float = 0.1
    leftover: float = 1.0

    def rounds(self, sampler: Sampler, n_columns: int) -> int:
        """In how many parts of equal size the rows are looked at; the first one may be enough."""
        cells, least = (self.cells, self.least) if sampler.in_memory else (self.slow_cells, self.slow_least)
        return int(np.clip(sampler.n_rows * n_columns / cells, 1.0, 1.0 / least))


@dataclass
class Outlook:
    """What a look has shown.

    Attributes
    ----------
    walker : Walker
        Where the search would stand on the rows looked at.
    n_rows : int
        How many these are.
    share : float
        Of all rows.
    more : bool
        Whether they show another subset.
    """

    walker: Walker
    n_rows: int
    share: float
    more: bool

    @property
    def detectable(self) -> NDArray[np.float64]:
        """Size of effect, per design column, that would have been seen with probability 0.9."""
        seen = detectable(self.walker)
        if self.share == 1.0:
            return seen
        # to be looked into further it had to stand out from the noise, and with all rows it had to pay
        noticed = (noise_level(self.walker) + _SPARE) * self.walker.state.resolution()
        return np.maximum(noticed, np.sqrt(self.share) * seen)


def noise_level(walker: Walker) -> float:
    """Size of the largest of as many pure-noise z values as there are units that may move."""
    return float(np.sqrt(2.0 * np.log(max(int(np.count_nonzero(walker.allowed)), 2))))


def decided_z(walker: Walker) -> float:
    """|z| from which on a unit inside is decided: half as far again as the largest noise may ever be."""
    return 1.5 * (noise_level(walker) + 1.0)


def detectable(walker: Walker) -> NDArray[np.float64]:
    """Size of effect, in standard deviations, of each column outside that would pay with probability 0.9."""
    state = walker.state
    size = (walker.paying_z() + _SPARE) * state.resolution()
    outside = (~state.mask & walker.allowed)[state.units.unit_of] & state.varies()
    return np.where(outside, size, np.nan)


def look_out(
    walker: Walker,
    sampler: Sampler,
    plan: LookPlan,
    *,
    block: int,
    probes: NDArray[np.intp],
    tune: bool,
    min_effect: float | None = None,
) -> Outlook | None:
    """Look at rows without keeping them, until it is clear whether they show more than those that were read.

    Parameters
    ----------
    walker : Walker
        At the end of its climb.
    sampler : Sampler
        Where the rows are.
    plan : LookPlan
        How many rows at first.
    block : int
        Rows that pass by at once.
    probes : array of int
        Columns that the left-over test is calibrated with, see `RidgeSubset.leftover`.
    tune : bool
        Whether the state's prior of the coefficients is read off the data.
    min_effect : float, optional
        Go on until an effect of this size would be seen.

    Returns
    -------
    Outlook or None
        None when the search was stopped meanwhile.
    """
    stretches, n_rounds = sampler.stretches(block), plan.rounds(sampler, walker.state.units.n_columns)
    seed = [*probes, sampler.n_used]
    order = _rounds(len(stretches), n_rounds, np.random.default_rng(seed))
    look, task = walker.state.look()
    done, upto = 0, 1
    while True:
        chosen = np.flatnonzero((order >= done) & (order < upto))
        for places in _breaths([rows for i in chosen for rows in stretches[i]]):
            for scores in walker.state.rows.pass_by(places, task):
                look.add(scores)
            walker.stopped = walker.stopped or walker.tick()
            if walker.stopped:
                return None
        done = upto
        share = 1.0 if done >= n_rounds else look.n_rows / sampler.n_rows
        seen = replace(walker, state=walker.state.seen(look), rng=np.random.default_rng(seed))
        outlook = Outlook(seen, look.n_rows, share, _shows_more(seen, tune))
        if outlook.more or done >= n_rounds or not _is_suspicious(outlook, plan, probes, min_effect):
            return outlook
        upto = min(2 * done, n_rounds)


def _rounds(n_stretches: int, n_rounds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """In which round each stretch is looked at: one of every `n_rounds` neighbours in each, at random.

    So each round holds rows from all over the table, however it is sorted.
    """
    groups = -(-n_stretches // n_rounds)
    order = rng.permuted(np.tile(np.arange(n_rounds), (groups, 1)), axis=1)
    return order.ravel()[:n_stretches]


def _breaths(places: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(places), _BREATH):
        yield places[start : start + _BREATH]


def _shows_more(seen: Walker, tune: bool) -> bool:
    """Whether a climb, or a pair of moves, leads to another subset on the rows looked at."""
    if not tune:
        # a generalised linear model is priced there, but cannot move without passes over the rows
        return bool(np.any(seen.rewards() > 0))
    before = seen.state.mask.copy()
    tune_prior(seen, shapes=1)
    seen.climb()
    if np.array_equal(before, seen.state.mask):
        seen.pair_up(doubtful(seen))
    return not np.array_equal(before, seen.state.mask)


def _is_suspicious(
    outlook: Outlook, plan: LookPlan, probes: NDArray[np.intp], min_effect: float | None
) -> bool:
    """Whether a partial look may have missed what all rows would show."""
    walker, state = outlook.walker, outlook.walker.state
    outside = ~state.mask & walker.allowed
    single = outside & ~state.units.is_block
    if state.units.spread(state.z_values())[single].max(initial=0.0) > noise_level(walker):
        return True
    # several columns together have no z: within log m of paying they are as near as the largest noise
    if np.any(walker.rewards()[outside & state.units.is_block] > -0.5 * noise_level(walker) ** 2):
        return True
    if min_effect is not None and np.nanmax(outlook.detectable, initial=0.0) > min_effect:
        return True
    return state.leftover(probes) > plan.leftover


def doubtful(walker: Walker) -> NDArray[np.intp]:
    """Units inside that are not decided."""
    units = walker.state.units
    inside = walker.state.mask & walker.allowed & ~units.is_block
    return np.flatnonzero(inside & (units.spread(walker.state.z_values()) < decided_z(walker)))


def faintest(walker: Walker) -> float:
    """Smallest |z| of a single column that is inside, or that would pay."""
    state: SubsetState = walker.state
    moves = walker.rewards() > 0
    inside = (state.mask ^ moves) & walker.allowed & ~state.units.is_block
    return float(state.units.spread(state.z_values())[inside].min(initial=np.inf))
