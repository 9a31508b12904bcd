"""Folds of rows: each row is played by a policy that was learned without it, so that returns are honest."""

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._network_frontier import height
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._policy import NO_MARGINS, AdditivePolicy, Margins
from rlselect.datumwise._problem import PurchaseProblem

__all__ = ["evaluate", "fold_numbers", "frontier_height", "left_out", "mean_return", "merit"]


def left_out(n_folds: int) -> list[int]:
    """The fold that each policy does without: every one in turn, if there are several, and last none.

    That none is left out is said by the number of folds.
    """
    return [*range(n_folds if n_folds > 1 else 0), n_folds]


def fold_numbers(labels: NDArray, n_folds: int, rng: np.random.Generator) -> NDArray:
    """Folds with about the same share of each class; equal rows, which stand side by side, are spread."""
    n_folds = max(1, min(n_folds, len(labels)))
    folds = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        # Random within each run of n_folds rows, so that neighbours are in different folds.
        runs = -(-len(own) // n_folds)
        folds[own] = np.concatenate([rng.permutation(n_folds) for _ in range(runs)])[: len(own)]
    return folds


def evaluate(
    problem: PurchaseProblem,
    policies: list[AdditivePolicy],
    folds: NDArray,
    off: list[Margins] | None = None,
) -> tuple[NDArray, NDArray]:
    """What each row buys under the policy that has not seen it, and its return."""
    bought = np.empty(problem.closed.shape, dtype=bool)
    returns = np.empty(len(folds))
    for fold in range(int(folds.max()) + 1):
        own = np.flatnonzero(folds == fold)
        margins = NO_MARGINS if off is None else off[fold]
        episodes = policies[fold].run(problem.codes[own], problem.closed[own], margins)
        bought[own] = episodes.bought
        returns[own] = problem.returns(episodes, own)
    return bought, returns


def mean_return(problem: PurchaseProblem, returns: NDArray) -> float:
    """Mean over the rows by their weights."""
    return float(np.average(returns, weights=problem.weights))


def merit(problem: PurchaseProblem, policies: list[AdditivePolicy], folds: NDArray) -> float:
    """The `Learned.merit` of policies on the rows that they have not seen."""
    worth, cost, _ = _play(problem, policies, folds)
    return mean_return(problem, worth - cost)


def frontier_height(problem: PurchaseProblem, policies: list[AdditivePolicy], folds: NDArray) -> float:
    """The `Learned.height` of policies on the rows that they have not seen; of many rows, on some.

    Every purchase has the same price; another one is taken off its score.
    """
    some = np.arange(0, len(folds), -(-len(folds) // NETWORK.judged))
    problem, folds = problem.take(some, problem.weights[some]), folds[some]
    rules = problem.rules
    prices = np.geomspace(NETWORK.prices[0][0], NETWORK.dearest[0], NETWORK.grid)
    for policy in policies:
        policy.keep_table()
    played = []
    for change in prices * rules.spread - rules.prices.mean():
        worth, _, bought = _play(problem, policies, folds, (change, change))
        played.append((1.0 - mean_return(problem, bought.mean(axis=1)), mean_return(problem, worth)))
    return height(*np.transpose(played))


def _play(
    problem: PurchaseProblem, policies: list[AdditivePolicy], folds: NDArray, margins: Margins = NO_MARGINS
) -> tuple[NDArray, NDArray, NDArray]:
    """What the answers to rows left out are worth, what purchases cost, and what is bought.

    Answers are worth minus the mean of their cost and of what drawn ones would cost, as in `Learned.merit`.
    """
    worth, cost = np.empty((2, len(folds)))
    bought = np.empty(problem.closed.shape, dtype=bool)
    for fold in range(int(folds.max()) + 1):
        own = np.flatnonzero(folds == fold)
        episodes = policies[fold].run(problem.codes[own], problem.closed[own], margins)
        shares = policies[fold].probabilities(problem.codes[own], episodes.bought)
        hard = problem.rules.losses[episodes.answer, problem.labels[own]]
        worth[own] = -(hard + problem.rules.soft_losses(shares, problem.labels[own])) / 2
        cost[own], bought[own] = episodes.cost, episodes.bought
    return worth, cost, bought
