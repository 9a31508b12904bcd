"""Adaptive effort for large data: read rows until reading more would change nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Sampler
from rlselect.learn import Trajectory, subset_key
from rlselect.subset.revs._chains import better_subset
from rlselect.subset.revs._hidden import find_hidden
from rlselect.subset.revs._outlook import (
    LookPlan,
    Outlook,
    detectable,
    look_at_hand,
    look_out,
)
from rlselect.subset.revs._standing import (
    clearest,
    decided_z,
    doubtful,
    faintest,
    leave_the_faint,
    tune_to_rows,
)
from rlselect.subset.revs._walk import Walker, WalkResult, inclusion_of

_PROBES = 8
# columns up to which all products of rows that have to be decoded take less than twice as long as a look
_NARROW = 512


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
    look : LookPlan
        What is looked at before a stop.
    min_effect : float, optional
        Read on until an effect of this size, in standard deviations, would show wherever it is.
    """

    first: int = 3200
    enough: int = 25_600
    block: int = 8192
    look: LookPlan = field(default_factory=LookPlan)
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
    confirmed : bool array or None
        The subset beside which the last look showed nothing.
    lean : bool
        Whether it has fewer units than the rows so far speak for, because the others do not.
    share, n_seen : float, int
        Share and number of the rows that the last look passed over.
    needed : float
        Rows that would decide the clearest effect that it showed.
    seen, values : array or None
        The subset that a search stands in there, and the rewards of its moves.
    detectable : array or None
        Size of effect per column that it would have shown, see `Outlook`.
    rounds : int
        Rounds of a pass over all rows that were made, see `_pass_on`.
    """

    walker: Walker
    sampler: Sampler
    probes: NDArray[np.intp]
    tuned: bool = False
    chains: list[Trajectory] = field(default_factory=list)
    confirmed: NDArray[np.bool_] | None = None
    lean: bool = False
    share: float = 0.0
    n_seen: int = 0
    needed: float = 0.0
    seen: NDArray[np.bool_] | None = None
    values: NDArray[np.float64] | None = None
    detectable: NDArray[np.float64] | None = None
    rounds: int = 0

    def take(self, outlook: Outlook) -> None:
        """Remember what a look has shown, and leave out what it does not speak for."""
        there, mask = outlook.walker, self.walker.state.mask
        self.share, self.n_seen, self.detectable = outlook.share, outlook.n_rows, outlook.detectable
        self.seen, self.values = there.state.mask.copy(), there.rewards()
        # a unit more inside than all rows show is the largest of many noises: no need to read on for it
        self.lean = outlook.more and not np.any(self.seen & ~mask) and not np.any(self.values > 0)
        if self.lean:
            self.walker.state.reset(self.seen)
            self.walker.stand(self.walker.state)
        self.confirmed = None if outlook.more and not self.lean else self.seen
        # the clearest effect first: once it is in, its neighbours may be seen not to be effects at all
        short = decided_z(there) / max(clearest(there), 1.0)
        self.needed = 0.0 if self.confirmed is not None else outlook.n_rows * short**2

    @property
    def crowd(self) -> float:
        """Share of the units that are inside or that a look has shown to pay.

        Every row that is drawn costs a product for each of their columns, where the pass over all rows costs
        half a product for every column.
        """
        inside = self.walker.state.mask
        if self.seen is not None and self.values is not None:
            inside = inside | self.seen | (self.values > 0)
        return float(inside.mean())

    @property
    def is_confirmed(self) -> bool:
        """Whether a look has shown nothing beside the subset."""
        return self.confirmed is not None and np.array_equal(self.confirmed, self.walker.state.mask)


def begin(walker: Walker, sampler: Sampler, rng: np.random.Generator) -> SearchState:
    """Stand at the beginning of a search, on its first rows."""
    n_columns = walker.state.units.n_columns
    return SearchState(walker, sampler, rng.choice(n_columns, size=min(_PROBES, n_columns), replace=False))


def run_effort(
    progress: SearchState, plan: EffortPlan, *, tune: bool, save: Callable[[], None] | None = None
) -> WalkResult:
    """Climb on a sample of the rows, double it, and stop when no row says otherwise.

    From `enough` rows on, a look at the other rows tells what a search on all of them would find beside the
    subset, see `look_out`. If that is nothing, and every unit inside is decided on the rows that were read
    (its z is at least 1.5 (q + 1), with q = sqrt(2 log m) the size of the largest of m pure-noise values),
    the search stops. If there is more, it also tells how many rows would decide it.

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
    # subsets in which a pair was sought on these rows: a climb may lead back to one of them
    paired: set[bytes] = set()
    while True:
        state = walker.state
        last = sampler.n_used >= sampler.n_rows
        if not progress.lean:
            walker.climb()
        if tune and not progress.tuned and not walker.stopped:
            tune_to_rows(walker)
            progress.tuned = True
            walker.climb()
            if last and not walker.stopped:
                leave_the_faint(walker)
        if save is not None:
            save()
        if walker.stopped:
            break
        if last or _is_enough(progress, plan, tune):
            if subset_key(state.mask) in paired:
                break
            paired.add(subset_key(state.mask))
            if not _moved_on(progress, tune):
                break
            # other effects are known: the prior is read off them all
            progress.lean = progress.tuned = False
            continue
        if walker.stopped:
            break
        _read_on(progress, plan, tune)
        paired.clear()
    return _result(progress)


