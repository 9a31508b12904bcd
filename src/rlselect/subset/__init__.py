"""For everyone: selectors of one subset of variables, their settings and their displays."""

from rlselect.learn import UCB, EpsilonGreedy, Softmax, ThompsonSampling
from rlselect.machines import (
    AdditiveKernel,
    ChangePoint,
    ChiSquaredKernel,
    EpsilonInsensitiveLoss,
    GaussianKernel,
    HingeLoss,
    LinearKernel,
    LogisticLoss,
    PolynomialKernel,
    SquaredLabelLoss,
    SquaredLoss,
    Threshold,
)
from rlselect.subset.acp import (
    ActorCriticPredictor,
    PerformanceDisplay,
    PolicyGradient,
    RewardDisplay,
    ThetaDisplay,
)
from rlselect.subset.revs import REVS, Sarsa
from rlselect.subset.risk_rfe import MismatchFeatures, ReverseScreeDisplay, RiskRFE
from rlselect.subset.rivals import (
    FSTD,
    FUSE,
    Comparison,
    ComparisonDisplay,
    CorrelationFeatureSelection,
    DivideAndConquer,
    ThompsonSelector,
    compare,
)

__all__ = [
    "FSTD",
    "FUSE",
    "REVS",
    "UCB",
    "ActorCriticPredictor",
    "AdditiveKernel",
    "ChangePoint",
    "ChiSquaredKernel",
    "Comparison",
    "ComparisonDisplay",
    "CorrelationFeatureSelection",
    "DivideAndConquer",
    "EpsilonGreedy",
    "EpsilonInsensitiveLoss",
    "GaussianKernel",
    "HingeLoss",
    "LinearKernel",
    "LogisticLoss",
    "MismatchFeatures",
    "PerformanceDisplay",
    "PolicyGradient",
    "PolynomialKernel",
    "ReverseScreeDisplay",
    "RewardDisplay",
    "RiskRFE",
    "Sarsa",
    "Softmax",
    "SquaredLabelLoss",
    "SquaredLoss",
    "ThetaDisplay",
    "ThompsonSampling",
    "ThompsonSelector",
    "Threshold",
    "compare",
]
