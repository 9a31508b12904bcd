"""Random forest: columns whose impurity importance is above the average one (trees of depth 5)."""

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from peers._lasso_ic import order

NAME = "random forest"
FAMILIES = ("gaussian", "binomial", "multinomial")
DEPTH = 5
TREES = 100


def available():
    return True


def select(X, y, family, *, seed):
    importance = _importance(X, y, family, seed, DEPTH)
    return importance > importance.mean()


def rank(X, y, family, *, seed):
    return order(_importance(X, y, family, seed, DEPTH))


def _importance(X, y, family, seed, depth):
    kind = RandomForestRegressor if family == "gaussian" else RandomForestClassifier
    forest = kind(n_estimators=TREES, max_depth=depth, random_state=seed)
    return forest.fit(X, y).feature_importances_
