"""The Q-function of one stage: a kernel machine or an estimator on encoded rows."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from rlselect._clock import stop_if_late
from rlselect._parallel import alone
from rlselect.machines import (
    EstimatorProblem,
    HeldOutProblem,
    KernelProblem,
    KernelState,
    SquaredKernelProblem,
    SquaredLoss,
    Tuner,
    fold_numbers,
    solve_machine,
)
from rlselect.regimes._anova_kernel import ActionAnovaState, KeptState
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._own_loss import ResponseLink, fit_linked
from rlselect.regimes._stage_rfe import StageRFE

__all__ = ["ANOVA_WIDTH", "StageMachine", "paper_regularization", "within_reach"]

ANOVA_WIDTH = 2.0
# share of the largest eigenvalue of a kernel matrix below which others are rounding
_ROUNDING = 1e-10


def paper_regularization(y: np.ndarray) -> float:
    """``n lambda = 1 / C`` with ``C = max |mean(y) +- 3 sd(y)|`` of the centred response."""
    spread = 3.0 * float(np.std(y))
    return 1.0 / (len(y) * max(spread, 1e-12))


def within_reach(fitted: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predictions, cut off half a range beyond the responses they were learnt from.

    A smooth machine with hardly any regularisation may say anything of a row that lies outside of the others.
    """
    low, high = y.min(), y.max()
    reach = 0.5 * (high - low)
    return np.clip(fitted, low - reach, high + reach)


