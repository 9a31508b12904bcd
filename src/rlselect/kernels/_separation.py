"""Does a finite estimate exist? A linear programme decides, not the size of a coefficient."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from rlselect.kernels._batched_irls import RANK_TOLERANCE

Array = NDArray[np.float64]


def separating_direction(x: Array, y: Array, *, upper: bool) -> Array | None:
    """Direction of coefficients along which the likelihood never falls, or None.

    Solves ``max sum_i s_i x_i'b`` subject to ``s_i x_i'b >= 0`` where the response lies on the edge of its
    range (``s = 1`` at the upper edge, ``-1`` at the lower) and ``x_i'b = 0`` elsewhere. In orthonormal
    coordinates with ``|b|_inf <= 1`` the optimum is 0 when the estimate is finite and at least ``sqrt(n)``
    when it is not, so no tolerance has to be guessed.

    Parameters
    ----------
    x : array of shape (rows, coefficients), of full column rank
    y : array of shape (rows,)
    upper : bool
        Whether 1 is an edge that the mean reaches only at infinity (logit, probit, cloglog), beside 0.

    Returns
    -------
    array of shape (coefficients,) or None

    Notes
    -----
    Cost: one linear programme with `rows` constraints and `coefficients` unknowns.
    """
    n = len(x)
    top = np.abs(x).max(axis=0)
    scale = np.where(top > 0, top, 1.0)
    u, s, vt = np.linalg.svd(x / scale, full_matrices=False)
    if s[-1] <= RANK_TOLERANCE * s[0]:
        return None
    q = u * np.sqrt(n)
    sign = np.where(y <= 0, -1.0, np.where(upper & (y >= 1), 1.0, 0.0))
    edge = sign != 0
    if not edge.any():
        return None
    signed = q[edge] * sign[edge, None]
    inner = q[~edge]
    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        A_eq=inner if len(inner) else None,
        b_eq=np.zeros(len(inner)) if len(inner) else None,
        bounds=(-1.0, 1.0),
        method="highs",
    )
    if found.x is None or -found.fun < 0.5 * np.sqrt(n):
        return None
    return (vt.T / s) @ found.x / scale * np.sqrt(n)
