"""The machines that RiskRFE ends with: decision values from the selected columns of a design."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect._clock import undisturbed
from rlselect.machines import KernelProblem, KernelState, LinearKernel, make_state, solve_machine
from rlselect.subset.risk_rfe._inputs import RiskData
from rlselect.subset.risk_rfe._landmark_problem import LandmarkProblem
from rlselect.subset.risk_rfe._problem import MachinePlan
from rlselect.subset.risk_rfe._ridge_problem import RidgeProblem

__all__ = ["ConstantMachine", "FinalMachine", "KernelMachine", "LinearMachine", "fit_machine"]

Array = NDArray[np.float64]
# Entries of a matrix that are held at a time: between new rows and training rows, or of dense new rows.
_BLOCK = 4_000_000


class FinalMachine(Protocol):
    """What predicts in the end."""

    def decision(self, X: Any) -> Array:
        """Decision values of the rows of a design (m, p): one column per machine."""
        ...


@dataclass(frozen=True)
class ConstantMachine:
    """The same values for every row: nothing was selected, or y is constant."""

    values: Array

    def decision(self, X: Any) -> Array:
        """Values (c,) for every row."""
        return np.tile(self.values, (X.shape[0], 1))


@dataclass(frozen=True)
class LinearMachine:
    """Slopes (k, c) of some columns, in their given units, and the values (c,) at their centre (k,)."""

    columns: NDArray[np.intp]
    center: Array
    slopes: Array
    level: Array

    @property
    def intercept(self) -> Array:
        """Values (c,) where all columns are zero."""
        return np.asarray(self.level - self.center @ self.slopes)

    def coefficients(self, n_columns: int) -> Array:
        """Slopes of all columns of the design, (c, p)."""
        coef = np.zeros((len(self.level), n_columns))
        coef[:, self.columns] = self.slopes.T
        return coef

    def decision(self, X: Any) -> Array:
        """Decision values; X may be sparse."""
        X = X[:, self.columns]
        # beside the centre, since columns far from zero would take the digits of their products with them
        blocks = (b.toarray() if sparse.issparse(b) else b for b in _blocks(X, len(self.columns)))
        parts = [(block - self.center) @ self.slopes for block in blocks]
        return np.concatenate(parts) + self.level


@dataclass(frozen=True)
class KernelMachine:
    """Coefficients (n, c) of the training rows, or of landmarks among them, which the state holds after
    centring and scaling; and what the landmarks do not reach, see `LandmarkProblem.kernel_error`.
    """

    columns: NDArray[np.intp]
    center: Array
    scale: Array
    state: KernelState
    coefficients: Array
    intercept: Array
    kernel_error: float = 0.0

    def decision(self, X: Any) -> Array:
        """Decision values, a block of rows at a time."""
        X = (X[:, self.columns] - self.center) / self.scale
        blocks = _blocks(X, len(self.state.X))
        parts = [self.state.cross(block, self.state.active) @ self.coefficients for block in blocks]
        return np.concatenate(parts) + self.intercept


def fit_machine(
    plan: MachinePlan, data: RiskData, columns: NDArray[np.intp], center: Array, scale: Array
) -> tuple[LinearMachine | KernelMachine, float, float]:
    """Fit on some columns, with parameters chosen for them where they are free.

    Parameters
    ----------
    plan : MachinePlan
    data : RiskData
        Centred and scaled.
    columns : int array
    center, scale : (p,) arrays
        What was subtracted from and divided into the columns.

    Returns
    -------
    machine : LinearMachine or KernelMachine
    lam, bandwidth : float
    """
    problem, tuner = plan.pose(data.on_columns(columns), final=True)
    tuner.tune(problem)
    # a choice of parameters may be cut short, the machine may not
    with undisturbed():
        return _fit_tuned(plan, data, problem, columns, center, scale)


def _fit_tuned(
    plan: MachinePlan,
    data: RiskData,
    problem: RidgeProblem | KernelProblem | LandmarkProblem,
    columns: NDArray[np.intp],
    center: Array,
    scale: Array,
) -> tuple[LinearMachine | KernelMachine, float, float]:
    center, scale = center[columns], scale[columns]
    if isinstance(problem, RidgeProblem):
        slopes, intercept = problem.slopes()
        machine = _linear(columns, slopes[:, None], np.atleast_1d(intercept), center, scale)
        return machine, problem.lam, problem.bandwidth
    if isinstance(problem, LandmarkProblem):
        problem.refresh()
        state = make_state(plan.kernel, problem.landmarks, problem.groups, problem.bandwidth)
        return _spread(plan, problem, state, problem.coefficients, problem.intercept, columns, center, scale)
    state = problem.state
    found = solve_machine(
        state.gram(), data.targets, data.weights, problem.lam, data.loss, plan.fit_intercept
    )
    return _spread(plan, problem, state, found.coefficients, found.intercept, columns, center, scale)


def _spread(
    plan: MachinePlan,
    problem: KernelProblem | LandmarkProblem,
    state: KernelState,
    coefficients: Array,
    intercept: Array,
    columns: NDArray[np.intp],
    center: Array,
    scale: Array,
) -> tuple[LinearMachine | KernelMachine, float, float]:
    """A machine of kernel functions of the state's rows, as slopes where they are linear."""
    machine: LinearMachine | KernelMachine
    if isinstance(plan.kernel, LinearKernel):
        machine = _linear(columns, state.X.T @ coefficients, intercept, center, scale)
    else:
        error = problem.kernel_error if isinstance(problem, LandmarkProblem) else 0.0
        machine = KernelMachine(columns, center, scale, state, coefficients, intercept, error)
    return machine, problem.lam, problem.bandwidth


def _linear(
    columns: NDArray[np.intp], slopes: Array, intercept: Array, center: Array, scale: Array
) -> LinearMachine:
    """Slopes of centred and scaled columns in the units that were given."""
    slopes = slopes / scale[:, None]
    return LinearMachine(columns, center, slopes, np.asarray(intercept))


def _blocks(X: Any, entries: int) -> Iterator[Any]:
    """Rows of X, as many at a time as may be held with so many entries each; one empty block of no rows."""
    rows = max(1, _BLOCK // max(entries, 1))
    return (X[start : start + rows] for start in range(0, max(X.shape[0], 1), rows))
