"""What a reward is made of: models on a subset of columns, kernel machines, and their losses."""

from rlselect.predictors._glm_subset import GlmSubset
from rlselect.predictors._gram import PANEL, LazyGram, Moments
from rlselect.predictors._kernel_objects import (
    AdditiveKernel,
    ChiSquaredKernel,
    GaussianKernel,
    LinearKernel,
    PolynomialKernel,
)
from rlselect.predictors._losses import EpsilonInsensitiveLoss, HingeLoss, LogisticLoss, SquaredLoss
from rlselect.predictors._masked import MaskedPredictor, Target, make_target
from rlselect.predictors._masked_estimator import MaskedEstimator
from rlselect.predictors._masked_kernel import MaskedKernel
from rlselect.predictors._masked_linear import MaskedLinear
from rlselect.predictors._masked_logistic import MaskedLogistic
from rlselect.predictors._masked_network import MaskedNetwork
from rlselect.predictors._refit import Fit, SeparationWarning, fit_glm, heldout_gains
from rlselect.predictors._refit_blocks import fit_glm_blocks, fit_linear_blocks, fit_moments, is_precise
from rlselect.predictors._ridge_subset import RidgeSubset
from rlselect.predictors._rows import Block, OverflowedColumns, Rows
from rlselect.predictors._stopping import ChangePoint, Threshold
from rlselect.predictors._units import Units

__all__ = [
    "PANEL",
    "AdditiveKernel",
    "Block",
    "ChangePoint",
    "ChiSquaredKernel",
    "EpsilonInsensitiveLoss",
    "Fit",
    "GaussianKernel",
    "GlmSubset",
    "HingeLoss",
    "LazyGram",
    "LinearKernel",
    "LogisticLoss",
    "MaskedEstimator",
    "MaskedKernel",
    "MaskedLinear",
    "MaskedLogistic",
    "MaskedNetwork",
    "MaskedPredictor",
    "Moments",
    "OverflowedColumns",
    "PolynomialKernel",
    "RidgeSubset",
    "Rows",
    "SeparationWarning",
    "SquaredLoss",
    "Target",
    "Threshold",
    "Units",
    "fit_glm",
    "fit_glm_blocks",
    "fit_linear_blocks",
    "fit_moments",
    "heldout_gains",
    "is_precise",
    "make_target",
]
