"""States to learn from: random ones, and ones that the policy of the moment leads to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["States", "distinct", "reachable", "sample_states"]


@dataclass
class States:
    """States of some rows.

    Parameters
    ----------
    row : (states,) int array
        Row of each state, in rising order.
    bought : (states, units) bool array
        What it holds.
    spent : (states,) array
        What that cost.
    count : (states,) array
        How often it was drawn.
    """

    row: NDArray
    bought: NDArray
    spent: NDArray
    count: NDArray


def distinct(rules: PurchaseRules, row: NDArray, bought: NDArray, spent: NDArray) -> States:
    """Each state once, in the order of the rows, with the number of times it was drawn.

    `row` (states,) is in rising order, `bought` is (states, units), `spent` (states,). Where the cost of
    a set depends on its order, all states are kept.
    """
    if rules.unrelated is not None:
        return States(row, bought, spent, np.ones(len(row)))
    # The row comes first in the key, and its first byte counts most, so that the order of rows stays.
    numbers = row.astype(">u4").view(np.uint8).reshape(-1, 4)
    key = np.ascontiguousarray(np.hstack([numbers, np.packbits(bought, axis=1)]))
    whole = key.view(np.dtype((np.void, key.shape[1]))).ravel()
    _, first, count = np.unique(whole, return_index=True, return_counts=True)
    return States(row[first], bought[first], spent[first], count.astype(float))


def reachable(rules: PurchaseRules, wanted: NDArray, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """The part of each wanted set that can be bought in a random order, and its cost (states,).

    Units that are closed for a case must not be in its set; `wanted` and what is given are (states,
    units).
    """
    if rules.plain:
        bought = wanted
        if rules.budget is not None:
            keys = np.where(wanted, rng.random(wanted.shape, dtype=np.float32), 2.0)
            if rules.budget < wanted.shape[1]:
                limit = np.partition(keys, rules.budget, axis=1)[:, rules.budget]
                bought = wanted & (keys < limit[:, None])
        return bought, bought @ rules.prices
    bought = np.zeros_like(wanted)
    spent = np.zeros(len(wanted))
    case = np.arange(len(wanted))
    while len(case):
        may = rules.open(bought[case], spent[case]) & wanted[case]
        case, may = case[may.any(axis=1)], may[may.any(axis=1)]
        unit = np.where(may, rng.random(may.shape, dtype=np.float32), -1.0).argmax(axis=1)
        spent[case] += rules.price(bought[case])[np.arange(len(case)), unit]
        bought[case, unit] = True
    return bought, spent


def sample_states(
    rules: PurchaseRules,
    closed: NDArray,
    n_states: int,
    last: NDArray | None,
    on_policy: float,
    rng: np.random.Generator,
) -> tuple[NDArray, NDArray]:
    """States of each row to learn from, (rows, n_states, units), and what they cost, (rows, n_states).

    One of them is the start, where nothing is bought; a share `on_policy` are random subsets of `last`
    (rows, units), what the last policy bought; the others are random sets that are not much larger, see
    `PurchasePlan`. Units that are `closed` (rows, units) are in none.
    """
    n, n_units = closed.shape
    shape = (n, n_states, n_units)
    limit = PLAN.largest_set
    if last is not None:
        limit = min(limit, PLAN.larger * max(float(last.mean()), 1 / n_units))
    if rules.budget is not None:
        limit = min(limit, PLAN.larger * rules.budget / n_units)
    wanted = rng.random(shape, dtype=np.float32) < limit * rng.random((n, n_states, 1), dtype=np.float32)
    if last is not None:
        own = round(on_policy * n_states)
        part = (n, own, n_units)
        keep = rng.random(part, dtype=np.float32) < rng.random((n, own, 1), dtype=np.float32)
        keep[:, :1] = True
        wanted[:, :own] = last[:, None, :] & keep
    wanted[:, -1] = False
    wanted &= ~closed[:, None, :]
    bought, spent = reachable(rules, wanted.reshape(n * n_states, n_units), rng)
    return bought.reshape(shape), spent.reshape(n, n_states)
