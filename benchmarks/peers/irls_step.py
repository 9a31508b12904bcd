"""A yardstick, not a selector: one Newton (IRLS) step of the full logistic model on all rows."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

NAME = "one full-data IRLS step"
FAMILIES = ("binomial",)
BLOCK_ROWS = 10_000


def available():
    return True


def measure(X, y, family, *, seed):
    newton_step(X, y, np.zeros(X.shape[1], dtype=X.dtype))
    return {"support": None, "rows_read": len(y), "note": "timing only"}


def newton_step(X, y, coef):
    """Coefficients after one step; the weighted Gram matrix in blocks, in the precision of X."""
    n, p = X.shape
    hessian, gradient = np.zeros((p, p)), np.zeros(p)
    for start in range(0, n, BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        mu = expit(rows @ coef)
        scaled = rows * np.sqrt(mu * (1 - mu))[:, None]
        hessian += scaled.T @ scaled
        gradient += rows.T @ (y[start : start + BLOCK_ROWS].astype(X.dtype) - mu)
    return coef + cho_solve(cho_factor(hessian), gradient)
