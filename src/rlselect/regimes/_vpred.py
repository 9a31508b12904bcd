"""Algorithm 28 (RFE_Vpred): elimination over all stages at once by the fitted value of stage 1."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlselect.kernels._squared_bounds import projected_inverse, squared_solution
from rlselect.predictors._elimination import EliminationPath
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
    """

    def __init__(self, machine: Any, history: np.ndarray, allowed: np.ndarray) -> None:
        self.machine, self.allowed = machine, allowed
        problem = machine.make_problem()
        self.state = problem.state
        self.ridge = problem.lam * machine.weights.sum() / machine.weights
        self.every = machine.encoder.each_action(history)
        self.turns = self._turns() if machine.kind == "rbf" else None
        self.refresh()

    @property
    def active(self):
        return list(self.state.active)

    def _turns(self):
        """What the Gaussian kernel matrix is multiplied with, entry by entry, when all rows take an action.

        Only the action's own distance changes, so no other column needs to be looked at again.
        """
        taken = self.machine.X[:, self.machine.encoder.action]
        codes = self.machine.encoder.codes
        there = np.square(codes[:, None] - taken).sum(axis=-1)
        own = np.square(taken[:, None] - taken).sum(axis=-1)
        return np.exp((own - there[:, None]) / self.state.bandwidth**2)

    def crosses(self, groups: Sequence[int], gram: np.ndarray) -> Iterator[np.ndarray]:
        """Kernel between the rows under each action and the rows as they were, given the latter's matrix."""
        if self.turns is None:
            return (self.state.cross(X, groups) for X in self.every)
        return (gram * turn for turn in self.turns)

    def refresh(self) -> None:
        """Q-values under each action as a linear map of the response: (K, n, n)."""
        gram = self.state.gram()
        inverse = projected_inverse(gram, self.ridge, True)
        intercept = (np.eye(len(gram)) - gram @ inverse - self.ridge[:, None] * inverse).mean(axis=0)
        self.map = np.stack([cross @ inverse + intercept for cross in self.crosses(self.active, gram)])

    def values(self, y: np.ndarray, groups: Sequence[int] | None = None, gram: Any = None) -> np.ndarray:
        """Largest Q-value of each row, with the present features or with others."""
        if groups is None:
            q = (self.map @ y).T
        else:
            coefficients, intercept = squared_solution(gram, y, self.ridge, True)
            q = np.column_stack([cross @ coefficients + intercept for cross in self.crosses(groups, gram)])
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
