"""A chain in stretches, each under a prior of the coefficients that is drawn anew."""

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.revs._subset_state import SubsetState, TunableState
from rlselect.subset.revs._visited import Tally, pooled
from rlselect.subset.revs.evidence import Shape


class Chain(Protocol):
    """What a `Walker` has of a chain."""

    state: SubsetState
    tally: Tally
    rng: np.random.Generator
    stopped: str | None

    def run(self, steps: int) -> None: ...
    def stand(self, state: SubsetState) -> None: ...


def draw_prior(state: TunableState, weight: float, rng: np.random.Generator) -> tuple[float, Shape]:
    """Draw a slab and a shape given the subset, whose evidence counts so much.

    All shapes, and all standard deviations of the effects, are equally likely beforehand.
    """
    slabs: NDArray[Any] = state.slabs()
    table = weight * state.evidence_table(state.shapes) + 0.5 * np.log(slabs)[:, None]
    cumulative = np.cumsum(np.exp(table - table.max()))
    drawn = int(np.searchsorted(cumulative, rng.random() * cumulative[-1]))
    slab, shape = np.unravel_index(drawn, table.shape)
    return float(slabs[slab]), state.shapes[shape]


def run_stretches(chain: Chain, steps: int, length: int) -> None:
    """Walk in stretches of some length, of which each counts as much, and leave the chain with their tally.

    Visits of a walk stray to subsets with small effects, which weigh little. The prior that these speak for
    is not that of the posterior: so it is drawn beside a subset that is itself drawn by its weight, and the
    next stretch begins there. The first stretch only finds such a subset.

    Parameters
    ----------
    chain : Chain
        Where it starts.
    steps, length : int
        Steps that count, and steps of a stretch.
    """
    stretches: list[Tally] = []
    for _ in range(-length, steps, length):
        chain.run(length)
        stretches.append(chain.tally)
        if chain.stopped:
            break
        state = cast(TunableState, chain.state)
        state.reset(chain.tally.draw(chain.rng))
        state.set_prior(*draw_prior(state, 1.0, chain.rng))
        chain.stand(state)
    chain.tally = pooled(stretches[1:] or stretches)
