"""Ranks columns by the largest coefficient of an L2 logistic regression, C by 5-fold cross-validation.

Nothing is ever 0 here, so that it has an order and no selection.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from peers._criteria import standardised
from peers._lasso_ic import order

NAME = "L2 logistic, CV"
FAMILIES = ("binomial", "multinomial")
GRID = np.geomspace(1e-4, 1e2, 7)


def available():
    return True


def rank(X, y, family, *, seed):
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = GridSearchCV(LogisticRegression(max_iter=1000), {"C": GRID}, cv=folds, scoring="neg_log_loss")
    coef = model.fit(standardised(X), y).best_estimator_.coef_
    return order(np.abs(coef).max(axis=0))
