"""How many columns to keep, and which: eliminations repeated without each fold and judged on it.

The leave-one-out risk along one elimination is too good for large sets, because the same rows chose the sets.
Repeating the elimination on the other folds removes that bias, and its rankings vote on which columns stay.
One split into folds leaves the answer to chance where a signal is weak: where it does not settle the size,
two more are made. Folds are dealt to subjects, the same at all stages, so that the value of the regime can be
judged on them: what was eliminated without a fold has not seen it.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rlselect._clock import OutOfTime
from rlselect._parallel import run_tasks
from rlselect.machines import EliminationPath, eliminate, paired_comparison
from rlselect.regimes._column_machine import ByColumns, many
from rlselect.regimes._stage_machine import StageMachine, within_reach

__all__ = [
    "Split",
    "adaptive_cycle",
    "best_by_itself",
    "cross_fitted_choice",
    "held_out_risk",
    "judge",
    "one_split",
    "price_of_set",
]

# With many subjects five folds rank columns as well as ten, for half the time: folds are taken together.
_FOLDS_OF_MANY, _MANY = 5, 300
# Sizes whose risk is within this many paired standard errors of the smallest cannot be told from it.
_SLACK = 0.5
# A split settles the size when none up to this slack would give another.
_DOUBT = 1.5


class Split(NamedTuple):
    """What the eliminations without each fold of a split have found.

    Attributes
    ----------
    losses : (sizes, n) array
        Held-out losses of the rows, by size of the set.
    orders : list of lists of int
        Groups by fold, last to leave first.
    folds : (n,) int array
        Fold of each row, from 0 on.
    sizes : list of int
        By fold: how many groups the other rows ask for, by their own leave-one-out risk.
    """

    losses: np.ndarray
    orders: list[list[int]]
    folds: np.ndarray
    sizes: Sequence[int] = ()

    def groups_without(self, test: np.ndarray) -> list[int] | None:
        """Groups that are kept without some rows, a bool array, where these are a fold."""
        fold = self.folds[np.flatnonzero(test)[0]]
        if not np.array_equal(self.folds == fold, test):
            return None
        return sorted(self.orders[fold][: self.sizes[fold]])


class _JudgedProblem:
    """An elimination problem on some rows that notes its losses on the others."""

    def __init__(self, machine: StageMachine, train: np.ndarray, test: np.ndarray) -> None:
        smaller = machine.on_rows(train)
        self.problem = smaller.make_problem()
        self.tuner = smaller.tuner
        self.everyone = machine.make_state()
        self.place, self.y = np.ix_(test, train), machine.y[test]
        self.held_out: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def retune(self, _: Any) -> None:
        """Choose the parameters of the problem anew."""
        self.tuner.again(self.problem)

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.problem.drop(groups)
        self.everyone.drop(groups)

    def refresh(self) -> None:
        """Solve on the present set and judge it."""
        p = self.problem
        p.refresh()
        coefficients = p.coefficients[:, 0]
        rest = p.targets[:, 0] - p.gram @ coefficients - p.ridge * coefficients
        self.everyone.bandwidth = p.bandwidth
        fitted = self.everyone.gram()[self.place] @ coefficients + rest.mean()
        self.held_out.append(np.square(self.y - within_reach(fitted, p.targets[:, 0])))


class _JudgedColumns(_JudgedProblem):
    """The same on explicit columns; of many subjects, parameters are those that all rows had at the size."""

    def __init__(
        self, machine: ByColumns, path: EliminationPath, train: np.ndarray, test: np.ndarray
    ) -> None:
        smaller = machine.on_rows(train)
        self.shared = path if many(len(machine.y)) else None
        self.problem = smaller.make_problem(tune=self.shared is None)
        self.tuner = smaller.tuner
        self.columns, self.y, self.known = machine.columns[test], machine.y[test], machine.y[train]
        self.held_out: list[np.ndarray] = []
        if self.shared is not None:
            self.retune(None)

    def retune(self, _: Any) -> None:
        """Choose the parameters of the problem anew, or take those of the elimination on all rows."""
        if self.shared is None:
            self.tuner.again(self.problem)
        else:
            self.problem.lam = self.shared.lam[self.shared.sizes.index(len(self.problem.active))]

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.problem.drop(groups)

    def refresh(self) -> None:
        """Solve on the present set and judge it."""
        self.problem.refresh()
        coefficients, intercept = self.problem.solution()
        fitted = within_reach(self.columns @ coefficients + intercept, self.known)
        self.held_out.append(np.square(self.y - fitted))


def cross_fitted_choice(
    machine: StageMachine, path: EliminationPath, deal: np.ndarray, first: Split | None = None
) -> tuple[list[int], str, tuple[Split, ...]]:
    """Groups to keep, given the elimination on all rows and, where it is known already, the first split.

    ``deal`` has the folds of all subjects, a row per split. With the groups come the reason, and the splits
    that were made: the first alone, or all.

    Among the sizes whose held-out risk cannot be told from the smallest (half a paired standard error) the
    cheapest is chosen, see `price_of_set`. The groups are those most often among the last so many of a fold's
    elimination, equal ones in the order of ``path``.
    """
    n_groups = len(machine.encoder.groups)
    first = one_split(machine, path, deal[0]) if first is None else first
    splits: tuple[Split, ...] = (first,)
    smallest = [
        path.sizes[_as_good(path, first.losses, machine.weights, slack)[-1]] for slack in (0.0, _DOUBT)
    ]
    if smallest[0] != smallest[1]:
        splits = (first, *(one_split(machine, path, folds) for folds in deal[1:]))
    orders = [order for split in splits for order in split.orders]
    size = _cheapest(path, _losses_of(splits), machine.weights)
    votes = np.zeros(n_groups)
    for order in orders:
        votes[order[:size]] += 1
    rank = np.empty(n_groups)
    rank[path.order[::-1]] = np.arange(n_groups)
    kept = np.lexsort([rank, -votes])[:size]
    reason = f"smallest risk on the held-out folds of {len(orders)} eliminations"
    return sorted(kept.tolist()), reason, splits


def _losses_of(splits: Sequence[Split]) -> np.ndarray:
    return np.sum([split.losses for split in splits], axis=0)


def one_split(machine: StageMachine, path: EliminationPath, deal: np.ndarray) -> Split:
    """Eliminations without each fold, judged on the folds; ``path`` is that on all rows.

    ``deal`` has the fold of each subject of the trial.
    """
    mine = deal[machine.subjects]
    numbers, folds = np.unique(mine if len(mine) < _MANY else mine % _FOLDS_OF_MANY, return_inverse=True)
    tests = [np.flatnonzero(folds == fold) for fold in range(len(numbers))]
    tasks = ((machine, path, np.flatnonzero(folds != k), test) for k, test in enumerate(tests))
    judged = run_tasks(judge, tasks)
    losses, orders, sizes = zip(*judged, strict=True)
    return Split(np.hstack(losses)[:, np.argsort(np.concatenate(tests))], list(orders), folds, sizes)


def judge(
    machine: StageMachine, whole: EliminationPath, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, list[int], int]:
    """Losses on a fold of an elimination without it, its order, last to leave first, and its own size."""
    if isinstance(machine, ByColumns):
        problem: _JudgedProblem = _JudgedColumns(machine, whole, train, test)
    else:
        problem = _JudgedProblem(machine, train, test)
    path = eliminate(problem, adaptive_cycle, problem.retune)
    if path.broken_off:
        raise OutOfTime
    return np.array(problem.held_out), path.order[::-1], path.sizes[best_by_itself(path)]


def best_by_itself(path: EliminationPath) -> int:
    """The place on an elimination with the smallest ``n log(risk) + 2 k log d``, leave-one-out.

    The rows that are left out one by one have chosen the sets: every column has to pay for that.
    """
    risk = np.array(path.losses) @ path.weights / path.weights.sum()
    price = 2.0 * np.array(path.sizes) * np.log(max(path.sizes[0], 2))
    return int(np.argmin(len(path.weights) * np.log(np.maximum(risk, 1e-300)) + price))


def held_out_risk(path: EliminationPath, split: Split, weights: np.ndarray) -> float:
    """Held-out risk at the size that would be chosen."""
    place = path.sizes.index(_cheapest(path, split.losses, weights))
    return float(split.losses[place] @ weights / weights.sum())


def price_of_set(risk: float, n_rows: int, size: int, n_groups: int) -> float:
    """``n log(risk) + 2 log C(d, k)``: the number of sets of a size is the price of having searched them.

    Few of many groups need to be plain to see; beyond half of them, where most count, one more is free and
    the risk alone decides.
    """
    sets = math.comb(n_groups, min(size, n_groups // 2))
    return n_rows * math.log(max(risk, 1e-300)) + 2.0 * math.log(sets)


def _as_good(path: EliminationPath, losses: np.ndarray, weights: np.ndarray, slack: float) -> list[int]:
    """Places on the path whose held-out risk is within ``slack`` paired standard errors of the smallest."""
    compared = paired_comparison(EliminationPath(sizes=path.sizes, losses=list(losses), weights=weights))
    inside = compared["difference"] <= slack * compared["difference_standard_error"]
    return np.flatnonzero(inside).tolist()


def _cheapest(path: EliminationPath, losses: np.ndarray, weights: np.ndarray) -> int:
    """The size to choose; of equally cheap ones the smallest."""
    risks = losses @ weights / weights.sum()
    places = _as_good(path, losses, weights, _SLACK)
    prices = [price_of_set(risks[k], len(weights), path.sizes[k], path.sizes[0]) for k in places[::-1]]
    return int(path.sizes[places[::-1][int(np.argmin(prices))]])


def adaptive_cycle(left: int) -> int:
    """One at a time where it matters, a few at once while there are many."""
    return max(1, left // 8)
