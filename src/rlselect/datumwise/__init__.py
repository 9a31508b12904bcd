"""Which variables matter for this case? Features are bought one by one, until enough is known."""

from rlselect.datumwise._classifier import DatumwiseClassifier
from rlselect.datumwise._displays import BlockUseDisplay, FeatureUseDisplay, FrontierDisplay
from rlselect.datumwise._reasons import Explanation
from rlselect.datumwise._regressor import DatumwiseRegressor
from rlselect.datumwise._session import Result, Session
from rlselect.datumwise._settings import NetworkTraining, PaperIteration, PolicyIteration
from rlselect.datumwise._tree import QuestionNode
from rlselect.datumwise._tree_display import QuestionTreeDisplay

__all__ = [
    "BlockUseDisplay",
    "DatumwiseClassifier",
    "DatumwiseRegressor",
    "Explanation",
    "FeatureUseDisplay",
    "FrontierDisplay",
    "NetworkTraining",
    "PaperIteration",
    "PolicyIteration",
    "QuestionNode",
    "QuestionTreeDisplay",
    "Result",
    "Session",
]
