"""ActorCriticPredictor: a policy that tosses a coin for each variable, judged by a predictor."""

from rlselect.subset.acp._acp import (
    ActorCriticPredictor,
)
from rlselect.subset.acp._displays import (
    RewardDisplay,
    ThetaDisplay,
)
from rlselect.subset.acp._paper import (
    PolicyGradient,
)

__all__ = [
    "ActorCriticPredictor",
    "PolicyGradient",
    "RewardDisplay",
    "ThetaDisplay",
]
