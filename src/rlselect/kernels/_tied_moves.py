r"""Moves of a subset whose effects are tied: columns that say the same are taken to do the same.

The coefficients of the subset s have the prior :math:`N(0, g K_{ss})` with a matrix K of unit diagonal over
all columns, so that the prior of a subset is the marginal of that of any larger one. Given those inside, the
coefficient of a column j outside has the prior mean :math:`u'\beta_s`, :math:`u = K_{ss}^{-1} K_{sj}`, and
the variance :math:`g \kappa`, :math:`\kappa = 1 - K_{sj}'u`. With the Hessian H at the mode (prior included),
the products :math:`c = A'Wx_j` and the score :math:`r_j`, one Newton step prices all moves; for least squares
it is exact. With :math:`\tau = 1 / (g\kappa)`, :math:`q = u'H^{-1}u`, :math:`m = 1 + u'H^{-1}c`,
:math:`t = u'\hat\beta`, :math:`d = x_j'Wx_j - c'H^{-1}c` and :math:`D = d (1 + \tau q) + \tau m^2`, adding j
lowers the loss by :math:`(r^2 (1 + \tau q) + 2 \tau r m t - \tau t^2 d) / (2 D)` and raises the log
determinant of the Hessian over that of the prior's by :math:`\log(D / \tau)`. Without ties, :math:`u = 0`,
these are the usual ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

# of a column that the subset explains altogether only its prior is left
_LEAST = 1e-12


class TiedMoves(NamedTuple):
    """What each move does, and the posterior of the coefficient that enters or leaves.

    Attributes
    ----------
    fall : array
        Fall of the loss (minus the log posterior), negative when the column is missed.
    logdet : array
        Change of the log determinant of the Hessian over that of the prior's.
    mean, variance : array
        Posterior of the coefficient in the larger of the two subsets.
    """

    fall: Floats
    logdet: Floats
    mean: Floats
    variance: Floats


class Ties(NamedTuple):
    """What ties the effects of a subset of k columns.

    Attributes
    ----------
    rows : array of shape (k, p)
        Rows of K.
    inverse : array of shape (k, k)
        Inverse of K among the subset.
    logdet : float
        Log determinant of K among the subset.
    """

    rows: Floats
    inverse: Floats
    logdet: float


def prior_logdet(k: int, slab: float, ties: Ties | None) -> float:
    """Log determinant of the prior covariance of k coefficients."""
    return k * float(np.log(slab)) + (ties.logdet if ties else 0.0)


def tied_adds(
    score: Floats,
    own: Floats,
    cross: Floats,
    inverse: Floats,
    coef: Floats,
    ties: Ties | None,
    slab: float,
) -> TiedMoves:
    """What adding each column does. Cost O(p k^2).

    Parameters
    ----------
    score, own : array of shape (p,)
        x_j'(y - mean) and x_j'Wx_j.
    cross : array of shape (f + k, p)
        A'WX; f rows of columns without a prior (the intercept) first.
    inverse : array of shape (f + k, f + k)
        Inverse of the Hessian.
    coef : array of shape (k,)
        Coefficients of the subset at the mode.
    ties : Ties, optional
        None where K is the identity.
    slab : float
        g.
    """
    k = len(coef)
    free = len(inverse) - k
    pull = inverse @ cross
    d = np.maximum(own - np.einsum("ij,ij->j", cross, pull), _LEAST * own)
    if ties is None:
        whole = d + 1.0 / slab
        return TiedMoves(0.5 * score * score / whole, np.log(whole * slab), score / whole, 1.0 / whole)
    u = ties.inverse @ ties.rows
    tau = 1.0 / (slab * np.maximum(1.0 - np.einsum("ij,ij->j", ties.rows, u), _LEAST))
    q = np.einsum("ij,ij->j", u, inverse[free:, free:] @ u)
    m = 1.0 + np.einsum("ij,ij->j", u, pull[free:])
    t = coef @ u
    rise = 1.0 + tau * q
    whole = d * rise + tau * m * m
    fall = 0.5 * (score * score * rise + 2.0 * tau * score * m * t - tau * t * t * d) / whole
    return TiedMoves(fall, np.log(whole / tau), (score * rise + tau * m * t) / whole, rise / whole)


def tied_removes(inverse: Floats, coef: Floats, ties: Ties | None, slab: float) -> TiedMoves:
    """What removing each column of the subset does. Cost O(k^3).

    Parameters
    ----------
    inverse : array of shape (k, k)
        Posterior covariance of the coefficients (their block of the inverse Hessian).
    coef, ties, slab
        As in `tied_adds`.
    """
    variance = inverse.diagonal()
    if ties is None:
        return TiedMoves(-0.5 * coef * coef / variance, np.log(variance / slab), coef, variance)
    own = ties.inverse.diagonal()
    w = ties.inverse / own
    tau = own / slab
    pull = inverse @ w
    mixed, across = pull.diagonal(), np.einsum("ij,ij->j", w, pull)
    rest = np.maximum(variance * across - mixed * mixed, 0.0)
    gap = variance * (coef @ w) - mixed * coef
    left = np.maximum(variance - tau * rest, _LEAST * variance)
    loss = 0.5 * (coef * coef - tau * gap * gap / left) / variance
    return TiedMoves(-loss, np.log(left * tau), coef, variance)
