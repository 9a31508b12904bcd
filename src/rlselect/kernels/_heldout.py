r"""All moves of a subset priced at once on rows that the models were not fitted on.

With the design A of the subset (an intercept first), the training curvature W, :math:`M = A'WA`,
:math:`V = M^{-1}A'WX` and the training score r, one Newton step adds column j with the coefficient
:math:`b_j = r_j / (x_j'Wx_j - A'Wx_j \cdot V_j)` and changes the linear predictor on the validation rows by
:math:`(X_{valid} - A_{valid}V)_j\, b_j`. Removing column j changes it by
:math:`-A_{valid} M^{-1}_j\, \hat\beta_j / M^{-1}_{jj}`. For least squares the single step is exact.
"""

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._families import log_likelihood, score_and_curvature

Floats = NDArray[np.float64]


def heldout_moves(
    family: str,
    coef: Floats,
    subset: NDArray[np.intp],
    train: tuple[Floats, Floats],
    valid: tuple[Floats, Floats],
    weight: tuple[Floats | None, Floats | None] = (None, None),
    offset: tuple[Floats | float, Floats | float] = (0.0, 0.0),
    dispersion: float = 0.0,
) -> Floats:
    """Fall of the held-out loss when each column is toggled. Cost O(n p k).

    The loss is the mean squared error for "gaussian", minus the mean log likelihood otherwise.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    coef : array of shape (1 + k,)
        Intercept and coefficients of the subset, fitted on the training rows.
    subset : array of int
        The k columns.
    train, valid : tuple of arrays (X, y)
        Rows the models are fitted and judged on.
    weight, offset : tuple
        Weights and offsets of the training and the validation rows.
    dispersion : float, default=0
        Of counts, as in `score_and_curvature`.

    Returns
    -------
    array of shape (p,)
        Positive when the move lowers the loss.
    """
    (X, y), (X_valid, y_valid) = train, valid
    w = np.ones(len(y)) if weight[0] is None else weight[0]
    design, design_valid = _with_intercept(X[:, subset]), _with_intercept(X_valid[:, subset])
    score, curvature = score_and_curvature(family, y, design @ coef + offset[0], dispersion)
    curved = design * (w * curvature)[:, None]
    inverse = np.linalg.pinv(design.T @ curved, rcond=1e-12, hermitian=True)

    outside = np.setdiff1d(np.arange(X.shape[1]), subset)
    across = curved.T @ X[:, outside]
    project = inverse @ across
    own = np.einsum("ij,ij,i->j", X[:, outside], X[:, outside], w * curvature)
    left = own - np.einsum("ij,ij->j", across, project)
    # a column that the subset explains has nothing to add
    free = left > 1e-10 * np.maximum(own, 1e-300)
    step = np.where(free, (X[:, outside].T @ (w * score)) / np.where(free, left, 1.0), 0.0)

    change = np.empty((len(y_valid), X.shape[1]))
    change[:, outside] = (X_valid[:, outside] - design_valid @ project) * step
    diagonal = np.diagonal(inverse)[1:]
    back = np.divide(coef[1:], diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    change[:, subset] = -(design_valid @ inverse[:, 1:]) * back
    return _falls(family, y_valid, design_valid @ coef + offset[1], change, weight[1], dispersion)


def heldout_block_remove(
    family: str,
    coef: Floats,
    places: NDArray[np.intp],
    covariance: Floats,
    valid: tuple[Floats, Floats],
    weight: Floats | None = None,
    offset: Floats | float = 0.0,
    dispersion: float = 0.0,
) -> float:
    """Fall of the held-out loss when several columns of the subset leave together, by one Newton step.

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson"}
        The distribution.
    coef : array of shape (1 + k,)
        Intercept and coefficients of the subset.
    places : array of int
        Their places among the coefficients (the intercept is place 0).
    covariance : array of shape (1 + k, 1 + k)
        Inverse of A'WA on the training rows.
    valid : tuple of arrays (A, y)
        Columns of the subset and response of the validation rows.
    weight, offset : array, optional
        Of the validation rows.
    dispersion : float, default=0
        Of counts, as in `score_and_curvature`.

    Returns
    -------
    float
        Negative when the columns are worth having.
    """
    A, y = valid
    design = _with_intercept(A)
    pull = np.linalg.lstsq(covariance[np.ix_(places, places)], coef[places], rcond=None)[0]
    change = -(design @ covariance[:, places]) @ pull
    return float(_falls(family, y, design @ coef + offset, change[:, None], weight, dispersion)[0])


def _with_intercept(X: Floats) -> Floats:
    return np.column_stack([np.ones(len(X)), X])


def _falls(
    family: str, y: Floats, eta: Floats, change: Floats, weight: Floats | None, dispersion: float
) -> Floats:
    unit = 2.0 if family == "gaussian" else 1.0
    gain = log_likelihood(family, y[:, None], eta[:, None] + change, dispersion=dispersion)
    gain -= log_likelihood(family, y, eta, dispersion=dispersion)[:, None]
    return unit * np.average(gain, axis=0, weights=weight)
