"""Correlation-based feature selection: features that go with the class and not with each other."""

import heapq
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import PARTS, Clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import rank
from rlselect._options import AUTO, one_of, whole
from rlselect.data import TASKS, MissingMode
from rlselect.report import PathWords
from rlselect.subset.rivals._association import Associations, pearson_associations, uncertainty_associations
from rlselect.subset.rivals._rival import RivalProblem, RivalSelector, read_problem

__all__ = ["CorrelationFeatureSelection"]

Array = NDArray[np.float64]


class CorrelationFeatureSelection(RivalSelector):
    r"""Select the subset of the largest merit, correlation with the target against that within.

    .. math:: \mathrm{merit}(S) = \frac{k\, \bar r_{cf}}{\sqrt{k + k (k - 1)\, \bar r_{ff}}}

    with the mean association of the k features of S with the target and with each other: symmetrical
    uncertainty of values cut into intervals for classes, absolute correlation for numbers. The search is best
    first: the best subset not yet expanded is, until `patience` expansions in a row bring nothing better.

    A comparator of the ACP paper. Fast, O(n p) for each feature it adds, and a filter: no model is fitted.
    Not meant for features that matter only together, which have no merit alone, nor for many weak ones.

    Parameters
    ----------
    task : {"auto", "regression", "classification"}, default="auto"
        What y is.
    n_features_to_select : int or "auto", default="auto"
        "auto" takes the subset of largest merit; a number goes on from there, or takes the best so many, by
        adding the feature that leaves the largest merit.
    patience : int, default=5
        Expansions without a better subset that end the search.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values: refuse them, leave out their rows, or impute the mean and add an
        indicator.
    transform_as : {"columns", "design"}, default="columns"
        What `transform` gives: the selected features as they came, or their numeric design columns.
    time_budget : float, optional
        Seconds after which the search stops with the best subset so far.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        The selected features.
    association_ : array of shape (n_features,)
        Association of each feature with the target; NaN for one that is constant or a copy.
    merit_ : float
        Merit of the selected subset.
    ranking_ : int array of shape (n_features,)
        A permutation, 1 is best: features in the order in which forward steps of largest merit add them.
    path_ : dict of arrays
        One entry per expansion: ``size`` and merit (``score``) of the best subset so far.
    stop_reason_ : str
        "no better subset", "time budget", "interrupted", "callback" or "nothing to choose from".
    classes_ : array
        Labels, for classification.
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    Notes
    -----
    Intervals are those of the minimum description length principle of Fayyad and Irani, as in [1]_; a feature
    that it does not cut at all has no association with anything. Text columns are taken as they are.

    References
    ----------
    .. [1] M. A. Hall (2000), "Correlation-based feature selection for discrete and numeric class machine
       learning", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.subset import CorrelationFeatureSelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 8))
    >>> y = X[:, 2] - X[:, 5] + 0.5 * rng.standard_normal(200)
    >>> CorrelationFeatureSelection().fit(X, y).get_support(indices=True)
    array([2, 5])
    """

    _worth_name = "association_"
    _path_words = PathWords("expansion", {"score": "best merit so far", "size": "features of the best"})
    _options: ClassVar = {
        "task": one_of(*TASKS),
        "n_features_to_select": AUTO | whole(1),
        "patience": whole(1),
        **RivalSelector._options,
    }

    def __init__(
        self,
        *,
        task: Literal["auto", "regression", "classification"] = "auto",
        n_features_to_select: int | Literal["auto"] = "auto",
        patience: int = 5,
        missing: MissingMode = "error",
        transform_as: Literal["columns", "design"] = "columns",
        time_budget: float | None = None,
    ) -> None:
        self.task = task
        self.n_features_to_select = n_features_to_select
        self.patience = patience
        self.missing = missing
        self.transform_as = transform_as
        self.time_budget = time_budget

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the subset of largest merit.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            A source, such as a path, is loaded.
        y : array-like of shape (n_samples,) or str
            Target, or the name of its column in X.

        Returns
        -------
        self
        """
        return self._learn_aside(X, y)

    def _fit(self, progress: Progress, X: Any, y: Any) -> None:
        name = type(self).__name__
        table = self._open(X, y)
        problem = read_problem(table, self.task, name)
        with Clock(self.time_budget, PARTS, progress.begin(PARTS)) as clock:
            known = _associations(problem)
            found, self.path_ = best_first(known, self.patience, clock)
        self.stop_reason_ = clock.reason or (
            "no better subset" if len(problem.allowed) else "nothing to choose from"
        )
        if known.n_known < len(problem.allowed) and clock.reason not in ("interrupted", "callback"):
            self.stop_reason_ = f"time budget, {known.n_known} of {len(problem.allowed)} features"
        warn_if_interrupted(self.stop_reason_, name, f"a subset of {len(found)} features")
        size = len(found) if self.n_features_to_select == "auto" else self.n_features_to_select
        found = forward_order(known, found, size)
        self.merit_ = merit(known, found)
        self._keep_table(table, problem.classes)
        chosen = np.zeros(len(problem.allowed), dtype=bool)
        chosen[found] = True
        self._keep_selection(problem, chosen, known.with_target)
        place = np.full(len(problem.allowed), -np.inf)
        place[found] = -np.arange(len(found), dtype=np.float64)
        self.ranking_ = rank(
            problem.to_features(place, -np.inf),
            problem.to_features(known.with_target, -np.inf),
            support=self.support_,
        )

    def _asks_chance(self) -> bool:
        # a number that tells nothing of classes is one interval; two numbers are always associated a little
        return hasattr(self, "classes_")

    def _facts(self) -> dict[str, Any]:
        return {"Merit of the set": float(self.merit_)}

    def _worth_words(self) -> str:
        return f"Association with {self._target_words}"

    def _worth_note(self) -> str:
        return (
            "Association: from 0 (none) to 1. Merit: high where the variables of a set go with the target, "
            "and not with one another."
        )


def _associations(problem: RivalProblem) -> Associations:
    groups = [problem.columns([k]) for k in range(len(problem.allowed))]
    if problem.classes is None:
        return pearson_associations(problem.X, problem.y, groups)
    return uncertainty_associations(problem.X, problem.y, groups)


def merit(known: Associations, subset: list[int]) -> float:
    """The merit of a subset, 0 of none."""
    k = len(subset)
    if not k:
        return 0.0
    within = sum(float(known.between(j)[subset].sum() - known.between(j)[j]) for j in subset)
    return float(known.with_target[subset].sum() / np.sqrt(k + within))


class _Expanded:
    """A subset with the merits of all subsets that are one feature larger, best first."""

    def __init__(self, known: Associations, parent: "_Expanded | None" = None, added: int = -1) -> None:
        if parent is None:
            self.subset: list[int] = []
            self._target = self._within = 0.0
            self._to_all = np.zeros(len(known.with_target))
        else:
            self.subset = [*parent.subset, added]
            self._target = parent._target + known.with_target[added]
            self._within = parent._within + 2.0 * parent._to_all[added]
            self._to_all = parent._to_all + known.between(added)
        size = len(self.subset) + 1
        self.merits = (self._target + known.with_target) / np.sqrt(size + self._within + 2.0 * self._to_all)
        self.merits[self.subset] = -np.inf
        self.order = np.argsort(-self.merits, kind="stable")[: len(self.merits) - len(self.subset)]


def best_first(
    known: Associations, patience: int, clock: Clock
) -> tuple[list[int], dict[str, NDArray[np.float64]]]:
    """Expand the best subset that was not expanded, until that has brought nothing better so many times.

    Returns the subset, and the size and merit of the best one after each expansion.
    """
    root = _Expanded(known)
    best: tuple[float, list[int]] = (0.0, [])
    # (merit, number, subset, place of a larger one in its order): the next best waits behind its better
    queue = [(0.0, 0, root, -1)]
    expanded: set[frozenset[int]] = set()
    number, idle, steps = 0, 0, list[tuple[int, float]]()
    while queue and idle < patience and clock.tick() is None:
        _, _, parent, place = heapq.heappop(queue)
        node = root
        if place >= 0:
            number += 1
            if place + 1 < len(parent.order):
                merit_after = parent.merits[parent.order[place + 1]]
                heapq.heappush(queue, (-merit_after, number, parent, place + 1))
            if frozenset([*parent.subset, parent.order[place]]) in expanded:
                continue
            node = _Expanded(known, parent, int(parent.order[place]))
        expanded.add(frozenset(node.subset))
        idle += 1
        if len(node.order):
            number += 1
            top = float(node.merits[node.order[0]])
            heapq.heappush(queue, (-top, number, node, 0))
            if top > best[0] + 1e-12:
                best, idle = (top, [*node.subset, int(node.order[0])]), 0
        steps.append((len(best[1]), best[0]))
    sizes, merits = np.array(steps, dtype=np.float64).reshape(-1, 2).T
    return best[1], {"size": sizes, "score": merits}


def forward_order(known: Associations, start: list[int], size: int) -> list[int]:
    """So many features in the order in which steps of largest merit add them, those of `start` first."""
    node, left = _Expanded(known), set(start)
    while len(node.subset) < min(size, len(known.with_target)):
        added = int(node.order[np.isin(node.order, list(left))][0] if left else node.order[0])
        node = _Expanded(known, node, added)
        left.discard(added)
    return node.subset
