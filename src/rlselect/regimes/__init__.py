"""For this decision: treatment regimes, the history they need and what they are worth."""

from rlselect.regimes._advantage import AdvantageLearning
from rlselect.regimes._contrasts import TailoringEffect
from rlselect.regimes._decision_displays import DecisionMapDisplay, RegimeValueDisplay
from rlselect.regimes._displays import StageObjectiveDisplay, TailoringDisplay
from rlselect.regimes._estimates import RegimeComparison, RegimeValue
from rlselect.regimes._outcome_weighted import OutcomeWeightedRegime, outcome_weighted_regime
from rlselect.regimes._overlap import OverlapReport
from rlselect.regimes._overlap_display import OverlapDisplay
from rlselect.regimes._policy_tree import PolicyTree
from rlselect.regimes._q_learning import QLearning
from rlselect.regimes._stage_rfe import StageRFE
from rlselect.regimes._tree_display import PolicyTreeDisplay
from rlselect.regimes._trial import TrialData
from rlselect.regimes._value import compare_regimes, regime_value

__all__ = [
    "AdvantageLearning",
    "DecisionMapDisplay",
    "OutcomeWeightedRegime",
    "OverlapDisplay",
    "OverlapReport",
    "PolicyTree",
    "PolicyTreeDisplay",
    "QLearning",
    "RegimeComparison",
    "RegimeValue",
    "RegimeValueDisplay",
    "StageObjectiveDisplay",
    "StageRFE",
    "TailoringDisplay",
    "TailoringEffect",
    "TrialData",
    "compare_regimes",
    "outcome_weighted_regime",
    "regime_value",
]
