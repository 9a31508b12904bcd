"""How many columns to keep, and which: eliminations repeated without each fold and judged on it.

The leave-one-out risk along one elimination is too good for large sets, because the same rows chose the sets.
Repeating the elimination on the other folds removes that bias, and its rankings vote on which columns stay.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlselect.predictors._elimination import EliminationPath, eliminate
from rlselect.predictors._stopping import paired_comparison

__all__ = ["adaptive_cycle", "cross_fitted_choice"]

_FOLDS = 10


class _JudgedProblem:
    """An elimination problem that also notes its losses on rows it does not know."""

    def __init__(self, machine: Any, X: np.ndarray, y: np.ndarray) -> None:
        self.problem = machine.make_problem()
        self.tuner = machine.tuner
        self.X, self.y = X, y
        self.held_out: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def retune(self, _: Any) -> None:
        """Choose the parameters of the problem anew."""
        self.tuner.again(self.problem)

    def refresh(self) -> None:
        """Solve on the present set and judge it."""
        p = self.problem
        p.refresh()
        rest = p.targets[:, 0] - p.gram @ p.coefficients - p.ridge * p.coefficients
        fitted = p.state.cross(self.X, p.active) @ p.coefficients + rest.mean()
        self.held_out.append(np.square(self.y - fitted))


def cross_fitted_choice(
    machine: Any, path: EliminationPath, rng: np.random.Generator
) -> tuple[list[int], str]:
    """Groups to keep, given the elimination on all rows.

    The size has the smallest held-out risk; among sizes that cannot be told from it (half a paired standard
    error) the smallest. The groups are those most often among the last so many of a fold's elimination, equal
    ones in the order of ``path``.
    """
    n, n_groups = len(machine.y), len(machine.encoder.groups)
    n_folds = min(_FOLDS, n // 2)
    folds = rng.permutation(n) % n_folds
    sizes: Sequence[int] = []
    losses: Any = None
    orders = []
    for fold in range(n_folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        smaller = machine.on_rows(train)
        problem = _JudgedProblem(smaller, machine.X[test], machine.y[test])
        found = eliminate(problem, adaptive_cycle, problem.retune)
        sizes = found.sizes
        losses = np.empty((len(sizes), n)) if losses is None else losses
        losses[:, test] = problem.held_out
        orders.append(found.order[::-1])
    compared = paired_comparison(
        EliminationPath(sizes=list(sizes), losses=list(losses), weights=machine.weights)
    )
    inside = compared["difference"] <= 0.5 * compared["difference_standard_error"]
    size = int(sizes[int(np.flatnonzero(inside)[-1])])
    votes = np.zeros(n_groups)
    for order in orders:
        votes[order[:size]] += 1
    rank = np.empty(n_groups)
    rank[path.order[::-1]] = np.arange(n_groups)
    kept = np.lexsort([rank, -votes])[:size]
    return sorted(kept.tolist()), f"smallest risk on held-out folds of {n_folds} repeated eliminations"


def adaptive_cycle(left: int) -> int:
    """One at a time where it matters, a few at once while there are many."""
    return max(1, left // 8)
