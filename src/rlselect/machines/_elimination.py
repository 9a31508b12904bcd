"""Recursive elimination: problems that know their objective and their cheapest removals, and the loop over
them.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock, OutOfTime, present_clock, stop_if_late, undisturbed, while_time
from rlselect._watch import tell
from rlselect.kernels import (
    FactoredInverse,
    best_removals,
    loo_residuals,
    loo_residuals_path,
    projected_inverse,
)
from rlselect.machines._kernels import KernelState, LinearKernel, is_nested, quadratic_forms
from rlselect.machines._losses import Loss
from rlselect.machines._solve import MachineSolution, fold_losses, solve_machine

__all__ = [
    "EliminationPath",
    "EliminationProblem",
    "HeldOutProblem",
    "KernelProblem",
    "SquaredKernelProblem",
    "TunableProblem",
    "eliminate",
]

logger = logging.getLogger("rlselect")
Array = NDArray[np.float64]
# From this many lambdas on one eigendecomposition is cheaper than a factorisation each.
_WORTH_EIGENVALUES = 5
# of the groups, however short the time: a rank among very many is too rough to leave the best ones alone
_LEAST_KEPT = 0.1
# as many of them are tried out in the time of a refit
_REMOVALS = 50
_SOON = 0.5
# of the time that is left, for another choice of parameters
_FOR_RETUNING = 0.2
# share of an objective by which a machine's may lie above the least one
_SOLVED = 1e-6


class EliminationProblem(Protocol):
    """A set of groups that can lose some, with what is known about the present set after `refresh`.

    Attributes
    ----------
    active : list of int
        Groups still in.
    objective : float
        What removals are judged by.
    losses, judged_weights : arrays
        Out-of-sample loss and weight of each judged row.
    lam, bandwidth : float
        Parameters of the machine, NaN where there are none.
    """

    @property
    def active(self) -> list[int]: ...
    @property
    def objective(self) -> float: ...
    @property
    def losses(self) -> Array: ...
    @property
    def judged_weights(self) -> Array: ...
    @property
    def lam(self) -> float: ...
    @property
    def bandwidth(self) -> float: ...

    def refresh(self) -> None:
        """Fit and judge the present set."""
        ...

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        ...

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        ...


class TunableProblem(EliminationProblem, Protocol):
    """A problem whose parameters can be chosen anew."""

    lam: float
    bandwidth: float

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Out-of-sample risk of the present set for other parameters; of the first ones, out of time."""
        ...


@runtime_checkable
class HastyProblem(EliminationProblem, Protocol):
    """A problem that can rank all removals at about the cost of one.

    ``hasty`` asks for it; it is done where several groups leave at once.
    """

    hasty: bool


AnyProblem = TypeVar("AnyProblem", bound=EliminationProblem)


@dataclass
class EliminationPath:
    """What an elimination went through, from all groups to none.

    Attributes
    ----------
    sizes : list of int
        Number of groups at each visited set.
    objective, lam, bandwidth : list of float
        Objective there, and the parameters it was computed with.
    losses : list of array
        Out-of-sample loss of each judged row.
    order : list of int
        Groups, first eliminated first.
    weights : array
        Weights of the judged rows.
    broken_off : str or None
        Why the elimination ended before no group was left.
    hurried : bool
        Whether more groups left at once than were meant to, for want of time.
    """

    sizes: list[int] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    lam: list[float] = field(default_factory=list)
    bandwidth: list[float] = field(default_factory=list)
    losses: list[Array] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    weights: Array = field(default_factory=lambda: np.empty(0))
    broken_off: str | None = None
    hurried: bool = False

    def add(self, problem: EliminationProblem) -> None:
        """Note where the problem stands."""
        self.sizes.append(len(problem.active))
        self.objective.append(problem.objective)
        self.lam.append(problem.lam)
        self.bandwidth.append(problem.bandwidth)
        self.losses.append(problem.losses)
        self.weights = problem.judged_weights


