"""Model-X knockoffs given the true covariance: second copies of the columns, and the lasso between the two.

Equicorrelated copies of normal columns (Candes and others, 2018), the difference of the absolute coefficients
of a lasso with lambda by 5-fold cross-validation as statistic, and the knockoff+ threshold.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigvalsh
from sklearn.linear_model import LassoCV

NAME = "model-X knockoffs"


def statistics(X, y, covariance, *, seed):
    """Statistic of each column: large where the column says more than its copy."""
    # copies must not be made of the numbers that made the rows
    rng = np.random.default_rng([seed, 7])
    least = float(eigvalsh(covariance, subset_by_index=[0, 0])[0])
    s = min(2.0 * least, 1.0) * 0.999
    pull = s * cho_solve(cho_factor(covariance), np.eye(len(covariance)))
    left = 2.0 * s * np.eye(len(covariance)) - s * pull
    copies = X - X @ pull + rng.standard_normal(X.shape) @ cholesky(left, lower=False)
    both = np.column_stack([X, copies])
    both = (both - both.mean(axis=0)) / both.std(axis=0)
    # columns in random order: a tie must not favour the real one
    order = rng.permutation(both.shape[1])
    size = np.empty(both.shape[1])
    size[order] = np.abs(LassoCV(cv=5, max_iter=5000, eps=1e-2).fit(both[:, order], y).coef_)
    return size[: X.shape[1]] - size[X.shape[1] :]


def choose(statistic, q):
    """Columns above the smallest threshold whose estimated false discovery rate is at most q."""
    for threshold in np.sort(np.abs(statistic[statistic != 0])):
        wrong = 1 + np.count_nonzero(statistic <= -threshold)
        if wrong / max(np.count_nonzero(statistic >= threshold), 1) <= q:
            return statistic >= threshold
    return np.zeros(len(statistic), dtype=bool)
