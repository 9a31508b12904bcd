"""REVS: a walk over subsets, priced by evidence; the paper's SARSA search beside it."""

from rlselect.subset.revs._autocorrelation import AutocorrelationWarning
from rlselect.subset.revs._revs import REVS
from rlselect.subset.revs._sarsa import Sarsa
from rlselect.subset.revs.evidence import SeparationWarning

__all__ = ["REVS", "AutocorrelationWarning", "Sarsa", "SeparationWarning"]
