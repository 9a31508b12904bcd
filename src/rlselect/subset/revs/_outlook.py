"""Before a stop: what all rows would show, from one look at them and the products of those that were read."""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Sampler
from rlselect.subset.revs._hidden import clearest_pair, companions, find_hidden, pair_level
from rlselect.subset.revs._standing import doubtful, leave_the_faint, noise_level, tune_to_rows
from rlselect.subset.revs._walk import Walker
from rlselect.subset.revs.evidence import Look

# an effect is called detectable when it is seen with this normal quantile to spare: probability 0.9
_SPARE = 1.2816
# blocks between two glances at the clock
_BREATH = 64
# units that may be the largest of many noises: more of them are no accident
_FEW = 2


@dataclass(frozen=True)
class LookPlan:
    """How much of the data is looked at before a search may stop.

    A look costs one product per number, about a tenth of a Gram pass over 200 columns. Up to nearly twice
    `cells` numbers all rows are looked at; of more, as many rows as make one to two times `cells` numbers,
    but never less than the share `least` of them: then a stop costs a bounded time, or a bounded share of a
    pass. Where these show anything that might be an effect, the rows looked at are doubled until that is
    settled, or all have been seen.

    Parameters
    ----------
    cells : float
        Numbers looked at in any case. They take less time than the search took to get there.
    least : float
        Smallest share of the rows. A quarter halves every z.
    slow_cells, slow_least : float
        The same where rows have to be decoded, which costs several times as much as the look itself.
    alarm : float
        How far a z may lie beyond the level of the largest noise before a partial look goes on. At that level
        a fifth of all looks at pure noise would, with this a fifteenth.
    leftover : float
        Signal that the two halves of a partial look may agree on, in standard errors, before it goes on: a
        tenth of all looks at pure noise do.
    blur : float
        Share of the variance of a z, because only some rows tell the products of columns, from which on a
        look that shows more is taken once again at the coefficients that it found.
    """

    cells: float = 1.25e8
    least: float = 0.25
    slow_cells: float = 5e7
    slow_least: float = 0.1
    alarm: float = 0.25
    leftover: float = 1.28
    blur: float = 0.05

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
    alarm : float
        As in `LookPlan`.
    """

    walker: Walker
    n_rows: int
    share: float
    more: bool
    alarm: float

    @property
    def detectable(self) -> NDArray[np.float64]:
        """Size of effect, per design column, that would have been seen with probability 0.9."""
        seen = detectable(self.walker)
        if self.share == 1.0:
            return seen
        # to be looked into further it had to stand out from the noise, and with all rows it had to pay
        noticed = _shown(self.walker, noise_level(self.walker) + self.alarm, pair_level(self.walker))
        return np.maximum(noticed, np.sqrt(self.share) * seen)


def detectable(walker: Walker) -> NDArray[np.float64]:
    """Size of effect, in standard deviations, of each column outside that would pay with probability 0.9.

    Also where one other column outside hides it.
    """
    state, alone = walker.state, walker.paying_z()
    size = _shown(walker, alone, np.sqrt(2.0) * alone)
    outside = (~state.mask & walker.allowed)[state.units.unit_of] & state.varies()
    return np.where(outside, size, np.nan)


def _shown(walker: Walker, alone: Any, together: Any) -> NDArray[np.float64]:
    """Size of effect of each column that reaches |z| `alone`, or `together` with one that hides it.

    Beside one with the correlation r, effects of b and -b show b (1 - r) in each; together they show at least
    b sqrt(1 - r^2), whatever the effect of the other one is.
    """
    r = companions(walker)
    by_itself, by_both = (alone + _SPARE) / (1.0 - r), (together + _SPARE) / np.sqrt(1.0 - r * r)
    return np.asarray(np.minimum(by_itself, by_both) * walker.state.resolution())


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
    seed = [*probes, sampler.n_used]
    n_rounds = plan.rounds(sampler, walker.state.units.n_columns)
    rounds = sampler.rounds(n_rounds, block, np.random.default_rng(seed))
    look, task = walker.state.look()
    done, upto, sharp = 0, 1, False
    while True:
        if not _pass_over(walker, look, task, list(chain(*rounds[done:upto]))):
            return None
        done = upto
        seen = replace(walker, state=walker.state.seen(look), rng=np.random.default_rng(seed))
        share = 1.0 if done >= len(rounds) else look.n_rows / sampler.n_rows
        more = _shows_more(seen, tune, whole=share == 1.0)
        outlook = Outlook(seen, look.n_rows, share, more, plan.alarm)
        if outlook.more and not sharp and _is_blurred(walker, look, plan, tune):
            # what seems to be left may be what the coefficients were off by: look again at better ones
            look, task = walker.state.look(walker.state.seen(look))
            done, sharp = 0, True
            continue
        if outlook.more or done >= len(rounds) or not _is_suspicious(outlook, plan, probes, min_effect):
            return outlook
        upto = min(2 * done, len(rounds))


def look_at_hand(
    walker: Walker,
    sampler: Sampler,
    plan: LookPlan,
    *,
    probes: NDArray[np.intp],
    min_effect: float | None = None,
) -> Outlook | None:
    """What the rows that were read show, all their products known; None if all rows might show more."""
    rng = np.random.default_rng([*probes, sampler.n_used])
    seen = replace(walker, state=walker.state.copy(), rng=rng)
    share = sampler.n_used / sampler.n_rows
    outlook = Outlook(seen, sampler.n_used, share, _shows_more(seen, tune=True), plan.alarm)
    return None if outlook.more or _is_suspicious(outlook, plan, probes, min_effect) else outlook


def _pass_over(walker: Walker, look: Look, task: Any, places: list[Any]) -> bool:
    """Look at some rows; whether the search was left to do so."""
    for start in range(0, len(places), _BREATH):
        for scores in walker.state.rows.pass_by(places[start : start + _BREATH], task):
            look.add(scores)
        walker.stopped = walker.stopped or walker.tick()
        if walker.stopped:
            return False
    return True


def _is_blurred(walker: Walker, look: Look, plan: LookPlan, tune: bool) -> bool:
    """Whether errors of second order in a look may show: k coefficients and k products, both of m rows.

    Their share of the variance of a z over n rows is n k / m^2. A generalised linear model bends besides.
    """
    size = int(np.count_nonzero(walker.state.mask[walker.state.units.unit_of]))
    blur = look.weight * size / max(walker.state.counted, 1.0) ** 2
    return bool(size) and (not tune or blur > plan.blur)


def _shows_more(seen: Walker, tune: bool, *, whole: bool = False) -> bool:
    """Whether a move, or a pair of moves, would pay on the rows looked at; units that do not pay leave.

    Of the `whole` table, a few that pay but would leave again at the end of a search on all rows do not.
    """
    if not tune:
        # a generalised linear model is priced there, but cannot move without passes over the rows
        return bool(np.any(seen.rewards() > 0))
    tune_to_rows(seen)
    before = seen.state.mask.copy()
    while True:
        values = seen.rewards()
        n_paying = np.count_nonzero(values[~seen.state.mask] > 0)
        if n_paying and not (whole and n_paying <= _FEW and _come_and_go(seen)):
            return True
        if n_paying or not np.any(values > 0):
            break
        worst = int(np.argmax(values))
        seen.move(worst, float(values[worst]))
    if not np.array_equal(before, seen.state.mask) or seen.pair_up(doubtful(seen)):
        return True
    hidden = find_hidden(seen)
    if hidden is not None:
        seen.stand(hidden.state)
    return hidden is not None


def _come_and_go(seen: Walker) -> bool:
    """Whether a search on the rows looked at comes back to this subset; then stand there as it does."""
    tried = replace(seen, state=seen.state.copy(), rng=np.random.default_rng(0))
    tried.climb()
    leave_the_faint(tried)
    if tried.stopped or not np.array_equal(tried.state.mask, seen.state.mask):
        return False
    seen.stand(tried.state)
    return True


def _is_suspicious(
    outlook: Outlook, plan: LookPlan, probes: NDArray[np.intp], min_effect: float | None
) -> bool:
    """Whether a partial look may have missed what all rows would show."""
    walker, state = outlook.walker, outlook.walker.state
    outside = ~state.mask & walker.allowed
    single = outside & ~state.units.is_block
    level = noise_level(walker)
    if state.units.spread(state.z_values())[single].max(initial=0.0) > level + plan.alarm:
        return True
    if clearest_pair(walker) > pair_level(walker):
        return True
    # several columns together have no z: within log m of paying they are as near as the largest noise
    if np.any(walker.rewards()[outside & state.units.is_block] > -0.5 * level**2):
        return True
    if min_effect is not None and np.nanmax(outlook.detectable, initial=0.0) > min_effect:
        return True
    return state.leftover(probes) > plan.leftover
