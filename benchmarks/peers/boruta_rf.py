"""Boruta: columns whose importance in a forest beats the best of their shuffled copies, over many forests."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from peers._installed import installed
from peers._lasso_ic import order

NAME = "Boruta"
FAMILIES = ("gaussian", "binomial", "multinomial")
DEPTH = 5


def available():
    return installed("boruta")


def select(X, y, family, *, seed):
    return _fit(X, y, family, seed).support_


def rank(X, y, family, *, seed):
    """By group (confirmed, tentative, rejected in turn), and by the forest's importance within a group."""
    fitted = _fit(X, y, family, seed)
    importance = np.nanmean(fitted.importance_history_[1:], axis=0)
    return order(-fitted.ranking_ + importance / (1.0 + np.nanmax(importance)))


def _fit(X, y, family, seed):
    from boruta import BorutaPy

    kind = RandomForestRegressor if family == "gaussian" else RandomForestClassifier
    forest = kind(max_depth=DEPTH, n_jobs=1)
    return BorutaPy(forest, n_estimators="auto", max_iter=100, random_state=seed).fit(X, y)
