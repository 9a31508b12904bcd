"""Walks under two priors of the coefficients, a narrow one and one that is read off the data."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rlselect.kernels import OrdinalOutcome
from rlselect.learn import UCB, Softmax
from rlselect.subset.revs._fresh_folds import fresh_folds
from rlselect.subset.revs._neighbours import neighbours_among
from rlselect.subset.revs._subset_state import SubsetState, TunableState
from rlselect.subset.revs._surroundings import look_around
from rlselect.subset.revs._unit_order import order_units
from rlselect.subset.revs._walk import (
    Walker,
    WalkResult,
    branch,
    is_few,
    run_chains,
    tune_prior,
    walk_once,
    walk_result,
    warm_up,
    weigh_all,
)
from rlselect.subset.revs._walk_plan import WalkPlan
from rlselect.subset.revs.evidence import (
    PROPER_SHAPES,
    SHAPES,
    GlmSubset,
    JointSubset,
    OutcomeSubset,
    RidgeSubset,
)

# so often what counts as noise is learnt anew beside the units of a walk
_MOST_RELEARNT = 4


def run_walk(
    walker: Walker,
    plan: WalkPlan,
    *,
    tune: bool,
    n_jobs: int | None = None,
    marks: Callable[[], NDArray[Any]] | None = None,
) -> WalkResult:
    """Walk, and where Newton steps began with a narrow prior, walk again under one that is read off the data.

    Parameters are those of `walk_once`.

    Returns
    -------
    WalkResult
        Of the walk whose units explain the rows better, see `_standing`. Where that is the second one and it
        has left out units of the first, these are judged once more beside its own. Effects of classes that do
        not keep together need no second walk, see `_told_apart`.
    """
    if isinstance(walker.state, OutcomeSubset):
        return _walk_outcome(walker, plan, tune=tune, n_jobs=n_jobs, marks=marks)
    if type(walker.state) is GlmSubset and walker.state.family == "binomial":
        _meet_neighbours(walker, walker.state, marks)
    found, ways = walk_once(walker, plan, tune=tune, n_jobs=n_jobs, marks=marks)
    if isinstance(walker.state, RidgeSubset | JointSubset) or found.stop_reason != "converged":
        return found
    few = is_few(walker, plan)
    if not few and (apart := _told_apart(walker, found, ways)) is not None:
        return apart
    rival = _rival(walker, found.inclusion > 0.5)
    other = _walk_again(rival, plan, n_jobs, ways, few)
    if other.stop_reason != "converged":
        return other
    standing, new = _standing(walker, found), _standing(walker, other)
    if np.isneginf(min(standing, new)):
        return _mixed(walker, found, rival, other)
    # what the second walk has beyond the first it has to pay for: its prior asks for less than the first
    sizes = [int(np.count_nonzero((part.inclusion > 0.5) & walker.allowed)) for part in (found, other)]
    new += sum(map(rival.prior.add, range(*sizes)))
    if rival.neighbours is not None and sizes[1] >= sizes[0]:
        # less what speaks for them beforehand
        log_prior = rival.neighbours.log_prior
        new += log_prior(other.inclusion > 0.5) - log_prior(found.inclusion > 0.5)
    if standing > new:
        return replace(other, inclusion=found.inclusion, visited=found.visited, dispersion=found.dispersion)
    left_out = np.any((found.inclusion > 0.5) & (other.inclusion <= 0.5))
    if left_out and not few and walker.prior.penalty is None:
        return _judged(rival, found, other, plan, n_jobs)
    # of two that find the same units, the one whose prior is read off them says better how sure that is
    return other


def _meet_neighbours(walker: Walker, state: GlmSubset, marks: Callable[[], NDArray[Any]] | None) -> None:
    """Let correlated columns speak for each other, unless rules or a price of the user's say what enters."""
    if walker.structure is None and walker.prior.penalty is None and state.at_once:
        order = order_units(walker.rewards(), marks)
        walker.neighbours = neighbours_among(state.unit_correlations(), walker.allowed, order)


