"""How much every product of two columns would say beside the two of them: all products at once."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# of the variance of a product, what must be left beside its two columns for it to be judged
_LEFT = 1e-6


def pair_scores(Z: Floats, weight: Floats, score: Floats) -> Floats:
    r"""Squared z of the product of every two columns, beside an intercept and the two.

    The score of :math:`z_a z_b` is taken beside those of 1, :math:`z_a` and :math:`z_b`. Every sum over the
    rows is an entry of a product of matrices: O(n p^2) for all p (p - 1) / 2 of them, and no product is kept.

    Parameters
    ----------
    Z : array of shape (n, p)
        Columns of weighted mean zero and variance one.
    weight : array of shape (n,)
        How often each row counts.
    score : array of shape (q, n)
        Derivatives of the log likelihood by the linear predictors of each row.

    Returns
    -------
    array of shape (p, p)
        Sums over the q predictors; zero on the diagonal, and where the columns determine their product.
    """
    total = weight.sum()
    W, square = Z * weight[:, None], Z * Z
    r = Z.T @ W / total
    # skew[a, b] is the mean of z_a^2 z_b
    skew = square.T @ W / total
    spread = square.T @ (square * weight[:, None]) / total
    rest = np.maximum(1.0 - r * r, 1e-12)
    first, second = (skew - r * skew.T) / rest, (skew.T - r * skew) / rest
    left = spread - r * r - first * skew - second * skew.T
    judged = (left > _LEFT * np.maximum(spread, 1e-300)) & (rest > _LEFT)
    np.fill_diagonal(judged, False)
    found = np.zeros_like(r)
    for one in score:
        g = one * weight
        alone = Z.T @ g
        size = float(g @ one) / total
        beside = Z.T @ (Z * g[:, None]) - r * g.sum() - first * alone[:, None] - second * alone
        found += beside**2 / max(size * total, 1e-300)
    return np.where(judged, found / np.where(judged, left, 1.0), 0.0)
