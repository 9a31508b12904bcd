"""Forward selection, size by EBIC (gamma .5) over the first 60 steps.

Least squares: exact forward selection. Logistic: all candidates are ranked by their score statistic, the best
five are refitted, the one with the smallest deviance enters.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from peers._criteria import ebic, logistic_fit, standardised
from peers._forward import forward_ebic

NAME = "forward, EBIC"
FAMILIES = ("gaussian", "binomial")
MAX_SIZE = 60
REFITS = 5
# The EBIC of a logistic path turns up for good well before this many steps without a new minimum.
PATIENCE = 10


def available():
    return True


def select(X, y, family, *, seed):
    if family == "gaussian":
        X = X - X.mean(axis=0)
        y = y - y.mean()
        return forward_ebic(
            lambda j: X.T @ X[:, j], np.einsum("ij,ij->j", X, X), X.T @ y, y @ y, len(y), MAX_SIZE
        )
    return _logistic_forward(standardised(X), np.asarray(y, dtype=float))


def _logistic_forward(X, y):
    n, p = X.shape
    squares = X**2
    A = np.ones((n, 1))
    coef, deviance, mu = logistic_fit(A, y)
    chosen = []
    best_size, best_score = 0, ebic(deviance, 0, n, p)
    while len(chosen) < min(MAX_SIZE, n - 2, p) and len(chosen) - best_size < PATIENCE:
        statistic = _score_statistics(X, squares, A, y, mu)
        statistic[chosen] = -1.0
        fits = []
        for j in np.argsort(statistic)[::-1][:REFITS]:
            trial = np.column_stack([A, X[:, j]])
            fits.append((logistic_fit(trial, y, np.append(coef, 0.0)), int(j), trial))
        (coef, deviance, mu), j, A = min(fits, key=lambda fit: fit[0][1])
        chosen.append(j)
        score = ebic(deviance, len(chosen), n, p)
        if score < best_score:
            best_size, best_score = len(chosen), score
    support = np.zeros(p, dtype=bool)
    support[chosen[:best_size]] = True
    return support


def _score_statistics(X, squares, A, y, mu):
    """Drop in deviance each column promises: squared score over its variance given the columns in A."""
    weight = np.maximum(mu * (1.0 - mu), 1e-10)
    cross = (A.T * weight) @ X
    inner = (A.T * weight) @ A
    inner[np.diag_indices_from(inner)] += 1e-8 * len(y)
    left = weight @ squares - np.einsum("ij,ij->j", cross, cho_solve(cho_factor(inner), cross))
    return (X.T @ (y - mu)) ** 2 / np.maximum(left, 1e-8 * len(y))