def _result(progress: SearchState) -> WalkResult:
    walker, sampler = progress.walker, progress.sampler
    values, n_seen = walker.rewards(), sampler.n_used
    reason, found = "all rows", None
    if progress.is_confirmed and n_seen < sampler.n_rows:
        reason = "decided" if progress.share == 1.0 else "decided on a sample"
        n_seen, found = max(progress.n_seen, n_seen), progress.detectable
        assert progress.values is not None
        values = progress.values
    ways = [walker.trajectory, *progress.chains]
    found = detectable(walker) if found is None else found
    stages, reason = sum(map(len, ways)), walker.stopped or reason
    return WalkResult(
        inclusion_of(walker, values),
        ways,
        stages,
        reason,
        n_rows_seen=n_seen,
        detectable=found,
        dispersion=walker.state.dispersion,
    )


def _is_enough(progress: SearchState, plan: EffortPlan, tune: bool) -> bool:
    """Whether the rows so far decide what is inside, and a look at the others shows nothing beside it."""
    walker, sampler = progress.walker, progress.sampler
    if sampler.n_used < plan.enough or sampler.n_used < progress.needed:
        return False
    if not sampler.in_memory and not _is_decided(walker):
        # where rows have to be decoded, a look costs nearly as much as the rows that are needed anyway
        return False
    if tune and _is_dear(sampler, plan, walker.state.units.n_columns):
        return _is_settled(progress, plan)
    if not progress.is_confirmed:
        outlook = look_out(
            walker,
            sampler,
            plan.look,
            block=plan.block_rows(walker.state.units.n_columns),
            probes=progress.probes,
            tune=tune,
            min_effect=plan.min_effect,
        )
        if outlook is None:
            return False
        progress.take(outlook)
        if progress.is_confirmed and not _is_sure(outlook, plan):
            progress.needed = np.inf
            return False
    return progress.is_confirmed and _is_decided(walker)


def _is_settled(progress: SearchState, plan: EffortPlan) -> bool:
    """Whether a pass over rows in parts may end where it is: the others would show nothing more."""
    walker, sampler = progress.walker, progress.sampler
    if not progress.rounds:
        return False
    outlook = look_at_hand(walker, sampler, plan.look, probes=progress.probes, min_effect=plan.min_effect)
    if outlook is None or not _is_sure(outlook, plan):
        return False
    progress.take(outlook)
    return True


def _is_dear(sampler: Sampler, plan: EffortPlan, n_columns: int) -> bool:
    """Whether a look at rows in parts saves too little of the pass over them.

    Two of three are enough: all products of so few columns take little longer than the look, rows are decoded
    anew each time they pass by, all of them would be looked at.
    """
    if sampler.in_memory:
        return False
    narrow, anew = n_columns <= _NARROW, sampler.decodes(sampler.n_rows) > sampler.n_rows
    return narrow + anew + (plan.look.rounds(sampler, n_columns) == 1) >= 2


def _is_sure(outlook: Outlook, plan: EffortPlan) -> bool:
    """Whether an effect of the size asked for would have been seen, whichever column it is in."""
    return plan.min_effect is None or float(np.nanmax(outlook.detectable, initial=0.0)) <= plan.min_effect


