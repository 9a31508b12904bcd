"""What a reward is made of."""

from rlselect.predictors._kernel_objects import (
    AdditiveKernel,
    ChiSquaredKernel,
    GaussianKernel,
    LinearKernel,
    PolynomialKernel,
)
from rlselect.predictors._losses import EpsilonInsensitiveLoss, HingeLoss, LogisticLoss, SquaredLoss
from rlselect.predictors._stopping import ChangePoint, Threshold

__all__ = [
    "AdditiveKernel",
    "ChangePoint",
    "ChiSquaredKernel",
    "EpsilonInsensitiveLoss",
    "GaussianKernel",
    "HingeLoss",
    "LinearKernel",
    "LogisticLoss",
    "PolynomialKernel",
    "SquaredLoss",
    "Threshold",
]
