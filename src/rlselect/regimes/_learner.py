"""What all learners of regimes share: parameters, the backward pass, predictions and the value."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import Estimator
from rlselect._parallel import jobs
from rlselect.regimes._report import report_of
from rlselect.regimes._rules import Regime, StageRule, summarise_rule
from rlselect.regimes._tables import Table
from rlselect.regimes._tailoring import find_tailoring
from rlselect.regimes._trial import HistoryColumn, StageData, TrialData, check_stage
from rlselect.regimes._value import Evaluation, best_feasible, cross_fitted, from_scores, regime_value

__all__ = ["BackwardLearner", "read_history"]

logger = logging.getLogger("rlselect")
_MODELS = ("auto", "anova", "rbf", "linear", "trees")
_SELECTIONS = ("loo", "rfe", "rfe-test", "rfe-vpred", None)
# Decision features are compared on fewer folds than the value is estimated on, whose folds should learn
# regimes as good as the one from all subjects.
_FOLDS, _VALUE_FOLDS = 5, 10


class BackwardLearner(Estimator):
    """Base of the learners: stages are learnt last first, each on what follows it."""

    def __init__(
        self,
        *,
        model="auto",
        selection="loo",
        discount=1.0,
        maximize=True,
        n_jobs=None,
        random_state=None,
    ):
        self.model = model
        self.selection = selection
        self.discount = discount
        self.maximize = maximize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        named = isinstance(self.model, str)
        if (named and self.model not in _MODELS) or (not named and not hasattr(self.model, "fit")):
            raise ValueError(
                f"model={self.model!r} is not known; use one of {list(_MODELS)} or a scikit-learn regressor"
            )
        if self.selection not in _SELECTIONS:
            raise ValueError(f"selection={self.selection!r} is not known; use one of {list(_SELECTIONS)}")
        if not (isinstance(self.discount, (int, float)) and 0.0 <= self.discount <= 1.0):
            raise ValueError(f"discount={self.discount!r} must be a number between 0 and 1")
        if not isinstance(self.maximize, (bool, np.bool_)):
            raise ValueError(f"maximize={self.maximize!r} must be True (large rewards are good) or False")

    @with_callbacks
    def fit(self, trial: TrialData, y: Any = None) -> "BackwardLearner":
        """Learn a regime from a trial.

        Parameters
        ----------
        trial : TrialData
        y : ignored
            Rewards are part of the trial.

        Notes
        -----
        Scikit-learn's callbacks hear of each stage that is learnt, of each whose decision features are found,
        and of the value; a wish to stop is not followed, since a regime without some of its stages is none.
        A fit that fails or is interrupted leaves the learner as it was.
        """
        if not isinstance(trial, TrialData):
            raise TypeError(
                f"fit takes a TrialData, got {type(trial).__name__}; build one with "
                "TrialData.from_wide(frame, "
                "stages=[...]) or TrialData.from_long(frame, ...)"
            )
        start, before = time.perf_counter(), dict(self.__dict__)
        progress = Progress(self)
        progress.begin(2 * trial.n_stages + 1)
        try:
            self._fit_rows(trial, np.ones(trial.n_subjects, dtype=bool), value=True, told=progress.part)
        except BaseException:
            # stages of a new regime beside those of an old one would be neither
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._seconds = time.perf_counter() - start
        progress.finish()
        return self

    def _fit_rows(
        self, trial: TrialData, rows: np.ndarray, value: bool, told: Callable[[], Any] = bool
    ) -> "BackwardLearner":
        """Learn from some subjects; the value and the decision features only where asked.

        `told` is called whenever a part is done.
        """
        self._check_parameters()
        rng = np.random.default_rng(self.random_state)
        self._sign = 1.0 if self.maximize else -1.0
        evaluation = Evaluation(trial, self.discount, self._sign, _FOLDS, rng)
        self._stages = [_Frame(stage) for stage in trial.stages]
        self.n_stages_ = trial.n_stages
        self._machines: list[Any] = [None] * trial.n_stages
        self._selections: list[Any] = [None] * trial.n_stages
        with jobs(self.n_jobs):
            self._learn(trial, evaluation, rows, rng, told)
            self._describe_selection(trial)
            if value:
                self._describe_decisions(trial, evaluation, told)
                self._estimate_value(trial, evaluation)
                self.observed_ = regime_value(trial, "observed", discount=self.discount)
                told()
        return self

    def _learn(self, trial, evaluation, rows, rng, told):
        future = np.zeros(trial.n_subjects)
        for t in reversed(range(trial.n_stages)):
            stage = trial.stages[t]
            mine = np.flatnonzero(stage.present & rows & ~evaluation.lost(t))
            if len(mine) < 4:
                raise ValueError(
                    f"stage {t + 1} has {len(mine)} subject(s) to learn from; at least 4 are needed"
                )
            y = self._sign * stage.reward + self.discount * future
            weights = 1.0 / evaluation.remaining[t][mine]
            chances = trial.action_probabilities(t + 1)
            places = np.searchsorted(np.flatnonzero(stage.present), mine)
            machine, chosen = self._fit_stage(stage, mine, y[mine], weights, chances[places], rng)
            following = self._selected_names(t + 1) if t + 1 < trial.n_stages else None
            machine, chosen = self._settle(machine, chosen, following)
            self._machines[t], self._selections[t] = machine, chosen
            self._machines[t].rows = mine
            future = self._next_values(stage, t, y)
            logger.debug("stage %d: %s", t + 1, self._selections[t].reason)
            told()

    def _fit_stage(self, stage, rows, y, weights, chances, rng):
        raise NotImplementedError

    def _settle(self, machine: Any, chosen: Any, needed_next: list[str] | None) -> tuple[Any, Any]:
        """The stage once it is known which columns the next one needs (None at the last)."""
        return machine, chosen

    def _selected_names(self, t: int) -> list[str]:
        return [self._machines[t].encoder.names[g] for g in self._selections[t].groups]

    def _next_values(self, stage: StageData, t: int, y: np.ndarray) -> np.ndarray:
        """Value of the stage for everyone present, 0 for others."""
        values = np.zeros(len(stage.action))
        here = np.flatnonzero(stage.present)
        q = self._machines[t].q_values(stage.history[here])
        chosen = best_feasible(q, stage.allowed(stage.history[here]))
        values[here] = q[np.arange(len(q)), chosen]
        return values

    def _describe_selection(self, trial):
        self.model_ = [getattr(m, "kind", None) for m in self._machines]
        self.selected_, self.path_, self.stop_reason_ = [], [], []
        for t, (machine, chosen) in enumerate(zip(self._machines, self._selections, strict=True)):
            self.selected_.append(self._selected_names(t))
            self.path_.append(_path_table(chosen.path, machine.encoder.names))
            self.stop_reason_.append(chosen.reason)

    def _describe_decisions(self, trial, evaluation, told):
        self.tailoring_, self.prognostic_, self.tailoring_path_, rules = [], [], [], []
        for t, stage in enumerate(trial.stages):
            machine = self._machines[t]
            rows = machine.rows
            history = stage.history[rows]
            allowed = stage.allowed(history)
            found = find_tailoring(
                machine,
                history,
                stage.action[rows],
                evaluation.taken[t][rows],
                allowed,
                evaluation.splits[:, rows],
            )
            names = [] if found is None else [machine.encoder.names[g] for g in found.groups]
            self.tailoring_.append(names)
            self.prognostic_.append([name for name in self.selected_[t] if name not in names])
            self.tailoring_path_.append(found)
            rules.append(self._rule(t, stage, history, allowed))
            told()
        self.regime_ = Regime(rules)

    def _rule(self, t: int, stage: StageData, history: np.ndarray, allowed: np.ndarray) -> StageRule:
        """A readable rule on the decision columns of a stage."""
        q = self._machines[t].q_values(history)
        places = [j for j, column in enumerate(stage.columns) if column.name in self.tailoring_[t]]
        columns, chosen = [stage.columns[j] for j in places], best_feasible(q, allowed)
        return summarise_rule(t + 1, columns, history[:, places], q, chosen, stage.labels)

    def _estimate_value(self, trial, evaluation):
        splits = evaluation.splits_into(_VALUE_FOLDS)
        if not all(machine.uses_kernel for machine in self._machines):
            # Refits of forests and the like take long.
            splits = splits[:1]
        scores = cross_fitted(evaluation, self._machines, [None], "dr", splits)
        self.value_ = from_scores(scores, "dr", 0.95)

    def _decide(self, t: int, history: np.ndarray) -> np.ndarray:
        q = self._machines[t].q_values(history)
        return best_feasible(q, self._stages[t].allowed(history))

    def _history(self, history: Any, stage: int) -> tuple[int, np.ndarray]:
        check_is_fitted(self, "n_stages_")
        t = check_stage(stage, self.n_stages_) - 1
        if isinstance(history, TrialData):
            self._check_same(history)
            data = history.stage(stage)
            return t, data.history[data.present]
        return t, read_history(history, self._stages[t], self.selected_[t])

    def _check_same(self, trial: TrialData) -> None:
        """Refuse a trial whose stages, columns or actions are not those of the fitted one."""
        if trial.n_stages != self.n_stages_:
            raise ValueError(
                f"the trial has {trial.n_stages} stage(s), the learner was fitted on {self.n_stages_}"
            )
        for number, (mine, other) in enumerate(zip(self._stages, trial.stages, strict=True), start=1):
            if mine.columns != other.columns or mine.labels != other.labels:
                raise ValueError(
                    f"stage {number} of the trial has the history columns {_names(other)} and the actions "
                    f"{list(other.labels)}, the learner was fitted on {_names(mine)} and "
                    f"{list(mine.labels)}; use the same columns in the same order"
                )

    def predict(self, history: Any, stage: int = 1) -> np.ndarray:
        """Recommended action for each row of a history.

        Parameters
        ----------
        history : data frame, dict of columns, array or TrialData
            A table needs the selected columns only; an array needs all columns of the stage's history, in
            the order of ``TrialData.history(stage)``.
        stage : int, default=1
            Counted from 1.
        """
        t, rows = self._history(history, stage)
        return np.array(self._stages[t].labels)[self._decide(t, rows)]

    def _report(self) -> dict[str, Any]:
        return report_of(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_stages_") and hasattr(self, "selected_")


def _names(stage: Any) -> list[str]:
    names = [column.name for column in stage.columns]
    return names if len(names) <= 8 else [*names[:8], "..."]


class _Frame:
    """What remains of a stage once a learner is fitted: names, labels and feasibility, no data."""

    def __init__(self, stage: StageData) -> None:
        self.columns, self.labels, self._feasible = stage.columns, stage.labels, stage.feasible

    def allowed(self, history: np.ndarray) -> np.ndarray:
        """Feasible actions of each row."""
        if self._feasible is None:
            return np.ones((len(history), len(self.labels)), dtype=bool)
        blank = np.empty(0)
        whole = StageData(self.columns, blank, self.labels, blank, blank, blank, self._feasible, None, ())
        return whole.allowed(history)


def read_history(history: Any, stage: _Frame, needed: list[str]) -> np.ndarray:
    """A user's history as an array; past actions and categories become positions among their labels."""
    columns = stage.columns
    if isinstance(history, np.ndarray) or (isinstance(history, list) and not isinstance(history, Mapping)):
        values = np.asarray(history)
        if values.ndim != 2 or values.shape[1] != len(columns):
            raise ValueError(
                f"the history has shape {values.shape}; this stage needs {len(columns)} columns: "
                f"{[column.name for column in columns][:8]} ... Give a table to use the selected ones only"
            )
        table = Table({column.name: values[:, j] for j, column in enumerate(columns)})
    else:
        table = Table(history)
    wanted = set(needed) if stage._feasible is None else {column.name for column in columns}
    encoded = np.zeros((table.n_rows, len(columns)))
    for j, column in enumerate(columns):
        if column.name in wanted or column.name in table.names:
            encoded[:, j] = _read_column(table, column)
    return encoded


def _read_column(table: Table, column: HistoryColumn) -> np.ndarray:
    if not column.labels:
        values = table.number(column.name, "history")
        if not np.isfinite(values).all():
            raise ValueError(f"the history column {column.name!r} holds NaN or infinite values; impute them")
        return values
    place = {label: position for position, label in enumerate(column.labels)}
    labels = table.labels(column.name, "history")
    unknown = sorted({str(label) for label in labels if label not in place})
    if unknown:
        what = "past action" if column.kind == "action" else "category"
        raise ValueError(
            f"the {what} {column.name!r} holds {unknown}; it was one of {list(column.labels)} in the trial"
        )
    return np.array([place[label] for label in labels], dtype=float)


def _path_table(path: Any, names: list[str]) -> dict[str, Any] | None:
    """An elimination as plain arrays, for displays and tables."""
    if path is None:
        return None
    table: dict[str, Any] = {
        "n_features": np.array(path.sizes),
        "objective": np.array(path.objective),
        "eliminated": [names[g] for g in path.order],
    }
    if len(path.losses):
        table["risk"] = np.array([float(path.weights @ loss / path.weights.sum()) for loss in path.losses])
    return table
