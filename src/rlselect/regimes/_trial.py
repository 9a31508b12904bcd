"""Multi-stage trials: histories that accumulate, actions, rewards and who was there."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlselect.regimes._propensity import (
    OverlapReport,
    remaining_probabilities,
    report_overlap,
    stage_probabilities,
)
from rlselect.regimes._stages import HistoryColumn, StageData, check_stage, readable_history
from rlselect.regimes._tables import Covariate, Table, plain_labels

__all__ = ["TrialData"]

_STAGE_KEYS = {"history", "action", "reward", "feasible", "propensity"}
_LEAVING = ("ends", "weights")
_NAMED_PROPENSITIES = ("estimate", "randomized")
# sizes beyond which squares of squares, those of rewards also in single precision, get lost
_REWARD_SIZE, _HISTORY_SIZE = 1e25, 1e75


class TrialData:
    """A trial of one or more stages; build it with :meth:`from_wide` or :meth:`from_long`.

    The history of a stage is everything seen before its action: all covariates so far, and the actions and
    rewards of the stages before.

    Attributes
    ----------
    stages : list of StageData
    n_subjects, n_stages : int
    leaving : {"ends", "weights"}

    Examples
    --------
    >>> from rlselect.regimes import TrialData
    >>> table = {"x": [0.1, 0.5, 0.9, 0.3], "A1": ["drug", "none", "drug", "none"], "R1": [1, 0, 2, 0]}
    >>> trial = TrialData.from_wide(table, stages=[dict(history=["x"], action="A1", reward="R1")])
    >>> trial
    TrialData(4 subjects, 1 stage: 1 history column, actions drug/none)
    """

    def __init__(self, stages: list[StageData], leaving: str) -> None:
        self.stages = stages
        self.leaving = leaving
        self.n_subjects = len(stages[0].action)
        self.n_stages = len(stages)
        self._chances: dict[int, np.ndarray] = {}

    def __repr__(self) -> str:
        parts = []
        for stage in self.stages:
            width = len(stage.columns)
            columns = f"{width} history column{'s' * (width != 1)}"
            parts.append(f"{columns}, actions {'/'.join(map(str, stage.labels))}")
        plural = "s" * (self.n_stages != 1)
        return f"TrialData({self.n_subjects} subjects, {self.n_stages} stage{plural}: {'; '.join(parts)})"

    @classmethod
    def from_wide(cls, frame: Any, stages: Sequence[Mapping], *, leaving: str = "ends") -> "TrialData":
        """One row a subject.

        Parameters
        ----------
        frame : data frame, Arrow table or dict of columns
        stages : sequence of dict
            ``history`` (new covariates of the stage, possibly none; text and categories are kept or left out
            as a whole), ``action``, ``reward`` and, if wanted,

            - ``feasible``: the actions allowed at the stage, or a callable ``feasible(history) -> (n, K)``
              booleans with the history as a dict of columns and the actions in sorted order;
            - ``propensity``: "estimate" (default: a logistic model on the history), "randomized" (the
              frequencies of the stage), a mapping from action to probability, or the name of a column with
              the probability of the action that was taken.
        leaving : {"ends", "weights"}, default="ends"
            What a missing action means: "ends", the subject's trial was over and nothing more is earned;
            "weights", the subject was lost, and those who stayed stand for it, weighted by the inverse
            probability of remaining.
        """
        table = Table(frame)
        if isinstance(stages, (str, Mapping)) or not isinstance(stages, Sequence) or not len(stages):
            raise ValueError(f"stages must be a non-empty list with one dict a stage, got {stages!r}")
        parts = []
        for number, stage in enumerate(stages, start=1):
            if not isinstance(stage, Mapping):
                raise ValueError(f"stage {number} is {stage!r}; give a dict with history, action and reward")
            unknown, absent = set(stage) - _STAGE_KEYS, {"action", "reward"} - set(stage)
            if unknown or absent:
                raise ValueError(
                    f"stage {number} has the keys {sorted(stage)}; 'history', 'action' and 'reward' "
                    "are needed, "
                    "'feasible' and 'propensity' are optional"
                )
            names = stage.get("history") or []
            names = [names] if isinstance(names, str) else names
            propensity = stage.get("propensity", "estimate")
            if isinstance(propensity, str) and propensity not in _NAMED_PROPENSITIES:
                propensity = table.number(propensity, f"stage {number} propensity")
            role = f"stage {number}"
            parts.append(
                {
                    "names": list(names),
                    "covariates": [table.covariate(name, f"{role} history") for name in names],
                    "action": table.labels(stage["action"], f"{role} action"),
                    "reward": table.number(stage["reward"], f"{role} reward"),
                    "feasible": stage.get("feasible"),
                    "propensity": propensity,
                    "name": (stage["action"], stage["reward"]),
                }
            )
        return cls(_accumulate(parts), _check_leaving(leaving))

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        id: str,
        stage: str,
        action: str,
        reward: str,
        covariates: Sequence[str],
        feasible: Mapping[int, Any] | None = None,
        propensity: Any = "estimate",
        leaving: str = "ends",
    ) -> "TrialData":
        """One row a subject and stage; stages are taken in sorted order and columns are called ``x_1, x_2``.

        Parameters
        ----------
        frame : data frame, Arrow table or dict of columns
        id, stage, action, reward : str
            Names of columns.
        covariates : sequence of str
            Names of covariate columns, of numbers or of text and categories; one that is missing for everyone
            at a stage is not part of it.
        feasible : mapping, optional
            Stage (its value in the table) to what ``from_wide`` takes.
        propensity, leaving
            As in :meth:`from_wide`; a column name holds for all stages.
        """
        table = Table(frame)
        covariates = [covariates] if isinstance(covariates, str) else covariates
        ids, stages = table.labels(id, "id"), table.labels(stage, "stage")
        for name, labels in ((id, ids), (stage, stages)):
            blank = [row for row, label in enumerate(labels) if label is None]
            if blank:
                raise ValueError(
                    f"{name!r} is missing in {len(blank)} row(s), the first is row {blank[0]}; every row "
                    "needs a subject and a stage"
                )
        subjects = {subject: row for row, subject in enumerate(dict.fromkeys(ids))}
        place = np.array([subjects[subject] for subject in ids])
        keys = sorted(set(stages))
        strange = [key for key in feasible or {} if key not in keys]
        if strange:
            raise ValueError(f"feasible names the stage(s) {strange}; the stages in {stage!r} are {keys}")
        if len({*zip(place.tolist(), stages.tolist(), strict=True)}) < len(place):
            raise ValueError(f"some subject has two rows with the same {stage!r}; keep one row a stage")
        actions, rewards = table.labels(action, "action"), table.number(reward, "reward")
        chance = propensity
        if isinstance(propensity, str) and propensity not in _NAMED_PROPENSITIES:
            chance = table.number(propensity, "propensity")
        known = {name: table.covariate(name, "covariate") for name in covariates}
        parts = []
        for key in keys:
            rows = np.flatnonzero(stages == key)

            def spread(values, rows=rows):
                missing = None if values.dtype == object else np.nan
                wide = np.full(len(subjects), missing, dtype=values.dtype)
                wide[place[rows]] = values[rows]
                return wide

            wide = {name: Covariate(spread(c.values), c.labels) for name, c in known.items()}
            wide = {name: c for name, c in wide.items() if not np.isnan(c.values).all()}
            parts.append(
                {
                    "names": [f"{name}_{key}" for name in wide],
                    "covariates": list(wide.values()),
                    "action": spread(actions),
                    "reward": spread(rewards),
                    "feasible": (feasible or {}).get(key),
                    "propensity": spread(chance) if isinstance(chance, np.ndarray) else chance,
                    "name": (f"{action}_{key}", f"{reward}_{key}"),
                }
            )
        return cls(_accumulate(parts), _check_leaving(leaving))

    def history(self, stage: int) -> dict[str, np.ndarray]:
        """History of the subjects present at a stage (counted from 1), as a dict of columns."""
        data = self.stage(stage)
        return readable_history(data.columns, data.history[data.present])

    def stage(self, number: int) -> StageData:
        """One stage, counted from 1."""
        return self.stages[check_stage(number, self.n_stages) - 1]

    def returns(self, discount: float = 1.0) -> np.ndarray:
        """Sum of the rewards of each subject, those of stage t times ``discount ** (t - 1)``."""
        return np.sum([discount**t * stage.reward for t, stage in enumerate(self.stages)], axis=0)

    def action_probabilities(self, stage: int) -> np.ndarray:
        """Probability of each action (columns) for each subject present at a stage, known or estimated."""
        if stage not in self._chances:
            self._chances[stage] = stage_probabilities(self.stage(stage))
        return self._chances[stage]

    def taken_probabilities(self, stage: int) -> np.ndarray:
        """Probability of the action that each subject took at a stage; 1 for absent ones."""
        data = self.stage(stage)
        chances = np.ones(self.n_subjects)
        rows = np.flatnonzero(data.present)
        chances[rows] = self.action_probabilities(stage)[np.arange(len(rows)), data.action[rows]]
        return chances

    def remaining_probabilities(self, stage: int) -> np.ndarray:
        """Probability of each subject of still being there after a stage; 1 unless ``leaving="weights"``."""
        data = self.stage(stage)
        if self.leaving == "ends" or stage == self.n_stages:
            return np.ones(self.n_subjects)
        return remaining_probabilities(data, self.stage(stage + 1).present)

    def overlap(self) -> list[OverlapReport]:
        """Overlap diagnostics of each stage; see :class:`~rlselect.regimes.OverlapReport`."""
        return [self._overlap(number) for number in range(1, self.n_stages + 1)]

    def _overlap(self, number: int) -> OverlapReport:
        stage = self.stage(number)
        stayed = stage.present if number == self.n_stages else self.stage(number + 1).present
        remaining = self.remaining_probabilities(number)[stayed]
        return report_overlap(number, stage, self.taken_probabilities(number)[stage.present], remaining)


def _check_leaving(leaving: str) -> str:
    if leaving not in _LEAVING:
        raise ValueError(f"leaving={leaving!r} is not known; use one of {list(_LEAVING)}")
    return leaving


def _accumulate(parts: list[dict]) -> list[StageData]:
    """Stages with their full histories, each checked on the way."""
    columns: list[HistoryColumn] = []
    blocks: list[np.ndarray] = []
    stages: list[StageData] = []
    earlier = np.ones(len(parts[0]["action"]), dtype=bool)
    for number, part in enumerate(parts, start=1):
        present = np.array([value is not None for value in part["action"]])
        _check_presence(present, earlier, number)
        new = zip(part["names"], part["covariates"], strict=True)
        columns = [*columns, *(_covariate_column(name, covariate.labels) for name, covariate in new)]
        blocks = [*blocks, *(covariate.values for covariate in part["covariates"])]
        history = np.column_stack(blocks) if blocks else np.empty((len(present), 0))
        history = np.where(present[:, None], history, np.nan)
        _check_finite(columns, history, part["reward"], present, number, part["name"][1])
        labels, allowed = _labels(part, present, number)
        position = {label: place for place, label in enumerate(labels)}
        action = np.array([position.get(value, -1) for value in part["action"]])
        reward = np.where(present, part["reward"], 0.0)
        chance = _check_propensity(part["propensity"], labels, present, number)
        stage = StageData(
            columns=columns,
            labels=labels,
            feasible=allowed,
            history=history,
            action=action,
            reward=reward,
            present=present,
            propensity=chance,
        )
        _check_feasible(stage, number)
        stages.append(stage)
        past = [HistoryColumn(part["name"][0], "action", labels), HistoryColumn(part["name"][1], "reward")]
        columns = [*columns, *past]
        blocks = [*blocks, np.where(present, action, np.nan), np.where(present, reward, np.nan)]
        earlier = present
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the columns {twice} are used twice; histories accumulate, list each column once")
    return stages


def _covariate_column(name: str, labels: tuple) -> HistoryColumn:
    return HistoryColumn(name, "category" if labels else "covariate", labels)


def _check_presence(present, earlier, number):
    if present.sum() < 2:
        raise ValueError(
            f"stage {number} has {int(present.sum())} subject(s) with an action; at least 2 are "
            "needed to learn"
        )
    back = np.flatnonzero(present & ~earlier)
    if len(back):
        raise ValueError(
            f"{len(back)} subject(s), the first in row {back[0]}, have an action at stage {number} "
            "but none at "
            f"stage {number - 1}; fill in the missing action or remove the later one"
        )


def _check_finite(columns, history, reward, present, number, name):
    bad = np.flatnonzero(~np.isfinite(reward) & present)
    if len(bad):
        raise ValueError(
            f"the reward {name!r} of stage {number} is NaN or infinite for {len(bad)} subject(s) who took an "
            f"action, the first in row {bad[0]}; fill it in, or remove the action if the subject had left"
        )
    _check_size(reward[present], _REWARD_SIZE, f"the reward {name!r} of stage {number}")
    for column, values in zip(columns, history.T, strict=True):
        bad = np.flatnonzero(~np.isfinite(values) & present)
        if len(bad):
            what, fix = "NaN or infinite", "impute it (and add a 0/1 column for missingness)"
            if column.labels:
                what, fix = "missing", "give those a category of their own, such as 'unknown'"
            raise ValueError(
                f"the history column {column.name!r} is {what} for {len(bad)} subject(s) present at stage "
                f"{number}, the first in row {bad[0]}; {fix}"
            )
        _check_size(values[present], _HISTORY_SIZE, f"the history column {column.name!r}")


def _check_size(values, most, what):
    """Refuse numbers whose squares would not be numbers any more."""
    largest = np.abs(values).max(initial=0.0)
    if largest > most or 0.0 < largest < 1.0 / most:
        raise ValueError(f"{what} is as large as {largest:.3g}; use another unit")


def _labels(part, present, number):
    """Actions of a stage in sorted order, and its feasibility as a callable (None when all are allowed)."""
    observed = set(part["action"][present])
    feasible = part["feasible"]
    wanted = observed if feasible is None or callable(feasible) else set(plain_labels(list(feasible)))
    never = sorted(wanted - observed, key=str)
    if never:
        raise ValueError(
            f"action(s) {never} are feasible at stage {number} but were never observed there; their outcome "
            "cannot be learnt. Remove them from `feasible`"
        )
    strange = sorted(observed - wanted, key=str)
    if strange:
        raise ValueError(
            f"action(s) {strange} were observed at stage {number} but are not in feasible={list(feasible)}; "
            "add them or recode the column"
        )
    if len(observed) < 2:
        raise ValueError(
            f"stage {number} has only the action {next(iter(observed))!r}; at least two different "
            "ones must be "
            "observed for there to be a decision. Leave the stage out and add its reward to its neighbour's"
        )
    try:
        labels = tuple(sorted(observed))
    except TypeError:
        labels = tuple(sorted(observed, key=str))
    return labels, feasible if callable(feasible) else None


def _check_propensity(propensity, labels, present, number):
    if isinstance(propensity, Mapping):
        keys = set(plain_labels(list(propensity)))
        values = np.array([propensity[label] for label in labels if label in propensity], dtype=float)
        if keys != set(labels) or not (values > 0).all() or abs(values.sum() - 1.0) > 1e-6:
            raise ValueError(
                f"propensity={dict(propensity)} of stage {number} must give each of {list(labels)} a "
                "positive "
                "probability, adding up to 1"
            )
    elif isinstance(propensity, np.ndarray):
        seen = propensity[present]
        if not (np.isfinite(seen).all() and (seen > 0).all() and (seen <= 1).all()):
            raise ValueError(
                f"the propensity column of stage {number} must hold the probability of the action that was "
                "taken, in (0, 1], for everyone present"
            )
    elif propensity not in _NAMED_PROPENSITIES:
        raise ValueError(
            f"propensity={propensity!r} of stage {number} is not known; use 'estimate', 'randomized', "
            "a mapping "
            "from action to probability or the name of a column"
        )
    return propensity


def _check_feasible(stage, number):
    rows = np.flatnonzero(stage.present)
    allowed = stage.allowed(stage.history[rows])
    broken = rows[~allowed[np.arange(len(rows)), stage.action[rows]]]
    if len(broken):
        raise ValueError(
            f"{len(broken)} subject(s), the first in row {broken[0]}, took an action at stage {number} that "
            "`feasible` says they could not; correct one of the two"
        )