def _told_apart(walker: Walker, found: WalkResult, ways: list[Walker]) -> WalkResult | None:
    """Subsets of classes around the best one, under priors with a hole at zero; None where neighbours share.

    The narrow prior hardly charges for a column that stands in for others: right where neighbours have
    effects together, which no other prior finds in few rows, and the way to many false columns where they
    have not. What the walk under it has found says which of the two it is.

    Predictions are averaged over what that walk has counted all the same. The heaviest subsets here are the
    best of very many by rows that chose them, and left-out rows, whose weights speak of the same subsets,
    think too well of them; the walk spreads its weight as wide as a row more or less would move it. What the
    subsets here may have of the average beside it is for folds to say that had no part in choosing them.
    """
    likely, near = found.inclusion > 0.5, walker.neighbours
    if near is None or not isinstance(walker.policy, Softmax) or near.keep_together(likely):
        return None
    always = walker.state.mask & ~walker.allowed
    state = _as_outcome(cast(GlmSubset, walker.state))
    state.reset(always)
    state.mix_priors()
    prior = replace(walker.prior, least=float(np.log(2.0)))
    apart = replace(walker, state=cast(SubsetState, state), prior=prior, policy=UCB(0.0))
    reached = []
    for start in always, likely | always:
        state.reset(start)
        apart.stand(apart.state)
        apart.climb()
        reached.append((apart.posterior, state.mask.copy()))
    state.reset(max(reached, key=lambda end: end[0])[1])
    around = look_around(apart)
    fresh = fresh_folds(apart, cast(GlmSubset, walker.state))
    result = walk_result(apart, [], [*ways, apart], inclusion=around.inclusion())
    return replace(result, visited=around.visited, predicting=found.visited, fresh=fresh)


def _as_outcome(state: GlmSubset) -> OutcomeSubset:
    """The empty subset of the same rows and classes, which can be priced under many priors at once."""
    block = next(iter(state.rows))
    assert block is not None
    weight = np.ones(len(block)) if block.weight is None else block.weight
    offset = np.zeros(len(block)) if block.offset is None else block.offset
    outcome = OrdinalOutcome(block.y.astype(np.intp), 2, weight, offset)
    columns = block.columns(np.arange(state.units.n_columns)).astype(np.float64, copy=False)
    return OutcomeSubset(columns, state.units, outcome, state.counted)


def _walk_outcome(
    walker: Walker,
    plan: WalkPlan,
    *,
    tune: bool,
    n_jobs: int | None,
    marks: Callable[[], NDArray[Any]] | None,
) -> WalkResult:
    """Warm up, and weigh the subsets around; chains count where these are too many, or where rules hold."""
    free = walker.structure is None and isinstance(walker.policy, Softmax)
    if not tune or not free or is_few(walker, plan):
        return walk_once(walker, plan, tune=tune, n_jobs=n_jobs, marks=marks)[0]
    known = warm_up(walker, plan, tune, marks)
    if known and not walker.stopped:
        looking = branch(walker, walker.rng)
        cast(OutcomeSubset, looking.state).mix_priors()
        around = look_around(looking)
        walker.stopped = looking.stopped
        walker.state.reset(around.best)
        if around.settled or walker.stopped:
            result = walk_result(walker, [], [walker], inclusion=around.inclusion())
            return replace(result, visited=around.visited)
    chains = run_chains(walker, plan, n_jobs, redraw=known)
    return walk_result(walker, chains, [walker, *chains])


def _walk_again(
    rival: Walker, plan: WalkPlan, n_jobs: int | None, ways: list[Walker], few: bool
) -> WalkResult:
    """What a second walk counts, with the ways of the first."""
    if few:
        weigh_all(rival, tune=True)
    else:
        _settle(rival, plan)
    chains = [] if few else run_chains(rival, plan, n_jobs, redraw=False)
    return walk_result(rival, chains or [rival], [*ways, rival, *chains])


