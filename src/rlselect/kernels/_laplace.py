"""Generalised linear models on a subset: moves of several columns at once, priced by one Newton step.

With the ridge prior of variance g, the Laplace approximation of the log evidence at the mode prices a block
of columns as `_tied_moves` prices a single one that is tied to none.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def laplace_block_add(block: Floats, score: Floats, slab: float) -> Floats:
    """Change of the Laplace log evidence when several columns enter together, for many such blocks at once.

    Parameters
    ----------
    block : array of shape (..., m, m)
        Their curvature given the subset, 1/g on the diagonal included.
    score : array of shape (..., m)
        Their scores.
    slab : float
        g.

    Returns
    -------
    array of shape (...)
        The changes, by one Newton step.
    """
    lower = np.linalg.cholesky(block)
    white = np.linalg.solve(lower, score[..., None])[..., 0]
    logdet = 2.0 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    return 0.5 * ((white * white).sum(axis=-1) - logdet - score.shape[-1] * np.log(slab))


def laplace_block_remove(block: Floats, coef: Floats, slab: float) -> float:
    """Change of the Laplace log evidence when several columns leave together, by one Newton step.

    Parameters
    ----------
    block : array of shape (m, m)
        Their block of the posterior covariance.
    coef : array of shape (m,)
        Their coefficients.
    slab : float
        g.

    Returns
    -------
    float
        The change.
    """
    logdet = float(np.linalg.slogdet(block)[1])
    loss = 0.5 * float(coef @ np.linalg.solve(block, coef))
    return 0.5 * (len(coef) * float(np.log(slab)) - logdet) - loss
