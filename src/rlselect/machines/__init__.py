"""Kernel machines: kernels, losses, solutions, tuning, elimination of their features and where to stop."""

from rlselect.machines._elimination import (
    EliminationPath,
    HeldOutProblem,
    KernelProblem,
    RidgeProblem,
    SquaredKernelProblem,
    eliminate,
)
from rlselect.machines._estimator_problem import (
    EstimatorProblem,
    check_estimator_suits,
    constant_decision,
)
from rlselect.machines._kernels import (
    AdditiveKernel,
    AdditiveState,
    ChiSquaredKernel,
    GaussianKernel,
    LinearKernel,
    PolynomialKernel,
    make_kernel,
    make_state,
)
from rlselect.machines._losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    make_loss,
)
from rlselect.machines._solve import (
    fold_numbers,
    solve_machine,
)
from rlselect.machines._stopping import (
    ChangePoint,
    Threshold,
    check_rule,
    choose_size,
    needs_one_curve,
    paired_comparison,
)
from rlselect.machines._tuning import (
    Tuner,
)

__all__ = [
    "AdditiveKernel",
    "AdditiveState",
    "ChangePoint",
    "ChiSquaredKernel",
    "EliminationPath",
    "EpsilonInsensitiveLoss",
    "EstimatorProblem",
    "GaussianKernel",
    "HeldOutProblem",
    "HingeLoss",
    "KernelProblem",
    "LinearKernel",
    "LogisticLoss",
    "PolynomialKernel",
    "RidgeProblem",
    "SquaredKernelProblem",
    "SquaredLoss",
    "Threshold",
    "Tuner",
    "check_estimator_suits",
    "check_rule",
    "choose_size",
    "constant_decision",
    "eliminate",
    "fold_numbers",
    "make_kernel",
    "make_loss",
    "make_state",
    "needs_one_curve",
    "paired_comparison",
    "solve_machine",
]
