"""A draw of the prior of the coefficients, given a subset."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.revs._subset_state import TunableState
from rlselect.subset.revs.evidence import Shape


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
