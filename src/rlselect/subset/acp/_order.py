"""The order of variables: which of them to keep if only so many may stay."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rlselect._clock import Clock
from rlselect.data import Units
from rlselect.subset.acp.masked import MaskedPredictor

Array = NDArray[np.float64]

# of more units than this, several leave at once
_ONE_BY_ONE = 20


def elimination_order(
    predictor: MaskedPredictor,
    units: Units,
    mode: NDArray[np.bool_],
    rng: np.random.Generator,
    clock: Clock,
) -> tuple[NDArray[np.intp], int]:
    """Let the units of a subset leave, the least missed first.

    What a variable is worth beside all others says little about the best few: of two that stand for each
    other neither is missed. Here the second one of them counts as soon as the first is gone, and partners in
    an interaction stay together.

    Parameters
    ----------
    predictor : MaskedPredictor
        Judges the smaller subsets, on folds or rows that are drawn anew for each round.
    units : Units
    mode : bool array over units
    rng : Generator
    clock : Clock
        Asked before every round; those that are left when it stops share the last place.

    Returns
    -------
    int array over units
        Round in which a unit left, 0 for one outside of the subset.
    int
        Subsets judged.
    """
    left = np.zeros(len(mode), dtype=np.intp)
    inside = mode.copy()
    judged, moment = 0, 1
    while inside.any():
        if inside.sum() == 1 or clock.tick() is not None:
            left[inside] = moment
            break
        here = np.flatnonzero(inside)
        masks = np.repeat(inside[None], len(here), axis=0)
        masks[np.arange(len(here)), here] = False
        predictor.redraw(rng)
        predictor.tune(inside[units.unit_of])
        values = predictor.criterion(masks[:, units.unit_of])
        judged += len(here)
        for unit in here[np.argsort(values, kind="stable")[: max(1, len(here) // _ONE_BY_ONE)]]:
            left[unit] = moment
            inside[unit] = False
            moment += 1
    return left, judged


def places(
    mode: NDArray[np.bool_],
    left: NDArray[np.intp],
    gains: Array,
    theta: Array,
    alone: Array,
    *,
    straight: bool,
) -> Array:
    """Put units in order: those of the subset, those that were judged beside it, and the others.

    Parameters
    ----------
    mode : bool array over units
    left : int array over units
        See `elimination_order`.
    gains : array over units
        What a unit would add to the subset; NaN where it was not judged.
    theta : array over units
    alone : array over units
        How much the response moves with a unit alone, along a straight line.
    straight : bool
        Whether the predictor is a straight line too. What weak units add to a subset is mostly noise, and
        then both ranks count.

    Returns
    -------
    array over units
        Larger is better, no two alike.
    """
    seen = np.isfinite(gains)
    both = np.full(len(mode), np.inf)
    both[seen] = rankdata(-gains[seen]) + (rankdata(-alone[seen]) if straight else 0.0)
    order = np.lexsort((np.arange(len(mode)), -alone, -theta, both, -left, ~mode))
    out = np.empty(len(order))
    out[order] = np.arange(len(order), 0, -1)
    return out
