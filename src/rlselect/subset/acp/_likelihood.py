"""A last look at the variables of a linear model of classes, by its likelihood.

An actor judges subsets by regressing indicators of the classes, which is fast and orders subsets well. A
logistic model uses the rows better, and a handful of single changes can be judged by it.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from rlselect._clock import Clock
from rlselect.data import Units
from rlselect.subset.acp.masked import MaskedLogistic

# useless variables that are let in, on average over data sets
_FALSE_VARIABLES = 0.25
_CHANGES = 20
# numbers in the Hessians' sums over rows: changes beyond are forecast, and only the best of them fitted
_CELLS, _FITTED = 200_000_000, 6
# a model is believed with so many rows a coefficient, and fitted if its Hessian is no dearer
_ROWS, _DEAREST = 2, 300_000_000
# so many variables are added one after the other in the hope of more, while each has so many rows
_AHEAD, _ROWS_AHEAD = 10, 8


def likelihood_price(n: int, n_variables: int, n_classes: int) -> float:
    """What a column has to take off the deviance: more than the best of many useless ones mostly does."""
    tail = chi2.isf(_FALSE_VARIABLES / max(n_variables, 2), n_classes - 1)
    return max(float(tail), math.log(n))


def sees_more(n: int, n_columns: int, n_classes: int) -> bool:
    """Whether a logistic model on so many columns can be believed, and fitted in no time.

    With few rows a coefficient the classes are separated, and a likelihood says nothing any more.
    """
    coefficients = (n_columns + 1) * (n_classes - 1)
    return _ROWS * coefficients <= n and n * coefficients**2 <= _DEAREST


def likeliest(
    predictor: MaskedLogistic,
    units: Units,
    mode: NDArray[np.bool_],
    near: NDArray[np.intp],
    n_variables: int,
    clock: Clock | None = None,
) -> NDArray[np.bool_]:
    """Subset that no single change makes better, nor a few additions, by deviance and price.

    Parameters
    ----------
    predictor : MaskedLogistic
        On the columns of the units.
    units : Units
    mode : bool array over units
        An actor's subset, to start from.
    near : int array
        Units that may enter or leave.
    n_variables : int
        Variables there were to choose from.
    clock : Clock, optional
        Asked before every change.

    Returns
    -------
    bool array over units
    """
    price = likelihood_price(len(predictor.X), n_variables, predictor.target.n_classes)
    sizes = np.array([len(c) for c in units.columns])

    def paid(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        every = np.ones((len(masks), len(predictor.X)), dtype=bool)
        deviance = 2.0 * predictor.losses(masks[:, units.unit_of], every).sum(axis=1)
        return np.asarray(deviance + price * (masks @ sizes))

    for _ in range(_CHANGES):
        if clock is not None and clock.tick() is not None:
            break
        some = _shortlist(predictor, units, mode, near, price)
        single = np.repeat(mode[None], len(some) + 1, axis=0)
        single[np.arange(len(some)), some] ^= True
        values = paid(single)
        if values.min() < values[-1]:
            mode = single[int(np.argmin(values))]
            continue
        # one more may not be worth its price as long as what others explain is noise beside it
        ahead = additions(predictor, units, mode, near, clock)
        values = paid(ahead)
        if not values.min() < values[0]:
            break
        mode = ahead[int(np.argmin(values))]
    return mode


def additions(
    predictor: MaskedLogistic,
    units: Units,
    mode: NDArray[np.bool_],
    near: NDArray[np.intp],
    clock: Clock | None,
) -> NDArray[np.bool_]:
    """A subset, and with one, two, ... units more, those with the best forecasts one after the other."""
    steps = [mode]
    target = predictor.target
    most = int(target.telling_rows) // (_ROWS_AHEAD * (target.n_classes - 1))
    for _ in range(min(_AHEAD, int((~mode[near]).sum()))):
        if clock is not None and clock.tick() is not None:
            break
        outside = near[~steps[-1][near]]
        change = predictor.deviance_changes(
            steps[-1][units.unit_of], [units.columns[unit] for unit in outside]
        )
        larger = steps[-1].copy()
        larger[outside[np.argmin(change)]] = True
        if larger[units.unit_of].sum() > most:
            break
        steps.append(larger)
    return np.array(steps)


def _shortlist(
    predictor: MaskedLogistic, units: Units, mode: NDArray[np.bool_], near: NDArray[np.intp], price: float
) -> NDArray[np.intp]:
    """Units whose change is worth fitting: all of a small model, else those with the best forecast."""
    mask = mode[units.unit_of]
    coefficients = (int(mask.sum()) + 1) * (predictor.target.n_classes - 1)
    count = max(_CELLS // (len(predictor.X) * coefficients**2), _FITTED)
    if count >= len(near):
        return near
    sizes = np.array([len(units.columns[u]) for u in near])
    change = predictor.deviance_changes(mask, [units.columns[u] for u in near])
    paid = change + price * np.where(mode[near], -sizes, sizes)
    return near[np.argsort(paid, kind="stable")[:count]]
