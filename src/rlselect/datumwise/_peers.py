"""Peers of the datum-wise classifier, each a path of settings from no feature to all of them.

A fitted setting is a function from rows to (labels, used), where ``used[i, j]`` tells whether row i needed
feature j: the features on its way down a tree, or the columns with a coefficient in a linear model.
"""

import warnings
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, MultiTaskLasso
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

__all__ = ["PEERS", "CartPath", "ForestPath", "L1SVMPath", "LassoPath", "PeerPath", "features_on_path"]

Decide = Callable[[NDArray], tuple[NDArray, NDArray]]


class PeerPath(Protocol):
    """A method with a knob that trades accuracy for sparsity."""

    name: str

    def settings(self, X: NDArray, y: NDArray) -> list[float]:
        """Values of the knob worth trying."""

    def fit(self, X: NDArray, y: NDArray, setting: float, seed: int) -> Decide:
        """Learn at one value of the knob."""


class CartPath:
    """Trees pruned by minimal cost complexity."""

    name = "CART"

    def settings(self, X: NDArray, y: NDArray) -> list[float]:
        """Pruning levels of the full tree, thinned to 25."""
        path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
        levels = np.unique(np.maximum(path.ccp_alphas, 0.0))
        # the tree is the same between two levels, so their geometric middle stands for both on other rows
        middle = np.append(np.sqrt(levels[:-1] * levels[1:]), levels[-1] * 1.01)
        if len(middle) > 25:
            middle = middle[np.unique(np.linspace(0, len(middle) - 1, 25).astype(int))]
        return [float(level) for level in middle]

    def fit(self, X: NDArray, y: NDArray, setting: float, seed: int) -> Decide:
        """Grow and prune a tree."""
        tree = DecisionTreeClassifier(ccp_alpha=setting, random_state=seed).fit(X, y)
        return lambda rows: (tree.predict(rows), features_on_path(tree, rows))


def features_on_path(tree: DecisionTreeClassifier, X: NDArray) -> NDArray:
    """Which features each row meets on its way down a fitted tree."""
    feature = tree.tree_.feature
    inner = np.flatnonzero(feature >= 0)
    visited = tree.decision_path(X)[:, inner].toarray()
    asked = np.zeros((len(inner), X.shape[1]))
    asked[np.arange(len(inner)), feature[inner]] = 1.0
    return visited @ asked > 0


class L1SVMPath:
    """One-against-all linear machines with the squared hinge loss and an L1 penalty."""

    name = "L1-SVM"

    def settings(self, X: NDArray, y: NDArray) -> list[float]:
        """Weights of the loss, dense where the first columns enter."""
        grid = np.concatenate([np.geomspace(0.9, 10.0, 24), np.geomspace(14.0, 1e4, 10)])
        return [round(float(c), 4) for c in grid]

    def fit(self, X: NDArray, y: NDArray, setting: float, seed: int) -> Decide:
        """Fit at a multiple of the smallest weight that lets a column in."""
        # a multiple means the same for all rows and for a fold of them
        smallest = 0.5 / max(np.abs(_centred(y == c) @ X).max() for c in np.unique(y))
        model = LinearSVC(penalty="l1", dual=False, C=setting * smallest, max_iter=3000, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        used = np.any(model.coef_ != 0, axis=0)
        return lambda rows: (model.predict(rows), np.tile(used, (len(rows), 1)))


class LassoPath:
    """Squared loss with an L1 penalty: the solutions that LARS finds.

    More than two classes are responses that share their columns through the group penalty.
    """

    name = "LARS"

    def settings(self, X: NDArray, y: NDArray) -> list[float]:
        """Shares of the smallest penalty that keeps all columns out."""
        grid = np.concatenate([np.linspace(1.0, 0.4, 25), np.geomspace(0.35, 1e-3, 14)])
        return [round(float(share), 4) for share in grid]

    def fit(self, X: NDArray, y: NDArray, setting: float, seed: int) -> Decide:
        """Regress the class indicators and answer with the largest."""
        classes = np.unique(y)
        response = (y[:, None] == classes).astype(float)
        largest = np.sqrt(((X.T @ (response - response.mean(axis=0))) ** 2).sum(axis=1)).max() / len(y)
        two = len(classes) == 2
        if two:
            response, largest = response[:, 1], largest / np.sqrt(2.0)
        model = (Lasso if two else MultiTaskLasso)(alpha=setting * largest, max_iter=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, response)
        used = np.any(np.atleast_2d(model.coef_) != 0, axis=0)

        def decide(rows: NDArray) -> tuple[NDArray, NDArray]:
            score = model.predict(rows)
            place = (score > 0.5).astype(int) if two else score.argmax(axis=1)
            return classes[place], np.tile(used, (len(rows), 1))

        return decide


class ForestPath:
    """A forest on the columns that a forest on all of them finds most important."""

    name = "k-best forest"

    def __init__(self) -> None:
        self._last: tuple[NDArray, int, NDArray] | None = None

    def settings(self, X: NDArray, y: NDArray) -> list[float]:
        """Numbers of columns, up to 20 of them."""
        n = X.shape[1]
        return [float(k) for k in np.unique(np.geomspace(1, n, 20).round().astype(int))]

    def fit(self, X: NDArray, y: NDArray, setting: float, seed: int) -> Decide:
        """Rank all columns and learn from the best."""
        best = self._ranked(X, y, seed)[: int(setting)]
        forest = RandomForestClassifier(200, random_state=seed).fit(X[:, best], y)
        used = np.isin(np.arange(X.shape[1]), best)
        return lambda rows: (forest.predict(rows[:, best]), np.tile(used, (len(rows), 1)))

    def _ranked(self, X: NDArray, y: NDArray, seed: int) -> NDArray:
        """Columns by importance; the last ones are kept, as a path asks for them at every setting."""
        if self._last is None or self._last[0] is not X or self._last[1] != seed:
            whole = RandomForestClassifier(200, random_state=seed).fit(X, y)
            self._last = (X, seed, np.argsort(-whole.feature_importances_, kind="stable"))
        return self._last[2]


def _centred(indicator: NDArray) -> NDArray:
    sign = np.where(indicator, 1.0, -1.0)
    return sign - sign.mean()


PEERS: dict[str, PeerPath] = {
    "cart": CartPath(),
    "l1-svm": L1SVMPath(),
    "lars": LassoPath(),
    "forest": ForestPath(),
}
