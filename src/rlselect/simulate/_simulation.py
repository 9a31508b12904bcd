"""From a design and its coefficients to a data set."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rlselect.simulate._designs import RandomDesign, row_blocks

FAMILIES = ("gaussian", "binomial", "poisson")

# Beyond this a Poisson mean says nothing about the selection and overflows integer counts.
_MAX_LOG_MEAN = 20.0


@dataclass(frozen=True)
class Simulation:
    """A simulated data set and the truth behind it.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        C-ordered.
    y : ndarray of shape (n,)
        Of the dtype of X for the Gaussian family, labels 0 and 1 or counts (integers) otherwise.
    coef : ndarray of shape (p,)
        The true coefficients, float64; NaN at a column that matters in another way than by a coefficient.
    intercept : float
        The true intercept.
    support : ndarray of bool of shape (p,)
        Where ``coef`` is not zero.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    coef: NDArray[np.float64]
    intercept: float
    support: NDArray[np.bool_]


def simulate(
    design: RandomDesign,
    shape: tuple[int, int],
    coef: NDArray[np.float64],
    intercept: float,
    *,
    family: str,
    noise_variance: float,
    dtype: DTypeLike,
    rng: np.random.Generator,
) -> Simulation:
    """Fill X block by block and draw y from the family; cost O(n p) plus the design's own."""
    n, p = shape
    X = np.empty((n, p), dtype=dtype)
    eta = np.full(n, intercept)
    support = coef != 0.0
    active = np.flatnonzero(support)
    for where in row_blocks(n, p):
        rows = X[where]
        rng.standard_normal(out=rows, dtype=X.dtype.type)
        design.transform(rows, where)
        eta[where] += rows[:, active] @ coef[active]
    y: NDArray[Any]
    if family == "gaussian":
        y = (eta + np.sqrt(noise_variance) * rng.standard_normal(n)).astype(dtype)
    elif family == "binomial":
        y = (rng.logistic(size=n) < eta).astype(np.int64)
    else:
        y = rng.poisson(np.exp(np.minimum(eta, _MAX_LOG_MEAN)))
    return Simulation(X, y, coef, float(intercept), support)


def check_common(n: object, p: object, n_nonzero: object, family: str, noise_variance: float) -> None:
    """Refuse what no generator can work with."""
    for name, value, least in (("n", n, 1), ("p", p, 1), ("n_nonzero", n_nonzero, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
            raise ValueError(f"{name}={value!r} was given; {name} must be an integer of at least {least}.")
    if family not in FAMILIES:
        raise ValueError(f"family={family!r} was given; choose one of {', '.join(map(repr, FAMILIES))}.")
    if not noise_variance >= 0 or np.isinf(noise_variance):
        raise ValueError(
            f"noise_variance={noise_variance!r} was given; it must be a finite number of at least 0."
        )


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Accept float32 and float64 only: other types have no normal generator of their own."""
    resolved = np.dtype(dtype)
    if resolved not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} was given; choose np.float32 or np.float64.")
    return resolved
