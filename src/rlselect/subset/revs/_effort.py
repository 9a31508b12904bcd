"""Adaptive effort for large data: read rows until reading more would change nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rlselect.data import Sampler
from rlselect.learn import Trajectory, subset_key
from rlselect.subset.revs._chains import better_subset
from rlselect.subset.revs._walk import Walker, WalkResult, tune_prior

_PROBES = 8
# half of the log evidence that each of many effects of one size gives for a prior with a hole at zero
_ALIKE = 0.5 * float(np.log(np.sqrt(27.0)) - 1.0)
_LIKELY = float(np.nextafter(0.5, 1.0))


@dataclass(frozen=True)
class EffortPlan:
    """When to read on.

    Parameters
    ----------
    first : int
        Rows of the first look.
    enough : int
        Never stop before so many rows, unless the data end.
    block : int
        Rows handled at once, fewer when they are wide.
    leftover : float
        Signal left outside the subset, in standard errors, that asks for more rows.
    min_effect : float, optional
        Read on until an effect of this size, in standard deviations, would show wherever it is.
    """

    first: int = 3200
    enough: int = 25_600
    block: int = 8192
    leftover: float = 1.5
    min_effect: float | None = None

    def block_rows(self, n_columns: int) -> int:
        """Rows of a block of so many columns: half a million numbers, which stay in the cache.

        Wide rows come in blocks of 512, so that their products cost more than to add these up, unless that
        is more than sixteen million numbers.
        """
        p = max(n_columns, 1)
        return int(np.clip(max(2**19 // p, min(512, 2**24 // p)), 64, self.block))


@dataclass
class SearchState:
    """Where a search stands between two moves; all that a checkpoint has to keep.

    Attributes
    ----------
    walker : Walker
        The chain.
    sampler : Sampler
        Where more rows come from.
    probes : array of int
        Columns that the left-over test is calibrated with.
    tuned : bool
        Whether the prior of the coefficients was tuned on the rows so far.
    chains : list of Trajectory
        Other ways that were tried beside the walker's.
    """

    walker: Walker
    sampler: Sampler
    probes: NDArray[np.intp]
    tuned: bool = False
    chains: list[Trajectory] = field(default_factory=list)


def begin(walker: Walker, sampler: Sampler, rng: np.random.Generator) -> SearchState:
    """Stand at the beginning of a search, on its first rows."""
    n_columns = walker.state.units.n_columns
    return SearchState(walker, sampler, rng.choice(n_columns, size=min(_PROBES, n_columns), replace=False))


def run_effort(
    progress: SearchState, plan: EffortPlan, *, tune: bool, save: Callable[[], None] | None = None
) -> WalkResult:
    """Climb on a sample of the rows, double it, and stop when every action is decided.

    An action is decided when its z is far from the noise: every unit inside at least 1.5 (q + 1), every unit
    outside at most q + 1, with q = sqrt(2 log m) the size of the largest of m pure-noise values. Effects too
    faint to be seen one by one would be missed by that: a stop also asks that two halves of the rows do not
    agree on any signal left outside, where many of them show together.

    When the rows end first, some actions stay open. Then the effects found speak: where they are all alike, a
    unit inside that is much fainter is the largest of many noises, and leaves.

    Parameters
    ----------
    progress : SearchState
        Stands on the first rows, or where an earlier search was broken off.
    plan : EffortPlan
        When to read on.
    tune : bool
        Whether the state's prior of the coefficients is read off the data.
    save : callable, optional
        Called when there is progress worth keeping.

    Returns
    -------
    WalkResult
    """
    walker, sampler = progress.walker, progress.sampler
    block = plan.block_rows(walker.state.units.n_columns)
    # subsets in which a pair was sought on these rows: a climb may lead back to one of them
    paired: set[bytes] = set()
    while True:
        state = walker.state
        walker.climb()
        last = sampler.n_used >= sampler.n_rows
        if tune and not progress.tuned and not walker.stopped:
            tune_prior(walker, shapes=1)
            progress.tuned = True
            walker.climb()
            if last and not walker.stopped:
                # no more rows will tell: effects that are all alike say that a much smaller one is noise
                tune_prior(walker, shapes=2, proof=_ALIKE * state.size)
                walker.climb()
        if save is not None:
            save()
        if walker.stopped:
            break
        enough = sampler.n_used >= plan.enough and _decided(walker) and _sure(walker, plan)
        if last or (enough and state.leftover(progress.probes) <= plan.leftover):
            if subset_key(state.mask) in paired:
                break
            paired.add(subset_key(state.mask))
            if not _moved_on(progress, tune):
                break
            continue
        values = walker.rewards()
        if _share(walker, sampler, plan) >= 1.0:
            # a pass over everything, in the order it lies in memory, costs less than picking most of it
            state.trim(values, progress.probes[:0])
            state.grow(sampler.everything(block), anew=True, values=values)
        else:
            state.trim(values, progress.probes)
            state.grow(sampler.draw(sampler.n_used, block))
        walker.rows = sampler.n_used
        progress.tuned = False
        paired.clear()
    values = walker.rewards()
    inclusion = expit(np.where(state.mask, -values, values))
    if walker.stopped:
        # in the middle of a climb several units that exclude each other may pay: the subset is the answer
        inclusion = np.where(state.mask, np.maximum(inclusion, _LIKELY), np.minimum(inclusion, 0.5))
    inclusion[state.mask & ~walker.allowed] = 1.0
    reason = walker.stopped or ("all rows" if sampler.n_used >= sampler.n_rows else "decided")
    ways = [walker.trajectory, *progress.chains]
    return WalkResult(inclusion, ways, sum(map(len, ways)), reason, dispersion=state.dispersion)


def _moved_on(progress: SearchState, tune: bool) -> bool:
    """Whether a pair of units, or another chain, led to a better subset."""
    walker, before = progress.walker, progress.walker.state
    # moves tried in vain leave rounding behind, and a search that is resumed here would try them once more
    walker.state = before.copy()
    # without a prior to tune a move takes passes over the rows: none are tried in vain
    if walker.pair_up(_doubtful(walker) if tune else ()):
        return True
    walker.state = before
    progress.chains += better_subset(walker, tune, [*progress.probes, progress.sampler.n_used])
    return walker.state is not before


def _sure(walker: Walker, plan: EffortPlan) -> bool:
    """Whether an effect of the size asked for would stand out from the noise, whichever column it is in."""
    if plan.min_effect is None:
        return True
    state = walker.state
    noise = _noise(walker)
    outside = (~state.mask & walker.allowed)[state.units.unit_of] & state.varies()
    return bool(np.all(plan.min_effect >= 1.5 * (noise + 1.0) * state.resolution()[outside]))


def _noise(walker: Walker) -> float:
    """Size of the largest of as many pure-noise z values as there are units that may move."""
    return float(np.sqrt(2.0 * np.log(max(int(np.count_nonzero(walker.allowed)), 2))))


def _doubtful(walker: Walker) -> NDArray[np.intp]:
    """Units inside that are not decided."""
    units = walker.state.units
    inside = walker.state.mask & walker.allowed & ~units.is_block
    faint = units.spread(walker.state.z_values()) < 1.5 * (_noise(walker) + 1.0)
    return np.flatnonzero(inside & faint)


def _share(walker: Walker, sampler: Sampler, plan: EffortPlan) -> float:
    """How much of a pass over all rows it would take to go on drawing; from 1 on that pass is the better way.

    A draw that decodes as much as the pass is no cheaper. Where the pass has to come anyway, since a quarter
    of the rows cannot be enough, a draw has to be worth it for the columns alone that it shows.
    """
    decoding = 2.0 if sampler.n_rows < 4 * plan.enough else 1.0
    rows = max(4.0 * sampler.n_used, 2.0 * _rows_needed(walker), decoding * sampler.decodes(sampler.n_used))
    return rows / sampler.n_rows


def _rows_needed(walker: Walker) -> float:
    """Rows that would decide the faintest unit inside, if it is what it seems: z grows with their root."""
    units = walker.state.units
    inside = walker.state.mask & walker.allowed & ~units.is_block
    faint = units.spread(walker.state.z_values())[inside].min(initial=np.inf)
    return walker.rows * (1.5 * (_noise(walker) + 1.0) / max(float(faint), 1.0)) ** 2


def _decided(walker: Walker) -> bool:
    """Whether every action is decided on the rows so far."""
    state, units = walker.state, walker.state.units
    noise = _noise(walker)
    z = units.spread(state.z_values())
    inside, outside = state.mask & walker.allowed, ~state.mask & walker.allowed
    values = walker.rewards()
    for unit in units.blocks:
        # several columns have no z: ask for the same margins of their reward
        value = values[unit]
        if -0.5 * (1.5 * (noise + 1.0)) ** 2 < value and state.mask[unit] & walker.allowed[unit]:
            return False
        inside[unit] = outside[unit] = False
    faint = z[inside].min(initial=np.inf)
    return bool(faint >= 1.5 * (noise + 1.0) and z[outside].max(initial=0.0) <= noise + 1.0)
