"""Recursive elimination: problems that know their objective and their cheapest removals, and the loop over
them.

A problem has ``active`` (groups still in), ``objective``, ``losses`` (out-of-sample loss of each judged row),
``judged_weights``, ``lam``, ``bandwidth`` and four verbs: ``refresh()``, ``removals(count)``,
``drop(groups)`` and ``risk_at(lam, bandwidth)``.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlselect.kernels import (
    FactoredInverse,
    best_removals,
    dual_drop,
    dual_increase,
    dual_start,
    loo_residuals,
    loo_residuals_path,
    primal_drop,
    primal_increase,
    primal_start,
    projected_inverse,
)
from rlselect.machines._kernels import LinearKernel
from rlselect.machines._solve import fold_losses, solve_machine

__all__ = [
    "EliminationPath",
    "HeldOutProblem",
    "KernelProblem",
    "RidgeProblem",
    "SquaredKernelProblem",
    "eliminate",
]

logger = logging.getLogger("rlselect")
# From this many lambdas on one eigendecomposition is cheaper than a factorisation each.
_WORTH_EIGENVALUES = 5


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
    """

    sizes: list = field(default_factory=list)
    objective: list = field(default_factory=list)
    lam: list = field(default_factory=list)
    bandwidth: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    order: list = field(default_factory=list)
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    interrupted: bool = False

    def add(self, problem: Any) -> None:
        """Note where the problem stands."""
        self.sizes.append(len(problem.active))
        self.objective.append(problem.objective)
        self.lam.append(problem.lam)
        self.bandwidth.append(problem.bandwidth)
        self.losses.append(problem.losses)
        self.weights = problem.judged_weights


def eliminate(
    problem: Any,
    cycle: Callable[[int], int],
    retune: Callable[[Any], None] | None = None,
    *,
    interruptible: bool = False,
) -> EliminationPath:
    """Remove the cheapest groups until none is left.

    Parameters
    ----------
    problem : object
        See the module's docstring.
    cycle : callable
        How many groups to remove at once, given how many are left.
    retune : callable, optional
        Called with the problem when the set has halved; may set ``lam`` and ``bandwidth``.
    interruptible : bool, default=False
        Whether a ``KeyboardInterrupt`` ends the elimination early: the remaining groups keep their order and
        the path says so. Otherwise it goes to the caller.
    """
    path = EliminationPath()
    tuned_at = len(problem.active)
    try:
        while True:
            if retune is not None and problem.active and 2 * len(problem.active) <= tuned_at:
                tuned_at = len(problem.active)
                retune(problem)
            problem.refresh()
            path.add(problem)
            if not problem.active:
                return path
            count = min(max(1, cycle(len(problem.active))), len(problem.active))
            gone = [group for group, _ in problem.removals(count)]
            problem.drop(gone)
            path.order.extend(gone)
            logger.debug("removed %s, %d groups left", gone, len(problem.active))
    except KeyboardInterrupt:
        if not interruptible or not path.sizes:
            raise
        path.interrupted = True
        path.order.extend(sorted(set(problem.active) - set(path.order)))
        return path


class KernelProblem:
    """Any loss on a kernel state; removals are found exactly with dual bounds from the present solution.

    Parameters
    ----------
    state : AdditiveState or CallableState
    targets : (n, c) array
    weights : (n,) array
    loss : loss object
    lam : float
    fit_intercept : bool
    folds : (n,) int array
        Folds for the out-of-sample losses.
    criterion : {"risk", "norm"}
    """

    def __init__(self, state, targets, weights, loss, lam, fit_intercept, folds, criterion="risk"):
        self.state, self.targets, self.weights, self.loss = state, targets, weights, loss
        self.lam, self.fit_intercept, self.folds, self.criterion = lam, fit_intercept, folds, criterion
        self.judged_weights = weights
        self.objective, self.losses = np.nan, np.empty(0)
        self.n_solved = 0
        self.start: np.ndarray | None = None

    @property
    def active(self) -> list:
        """Groups still in."""
        return self.state.active

    @property
    def bandwidth(self) -> float:
        """Bandwidth of the kernel."""
        return self.state.bandwidth

    @bandwidth.setter
    def bandwidth(self, value: float) -> None:
        self.state.bandwidth = value

    def solve(self, gram, start):
        """Machine on a kernel matrix."""
        self.n_solved += 1
        return solve_machine(gram, self.targets, self.weights, self.lam, self.loss, self.fit_intercept, start)

    def refresh(self) -> None:
        """Solve on the present set, from what its removal was found to cost."""
        gram = self.state.gram()
        self.solution = self.solve(gram, self.start)
        # A linear kernel has fewer dimensions than rows: its free rows change too much to be worth guessing.
        self.start = None if isinstance(self.state.kernel, LinearKernel) else self.solution.coefficients
        self.objective = self.solution.objective
        self.losses = self._out_of_sample(gram, self.lam, self.start)

    def _out_of_sample(self, gram, lam, start=None):
        return fold_losses(
            gram, self.targets, self.weights, lam, self.loss, self.fit_intercept, self.folds, start
        )

    def risk_at(self, lams: Sequence[float], bandwidth: float) -> list[float]:
        """Out-of-sample risk of the present set for other parameters."""
        kept, self.bandwidth = self.bandwidth, bandwidth
        gram = self.state.gram()
        self.bandwidth = kept
        return [float(self.weights @ self._out_of_sample(gram, lam) / self.weights.sum()) for lam in lams]

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        candidates = list(self.active)
        forms = self.state.quadratic_forms(self.solution.dual, candidates)
        if self.criterion == "norm":
            present = self.state.gram()
            fall = np.sum(self.solution.dual * (present @ self.solution.dual)) - forms
            return [(candidates[i], float("nan")) for i in np.argsort(fall, kind="stable")[:count]]
        constant = self.loss.conjugate(self.solution.dual, self.targets, self.weights, self.lam)
        shrink = np.ones(len(forms))
        if self.loss.shrinkable and self.loss.name != "squared":
            shrink = np.clip(constant / np.maximum(2.0 * self.lam * forms, 1e-300), 0.0, 1.0)
        bounds = shrink * constant - self.lam * shrink**2 * forms
        return exact_smallest(
            bounds, candidates, count, lambda i: self.solve(self.state.without(i), self.start).objective
        )

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.state.drop(groups)


