"""Lasso path, least-squares (or maximum-likelihood) refit of each support, EBIC (gamma .5)."""

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.svm import l1_min_c

from peers._criteria import best_refit, lasso_grid, standardised

NAME = "relaxed lasso, EBIC"
FAMILIES = ("gaussian", "binomial")
MAX_SIZE = 60

# scikit-learn 1.8 renamed penalty="l1" of its logistic regression.
_RELEASE = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
L1 = {"l1_ratio": 1.0} if _RELEASE >= (1, 8) else {"penalty": "l1"}


def available():
    return True


def select(X, y, family, *, seed):
    X = standardised(X)
    if family == "gaussian":
        supports = lasso_path(X, y - y.mean(), alphas=lasso_grid(X, y))[1].T != 0
    else:
        supports = _logistic_supports(X, y)
    return best_refit(X, y, family, supports, MAX_SIZE)


def _logistic_supports(X, y):
    # liblinear also penalises the intercept; the large scaling makes that penalty negligible.
    model = LogisticRegression(solver="liblinear", intercept_scaling=10.0, tol=1e-3, random_state=0, **L1)
    for strength in l1_min_c(X, y, loss="log") * np.geomspace(1.0, 50.0, 50):
        support = model.set_params(C=strength).fit(X, y).coef_[0] != 0
        yield support
        if support.sum() > 2 * MAX_SIZE:
            return
