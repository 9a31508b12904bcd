"""Where numbers are cut into answers: so that what is cut together differs little."""

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._encoding import quantile_edges

__all__ = ["answer_edges"]

# answers are made of whole cells of about equal weight, so many at most
_CELLS = 128
# an answer has at least this part of an equal share of the rows, and so many rows, where that is no more than
# an equal share: fewer tell nothing about what leads to them
_LEAST, _LEAST_ROWS = 0.25, 5.0
# sums of squares are whole numbers of such shares of their total: equal ones are equal whatever the rounding
_GRAIN = 1e-12
# more than all of it, and no more than can be added up
_NEVER = round(4 / _GRAIN)


def answer_edges(values: NDArray, weights: NDArray, number: int) -> NDArray:
    """Upper ends of all answers but the last, which have the least sum of squares within them.

    Quantiles would put all that is far out into one answer, and what it tells within that is lost: of a
    log-normal number a sixth of the variance. O(cells^2 x number).
    """
    fine = quantile_edges(values, weights, _CELLS)
    if len(fine) < number:
        return quantile_edges(values, weights, number)
    place = np.searchsorted(fine, values, side="left")
    scaled = (values - values.min()) / (values.max() - values.min())
    scaled -= np.average(scaled, weights=weights)
    mass, first, second = (
        np.append(0.0, np.cumsum(np.bincount(place, weights * scaled**power))) for power in range(3)
    )
    weight, total, square = (sums[None, :] - sums[:, None] for sums in (mass, first, second))
    share = mass[-1] / number
    enough = weight >= max(_LEAST * share, min(_LEAST_ROWS, share)) * (1 - 1e-9)
    inner = square - total**2 / np.where(enough, weight, 1.0)
    whole = second[-1] - first[-1] ** 2 / mass[-1]
    cost = np.where(enough, np.rint(inner / (_GRAIN * whole)), _NEVER).astype(np.int64)
    least, before = cost[0], []
    for _ in range(number - 1):
        ways = least[:, None] + cost
        before.append(ways.argmin(axis=0))
        least = ways.min(axis=0)
    if least[-1] >= _NEVER:
        return quantile_edges(values, weights, number)
    cuts, at = [], len(fine) + 1
    for last in reversed(before):
        at = int(last[at])
        cuts.append(at - 1)
    return fine[cuts[::-1]]
