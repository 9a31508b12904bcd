"""How sure additive scores may be: temperatures of their class probabilities, from rows left out."""

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import present_clock
from rlselect.datumwise._network_frontier import best_temperatures
from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._problem import PurchaseProblem

__all__ = ["stage_temperatures"]

# of a fold, in haste
_ROWS = 500


def _some(rows: NDArray) -> NDArray:
    """The rows, or with a time budget not more of them than tell a temperature; they are in no order."""
    if present_clock().left is None or len(rows) <= _ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, _ROWS).round().astype(np.intp)]


def stage_temperatures(problem: PurchaseProblem, policies: list[AdditivePolicy], folds: NDArray) -> NDArray:
    """A temperature for each stage, by states that rows left out pass through; ones without folds.

    A row counts once in each stage that it reaches: in the last one with all that it buys.
    """
    stages = len(policies[0].theta)
    if folds.max() == 0:
        return np.ones(stages)
    logs: list[list[NDArray]] = [[] for _ in range(stages)]
    rows: list[list[NDArray]] = [[] for _ in range(stages)]
    for fold in range(int(folds.max()) + 1):
        own = _some(np.flatnonzero(folds == fold))
        episodes = policies[fold].run(problem.codes[own], problem.closed[own])
        number = episodes.bought.sum(axis=1)
        for stage in range(1, stages):
            there = np.flatnonzero(number >= stage)
            bought = episodes.bought[there]
            if stage < stages - 1:
                bought = np.zeros_like(bought)
                np.put_along_axis(bought, episodes.order[there, :stage], True, axis=1)
            shares = policies[fold].probabilities(problem.codes[own[there]], bought)
            logs[stage].append(np.log(shares))
            rows[stage].append(own[there])
    # with nothing bought, shares are those of the classes
    out = np.ones(stages)
    for stage in range(1, stages):
        found, others = np.concatenate(rows[stage]), np.concatenate(logs[stage])[None]
        counts = problem.weights[found][None]
        known = problem.labels[found], counts, problem.rules.losses
        out[stage] = best_temperatures(others, *known, PLAN.flattered)[0]
    return out