class StageMachine:
    """A Q-function on encoded rows.

    Parameters
    ----------
    encoder : HistoryEncoder
    X : (n, c) array
        Encoded training rows with the actions that were taken.
    y, weights : (n,) arrays
    kind : {"anova", "linear", "rbf"} or estimator
    paper : StageRFE, optional
        The dissertation's choice of lambda and bandwidth instead of leave-one-out.
    device : str
        Where the dissertation's eliminations from a Gaussian kernel compute.
    subjects : (n,) int array, optional
        Numbers of the training rows among all subjects of the trial.

    Attributes
    ----------
    groups : list of int
        History columns it was fitted on, by their number in the encoder.
    loo_risk : float
        Out-of-sample risk of the fit.
    link : ResponseLink or None
        Of a Q-function that was fitted by the loss of its response.
    explicit : bool
        Whether it works on columns rather than on kernel matrices.
    changes : array or None
        By group of the encoder: how probable it is that some action changes with it, where a fit says it.
    deciding : list of int or None
        Groups with which some action changes, where a fit says it.
    """

    explicit = False
    groups: list[int]
    loo_risk: float
    losses: np.ndarray
    tuner: Tuner
    link: ResponseLink | None = None
    changes: np.ndarray | None = None
    deciding: list[int] | None = None

    def __init__(
        self,
        encoder: HistoryEncoder,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        kind: Any,
        *,
        paper: StageRFE | None = None,
        device: str = "cpu",
        subjects: np.ndarray | None = None,
    ) -> None:
        self.encoder, self.X, self.y, self.weights = encoder, X, y, weights
        self.kind, self.paper, self.device = kind, paper, device
        self.subjects = np.arange(len(y)) if subjects is None else subjects
        self.lam = self.bandwidth = float("nan")
        self._base: ActionAnovaState | None = None
        self._chosen: tuple[np.ndarray, float, float] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_base": None, "_chosen": None}

    @cached_property
    def folds(self) -> np.ndarray:
        """Folds of the rows, where a model has no closed-form leave-one-out."""
        return fold_numbers(self.X, self.y)

    @property
    def uses_kernel(self) -> bool:
        """Whether this is a kernel machine."""
        return isinstance(self.kind, str)

    def _gaussian_state(self, bandwidth: float, groups: Sequence[int] | None) -> KernelState:
        """Gaussian kernel of some groups, or of all, on the training rows."""
        return KeptState(self.X, self.encoder.groups, self.encoder.action, bandwidth, groups)

    def _anova_state(self, width: float | None) -> ActionAnovaState:
        """Sum of kernels of all groups on the training rows."""
        e = self.encoder
        return ActionAnovaState(self.X, e.groups, e.past, e.action, width)

    def make_state(self, bandwidth: float = 1.0, groups: Sequence[int] | None = None) -> KernelState:
        """Kernel of some groups, or of all, on the training rows; groups may leave it."""
        if self.kind == "rbf":
            return self._gaussian_state(bandwidth, groups)
        if self._base is None:
            # A copy that was sent elsewhere builds its own, which must be the same to the last digit.
            self._base = alone(self._anova_state, ANOVA_WIDTH if self.kind == "anova" else None)
        state = self._base.restrict()
        if groups is not None:
            state.drop([g for g in state.active if g not in set(groups)])
        return state

    def make_problem(self, groups: Sequence[int] | None = None, tune: bool = True) -> Any:
        """Squared-loss problem on some groups, or on all, tuned on them if asked.

        The dissertation's parameters are those of all groups whatever the groups.
        """
        if not self.uses_kernel:
            problem = self._estimator_problem()
            if groups is not None:
                problem.drop([g for g in list(problem.active) if g not in set(groups)])
            return problem
        problem = self._kernel_problem(SquaredKernelProblem, self.make_state(groups=groups))
        problem.hasty = self.paper is None
        if self.paper is not None:
            problem.lam, problem.bandwidth = self._paper_parameters()
            return problem
        self.tuner = self._make_tuner()
        if tune:
            self.tuner.tune(problem)
        return problem

    def held_out_problem(self, train: np.ndarray, test: np.ndarray) -> Any:
        """Problem on all groups that learns from some rows and is judged on others, tuned on the former."""
        if not self.uses_kernel:
            return self._estimator_problem(train=train, test=test)
        problem = self._kernel_problem(HeldOutProblem, self.make_state(), train, test, self.folds)
        self._make_tuner().tune(problem)
        if self.paper is not None:
            problem.lam = paper_regularization(self.y[train])
        return problem

    def _kernel_problem(self, make: Any, state: KernelState, *more: Any) -> Any:
        problem = make(state, self.y[:, None], self.weights, SquaredLoss(), 1.0, True, *(more or (None,)))
        # a subject that counts much is one subject, and is left out whole
        problem.copies = np.ones(len(self.y))
        return problem

    def _estimator_problem(self, **rows: np.ndarray) -> "StageEstimatorProblem":
        return StageEstimatorProblem(
            self.kind,
            self.X,
            self.y,
            self.y[:, None],
            self.weights,
            SquaredLoss(),
            self.encoder.groups,
            self.folds,
            kept=self.encoder.action,
            **rows,
        )

    def _paper_parameters(self) -> tuple[float, float]:
        """The dissertation's lambda, and the bandwidth it chooses by five folds: once for a response."""
        if self._chosen is None or self._chosen[0] is not self.y:
            self.tuner = self._make_tuner()
            judge = self._kernel_problem(KernelProblem, self.make_state(), self.folds)
            self.tuner.tune(judge)
            self._chosen = (self.y, judge.lam, judge.bandwidth)
        return self._chosen[1:]

    def _width(self, problem: Any) -> int:
        """Number of columns a problem's kernel sees."""
        return sum(len(self.encoder.groups[g]) for g in problem.active) + len(self.encoder.action)

    def _make_tuner(self) -> Tuner:
        lam: Any = "auto" if self.paper is None else paper_regularization(self.y)
        tuner = Tuner(
            lam, "auto", self.weights.sum(), self.kind == "rbf", self._width, squared=True, every_lambda=True
        )
        if self.paper is not None and self.kind == "rbf":
            tuner.relative, tuner.once, tuner.widths = False, True, np.asarray(self.paper.bandwidths)
        return tuner

    def on_rows(self, rows: np.ndarray) -> "StageMachine":
        """The same kind of machine on some of the rows, not fitted; what is known of columns is shared."""
        other = self._like(self.X[rows], self.y[rows], self.weights[rows], self.subjects[rows])
        if self.uses_kernel and self.kind != "rbf":
            self.make_state()
            assert self._base is not None
            other._base = self._base.restrict(rows)
        return other

    def _like(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, subjects: np.ndarray
    ) -> "StageMachine":
        return type(self)(self.encoder, X, y, weights, self.kind, paper=self.paper, subjects=subjects)

    def risk(self, problem: Any) -> float:
        """Out-of-sample risk of the problem's present set."""
        return float(problem.judged_weights @ problem.losses / problem.judged_weights.sum())

    def risk_with(self, groups: Sequence[int]) -> float:
        """Out-of-sample risk of other groups with the parameters of this machine."""
        stop_if_late()
        problem = self.make_problem(groups, tune=False)
        problem.lam = self.lam
        problem.refresh()
        return self.risk(problem)

    def fit(self, groups: Sequence[int]) -> "StageMachine":
        """Fit on some groups, with parameters tuned for them."""
        self.groups = list(groups)
        problem = self.make_problem(groups, tune=False)
        if not self.uses_kernel:
            problem.refresh()
            self.loo_risk = self.risk(problem)
            self.columns = problem.columns_of(self.groups)
            self.estimator = problem.fit(self.columns, np.arange(len(self.y)))
            return self
        if self.paper is None:
            self.tuner.tune(problem)
        problem.refresh()
        self.loo_risk, self.losses = self.risk(problem), problem.losses
        self.lam, self.bandwidth, self.state = problem.lam, problem.bandwidth, problem.state
        self.coefficients = problem.coefficients[:, 0]
        remainder = self.y - problem.gram @ self.coefficients - problem.ridge * self.coefficients
        self.intercept = float(remainder.mean())
        return self

    def on_groups(self, groups: Sequence[int]) -> "StageMachine":
        """The same kind of machine fitted on other groups, with parameters tuned for them."""
        stop_if_late()
        other = self._like(self.X, self.y, self.weights, self.subjects)
        other._base = self._base
        return other.fit(sorted(groups))

    def refit(self, rows: np.ndarray, y: np.ndarray) -> "StageMachine":
        """The same machine with the same parameters on some of the rows and another response."""
        other = self._refit(rows, y)
        return other if self.link is None else other.by_own_loss(self.link, [self.lam])

    def _refit(self, rows: np.ndarray, y: np.ndarray) -> "StageMachine":
        other = self.on_rows(rows)
        other.y, other.groups = y, self.groups
        if not self.uses_kernel:
            other.columns = self.columns
            other.estimator = clone(self.estimator).fit(other.X[:, self.columns], y)
            return other
        other.lam, other.bandwidth = self.lam, self.bandwidth
        other.state = other.make_state(self.bandwidth, self.groups)
        solution = solve_machine(other.state.gram(), y[:, None], other.weights, self.lam, SquaredLoss())
        other.coefficients, other.intercept = solution.coefficients[:, 0], float(solution.intercept[0])
        return other

    def by_own_loss(self, link: ResponseLink, lams: Sequence[float] | None = None) -> "StageMachine":
        """Fit the chosen groups again by the loss of the response, with the best of some penalties."""
        self.link = link
        if self.uses_kernel:
            Z, back = self._factor()
            lams = self._make_tuner().lams.tolist() if lams is None else lams
            fitted = fit_linked(Z, link.to_unit(self.y), self.weights, link.family, lams)
            self.lam, self.coefficients, self.intercept = (
                fitted.lam,
                back @ fitted.coefficients,
                fitted.intercept,
            )
        return self

    def _factor(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns (n, r) whose inner product is the kernel, and what turns their coefficients into its."""
        values, vectors = np.linalg.eigh(self.state.gram())
        large = values > _ROUNDING * max(values[-1], 0.0)
        root = np.sqrt(values[large])
        return vectors[:, large] * root, vectors[:, large] / root

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Q-function of encoded rows."""
        if not self.uses_kernel:
            fitted = np.asarray(self.estimator.predict(X[:, self.columns]), dtype=float)
            return fitted if self.link is None else self.link.within(fitted)
        return self._limited(self.state.cross(X, self.groups) @ self.coefficients + self.intercept)

    def _limited(self, fitted: np.ndarray) -> np.ndarray:
        """Predictions within reach of the responses, or by their link."""
        return within_reach(fitted, self.y) if self.link is None else self.link.mean(fitted, self.y)

    def q_values(self, history: np.ndarray) -> np.ndarray:
        """Q-function of rows of a history under each action: (m, K) array."""
        each = list(self.encoder.each_action(history))
        state = getattr(self, "state", None)
        if self.uses_kernel and isinstance(state, ActionAnovaState):
            kernels = state.cross_each(each, self.groups)
            fitted = [self._limited(kernel @ self.coefficients + self.intercept) for kernel in kernels]
            return np.column_stack(fitted)
        if self.uses_kernel:
            return np.column_stack([self.predict(X) for X in each])
        # a forest takes as long for few rows as for many
        return self.predict(np.concatenate(each)).reshape(len(each), -1).T

    def values(self, q: np.ndarray, chosen: np.ndarray, taken: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What rows are worth to the stage before.

        Parameters
        ----------
        q : (m, K) array
            Of the rows, as `q_values` gives them.
        chosen : (m,) int array
            Positions of the actions that will be taken.
        taken : (m, K) array
            What was taken, as shares of the actions.
        y : (m,) array
            Their responses.
        """
        return q[np.arange(len(q)), chosen]


class StageEstimatorProblem(EstimatorProblem):
    """Any regressor on the groups and the columns that stay; importances, where it has them, order removals.

    Parameters
    ----------
    kept : int array
        Columns of the present action, which belong to no group and stay.
    """

    def __init__(self, estimator: Any, *args: Any, kept: np.ndarray, **keywords: Any) -> None:
        # Known before the base class asks for the risk of no group at all, which fits the kept columns here.
        self.kept = kept
        super().__init__(estimator, *args, **keywords)

    def columns_of(self, groups: Sequence[int]) -> np.ndarray:
        """Columns of some groups and those that stay."""
        return np.sort(np.concatenate([*(self.groups[g] for g in groups), self.kept]))

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The least important groups, by the estimator's own importances or by refitting without each."""
        columns = self.columns_of(self.active)
        fitted = self.fit(columns, self.train)
        importance = getattr(fitted, "feature_importances_", None)
        if importance is None:
            return super().removals(count)
        weight = dict(zip(columns.tolist(), np.asarray(importance), strict=True))
        shares = [sum(weight[c] for c in self.groups[g].tolist()) for g in self.active]
        order = np.argsort(shares, kind="stable")[:count]
        return [(self.active[i], float("nan")) for i in order]
