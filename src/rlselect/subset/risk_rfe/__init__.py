"""RiskRFE: elimination of features by the regularised empirical risk of a kernel machine."""

from rlselect.subset.risk_rfe._display import (
    ReverseScreeDisplay,
)
from rlselect.subset.risk_rfe._mismatch_features import (
    MismatchFeatures,
)
from rlselect.subset.risk_rfe._risk_rfe import (
    RiskRFE,
)

__all__ = [
    "MismatchFeatures",
    "ReverseScreeDisplay",
    "RiskRFE",
]
