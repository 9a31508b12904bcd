"""Multi-stage trials, from tables with one row per subject or one row per subject and stage."""

import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np

from rlselect.data import Columns, Covariate, read_labels, refuse_repeated_pairs
from rlselect.regimes._accumulate import StageReading, accumulate, cut_at
from rlselect.regimes._censoring import uncensored_probabilities
from rlselect.regimes._dose import ActionType
from rlselect.regimes._gaps import MISSING, MissingHistory
from rlselect.regimes._overlap import OverlapReport, report_overlap
from rlselect.regimes._own_loss import RewardType, read_reward_type
from rlselect.regimes._propensity import remaining_probabilities, stage_probabilities
from rlselect.regimes._sample import Sample, everyone_alike
from rlselect.regimes._stage_names import find_stage, order_stages
from rlselect.regimes._stages import StageData, readable_history
from rlselect.regimes._trial_notes import describe_trial

__all__ = ["TrialData"]

_STAGE_KEYS = {"name", "history", "action", "reward", "censored", "action_type", "feasible", "propensity"}
_LEAVING = ("ends", "weights")
_NAMED_PROPENSITIES = ("estimate", "randomized")
_RATIO = re.compile(r"(?:randomi[sz]ed )?(\d+(?:\.\d+)?(?::\d+(?:\.\d+)?)+)")


