"""Kernel machines: kernels, losses, solutions, tuning, elimination of their features and where to stop."""

from rlselect.machines._anova_kernel import AnovaKernel, AnovaState
from rlselect.machines._column_problem import (
    ColumnProblem,
)
from rlselect.machines._elimination import (
    EliminationPath,
    EliminationProblem,
    HeldOutProblem,
    KernelProblem,
    SquaredKernelProblem,
    TunableProblem,
    eliminate,
)
from rlselect.machines._estimator_problem import (
    EstimatorProblem,
    constant_decision,
    fit_clone,
)
from rlselect.machines._kernels import (
    KERNELS,
    AdditiveKernel,
    AdditiveState,
    ChiSquaredKernel,
    GaussianKernel,
    KernelState,
    LinearKernel,
    PolynomialKernel,
    make_kernel,
    make_state,
    name_of_kernel,
)
from rlselect.machines._losses import (
    LOSSES,
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    Loss,
    SquaredLabelLoss,
    SquaredLoss,
    make_loss,
)
from rlselect.machines._solve import (
    fold_numbers,
    solve_machine,
)
from rlselect.machines._stopping import (
    STOPPING_RULES,
    ChangePoint,
    Threshold,
    choose_size,
    needs_one_curve,
    out_of_sample_price,
    paired_comparison,
)
from rlselect.machines._tuning import (
    Tuner,
)

__all__ = [
    "KERNELS",
    "LOSSES",
    "STOPPING_RULES",
    "AdditiveKernel",
    "AdditiveState",
    "AnovaKernel",
    "AnovaState",
    "ChangePoint",
    "ChiSquaredKernel",
    "ColumnProblem",
    "EliminationPath",
    "EliminationProblem",
    "EpsilonInsensitiveLoss",
    "EstimatorProblem",
    "GaussianKernel",
    "HeldOutProblem",
    "HingeLoss",
    "KernelProblem",
    "KernelState",
    "LinearKernel",
    "LogisticLoss",
    "Loss",
    "PolynomialKernel",
    "SquaredKernelProblem",
    "SquaredLabelLoss",
    "SquaredLoss",
    "Threshold",
    "TunableProblem",
    "Tuner",
    "choose_size",
    "constant_decision",
    "eliminate",
    "fit_clone",
    "fold_numbers",
    "make_kernel",
    "make_loss",
    "make_state",
    "name_of_kernel",
    "needs_one_curve",
    "out_of_sample_price",
    "paired_comparison",
    "solve_machine",
]
