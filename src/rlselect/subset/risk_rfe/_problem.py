"""The elimination problem behind the options of RiskRFE."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from rlselect.machines import (
    AdditiveKernel,
    ChiSquaredKernel,
    EliminationProblem,
    EstimatorProblem,
    HeldOutProblem,
    KernelProblem,
    LinearKernel,
    SquaredKernelProblem,
    Tuner,
    make_state,
)
from rlselect.subset.risk_rfe._inputs import RiskData
from rlselect.subset.risk_rfe._ridge_problem import RidgeProblem

__all__ = ["Halves", "MachinePlan", "pose_estimator"]

Array = NDArray[np.float64]
Halves: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class MachinePlan:
    """How kernel machines are made.

    Attributes
    ----------
    kernel : AdditiveKernel or callable
    regularization, bandwidth : float, "auto" or "paper"
    criterion : {"risk", "norm"}
    fit_intercept : bool
    """

    kernel: Any
    regularization: float | str
    bandwidth: float | str
    criterion: str
    fit_intercept: bool

    @property
    def uses_bandwidth(self) -> bool:
        """Whether the kernel has a width."""
        return isinstance(self.kernel, AdditiveKernel) and self.kernel.uses_bandwidth

    @property
    def is_trusted(self) -> bool:
        """Whether the kernel is one of ours, known to be sound."""
        return isinstance(self.kernel, AdditiveKernel) and self.kernel.trusted

    @property
    def standardises(self) -> bool:
        """Whether columns are put on one scale first, which nobody would do with histograms."""
        searched = self.bandwidth if self.uses_bandwidth else self.regularization
        return searched == "auto" and self.is_trusted and not isinstance(self.kernel, ChiSquaredKernel)

    @property
    def once(self) -> bool:
        """Whether parameters are chosen once, on all features, as the dissertation does."""
        return "paper" in (self.regularization, self.bandwidth)

    def with_parameters(self, lam: float, bandwidth: float) -> "MachinePlan":
        """The same machines with parameters that are known."""
        return replace(self, regularization=lam, bandwidth=bandwidth)

    def pose(
        self, data: RiskData, halves: Halves | None = None
    ) -> tuple[RidgeProblem | KernelProblem, Tuner]:
        """The problem of all columns, and the choice of its parameters.

        Parameters
        ----------
        data : RiskData
            Dense, and standardised if the plan says so.
        halves : pair of int arrays, optional
            Rows to fit on and rows to judge by.
        """
        tuner = Tuner(
            self.regularization,
            self.bandwidth,
            float(data.weights.sum()),
            self.uses_bandwidth,
            lambda problem: sum(len(data.groups[g]) for g in problem.active),
            data.loss.squared,
        )
        lam, X, one_column = float(tuner.lams[0]), data.X, data.targets.shape[1] == 1
        closed = data.loss.squared and one_column and halves is None
        if closed and isinstance(self.kernel, LinearKernel):
            y = data.targets[:, 0]
            return RidgeProblem(
                X, y, data.weights, lam, self.fit_intercept, data.groups, self.criterion
            ), tuner
        state = make_state(self.kernel, X, data.groups, tuner.start_width(X.shape[1]))
        if not self.is_trusted:
            _check_gram(state.gram(), len(X))
        common = (state, data.targets, data.weights, data.loss, lam, self.fit_intercept)
        if halves is not None:
            return HeldOutProblem(*common, *halves, data.folds()), tuner
        # The squared loss leaves single rows out in closed form and needs no folds.
        folds = None if data.loss.squared else data.folds()
        return (SquaredKernelProblem if closed else KernelProblem)(*common, folds, self.criterion), tuner


def pose_estimator(estimator: Any, data: RiskData, halves: Halves | None = None) -> EliminationProblem:
    """The problem of an estimator that is refitted for each set of features."""
    plain = type(estimator) is LinearRegression and not estimator.positive
    if plain and data.loss.squared and halves is None:
        try:
            # Least squares has Gram moves and an exact leave-one-out; dependent columns fall through to the
            # loop.
            return RidgeProblem(data.dense, data.y, data.weights, 0.0, estimator.fit_intercept, data.groups)
        except np.linalg.LinAlgError:
            pass
    rows = (None, None) if halves is None else halves
    return EstimatorProblem(
        estimator, data.X, data.y, data.targets, data.weights, data.loss, data.groups, data.folds(), *rows
    )


def _check_gram(gram: Array, n: int) -> None:
    """Refuse a user's kernel matrix that is not finite, square, symmetric and positive semi-definite."""
    if gram.shape != (n, n):
        raise ValueError(f"The kernel returned shape {gram.shape} for {n} rows; it must return ({n}, {n}).")
    if not np.isfinite(gram).all():
        raise ValueError("The kernel returned NaN or infinite values; check it on a pair of rows of X.")
    size = max(float(np.abs(gram).max()), 1e-300)
    if float(np.abs(gram - gram.T).max()) > 1e-8 * size:
        raise ValueError("The kernel is not symmetric: k(x, z) and k(z, x) differ; average the two.")
    smallest = float(np.linalg.eigvalsh(gram)[0])
    if smallest < -1e-8 * n * size:
        raise ValueError(
            f"The kernel is not positive semi-definite: its matrix on X has the eigenvalue {smallest:.3g}; "
            "a kernel machine needs all eigenvalues >= 0 (for example exp(-distance^2) instead of the "
            "distance itself)."
        )
