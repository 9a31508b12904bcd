"""What several peers share: the extended BIC and a small logistic fit."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

# The middle of the extended BIC: a variable costs log(n) + log(p). The strict end (gamma 1, which abess uses)
# loses most of the banded variables in forward and lasso paths; this one is the better of the two on average.
EBIC_GAMMA = 0.5


def ebic(deviance, size, n, p, gamma=EBIC_GAMMA):
    """Deviance (-2 log likelihood) plus the price of ``size`` variables out of p; arrays or scalars."""
    return deviance + np.asarray(size) * (np.log(n) + 2.0 * gamma * np.log(p))


def gaussian_deviance(rss, n):
    """-2 log likelihood at the best noise variance, up to a constant."""
    return n * np.log(np.maximum(rss, np.finfo(float).tiny) / n)


def standardised(X):
    """Columns with mean 0 and variance 1; constant columns become zeros."""
    centred = X - X.mean(axis=0)
    scale = centred.std(axis=0)
    return centred / np.where(scale > 0, scale, 1.0)


def lasso_grid(X, y):
    """A hundred lambdas from the smallest that selects nothing down to a hundredth of it."""
    largest = np.abs(X.T @ (y - y.mean())).max() / len(y)
    return largest * np.geomspace(1.0, 0.01, 100)


def logistic_fit(A, y, start=None, max_iter=25, tol=1e-8):
    """Newton with step halving; A holds the intercept column.

    Returns coefficients, deviance, fitted probabilities. The tiny ridge keeps a separated fit finite; its
    deviance is then as near to 0 as separation brings it.
    """
    coef = np.zeros(A.shape[1]) if start is None else start.copy()
    ridge = 1e-6 * len(y)

    def objective(b):
        eta = A @ b
        return eta, 2.0 * (np.logaddexp(0.0, eta).sum() - y @ eta) + ridge * (b @ b)

    eta, value = objective(coef)
    for _ in range(max_iter):
        mu = expit(eta)
        hessian = (A.T * (mu * (1.0 - mu))) @ A
        hessian[np.diag_indices_from(hessian)] += ridge
        step = cho_solve(cho_factor(hessian), A.T @ (y - mu) - ridge * coef)
        length = 1.0
        while length > 1e-4:
            new_eta, new_value = objective(coef + length * step)
            if new_value <= value:
                break
            length *= 0.5
        else:
            break
        coef = coef + length * step
        gained, value, eta = value - new_value, new_value, new_eta
        if gained < tol * (1.0 + abs(value)):
            break
    return coef, value - ridge * (coef @ coef), expit(eta)


def best_refit(X, y, family, supports, max_size):
    """The support with the smallest EBIC after an unpenalised refit."""
    n, p = X.shape
    best, best_score = np.zeros(p, dtype=bool), np.inf
    seen = set()
    for support in supports:
        size = int(support.sum())
        key = support.tobytes()
        if size > max_size or key in seen:
            continue
        seen.add(key)
        A = np.column_stack([np.ones(n), X[:, support]])
        if family == "gaussian":
            residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
            deviance = gaussian_deviance(residual @ residual, n)
        else:
            deviance = logistic_fit(A, y)[1]
        score = ebic(deviance, size, n, p)
        if score < best_score:
            best, best_score = support, score
    return best
