"""Walks under two priors of the coefficients, a narrow one and one that is read off the data."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from rlselect.learn import key_mask
from rlselect.subset.revs._subset_state import TunableState
from rlselect.subset.revs._walk import (
    Walker,
    WalkResult,
    branch,
    is_few,
    run_chains,
    tune_prior,
    walk_once,
    walk_result,
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

# more units than the narrow prior has found need some proof, in units of log evidence; they are looked for
# until so many subsets, one after the other, are worse than the best so far
_PROOF = 2.0
_PATIENCE = 7
# subsets that are weighed against the empty one, and log odds from which on there is no question
_WEIGHED = 20
_CLEAR = 7.0


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
        has left out units of the first, these are judged once more beside its own.
    """
    found, ways = walk_once(walker, plan, tune=tune, n_jobs=n_jobs, marks=marks)
    if (
        isinstance(walker.state, RidgeSubset | OutcomeSubset | JointSubset)
        or found.stop_reason != "converged"
    ):
        return found
    few = is_few(walker, plan)
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
    if standing > new:
        return replace(other, inclusion=found.inclusion, visited=found.visited, dispersion=found.dispersion)
    left_out = np.any((found.inclusion > 0.5) & (other.inclusion <= 0.5))
    if left_out and not few and walker.prior.penalty is None:
        return _judged(rival, found, other, plan, n_jobs)
    # of two that find the same units, the one whose prior is read off them says better how sure that is
    return other


def _walk_again(
    rival: Walker, plan: WalkPlan, n_jobs: int | None, ways: list[Walker], few: bool
) -> WalkResult:
    """What a second walk counts, with the ways of the first."""
    if few:
        weigh_all(rival, tune=True)
    else:
        if rival.structure is None:
            _step_over(rival)
        _settle(rival, plan)
    chains = [] if few else run_chains(rival, plan, n_jobs, redraw=False)
    counted = walk_result(rival, chains or [rival], [*ways, rival, *chains])
    weighed = counted.stop_reason == "converged" and any(chain.weighed for chain in chains)
    return _beside_nothing(rival, chains, counted) if weighed else counted


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


def _step_over(rival: Walker) -> None:
    """Stand in more units where several pay together that the narrow prior has missed, and weigh every step.

    The first of several large effects explains little while the others are noise: from few rows, and among
    many columns, none may pay for itself. So the best unit is added again and again, whether it pays or not,
    and the best of these subsets counts. From there one Newton step makes far too little of what a unit is
    worth, and a walk by such guesses leaves the best subset for good.

    Where no more units are likely the guesses stay: thorough prices side with the wide prior, which gives up
    effects that correlated columns share.
    """
    scout = branch(rival, rival.rng)
    state = cast(TunableState, scout.state)
    assert rival.order is not None
    best, top, behind = state.mask.copy(), _value(scout)[0] + _PROOF, 0
    while behind < _PATIENCE:
        value, slab = _value(scout)
        best, top, behind = (state.mask.copy(), value, 0) if value > top else (best, top, behind + 1)
        state.set_prior(slab if state.size else 1.0, SHAPES[0])
        values = np.where(state.mask, -np.inf, scout.rewards())
        unit = int(rival.order[np.argmax(values[rival.order])])
        if rival.tick() or not np.isfinite(values[unit]) or state.size >= scout.prior.most:
            break
        state.toggle(unit)
    if isinstance(rival.state, GlmSubset) and np.any(best & ~rival.state.mask):
        rival.state.thorough = rival.weighs = True
        rival.state.reset(best)
        rival.stand(rival.state)


def _value(rival: Walker) -> tuple[float, float]:
    """Log posterior of the subset, averaged over the priors of the coefficients, and the best plain slab."""
    state = cast(TunableState, rival.state)
    table, slabs = state.evidence_table(PROPER_SHAPES), state.slabs()
    price = rival.posterior - state.evidence - state.alike
    return _averaged(table, slabs) + price, float(slabs[int(np.argmax(table[:, 0]))])


def _averaged(table: NDArray[Any], slabs: NDArray[Any]) -> float:
    """Log evidence averaged over the priors; all standard deviations of the effects are equally likely."""
    spread = 0.5 * np.log(slabs)[:, None]
    return float(logsumexp(table + spread) - logsumexp(spread) - np.log(table.shape[1]))


def _beside_nothing(rival: Walker, chains: list[Walker], counted: WalkResult) -> WalkResult:
    """What chains counted, with the share that the empty subset has of it.

    Between the empty subset and several large effects lie subsets that explain nothing: chains hardly ever
    cross them, and see as much of either side as they happen to begin there. So the subsets that they have
    found to be the best are weighed against the empty one by what these are worth.
    """
    weighed = {key: value for chain in chains for key, value in chain.weighed.items()}
    scales = branch(rival, rival.rng)
    state, odds = scales.state, -np.inf
    state.reset(state.mask & ~rival.allowed)
    none, nothing = np.flatnonzero(state.mask), _value(scales)[0]
    for key in sorted(weighed, key=lambda key: -weighed[key])[:_WEIGHED]:
        mask = key_mask(key, len(rival.allowed))
        if (mask & rival.allowed).any() and odds < _CLEAR:
            state.reset(mask)
            odds = np.logaddexp(odds, _value(scales)[0] - nothing)
    assert counted.visited is not None
    share, old = float(expit(-odds)), counted.visited.share_without(rival.allowed)
    if old == 1.0:
        return counted
    inclusion = np.minimum(counted.inclusion * (1.0 - share) / (1.0 - old), 1.0)
    inclusion[~rival.allowed] = counted.inclusion[~rival.allowed]
    return replace(counted, inclusion=inclusion, visited=counted.visited.beside(none, share))


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
    return _averaged(state.evidence_table(PROPER_SHAPES), state.slabs())


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
