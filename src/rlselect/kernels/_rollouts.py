"""Many cases buying features at once under a greedy policy with additive scores."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["greedy_rollouts", "grow_scores"]

Record = Callable[[NDArray, NDArray], None]


def grow_scores(
    scores: NDArray,
    additions: NDArray,
    constants: NDArray,
    stage: NDArray,
    base: NDArray,
    unit: NDArray,
    depth: NDArray,
    held: NDArray,
) -> NDArray:
    """Scores after a purchase, O(actions) a case.

    Within a stage a purchase adds one row of numbers. A case that enters a stage, whose weights are others,
    adds up those of all it holds.

    Parameters
    ----------
    scores : (m, actions) float array
        Before the purchase; minus infinity where an action is closed. Overwritten.
    additions : (stages, rows + 1, actions) float array
        What a purchase adds to all scores; the last row of each stage is zero.
    constants : (stages, actions) float array
        Scores with nothing bought.
    stage : (longest + 1,) int array
        Stage of each number of purchases.
    base : (m,) int array
        ``base[i] + u`` is the row of unit u of case i.
    unit : (m,) int array
        What is bought.
    depth : (m,) int array
        Purchases before this one.
    held : (m, h) int array
        Rows of earlier purchases, -1 for none; h is the number of purchases at which the last stage begins.
        Overwritten.

    Returns
    -------
    (m, actions) float array
        After it, the bought unit closed.
    """
    case = np.arange(len(unit))
    place = base + unit
    if len(additions) == 1:
        scores += additions[0].take(place, axis=0)
        scores[case, unit] = -np.inf
        return scores
    now = stage[depth + 1]
    enters = now != stage[depth]
    early = np.flatnonzero(depth < held.shape[1])
    held[early, depth[early]] = place[early]
    rows = additions.shape[1]
    flat = additions.reshape(-1, additions.shape[2])
    if not enters.all():
        goes_on = np.flatnonzero(~enters)
        if len(goes_on) == len(case):
            scores += flat.take(now * rows + place, axis=0)
        else:
            scores[goes_on] += flat.take((now * rows + place)[goes_on], axis=0)
    for number in np.unique(now[enters]):
        fresh = np.flatnonzero(enters & (now == number))
        total = constants[number] + additions[number].take(held[fresh, 0], axis=0)
        for k in range(1, held.shape[1]):
            total += additions[number].take(held[fresh, k], axis=0)
        total[np.isneginf(scores[fresh])] = -np.inf
        scores[fresh] = total
    scores[case, unit] = -np.inf
    return scores


def greedy_rollouts(
    scores: NDArray,
    additions: NDArray,
    constants: NDArray,
    stage: NDArray,
    base: NDArray,
    depth: NDArray,
    held: NDArray,
    prices: NDArray,
    left: NDArray | None = None,
    record: Record | None = None,
) -> tuple[NDArray, NDArray]:
    """Follow the best score until a class is chosen.

    Parameters
    ----------
    scores, additions, constants, stage, base, depth, held : arrays
        As for `grow_scores`; actions are units, then classes. `scores` and `held` are overwritten.
    prices : (units,) array
        Cost of each unit.
    left : (m,) int array, optional
        Purchases that a case may still make.
    record : callable, optional
        Called with the numbers of the cases that buy and the units they buy, once a step.

    Returns
    -------
    chosen : (m,) int array
        The class that each case ends with.
    spent : (m,) float array
        Sum of the prices.
    """
    m, n_units = len(scores), len(prices)
    chosen = np.empty(m, dtype=np.intp)
    spent = np.zeros(m)
    case = np.arange(m)
    if left is not None:
        # Whoever may not buy at all only compares the classes.
        closed = np.flatnonzero(left <= 0)
        chosen[closed] = scores[closed, n_units:].argmax(axis=1)
        case = np.flatnonzero(left > 0)
        if len(closed):
            scores, base, depth, held, left = scores[case], base[case], depth[case], held[case], left[case]
    while len(case):
        best = scores.argmax(axis=1)
        buys = best < n_units
        if not buys.all():
            ends, keep = np.flatnonzero(~buys), np.flatnonzero(buys)
            chosen[case[ends]] = best[ends] - n_units
            case, best, base, depth, held = case[keep], best[keep], base[keep], depth[keep], held[keep]
            scores = scores[keep]
            left = None if left is None else left[keep]
            if len(case) == 0:
                break
        if record is not None:
            record(case, best)
        spent[case] += prices[best]
        scores = grow_scores(scores, additions, constants, stage, base, best, depth, held)
        depth = depth + 1
        if left is not None:
            left = left - 1
            closed = np.flatnonzero(left <= 0)
            if len(closed):
                chosen[case[closed]] = scores[closed, n_units:].argmax(axis=1)
                keep = np.flatnonzero(left > 0)
                case, base, depth, held, left = case[keep], base[keep], depth[keep], held[keep], left[keep]
                scores = scores[keep]
    return chosen, spent
