"""A last look at the variables of a linear model of classes, by its likelihood.

An actor judges subsets by regressing indicators of the classes, which is fast and orders subsets well. A
logistic model uses the rows better, and a handful of single changes can be judged by it.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from rlselect.predictors._masked_logistic import MaskedLogistic
from rlselect.predictors._units import Units

# useless variables that are let in, on average over data sets
_FALSE_VARIABLES = 0.25
_CHANGES = 20


def likelihood_price(n: int, n_variables: int, n_classes: int) -> float:
    """What a column has to take off the deviance: more than the best of many useless ones mostly does."""
    tail = chi2.isf(_FALSE_VARIABLES / max(n_variables, 2), n_classes - 1)
    return max(float(tail), math.log(n))


def likeliest(
    predictor: MaskedLogistic, units: Units, mode: NDArray[np.bool_], near: NDArray[np.intp], n_variables: int
) -> NDArray[np.bool_]:
    """Subset that no single change makes better, by deviance and price, from an actor's subset on.

    Parameters
    ----------
    predictor : MaskedLogistic
        On the columns of the units.
    units : Units
    mode : bool array over units
    near : int array
        Units that may enter or leave.
    n_variables : int
        Variables there were to choose from.

    Returns
    -------
    bool array over units
    """
    n = len(predictor.X)
    price = likelihood_price(n, n_variables, predictor.target.n_classes)
    sizes = np.array([len(c) for c in units.columns])
    mode = mode.copy()
    for _ in range(_CHANGES):
        masks = np.repeat(mode[None], len(near) + 1, axis=0)
        masks[np.arange(len(near)), near] ^= True
        every = np.ones((len(masks), n), dtype=bool)
        deviance = 2.0 * predictor.losses(masks[:, units.unit_of], every).sum(axis=1)
        paid = deviance + price * (masks @ sizes)
        best = int(np.argmin(paid))
        if not paid[best] < paid[-1]:
            break
        mode = masks[best]
    return mode
