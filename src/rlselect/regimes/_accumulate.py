"""From stages as they were read to stages with their histories, each checked on the way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlselect.data import Covariate, read_labels
from rlselect.regimes._censoring import censored_at, cut_times
from rlselect.regimes._dose import ACTION_TYPES, DoseRange, learn_doses
from rlselect.regimes._gaps import MissingHistory, fill_gaps
from rlselect.regimes._stages import HistoryColumn, StageData

__all__ = ["StageReading", "accumulate", "cut_at"]

# sizes beyond which squares of squares, those of rewards also in single precision, get lost
_REWARD_SIZE, _HISTORY_SIZE = 1e25, 1e75
# more actions than this need so many subjects each, and are not numbers
_MANY_ACTIONS, _FOR_EACH_ACTION = 10, 5


class StageReading(NamedTuple):
    """One stage as it was read, one row per subject.

    Attributes
    ----------
    covariates : dict of Covariate
        New ones of the stage, by name.
    action : (n,) object array
        Labels; None for absent subjects.
    reward : (n,) array or None
        NaN where there is none; None where the stage has no reward.
    censored : (n,) bool array or None
        Whose reward is a lower bound of a time; None where nobody's is.
    action_type : {"label", "dose"}
    feasible : sequence of labels, callable or None
        Of doses the smallest and the largest that may be recommended.
    propensity : {"estimate", "randomized"}, ratio such as "2:1", mapping or (n,) array
    name, action_name, reward_name : str
        Of the stage, and of its action and reward in later histories.
    """

    covariates: dict[str, Covariate]
    action: np.ndarray
    reward: np.ndarray | None
    censored: np.ndarray | None
    action_type: str
    feasible: Any
    propensity: Any
    name: str
    action_name: str
    reward_name: str


def cut_at(rows: Sequence[StageReading], horizon: float | None) -> list[StageReading]:
    """Stages whose rewards are times, of which those beyond a horizon do not count."""
    if all(new.censored is None for new in rows):
        if horizon is not None:
            raise ValueError(f"horizon={horizon!r} was given, but no stage has a 'censored' column.")
        return list(rows)
    n = len(rows[0].action)
    times = [np.full(n, np.nan) if new.reward is None else new.reward for new in rows]
    flags = [np.zeros(n, dtype=bool) if new.censored is None else new.censored for new in rows]
    times, flags = cut_times(times, flags, horizon)
    return [
        new._replace(reward=None if new.reward is None else time, censored=flag)
        for new, time, flag in zip(rows, times, flags, strict=True)
    ]


def accumulate(
    rows: Sequence[StageReading], leaving: str, missing: MissingHistory = "error"
) -> list[StageData]:
    """Stages with their full histories, each checked on the way."""
    columns: list[HistoryColumn] = []
    blocks: list[np.ndarray] = []
    stages: list[StageData] = []
    attends = [np.array([value is not None for value in new.action]) for new in rows]
    earlier = np.ones(len(attends[0]), dtype=bool)
    done = ~earlier
    censored = censored_at([done if new.censored is None else new.censored for new in rows], attends)
    for number, (new, present) in enumerate(zip(rows, attends, strict=True), start=1):
        _check_presence(present, earlier, number)
        stay = present & attends[number] if number < len(rows) else np.zeros_like(present)
        # where nobody who goes on has a reward, it is paid at the end
        at_end = new.reward is None or bool(stay.any() and np.isnan(new.reward[stay]).all())
        reward = _read_reward(new, present, at_end, number, len(rows))
        for name, covariate in new.covariates.items():
            for column, values in fill_gaps(name, covariate, present, missing):
                columns = [*columns, column]
                blocks.append(values)
        history = np.column_stack(blocks) if blocks else np.empty((len(present), 0))
        history = np.where(present[:, None], history, np.nan)
        _check_finite(columns, history, present, number)
        labels, feasible, doses, dose = _read_actions(new, columns, history, present, number)
        if doses is None:
            position = {label: place for place, label in enumerate(labels)}
            action = np.array([position.get(value, -1) for value in new.action])
            chances = _read_propensity(new.propensity, labels, present, number)
        else:
            action = np.full(len(present), -1)
            action[present] = doses.place(dose[present])
            chances = _read_density(new.propensity, present, number)
        known = present | done | _has_reward(rows[number - 1 :])
        paid = np.nan_to_num(reward, nan=0.0)
        frame = (columns, labels, feasible, new.name, doses)
        stage = StageData(*frame, history, action, dose, paid, present, known, censored[number - 1], chances)
        stages.append(stage)
        if doses is None:
            _check_feasible(stage, number)
            columns = [*columns, HistoryColumn(new.action_name, "action", labels)]
            blocks.append(np.where(present, action, np.nan))
        else:
            columns = [*columns, HistoryColumn(new.action_name, "covariate")]
            blocks.append(dose)
        if not at_end:
            columns = [*columns, HistoryColumn(new.reward_name, "reward")]
            blocks.append(np.where(present, reward, np.nan))
        else:
            done = done | (present & ~stay & ~np.isnan(reward))
        earlier = present
    _check_outcomes(rows, leaving)
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the columns {twice} are used twice; histories accumulate, list each column once")
    return stages


def _has_reward(rows: Sequence[StageReading]) -> np.ndarray:
    """Who has a reward at one of some stages."""
    given = [~np.isnan(new.reward) for new in rows if new.reward is not None]
    return np.any(given, axis=0)


def _check_outcomes(rows: Sequence[StageReading], leaving: str) -> None:
    nothing = np.flatnonzero(~_has_reward(rows))
    if leaving == "ends" and len(nothing):
        raise ValueError(
            f"{len(nothing)} subject(s), the first in row {nothing[0]}, have no reward at any stage; fill in "
            "their outcome, or say leaving='weights' if they were lost"
        )


def _check_presence(present: np.ndarray, earlier: np.ndarray, number: int) -> None:
    if present.sum() < 2:
        raise ValueError(
            f"stage {number} has {int(present.sum())} subject(s) with an action; at least 2 are needed to "
            "learn"
        )
    back = np.flatnonzero(present & ~earlier)
    if len(back):
        raise ValueError(
            f"{len(back)} subject(s), the first in row {back[0]}, have an action at stage {number} but none "
            f"at stage {number - 1}; fill in the missing action or remove the later one"
        )


def _read_reward(
    new: StageReading, present: np.ndarray, at_end: bool, number: int, n_stages: int
) -> np.ndarray:
    """Rewards of a stage, NaN where there is none, which those present must have unless it comes later."""
    if new.reward is None:
        if number == n_stages:
            raise ValueError(f"stage {number} is the last one and has no reward; name its column")
        return np.full(len(present), np.nan)
    needed = present & (not at_end)
    bad = np.flatnonzero(~np.isfinite(new.reward) & needed | np.isinf(new.reward))
    if len(bad):
        raise ValueError(
            f"the reward {new.reward_name!r} of stage {number} is NaN or infinite for {len(bad)} subject(s) "
            f"who took an action, the first in row {bad[0]}; fill it in, or remove the action if the subject "
            "had left"
        )
    given = new.reward[np.isfinite(new.reward)]
    _check_size(given, _REWARD_SIZE, f"the reward {new.reward_name!r} of stage {number}")
    return new.reward


def _check_finite(
    columns: list[HistoryColumn], history: np.ndarray, present: np.ndarray, number: int
) -> None:
    for column, values in zip(columns, history.T, strict=True):
        bad = np.flatnonzero(~np.isfinite(values) & present)
        if len(bad):
            what = "missing" if column.labels else "NaN or infinite"
            fix = "say missing='indicator' to have gaps filled and marked, or impute it"
            raise ValueError(
                f"the history column {column.name!r} is {what} for {len(bad)} subject(s) present at stage "
                f"{number}, the first in row {bad[0]}; {fix}"
            )
        _check_size(values[present], _HISTORY_SIZE, f"the history column {column.name!r}")


def _check_size(values: np.ndarray, most: float, what: str) -> None:
    """Refuse numbers whose squares would not be numbers any more."""
    largest = np.abs(values).max(initial=0.0)
    if largest > most or 0.0 < largest < 1.0 / most:
        raise ValueError(f"{what} is as large as {largest:.3g}; use another unit")


def _read_actions(
    new: StageReading, columns: list[HistoryColumn], history: np.ndarray, present: np.ndarray, number: int
) -> tuple[tuple, Callable | None, DoseRange | None, np.ndarray]:
    """Actions of a stage, its feasibility, its doses and those of the subjects, NaN where there is none."""
    dose = np.full(len(present), np.nan)
    if new.action_type not in ACTION_TYPES:
        raise ValueError(
            f"action_type={new.action_type!r} of stage {number} was given; it must be one of "
            f"{list(ACTION_TYPES)}"
        )
    if new.action_type == "label":
        return *_labels(new, present, number), None, dose
    strange = next((value for value in new.action[present] if not isinstance(value, int | float)), None)
    if strange is not None or not np.isfinite(new.action[present].astype(float)).all():
        raise ValueError(f"stage {number} has action_type='dose', but {strange!r} is not a finite number")
    dose[present] = new.action[present].astype(float)
    randomised = isinstance(new.propensity, str) and new.propensity == "randomized"
    doses = learn_doses(columns, history[present], dose[present], new.feasible, randomised, number)
    return tuple(doses.grid.tolist()), None, doses, dose


def _read_density(propensity: Any, present: np.ndarray, number: int) -> Any:
    """What is known of the densities of doses, checked."""
    if isinstance(propensity, np.ndarray):
        if not (np.isfinite(propensity[present]).all() and (propensity[present] > 0).all()):
            raise ValueError(
                f"the propensity of stage {number} must be the density of the dose that was given, above 0 "
                "for everyone present"
            )
    elif propensity not in ("estimate", "randomized"):
        raise ValueError(
            f"propensity={propensity!r} of stage {number} is of labels; of doses it must be 'estimate', "
            "'randomized' or the density of the dose that was given"
        )
    return propensity


def _labels(new: StageReading, present: np.ndarray, number: int) -> tuple[tuple, Callable | None]:
    """Actions of a stage in sorted order, and its feasibility as a callable (None when all are allowed)."""
    observed, feasible = set(new.action[present]), new.feasible
    _check_labels(observed, number)
    wanted = observed
    if feasible is not None and not callable(feasible):
        wanted = set(read_labels(list(feasible), f"feasible of stage {number}"))
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
    _check_number_of_actions(observed, int(present.sum()), number)
    if len(observed) < 2:
        raise ValueError(
            f"stage {number} has only the action {next(iter(observed))!r}; at least two different ones must "
            "be observed for there to be a decision. Leave the stage out and add its reward to its "
            "neighbour's"
        )
    return tuple(sorted(observed)), feasible if callable(feasible) else None


def _check_labels(observed: set, number: int) -> None:
    """Refuse labels that a table has by mistake."""
    alike: dict[str, str] = {}
    for label in sorted(label for label in observed if isinstance(label, str)):
        word = label.strip().casefold()
        if not word:
            raise ValueError(
                f"stage {number} has the action {label!r}; leave it missing where nothing was to be chosen, "
                "or call it something, such as 'none'"
            )
        if word in alike:
            raise ValueError(
                f"stage {number} has the actions {alike[word]!r} and {label!r}, which differ in capitals or "
                "blanks alone; write them alike, or by names of their own"
            )
        alike[word] = label


def _check_number_of_actions(observed: set, n_subjects: int, number: int) -> None:
    """Refuse doses taken for actions, and more actions than subjects can tell apart."""
    if len(observed) <= _MANY_ACTIONS:
        return
    numbers = all(isinstance(label, int | float) for label in observed)
    if numbers or n_subjects < _FOR_EACH_ACTION * len(observed):
        some = ", ".join(map(repr, sorted(observed)[:3]))
        what = "different numbers as actions" if numbers else f"actions for {n_subjects} subjects"
        raise ValueError(
            f"stage {number} has {len(observed)} {what} ({some}, ...), too many to compare one with another. "
            "Say action_type='dose' if they are doses, or put them into a few classes, such as 'low', "
            "'middle' and 'high'"
        )


def _read_propensity(propensity: Any, labels: tuple, present: np.ndarray, number: int) -> Any:
    """What is known of the probabilities of actions, checked; a ratio as probabilities by action."""
    if isinstance(propensity, str) and ":" in propensity:
        parts = [float(part) for part in propensity.split(":")]
        if len(parts) != len(labels) or min(parts) <= 0.0:
            raise ValueError(
                f"propensity={propensity!r} of stage {number} must have one positive number for each of the "
                f"actions {list(labels)}, in this order"
            )
        return {label: part / sum(parts) for label, part in zip(labels, parts, strict=True)}
    if isinstance(propensity, Mapping):
        keys = set(read_labels(list(propensity), f"propensity of stage {number}"))
        values = np.array([propensity[label] for label in labels if label in propensity], dtype=float)
        if keys != set(labels) or not (values > 0).all() or abs(values.sum() - 1.0) > 1e-6:
            raise ValueError(
                f"propensity={dict(propensity)} of stage {number} must give each of {list(labels)} a "
                "positive probability, adding up to 1"
            )
    elif not isinstance(propensity, str):
        seen = propensity[present]
        if not (np.isfinite(seen).all() and (seen > 0).all() and (seen <= 1).all()):
            raise ValueError(
                f"the propensity of stage {number} must be the probability of the action that was taken, in "
                "(0, 1], for everyone present"
            )
    return propensity


def _check_feasible(stage: StageData, number: int) -> None:
    rows = np.flatnonzero(stage.present)
    allowed = stage.allowed(stage.history[rows])
    broken = rows[~allowed[np.arange(len(rows)), stage.action[rows]]]
    if len(broken):
        raise ValueError(
            f"{len(broken)} subject(s), the first in row {broken[0]}, took an action at stage {number} that "
            "`feasible` says they could not; correct one of the two"
        )