def _rival(walker: Walker, likely: NDArray[np.bool_]) -> Walker:
    """A walker in the likely units, for a prior of the coefficients that is read off the data.

    The narrow prior that a Newton walk begins with makes correlated columns share an effect. Where effects
    are large and few, it spreads them over copies, and a wider prior finds the smaller subset.
    """
    rival = branch(walker, walker.rng)
    rival.state.reset(likely)
    rival.stand(rival.state)
    rival.prior = replace(walker.prior, least=float(np.log(2.0)))
    if not rival.state.size:
        # nothing to read a prior off: one that large effects are likely under, if there are any
        cast(TunableState, rival.state).set_prior(1.0, SHAPES[0])
    return rival


def _settle(rival: Walker, plan: WalkPlan) -> None:
    for _ in range(3):
        tune_prior(rival, shapes=len(SHAPES))
        rival.climb()
        rival.run(plan.settle // 3)


def _standing(walker: Walker, found: WalkResult) -> float:
    """Log evidence of the likely units, averaged over the priors of the coefficients.

    What one more unit costs on other rows is part of the evidence: a further price for units that the narrow
    prior has found, dearly, would side with fewer of them wherever the rows are short of saying more.
    """
    likely = found.inclusion > 0.5
    if not (likely & walker.allowed).any():
        return -np.inf
    state = cast(TunableState, walker.state.copy())
    state.reset(likely)
    # units that are left out count as noise, or as what rows share: each walk has its own of these
    for _ in range(_MOST_RELEARNT):
        if not state.learn_dispersion():
            break
    return _average_evidence(state.evidence_table(PROPER_SHAPES), state.slabs())


def _average_evidence(table: NDArray[np.float64], slabs: NDArray[np.float64]) -> float:
    """Log evidence averaged over slabs and shapes; all standard deviations of effects are equally likely."""
    spread = 0.5 * np.log(slabs)[:, None]
    return float(logsumexp(table + spread) - logsumexp(spread) - np.log(table.shape[1]))


def _judged(
    rival: Walker, found: WalkResult, other: WalkResult, plan: WalkPlan, n_jobs: int | None
) -> WalkResult:
    """A third walk, over the units that one of the two has found, for the least that a unit may cost.

    A wide prior charges for each unit what the narrow one leaves to the price of one among all: with both,
    units leave that explain more than they cost. The second walk may be better for some of those that it
    left out, and worse for others. One of the two walks has paid for every unit here, and which of these few
    to keep is for the rows to say.
    """
    likely = found.inclusion > 0.5
    either = likely | (other.inclusion > 0.5)
    state = rival.state.copy()
    state.reset(likely)
    prior = replace(rival.prior, penalty=rival.prior.least)
    judge = replace(rival, state=state, prior=prior, allowed=rival.allowed & either)
    _settle(judge, plan)
    chains = run_chains(judge, plan, n_jobs, redraw=False)
    third = walk_result(judge, chains, [judge, *chains])
    ways = [*other.trajectories, *third.trajectories]
    whole = replace(other, trajectories=ways, n_stages=sum(map(len, ways)), stop_reason=third.stop_reason)
    if third.stop_reason != "converged":
        return whole
    inclusion = np.where(either, third.inclusion, other.inclusion)
    return replace(whole, inclusion=inclusion, visited=third.visited, dispersion=third.dispersion)


def _mixed(walker: Walker, found: WalkResult, rival: Walker, other: WalkResult) -> WalkResult:
    """Both walks, each as likely as the rows are under its prior, where one of them selects nothing.

    The empty subset explains the rows as well under either prior of the coefficients: the less of a walk's
    posterior it has, the better its other subsets do.
    """
    assert found.visited is not None
    assert other.visited is not None
    empty = found.visited.share_without(walker.allowed), other.visited.share_without(walker.allowed)
    # probability of the empty subset beforehand, over that afterwards
    weight = empty[1] * np.exp(-walker.prior.log_total), empty[0] * np.exp(-rival.prior.log_total)
    if not any(empty):
        weight = float((found.inclusion > 0.5).any()), float((other.inclusion > 0.5).any())
    share = weight[1] / sum(weight)
    return replace(
        other,
        inclusion=(1.0 - share) * found.inclusion + share * other.inclusion,
        visited=found.visited.mixed(other.visited, share),
        dispersion=found.dispersion if share < 0.5 else other.dispersion,
    )
