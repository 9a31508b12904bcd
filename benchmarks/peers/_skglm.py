"""Warm-started paths of separable penalties with skglm's solvers, and the choice of lambda on them."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from peers._criteria import best_refit, standardised
from peers._installed import installed

N_LAMBDA = 50
# The largest curvature of the loss along a standardised column. A penalty is concave relative to it, so the
# usual shape (3 for MCP, 3.7 for SCAD, made for least squares) is divided by it.
CURVATURE = {"gaussian": 1.0, "binomial": 0.25}
# Where the path ends, as a share of the largest lambda: at n = 200 and 500 the fit is near saturation there.
SMALLEST = {"gaussian": 0.01, "binomial": 0.03}


def available():
    return installed("skglm")


def _lambdas(X, y, family, l1_ratio=1.0):
    largest = np.abs(X.T @ (y - y.mean())).max() / len(y) / l1_ratio
    return largest * np.geomspace(1.0, SMALLEST[family], N_LAMBDA)


def _path(X, y, family, penalty, lambdas, *, concave):
    """Coefficients (len(lambdas), p + 1), the intercept last, along a decreasing grid."""
    from skglm.datafits import Logistic, Quadratic
    from skglm.solvers import AndersonCD, ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    X = np.asfortranarray(X)
    datafit = compiled_clone(Quadratic() if family == "gaussian" else Logistic())
    target = np.asarray(y if family == "gaussian" else 2.0 * y - 1.0, dtype=float)
    penalty = compiled_clone(penalty)
    # Newton is ten times faster on the convex logistic problems and ten times slower on the concave ones.
    solver = (AndersonCD if concave or family == "gaussian" else ProxNewton)(
        tol=1e-4, fit_intercept=True, warm_start=True
    )
    datafit.initialize(X, target)
    coef, fitted = np.zeros(X.shape[1] + 1), np.zeros(len(y))
    out = np.empty((len(lambdas), len(coef)))
    for i, value in enumerate(lambdas):
        penalty.alpha = value
        coef = solver.solve(X, target, datafit, penalty, coef.copy(), fitted.copy())[0]
        fitted = X @ coef[:-1] + coef[-1]
        out[i] = coef
    return out


def select_ebic(X, y, family, penalty, max_size=60):
    """Support on the path of a concave penalty with the smallest EBIC after a refit."""
    X = standardised(X)
    coefs = _path(X, y, family, penalty, _lambdas(X, y, family), concave=True)
    return best_refit(X, y, family, coefs[:, :-1] != 0, max_size)


def select_elastic_net_cv(X, y, family, *, l1_ratios, folds, seed):
    """Support of the elastic net at the smallest cross-validated squared error or log loss."""
    from skglm.penalties import L1_plus_L2

    X = standardised(X)
    kind = KFold if family == "gaussian" else StratifiedKFold
    splits = list(kind(folds, shuffle=True, random_state=seed).split(X, y))
    best_loss, best_ratio, best_lambdas = np.inf, l1_ratios[0], None
    for ratio in l1_ratios:
        lambdas = _lambdas(X, y, family, ratio)
        loss = np.zeros(len(lambdas))
        for train, test in splits:
            coefs = _path(X[train], y[train], family, L1_plus_L2(1.0, ratio), lambdas, concave=False)
            eta, target = X[test] @ coefs[:, :-1].T + coefs[:, -1], y[test, None]
            each = (target - eta) ** 2 if family == "gaussian" else np.logaddexp(0.0, eta) - target * eta
            loss += each.sum(axis=0)
        k = int(np.argmin(loss))
        if loss[k] < best_loss:
            best_loss, best_ratio, best_lambdas = loss[k], ratio, lambdas[: k + 1]
    coefs = _path(X, y, family, L1_plus_L2(1.0, best_ratio), best_lambdas, concave=False)
    return coefs[-1, :-1] != 0
