"""Elimination by fitted values: of stage 1 over all stages (Algorithm 28), or of each stage (C.1)."""

from collections.abc import Iterator, Sequence

import numpy as np

from rlselect._clock import OutOfTime
from rlselect._parallel import run_tasks
from rlselect.machines import EliminationPath
from rlselect.regimes._evaluation import Evaluation
from rlselect.regimes._selection import StageSelection
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._value_stages import GaussianStage, ValueStage

__all__ = ["eliminate_by_stage_value", "eliminate_by_value", "make_stage"]

# Candidates of a task: some 50 ms of factorisations.
_PARCEL = 2e8
# values that differ by this share are equal
_ROUNDING = 1e-9


class _Chain:
    """Stages, first to last, through which values are handed down to the first.

    Parameters
    ----------
    evaluation : Evaluation
    machines : sequence of StageMachine
        On the full histories, one per stage.
    device : str
        Where Gaussian machines are solved, see `make_stage`.
    """

    def __init__(self, evaluation: Evaluation, machines: Sequence[StageMachine], device: str) -> None:
        self.discount = evaluation.discount
        self.rows = [machine.subjects for machine in machines]
        self.stages: list[ValueStage] = []
        self.rewards: list[np.ndarray] = []
        for stage, machine in zip(evaluation.trial.stages, machines, strict=True):
            history = stage.history[machine.subjects]
            self.stages.append(make_stage(machine, history, stage.allowed(history), device))
            self.rewards.append(evaluation.sign * stage.reward[machine.subjects])
        self.outcomes = evaluation.outcomes()

    def responses(self, t: int, values: np.ndarray | None) -> np.ndarray:
        """Responses of a stage, given the values of the next one's rows (None at the end): columns."""
        if values is None:
            return self.rewards[t][:, None]
        future = np.repeat(self.outcomes[t + 1][:, None], values.shape[1], axis=1)
        future[self.rows[t + 1]] = values
        return self.rewards[t][:, None] + self.discount * future[self.rows[t]]

    def first_values(self, t: int, values: np.ndarray) -> np.ndarray:
        """Fitted value of stage 1 for each column of values of some stage's rows."""
        for s in reversed(range(t)):
            values = self.stages[s].values(self.responses(s, values))
        return values.mean(axis=0)

    def parcels(self) -> Iterator[tuple[int, np.ndarray, list[int]]]:
        """Candidates to leave: a stage's number and response, and some groups of it."""
        size = max(1, int(_PARCEL / max(len(rows) for rows in self.rows) ** 3))
        values = None
        for t in reversed(range(len(self.stages))):
            y, active = self.responses(t, values), self.stages[t].active
            if len(active) > 1:
                step = size if self.stages[t].travels else len(active)
                for start in range(0, len(active), step):
                    yield t, y[:, 0], active[start : start + step]
            values = self.stages[t].values(y)

    def judge(self) -> list[tuple[float, int, int]]:
        """Fitted stage-1 value without each feature: (value, stage, group)."""
        parcels = list(self.parcels())
        tasks = [(self.stages[t], y, groups) for t, y, groups in parcels]
        if all(stage.travels for stage in self.stages):
            parts = run_tasks(_values_without, tasks)
        else:
            parts = [_values_without(*task) for task in tasks]
        found = []
        for t in dict.fromkeys(t for t, _, _ in parcels):
            mine = [place for place, parcel in enumerate(parcels) if parcel[0] == t]
            groups = [group for place in mine for group in parcels[place][2]]
            # All candidates of a stage pass through the earlier ones at once, whatever their parcels were.
            values = self.first_values(t, np.hstack([parts[place] for place in mine]))
            found += [(float(value), t, group) for value, group in zip(values, groups, strict=True)]
        return found


