"""At this moment: temporal process regression, its bands and tests, and tests of repeated measures."""

from rlselect.temporal._model import TemporalProcessRegression
from rlselect.temporal._results import Band, ProcessTest, Selection, Summary
from rlselect.temporal._tests import FlaggedTimeWarning

__all__ = [
    "Band",
    "FlaggedTimeWarning",
    "ProcessTest",
    "Selection",
    "Summary",
    "TemporalProcessRegression",
]
