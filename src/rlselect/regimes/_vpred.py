"""Algorithm 28 (RFE_Vpred): elimination over all stages at once by the fitted value of stage 1."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlselect._parallel import run_tasks
from rlselect.kernels._squared_bounds import projected_inverse, squared_solution
from rlselect.predictors._elimination import EliminationPath
from rlselect.regimes._stage_machine import SAFEGUARD, StageSelection
from rlselect.regimes._value import best_feasible

__all__ = ["eliminate_by_value"]

# Candidates of a task: some 50 ms of factorisations.
_PARCEL = 2e8


class _Stage:
    """A stage's kernel under the present features, and what it takes to turn a response into values.

    Parameters
    ----------
    machine : StageMachine
    history, allowed : arrays
        Of the machine's rows.
    """

    def __init__(self, machine: Any, history: np.ndarray, allowed: np.ndarray) -> None:
        self.allowed = allowed
        problem = machine.make_problem()
        self.state = problem.state
        self.ridge = problem.lam * machine.weights.sum() / machine.weights
        self.every = machine.encoder.each_action(history)
        self.turns = self._turns(machine) if machine.kind == "rbf" else None
        self.refresh()

    @property
    def active(self):
        return list(self.state.active)

    def _turns(self, machine):
        """What the Gaussian kernel matrix is multiplied with, entry by entry, when all rows take an action.

        Only the action's own distance changes, so no other column needs to be looked at again.
        """
        taken, codes = machine.X[:, machine.encoder.action], machine.encoder.codes
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


class _Chain:
    """Stages, first to last, through which values are handed down to the first."""

    def __init__(
        self, stages: Sequence[_Stage], rewards: Sequence[np.ndarray], rows: Sequence[np.ndarray],
        discount: float, n_subjects: int,
    ) -> None:  # fmt: skip
        self.stages, self.rewards, self.rows = stages, rewards, rows
        self.discount, self.n_subjects = discount, n_subjects

    def response(self, t: int, values: np.ndarray | None) -> np.ndarray:
        """Response of a stage, given the values of the next one's rows (None at the end)."""
        if values is None:
            return self.rewards[t]
        future = np.zeros(self.n_subjects)
        future[self.rows[t + 1]] = values
        return self.rewards[t] + self.discount * future[self.rows[t]]

    def first_value(self, t: int, values: np.ndarray) -> float:
        """Fitted value of stage 1, given the values of some stage's rows."""
        for s in reversed(range(t)):
            values = self.stages[s].values(self.response(s, values))
        return float(values.mean())

    def up_to(self, t: int) -> "_Chain":
        """What the values of a stage go through."""
        return _Chain(self.stages[: t + 1], self.rewards, self.rows, self.discount, self.n_subjects)

    def parcels(self) -> Iterator[tuple["_Chain", np.ndarray, list[int]]]:
        """Candidates to leave: a stage's chain and response, and some groups of it."""
        size = max(1, int(_PARCEL / max(len(rows) for rows in self.rows) ** 3))
        values = None
        for t in reversed(range(len(self.stages))):
            y, active = self.response(t, values), self.stages[t].active
            if len(active) > 1:
                for start in range(0, len(active), size):
                    yield self.up_to(t), y, active[start : start + size]
            values = self.stages[t].values(y)


def _values_without(chain: _Chain, y: np.ndarray, groups: Sequence[int]) -> list[tuple[float, int, int]]:
    """Fitted stage-1 value without each of some groups of the chain's last stage: (value, stage, group)."""
    t, stage = len(chain.stages) - 1, chain.stages[-1]
    found = []
    for group in groups:
        rest = [g for g in stage.active if g != group]
        values = stage.values(y, rest, stage.state.without(group))
        found.append((chain.first_value(t, values), t, group))
    return found


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
    chain = _Chain(stages, rewards, rows, discount, n_subjects)
    last = len(stages) - 1
    order: list[tuple[int, int]] = []
    track = [chain.first_value(last, stages[last].values(chain.response(last, None)))]
    while any(len(stage.active) > 1 for stage in stages):
        judged = [one for parcel in run_tasks(_values_without, chain.parcels()) for one in parcel]
        # Among equal ones the earliest stage, and its first column, leaves.
        found, t, group = min(judged, key=lambda one: (-one[0], one[1]))
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
