"""From the name of a predictor to what makes one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rlselect.predictors._masked import MaskedPredictor, Target
from rlselect.predictors._masked_kernel import MaskedKernel
from rlselect.predictors._masked_linear import MaskedLinear

NAMES = ("auto", "linear", "logistic", "kernel", "network")


def make_masked(
    predictor: Any,
    target: Target,
    *,
    device: str = "cpu",
    n_jobs: int | None = None,
    rng: np.random.Generator,
) -> tuple[Callable[..., MaskedPredictor] | None, str]:
    """Maker of a predictor (None for "auto") and its name.

    Parameters
    ----------
    predictor : str or estimator
    target : Target
    device : str
    n_jobs : int, optional
    rng : Generator
        Gives the seed of predictors that start at random.

    Returns
    -------
    callable or None
        ``make(X, target)``.
    str
    """
    if isinstance(predictor, str):
        makers: dict[str, Callable[..., MaskedPredictor] | None] = {
            "auto": None,
            "linear": MaskedLinear,
            "kernel": MaskedKernel,
        }
        if predictor not in makers:
            raise ValueError(
                f"predictor={predictor!r} was given; choose one of {', '.join(map(repr, makers))} or an "
                "estimator of scikit-learn."
            )
        return makers[predictor], predictor
    raise ValueError(f"predictor={predictor!r}")
