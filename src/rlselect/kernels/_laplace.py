r"""Generalised linear models on a subset: prices of all moves by one Newton step.

With the ridge prior :math:`\beta \sim N(0, g I)` (the intercept is free), the mode :math:`\hat\beta`, the
score :math:`r_j = x_j'(y - \mu)` and the curvature W at the mode, one Newton step prices every move by the
Laplace approximation of the log evidence: adding j changes it by
:math:`-\tfrac12 \log(g d_j) + \tfrac12 r_j^2 / d_j`, :math:`d_j = x_j'Wx_j + 1/g - C_j M^{-1} C_j'`, and
removing j by :math:`\tfrac12 \log(g d_j) - \tfrac12 \hat\beta_j^2 d_j`, :math:`d_j = 1 / (M^{-1})_{jj}`.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def laplace_state(cross: Floats, inverse: Floats, curvature: Floats, slab: float) -> Floats:
    """Curvature of the log posterior along each column given the subset. Cost O(p k^2).

    Parameters
    ----------
    cross : array of shape (k, p)
        A'WX, the free columns (the intercept) first.
    inverse : array of shape (k, k)
        Inverse of A'WA plus the prior's diagonal.
    curvature : array of shape (p,)
        x_j'Wx_j.
    slab : float
        g.

    Returns
    -------
    array of shape (p,)
        d_j, kept positive.
    """
    schur = curvature + 1.0 / slab - np.einsum("ij,ij->j", cross, inverse @ cross)
    return np.maximum(schur, 1e-12 / slab)


def laplace_moves(
    score: Floats, schur: Floats, slab: float, subset: list[int], inverse: Floats, coef: Floats
) -> Floats:
    """Change of the Laplace log evidence when each column is toggled, by one Newton step. Cost O(p).

    Parameters
    ----------
    score, schur : array of shape (p,)
        x_j'(y - mean) and d_j of `laplace_state`.
    slab : float
        g.
    subset : list of int
        The k columns in the subset.
    inverse : array of shape (k, k)
        Their block of the posterior covariance.
    coef : array of shape (k,)
        Their coefficients.

    Returns
    -------
    array of shape (p,)
        Added when outside, removed when inside.
    """
    moves = 0.5 * score * score / schur - 0.5 * np.log(slab * schur)
    if subset:
        d = 1.0 / np.diagonal(inverse)
        moves[subset] = 0.5 * np.log(slab * d) - 0.5 * coef * coef * d
    return moves


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
