"""The Q-function of one stage: a kernel machine or an estimator, and the elimination that thins it."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor

from rlselect._parallel import alone, run_tasks
from rlselect.machines import (
    EliminationPath,
    HeldOutProblem,
    KernelProblem,
    SquaredKernelProblem,
    SquaredLoss,
    Tuner,
    choose_size,
    eliminate,
    fold_numbers,
    paired_comparison,
    solve_machine,
)
from rlselect.regimes._anova_kernel import ActionAnovaState, KeptEstimatorProblem, KeptState
from rlselect.regimes._cross_fitted import adaptive_cycle, cross_fitted_choice, held_out_risk, one_split
from rlselect.regimes._encoding import HistoryEncoder

__all__ = [
    "StageMachine",
    "StageSelection",
    "choose_machine",
    "make_machine",
    "paper_regularization",
    "select_features",
]

ANOVA_WIDTH = 2.0
_PAPER_WIDTHS = 2.0 ** np.arange(0, 8)
SAFEGUARD = 0.05


def paper_regularization(y: np.ndarray) -> float:
    """``n lambda = 1 / C`` with ``C = max |mean(y) +- 3 sd(y)|`` of the centred response."""
    spread = 3.0 * float(np.std(y))
    return 1.0 / (len(y) * max(spread, 1e-12))


class StageSelection:
    """What an elimination chose at a stage.

    Attributes
    ----------
    groups : list of int
        Selected groups.
    path : EliminationPath or None
    reason : str
    """

    def __init__(self, groups: list[int], path: EliminationPath | None, reason: str) -> None:
        self.groups, self.path, self.reason = groups, path, reason


class StageMachine:
    """A Q-function on encoded rows.

    Parameters
    ----------
    encoder : HistoryEncoder
    X : (n, c) array
        Encoded training rows with the actions that were taken.
    y, weights : (n,) arrays
    kind : {"anova", "linear", "rbf"} or estimator
    paper : bool
        The dissertation's choice of lambda and bandwidth instead of leave-one-out.
    device : str
        Where the dissertation's eliminations from a Gaussian kernel compute.
    """

    def __init__(
        self, encoder: HistoryEncoder, X: Any, y: Any, weights: Any, kind: Any, paper: bool = False,
        device: str = "cpu",
    ) -> None:  # fmt: skip
        self.encoder, self.X, self.y, self.weights = encoder, X, y, weights
        self.kind, self.paper, self.device = kind, paper, device
        self.lam = self.bandwidth = float("nan")
        self._base: Any = None
        self._chosen: tuple | None = None

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_base": None, "_chosen": None}

    @cached_property
    def folds(self) -> np.ndarray:
        """Folds of the rows, where a model has no closed-form leave-one-out."""
        return fold_numbers(self.X, self.y)

    @property
    def uses_kernel(self) -> bool:
        """Whether this is a kernel machine."""
        return isinstance(self.kind, str)

    def make_state(self, bandwidth: float = 1.0, groups: Sequence[int] | None = None) -> Any:
        """Kernel of some groups (all of them unless told otherwise) on the training rows."""
        e = self.encoder
        if self.kind == "rbf":
            return KeptState(self.X, e.groups, e.action, bandwidth, groups)
        if self._base is None:
            # A copy that was sent elsewhere builds its own, which must be the same to the last digit.
            width = ANOVA_WIDTH if self.kind == "anova" else None
            self._base = alone(ActionAnovaState, self.X, e.groups, e.past, e.action, width)
        state = self._base.restrict()
        if groups is not None:
            state.drop([g for g in state.active if g not in set(groups)])
        return state

    def make_problem(self, groups: Sequence[int] | None = None, tune: bool = True) -> Any:
        """Squared-loss problem on some groups (all of them unless told otherwise), tuned on them if asked.

        The dissertation's parameters are those of all groups whatever the groups.
        """
        if not self.uses_kernel:
            return self._estimator_problem(groups)
        problem = SquaredKernelProblem(
            self.make_state(groups=groups), self.y[:, None], self.weights, SquaredLoss(), 1.0, True, None
        )
        problem.hasty = not self.paper
        if self.paper:
            problem.lam, problem.bandwidth = self._paper_parameters()
            return problem
        self.tuner = self._make_tuner()
        if tune:
            self.tuner.tune(problem)
        return problem

    def _estimator_problem(self, groups):
        problem = KeptEstimatorProblem(
            self.kind, self.X, self.y, self.y[:, None], self.weights, SquaredLoss(),
            self.encoder.groups, self.folds, kept=self.encoder.action,
        )  # fmt: skip
        if groups is not None:
            problem.drop([g for g in list(problem.active) if g not in set(groups)])
        return problem

    def _paper_parameters(self):
        """The dissertation's lambda, and the bandwidth it chooses by five folds: once for a response."""
        if self._chosen is None or self._chosen[0] is not self.y:
            self.tuner = self._make_tuner()
            judge = KernelProblem(
                self.make_state(), self.y[:, None], self.weights, SquaredLoss(), 1.0, True, self.folds
            )
            self.tuner.tune(judge)
            self._chosen = (self.y, judge.lam, judge.bandwidth)
        return self._chosen[1:]

    def _width(self, problem):
        """Number of columns a problem's kernel sees."""
        return sum(len(self.encoder.groups[g]) for g in problem.active) + len(self.encoder.action)

    def _make_tuner(self):
        lam: Any = paper_regularization(self.y) if self.paper else "auto"
        tuner = Tuner(
            lam, "auto", self.weights.sum(), self.kind == "rbf", self._width, squared=True, every_lambda=True
        )
        if self.paper and self.kind == "rbf":
            tuner.relative, tuner.once, tuner.widths = False, True, _PAPER_WIDTHS
        return tuner

    def on_rows(self, rows: np.ndarray) -> "StageMachine":
        """The same kind of machine on some of the rows, not fitted; what is known of columns is shared."""
        other = type(self)(
            self.encoder, self.X[rows], self.y[rows], self.weights[rows], self.kind, self.paper
        )
        if self.uses_kernel and self.kind != "rbf":
            other._base = self.make_state().restrict(rows)
        return other

    def risk(self, problem: Any) -> float:
        """Out-of-sample risk of the problem's present set."""
        return float(problem.judged_weights @ problem.losses / problem.judged_weights.sum())

    def risk_with(self, groups: Sequence[int]) -> float:
        """Out-of-sample risk of other groups with the parameters of this machine."""
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
            self.columns = problem._columns(self.groups)
            self.estimator = problem.fit(self.columns, np.arange(len(self.y)))
            return self
        if not self.paper:
            self.tuner.tune(problem)
        problem.refresh()
        self.loo_risk, self.losses = self.risk(problem), problem.losses
        self.lam, self.bandwidth, self.state = problem.lam, problem.bandwidth, problem.state
        self.coefficients = problem.coefficients
        remainder = self.y - problem.gram @ problem.coefficients - problem.ridge * problem.coefficients
        self.intercept = float(remainder.mean())
        return self

    def on_groups(self, groups: Sequence[int]) -> "StageMachine":
        """The same kind of machine fitted on other groups, with parameters tuned for them."""
        other = type(self)(self.encoder, self.X, self.y, self.weights, self.kind, self.paper)
        other._base = self._base
        return other.fit(sorted(groups))

    def refit(self, rows: np.ndarray, y: np.ndarray) -> "StageMachine":
        """The same machine with the same parameters on some of the rows and another response."""
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

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Q-function of encoded rows."""
        if not self.uses_kernel:
            return np.asarray(self.estimator.predict(X[:, self.columns]), dtype=float)
        return self.state.cross(X, self.groups) @ self.coefficients + self.intercept

    def q_values(self, history: np.ndarray) -> np.ndarray:
        """Q-function of rows of a history under each action: (m, K) array."""
        return np.column_stack([self.predict(X) for X in self.encoder.each_action(history)])


def make_machine(
    encoder: HistoryEncoder, X: Any, y: Any, weights: Any, model: Any, paper: bool, random_state: Any,
    device: str = "cpu",
) -> StageMachine:  # fmt: skip
    """Stage machine from the ``model`` parameter ("auto" is resolved by the caller)."""
    if model == "trees":
        model = ExtraTreesRegressor(n_estimators=200, min_samples_leaf=3, random_state=random_state)
    return StageMachine(encoder, X, y, weights, model, paper, device)


def select_features(
    machine: StageMachine, selection: str | None, rng: np.random.Generator,
    path: EliminationPath | None = None, first: tuple | None = None,
) -> StageSelection:  # fmt: skip
    """Choose groups of a stage: leave-one-out, Algorithm 25 or Algorithm 27.

    ``path`` and ``first`` are the elimination of "loo" and its first split, where they are known already.
    """
    n_groups = len(machine.encoder.groups)
    if selection is None or n_groups == 0:
        return StageSelection(list(range(n_groups)), None, "all history columns are kept")
    if np.ptp(machine.y) <= 1e-12 * np.abs(machine.y).max():
        return StageSelection([], None, "the response is the same for everyone: no history column is needed")
    if selection == "rfe-test":
        path, _ = _held_out_path(machine, rng)
        size, reason = choose_size("held-out", path, "squared")
        # Algorithm 26 ends with one column left.
        size = max(size, 1)
    else:
        path = elimination(machine, selection) if path is None else path
        if selection == "loo" and machine.uses_kernel and n_groups > 1:
            groups, reason = cross_fitted_choice(machine, path, rng, first)
            return StageSelection(groups, path, reason)
        rule = "loo-2se" if selection == "loo" or n_groups < 4 else "change-point"
        size, reason = choose_size(rule, path, "squared")
    if selection != "loo":
        size = min(n_groups, size + int(SAFEGUARD * n_groups))
        reason += f", and {int(SAFEGUARD * n_groups)} more as a safeguard"
    kept = path.order[::-1][:size]
    return StageSelection(sorted(kept), path, reason)


def elimination(machine: StageMachine, selection: str) -> EliminationPath:
    """Elimination on all rows: one group at a time for Algorithm 25, several at first for ours."""
    problem = machine.make_problem()
    ours = selection == "loo"
    if not ours:
        problem = _where_told(problem, machine)
    retune = machine.tuner.again if machine.uses_kernel and ours else None
    return eliminate(problem, adaptive_cycle if ours or not machine.uses_kernel else lambda left: 1, retune)


def _where_told(problem, machine):
    """The problem with its removals on the machine's device, which Gaussian kernels alone know to use."""
    if machine.device == "cpu" or machine.kind != "rbf":
        return problem
    from rlselect.regimes._torch_elimination import on_device

    return on_device(problem, machine.device)


