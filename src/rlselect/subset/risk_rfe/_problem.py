"""The elimination problem behind the options of RiskRFE."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from rlselect._limits import require_memory, seconds_for, warn_if_long
from rlselect.machines import (
    AdditiveKernel,
    AnovaKernel,
    ChiSquaredKernel,
    EliminationProblem,
    EstimatorProblem,
    HeldOutProblem,
    KernelProblem,
    LinearKernel,
    SquaredKernelProblem,
    Tuner,
    constant_decision,
    make_kernel,
    make_state,
)
from rlselect.subset.risk_rfe._inputs import RiskData
from rlselect.subset.risk_rfe._landmark_problem import LandmarkProblem, choose_landmarks
from rlselect.subset.risk_rfe._ridge_problem import RidgeProblem

__all__ = [
    "BEGINNING",
    "BEGINNING_BY_STEPS",
    "PASSES",
    "VALUE",
    "Halves",
    "MachinePlan",
    "is_ridge",
    "pass_seconds",
    "plan_size",
    "pose_estimator",
    "takes_landmarks",
]

Array = NDArray[np.float64]
Halves: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
# Beyond so many rows "auto" works from landmarks, of so many.
_MANY_ROWS, _LANDMARKS, _FEW_LANDMARKS = 3000, 300, 50
# up to which "auto" tries several kernels: an elimination by any of them takes seconds there
_ROWS_FOR_SEVERAL = 1000
# fits from landmarks that a time budget should allow for; a kernel value in operations of matrix products
PASSES, VALUE = 24, 2000.0
# n x n matrices that are there at one time
_MATRICES = 12
# n^3 operations: of a choice of parameters, and per group that leaves, with one column of targets, several of
# them, and with losses whose machines are found step by step (benchmarks/size_estimates.py)
_TUNING, _REMOVAL, _REMOVAL_OF_SEVERAL, _REMOVAL_BY_STEPS = 20.0, 14.0, 10.0, 130.0
# and of what a time budget must have room for, or landmarks take over, or some of the rows: of machines found
# step by step so much that parameters are chosen and sets of several sizes judged, since many rows with
# parameters that nobody chose tell less than few
BEGINNING, BEGINNING_BY_STEPS = 90.0, 900.0


@dataclass(frozen=True)
class MachinePlan:
    """How kernel machines are made.

    Attributes
    ----------
    kernel : AdditiveKernel or callable
    regularization, bandwidth : float, "auto" or "paper"
    criterion : {"risk", "norm"}
    fit_intercept : bool
    n_landmarks : int or None
        Rows that span the machine's functions; all of them by default.
    open_kernel : bool
        Whether other kernels may be tried as well.
    """

    kernel: Any
    regularization: float | str
    bandwidth: float | str
    criterion: str
    fit_intercept: bool
    n_landmarks: int | None = None
    open_kernel: bool = False

    @property
    def uses_bandwidth(self) -> bool:
        """Whether the kernel has a width."""
        return bool(getattr(self.kernel, "uses_bandwidth", False))

    @property
    def is_trusted(self) -> bool:
        """Whether the kernel is one of ours, known to be sound."""
        return bool(getattr(self.kernel, "trusted", False))

    @property
    def standardises(self) -> bool:
        """Whether columns are put on one scale first, which nobody would do with histograms."""
        searched = self.bandwidth if self.uses_bandwidth else self.regularization
        return searched == "auto" and self.is_trusted and not isinstance(self.kernel, ChiSquaredKernel)

    @property
    def once(self) -> bool:
        """Whether parameters are chosen once, on all features, as the dissertation does."""
        return "paper" in (self.regularization, self.bandwidth)

    def _columns_together(self, groups: Sequence[NDArray[np.intp]]) -> int:
        """Columns whose differences add up to the distances that a width is compared with."""
        return 1 if isinstance(self.kernel, AnovaKernel) else sum(len(columns) for columns in groups)

    def alternatives(self, data: RiskData, halves: Halves | None, one_curve: bool) -> "list[MachinePlan]":
        """The plan itself and, with an open kernel, others where machines are cheap and comparable: exact
        leave-one-out, all parameters free.
        """
        free = self.regularization == "auto" == self.bandwidth and self.criterion == "risk"
        comparable = free and data.loss.squared and halves is None and not one_curve
        small = self.n_landmarks is None and len(data.y) <= _ROWS_FOR_SEVERAL
        others = ("linear", "anova") if self.open_kernel and comparable and small else ()
        return [self, *(replace(self, kernel=make_kernel(name)) for name in others)]

    def with_parameters(self, lam: float, bandwidth: float) -> "MachinePlan":
        """The same machines with parameters that are known."""
        return replace(self, regularization=lam, bandwidth=bandwidth)

    def pose(
        self, data: RiskData, halves: Halves | None = None, final: bool = False
    ) -> tuple[RidgeProblem | KernelProblem | LandmarkProblem, Tuner]:
        """The problem of all columns, and the choice of its parameters.

        Parameters
        ----------
        data : RiskData
            Dense, and standardised if the plan says so.
        halves : pair of int arrays, optional
            Rows to fit on and rows to judge by.
        final : bool
            Whether no column is going to leave any more.
        """
        tuner = Tuner(
            self.regularization,
            self.bandwidth,
            float(data.weights.sum()),
            self.uses_bandwidth,
            lambda problem: self._columns_together([data.groups[g] for g in problem.active]),
            data.loss.squared,
            # among many columns a hinge often finds nothing better than a constant, far from what few need
            every_lambda=not data.loss.squared,
            # among many columns out-of-sample risk asks for a wide kernel, which sees no short waves
            narrow_first=isinstance(self.kernel, AnovaKernel) and not final,
            constant_risk=None if data.loss.squared or final else _constant_risk(data),
        )
        lam, X, one_column = float(tuner.lams[0]), data.X, data.targets.shape[1] == 1
        closed = data.loss.squared and halves is None
        if closed and one_column and isinstance(self.kernel, LinearKernel):
            y = data.targets[:, 0]
            return RidgeProblem(
                X, y, data.weights, lam, self.fit_intercept, data.groups, self.criterion
            ), tuner
        width = tuner.start_width(self._columns_together(data.groups))
        if self.n_landmarks is not None:
            landmarks = choose_landmarks(X, self.n_landmarks)
            parameters = (data.weights, lam, width, self.fit_intercept, data.groups, self.criterion)
            return LandmarkProblem(self.kernel, X, landmarks, data.targets, *parameters), tuner
        state = make_state(self.kernel, X, data.groups, width)
        if not self.is_trusted:
            _check_gram(state.gram(), len(X))
        common = (state, data.targets, data.weights, data.loss, lam, self.fit_intercept)
        if halves is not None:
            return HeldOutProblem(*common, *halves, data.folds()), tuner
        # The squared loss leaves single rows out in closed form and needs no folds.
        folds = None if data.loss.squared else data.folds()
        return (SquaredKernelProblem if closed else KernelProblem)(*common, folds, self.criterion), tuner


def _constant_risk(data: RiskData) -> float:
    """What the best constant loses."""
    constant = constant_decision(data.loss, data.targets, data.weights)
    losses = data.loss.value(data.targets, np.broadcast_to(constant, data.targets.shape)).sum(axis=1)
    return float(data.weights @ losses / data.weights.sum())


def plan_size(
    plan: MachinePlan,
    data: RiskData,
    halves: Halves | None,
    n_landmarks: int | str | None,
    seconds: float | None,
    owner: str,
) -> MachinePlan:
    """The plan with a number of landmarks, where there are too many rows, or too little time, for all.

    Parameters
    ----------
    plan, data, halves
        As `MachinePlan.pose` takes them.
    n_landmarks : int, "auto" or None
        What the user wants.
    seconds : float or None
        What is left of a time budget.
    owner : str
        Who asks, for the messages: the exact machine is refused where it does not fit into the memory.
    """
    n, groups = len(data.y), len(data.groups)
    able = takes_landmarks(plan, data, halves)
    if is_ridge(plan, data, halves):
        if isinstance(n_landmarks, int):
            raise ValueError(
                f"n_landmarks={n_landmarks} was given with kernel='linear', which needs none; leave it out."
            )
        return plan
    if isinstance(n_landmarks, int) and not able:
        raise ValueError(
            f"n_landmarks={n_landmarks} was given; landmarks need the loss 'squared' or 'squared_label', a "
            "kernel that is a name or an AdditiveKernel, and no stopping='held-out'. Leave it out, or None."
        )
    if n_landmarks == "auto" and able:
        hurried = seconds is not None and seconds_for(BEGINNING * float(n) ** 3) > seconds
        if n > _MANY_ROWS or hurried:
            n_landmarks = _fewer_landmarks(n, data.X.shape[1], seconds)
    if isinstance(n_landmarks, int):
        return replace(plan, n_landmarks=n_landmarks) if n_landmarks < n else plan
    instead = "n_landmarks='auto'" if able else _smaller(plan, data, halves)
    memory, takes = exact_cost(n, groups, data.targets.shape[1], data.loss.squared)
    require_memory(memory, f"the kernel matrices of {n} rows", instead)
    if seconds is None:
        warn_if_long(takes, owner, instead)
    return plan


def is_ridge(plan: MachinePlan, data: RiskData, halves: Halves | None) -> bool:
    """Whether machines are lines that sums over the rows tell all of."""
    one_column = data.targets.shape[1] == 1
    return data.loss.squared and halves is None and one_column and isinstance(plan.kernel, LinearKernel)


def takes_landmarks(plan: MachinePlan, data: RiskData, halves: Halves | None) -> bool:
    """Whether machines can work from some of the rows."""
    return data.loss.squared and halves is None and isinstance(plan.kernel, AdditiveKernel)


def exact_cost(n: int, groups: int, n_targets: int, squared: bool) -> tuple[float, float]:
    """About how many bytes and seconds an elimination from machines on all rows takes.

    Parameters
    ----------
    n, groups, n_targets : int
        Rows, groups that may leave, and columns of targets.
    squared : bool
        Whether the loss is a squared one.
    """
    removal = _REMOVAL if n_targets == 1 else _REMOVAL_OF_SEVERAL * n_targets
    removal = removal if squared else _REMOVAL_BY_STEPS * n_targets
    return 8.0 * _MATRICES * float(n) ** 2, seconds_for((_TUNING + removal * groups) * float(n) ** 3)


def _fewer_landmarks(n: int, columns: int, seconds: float | None) -> int:
    """The usual number, or as many as leave time for some removals."""
    count = _LANDMARKS
    while count > _FEW_LANDMARKS and seconds is not None:
        # four for a choice of parameters, one or two for each cycle of removals
        if PASSES * pass_seconds(n, columns, count) < seconds:
            break
        count //= 2
    return max(count, _FEW_LANDMARKS)


def pass_seconds(n: int, columns: int, count: int) -> float:
    """How long it takes to fit and judge a machine on so many rows, columns and landmarks."""
    return seconds_for(n * count * (VALUE + 9.0 * columns + 4.0 * count) + 40.0 * float(count) ** 3)


def _smaller(plan: MachinePlan, data: RiskData, halves: Halves | None) -> str:
    """What takes so many rows, for one who cannot use landmarks."""
    if not isinstance(plan.kernel, AdditiveKernel):
        return "a kernel that is a name or an AdditiveKernel with a squared loss, or a sample of the rows"
    if halves is not None:
        return "another stopping, which goes with landmarks, or a sample of the rows"
    name = "squared_label" if data.loss.classifies else "squared"
    return f"loss={name!r}, whose machines can work from some of the rows, or a sample of the rows"


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
