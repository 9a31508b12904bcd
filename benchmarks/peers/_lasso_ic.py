"""The lasso path with lambda by an information criterion of the shrunk fits."""

import numpy as np
from sklearn.linear_model import lasso_path

from peers._criteria import lasso_grid, standardised


def select_ic(X, y, price):
    """The support with the smallest RSS / (noise variance) + price x (non-zero coefficients)."""
    return best_coef(X, y, price) != 0


def best_coef(X, y, price):
    """Coefficients of the standardised columns at the chosen lambda.

    The noise variance is that of the full least-squares fit, as in scikit-learn's ``LassoLarsIC``. Where
    there is no such fit, ``LassoLarsIC`` asks its user for one; the variance of y is given then, which does
    well here and agrees with the figures that the ACP paper prints for more columns than rows.
    """
    X, y = standardised(X), y - y.mean()
    n, p = X.shape
    if n > p + 1:
        noise = np.square(y - X @ np.linalg.lstsq(X, y, rcond=None)[0]).sum() / (n - p - 1)
    else:
        noise = y.var()
    coefs = lasso_path(X, y, alphas=lasso_grid(X, y), max_iter=10_000)[1].T
    rss = np.square(y[:, None] - X @ coefs.T).sum(axis=0)
    return coefs[np.argmin(rss / noise + price * (coefs != 0).sum(axis=1))]


def order(strength):
    """Columns from the largest strength to the smallest; ties keep their order."""
    return np.argsort(-np.asarray(strength), kind="stable")
