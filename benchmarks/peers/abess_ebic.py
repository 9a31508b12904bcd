"""Best-subset splicing (abess) over sizes 0-60, size by its extended BIC (gamma 1)."""

import numpy as np

from peers._installed import installed

NAME = "abess, EBIC"
FAMILIES = ("gaussian", "binomial")
# The default range of sizes ends before 25 at n = 200.
MAX_SIZE = 60


def available():
    return installed("abess")


def select(X, y, family, *, seed):
    import abess

    estimator = abess.LinearRegression if family == "gaussian" else abess.LogisticRegression
    sizes = range(min(MAX_SIZE, X.shape[1], len(y) - 2) + 1)
    model = estimator(support_size=sizes, ic_type="ebic", thread=1).fit(X, y)
    return np.ravel(model.coef_) != 0
