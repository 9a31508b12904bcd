r"""What columns say together that none of them says alone, from their z values and correlations.

With z the scores of columns outside a model, each in units of its standard error, and R their correlations
given the model, a set of columns together lowers twice the log likelihood by :math:`z' R^{-1} z` of that set.
"""

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._newton import invert_positive

Floats = NDArray[np.floating]

# columns of which less is left beside one another repeat each other
_LEFT = 1e-5


def pair_gains(z: Floats, correlation: Floats) -> Floats:
    """Squared z of every two columns together. Cost O(p^2).

    Parameters
    ----------
    z : array of shape (p,)
        Of each column alone.
    correlation : array of shape (p, p)
        Of the columns, ones on the diagonal.

    Returns
    -------
    array of shape (p, p)
        In the precision of `correlation`; zero on the diagonal, and for columns that repeat each other.
    """
    z = z.astype(correlation.dtype)
    # (z_i^2 + z_j^2 - 2 r z_i z_j) / (1 - r^2)
    gain = np.multiply.outer(z, -2.0 * z)
    gain *= correlation
    square = z * z
    gain += square
    gain += square[:, None]
    left = correlation * correlation
    np.subtract(1.0, left, out=left)
    left[left < _LEFT] = np.inf
    gain /= left
    return gain


def beside_all(z: Floats, correlation: Floats) -> NDArray[np.float64]:
    """|z| of each column beside all others. Cost O(p^3).

    Parameters
    ----------
    z, correlation
        As for `pair_gains`.

    Returns
    -------
    array of shape (p,)
    """
    inverse, _ = invert_positive(np.asarray(correlation, dtype=np.float64))
    return np.abs(inverse @ z) / np.sqrt(np.maximum(np.diagonal(inverse), 1e-300))