class TrialData:
    """A trial of one or more stages; build it with :meth:`from_wide` or :meth:`from_long`.

    The history of a stage is everything seen before its action: all covariates so far, and the actions and
    rewards of the stages before.

    Attributes
    ----------
    stages : list of StageData
    n_subjects, n_stages : int
    stage_names : list of str
        A name will do wherever the number of a stage does.
    leaving : {"ends", "weights"}
    reward_type : {"number", "binary", "count"}
    sample : Sample
        Weights and clusters of the subjects.

    Examples
    --------
    >>> from rlselect.regimes import TrialData
    >>> table = {"x": [0.1, 0.5, 0.9, 0.3], "A1": ["drug", "none", "drug", "none"], "R1": [1, 0, 2, 0]}
    >>> trial = TrialData.from_wide(table, stages=[dict(history=["x"], action="A1", reward="R1")])
    >>> trial
    TrialData(4 subjects, 1 stage: 1 history column, actions drug/none)
    """

    def __init__(
        self,
        stages: list[StageData],
        leaving: str,
        *,
        reward_type: RewardType = "auto",
        sample: Sample | None = None,
        horizon: float | None = None,
    ) -> None:
        if leaving not in _LEAVING:
            raise ValueError(f"leaving={leaving!r} is not known; use one of {list(_LEAVING)}")
        self.stages = stages
        self.leaving = leaving
        self.horizon = horizon
        self.sample = everyone_alike(len(stages[0].action)) if sample is None else sample
        self.reward_type = read_reward_type(reward_type, stages)
        self.n_subjects = len(stages[0].action)
        self.n_stages = len(stages)
        self.stage_names = [stage.name for stage in stages]
        self._chances: dict[int, np.ndarray] = {}
        self._overlap: list[OverlapReport] = []
        self._uncensored: np.ndarray | None = None
        censored = np.array([stage.censored for stage in stages])
        if censored.any():
            rewards, present = ([getattr(stage, what) for stage in stages] for what in ("reward", "present"))
            self._uncensored = uncensored_probabilities(rewards, present, censored, self.sample.weights)

    def __repr__(self) -> str:
        parts = []
        for stage in self.stages:
            width = len(stage.columns)
            columns = f"{width} history column{'s' * (width != 1)}"
            actions = f"actions {'/'.join(map(str, stage.labels))}"
            if stage.doses is not None:
                actions = f"doses {stage.labels[0]} to {stage.labels[-1]}"
            parts.append(f"{columns}, {actions}")
        plural = "s" * (self.n_stages != 1)
        return f"TrialData({self.n_subjects} subjects, {self.n_stages} stage{plural}: {'; '.join(parts)})"

    @classmethod
    def from_wide(
        cls,
        data: Any,
        stages: Sequence[Mapping],
        *,
        leaving: Literal["ends", "weights"] = "ends",
        reward_type: RewardType = "auto",
        missing: MissingHistory = "error",
        horizon: float | None = None,
        sample_weight: Any = None,
        cluster: Any = None,
    ) -> "TrialData":
        """One row per subject.

        Parameters
        ----------
        data : data frame, Arrow table, dict of columns, or path of a CSV or Parquet file
        stages : sequence of dict
            ``history`` (columns with the new covariates of the stage, possibly none; text and categories are
            kept or left out as a whole), ``action`` and ``reward`` (each the name of a column, or an array;
            stages but the last may leave out the reward, as when there is one outcome at the end) and, if
            wanted,

            - ``feasible``: the actions allowed at the stage, or a callable ``feasible(history) -> (n, K)``
              booleans with the history as a dict of columns and the actions in sorted order;
            - ``propensity``: "estimate" (default: a logistic model on the history), "randomized" (the
              frequencies of the stage), a ratio such as "2:1:1" of the actions in sorted order, a mapping
              from action to probability, or a column or array with the probability of the action that was
              taken;
            - ``action_type``: "label" (default), or "dose" for actions that are numbers, with ten different
              ones at least: Q-functions see them through a cubic polynomial, values weigh them by a kernel
              and the density of the dose given the history (the generalised propensity), and what is
              recommended are doses that subjects of such a history were given. ``feasible`` is then the
              smallest and the largest dose, ``propensity`` "estimate", "randomized", or a column with the
              density of the dose that was given;
            - ``censored``: a column or array of truth values: the reward is a time of which the subject's is
              only a lower bound, because it was not followed any longer. Others stand for it, by the inverse
              probability of being followed so long (Kaplan-Meier: censoring must not depend on the history);
            - ``name``: of the stage, beside its number ("stage 1", ... by default).
        leaving : {"ends", "weights"}, default="ends"
            What a missing action means: "ends", the subject's trial was over and nothing more is earned;
            "weights", the subject was lost, and those who stayed stand for it, weighted by the inverse
            probability of remaining. Who has no action but a reward, such as a responder who needs no second
            treatment, has come to an end and keeps that reward, whichever it is.
        reward_type : {"auto", "number", "binary", "count"}, default="auto"
            "binary": every reward is 0 or 1, and Q-functions are logistic, so that they stay within what
            rewards can add up to (probabilities, if there is one reward); "count": whole numbers from 0 on,
            and Q-functions are exponential; "number": neither. "auto" takes "binary" where all are 0 or 1.
        missing : {"error", "indicator"}, default="error"
            What to do with missing covariates: refuse them, or put the mean of the others in their place with
            a 0/1 history column such as "age=missing" that tells; a missing category is a label of its own.
        horizon : float, optional
            With censored stages: the time up to which rewards count, added up over the stages.
        sample_weight : str or array, optional
            How much each subject counts, in what is learnt and in values.
        cluster : str or array, optional
            Which subjects belong together, such as those of one site: they stay in one fold of the values,
            whose standard errors are those of independent clusters.
        """
        columns = Columns(data, "data")
        if isinstance(stages, (str, Mapping)) or not isinstance(stages, Sequence) or not len(stages):
            raise ValueError(f"stages must be a non-empty list with one dict per stage, got {stages!r}")
        rows = [_read_stage(columns, stage, number) for number, stage in enumerate(stages, start=1)]
        names = [row.name for row in rows]
        if len(set(names)) < len(names):
            raise ValueError(f"the stages are called {names}; give each a name of its own")
        sample = _read_sample(columns, sample_weight, cluster, np.arange(len(rows[0].action)))
        return cls._from_rows(rows, leaving, reward_type, missing, horizon, sample)

    @classmethod
    def _from_rows(
        cls,
        rows: Sequence[StageReading],
        leaving: str,
        reward_type: RewardType,
        missing: MissingHistory,
        horizon: float | None,
        sample: Sample,
    ) -> "TrialData":
        if missing not in MISSING:
            raise ValueError(f"missing={missing!r} was given; it must be one of {list(MISSING)}.")
        stages = accumulate(cut_at(rows, horizon), leaving, missing)
        return cls(stages, leaving, reward_type=reward_type, sample=sample, horizon=horizon)

    @classmethod
    def from_long(
        cls,
        data: Any,
        *,
        id: Any,
        stage: Any,
        action: Any,
        reward: Any,
        covariates: Sequence[str],
        stage_order: Sequence[Any] | None = None,
        feasible: Mapping[Any, Any] | None = None,
        propensity: Any = "estimate",
        action_type: ActionType | Mapping[Any, ActionType] = "label",
        censored: Any = None,
        leaving: Literal["ends", "weights"] = "ends",
        reward_type: RewardType = "auto",
        missing: MissingHistory = "error",
        horizon: float | None = None,
        sample_weight: Any = None,
        cluster: Any = None,
    ) -> "TrialData":
        """One row per subject and stage, the stages in order of time; columns are called ``x_1, x_2``.

        Parameters
        ----------
        data : data frame, Arrow table, dict of columns, or path of a CSV or Parquet file
        id, stage, action, reward : str or array
            Names of columns, or arrays with one value per row.
            A reward that is missing for everyone who goes on to the next stage is one outcome at the end, in
            the last row of each subject.
        covariates : sequence of str
            Names of covariate columns, of numbers or of text and categories; one that is missing for everyone
            at a stage is not part of it. A column that repeats what the last stage said of everyone is not
            repeated, and one that never changes keeps its name.
        stage_order : sequence, optional
            The stages from first to last, where their values do not tell: numbers, dates and names like "week
            4" and "week 12" do.
        feasible : mapping, optional
            Stage (its value in the table) to what ``from_wide`` takes.
        propensity
            As in :meth:`from_wide`, for all stages or as a mapping from stage to what that takes (stages that
            are not named are estimated).
        action_type : {"label", "dose"} or mapping, default="label"
            As in :meth:`from_wide`, for all stages or by stage.
        censored : str or array, optional
            Truth values, one per row: the reward of the row is a lower bound of a time.
        leaving, reward_type, missing, horizon, sample_weight, cluster
            As in :meth:`from_wide`; weight and cluster of a subject are the same in all its rows.
        """
        columns = Columns(data, "data")
        subjects, stages = columns.distinct(id, "id"), columns.distinct(stage, "stage")
        refuse_repeated_pairs(subjects, stages, slice(None), "stage")
        found = read_labels(stages.values, "stage").tolist()
        order = order_stages(found, stage_order)
        keys = [found[place] for place in order]
        feasible = _by_stage(feasible or {}, keys, "feasible")
        types: dict[Any, str] = {}
        if isinstance(action_type, Mapping):
            types = _by_stage(action_type, keys, "action_type")
        elif action_type != "label":
            types = dict.fromkeys(keys, action_type)
        names = [covariates] if isinstance(covariates, str) else list(covariates)
        known = columns.covariates(names, "covariate")
        actions, rewards = columns.labels(action, "action"), columns.numbers(reward, "reward")
        if _names_stages(propensity, keys):
            each = _by_stage(propensity, keys, "propensity")
        else:
            each = dict.fromkeys(keys, propensity)
        chances = {key: _read_propensity(columns, one, "propensity") for key, one in each.items()}
        # subjects in the order in which they first appear
        first = np.unique(subjects.positions, return_index=True)[1]
        place = np.argsort(np.argsort(first))[subjects.positions]

        flags = None if censored is None else columns.flags(censored, "censored").astype(float)
        sample = _read_sample(columns, sample_weight, cluster, place)

        def spread(values: Any, rows: np.ndarray) -> Any:
            if not isinstance(values, np.ndarray):
                return values
            wide = np.full(len(first), None if values.dtype == object else np.nan, dtype=values.dtype)
            wide[place[rows]] = values[rows]
            return wide

        seen = [np.flatnonzero(stages.positions == number) for number in order]
        covers = _stage_covariates(known, keys, seen, spread)
        parts = [
            StageReading(
                cover,
                spread(actions, rows),
                spread(rewards, rows),
                None if flags is None else spread(flags, rows) == 1.0,
                types.get(key, "label"),
                feasible.get(key),
                spread(chances.get(key, "estimate"), rows),
                str(key),
                f"{_name(action, 'action')}_{key}",
                f"{_name(reward, 'reward')}_{key}",
            )
            for key, rows, cover in zip(keys, seen, covers, strict=True)
        ]
        return cls._from_rows(parts, leaving, reward_type, missing, horizon, sample)

    def history(self, stage: int | str) -> dict[str, np.ndarray]:
        """History of the subjects present at a stage (counted from 1, or its name), as a dict of columns."""
        found = self.stage(stage)
        return readable_history(found.columns, found.history[found.present])

    def stage(self, stage: int | str) -> StageData:
        """One stage, counted from 1, or by its name."""
        return self.stages[find_stage(stage, self.stage_names) - 1]

    def returns(self, discount: float = 1.0) -> np.ndarray:
        """Sum of the rewards of each subject, those of stage t times ``discount ** (t - 1)``."""
        return np.sum([discount**t * stage.reward for t, stage in enumerate(self.stages)], axis=0)

    def action_probabilities(self, stage: int | str) -> np.ndarray:
        """Probability of each action (columns) for each subject present at a stage, known or estimated.

        Of doses, that of the neighbourhood of each candidate.
        """
        stage = find_stage(stage, self.stage_names)
        if stage not in self._chances:
            self._chances[stage] = stage_probabilities(self.stage(stage))
        return self._chances[stage]

    def taken_probabilities(self, stage: int | str) -> np.ndarray:
        """Probability of the action that each subject took at a stage, density of a dose; 1 for others."""
        data = self.stage(stage)
        chances = np.ones(self.n_subjects)
        rows = np.flatnonzero(data.present)
        if data.doses is None:
            chances[rows] = self.action_probabilities(stage)[np.arange(len(rows)), data.action[rows]]
        elif isinstance(data.propensity, np.ndarray):
            chances[rows] = data.propensity[rows]
        else:
            chances[rows] = data.doses.densities(data.history[rows], data.dose[rows])
        return chances

    def importance(self, stage: int | str) -> np.ndarray:
        """How much each subject counts for each action at a stage: (n, K), 0 for absent ones.

        The inverse of its probability for the action that was taken, 0 for others; of doses a kernel about
        the candidate, over the density of the dose.
        """
        data = self.stage(stage)
        found = np.zeros((self.n_subjects, len(data.labels)))
        rows = np.flatnonzero(data.present)
        taken = self.taken_probabilities(stage)[rows]
        matches = data.shares(rows) if data.doses is None else data.doses.kernel(data.dose[rows])
        found[rows] = matches / taken[:, None]
        return found

    def remaining_probabilities(self, stage: int | str) -> np.ndarray:
        """Probability of each subject of still being there after a stage.

        It is 1 unless ``leaving="weights"`` or times are censored.
        """
        stage = find_stage(stage, self.stage_names)
        chances = np.ones(self.n_subjects)
        if self.leaving == "weights" and stage < self.n_stages:
            data = self.stage(stage)
            stays = self.stage(stage + 1).known | data.censored
            chances = remaining_probabilities(data, stays)
        return chances if self._uncensored is None else chances * self._uncensored[stage - 1]

    def lost(self, stage: int | str) -> np.ndarray:
        """Subjects lost after a stage, or censored in it: what came of them is not known, (n,) bool array.

        Who has no action at the next stage but a reward has come to an end, and is not lost.
        """
        stage = find_stage(stage, self.stage_names)
        data = self.stage(stage)
        if self.leaving == "ends" or stage == self.n_stages:
            return data.censored
        return data.present & ~self.stage(stage + 1).known | data.censored

    def part(self, subjects: np.ndarray) -> "TrialData":
        """The trial of some of the subjects.

        Parameters
        ----------
        subjects : int or bool array
        """
        rows = np.arange(self.n_subjects)[subjects]
        stages, sample = [stage.part(rows) for stage in self.stages], self.sample.part(rows)
        found = TrialData(stages, self.leaving, sample=sample, horizon=self.horizon)
        found.reward_type = self.reward_type
        return found

    def limits(self, discount: float) -> tuple[float, float]:
        """What the discounted rewards of a subject can add up to, by their type, or as times."""
        if self._uncensored is not None:
            return 0.0, np.inf if self.horizon is None else self.horizon
        if self.reward_type == "binary":
            # a stage without any reward only leads to the next
            return 0.0, float(sum(discount**t * stage.reward.max() for t, stage in enumerate(self.stages)))
        return (0.0 if self.reward_type == "count" else -np.inf), np.inf

    def notes(self) -> list[str]:
        """What has to be known of the trial to read what is learnt from it, as sentences."""
        return describe_trial(self)

    def overlap(self) -> list[OverlapReport]:
        """Overlap diagnostics of each stage; see :class:`~rlselect.regimes.OverlapReport`."""
        if not self._overlap:
            self._overlap = [self._report_overlap(number) for number in range(1, self.n_stages + 1)]
        return list(self._overlap)

    def _report_overlap(self, number: int) -> OverlapReport:
        stage = self.stage(number)
        stayed = stage.present & ~self.lost(number)
        if number < self.n_stages:
            stayed &= self.stage(number + 1).known
        remaining = self.remaining_probabilities(number)[stayed]
        rows = np.flatnonzero(stage.present)
        whole = self.sample.part(rows).is_whole(stage.action[rows])
        return report_overlap(number, stage, self.action_probabilities(number), remaining, whole=whole)


