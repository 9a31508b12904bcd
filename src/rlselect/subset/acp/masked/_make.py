"""From the name of a predictor to what makes one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from rlselect.kernels import Training
from rlselect.subset.acp.masked._estimator import MaskedEstimator
from rlselect.subset.acp.masked._kernel import MaskedKernel
from rlselect.subset.acp.masked._linear import MaskedLinear
from rlselect.subset.acp.masked._logistic import MaskedLogistic
from rlselect.subset.acp.masked._network import MaskedNetwork
from rlselect.subset.acp.masked._predictor import MaskedPredictor, Target

NAMES = ("auto", "linear", "logistic", "kernel", "network")
# the paper's networks are scikit-learn's, which hardly shrink
_PAPER_TRAINING = Training(epochs=1000, decay=1e-6)


def make_masked(
    predictor: Any,
    target: Target,
    *,
    rng: np.random.Generator,
    device: str = "cpu",
    n_jobs: int | None = None,
    paper: bool = False,
) -> tuple[Callable[..., MaskedPredictor] | None, str]:
    """Maker of a predictor (None for "auto") and its name.

    Parameters
    ----------
    predictor : str or estimator
    target : Target
    rng : Generator
        Gives the seed of predictors that start at random.
    device : str
    n_jobs : int, optional
    paper : bool
        Networks are trained as long as the paper does.

    Returns
    -------
    callable or None
        ``make(X, target)``.
    str
    """
    seed = int(rng.integers(2**31 - 1))
    if isinstance(predictor, str):
        if predictor not in NAMES:
            raise ValueError(
                f"predictor={predictor!r} was given; choose one of {', '.join(map(repr, NAMES))} or an "
                "estimator of scikit-learn."
            )
        if predictor == "logistic" and not target.classifies:
            raise ValueError("predictor='logistic' needs classes; use 'linear' for numbers.")
        training = _PAPER_TRAINING if paper else None
        makers: dict[str, Callable[..., MaskedPredictor] | None] = {
            "auto": None,
            "linear": MaskedLinear,
            "logistic": MaskedLogistic,
            "kernel": MaskedKernel,
            "network": partial(MaskedNetwork, random_state=seed, device=device, training=training),
        }
        return makers[predictor], predictor
    if isinstance(predictor, type) or not hasattr(predictor, "fit") or not hasattr(predictor, "get_params"):
        raise ValueError(
            f"predictor={predictor!r} was given; choose one of {', '.join(map(repr, NAMES))} or an estimator "
            "of scikit-learn."
        )
    estimator = clone(predictor)
    if "random_state" in estimator.get_params() and estimator.get_params()["random_state"] is None:
        # or the answer would depend on the workers
        estimator.set_params(random_state=seed)
    return partial(MaskedEstimator, estimator=estimator, n_jobs=n_jobs), type(predictor).__name__