def choose_machine(
    machines: Sequence[StageMachine], selection: str | None, rng: np.random.Generator
) -> tuple[StageMachine, StageSelection]:
    """The machine with the smallest leave-one-out risk after selection, fitted, and its selection.

    With "loo" the families are compared on their eliminations, and only the winner's size is judged on folds.
    A Gaussian kernel on everything searches among all interactions, and what looks best on the way of its
    elimination is the less reliable for it: it must win on the same folds as well.
    """
    path = first = None
    if len(machines) > 1 and selection == "loo" and machines[0].encoder.groups:
        paths = run_tasks(elimination, ((machine, selection) for machine in machines))
        ranked = _rank_families([machine.kind for machine in machines], paths)
        if machines[ranked[0]].kind == "rbf":
            seed = int(rng.integers(2**31))
            splits = [one_split(machines[f], np.random.default_rng(seed)) for f in ranked[:2]]
            risks = [
                held_out_risk(paths[f], losses, machines[f].weights)
                for f, (losses, _) in zip(ranked[:2], splits, strict=True)
            ]
            winner = int(risks[1] <= risks[0])
            first, ranked = splits[winner], [ranked[winner]]
        machines, path = [machines[ranked[0]]], paths[ranked[0]]
    best: Any = None
    for machine in machines:
        chosen = select_features(machine, selection, rng, path, first)
        machine.fit(chosen.groups)
        if best is None or machine.loo_risk < best[0].loo_risk:
            best = (machine, chosen)
    return best


