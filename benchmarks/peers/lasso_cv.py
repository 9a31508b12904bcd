"""Lasso (or L1 logistic regression) with lambda by 5-fold cross-validation, all of scikit-learn."""

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import l1_min_c

from peers._criteria import standardised
from peers._lasso_ic import order
from peers.relaxed_lasso import L1

NAME = "lasso, CV"
FAMILIES = ("gaussian", "binomial")
FOLDS = 5


def available():
    return True


def select(X, y, family, *, seed):
    return _coef(X, y, family, seed) != 0


def rank(X, y, family, *, seed):
    return order(np.abs(_coef(X, y, family, seed)))


def _coef(X, y, family, seed):
    X = standardised(X)
    if family == "gaussian":
        folds = KFold(FOLDS, shuffle=True, random_state=seed)
        return LassoCV(cv=folds, max_iter=10_000).fit(X, y).coef_
    model = LogisticRegression(solver="liblinear", intercept_scaling=10.0, tol=1e-3, random_state=0, **L1)
    strengths = l1_min_c(X, y, loss="log") * np.geomspace(1.0, 50.0, 30)
    loss = np.zeros(len(strengths))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
        for i, strength in enumerate(strengths):
            eta = model.set_params(C=strength).fit(X[train], y[train]).decision_function(X[test])
            loss[i] += (np.logaddexp(0.0, eta) - y[test] * eta).sum()
    best = strengths[np.argmin(loss)]
    return model.set_params(C=best).fit(X, y).coef_[0]