def _name(given: Any, role: str) -> str:
    """What the column of a role is called in histories, also when it was given as an array."""
    return given if isinstance(given, str) else role


def _names_stages(propensity: Any, keys: Sequence[Any]) -> bool:
    """Whether a mapping goes from stages, not from actions, to what is known of their probabilities."""
    if not isinstance(propensity, Mapping) or all(isinstance(one, Real) for one in propensity.values()):
        return False
    return bool({str(key) for key in propensity} & {str(key) for key in keys})


def _by_stage(given: Mapping[Any, Any], keys: Sequence[Any], what: str) -> dict[Any, Any]:
    """A mapping from stages, by their value in the table or as text, with the former as its keys."""
    places = {str(key): key for key in keys}
    strange = [key for key in given if str(key) not in places]
    if strange:
        raise ValueError(f"{what} names the stage(s) {strange}; the stages are {list(keys)}")
    return {places[str(key)]: one for key, one in given.items()}


def _stage_covariates(
    known: Mapping[str, Covariate],
    keys: Sequence[Any],
    rows: Sequence[np.ndarray],
    spread: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[dict[str, Covariate]]:
    """New covariates of each stage, from columns with one value per subject and stage.

    ``rows`` are those of each stage; ``spread`` puts their values into the rows of its subjects, NaN
    elsewhere.
    """
    found: list[dict[str, Covariate]] = [{} for _ in keys]
    for name, covariate in known.items():
        wide = [spread(covariate.values, mine) for mine in rows]
        seen = [t for t, values in enumerate(wide) if not np.isnan(values).all()]
        last = np.full(len(wide[0]), np.nan)
        new = []
        for t in seen:
            there = ~np.isnan(wide[t])
            if not np.array_equal(wide[t][there], last[there]):
                new.append(t)
            last = np.where(there, wide[t], last)
        baseline = len(new) == 1 < len(seen)
        for t in new:
            called = name if baseline else f"{name}_{keys[t]}"
            found[t][called] = Covariate(wide[t], covariate.labels)
    return found


def _read_stage(columns: Columns, stage: Any, number: int) -> StageReading:
    """One stage of a table with one row per subject."""
    if not isinstance(stage, Mapping):
        raise ValueError(f"stage {number} is {stage!r}; give a dict with history, action and reward")
    if set(stage) - _STAGE_KEYS or "action" not in stage:
        raise ValueError(
            f"stage {number} has the keys {sorted(stage)}; 'history', 'action' and 'reward' are needed (the "
            "last stage alone must have a reward), 'censored', 'action_type', 'feasible', 'propensity' and "
            "'name' are optional"
        )
    role = f"stage {number}"
    history, reward = stage.get("history") or [], stage.get("reward")
    names = [history] if isinstance(history, str) else list(history)
    if len(set(names)) < len(names):
        raise ValueError(f"{role} has the history {names}; list each column once")
    return StageReading(
        columns.covariates(names, f"{role} history"),
        columns.labels(stage["action"], f"{role} action"),
        None if reward is None else columns.numbers(reward, f"{role} reward"),
        None if stage.get("censored") is None else columns.flags(stage["censored"], f"{role} censored"),
        stage.get("action_type", "label"),
        stage.get("feasible"),
        _read_propensity(columns, stage.get("propensity", "estimate"), f"{role} propensity"),
        str(stage.get("name", role)),
        _name(stage["action"], f"action_{number}"),
        _name(reward, f"reward_{number}"),
    )


def _read_propensity(columns: Columns, given: Any, role: str) -> Any:
    """A name, ratio or mapping as it is, a column as probabilities."""
    if isinstance(given, Mapping) or (isinstance(given, str) and given in _NAMED_PROPENSITIES):
        return given
    ratio = _RATIO.fullmatch(given) if isinstance(given, str) else None
    if ratio is not None:
        return ratio[1]
    try:
        return columns.numbers(given, role)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{error} Beside a column, 'estimate', 'randomized', a ratio such as '2:1' and a mapping from "
            "action to probability are known."
        ) from None


def _read_sample(columns: Columns, sample_weight: Any, cluster: Any, place: np.ndarray) -> Sample:
    """Weights and clusters of subjects, whose numbers `place` holds for each row of the table."""
    n = int(place.max()) + 1
    weights = columns.weights(sample_weight)
    clusters = None if cluster is None else columns.distinct(cluster, "cluster").positions
    by_subject: list[np.ndarray] = []
    for what, values in (("sample_weight", weights), ("cluster", clusters)):
        if values is None:
            continue
        mine = np.zeros(n, dtype=values.dtype)
        mine[place] = values
        strange = np.flatnonzero(mine[place] != values)
        if len(strange):
            raise ValueError(
                f"{what} differs between the rows of a subject, one of them row {strange[0]}; it must be the "
                "same in all of them."
            )
        by_subject.append(mine)
    if clusters is not None:
        clusters = np.unique(by_subject.pop(), return_inverse=True)[1]
        if clusters.max() < 3:
            raise ValueError(
                f"cluster has {clusters.max() + 1} different value(s); at least 4 clusters are needed for a "
                "standard error."
            )
    weights = by_subject[0] / by_subject[0].mean() if by_subject else np.ones(n)
    return Sample(weights, clusters)
