"""Which variables matter for this case? Features are bought one by one, until enough is known."""

from rlselect.datumwise._classifier import DatumwiseClassifier
from rlselect.datumwise._rcpi import PolicyIteration

__all__ = ["DatumwiseClassifier", "PolicyIteration"]
