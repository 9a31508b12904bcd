"""What all learners of regimes share: options, the backward pass, predictions and the value."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect._capabilities import Takes
from rlselect._clock import OutOfTime, fit_clock, present_clock, stop_if_late, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import Estimator, rank
from rlselect._limits import require_memory, seconds_for, warn_if_long
from rlselect._options import NONE, anything, check_options, check_value, flag, number
from rlselect._parallel import jobs
from rlselect._random import RandomState, as_generator
from rlselect._watch import tell
from rlselect.machines import EliminationPath
from rlselect.regimes._column_machine import many
from rlselect.regimes._contrasts import TailoringEffect, tailoring_effects
from rlselect.regimes._displays import StageObjectiveDisplay, TailoringDisplay
from rlselect.regimes._estimates import RegimeValue
from rlselect.regimes._estimation import (
    decisions_of_halves,
    estimate_value,
    feasible_only,
    in_all,
    observed_value,
    q_functions,
)
from rlselect.regimes._evaluation import Decide, Evaluation, cross_fitted
from rlselect.regimes._grow_trees import grow_policy_tree
from rlselect.regimes._history import read_history
from rlselect.regimes._in_time import subjects_in_time
from rlselect.regimes._overlap import warn_of_poor_overlap
from rlselect.regimes._policy_tree import PolicyTree
from rlselect.regimes._relearning import Relearning, can_relearn, relearn
from rlselect.regimes._report import answer_of, marks_of, report_of, selected_from_few, value_section
from rlselect.regimes._selection import MODEL, StageSelection
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stage_names import find_stage
from rlselect.regimes._stage_rfe import as_selection
from rlselect.regimes._stages import best_feasible
from rlselect.regimes._tailoring import find_tailoring
from rlselect.regimes._tree_display import PolicyTreeDisplay
from rlselect.regimes._trial import TrialData
from rlselect.regimes._trial_notes import stand_ins
from rlselect.report import Marks, Summary

__all__ = ["LEVEL", "BackwardLearner", "PartDone", "check_trial"]

logger = logging.getLogger("rlselect")
LEVEL = number("a number strictly between 0 and 1", above=0.0, below=1.0)
PartDone: TypeAlias = Callable[[], object]
# Columns are ranked on more folds than regimes are judged on: where actions are about equally good, smaller
# folds decide more often against what they are judged on. Splits of the value.
_FOLDS, _RANKING_FOLDS, _VALUE_SPLITS = 5, 10, 2
_RULE_DEPTH = 2
_DEPTH = anything("an integer between 0 and 3", lambda value: value in (0, 1, 2, 3))
# shares of a time budget: of all for the stages, and of the rest for their decision features
_FOR_STAGES, _FOR_DECISIONS = 0.5, 0.4
# n x n matrices that are there at one time; n^3 operations of an elimination, and how many there are
_MATRICES, _ELIMINATION, _ELIMINATIONS = 12, 60.0, 15


def check_trial(trial: Any) -> TrialData:
    """The trial, or an error that says how to build one."""
    if not isinstance(trial, TrialData):
        raise TypeError(
            f"a {type(trial).__name__} was given as the trial; it must be a TrialData: build one with "
            "TrialData.from_wide(frame, stages=[...]) or TrialData.from_long(frame, ...)."
        )
    return trial


class BackwardLearner(Estimator):
    """Base of the learners: stages are learnt last first, each on what follows it.

    A learner adds `_fit_stage`, and may look at a stage again once the next one is known (`_settle`) or at
    all of them in the end (`_revise`).
    """

    displays: ClassVar = (TailoringDisplay, StageObjectiveDisplay, PolicyTreeDisplay)
    # what comes with rewards is told to `TrialData`
    _takes: ClassVar = Takes(
        outcomes=("numbers", "two classes", "counts", "censored times"),
        data=("sample weights", "clusters of rows", "missing values", "text columns", "time budget"),
    )
    _options: ClassVar = {
        "model": MODEL,
        "discount": number("a number between 0 and 1", least=0.0, most=1.0),
        "maximize": flag(),
        "level": LEVEL,
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
    }

    # whether machines may be made of columns in place of kernel matrices
    _takes_columns: ClassVar[bool] = False

    model: Any
    selection: Any
    discount: float
    maximize: bool
    level: float
    time_budget: float | None
    stop_reason_: list[str]
    n_jobs: int | None
    random_state: RandomState

    def _check_combinations(self) -> None:
        """Refuse options that do not go with each other, or have no effect together."""

    @with_callbacks
    def fit(self, trial: TrialData, y: Any = None) -> Self:
        """Learn a regime from a trial.

        Parameters
        ----------
        trial : TrialData
        y : ignored
            Rewards are part of the trial.

        Returns
        -------
        self

        Notes
        -----
        Scikit-learn's callbacks hear of each stage that is learnt, of each whose decision features are found,
        and of the value; a wish to stop is not followed, since a regime without some of its stages is none.
        The first Ctrl-C ends the search as `time_budget` does, the second leaves the learner as it was, and
        so does a fit that fails.
        """
        return self._learn_aside(trial)

    def _fit(self, progress: Progress, trial: TrialData) -> None:
        check_trial(trial)
        self._check_combinations()
        progress.begin(2 * trial.n_stages + 1)
        n_given, trial = trial.n_subjects, self._in_time(trial)
        self._check_size(trial)
        everyone = np.ones(trial.n_subjects, dtype=bool)
        with jobs(self.n_jobs), fit_clock(self.time_budget) as clock:
            self.overlap_ = trial.overlap()
            warn_of_poor_overlap(self.overlap_)
            began = time.perf_counter()
            try:
                with clock.part(_FOR_STAGES):
                    evaluation = self._learn(trial, everyone, progress.part)
            except np.linalg.LinAlgError as error:
                raise ValueError(
                    "The kernel matrix of a stage is singular to working precision beside these rewards; "
                    "give them in another unit, or use another model or selection."
                ) from error
            took = time.perf_counter() - began
            with clock.part(_FOR_DECISIONS) as decisions:
                self._describe_decisions(evaluation, progress.part)
            self.value_ = self._estimate_value(evaluation, took)
            # they hold machines of all eliminations
            del self._selections
            self._trial = trial
            machines = self._tree_machines(evaluation, as_generator(self.random_state))
            self.regime_ = self._grow(evaluation, machines, _RULE_DEPTH, None)
            self.tailoring_effects_: list[list[TailoringEffect]] = [[] for _ in trial.stages]
            if present_clock().reason is None:
                self.tailoring_effects_ = tailoring_effects(
                    evaluation, machines, self._decide, self.tailoring_, self.level
                )
        self._tell_the_end(clock.reason or decisions.reason)
        if trial.n_subjects < n_given:
            some = f"time budget, {trial.n_subjects} of {n_given} subjects"
            self.stop_reason_ = [f"{some}; {mine}" for mine in self.stop_reason_]
        self.observed_ = observed_value(trial, self.discount, self.level)
        self._notes = [*trial.notes(), *stand_ins(trial.stages, self.tailoring_)]
        self._n_subjects = trial.n_subjects
        progress.part()

    def _check_size(self, trial: TrialData) -> None:
        """Refuse more subjects than the memory has room for."""
        name, n = type(self).__name__, trial.n_subjects
        instead = "a sample of some thousand subjects"
        if not self._uses_matrices(trial):
            return
        require_memory(8.0 * _MATRICES * n**2, f"the kernel matrices of {n} subjects", instead)
        cube = trial.n_stages * float(n) ** 3
        if self.time_budget is None:
            warn_if_long(seconds_for(_ELIMINATIONS * _ELIMINATION * cube), name, instead)

    def _in_time(self, trial: TrialData) -> TrialData:
        """The trial, or as many of its subjects as there is time for."""
        if self.time_budget is None:
            return trial
        given = self.model, as_selection(self.selection), self._takes_columns
        return subjects_in_time(trial, *given, self.time_budget, as_generator(self.random_state))

    def _uses_matrices(self, trial: TrialData) -> bool:
        """Whether some stage is learnt from kernel matrices, with as many rows as there are subjects."""
        return True

    def _tell_the_end(self, reason: str | None) -> None:
        """Say at each stage why the fit was stopped, also where that was after its own elimination."""
        if reason is not None:
            self.stop_reason_ = [
                mine if mine.startswith(reason) else f"{reason} after the elimination; {mine}"
                for mine in self.stop_reason_
            ]
        warn_if_interrupted(reason or "", type(self).__name__, "a part of the eliminations")

    def _fit_rows(self, trial: TrialData, rows: np.ndarray) -> Self:
        """Learn the regime alone, from some subjects (a bool array), for its value to be judged on others."""
        check_options(self, self._options)
        self._check_combinations()
        with jobs(self.n_jobs):
            self._learn(trial, rows, bool)
        del self._selections
        return self

    @property
    def _sign(self) -> float:
        return 1.0 if self.maximize else -1.0

    def _learn(self, trial: TrialData, rows: np.ndarray, part_done: PartDone) -> Evaluation:
        """Learn all stages from some subjects; `part_done` is called after each."""
        rng = as_generator(self.random_state)
        evaluation = Evaluation(trial, self.discount, self._sign, _FOLDS, rng)
        deal = evaluation.splits_into(_RANKING_FOLDS)
        chosen: dict[int, tuple[StageMachine, StageSelection]] = {}

        def fit(t: int, y: np.ndarray) -> StageMachine:
            subjects, weights = evaluation.learners(t, rows)
            if len(subjects) < 4:
                raise ValueError(
                    f"stage {t + 1} has {len(subjects)} subject(s) to learn from; at least 4 are needed"
                )
            tell(doing=f"stage {t + 1} of {trial.n_stages}")
            with present_clock().part(1.0 / (t + 1)) as clock:
                found = self._fit_stage(trial, t, subjects, y[subjects], weights, rng, deal)
                chosen[t] = self._settle(*found, _names(*chosen[t + 1]) if chosen else None)
            machine, mine = chosen[t]
            link = evaluation.links[t]
            if link is not None and self._takes_own_loss():
                machine.by_own_loss(link)
            else:
                machine, mine = chosen[t] = self._simplify(machine, mine)
            hurried = mine.path is not None and mine.path.hurried
            if clock.reason is not None or hurried:
                reason = clock.reason or "time budget, several columns left at once"
                chosen[t] = machine, replace(mine, reason=f"{reason}; {mine.reason}")
            logger.debug("stage %d: %s", t + 1, chosen[t][1].reason)
            part_done()
            return chosen[t][0]

        machines = evaluation.backward(fit)
        selections = [chosen[t][1] for t in range(trial.n_stages)]
        self._machines, self._selections = self._revise(evaluation, machines, selections)
        self._describe_selection(trial, self._selections)
        return evaluation

    def _fit_stage(
        self,
        trial: TrialData,
        t: int,
        subjects: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        rng: np.random.Generator,
        deal: np.ndarray,
    ) -> tuple[StageMachine, StageSelection]:
        """The machine of a stage on the columns it needs; `subjects`, `y` and `weights` are (m,) arrays.

        `deal` (splits, n) has the folds of all subjects, which eliminations share with the value.
        """
        raise NotImplementedError

    def _settle(
        self, machine: StageMachine, chosen: StageSelection, needed_next: list[str] | None
    ) -> tuple[StageMachine, StageSelection]:
        """The stage once it is known which columns the next one needs (None at the last)."""
        return machine, chosen

    def _simplify(self, machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
        """The stage once it is settled, or a simpler one that is as good."""
        return machine, chosen

    def _takes_own_loss(self) -> bool:
        """Whether the machines of binary and count rewards are fitted by the loss of these."""
        return False

    def _revise(
        self, evaluation: Evaluation, machines: list[StageMachine], selections: list[StageSelection]
    ) -> tuple[list[StageMachine], list[StageSelection]]:
        """All stages once they are known."""
        return machines, selections

    def _describe_selection(self, trial: TrialData, selections: list[StageSelection]) -> None:
        self.n_stages_, self.stage_names_ = trial.n_stages, list(trial.stage_names)
        self._frames = [stage.frame() for stage in trial.stages]
        self.history_names_in_ = [np.array(frame.names, dtype=object) for frame in self._frames]
        self.actions_ = [frame.labels for frame in self._frames]
        self.model_ = [machine.kind for machine in self._machines]
        self.stop_reason_ = [chosen.reason for chosen in selections]
        both = list(zip(self._machines, selections, strict=True))
        self.selected_ = [_names(machine, chosen) for machine, chosen in both]
        self.path_ = [_path_table(chosen.path, machine.encoder.names) for machine, chosen in both]
        self.support_ = [
            np.array([name in chosen for name in frame.names], dtype=bool)
            for frame, chosen in zip(self._frames, self.selected_, strict=True)
        ]
        self.ranking_ = [
            rank(_last_steps(chosen.path, machine), support=support)
            for (machine, chosen), support in zip(both, self.support_, strict=True)
        ]

    def _describe_decisions(self, evaluation: Evaluation, part_done: PartDone) -> None:
        self.tailoring_, self.faint_, self.prognostic_, self.tailoring_path_ = [], [], [], []
        for t, machine in enumerate(self._machines):
            try:
                with present_clock().part(1.0 / (evaluation.trial.n_stages - t)):
                    found = find_tailoring(evaluation, t, machine, evaluation.splits)
            except OutOfTime:
                found = None
            moving = machine.groups if machine.deciding is None else machine.deciding
            # what was not looked at may decide
            groups = moving if found is None else found.groups
            faint = [g for g in machine.deciding or [] if g not in groups]
            names, little = ([machine.encoder.names[g] for g in some] for some in (groups, faint))
            self.tailoring_.append(names)
            self.faint_.append(little)
            self.prognostic_.append([name for name in self.selected_[t] if name not in [*names, *little]])
            self.tailoring_path_.append(found)
            part_done()

    def _tree_machines(self, evaluation: Evaluation, rng: np.random.Generator) -> list[StageMachine]:
        """Q-functions whose scores trees are learnt on; of another trial than the fitted one, its own."""
        if evaluation.trial is getattr(self, "_trial", None):
            return self._machines
        return q_functions(evaluation, self._decide_for(evaluation.trial), "anova", rng)

    def _grow(
        self, evaluation: Evaluation, machines: list[StageMachine], depth: int, costs: Any
    ) -> PolicyTree:
        splits = evaluation.splits[: 1 if _slow(machines) else _VALUE_SPLITS]
        again = getattr(self, "_relearning", None) if machines is self._machines else None
        # what it knows of later stages has no costs
        again = again if costs is None else None

        def grow(splits: np.ndarray, **options: Any) -> PolicyTree:
            decide = self._decide_for(evaluation.trial)
            return grow_policy_tree(
                evaluation,
                machines,
                decide,
                self.tailoring_,
                depth=depth,
                costs=costs,
                level=self.level,
                splits=splits,
                **options,
            )

        try:
            return grow(splits if again is None else again.splits, again=again, before_each=stop_if_late)
        except OutOfTime:
            return grow(evaluation.splits_into(2)[:1])

    def policy_tree(
        self,
        depth: int = 2,
        *,
        trial: TrialData | None = None,
        costs: Mapping[Any, Any] | None = None,
        random_state: RandomState = None,
    ) -> PolicyTree:
        """Short trees, one per stage, that do as well as trees can: a regime to read, with its own value.

        Trees are learnt, last stage first, by an exact search over splits of the decision features (31 cuts
        per column, fewer where there are many columns), on fitted values of all actions and a quarter of
        their doubly robust correction; their value is doubly robust. Where the action of a leaf is not
        feasible, the best feasible one of the stage is taken.

        Parameters
        ----------
        depth : int, default=2
            Most questions of a tree before it recommends, between 0 and 3; 3 takes minutes with many columns.
        trial : TrialData, optional
            By default the one that the learner was fitted on; a learner that was loaded from a file has none.
        costs : mapping, optional
            From actions to what they cost in units of reward, a number or one per subject; others are free.
            Trees and their value are net of it.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the folds, where they are not those that the fit has learnt everything anew without.

        Returns
        -------
        PolicyTree
        """
        check_is_fitted(self)
        check_value("depth", depth, _DEPTH)
        if trial is None:
            trial = getattr(self, "_trial", None)
        if trial is None:
            raise ValueError("a learner that was loaded from a file holds no trial; give it as trial=...")
        self._check_same(check_trial(trial))
        strange = [label for label in costs or () if not any(label in labels for labels in self.actions_)]
        if strange:
            raise ValueError(f"costs names the action(s) {strange}; the actions are {self.actions_}.")
        rng = as_generator(random_state)
        with jobs(self.n_jobs):
            evaluation = Evaluation(trial, self.discount, self._sign, _FOLDS, rng)
            machines = self._tree_machines(evaluation, as_generator(self.random_state))
            return self._grow(evaluation, machines, depth, costs)

    def __getstate__(self) -> dict[str, Any]:
        # a file holds what was learnt, not whom it was learnt from
        state = super().__getstate__()
        return state | {name: None for name in ("_trial", "_relearning") if name in state}

    def _estimate_value(self, evaluation: Evaluation, seconds: float) -> RegimeValue:
        """Value of the regime, whose stages were learnt in so many seconds."""
        splits = evaluation.splits[: 1 if _slow(self._machines) else _VALUE_SPLITS]
        selections = self._selections
        self._selected_anew = can_relearn(selections)
        self._relearning: Relearning | None = None
        try:
            stop_if_late()
            if self._selected_anew:
                self._relearning = relearn(evaluation, self._machines, selections, self._settle, splits)
                found = self._relearning.scores
            else:
                pairs = decisions_of_halves(evaluation, self._refit_to(evaluation), len(splits))
                found = cross_fitted(evaluation, self._machines, [None], "dr", splits, pairs=pairs)
        except OutOfTime:
            self._selected_anew, splits = False, evaluation.splits_into(2)[:1]
            found = cross_fitted(evaluation, self._machines, [None], "dr", splits, patient=True)
        return in_all(evaluation, found, "dr", self.level)

    def _refit_to(self, evaluation: Evaluation) -> Callable[[np.ndarray], Decide]:
        """What refits the machines, with the columns and parameters they have, to some subjects."""
        return lambda rows: evaluation.best_of(evaluation.refitted(self._machines, rows, None))

    def _decide(self, t: int, history: np.ndarray) -> np.ndarray:
        """Positions of the recommended actions at a stage, counted from 0, for rows of its history."""
        return best_feasible(self._machines[t].q_values(history), self._frames[t].allowed(history))

    def _decide_for(self, trial: TrialData) -> Decide:
        """The same for a trial, whose candidates may be other doses."""

        def decide(t: int, history: np.ndarray) -> np.ndarray:
            chosen, doses = self._decide(t, history), trial.stages[t].doses
            if doses is None:
                return chosen
            nearest = doses.place(np.array(self._frames[t].labels)[chosen])
            # doses of other subjects may be out of reach for these
            away = np.abs(doses.grid - doses.grid[nearest][:, None])
            return np.where(doses.allowed(history), away, np.inf).argmin(axis=1)

        return decide

    def _signed_q_values(self, history: Any, stage: int | str) -> np.ndarray:
        t, rows = self._history(history, stage)
        return self._sign * self._machines[t].q_values(rows)

    def _history(self, history: Any, stage: int | str) -> tuple[int, np.ndarray]:
        check_is_fitted(self)
        t = find_stage(stage, self.stage_names_) - 1
        if isinstance(history, TrialData):
            self._check_same(history)
            data = history.stage(stage)
            return t, data.history[data.present]
        return t, read_history(history, self._frames[t], self.selected_[t])

    def _check_same(self, trial: TrialData) -> None:
        """Refuse a trial whose stages, columns or actions are not those of the fitted one."""
        if trial.n_stages != self.n_stages_:
            raise ValueError(
                f"the trial has {trial.n_stages} stage(s), the learner was fitted on {self.n_stages_}"
            )
        for stage, (mine, other) in enumerate(zip(self._frames, trial.stages, strict=True), start=1):
            same = (mine.doses is None) == (other.doses is None)
            if mine.doses is None:
                same &= mine.labels == other.labels
            if not same or mine.columns != other.columns:
                raise ValueError(
                    f"stage {stage} of the trial has the history columns {_shortened(other.names)} and the "
                    f"actions {list(other.labels)}, the learner was fitted on {_shortened(mine.names)} and "
                    f"{list(mine.labels)}; use the same columns in the same order"
                )

    def predict(self, history: Any, stage: int | str = 1) -> np.ndarray:
        """Recommended action for each row of a history.

        Parameters
        ----------
        history : data frame, Arrow table, dict of columns, path of a file, array or TrialData
            A table needs the selected columns only; an array needs all columns of the stage's history, in
            the order of ``history_names_in_[stage - 1]``.
        stage : int or str, default=1
            Counted from 1, or its name.

        Returns
        -------
        (n,) array
        """
        t, rows = self._history(history, stage)
        return np.array(self._frames[t].labels)[self._decide(t, rows)]

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        trial: TrialData | None = None,
        random_state: RandomState = None,
    ) -> Summary:
        """Account of the fit and, where a trial is given, of what the regime is worth to its subjects.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it, whole or not at all: the name ends in .html, .md or .json.
        trial : TrialData, optional
            Best of subjects that took no part in `fit`, with the same columns and actions. The value is that
            of :func:`regime_value` with its defaults, at the learner's ``level``.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the folds of that value.

        Returns
        -------
        Summary
            As `summary` gives it, with one more section.
        """
        return self._written(path, lambda: self._report_on(trial, random_state))

    def _report_on(self, trial: TrialData | None, random_state: RandomState) -> dict[str, Any]:
        report = self._report()
        if trial is not None:
            value, observed = self._value_on(checked := check_trial(trial), random_state)
            section = value_section(value, observed, checked.n_subjects)
            report["answer"] = answer_of(self, value, observed)
            report["sections"] = [section, *report["sections"]]
        return report

    def _value_on(self, trial: TrialData, random_state: RandomState) -> tuple[RegimeValue, RegimeValue]:
        self._check_same(trial)
        rng = as_generator(random_state)
        evaluation = Evaluation(trial, self.discount, self._sign, _FOLDS, rng)
        decide = feasible_only(self._decide_for(trial), trial)
        with jobs(self.n_jobs):
            value = estimate_value(evaluation, [decide], "dr", "anova", self.level, rng)
        return value, observed_value(trial, self.discount, self.level)

    def _report(self) -> dict[str, Any]:
        return report_of(self, self._seconds, self._n_subjects, self._notes, self._value_notes())

    def _value_notes(self) -> list[str]:
        """What makes ``value_`` too good."""
        return [] if self._selected_anew else selected_from_few(self, self._n_subjects)

    def _marks(self) -> Marks:
        """What the fit says of each history column, for `rlselect.report.side_by_side`."""
        return marks_of(self)


def _slow(machines: Sequence[StageMachine]) -> bool:
    """Whether refits take long, as those of forests and of the kernel matrices of many subjects do."""
    return not all(m.uses_kernel and (m.explicit or not many(len(m.y))) for m in machines)


def _names(machine: StageMachine, chosen: StageSelection) -> list[str]:
    return [machine.encoder.names[g] for g in chosen.groups]


def _shortened(names: list[str]) -> list[str]:
    return names if len(names) <= 8 else [*names[:8], "..."]


def _last_steps(path: EliminationPath | None, machine: StageMachine) -> np.ndarray:
    """When each history column left the elimination (c,); -1 for those that were not in it."""
    encoder = machine.encoder
    steps = np.full(len(encoder.columns), -1)
    if path is not None:
        steps[encoder.varies[path.order]] = np.arange(len(path.order))
    return steps


def _path_table(path: EliminationPath | None, names: list[str]) -> dict[str, np.ndarray] | None:
    """An elimination as equally long arrays, one entry per set of columns on its way."""
    if path is None:
        return None
    steps = [0, *(path.sizes[0] - size for size in path.sizes)]
    gone = np.empty(len(path.sizes), dtype=object)
    for k in range(len(gone)):
        gone[k] = tuple(names[g] for g in path.order[steps[k] : steps[k + 1]])
    table = {"n_features": np.array(path.sizes), "objective": np.array(path.objective), "eliminated": gone}
    if len(path.losses):
        table["risk"] = np.array([float(path.weights @ loss / path.weights.sum()) for loss in path.losses])
    return table
