"""For everyone: selectors of one subset of variables."""

from rlselect.subset._acp import ActorCriticPredictor
from rlselect.subset._acp_displays import PerformanceDisplay, RewardDisplay, ThetaDisplay
from rlselect.subset._acp_paper import PolicyGradient
from rlselect.subset._divide import DivideAndConquer
from rlselect.subset._mismatch_features import MismatchFeatures
from rlselect.subset._revs import REVS
from rlselect.subset._risk_rfe import RiskRFE
from rlselect.subset._risk_rfe_display import ReverseScreeDisplay
from rlselect.subset._sarsa import Sarsa

__all__ = [
    "REVS",
    "ActorCriticPredictor",
    "DivideAndConquer",
    "MismatchFeatures",
    "PerformanceDisplay",
    "PolicyGradient",
    "ReverseScreeDisplay",
    "RewardDisplay",
    "RiskRFE",
    "Sarsa",
    "ThetaDisplay",
]
