"""At this moment: temporal process regression, its bands and tests, and tests of repeated measures."""

from rlselect.temporal._cvm import CvMTest, two_sample_cvm
from rlselect.temporal._display import ECDFDisplay, EffectCurveDisplay
from rlselect.temporal._model import TemporalProcessRegression
from rlselect.temporal._results import Band, ProcessTest, Selection, Summary
from rlselect.temporal._tests import FlaggedTimeWarning

__all__ = [
    "Band",
    "CvMTest",
    "ECDFDisplay",
    "EffectCurveDisplay",
    "FlaggedTimeWarning",
    "ProcessTest",
    "Selection",
    "Summary",
    "TemporalProcessRegression",
    "two_sample_cvm",
]
