"""The final linear model of rows that are read a block at a time."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rlselect.predictors._refit import Fit

Floats = NDArray[np.float64]


def fit_linear_blocks(blocks: Callable[[Callable], Iterable[Floats]], center: Floats) -> Fit:
    """Least squares with an intercept, from sums over blocks; the same answer as `fit_glm` on all rows.

    Parameters
    ----------
    blocks : callable
        ``blocks(then)`` yields ``then(A, y, weight, offset)`` for the columns, response, weight and offset of
        some rows at a time.
    center : array of shape (k + 1,)
        Values amid those of the k columns and of y: sums are taken about them, so that columns far from zero
        keep their digits.

    Returns
    -------
    Fit
    """
    n_columns = len(center) - 1
    center = np.concatenate([[0.0], center])
    sums = np.zeros((n_columns + 2, n_columns + 2))
    for products in blocks(partial(_products, center)):
        sums += products
    n = sums[0, 0]
    mean = sums[0, 1:] / n
    about = sums[1:, 1:] - n * np.outer(mean, mean)
    scale = np.sqrt(np.diagonal(about) / n)
    scale = np.where(scale > 1e-12 * np.abs(center[1:] + mean), scale, 1.0)[:-1]
    gram = about[:-1, :-1] / np.outer(scale, scale)
    inverse = np.linalg.pinv(gram, hermitian=True)
    coef = inverse @ (about[:-1, -1] / scale) / scale
    middle = center[1:-1] + mean[:-1]
    intercept = float(center[-1] + mean[-1] - middle @ coef)
    rest = about[-1, -1] - 2.0 * coef @ about[:-1, -1] + coef @ about[:-1, :-1] @ coef
    dispersion = float(max(rest, 0.0)) / max(n - n_columns - 1.0, 1.0)
    slopes = inverse / np.outer(scale, scale)
    covariance = np.zeros((n_columns + 1, n_columns + 1))
    covariance[1:, 1:] = slopes
    covariance[0, 1:] = covariance[1:, 0] = -slopes @ middle
    covariance[0, 0] = 1.0 / n + middle @ slopes @ middle
    errors = np.sqrt(np.maximum(dispersion * np.diagonal(slopes), 0.0))
    return Fit(intercept, coef, errors, covariance, dispersion, False)


def _products(center: Floats, A: Floats, y: Floats, weight: Floats | None, offset: Floats | None) -> Floats:
    rows = np.empty((len(center), len(y)))
    rows[0], rows[1:-1], rows[-1] = 1.0, A.T, y if offset is None else y - offset
    rows -= center[:, None]
    return rows @ (rows if weight is None else rows * weight).T
