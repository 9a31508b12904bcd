"""Elimination from ridge regression and least squares, without a kernel matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import while_time
from rlselect.kernels import (
    dual_drop,
    dual_increase,
    dual_start,
    loo_residuals,
    primal_drop,
    primal_increase,
    primal_start,
    projected_inverse,
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
        self.columns = self._columns_in()
        self.block = np.ascontiguousarray(self.X[:, self.columns])
        self.primal = len(self.columns) <= len(self.y) or self.lam == 0.0
        self._fresh = (self.lam, len(self.columns))
        if self.primal:
            self.state = primal_start(self.block, self.y, self.weights, self.lam, self.fit_intercept)
        else:
            self.state = dual_start(self.block, self.y, self._ridge(), self.fit_intercept)

    def _columns_in(self) -> NDArray[np.intp]:
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.groups[g] for g in self.active)])

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
            self.losses = self._primal_losses(self.state)
        else:
            self.objective = self.lam * float(self.state["coef"] @ self.y)
            self.losses = self._dual_losses(self.state["inverse"], self.state["coef"], self._ridge())

    def _primal_losses(self, state: dict[str, Any]) -> Array:
        share = 1.0 / np.maximum(self.weights, 1.0)
        return np.square(state["residual"] / np.maximum(1.0 - share * state["leverage"], 1e-12))

    def _dual_losses(self, inverse: Array, coef: Array, ridge: Array) -> Array:
        return np.square(loo_residuals(coef, np.diag(inverse), ridge, self.weights))

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters, the first ones where time is short."""
        block = np.ascontiguousarray(self.X[:, self._columns_in()])
        wide = block.shape[1] > len(self.y)
        # one product serves all lambdas
        gram = block @ block.T if wide else np.empty((0, 0))
        risks = []
        for lam in while_time(lams):
            if wide and lam != 0.0:
                ridge = lam * self.weights.sum() / self.weights
                inverse = projected_inverse(gram, ridge, self.fit_intercept)
                losses = self._dual_losses(inverse, inverse @ self.y, ridge)
            else:
                losses = self._primal_losses(
                    primal_start(block, self.y, self.weights, lam, self.fit_intercept)
                )
            risks.append(float(self.weights @ losses / self.weights.sum()))
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
        place = np.empty(self.X.shape[1], dtype=np.intp)
        place[self.columns] = np.arange(len(self.columns))
        gone = place[np.concatenate([self.groups[g] for g in groups])]
        leave = set(groups)
        self.active = [g for g in self.active if g not in leave]
        if not self.primal and len(gone) >= len(self.y):
            # larger than the system of what stays
            self.restart()
            return
        stay = np.setdiff1d(np.arange(len(self.columns)), gone)
        if self.primal:
            self.state = primal_drop(self.state, gone, self.weights)
        else:
            self.state = dual_drop(self.state, self.block, gone)
            self.state["pull"], self.state["hold"] = self.state["pull"][stay], self.state["hold"][stay]
        self.columns, self.block = self.columns[stay], self.block[:, stay]

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
