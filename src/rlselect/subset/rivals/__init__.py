"""Methods that those of the papers were measured against."""

from rlselect.subset.rivals._cfs import CorrelationFeatureSelection
from rlselect.subset.rivals._compare import Comparison, ComparisonDisplay, compare
from rlselect.subset.rivals._divide import DivideAndConquer
from rlselect.subset.rivals._fstd import FSTD
from rlselect.subset.rivals._fuse import FUSE
from rlselect.subset.rivals._thompson import ThompsonSelector

__all__ = [
    "FSTD",
    "FUSE",
    "Comparison",
    "ComparisonDisplay",
    "CorrelationFeatureSelection",
    "DivideAndConquer",
    "ThompsonSelector",
    "compare",
]
