"""One ridge regression for all actions at once, with every fold left out in turn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["shared_fit"]


def shared_fit(
    design: Any,
    targets: NDArray,
    weights: NDArray,
    folds: NDArray,
    ridge: float,
) -> list[NDArray]:
    """Weights for all columns of `targets`, without each fold and then from all states.

    One matrix is factored for each fold, whatever the number of actions.

    Parameters
    ----------
    design : callable
        ``design(states)`` gives the regressors of some states, the constant first.
    targets : (states, actions) array
        What to explain.
    weights : (states,) array
        Weights.
    folds : (states,) int array
        Fold of each state, 0 to k - 1.
    ridge : float
        Penalty on the squares of all weights but the constant.

    Returns
    -------
    list of (width, actions) arrays
        ``k`` with a fold left out (none when k is 1), and the one from all states at the end.
    """
    grams, sides = [], []
    for fold in range(int(folds.max(initial=0)) + 1):
        states = np.flatnonzero(folds == fold)
        regressors = design(states)
        weighted = regressors * weights[states, None]
        grams.append(weighted.T @ regressors)
        sides.append(weighted.T @ targets[states])
    gram, side = sum(grams), sum(sides)
    penalty = np.full(len(gram), float(ridge))
    penalty[0] = 1e-9 * max(float(gram[0, 0]), 1e-300)
    jobs = [(gram - g, side - s) for g, s in zip(grams, sides, strict=True)] if len(grams) > 1 else []
    return [_solve(g, s, penalty) for g, s in [*jobs, (gram, side)]]


def _solve(gram: NDArray, side: NDArray, penalty: NDArray) -> NDArray:
    gram = gram.copy()
    gram[np.diag_indices(len(gram))] += penalty
    return cho_solve(cho_factor(gram, lower=True, overwrite_a=True, check_finite=False), side)
