"""The methods of the datum-wise experiments: ours and the paper's three peers, each a path of settings.

``fit`` returns a function from rows to (labels, used), ``used[i, j]`` telling whether row i needed feature j.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, MultiTaskLasso
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

PRICES = (0.001, 0.003, 0.006, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15)


class Datumwise:
    """DatumwiseClassifier at several prices, everything else as it comes."""

    name = "datum-wise"

    def __init__(self, prices=PRICES, **options):
        self.prices, self.options = prices, options

    def settings(self, X, y):
        return list(self.prices)

    def fit(self, X, y, setting, seed):
        from rlselect.datumwise import DatumwiseClassifier

        options = {"feature_cost": setting, "random_state": seed} | self.options
        model = DatumwiseClassifier(**options).fit(X, y)
        return lambda rows: (model.predict(rows), model.acquire(rows))


class HardBudget(Datumwise):
    """DatumwiseClassifier with a free price and a budget (Section 6.3.1 of the paper)."""

    name = "hard budget"

    def __init__(self, budgets=(2, 5, 10, 20), **options):
        self.budgets, self.options = budgets, options

    def settings(self, X, y):
        return [b for b in self.budgets if b < X.shape[1]]

    def fit(self, X, y, setting, seed):
        model = Datumwise(budget=setting, **self.options)
        return model.fit(X, y, 0.0, seed)


class Cart:
    """Minimal cost-complexity pruning; a case needs the features on its path."""

    name = "CART"

    def settings(self, X, y):
        path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
        alphas = np.unique(np.maximum(path.ccp_alphas, 0.0))
        # between two levels the tree is the same, so their geometric middle stands for both in other folds
        middle = np.sqrt(alphas[:-1] * alphas[1:])
        middle = np.append(middle, alphas[-1] * 1.01)
        if len(middle) > 25:
            middle = middle[np.unique(np.linspace(0, len(middle) - 1, 25).astype(int))]
        return [float(a) for a in middle]

    def fit(self, X, y, setting, seed):
        tree = DecisionTreeClassifier(ccp_alpha=setting, random_state=seed).fit(X, y)
        return lambda rows: (tree.predict(rows), features_on_path(tree, rows))


def features_on_path(tree, X):
    feature = tree.tree_.feature
    inner = np.flatnonzero(feature >= 0)
    visited = tree.decision_path(X)[:, inner].toarray()
    asked = np.zeros((len(inner), X.shape[1]))
    asked[np.arange(len(inner)), feature[inner]] = 1.0
    return visited @ asked > 0


class L1SVM:
    """One-against-all squared hinge with an L1 penalty; every case needs the columns with a coefficient."""

    name = "L1-SVM"

    def settings(self, X, y):
        # in units of the smallest C with a column, so that a setting means the same in a fold and in all
        # rows; dense where the first columns enter
        grid = np.concatenate([np.geomspace(0.9, 10.0, 24), np.geomspace(14.0, 1e4, 10)])
        return [round(float(c), 4) for c in grid]

    def fit(self, X, y, setting, seed):
        smallest = 0.5 / max(np.abs(centred_indicator(y, c) @ X).max() for c in np.unique(y))
        model = LinearSVC(penalty="l1", dual=False, C=setting * smallest, max_iter=3000, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        used = np.any(model.coef_ != 0, axis=0)
        return lambda rows: (model.predict(rows), np.tile(used, (len(rows), 1)))


def centred_indicator(y, c):
    sign = np.where(y == c, 1.0, -1.0)
    return sign - sign.mean()


class LassoPath:
    """Squared loss with an L1 penalty (the solutions LARS finds), one response a class.

    The rows of more than two classes share their support through the group penalty.
    """

    name = "LARS"

    def settings(self, X, y):
        grid = np.concatenate([np.linspace(1.0, 0.4, 25), np.geomspace(0.35, 1e-3, 14)])
        return [round(float(a), 4) for a in grid]

    def fit(self, X, y, setting, seed):
        classes = np.unique(y)
        response = (y[:, None] == classes).astype(float)
        centred = response - response.mean(axis=0)
        if len(classes) == 2:
            response, centred = response[:, 1], centred[:, 1]
        largest = np.sqrt(((X.T @ centred.reshape(len(y), -1)) ** 2).sum(axis=1)).max() / len(y)
        machine = (Lasso if len(classes) == 2 else MultiTaskLasso)(alpha=setting * largest, max_iter=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(X, response)
        used = np.any(np.atleast_2d(machine.coef_) != 0, axis=0)

        def decide(rows):
            score = machine.predict(rows)
            place = (score > 0.5).astype(int) if len(classes) == 2 else score.argmax(axis=1)
            return classes[place], np.tile(used, (len(rows), 1))

        return decide


PEERS = (Cart(), L1SVM(), LassoPath())