def _rank_families(kinds: Sequence[str], paths: Sequence[EliminationPath]) -> list[int]:
    """Families by their leave-one-out risk, each at the size with the smallest ``n log(risk) + 2 k log d``.

    A Gaussian kernel comes first only if it is better by more than a paired standard error.
    """
    losses, weights = [], paths[0].weights
    for path in paths:
        risk = np.array(path.losses) @ weights / weights.sum()
        price = 2.0 * np.array(path.sizes) * np.log(max(path.sizes[0], 2))
        best = int(np.argmin(len(weights) * np.log(np.maximum(risk, 1e-300)) + price))
        losses.append(path.losses[best])
    compared = paired_comparison(EliminationPath(losses=losses, weights=weights))
    order = np.argsort(compared["risk"], kind="stable").tolist()
    near = compared["difference"][order[1]] <= compared["difference_standard_error"][order[1]]
    return [order[1], order[0], *order[2:]] if kinds[order[0]] == "rbf" and near else order


def _held_out_path(machine, rng):
    n = len(machine.y)
    order = rng.permutation(n)
    train, test = np.sort(order[: (n + 1) // 2]), np.sort(order[(n + 1) // 2 :])
    if not machine.uses_kernel:
        problem: Any = KeptEstimatorProblem(
            machine.kind, machine.X, machine.y, machine.y[:, None], machine.weights, SquaredLoss(),
            machine.encoder.groups, machine.folds, train=train, test=test, kept=machine.encoder.action,
        )  # fmt: skip
    else:
        problem = HeldOutProblem(
            machine.make_state(), machine.y[:, None], machine.weights, SquaredLoss(), 1.0, True,
            train, test, machine.folds,
        )  # fmt: skip
        machine._make_tuner().tune(problem)
        if machine.paper:
            problem.lam = paper_regularization(machine.y[train])
    return eliminate(_where_told(problem, machine), lambda left: 1), problem