def eliminate(
    problem: AnyProblem,
    cycle: Callable[[int], int],
    retune: Callable[[AnyProblem], None] | None = None,
    *,
    hurry: bool = False,
    each_below: int = 0,
) -> EliminationPath:
    """Remove the cheapest groups until none is left, or the clock of the fit stops.

    The clock is asked for every group that has left, and by long steps in their middle. The groups that are
    left when it stops stand in the order as the last cycle ranked them, and those it did not rank as if the
    last ones had left first.

    Parameters
    ----------
    problem : EliminationProblem
    cycle : callable
        How many groups to remove at once, given how many are left.
    retune : callable, optional
        Called with the problem when the set has halved, and at each of the last sets; may set ``lam`` and
        ``bandwidth``.
    hurry : bool
        With a time budget, whether more groups leave at once than `cycle` says where it would take too long.
    each_below : int
        From so many groups on each set has parameters of its own: judged with those of a larger one it would
        look worse than it is.
    """
    path, clock = EliminationPath(), present_clock()
    tuned_at, took = len(problem.active), 0.0
    ranked: list[int] = []
    while True:
        began = time.perf_counter()
        due = min(max(tuned_at // 2, each_below), tuned_at - 1)
        if retune is not None and 0 < len(problem.active) <= due:
            tuned_at = len(problem.active)
            with clock.part(_FOR_RETUNING):
                retune(problem)
        try:
            # the first set is judged in any case: there has to be something to go by
            with nullcontext() if path.sizes else undisturbed():
                problem.refresh()
        except OutOfTime:
            return _broken_off(path, problem, clock, ranked)
        path.add(problem)
        if not problem.active:
            return path
        count = max(1, cycle(len(problem.active)))
        # the first cycle goes by its own beginning
        cycle_takes = took or (2.0 + len(problem.active) / _REMOVALS) * (time.perf_counter() - began)
        if hurry and (more := _to_end_in_time(problem, clock.left, cycle_takes)) > count:
            count, path.hurried = more, True
        count = min(count, len(problem.active))
        in_haste = path.hurried and isinstance(problem, HastyProblem)
        # a first rank of all groups is worth a little more time than there is: few are left to work on then
        patient = in_haste and not path.order and cycle_takes < _SOON
        try:
            with undisturbed() if patient else nullcontext():
                removals = problem.removals(len(problem.active) if in_haste else count)
        except OutOfTime:
            return _broken_off(path, problem, clock, ranked)
        ranked = [group for group, _ in removals]
        gone = ranked[:count]
        problem.drop(gone)
        path.order.extend(gone)
        logger.debug("removed %s, %d groups left", gone, len(problem.active))
        tell(features=len(problem.active))
        took = time.perf_counter() - began
        for _ in gone:
            clock.tick(began)
        if problem.active and clock.reason is not None:
            if patient:
                with undisturbed():
                    problem.refresh()
                path.add(problem)
            return _broken_off(path, problem, clock, ranked)


def _to_end_in_time(problem: EliminationProblem, left: float | None, took: float) -> int:
    """How many groups have to leave at once, if cycles take as long as the last did; 0 with enough time."""
    size = len(problem.active)
    if left is None or took * size <= left:
        return 0
    if isinstance(problem, HastyProblem):
        problem.hasty = True
    share = 0.0 if left <= 0.0 else size ** (-took / left)
    return int(size * (1.0 - max(share, _LEAST_KEPT)))


def _broken_off(
    path: EliminationPath, problem: EliminationProblem, clock: Clock, ranked: Sequence[int]
) -> EliminationPath:
    path.broken_off = clock.reason
    place = {group: number for number, group in enumerate(ranked)}
    path.order.extend(sorted(problem.active, key=lambda group: (place.get(group, -1), -group)))
    return path


class KernelProblem:
    """Any loss on a kernel state; removals are found exactly with dual bounds from the present solution.

    Parameters
    ----------
    state : KernelState
    targets : (n, c) array
    weights : (n,) array
    loss : Loss
    lam : float
    fit_intercept : bool
    folds : (n,) int array or None
        Folds for the out-of-sample losses; the squared loss needs none.
    criterion : {"risk", "norm"}

    Attributes
    ----------
    hasty : bool
        Whether the bounds alone decide where several groups leave at once.
    copies : (n,) array
        How many rows a row stands for, of which one is left out: its weight, unless something else is said.
    """

    def __init__(
        self,
        state: KernelState,
        targets: Array,
        weights: Array,
        loss: Loss,
        lam: float,
        fit_intercept: bool,
        folds: NDArray[np.intp] | None,
        criterion: str = "risk",
    ) -> None:
        self.state, self.targets, self.weights, self.loss = state, targets, weights, loss
        self.lam, self.fit_intercept, self.folds, self.criterion = lam, fit_intercept, folds, criterion
        self.judged_weights = self.copies = weights
        self.hasty = False
        self.objective: float = np.nan
        self.losses: Array = np.empty(0)
        self.start: Array | None = None
        self._least: dict[int, float] = {}
        self._least_at = (lam, np.nan)

    @property
    def active(self) -> list[int]:
        """Groups still in."""
        return self.state.active

    @property
    def bandwidth(self) -> float:
        """Bandwidth of the kernel."""
        return self.state.bandwidth

    @bandwidth.setter
    def bandwidth(self, value: float) -> None:
        self.state.bandwidth = value

    def solve(self, gram: Array, start: Array | None, limit: float = np.inf) -> MachineSolution:
        """Machine on a kernel matrix; of no interest where its objective is above a limit."""
        rows = (gram, self.targets, self.weights)
        return solve_machine(*rows, self.lam, self.loss, self.fit_intercept, start, limit)

    def refresh(self) -> None:
        """Solve on the present set, from what its removal was found to cost."""
        gram = self.state.gram()
        self.solution = self.solve(gram, self.start)
        # A linear kernel has fewer dimensions than rows: its free rows change too much to be worth guessing.
        self.start = None if isinstance(self.state.kernel, LinearKernel) else self.solution.coefficients
        self.objective = self.solution.objective
        self.losses = self._out_of_sample(gram, self.lam, self.start)

    def _out_of_sample(self, gram: Array, lam: float, start: Array | None = None) -> Array:
        if self.folds is not None:
            rows = (gram, self.targets, self.weights)
            return fold_losses(*rows, lam, self.loss, self.fit_intercept, self.folds, start)
        ridge = lam * self.weights.sum() / self.weights
        inverse = FactoredInverse(gram, ridge, self.fit_intercept)
        diagonal = inverse.diagonal()
        columns = [inverse @ y for y in self.targets.T]
        losses = [np.square(loo_residuals(c, diagonal, ridge, self.copies)) for c in columns]
        return losses[0] if len(losses) == 1 else np.sum(losses, axis=0)

    def _gram_at(self, bandwidth: float) -> Array:
        """Kernel matrix of the present set at another bandwidth."""
        kept, self.bandwidth = self.bandwidth, bandwidth
        gram = self.state.gram()
        self.bandwidth = kept
        return gram

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Out-of-sample risk of the present set for other parameters."""
        gram = self._gram_at(bandwidth)
        return [
            float(self.weights @ self._out_of_sample(gram, lam) / self.weights.sum())
            for lam in while_time(lams)
        ]

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        candidates = list(self.active)
        forms = quadratic_forms(self.state, self.solution.dual, candidates)
        if self.criterion == "norm":
            present = self.state.gram()
            fall = np.sum(self.solution.dual * (present @ self.solution.dual)) - forms
            return [(candidates[i], float("nan")) for i in np.argsort(fall, kind="stable")[:count]]
        constant = self.loss.conjugate(self.solution.dual, self.targets, self.weights, self.lam)
        shrink = np.ones(len(forms))
        if self.loss.shrinkable and not self.loss.squared:
            shrink = np.clip(constant / np.maximum(2.0 * self.lam * forms, 1e-300), 0.0, 1.0)
        bounds = shrink * constant - self.lam * shrink**2 * forms
        if self.hasty and count > 1:
            return [(candidates[i], float(bounds[i])) for i in np.argsort(bounds, kind="stable")[:count]]
        if not is_nested(self.state):
            return exact_smallest(bounds, candidates, count, self._without)
        if self._least_at != (self.lam, self.bandwidth):
            self._least, self._least_at = {}, (self.lam, self.bandwidth)
        bounds = np.maximum(bounds, [self._least.get(i, -np.inf) for i in candidates])
        return exact_smallest(bounds, candidates, count, self._without_for_good)

    def _without(self, group: int, limit: float) -> float:
        """Objective without a group, or anything above the limit."""
        return self.solve(self.state.without(group), self.start, limit).objective

    def _without_for_good(self, group: int, limit: float) -> float:
        """The same of a kernel whose functions of fewer groups are among those of more: what the objective is
        without a group now, it is at least without that group and others. So it is worth knowing in full.
        """
        value = self._without(group, np.inf)
        self._least[group] = value * (1.0 - _SOLVED)
        return value

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.state.drop(groups)


def exact_smallest(
    bounds: Array, candidates: Sequence[int], count: int, evaluate: Callable[[int, float], float]
) -> list[tuple[int, float]]:
    """The ``count`` smallest values, visiting candidates by lower bound and stopping at the first bound
    too high; ``evaluate(candidate, limit)`` may return anything above the limit where the value is.
    """
    found: list[tuple[float, int]] = []
    threshold = np.inf
    for position in np.argsort(bounds, kind="stable"):
        if bounds[position] > threshold:
            break
        stop_if_late()
        found.append((evaluate(candidates[position], threshold), candidates[position]))
        if len(found) >= count:
            threshold = sorted(found)[count - 1][0]
    return [(candidate, value) for value, candidate in sorted(found)[:count]]


class SquaredKernelProblem(KernelProblem):
    """Squared loss: closed-form leave-one-out and the bounds of ``best_removals``.

    ``judged=False`` spares the losses where nobody asks for them, and the inverse with them.
    """

    judged = True

    def refresh(self) -> None:
        """Solve on the present set and leave each row out."""
        self.ridge = self.lam * self.weights.sum() / self.weights
        self.gram = self.state.gram()
        form = projected_inverse if self.judged else FactoredInverse
        self.inverse = form(self.gram, self.ridge, self.fit_intercept)
        columns = [self.inverse @ y for y in self.targets.T]
        values = [float(a @ y) for a, y in zip(columns, self.targets.T, strict=True)]
        self.coefficients, self.objective = np.column_stack(columns), self.lam * sum(values)
        if self.judged:
            diagonal = self.inverse.diagonal()
            losses = [np.square(loo_residuals(a, diagonal, self.ridge, self.copies)) for a in columns]
            self.losses = np.sum(losses, axis=0)

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters."""
        if len(lams) < _WORTH_EIGENVALUES:
            return super().risk_at(lams, bandwidth)
        gram = self._gram_at(bandwidth)
        rows = (gram, self.targets, self.weights)
        residuals = loo_residuals_path(*rows, lams, self.fit_intercept, self.copies)
        return (np.square(residuals).sum(axis=2) @ self.weights / self.weights.sum()).tolist()

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        candidates = list(self.active)
        if self.criterion == "norm":
            forms = quadratic_forms(self.state, self.coefficients, candidates)
            return [(candidates[i], float("nan")) for i in np.argsort(-forms, kind="stable")[:count]]
        found = best_removals(
            self.targets,
            self.gram,
            self.inverse,
            self.ridge,
            self.fit_intercept,
            candidates,
            self.state.without,
            self.state.shortcut,
            count,
            exact=count == 1 or not self.hasty,
        )
        return [(candidate, self.lam * value) for candidate, value in found]


class HeldOutProblem(KernelProblem):
    """Algorithm 26: machines fitted on some rows, judged by ``lambda |f|^2`` plus their risk on the other
    rows.

    Parameters
    ----------
    train, test : int arrays
        Rows to fit on and rows to judge by.
    state, targets, weights, loss, lam, fit_intercept, folds
        As for :class:`KernelProblem`; the folds of the fitting rows choose parameters.
    """

    def __init__(
        self,
        state: KernelState,
        targets: Array,
        weights: Array,
        loss: Loss,
        lam: float,
        fit_intercept: bool,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
        folds: NDArray[np.intp],
    ) -> None:
        super().__init__(state, targets, weights, loss, lam, fit_intercept, folds)
        self.train, self.test = train, test
        self.judged_weights = weights[test]

    def _judge(self, gram: Array) -> tuple[float, Array]:
        fitted = solve_machine(
            gram[np.ix_(self.train, self.train)],
            self.targets[self.train],
            self.weights[self.train],
            self.lam,
            self.loss,
            self.fit_intercept,
        )
        decision = gram[np.ix_(self.test, self.train)] @ fitted.coefficients + fitted.intercept
        losses = self.loss.value(self.targets[self.test], decision).sum(axis=1)
        return fitted.norm + float(self.judged_weights @ losses / self.judged_weights.sum()), losses

    def refresh(self) -> None:
        """Judge the present set."""
        self.objective, self.losses = self._judge(self.state.gram())

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Risk over folds of the fitting rows; the judging rows stay unseen."""
        assert self.folds is not None
        gram = self._gram_at(bandwidth)[np.ix_(self.train, self.train)]
        targets, weights, folds = self.targets[self.train], self.weights[self.train], self.folds[self.train]
        risks = []
        for lam in while_time(lams):
            losses = fold_losses(gram, targets, weights, lam, self.loss, self.fit_intercept, folds)
            risks.append(float(weights @ losses / weights.sum()))
        return risks

    def removals(self, count: int) -> list[tuple[int, float]]:
        """Judge every removal; held-out risks have no bounds to skip by."""
        values = []
        for i in self.active:
            stop_if_late()
            values.append((self._judge(self.state.without(i))[0], i))
        return [(candidate, value) for value, candidate in sorted(values)[:count]]
