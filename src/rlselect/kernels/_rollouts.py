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

    There is a stage for each number of purchases, and a last one for all numbers from h on. Within the last
    one a purchase adds one row of numbers. A case that enters a stage, whose weights are others, adds up
    those of all it holds.

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
    if held.shape[1] == 0 or depth.min() >= held.shape[1]:
        scores += additions[-1].take(place, axis=0)
    else:
        scores = _change_stages(scores, additions, constants, stage, place, depth, held)
    scores[case, unit] = -np.inf
    return scores


def _change_stages(
    scores: NDArray,
    additions: NDArray,
    constants: NDArray,
    stage: NDArray,
    place: NDArray,
    depth: NDArray,
    held: NDArray,
) -> NDArray:
    """`grow_scores` where some cases enter a stage."""
    now = stage[depth + 1]
    (early,) = np.nonzero(depth < held.shape[1])
    held[early, depth[early]] = place[early]
    for number in range(1, len(additions)):
        (fresh,) = np.nonzero((now == number) & (depth < held.shape[1]))
        if len(fresh) == 0:
            continue
        rows = held[fresh]
        total = additions[number].take(rows[:, 0], axis=0)
        total += constants[number]
        for k in range(1, number):
            total += additions[number].take(rows[:, k], axis=0)
        np.copyto(total, -np.inf, where=scores[fresh] == -np.inf)
        scores[fresh] = total
    (rest,) = np.nonzero(depth >= held.shape[1])
    if len(rest):
        scores[rest] += additions[-1].take(place[rest], axis=0)
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
        closed = np.nonzero(left <= 0)[0]
        chosen[closed] = scores[closed, n_units:].argmax(axis=1)
        case = np.nonzero(left > 0)[0]
        if len(closed):
            scores, base, depth, held, left = scores[case], base[case], depth[case], held[case], left[case]
    while len(case):
        best = scores.argmax(axis=1)
        buys = best < n_units
        if not buys.all():
            ends, keep = np.nonzero(~buys)[0], np.nonzero(buys)[0]
            chosen[case[ends]] = best[ends] - n_units
            case, best, base, depth, held = case[keep], best[keep], base[keep], depth[keep], held[keep]
            scores = scores.take(keep, axis=0)
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
            closed = np.nonzero(left <= 0)[0]
            if len(closed):
                chosen[case[closed]] = scores[closed, n_units:].argmax(axis=1)
                keep = np.nonzero(left > 0)[0]
                case, base, depth, held, left = case[keep], base[keep], depth[keep], held[keep], left[keep]
                scores = scores.take(keep, axis=0)
    return chosen, spent
