"""Stage machines of many subjects: the same kernels on explicit columns, at a cost linear in subjects."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlselect._clock import stop_if_late, undisturbed
from rlselect._limits import seconds_for
from rlselect.machines import ColumnProblem
from rlselect.regimes._action_columns import ActionColumns
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._stage_machine import ANOVA_WIDTH, StageMachine
from rlselect.regimes._stage_rfe import StageRFE

__all__ = ["ByColumns", "ColumnMachine", "columns_of", "columns_pay", "many", "seconds_of_columns"]

# Subjects from which explicit columns are used where there are not more of them than subjects; before, where
# there are at most half as many.
_MANY = 500
# columns of a covariate, and of its product with a code
_DIMENSIONS = 8
# what making a cell and adding its products up takes, in operations of matrix products
_CELL = 3000.0


def columns_pay(encoder: HistoryEncoder, n_subjects: int, kind: Any, paper: StageRFE | None) -> bool:
    """Whether a stage is learnt faster from explicit columns than from kernel matrices."""
    if paper is not None or kind not in ("anova", "linear"):
        return False
    return columns_of(encoder, kind) <= (n_subjects if many(n_subjects) else n_subjects // 2)


def many(n_subjects: int) -> bool:
    """Whether kernel matrices are too slow for all but few columns to be worth a choice."""
    return n_subjects >= _MANY


def seconds_of_columns(encoder: HistoryEncoder, n_subjects: int, kind: Any) -> float:
    """About how long it takes to make all columns of a stage once and to add them up."""
    return seconds_for(_CELL * float(n_subjects) * columns_of(encoder, kind))


def columns_of(encoder: HistoryEncoder, kind: Any, groups: Sequence[int] | None = None) -> int:
    """Number of columns of a stage, of some groups or of all."""
    mine = range(len(encoder.groups)) if groups is None else groups
    past = sum(len(encoder.groups[g]) for g in mine if encoder.past[g])
    each = (1 if kind in ("linear", "lines") else _DIMENSIONS) * (1 + len(encoder.action) + past)
    return each * len(mine)


class ByColumns(StageMachine):
    """Replaces kernel matrices by columns in any machine with an action-ANOVA kernel."""

    explicit = True
    design: ActionColumns
    _columns: np.ndarray | None = None

    def _make_design(self) -> ActionColumns:
        e = self.encoder
        width = ANOVA_WIDTH if self.kind == "anova" else None
        return ActionColumns(self.X, e.groups, e.past, e.action, width)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_columns": None}

    @property
    def columns(self) -> np.ndarray:
        """Columns of the training rows, known since they were first asked for."""
        if self._columns is None:
            if not hasattr(self, "design"):
                self.design = self._make_design()
            self._columns = self.design(self.X)
        return self._columns

    def make_problem(self, groups: Sequence[int] | None = None, tune: bool = True) -> ColumnProblem:
        """Squared-loss problem on some groups, or on all, tuned on them if asked."""
        problem = self._problem_on(groups)
        self.tuner = self._make_tuner()
        if tune:
            self.tuner.tune(problem)
        return problem

    def _problem_on(self, groups: Sequence[int] | None) -> ColumnProblem:
        """Problem on some groups, or on all, not tuned; others leave before anything is added up."""
        columns = self.columns
        return self.design.problem(columns, self.y, self.weights, groups)

    def on_rows(self, rows: np.ndarray) -> StageMachine:
        """The same kind of machine on some of the rows, not fitted; what is known of columns is shared."""
        other = self._like(self.X[rows], self.y[rows], self.weights[rows], self.subjects[rows])
        assert isinstance(other, ByColumns)
        columns = self.columns
        other.design, other._columns = self.design, columns[rows]
        return other

    def on_groups(self, groups: Sequence[int]) -> StageMachine:
        """The same kind of machine fitted on other groups, with parameters tuned for them."""
        stop_if_late()
        other = self._like(self.X, self.y, self.weights, self.subjects)
        assert isinstance(other, ByColumns)
        columns = self.columns
        other.design, other._columns = self.design, columns
        return other.fit(sorted(groups))

    def fit(self, groups: Sequence[int]) -> StageMachine:
        """Fit on some groups, with parameters tuned for them."""
        self.groups = list(groups)
        problem = self.make_problem(groups)
        with undisturbed():
            problem.refresh()
        self.loo_risk, self.losses = self.risk(problem), problem.losses
        self._take(problem)
        return self

    def _refit(self, rows: np.ndarray, y: np.ndarray) -> StageMachine:
        other = self.on_rows(rows)
        assert isinstance(other, ByColumns)
        other.y, other.groups = y, self.groups
        problem = other._problem_on(self.groups)
        problem.lam, problem.judged = self.lam, False
        with undisturbed():
            problem.refresh()
        other._take(problem)
        return other

    def _factor(self) -> tuple[np.ndarray, np.ndarray]:
        places = self.design.places(self.groups)
        return self.columns[:, places], np.eye(self.columns.shape[1])[:, places]

    def _take(self, problem: ColumnProblem) -> None:
        """Keep what predictions need."""
        self.lam = problem.lam
        self.coefficients, self.intercept = problem.solution()

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Q-function of encoded rows."""
        mine = self.coefficients[self.design.places(self.groups)]
        return self._limited(self.design(X, self.groups) @ mine + self.intercept)


class ColumnMachine(ByColumns):
    """A Q-function on explicit columns."""
