r"""Squared loss on explicit columns: the machine of a kernel of few dimensions, at a cost linear in rows.

With :math:`A = Z'WZ + \lambda w I` over centred columns, removing the columns of a group raises the objective
by exactly :math:`\beta_g' (A^{-1}_{gg})^{-1} \beta_g / w`: one inverse prices all removals, and is down-dated
by those that happen.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rlselect._clock import stop_if_late

__all__ = ["ColumnProblem"]

Array = NDArray[np.float64]


class ColumnProblem:
    """An elimination problem on columns, each of which stays as long as all its groups do.

    Parameters
    ----------
    columns : (n, c) array
    owners : (c, k) int array
        Groups each column needs; -1 stands for none.
    groups : sequence of int
        Those that are in; columns of others do not count from the start.
    y, weights : (n,) arrays
    lam : float
        Ridge penalty, per unit of weight. The intercept is free.

    Attributes
    ----------
    judged : bool
        Whether `refresh` leaves each row out.
    coefficients : array
        Of the active columns, after `refresh`.
    residuals : (n,) array
        Of each row when it is left out with all its weight, where judged.
    """

    bandwidth = 1.0
    judged = True

    def __init__(
        self,
        columns: Array,
        owners: NDArray[np.intp],
        groups: Sequence[int],
        y: Array,
        weights: Array,
        lam: float = 1.0,
    ) -> None:
        self.weights = self.judged_weights = weights
        self.total = float(weights.sum())
        self.lam = lam
        self.active = sorted(groups)
        self.width = len(owners)
        # the places of the columns that are in among all of them; sums know these only
        self.places = np.flatnonzero(np.isin(owners, [-1, *self.active]).all(axis=1))
        owners = owners[self.places]
        self._needs = {group: (owners == group).any(axis=1) for group in self.active}
        columns = columns[:, self.places]
        self.means = weights @ columns / self.total
        self.mean = float(weights @ y / self.total)
        self.centred, self.y = columns - self.means, y - self.mean
        weighted = self.centred * weights[:, None]
        self.gram, self.cross = weighted.T @ self.centred, weighted.T @ self.y
        self.size = float(weights @ np.square(self.y))
        self.kept = np.arange(len(self.places))
        self.inverse: Array | None = None
        self.solved_at = lam
        self.objective: float = np.nan
        self.losses: Array = np.empty(0)

    def _factored(self, lam: float) -> Array:
        """Inverse of the regularised sums of the active columns."""
        stop_if_late()
        matrix = self.gram[np.ix_(self.kept, self.kept)]
        matrix[np.diag_indices(len(matrix))] += lam * self.total
        return cho_solve(cho_factor(matrix), np.eye(len(matrix))) if len(matrix) else matrix

    def refresh(self) -> None:
        """Solve on the present set and, where judged, leave each row out."""
        if self.inverse is None or self.solved_at != self.lam:
            self.inverse, self.solved_at = self._factored(self.lam), self.lam
        self.coefficients = self.inverse @ self.cross[self.kept]
        self.objective = (self.size - float(self.cross[self.kept] @ self.coefficients)) / self.total
        if self.judged:
            Z = self.centred[:, self.kept]
            leverage = self.weights / self.total + self.weights * np.einsum("ij,ij->i", Z @ self.inverse, Z)
            self.residuals = self._left_out(self.y - Z @ self.coefficients, leverage)
            self.losses = np.square(self.residuals)

    def _left_out(self, residuals: Array, leverage: Array) -> Array:
        """Residuals of rows that are left out with all their weight."""
        return residuals / np.maximum(1.0 - leverage, 1e-12)

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters, from one eigendecomposition."""
        stop_if_late()
        values, vectors = np.linalg.eigh(self.gram[np.ix_(self.kept, self.kept)])
        rotated = self.centred[:, self.kept] @ vectors
        squares, cross = np.square(rotated), self.cross[self.kept] @ vectors
        risks = []
        for lam in lams:
            shrink = 1.0 / (np.maximum(values, 0.0) + lam * self.total)
            leverage = self.weights / self.total + self.weights * (squares @ shrink)
            residuals = self._left_out(self.y - rotated @ (shrink * cross), leverage)
            risks.append(float(self.weights @ np.square(residuals) / self.total))
        return risks

    def _places(self, groups: Sequence[int]) -> NDArray[np.intp]:
        """Where the columns that need one of some groups stand among the active ones."""
        needed = np.logical_or.reduce([self._needs[group] for group in groups])
        return np.flatnonzero(needed[self.kept])

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        assert self.inverse is not None
        prices = []
        for group in self.active:
            at = self._places([group])
            mine = self.coefficients[at]
            raised = float(mine @ np.linalg.solve(self.inverse[np.ix_(at, at)], mine)) if len(at) else 0.0
            prices.append((self.objective + raised / self.total, group))
        return [(group, price) for price, group in sorted(prices)[:count]]

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        gone = self._places(groups)
        stay = np.setdiff1d(np.arange(len(self.kept)), gone)
        if self.inverse is not None and len(gone) > len(stay):
            self.inverse = None
        elif self.inverse is not None:
            lost = self.inverse[np.ix_(stay, gone)]
            down = np.linalg.solve(self.inverse[np.ix_(gone, gone)], lost.T)
            self.inverse = self.inverse[np.ix_(stay, stay)] - lost @ down
        self.kept = self.kept[stay]
        self.active = [group for group in self.active if group not in set(groups)]

    def solution(self) -> tuple[Array, float]:
        """Coefficients of all columns, 0 for those that are out, and the intercept."""
        coefficients = np.zeros(self.width)
        coefficients[self.places[self.kept]] = self.coefficients
        return coefficients, float(self.mean - self.means[self.kept] @ self.coefficients)
