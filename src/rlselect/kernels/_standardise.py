"""Columns of mean 0 and standard deviation 1, without overflow and without blowing up constants."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Standardised(NamedTuple):
    """Columns with what was subtracted and divided; constant ones are zero and `constant` marks them."""

    X: Array
    center: Array
    scale: Array
    constant: NDArray[np.bool_]


def unit_power(values: Array) -> NDArray[np.int32]:
    """Power of two near the largest value of each column: dividing by it is exact, and squares stay finite.

    Examples
    --------
    >>> unit_power(np.array([[3.0, 1e200], [-0.5, 0.0]])).tolist()
    [2, 665]
    """
    return np.asarray(np.frexp(np.abs(values).max(axis=0, initial=0.0))[1])


def standardise(X: NDArray) -> Standardised:
    """Centre and scale a copy of the columns.

    Parameters
    ----------
    X : array of shape (n, p)
        Finite numbers.

    Examples
    --------
    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).X.tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    X = np.array(X, dtype=np.float64)
    power = unit_power(X)
    np.ldexp(X, -power, out=X)
    center = X.mean(axis=0)
    X -= center
    scale = np.sqrt(np.einsum("ij,ij->j", X, X) / len(X))
    constant = scale <= 1e-10 * np.maximum(np.abs(center), 1e-300)
    scale[constant] = 1.0
    X /= scale
    X[:, constant] = 0.0
    return Standardised(X, np.ldexp(center, power), np.ldexp(scale, power), constant)
