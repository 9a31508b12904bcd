"""Batches of models, one for each mask over the columns: linear, logistic, kernel, network, any estimator."""

from rlselect.masked._estimator import (
    MaskedEstimator,
)
from rlselect.masked._kernel import (
    MaskedKernel,
)
from rlselect.masked._linear import (
    MaskedLinear,
)
from rlselect.masked._logistic import (
    MaskedLogistic,
)
from rlselect.masked._make import (
    make_masked,
)
from rlselect.masked._network import (
    MaskedNetwork,
)
from rlselect.masked._predictor import (
    MaskedPredictor,
    Target,
    make_target,
    unit_power,
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
    "unit_power",
]
