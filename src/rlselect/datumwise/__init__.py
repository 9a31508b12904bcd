"""Which variables matter for this case? Features are bought one by one, until enough is known."""

from rlselect.datumwise._classifier import DatumwiseClassifier
from rlselect.datumwise._paper import PaperIteration
from rlselect.datumwise._rcpi import PolicyIteration
from rlselect.datumwise._session import Result, Session
from rlselect.datumwise._tree import QuestionNode

__all__ = [
    "DatumwiseClassifier",
    "PaperIteration",
    "PolicyIteration",
    "QuestionNode",
    "Result",
    "Session",
]