def _read_on(progress: SearchState, plan: EffortPlan, tune: bool) -> None:
    """Draw as many rows again, or as many as are needed, or pass over all of them."""
    walker, sampler = progress.walker, progress.sampler
    if tune and sampler.n_used >= plan.enough and _is_dear(sampler, plan, walker.state.units.n_columns):
        _pass_on(progress, plan)
        return
    state, values = walker.state, walker.rewards()
    block = plan.block_rows(state.units.n_columns)
    # what a look has shown is yet to come in, and every row drawn for it has all these columns to carry
    needed = max((1.0 + 2.0 * progress.crowd) * progress.needed, _rows_needed(walker))
    if _share(sampler, plan, needed) >= 1.0:
        # a pass over everything, in the order it lies in memory, costs less than picking most of it
        if progress.values is not None:
            # what a look has shown will be found again: its columns come in the same pass
            assert progress.seen is not None
            values = np.maximum(values, np.where(progress.seen, np.inf, progress.values))
        state.trim(values, progress.probes[:0])
        state.grow(sampler.everything(block), anew=True, values=values)
    else:
        state.trim(values, progress.probes)
        state.grow(sampler.draw(sampler.n_used, block))
    walker.rows = sampler.n_used
    progress.tuned = progress.lean = False


def _pass_on(progress: SearchState, plan: EffortPlan) -> None:
    """Pass over some of the parts of a table, with all products of their columns, then over as many again.

    Each part is decoded once, whether a few of them are enough or all are needed.
    """
    walker, sampler = progress.walker, progress.sampler
    n_columns = walker.state.units.n_columns
    rounds = sampler.rounds(
        plan.look.rounds(sampler, n_columns),
        plan.block_rows(n_columns),
        np.random.default_rng(progress.probes),
    )
    upto = min(max(2 * progress.rounds, 1), len(rounds))
    rows = chain(*rounds[progress.rounds : upto])
    if not progress.rounds:
        walker.state.trim(walker.rewards(), progress.probes[:0])
    walker.state.grow(rows, anew=not progress.rounds, values=walker.rewards())
    progress.rounds = upto
    walker.rows = sampler.n_used = sampler.n_rows if upto == len(rounds) else walker.state.rows.n_rows
    progress.tuned = progress.lean = False


def _moved_on(progress: SearchState, tune: bool) -> bool:
    """Whether a pair of units, or another chain, led to a better subset."""
    walker, before = progress.walker, progress.walker.state
    # the look has sought a pair already, on more rows than these
    if not progress.is_confirmed:
        # moves tried in vain leave rounding behind, and a search resumed here would try them once more
        walker.state = before.copy()
        # without a prior to tune a move takes passes over the rows: none are tried in vain
        if walker.pair_up(doubtful(walker) if tune else ()):
            return True
        walker.state = before
        hidden = find_hidden(walker) if tune else None
        if hidden is not None:
            progress.chains.append(hidden.trajectory)
            walker.stand(hidden.state)
            return True
    progress.chains += better_subset(walker, tune, [*progress.probes, progress.sampler.n_used])
    return walker.state is not before


def _share(sampler: Sampler, plan: EffortPlan, needed: float) -> float:
    """How much of a pass over all rows it would take to go on drawing; from 1 on that pass is the better way.

    Draws that decode as much as the pass, up to the rows that are needed, are no cheaper. Where the pass has
    to come anyway, since a quarter of the rows cannot be enough, a draw has to be worth it for the columns
    alone that it shows.
    """
    decoding = 2.0 if sampler.n_rows < 4 * plan.enough else 1.0
    used = sampler.n_used
    to_come = max(used, int(min(needed, sampler.n_rows)) - used)
    rows = max(4.0 * used, 2.0 * needed, decoding * sampler.decodes(to_come))
    return rows / sampler.n_rows


def _rows_needed(walker: Walker) -> float:
    """Rows that would decide the faintest unit inside, if it is what it seems: z grows with their root."""
    return walker.rows * (decided_z(walker) / max(faintest(walker), 1.0)) ** 2


def _is_decided(walker: Walker) -> bool:
    """Whether every unit inside is decided on the rows so far."""
    units = walker.state.units
    inside = walker.state.mask & walker.allowed & units.is_block
    # several columns have no z: ask for the same margin of their reward
    if np.any(walker.rewards()[inside] > -0.5 * decided_z(walker) ** 2):
        return False
    return not len(doubtful(walker))
