"""What a subset is worth to its nearest neighbours: the reward of FUSE and FSTD."""

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.rivals._rival import RivalProblem

Array = NDArray[np.float64]
# more rows than this are sampled to look for neighbours
_MOST_ROWS = 5000


class NeighbourReward:
    """Share of pairs of rows that their nearest neighbours put into the right order.

    A row is scored by the mean of y over its k nearest other rows in the columns of a subset. The reward is
    the share of pairs with unequal y whose scores have the same order, equal scores counting one half: the
    area under the ROC curve for two classes, its mean over the classes one against the rest for more, and a
    concordance for numbers. Nothing at all is worth one half.

    Parameters
    ----------
    problem : RivalProblem
    n_neighbors : int
    n_judged : int
        Rows that are scored, drawn by `deal`.
    rng : Generator
    """

    def __init__(
        self, problem: RivalProblem, n_neighbors: int, n_judged: int, rng: np.random.Generator
    ) -> None:
        self._problem = problem
        self._n_neighbors = n_neighbors
        self._n_judged = n_judged
        self._rng = rng
        y = problem.y
        n_classes = 0 if problem.classes is None else len(problem.classes)
        # one column for two classes or numbers, else one per class
        self._Y = (y[:, None] == np.arange(n_classes)) if n_classes > 2 else y[:, None]
        self._Y = self._Y.astype(np.float64)
        self.deal()

    def deal(self) -> None:
        """Draw the rows that are scored from now on, and those among which neighbours are looked for."""
        n = len(self._Y)
        order = self._rng.permutation(n)
        self._judged = order[: min(self._n_judged, n - 1)]
        self._others = order[:_MOST_ROWS]

    def __call__(self, chosen: frozenset[int]) -> float:
        columns = self._problem.columns(sorted(chosen))
        if not len(columns):
            return 0.5
        X, Y = self._problem.X, self._Y
        a, b = X[np.ix_(self._judged, columns)], X[np.ix_(self._others, columns)]
        distance = np.square(b).sum(axis=1) - 2.0 * (a @ b.T)
        # the judged rows are the first of the others, too
        distance[np.arange(len(self._judged)), np.arange(len(self._judged))] = np.inf
        k = min(self._n_neighbors, len(self._others) - 1)
        near = np.argpartition(distance, k - 1, axis=1)[:, :k]
        scores = Y[self._others][near].mean(axis=1)
        return concordance(Y[self._judged], scores)


def concordance(Y: Array, scores: Array) -> float:
    """Mean over the columns of the share of unequal pairs in the right order; a half where all are equal.

    Examples
    --------
    >>> concordance(np.array([[0.0], [1.0], [1.0]]), np.array([[0.2], [0.2], [0.9]]))
    0.75
    """
    shares = []
    for y, s in zip(Y.T, scores.T, strict=True):
        order = np.sign(y[:, None] - y)
        pairs = np.count_nonzero(order)
        agree = float((order * np.sign(s[:, None] - s)).sum())
        shares.append(0.5 + 0.5 * agree / pairs if pairs else 0.5)
    return float(np.mean(shares))
