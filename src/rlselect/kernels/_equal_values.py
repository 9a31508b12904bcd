"""Values that rounding alone tells apart."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# values that differ by a smaller share differ by rounding
_SHARE = 1e-9


def steps_of(rising: Array, floor: float) -> NDArray[np.intp]:
    """Number of the step that each of some rising values stands on; those equal up to rounding share one.

    Parameters
    ----------
    rising : array of shape (n,)
        Sorted, without NaN.
    floor : float
        Differences below this are rounding, too.

    Examples
    --------
    >>> steps_of(np.array([0.0, 1e-15, 1.0, 1.0 + 1e-12, 1.1, np.inf, np.inf]), 1e-12).tolist()
    [0, 0, 1, 1, 2, 3, 3]
    """
    low, high = rising[:-1], rising[1:]
    finite = np.isfinite(low) & np.isfinite(high)
    gap = np.subtract(high, low, out=np.zeros(len(low)), where=finite)
    new = np.where(finite, gap > np.maximum(_SHARE * np.abs(high), floor), low != high)
    return np.concatenate([[0], np.cumsum(new)])[: len(rising)].astype(np.intp)


def rising_order(values: Array, floor: float) -> NDArray[np.intp]:
    """Places of the values from the smallest on; of those equal up to rounding the first place comes first.

    Examples
    --------
    >>> rising_order(np.array([2.0, 1.0 + 1e-13, 1.0]), 1e-12).tolist()
    [1, 2, 0]
    """
    order = np.argsort(values, kind="stable")
    return order[np.lexsort((order, steps_of(values[order], floor)))]
