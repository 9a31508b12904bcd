"""Many cases buying features at once under a greedy policy with additive scores."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["greedy_rollouts", "ruled_rollouts"]


def greedy_rollouts(
    scores: NDArray,
    additions: NDArray,
    base: NDArray,
    prices: NDArray,
    left: NDArray | None = None,
    record: Callable[[NDArray, NDArray], None] | None = None,
) -> tuple[NDArray, NDArray]:
    """Follow the best score until a class is chosen.

    A step gathers one row of `additions` and takes one maximum for each case, O(actions).

    Parameters
    ----------
    scores : (m, units + classes) float array
        Scores at the start, minus infinity for units that cannot be bought. Overwritten.
    additions : (rows, units + classes) float array
        What a purchase adds to all scores.
    base : (m,) int array
        ``base[i] + u`` is the row of `additions` for unit u of case i.
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
    while len(case):
        best = scores.argmax(axis=1)
        if left is not None:
            closed = np.flatnonzero(left <= 0)
            best[closed] = n_units + scores[closed, n_units:].argmax(axis=1)
        buys = best < n_units
        ends = np.flatnonzero(~buys)
        chosen[case[ends]] = best[ends] - n_units
        if len(ends):
            keep = np.flatnonzero(buys)
            case, best, base, scores = case[keep], best[keep], base[keep], scores[keep]
            left = left if left is None else left[keep]
        if len(case) == 0:
            break
        if record is not None:
            record(case, best)
        spent[case] += prices[best]
        scores += additions.take(base + best, axis=0)
        scores[np.arange(len(case)), best] = -np.inf
        if left is not None:
            left = left - 1
    return chosen, spent


def ruled_rollouts(
    scores: NDArray,
    additions: NDArray,
    base: NDArray,
    bought: NDArray,
    spent: NDArray,
    rules: tuple[Callable[[NDArray, NDArray], NDArray], Callable[[NDArray], NDArray]],
    record: Callable[[NDArray, NDArray], None] | None = None,
) -> tuple[NDArray, NDArray]:
    """`greedy_rollouts` where prices and choices depend on what is bought.

    Parameters
    ----------
    scores, additions, base : arrays
        As for `greedy_rollouts`.
    bought : (m, units) bool array
        What is bought at the start.
    spent : (m,) array
        What it cost.
    rules : (may, price)
        ``may(bought, spent)`` says which units may be bought, ``price(bought)`` at which price.
    record : callable, optional
        As for `greedy_rollouts`.

    Returns
    -------
    chosen : (m,) int array
        The class that each case ends with.
    spent : (m,) float array
        All that was spent, what was spent at the start included.
    """
    may, price = rules
    m, n_units = bought.shape
    chosen = np.empty(m, dtype=np.intp)
    total = spent.astype(float)
    case = np.arange(m)
    bought = bought.copy()
    while len(case):
        usable = scores.copy()
        usable[:, :n_units][~may(bought, total[case])] = -np.inf
        best = usable.argmax(axis=1)
        buys = best < n_units
        chosen[case[~buys]] = best[~buys] - n_units
        case, best, base, scores, bought = case[buys], best[buys], base[buys], scores[buys], bought[buys]
        if len(case) == 0:
            break
        if record is not None:
            record(case, best)
        step = np.arange(len(case))
        total[case] += price(bought)[step, best]
        scores = scores + additions.take(base + best, axis=0)
        scores[step, best] = -np.inf
        bought[step, best] = True
    return chosen, total
