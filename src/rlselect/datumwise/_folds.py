"""Folds of rows: each row is played by a policy that was learned without it, so that returns are honest."""

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._policy import NO_MARGINS, AdditivePolicy, Margins
from rlselect.datumwise._problem import PurchaseProblem

__all__ = ["evaluate", "fold_numbers", "left_out", "mean_return", "merit"]


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
    bought, returns = evaluate(problem, policies, folds)
    losses = problem.rules.losses[:, problem.labels].T
    soft = np.empty(len(folds))
    answered = np.empty(len(folds))
    for fold in range(int(folds.max()) + 1):
        own = np.flatnonzero(folds == fold)
        shares = policies[fold].probabilities(problem.codes[own], bought[own])
        soft[own] = problem.rules.soft_losses(shares, problem.labels[own])
        scores = policies[fold].action_scores(problem.codes[own], bought[own])[:, problem.rules.n_units :]
        answered[own] = losses[own, scores.argmax(axis=1)]
    return mean_return(problem, returns + (answered - soft) / 2)
