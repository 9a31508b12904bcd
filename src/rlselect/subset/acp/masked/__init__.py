"""Batches of models, one for each mask over the columns: linear, logistic, kernel, network, any estimator."""

from rlselect.subset.acp.masked._estimator import (
    MaskedEstimator,
)
from rlselect.subset.acp.masked._kernel import (
    MaskedKernel,
)
from rlselect.subset.acp.masked._linear import (
    MaskedLinear,
)
from rlselect.subset.acp.masked._logistic import (
    MaskedLogistic,
)
from rlselect.subset.acp.masked._make import (
    make_masked,
)
from rlselect.subset.acp.masked._network import (
    MaskedNetwork,
    row_seconds,
)
from rlselect.subset.acp.masked._predictor import (
    MaskedPredictor,
    Target,
    make_target,
)

__all__ = [
    "MaskedEstimator",
    "MaskedKernel",
    "MaskedLinear",
    "MaskedLogistic",
    "MaskedNetwork",
    "MaskedPredictor",
    "Target",
    "make_masked",
    "make_target",
    "row_seconds",
]
