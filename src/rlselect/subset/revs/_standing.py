"""How a search stands on the rows so far: what noise could do, and what is decided."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.revs._subset_state import TunableState
from rlselect.subset.revs._walk import Walker, tune_prior
from rlselect.subset.revs.evidence import SHAPES

# half of the log evidence that each of many effects of one size gives for a prior with a hole at zero
_ALIKE = 0.5 * float(np.log(np.sqrt(27.0)) - 1.0)


def noise_level(walker: Walker) -> float:
    """Size of the largest of as many pure-noise z values as there are units that may move."""
    return float(np.sqrt(2.0 * np.log(max(int(np.count_nonzero(walker.allowed)), 2))))


def decided_z(walker: Walker) -> float:
    """|z| from which on a unit inside is decided: half as far again as the largest noise may ever be."""
    return 1.5 * (noise_level(walker) + 1.0)


def tune_to_rows(walker: Walker) -> None:
    """Set the prior of the coefficients to the one that the subset speaks for, on the rows there are.

    No effect speaks for none. Then it is the smallest one, which expects effects at the limit of what so many
    rows can show: one that expects large ones would ask the more of a first effect the more rows there are.
    """
    if walker.state.size:
        tune_prior(walker, shapes=1)
    elif not walker.stopped:
        state = cast(TunableState, walker.state)
        state.set_prior(float(state.slabs()[0]), SHAPES[0])


def leave_the_faint(walker: Walker) -> None:
    """Where no more rows will tell: beside effects that are all alike, a much smaller one is noise."""
    tune_prior(walker, shapes=2, proof=_ALIKE * walker.state.size)
    walker.climb()


def doubtful(walker: Walker) -> NDArray[np.intp]:
    """Units inside that are not decided."""
    units = walker.state.units
    inside = walker.state.mask & walker.allowed & ~units.is_block
    return np.flatnonzero(inside & (units.spread(walker.state.z_values()) < decided_z(walker)))


def faintest(walker: Walker) -> float:
    """Smallest |z| of a single column inside."""
    units = walker.state.units
    inside = walker.state.mask & walker.allowed & ~units.is_block
    return float(units.spread(walker.state.z_values())[inside].min(initial=np.inf))


def clearest(walker: Walker) -> float:
    """Largest |z| of a single column outside that would pay; 0 where none would."""
    units = walker.state.units
    paying = ~walker.state.mask & ~units.is_block & (walker.rewards() > 0)
    return float(units.spread(walker.state.z_values())[paying].max(initial=0.0))
