"""Elimination from ridge regression and least squares, without a kernel matrix."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    dual_drop,
    dual_increase,
    dual_start,
    loo_residuals,
    primal_drop,
    primal_increase,
    primal_start,
    rising_order,
)

__all__ = ["RidgeProblem"]

Array = NDArray[np.float64]
# of an objective, in what a removal adds to it
_ROUNDING = 1e-14


class RidgeProblem:
    """Squared loss with the linear kernel: Gram moves when there are more rows than columns, dual moves
    otherwise.

    Parameters
    ----------
    X : (n, d) array
    y, weights : (n,) arrays
    lam : float
        Zero is least squares, which needs more rows than columns.
    fit_intercept : bool
    groups : sequence of int arrays
        Columns of each group.
    criterion : {"risk", "norm"}
    """

    bandwidth = 1.0

    def __init__(
        self,
        X: Array,
        y: Array,
        weights: Array,
        lam: float,
        fit_intercept: bool,
        groups: Sequence[NDArray[np.intp]],
        criterion: str = "risk",
    ) -> None:
        self.X, self.y, self.weights, self.lam = X, y, weights, lam
        self.fit_intercept, self.groups, self.criterion = fit_intercept, groups, criterion
        self.active = list(range(len(groups)))
        self.judged_weights = weights
        self.objective: float = np.nan
        self.losses: Array = np.empty(0)
        self.restart()

    def restart(self) -> None:
        """Compute the state from the data: at the start, at new parameters and whenever the set has
        halved.
        """
        empty = np.empty(0, dtype=np.intp)
        self.columns = np.concatenate([empty, *(self.groups[g] for g in self.active)])
        self.block = np.ascontiguousarray(self.X[:, self.columns])
        self.primal = len(self.columns) <= len(self.y) or self.lam == 0.0
        self._fresh = (self.lam, len(self.columns))
        if self.primal:
            self.state = primal_start(self.block, self.y, self.weights, self.lam, self.fit_intercept)
        else:
            self.state = dual_start(self.block, self.y, self._ridge(), self.fit_intercept)

    def _ridge(self) -> Array:
        return self.lam * self.weights.sum() / self.weights

    def _places(self, group: int) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.columns, self.groups[group]))

    def refresh(self) -> None:
        """Objective and leave-one-out losses of the present set."""
        if self._fresh[0] != self.lam or 2 * len(self.columns) <= self._fresh[1]:
            self.restart()
        if self.primal:
            residual, coef = self.state["residual"], self.state["coef"]
            self.objective = float(self.weights @ residual**2 / self.weights.sum() + self.lam * coef @ coef)
            share = 1.0 / np.maximum(self.weights, 1.0)
            loo = residual / np.maximum(1.0 - share * self.state["leverage"], 1e-12)
        else:
            self.objective = self.lam * float(self.state["coef"] @ self.y)
            diagonal = np.diag(self.state["inverse"])
            loo = loo_residuals(self.state["coef"], diagonal, self._ridge(), self.weights)
        self.losses = np.square(loo)

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters."""
        risks = []
        for lam in lams:
            problem = RidgeProblem(self.X, self.y, self.weights, lam, self.fit_intercept, self.groups)
            problem.active = list(self.active)
            problem.restart()
            problem.refresh()
            risks.append(float(self.weights @ problem.losses / self.weights.sum()))
        return risks

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        if len(self.columns) == len(self.active):
            places = [np.array([i]) for i in range(len(self.active))]
        else:
            places = [self._places(g) for g in self.active]
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
        # what differs by rounding alone is a tie, decided by the place of the columns and not by that of rows
        best = rising_order(rise, _ROUNDING * self.objective)[:count]
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

    def slopes(self) -> tuple[Array, float]:
        """Slopes of the present set at its parameters, and the intercept."""
        self.restart()
        if self.primal:
            slopes = self.state["coef"]
            return slopes, float(self.state["level"] - self.state["centre"] @ slopes)
        slopes = self.state["pull"]
        if not self.fit_intercept:
            return slopes, 0.0
        return slopes, float(np.mean(self.y - self.block @ slopes - self._ridge() * self.state["coef"]))
