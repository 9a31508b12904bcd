"""Algorithm 28 (RFE_Vpred): elimination over all stages at once by the fitted value of stage 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlselect.predictors._elimination import EliminationPath
from rlselect.predictors._kernel_machine import solve_machine
from rlselect.predictors._losses import SquaredLoss
from rlselect.regimes._stage_machine import SAFEGUARD, StageSelection
from rlselect.regimes._value import best_feasible

__all__ = ["eliminate_by_value"]


class _Stage:
    """A stage's kernel under the present features, and what it takes to turn a response into values.

    Parameters
    ----------
    machine : StageMachine
    history, allowed : arrays
        Of the machine's rows.
    place : (n,) int array
        Row of the machine in the stage before (the same subject).
    """

    def __init__(self, machine: Any, history: np.ndarray, allowed: np.ndarray) -> None:
        self.machine, self.allowed = machine, allowed
        problem = machine.make_problem()
        self.lam, self.state = problem.lam, problem.state
        self.every = machine.encoder.each_action(history)
        self.refresh()

    @property
    def active(self):
        return list(self.state.active)

    def smoother(self, groups: Sequence[int], gram: np.ndarray) -> np.ndarray:
        """Q-values under each action as a linear map of the response: (K, n, n)."""
        n = len(self.machine.y)
        solution = solve_machine(gram, np.eye(n), self.machine.weights, self.lam, SquaredLoss())
        return np.stack(
            [self.state.cross(X, groups) @ solution.coefficients + solution.intercept for X in self.every]
        )

    def refresh(self) -> None:
        self.map = self.smoother(self.active, self.state.gram())

    def values(self, y: np.ndarray, groups: Sequence[int] | None = None, gram: Any = None) -> np.ndarray:
        """Largest Q-value of each row, with the present features or with others."""
        if groups is None:
            q = (self.map @ y).T
        else:
            fitted = solve_machine(gram, y[:, None], self.machine.weights, self.lam, SquaredLoss())
            crosses = (self.state.cross(X, groups) for X in self.every)
            q = np.column_stack([k @ fitted.coefficients[:, 0] + fitted.intercept[0] for k in crosses])
        return q[np.arange(len(q)), best_feasible(q, self.allowed)]


def eliminate_by_value(
    machines: Sequence[Any], histories: Sequence[np.ndarray], allowed: Sequence[np.ndarray],
    rewards: Sequence[np.ndarray], rows: Sequence[np.ndarray], discount: float, n_subjects: int,
) -> list[StageSelection]:  # fmt: skip
    """Remove the history column, of whatever stage, whose absence leaves the largest fitted stage-1 value.

    Parameters
    ----------
    machines, histories, allowed, rewards, rows : sequences, one entry a stage
        Rewards are signed and of the machine's rows; ``rows`` are subject numbers.
    discount : float
    n_subjects : int

    Returns
    -------
    list of StageSelection

    Notes
    -----
    The set with the largest value on the way is kept, with the 5 % safeguard at each stage; every stage keeps
    one column at least. Cost: one factorisation a remaining column and step, O((sum of columns)^2 n^3).
    """
    stages = [_Stage(m, h, a) for m, h, a in zip(machines, histories, allowed, strict=True)]

    def value(changed: int | None = None, groups: Any = None, gram: Any = None) -> float:
        future = np.zeros(n_subjects)
        for t in reversed(range(len(stages))):
            y = rewards[t] + discount * future[rows[t]]
            future = np.zeros(n_subjects)
            mine = (groups, gram) if t == changed else (None, None)
            future[rows[t]] = stages[t].values(y, *mine)
        return float(future[rows[0]].mean())

    order: list[tuple[int, int]] = []
    track = [value()]
    while any(len(stage.active) > 1 for stage in stages):
        best = (-np.inf, 0, 0)
        for t, stage in enumerate(stages):
            if len(stage.active) < 2:
                continue
            for group in stage.active:
                rest = [g for g in stage.active if g != group]
                found = value(t, rest, stage.state.without(group))
                if found > best[0]:
                    best = (found, t, group)
        found, t, group = best
        stages[t].state.drop([group])
        stages[t].refresh()
        order.append((t, group))
        track.append(found)
    stop = int(np.argmax(track[1:])) + 1 if len(track) > 1 else 0
    return [_stage_selection(t, machines[t], order, stop, track) for t in range(len(stages))]


def _stage_selection(t, machine, order, stop, track):
    gone = [group for stage, group in order if stage == t]
    removed = [group for stage, group in order[:stop] if stage == t]
    n_groups = len(machine.encoder.groups)
    extra = int(SAFEGUARD * n_groups)
    back = removed[::-1][:extra]
    kept = sorted(set(range(n_groups)) - set(removed) | set(back))
    left = [group for group in range(n_groups) if group not in gone]
    path = EliminationPath(
        sizes=[n_groups - k for k in range(len(gone) + 1)],
        objective=[track[0], *[track[k + 1] for k, (stage, _) in enumerate(order) if stage == t]],
        order=[*gone, *left],
    )
    return StageSelection(kept, path, f"largest fitted stage-1 value, and {extra} more as a safeguard")
