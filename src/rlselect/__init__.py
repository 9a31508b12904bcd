"""Which variables matter: for everyone, for this case, for this decision, at this moment?

The public names are loaded when first used, so that ``import rlselect`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# public name -> the room it lives in
_ROOMS = {
    "ActorCriticPredictor": "subset",
    "AdvantageLearning": "regimes",
    "DatumwiseClassifier": "datumwise",
    "DivideAndConquer": "subset",
    "MismatchFeatures": "subset",
    "PerformanceDisplay": "subset",
    "QLearning": "regimes",
    "REVS": "subset",
    "ReverseScreeDisplay": "subset",
    "RewardDisplay": "subset",
    "RiskRFE": "subset",
    "Sarsa": "subset",
    "TemporalProcessRegression": "temporal",
    "ThetaDisplay": "subset",
    "Threshold": "machines",
    "TrialData": "regimes",
    "compare_regimes": "regimes",
    "regime_value": "regimes",
    "two_sample_cvm": "temporal",
}

__all__ = [
    "REVS",
    "ActorCriticPredictor",
    "AdvantageLearning",
    "DatumwiseClassifier",
    "DivideAndConquer",
    "MismatchFeatures",
    "PerformanceDisplay",
    "QLearning",
    "ReverseScreeDisplay",
    "RewardDisplay",
    "RiskRFE",
    "Sarsa",
    "TemporalProcessRegression",
    "ThetaDisplay",
    "Threshold",
    "TrialData",
    "__version__",
    "compare_regimes",
    "regime_value",
    "two_sample_cvm",
]

if TYPE_CHECKING:
    from rlselect.datumwise import DatumwiseClassifier as DatumwiseClassifier
    from rlselect.machines import Threshold as Threshold
    from rlselect.regimes import AdvantageLearning as AdvantageLearning
    from rlselect.regimes import QLearning as QLearning
    from rlselect.regimes import TrialData as TrialData
    from rlselect.regimes import compare_regimes as compare_regimes
    from rlselect.regimes import regime_value as regime_value
    from rlselect.subset import REVS as REVS
    from rlselect.subset import ActorCriticPredictor as ActorCriticPredictor
    from rlselect.subset import DivideAndConquer as DivideAndConquer
    from rlselect.subset import MismatchFeatures as MismatchFeatures
    from rlselect.subset import PerformanceDisplay as PerformanceDisplay
    from rlselect.subset import ReverseScreeDisplay as ReverseScreeDisplay
    from rlselect.subset import RewardDisplay as RewardDisplay
    from rlselect.subset import RiskRFE as RiskRFE
    from rlselect.subset import Sarsa as Sarsa
    from rlselect.subset import ThetaDisplay as ThetaDisplay
    from rlselect.temporal import TemporalProcessRegression as TemporalProcessRegression
    from rlselect.temporal import two_sample_cvm as two_sample_cvm


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"rlselect.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'rlselect' has no attribute {name!r}; public names: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
