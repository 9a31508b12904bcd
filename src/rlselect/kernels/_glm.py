r"""Generalised linear models on a subset: Newton steps and one-step prices of all moves.

With the ridge prior :math:`\beta \sim N(0, g I)` (the intercept is free), the mode :math:`\hat\beta`, the
score :math:`r_j = x_j'(y - \mu)` and the curvature W at the mode, one Newton step prices every move by the
Laplace approximation of the log evidence: adding j changes it by
:math:`-\tfrac12 \log(g d_j) + \tfrac12 r_j^2 / d_j`, :math:`d_j = x_j'Wx_j + 1/g - C_j M^{-1} C_j'`, and
removing j by :math:`\tfrac12 \log(g d_j) - \tfrac12 \hat\beta_j^2 d_j`, :math:`d_j = 1 / (M^{-1})_{jj}`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.special import expit, gammaln

Floats = NDArray[np.floating]

# exp(30) is far beyond any mean a count can have; past it Newton's step is meaningless anyway
_LARGEST = 30.0
# relative to its largest part, what is left of a direction that the other columns explain
_SINGULAR = 1e-12


def mean_and_curvature(family: str, eta: Floats) -> tuple[Floats, Floats]:
    """Mean and its derivative by the linear predictor, for the canonical link.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    eta : array
        Linear predictor.

    Returns
    -------
    mean, curvature : array
        The curvature is kept above 1e-10.
    """
    if family == "gaussian":
        return eta, np.ones_like(eta)
    if family == "binomial":
        mean = expit(eta)
        return mean, np.maximum(mean * (1.0 - mean), 1e-10)
    mean = np.exp(np.minimum(eta, _LARGEST))
    return mean, np.maximum(mean, 1e-10)


def log_likelihood(family: str, y: Floats, eta: Floats) -> Floats:
    """Log likelihood of each row (gaussian: minus half the squared error).

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    y, eta : array of shape (n,)
        Response and linear predictor.

    Returns
    -------
    array of shape (n,)
    """
    if family == "gaussian":
        return -0.5 * (y - eta) ** 2
    if family == "binomial":
        return y * eta - np.logaddexp(0.0, eta)
    eta = np.minimum(eta, _LARGEST)
    return y * eta - np.exp(eta) - gammaln(y + 1.0)


def null_intercept(family: str, y: Floats, weight: Floats | None, offset: Floats | None) -> float:
    """Intercept of the model without columns, where Newton's steps start (exact without an offset).

    Parameters
    ----------
    family : {"binomial", "poisson"}
        The distribution.
    y : array of shape (n,)
        Response.
    weight, offset : array of shape (n,), optional
        Weights, and the known part of the linear predictor.

    Returns
    -------
    float
    """
    w = np.ones(len(y)) if weight is None else weight
    known = np.zeros(len(y)) if offset is None else offset
    total, n = float(w @ y), max(float(w.sum()), 1e-300)
    if family == "poisson":
        # counts of nothing but zeros have no finite intercept: half an event stands in
        top = float(known.max(initial=-np.inf))
        return float(np.log(max(total, 0.5) / max(float(w @ np.exp(known - top)), 1e-300)) - top)
    share = min(max(total / n, 0.5 / (n + 1.0)), 1.0 - 0.5 / (n + 1.0))
    return float(np.log(share / (1.0 - share)) - w @ known / n)


def newton_step(hessian: Floats, gradient: Floats) -> tuple[Floats, float]:
    """Newton step and its decrement; a singular Hessian is answered by the least-norm step.

    Parameters
    ----------
    hessian : array of shape (k, k)
        Positive semi-definite.
    gradient : array of shape (k,)
        Of the log posterior.

    Returns
    -------
    step : array of shape (k,)
    decrement : float
        step'gradient, twice the gain the quadratic model promises.
    """
    try:
        lower = np.linalg.cholesky(hessian)
        # a pivot at rounding level: some columns add up to another one
        regular = bool(np.all(np.diagonal(lower) ** 2 > _SINGULAR * np.diagonal(hessian)))
    except np.linalg.LinAlgError:
        regular = False
    if regular:
        step = cho_solve((lower, True), gradient, check_finite=False)
    else:
        step = np.linalg.lstsq(hessian, gradient, rcond=_SINGULAR)[0]
    return step, float(step @ gradient)


def newton_state(cross: Floats, inverse: Floats, curvature: Floats, slab: float) -> Floats:
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
        x_j'(y - mean) and d_j of `newton_state`.
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
