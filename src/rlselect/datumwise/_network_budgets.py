"""How sure networks may be where a number of purchases ends them: what rows left out say at that number."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect.datumwise._network_frontier import PriceFrontier, best_temperatures, smooth_temperatures
from rlselect.datumwise._network_policy import NetworkPolicy
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._problem import CaseRows

__all__ = ["first_purchases", "judged_rows", "know_budgets"]


def judged_rows(folds: NDArray, fold: int) -> NDArray:
    """Rows of a fold by which networks that have not seen it are judged; some, where there are many."""
    return np.flatnonzero(folds == fold)[:: -(-len(folds) // NETWORK.judged)]


def first_purchases(episodes: Episodes, number: int) -> NDArray:
    """What cases hold after so many purchases at most: (cases, units)."""
    out = np.zeros_like(episodes.bought)
    case, step = np.nonzero(episodes.order[:, :number] >= 0)
    out[case, episodes.order[case, step]] = True
    return out


def know_budgets(
    problem: CaseRows, folds: NDArray, policy: NetworkPolicy, frontier: PriceFrontier, clock: Clock
) -> PriceFrontier:
    """The frontier with temperatures of cases that may buy so many units and no more.

    Cases that a budget ends are not those that stop by themselves, which know all that is worth its price.
    Each network plays the rows that it has not seen at all prices; the states after so many purchases, or at
    the end, tell the temperatures of that number. Without time for it, the frontier as it is.
    """
    rules = problem.rules
    most = rules.n_units if rules.budget is None else min(rules.budget, rules.n_units)
    numbers = [number for number in NETWORK.budgets if number < most]
    prices = frontier.prices
    if not numbers:
        return frontier
    logs: list[NDArray] = []
    asked: list[NDArray] = []
    judged: list[NDArray] = []
    took = 0.0
    for fold in np.unique(folds).tolist():
        # learning itself is done, and is not cut short where this is
        if clock.reason is not None or (clock.left is not None and clock.left < 2 * took):
            return frontier
        began = time.perf_counter()
        own = judged_rows(folds, fold)
        rows = np.tile(own, len(prices))
        alone = policy.part(fold)
        episodes = alone.run(problem.codes[rows], problem.closed[rows], prices=np.repeat(prices, len(own)))
        ends = np.log(np.maximum(alone.probabilities(problem.codes[rows], episodes.bought), 1e-12))
        shares = np.repeat(ends[None], len(numbers), axis=0)
        for place, number in enumerate(numbers):
            # others have stopped before
            (more,) = np.nonzero(episodes.bought.sum(axis=1) > number)
            if len(more) == 0:
                break
            bought = first_purchases(episodes, number)[more]
            found = alone.probabilities(problem.codes[rows[more]], bought)
            shares[place, more] = np.log(np.maximum(found, 1e-12))
        logs.append(shares.reshape(len(numbers), len(prices), len(own), -1))
        asked.append(episodes.bought.any(axis=1).reshape(len(prices), len(own)))
        judged.append(own)
        took = time.perf_counter() - began
    rows, others = np.concatenate(judged), np.concatenate(logs, axis=2)
    counts = problem.weights[rows] * np.concatenate(asked, axis=1)
    single = [best_temperatures(own, problem.labels[rows], counts, rules.losses) for own in others]
    smooth = smooth_temperatures(np.array(numbers), NETWORK.averaged * np.array(single))
    return replace(frontier, numbers=tuple(numbers), limited=smooth)