def exact_smallest(bounds, candidates, count, evaluate):
    """The ``count`` smallest values, visiting candidates by lower bound and stopping at the first bound
    too high.
    """
    found: list[tuple[float, int]] = []
    threshold = np.inf
    for position in np.argsort(bounds, kind="stable"):
        if bounds[position] > threshold:
            break
        found.append((evaluate(candidates[position]), candidates[position]))
        if len(found) >= count:
            threshold = sorted(found)[count - 1][0]
    return [(candidate, value) for value, candidate in sorted(found)[:count]]


class SquaredKernelProblem(KernelProblem):
    """Squared loss on a kernel state: closed-form leave-one-out and the bounds of ``best_removals``.

    ``hasty`` lets the bounds alone decide where several groups leave at once; ``judged=False`` spares the
    losses where nobody asks for them, and the inverse with them.
    """

    hasty = False
    judged = True

    def refresh(self) -> None:
        """Solve on the present set and leave each row out."""
        y = self.targets[:, 0]
        self.ridge = self.lam * self.weights.sum() / self.weights
        self.gram = self.state.gram()
        form = projected_inverse if self.judged else FactoredInverse
        self.inverse = form(self.gram, self.ridge, self.fit_intercept)
        self.coefficients = self.inverse @ y
        self.objective = self.lam * float(self.coefficients @ y)
        if self.judged:
            self.losses = np.square(
                loo_residuals(self.coefficients, self.inverse.diagonal(), self.ridge, self.weights)
            )

    def _out_of_sample(self, gram, lam, start=None):
        ridge = lam * self.weights.sum() / self.weights
        inverse = FactoredInverse(gram, ridge, self.fit_intercept)
        return np.square(loo_residuals(inverse @ self.targets[:, 0], inverse.diagonal(), ridge, self.weights))

    def risk_at(self, lams: Sequence[float], bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters."""
        if len(lams) < _WORTH_EIGENVALUES:
            return super().risk_at(lams, bandwidth)
        kept, self.bandwidth = self.bandwidth, bandwidth
        gram = self.state.gram()
        self.bandwidth = kept
        residuals = loo_residuals_path(gram, self.targets[:, 0], self.weights, lams, self.fit_intercept)
        return (np.square(residuals) @ self.weights / self.weights.sum()).tolist()

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        candidates = list(self.active)
        if self.criterion == "norm":
            forms = self.state.quadratic_forms(self.coefficients[:, None], candidates)
            return [(candidates[i], float("nan")) for i in np.argsort(-forms, kind="stable")[:count]]
        found = best_removals(
            self.targets[:, 0],
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


class RidgeProblem:
    """Squared loss with the linear kernel: Gram moves when there are more rows than columns, dual moves
    otherwise.

    ``lam = 0`` is least squares (more rows than columns needed).
    """

    bandwidth = 1.0

    def __init__(self, X, y, weights, lam, fit_intercept, groups, criterion="risk"):
        self.X, self.y, self.weights, self.lam = X, y, weights, lam
        self.fit_intercept, self.groups, self.criterion = fit_intercept, groups, criterion
        self.active = list(range(len(groups)))
        self.judged_weights = weights
        self.objective, self.losses = np.nan, np.empty(0)
        self._restart()

    def _restart(self) -> None:
        """Compute the state from the data: at the start, at new parameters and whenever the set has
        halved.
        """
        self.columns = (
            np.concatenate([self.groups[g] for g in self.active]) if self.active else np.empty(0, dtype=int)
        )
        self.block = np.ascontiguousarray(self.X[:, self.columns])
        self.primal = len(self.columns) <= len(self.y) or self.lam == 0.0
        self._fresh = (self.lam, len(self.columns))
        if self.primal:
            self.state = primal_start(self.block, self.y, self.weights, self.lam, self.fit_intercept)
        else:
            self.state = dual_start(self.block, self.y, self._ridge(self.lam), self.fit_intercept)

    def _ridge(self, lam):
        return lam * self.weights.sum() / self.weights

    def _places(self, group):
        return np.flatnonzero(np.isin(self.columns, self.groups[group]))

    def refresh(self) -> None:
        """Objective and leave-one-out losses of the present set."""
        if self._fresh[0] != self.lam or 2 * len(self.columns) <= self._fresh[1]:
            self._restart()
        if self.primal:
            residual, coef = self.state["residual"], self.state["coef"]
            self.objective = float(self.weights @ residual**2 / self.weights.sum() + self.lam * coef @ coef)
            share = 1.0 / np.maximum(self.weights, 1.0)
            loo = residual / np.maximum(1.0 - share * self.state["leverage"], 1e-12)
        else:
            self.objective = self.lam * float(self.state["coef"] @ self.y)
            loo = loo_residuals(
                self.state["coef"], np.diag(self.state["inverse"]), self._ridge(self.lam), self.weights
            )
        self.losses = np.square(loo)

    def risk_at(self, lams: Sequence[float], bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters."""
        risks = []
        for lam in lams:
            problem = RidgeProblem(self.X, self.y, self.weights, lam, self.fit_intercept, self.groups)
            problem.active = list(self.active)
            problem._restart()
            problem.refresh()
            risks.append(float(self.weights @ problem.losses / self.weights.sum()))
        return risks

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        places = [self._places(g) for g in self.active] if len(self.columns) != len(self.active) else None
        places = [np.array([i]) for i in range(len(self.active))] if places is None else places
        if self.criterion == "norm":
            slopes = self.state["coef"] if self.primal else self.state["pull"]
            rise = np.array([np.square(slopes[p]).sum() for p in places])
            values = np.full(len(rise), np.nan)
        else:
            if self.primal:
                rise = primal_increase(self.state, places, self.weights)
            else:
                rise = self.lam * dual_increase(self.state, self.block, places)
            values = self.objective + rise
        best = np.argsort(rise, kind="stable")[:count]
        return [(self.active[i], float(values[i])) for i in best]

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        gone = np.concatenate([self._places(g) for g in groups])
        stay = np.setdiff1d(np.arange(len(self.columns)), gone)
        if self.primal:
            self.state = primal_drop(self.state, gone, self.weights)
        else:
            self.state = dual_drop(self.state, self.block, gone)
            self.state["pull"], self.state["hold"] = self.state["pull"][stay], self.state["hold"][stay]
        self.columns, self.block = self.columns[stay], self.block[:, stay]
        self.active = [g for g in self.active if g not in set(groups)]


class HeldOutProblem(KernelProblem):
    """Algorithm 26: machines fitted on some rows, judged by ``lambda |f|^2`` plus their risk on the other
    rows.
    """

    def __init__(self, state, targets, weights, loss, lam, fit_intercept, train, test, folds):
        super().__init__(state, targets, weights, loss, lam, fit_intercept, folds)
        self.train, self.test = train, test
        self.judged_weights = weights[test]

    def _judge(self, gram):
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

    def _out_of_sample(self, gram, lam, start=None):
        rows = np.ix_(self.train, self.train)
        return fold_losses(
            gram[rows],
            self.targets[self.train],
            self.weights[self.train],
            lam,
            self.loss,
            self.fit_intercept,
            self.folds[self.train],
        )

    def risk_at(self, lams: Sequence[float], bandwidth: float) -> list[float]:
        """Risk over folds of the fitting rows; the judging rows stay unseen."""
        kept, self.bandwidth = self.bandwidth, bandwidth
        gram = self.state.gram()
        self.bandwidth = kept
        weights = self.weights[self.train]
        return [float(weights @ self._out_of_sample(gram, lam) / weights.sum()) for lam in lams]

    def removals(self, count: int) -> list[tuple[int, float]]:
        """Judge every removal; held-out risks have no bounds to skip by."""
        values = sorted((self._judge(self.state.without(i))[0], i) for i in self.active)
        return [(candidate, value) for value, candidate in values[:count]]
