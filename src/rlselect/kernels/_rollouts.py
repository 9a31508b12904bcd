"""Many cases buying features at once under a greedy policy with additive scores."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["greedy_rollouts", "grow_scores"]

Record = Callable[[NDArray, NDArray], None]


def grow_scores(
    scores: NDArray,
    table: NDArray,
    constants: NDArray,
    place: NDArray,
    row: NDArray,
    depth: NDArray,
    held: NDArray,
    shut: NDArray | None = None,
) -> NDArray:
    """Scores after a purchase, O(actions) a case.

    There is a stage for each number of purchases up to h, the last of them for all greater numbers too.
    Within the last one a purchase adds one row of numbers. A case that enters a stage, whose weights are
    others, adds up those of all it holds.

    Parameters
    ----------
    scores : (m, actions) float array
        Before the purchase. Overwritten.
    table : (h + 1, places, actions) float array
        What a purchase adds to all scores, minus infinity to that of buying the same again.
    constants : (h + 1, actions) float array
        Scores with nothing bought.
    place : (m,) int array
        Where in the table the purchase of each case is.
    row : (m,) int array
        Where in `shut` each case is.
    depth : (m,) int array
        Purchases before this one.
    held : (m, h) int array
        Places of the first purchases. Overwritten.
    shut : (rows, actions) float array, optional
        Minus infinity for actions that a case never has, zero for the others.

    Returns
    -------
    (m, actions) float array
        After it.
    """
    if held.shape[1] == 0 or depth.min() >= held.shape[1]:
        scores += table[-1].take(place, axis=0)
        return scores
    (early,) = np.nonzero(depth < held.shape[1])
    held[early, depth[early]] = place[early]
    for number in range(1, len(table)):
        (fresh,) = np.nonzero(depth == number - 1)
        if len(fresh) == 0:
            continue
        whole = len(fresh) == len(depth)
        places = held if whole else held[fresh]
        total = table[number].take(places[:, 0], axis=0)
        total += constants[number]
        for k in range(1, number):
            total += table[number].take(places[:, k], axis=0)
        if shut is not None:
            total += shut[row[fresh]]
        if whole:
            return total
        scores[fresh] = total
    (rest,) = np.nonzero(depth >= held.shape[1])
    if len(rest):
        scores[rest] += table[-1].take(place[rest], axis=0)
    return scores


def greedy_rollouts(
    scores: NDArray,
    table: NDArray,
    constants: NDArray,
    places: NDArray,
    row: NDArray,
    depth: NDArray,
    held: NDArray,
    prices: NDArray,
    shut: NDArray | None = None,
    left: NDArray | None = None,
    record: Record | None = None,
) -> tuple[NDArray, NDArray]:
    """Follow the best score until a class is chosen.

    Parameters
    ----------
    scores, table, constants, row, depth, held, shut : arrays
        As for `grow_scores`; actions are units, then classes. `scores` and `held` are overwritten.
    places : (rows, units) int array
        Where in the table the purchase of each unit is, for each row.
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
    n_units = len(prices)
    chosen = np.empty(len(scores), dtype=np.intp)
    spent = np.zeros(len(scores))
    case = np.arange(len(scores))
    while len(case):
        best = scores.argmax(axis=1)
        if left is not None and left.min() <= 0:
            # Whoever may not buy any more only compares the classes.
            (poor,) = np.nonzero(left <= 0)
            best[poor] = n_units + scores[poor, n_units:].argmax(axis=1)
        buys = best < n_units
        if not buys.all():
            ends, keep = np.nonzero(~buys)[0], np.nonzero(buys)[0]
            chosen[case[ends]] = best[ends] - n_units
            case, best, row, depth, held = case[keep], best[keep], row[keep], depth[keep], held[keep]
            scores = scores.take(keep, axis=0)
            left = None if left is None else left[keep]
            if len(case) == 0:
                break
        if record is not None:
            record(case, best)
        spent[case] += prices[best]
        scores = grow_scores(scores, table, constants, places[row, best], row, depth, held, shut)
        depth = depth + 1
        left = None if left is None else left - 1
    return chosen, spent
