"""Several chains on large data: other ways up, side by side, before a search ends."""

import threading
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from rlselect.learn import Trajectory
from rlselect.subset.revs._subset_state import TunableState
from rlselect.subset.revs._walk import Walker, tune_prior
from rlselect.subset.revs.evidence import Shape

# a column that the subset explains to nine tenths (a variance inflation of ten) may stand in for another one
_TANGLED = 0.9
# what counts as a better subset, and not as rounding, in units of log evidence
_BETTER = 0.01


class Start(NamedTuple):
    """How a chain begins: the discount on the price of a unit while it climbs, and from where."""

    lenience: float
    scratch: bool


# up beyond the subset and back, twice as far the second time; and once from nothing, which takes many passes
LINEAR_STARTS = (Start(1.5, False), Start(3.0, False), Start(2.0, True))
GLM_STARTS = LINEAR_STARTS[:2]


def better_subset(walker: Walker, tune: bool, seed: Any) -> list[Trajectory]:
    """Stand in the best subset that several chains reach, if it is better than the walker's own.

    A climb among columns that nearly repeat each other depends on its way. Where there are such, other chains
    go beyond the subset with a discount on the price of a unit, or start from scratch, and climb at the full
    price from there. They run side by side: one pass over the rows serves all of them, and workers of a
    cluster serve it together. Each would find the same alone.

    Parameters
    ----------
    walker : Walker
        At the end of its climb.
    tune : bool
        Whether the state's prior of the coefficients is read off the data.
    seed : int or sequence of int
        Of the policy, a chain apart.

    Returns
    -------
    list of Trajectory
        Of the chains; none when there was no need of them.
    """
    free = walker.allowed & ~walker.state.units.is_block
    if walker.stopped or walker.state.tangle(free[walker.state.units.unit_of]) < _TANGLED:
        return []
    starts = LINEAR_STARTS if tune else GLM_STARTS
    turn = threading.Lock()

    def tick() -> str | None:
        with turn:
            return walker.tick()

    chains = [_chain(walker, start, [*np.atleast_1d(seed), i], tick) for i, start in enumerate(starts)]
    jobs = [partial(_climb, chain, start, tune) for chain, start in zip(chains, starts, strict=True)]
    walker.state.rows.side_by_side(jobs)
    for chain in chains:
        walker.stopped = walker.stopped or chain.stopped
    best = max(chains, key=lambda chain: chain.posterior)
    if best.posterior > walker.posterior + _BETTER:
        walker.stand(best.state)
    return [chain.trajectory for chain in chains]


def _chain(walker: Walker, start: Start, seed: list[int], tick: Any) -> Walker:
    state = walker.state.apart()
    if start.scratch:
        state.reset(walker.state.mask & ~walker.allowed)
    return replace(walker, state=state, rng=np.random.default_rng(seed), tick=tick)


def _climb(chain: Walker, start: Start, tune: bool) -> None:
    final, slab = chain.prior, chain.state.slab
    shape = Shape(chain.state.shape, chain.state.share)
    if tune:
        # a prior with a hole at zero would keep out the small effects that the way up is made of
        tune_prior(chain, shapes=1)
    chain.prior = replace(final, lenience=start.lenience)
    chain.climb()
    chain.prior = final
    if tune:
        cast(TunableState, chain.state).set_prior(slab, shape)
    chain.climb()
