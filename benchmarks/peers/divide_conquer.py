"""Divide and conquer as in the REVS paper: a lasso in each of 400 folds, a variable needs 80 % of the votes.

The paper does not say how lambda is chosen in a fold; here by BIC, the cheapest choice (its cross-validated
sister is a method of its own). Only a few folds are fitted: the vote is theirs, and the time is scaled up
to 400. A few folds vote less safely than 400, so read the time here, and the support only as a sign.
"""

import time

import numpy as np
from sklearn.linear_model import lasso_path

from peers._criteria import gaussian_deviance, lasso_grid, standardised

NAME = "divide and conquer lasso, BIC"
FAMILIES = ("gaussian",)
FOLDS = 400
FITTED = 4
VOTE = 0.8


def available():
    return True


def measure(X, y, family, *, seed):
    return divide_and_conquer(X, y, _lasso_bic, seed)


def divide_and_conquer(X, y, select_in_fold, seed):
    """Fit a few of the folds, let them vote, and scale the time up."""
    folds = np.array_split(np.arange(len(y)), FOLDS)
    some = np.random.default_rng(seed).choice(FOLDS, size=FITTED, replace=False)
    wall, cpu = time.perf_counter(), time.process_time()
    votes = np.zeros(X.shape[1])
    for k in some:
        target = np.asarray(y[folds[k]], dtype=float)
        votes += select_in_fold(standardised(np.asarray(X[folds[k]], dtype=float)), target - target.mean())
    scale = FOLDS / FITTED
    return {
        "support": votes >= VOTE * FITTED,
        "seconds": scale * (time.perf_counter() - wall),
        "cpu_seconds": scale * (time.process_time() - cpu),
        "rows_read": len(y),
        "note": f"extrapolated: {FITTED} of {FOLDS} folds fitted, time x {scale:g}, vote of those {FITTED}",
    }


def _lasso_bic(X, y):
    coefs = lasso_path(X, y, alphas=lasso_grid(X, y))[1]
    rss = ((y[:, None] - X @ coefs) ** 2).sum(axis=0)
    bic = gaussian_deviance(rss, len(y)) + np.log(len(y)) * (coefs != 0).sum(axis=0)
    return coefs[:, np.argmin(bic)] != 0
