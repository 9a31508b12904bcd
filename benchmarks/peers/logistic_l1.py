"""L1 logistic regression of several classes, one machine each, with one C by 5-fold cross-validation.

A column is selected if any class has a coefficient for it; the largest coefficient ranks it. ``lasso_cv`` is
the same for two classes.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import l1_min_c

from peers._criteria import standardised
from peers._lasso_ic import order
from peers.relaxed_lasso import L1

NAME = "L1 logistic, CV"
FAMILIES = ("multinomial",)
FOLDS = 5


def available():
    return True


def select(X, y, family, *, seed):
    return _strengths(X, y, seed) > 0


def rank(X, y, family, *, seed):
    return order(_strengths(X, y, seed))


def _strengths(X, y, seed):
    X = standardised(X)
    grid = l1_min_c(X, y, loss="log") * np.geomspace(1.0, 50.0, 15)
    loss = np.zeros(len(grid))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
        for i, strength in enumerate(grid):
            model = _model(strength).fit(X[train], y[train])
            loss[i] += log_loss(y[test], model.predict_proba(X[test]), normalize=False, labels=model.classes_)
    fitted = _model(grid[np.argmin(loss)]).fit(X, y)
    return np.abs([machine.coef_[0] for machine in fitted.estimators_]).max(axis=0)


def _model(strength):
    # liblinear also penalises the intercept; the large scaling makes that penalty negligible.
    return OneVsRestClassifier(
        LogisticRegression(
            C=strength, solver="liblinear", intercept_scaling=10.0, tol=1e-3, random_state=0, **L1
        )
    )
