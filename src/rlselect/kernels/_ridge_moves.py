"""Backward moves of ridge regression: the linear kernel without any kernel matrix.

With ``H = X'WX + lambda W I`` (columns centred when there is an intercept), ``R = H^-1`` and ``b = R X'Wy``,
removing the columns ``g`` raises the objective by ``b_g' (R_gg)^-1 b_g / W``; the inverse, the residuals and
the leverages follow by a rank-``|g|`` update. With more columns than rows the same moves are made on the n x
n side.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rlselect.kernels._squared_bounds import projected_inverse

__all__ = ["dual_drop", "dual_increase", "dual_start", "primal_drop", "primal_increase", "primal_start"]


def primal_start(X, y, weights, lam, fit_intercept):
    """State of the d x d form: a dict of ``inverse``, ``coef``, ``residual``, ``leverage``, ``spread``. O(n
    d^2 + d^3).

    Raises
    ------
    numpy.linalg.LinAlgError
        If ``H`` is singular (only possible when lambda is zero or tiny).
    """
    total = weights.sum()
    centre = weights @ X / total if fit_intercept else np.zeros(X.shape[1])
    level = weights @ y / total if fit_intercept else 0.0
    Xc, yc = X - centre, y - level
    moments = Xc.T @ (weights[:, None] * Xc)
    moments[np.diag_indices_from(moments)] += lam * total
    if X.shape[1]:
        factor = cho_factor(moments, lower=True)
        pivots = np.diag(factor[0])
        if pivots.min() <= 1e-7 * pivots.max() and lam == 0.0:
            raise np.linalg.LinAlgError("the columns are linearly dependent")
        inverse = cho_solve(factor, np.eye(X.shape[1]))
        inverse = 0.5 * (inverse + inverse.T)
    else:
        inverse = np.zeros((0, 0))
    coef = inverse @ (Xc.T @ (weights * yc))
    spread = Xc @ inverse
    leverage = weights * (np.einsum("ij,ij->i", spread, Xc) + (1.0 / total if fit_intercept else 0.0))
    return {
        "inverse": inverse,
        "coef": coef,
        "residual": yc - Xc @ coef,
        "leverage": leverage,
        "spread": spread,
        "centre": centre,
        "level": level,
    }


def primal_increase(state, groups, weights):
    """Rise of the objective when each group of columns leaves."""
    coef, inverse = state["coef"], state["inverse"]
    total = weights.sum()
    if all(len(g) == 1 for g in groups):
        columns = np.array([g[0] for g in groups])
        return np.square(coef[columns]) / np.diag(inverse)[columns] / total
    return np.array([coef[g] @ np.linalg.solve(inverse[np.ix_(g, g)], coef[g]) for g in groups]) / total


def primal_drop(state, columns, weights):
    """State after ``columns`` have left; the arrays shrink to the columns that stay. O((n + d) d
    |columns|).
    """
    stay = np.setdiff1d(np.arange(len(state["coef"])), columns)
    inverse, spread = state["inverse"], state["spread"]
    block = np.linalg.inv(inverse[np.ix_(columns, columns)])
    link = inverse[np.ix_(stay, columns)] @ block
    towards = spread[:, columns]
    return {
        "inverse": inverse[np.ix_(stay, stay)] - link @ inverse[np.ix_(columns, stay)],
        "coef": state["coef"][stay] - link @ state["coef"][columns],
        "residual": state["residual"] + towards @ (block @ state["coef"][columns]),
        "leverage": state["leverage"] - weights * np.einsum("ij,ij->i", towards @ block, towards),
        "spread": spread[:, stay] - towards @ link.T,
        "centre": state["centre"][stay],
        "level": state["level"],
    }


def dual_start(X, y, ridge, fit_intercept):
    """State of the n x n form: ``inverse`` (projected), ``coef`` = S y, ``pull`` = X'S y, ``hold`` = diag
    X'S X.
    """
    inverse = projected_inverse(X @ X.T, ridge, fit_intercept)
    coef = inverse @ y
    return {
        "inverse": inverse,
        "coef": coef,
        "pull": X.T @ coef,
        "hold": np.einsum("ij,ij->j", X, inverse @ X),
    }


def dual_increase(state, X, groups):
    """Rise of ``y'Sy`` (the objective over lambda) when each group of columns leaves."""
    if all(len(g) == 1 for g in groups):
        columns = np.array([g[0] for g in groups])
        return np.square(state["pull"][columns]) / np.maximum(1.0 - state["hold"][columns], 1e-14)
    rises = []
    for g in groups:
        core = np.eye(len(g)) - X[:, g].T @ state["inverse"] @ X[:, g]
        rises.append(state["pull"][g] @ np.linalg.solve(core, state["pull"][g]))
    return np.array(rises)


def dual_drop(state, X, columns):
    """State after ``columns`` have left (their entries stay in place and are no longer meaningful). O(n^2
    + n d).
    """
    spread = state["inverse"] @ X[:, columns]
    block = np.linalg.inv(np.eye(len(columns)) - X[:, columns].T @ spread)
    seen = X.T @ spread
    pulled = block @ state["pull"][columns]
    return {
        "inverse": state["inverse"] + spread @ block @ spread.T,
        "coef": state["coef"] + spread @ pulled,
        "pull": state["pull"] + seen @ pulled,
        "hold": state["hold"] + np.einsum("ij,ij->i", seen @ block, seen),
    }
