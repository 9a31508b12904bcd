"""The lasso path with lambda by an information criterion of the shrunk fits."""

import numpy as np
from sklearn.linear_model import lasso_path

from peers._criteria import gaussian_deviance, lasso_grid, standardised


def select_ic(X, y, price):
    """The support with the smallest n log(RSS / n) + price x (non-zero coefficients)."""
    return best_coef(X, y, price) != 0


def best_coef(X, y, price):
    """Coefficients of the standardised columns at the chosen lambda.

    Fits with more coefficients than half the rows are left out: with as many columns as rows the residual
    goes to 0 and takes any criterion of this form with it.
    """
    X, y = standardised(X), y - y.mean()
    coefs = lasso_path(X, y, alphas=lasso_grid(X, y), max_iter=10_000)[1].T
    sizes = (coefs != 0).sum(axis=1)
    rss = np.square(y[:, None] - X @ coefs.T).sum(axis=0)
    score = np.where(sizes <= len(y) // 2, gaussian_deviance(rss, len(y)) + price * sizes, np.inf)
    return coefs[np.argmin(score)]


def order(strength):
    """Columns from the largest strength to the smallest; ties keep their order."""
    return np.argsort(-np.asarray(strength), kind="stable")
