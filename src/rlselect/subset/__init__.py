"""For everyone: selectors of one subset of variables."""

from rlselect.subset._divide import DivideAndConquer
from rlselect.subset._revs import REVS
from rlselect.subset._sarsa import Sarsa

__all__ = ["REVS", "DivideAndConquer", "Sarsa"]