def _values_without(stage: ValueStage, y: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Values of a stage without each of some groups, as a task."""
    return stage.values_without(y, groups)


def eliminate_by_value(
    evaluation: Evaluation, machines: Sequence[StageMachine], safeguard: float, device: str = "cpu"
) -> list[StageSelection]:
    """Remove the history column, of whatever stage, whose absence leaves the largest fitted stage-1 value.

    Parameters
    ----------
    evaluation : Evaluation
    machines : sequence of StageMachine
        On the full histories, one per stage.
    safeguard : float
        Share of the columns of a stage that is kept in addition.
    device : str
        Where Gaussian machines are solved, see `make_stage`.

    Returns
    -------
    list of StageSelection

    Notes
    -----
    The set with the largest value on the way is kept, with the safeguard at each stage; every stage keeps one
    column at least. Cost: one factorisation per remaining column and step, O((sum of columns)^2 n^3).
    """
    chain = _Chain(evaluation, machines, device)
    stages, last = chain.stages, len(chain.stages) - 1
    order: list[tuple[int, int]] = []
    track = [float(chain.first_values(last, stages[last].values(chain.responses(last, None)))[0])]
    while any(len(stage.active) > 1 for stage in stages):
        try:
            found, t, group = _leaves(chain.judge())
        except OutOfTime:
            break
        stages[t].drop(group)
        order.append((t, group))
        track.append(found)
    stop = int(np.argmax(track[1:])) + 1 if len(track) > 1 else 0
    sizes = [len(machine.encoder.groups) for machine in machines]
    return [_stage_selection(t, size, safeguard, order, stop, track, 1) for t, size in enumerate(sizes)]


def eliminate_by_stage_value(stage: ValueStage, machine: StageMachine, safeguard: float) -> StageSelection:
    """Remove, one by one, the column of a stage whose absence leaves the largest fitted value of the stage.

    Parameters
    ----------
    stage : ValueStage
    machine : StageMachine
        On the full history; its response is that of the stage.
    safeguard : float
        Share of the columns that is kept beyond the set with the largest value on the way.
    """
    track = [float(stage.values(machine.y[:, None]).mean())]
    order: list[tuple[int, int]] = []
    while len(stage.active) > 1:
        try:
            values = stage.values_without(machine.y, stage.active).mean(axis=0).tolist()
        except OutOfTime:
            break
        found, _, group = _leaves([(value, 0, g) for value, g in zip(values, stage.active, strict=True)])
        order.append((0, group))
        track.append(found)
        stage.drop(group)
    stop = int(np.argmax(track[1:])) + 1 if len(track) > 1 else 0
    return _stage_selection(0, len(machine.encoder.groups), safeguard, order, stop, track, None)


def _leaves(found: list[tuple[float, int, int]]) -> tuple[float, int, int]:
    """What leaves the largest value, stage and group; of equal ones the earliest stage's first column.

    Equal but for rounding, which differs from device to device.
    """
    most = max(value for value, _, _ in found)
    return min((one for one in found if one[0] >= most - _ROUNDING * abs(most)), key=lambda one: one[1:])


def _stage_selection(
    t: int,
    n_groups: int,
    safeguard: float,
    order: list[tuple[int, int]],
    stop: int,
    track: list[float],
    judged: int | None,
) -> StageSelection:
    """A stage's part of what left (stage and group, in order) and of the values on the way."""
    gone = [group for stage, group in order if stage == t]
    removed = [group for stage, group in order[:stop] if stage == t]
    extra = int(safeguard * n_groups)
    back = removed[::-1][:extra]
    kept = sorted(set(range(n_groups)) - set(removed) | set(back))
    left = [group for group in range(n_groups) if group not in gone]
    path = EliminationPath(
        sizes=[n_groups - k for k in range(len(gone) + 1)],
        objective=[track[0], *[track[k + 1] for k, (stage, _) in enumerate(order) if stage == t]],
        order=[*gone, *left],
    )
    value = "value of the stage" if judged is None else f"stage-{judged} value"
    return StageSelection(kept, path, f"largest fitted {value}, and {extra} more as a safeguard")


def make_stage(
    machine: StageMachine, history: np.ndarray, allowed: np.ndarray, device: str = "cpu"
) -> ValueStage:
    """The stage of a machine; Gaussian ones on whatever device."""
    # what another action changes is known of labels, which are all equally far from each other
    if machine.kind != "rbf" or len(machine.encoder.codes) != machine.encoder.codes.shape[1] + 1:
        return ValueStage(machine, history, allowed)
    if device == "cpu":
        return GaussianStage(machine, history, allowed)
    from rlselect.regimes._torch_value_stages import TorchStage

    return TorchStage(machine, history, allowed, device)
