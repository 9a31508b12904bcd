"""At this moment: temporal process regression, its bands and tests, and tests of repeated measures."""

from rlselect.temporal._bands import Band
from rlselect.temporal._cvm import CvMTest, two_sample_cvm
from rlselect.temporal._displays import (
    AvailabilityDisplay,
    ECDFDisplay,
    EffectCurveDisplay,
    EffectCurvesDisplay,
    MeanEffectDisplay,
)
from rlselect.temporal._few import SmallSampleWarning
from rlselect.temporal._hypotheses import FlaggedTimeWarning, ProcessTest
from rlselect.temporal._imputations import PooledCurves, pool_imputations, wide_to_long
from rlselect.temporal._model import TemporalProcessRegression
from rlselect.temporal._selection import Selection

__all__ = [
    "AvailabilityDisplay",
    "Band",
    "CvMTest",
    "ECDFDisplay",
    "EffectCurveDisplay",
    "EffectCurvesDisplay",
    "FlaggedTimeWarning",
    "MeanEffectDisplay",
    "PooledCurves",
    "ProcessTest",
    "Selection",
    "SmallSampleWarning",
    "TemporalProcessRegression",
    "pool_imputations",
    "two_sample_cvm",
    "wide_to_long",
]
