"""Generalised linear models on a subset: moves of several columns at once, priced by one Newton step.

With the ridge prior of variance g, the Laplace approximation of the log evidence at the mode prices a block
of columns as `_tied_moves` prices a single one that is tied to none.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]


def laplace_block_add(block: Floats, score: Floats, slab: float | Floats) -> Floats:
    """Change of the Laplace log evidence when several columns enter together, for many such blocks at once.

    Parameters
    ----------
    block : array of shape (..., m, m)
        Their curvature given the subset, 1/g on the diagonal included.
    score : array of shape (..., m)
        Their scores.
    slab : float or array of shape (...)
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


def laplace_block_remove(block: Floats, coef: Floats, slab: float | Floats) -> Floats:
    """Change of the Laplace log evidence when several columns leave together, for many such blocks at once.

    Parameters
    ----------
    block : array of shape (..., m, m)
        Their block of the posterior covariance.
    coef : array of shape (..., m)
        Their coefficients.
    slab : float or array of shape (...)
        g.

    Returns
    -------
    array of shape (...)
        The changes, by one Newton step.
    """
    logdet = np.linalg.slogdet(block)[1]
    loss = 0.5 * (coef * np.linalg.solve(block, coef[..., None])[..., 0]).sum(axis=-1)
    return np.asarray(0.5 * (coef.shape[-1] * np.log(slab) - logdet) - loss)


def log_hole_factor(mean: Floats, covariance: Floats, variance: float | Floats, order: int) -> Floats:
    r"""Log of what a hole at zero makes of the evidence of a group of coefficients, for many groups at once.

    The prior :math:`N(0, v I)` times :math:`|\beta|^{2r}`, made to integrate to one, takes the evidence times
    the posterior mean of :math:`|\beta|^{2r}` over the prior one. Both are moments of a quadratic form of
    normal numbers, whose cumulants are :math:`2^{i-1} (i-1)! (\mathrm{tr} V^i + i\, m' V^{i-1} m)`.

    Parameters
    ----------
    mean : array of shape (..., q)
        m, posterior means without the hole.
    covariance : array of shape (..., q, q)
        V.
    variance : float or array of shape (...)
        v.
    order : int
        r, zero for no hole.

    Returns
    -------
    array of shape (...)
    """
    moments, cumulants, power, q = [np.ones(mean.shape[:-1])], [], covariance, mean.shape[-1]
    pulled = mean
    for i in range(1, order + 1):
        trace = np.trace(power, axis1=-2, axis2=-1) + i * (mean * pulled).sum(axis=-1)
        cumulants.append(2.0 ** (i - 1) * math.factorial(i - 1) * trace)
        moments.append(sum(math.comb(i - 1, j) * cumulants[i - 1 - j] * moments[j] for j in range(i)))
        pulled = np.einsum("...ab,...b->...a", covariance, pulled)
        power = power @ covariance
    before = order * np.log(2.0 * variance) + gammaln(0.5 * q + order) - gammaln(0.5 * q)
    return np.asarray(np.log(moments[order]) - before)
