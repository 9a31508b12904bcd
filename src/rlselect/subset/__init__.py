"""For everyone: selectors of one subset of variables, their settings and their displays."""

from rlselect.learn import (
    UCB,
    Cutoff,
    EpsilonGreedy,
    ExpectedF1,
    FalseDiscovery,
    MostProbable,
    Softmax,
    ThompsonSampling,
)
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
from rlselect.subset.revs import REVS, InclusionDisplay, Sarsa
from rlselect.subset.risk_rfe import MismatchFeatures, ReverseScreeDisplay, RiskRFE
from rlselect.subset.rivals import DivideAndConquer

__all__ = [
    "REVS",
    "UCB",
    "ActorCriticPredictor",
    "AdditiveKernel",
    "ChangePoint",
    "ChiSquaredKernel",
    "Cutoff",
    "DivideAndConquer",
    "EpsilonGreedy",
    "EpsilonInsensitiveLoss",
    "ExpectedF1",
    "FalseDiscovery",
    "GaussianKernel",
    "HingeLoss",
    "InclusionDisplay",
    "LinearKernel",
    "LogisticLoss",
    "MismatchFeatures",
    "MostProbable",
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
    "Threshold",
]
