"""The datum-wise classifier."""

import time
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from rlselect._clock import PARTS, Clock, warn_if_interrupted
from rlselect._compat import CallbackSupportMixin, Progress, user_level, with_callbacks
from rlselect.data import CodedFeatures, open_coded, read_vectors, require_target
from rlselect.datumwise._encoding import check_bins, make_encoder
from rlselect.datumwise._exact import can_solve, solve
from rlselect.datumwise._inputs import make_structure
from rlselect.datumwise._levels import with_levels
from rlselect.datumwise._paper import PaperIteration, learn_paper
from rlselect.datumwise._policy import Episodes, Learned
from rlselect.datumwise._rcpi import PolicyIteration, learn
from rlselect.datumwise._report import make_report
from rlselect.datumwise._rows import Problem, closed_units, merge_rows, zero_units
from rlselect.datumwise._screen import screen_units
from rlselect.datumwise._session import Session
from rlselect.datumwise._summary import summarize
from rlselect.datumwise._tree import QuestionNode, build_tree
from rlselect.report import Summary

__all__ = ["DatumwiseClassifier"]

# Rows of a smaller mean weight are probably weighted by shares, not by copies.
_LEAST_WEIGHT = 0.1


class DatumwiseClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Classifier that buys features one by one for each case, and answers when it knows enough.

    It looks for the policy with the smallest

    .. math:: \frac{1}{W} \sum_i w_i \left( C[\hat y(x_i), y_i] + \sum_{j \in z(x_i)} \xi_j \right),

    where z(x) are the features bought for x, each at its cost, and C is the cost of an answer (0 when it is
    right and 1 when it is wrong, unless `error_costs` says otherwise). Which feature is bought next depends
    on the values bought before.

    Parameters
    ----------
    scoring : {"bins", "linear"}, default="bins"
        What a bought value adds to the score of each action: a number looked up by its quantile bin, or, as
        in [1]_, a constant and a multiple of the value.
    feature_cost : float, default=0.01
        Cost of each feature (group). As an error costs 1, a feature is bought as long as it prevents more
        than one error in a hundred cases.
    costs : sequence or mapping, optional
        Cost of each feature (group), in order or by name; a mapping may leave some at `feature_cost`.
    budget : int, optional
        Most purchases a case; a group counts once. 0 answers the class with the least expected cost.
    cost_budget : float, optional
        Most that the purchases of a case may cost.
    error_costs : (classes, classes) array, optional
        ``error_costs[predicted, true]``, in the order of `classes_`; a negative diagonal is a reward.
    feature_groups : sequence or mapping, optional
        Features that are bought together, for one cost: one label a feature, lists of features (numbers or
        names), or a mapping from names to such lists. Each feature is in one group.
    related : matrix or callable, optional
        Which features (groups) are related: a square boolean matrix, or a function of two names.
    relation : {"any", "all"}, default="any"
        Whether a feature must be related to one of those bought, or to all of them (Table 2 of [1]_).
    unrelated_cost : float, sequence or mapping, optional
        Cost of a feature (group) that is not related to what is bought; the first purchase is never
        unrelated. None with `related` forbids such purchases.
    prerequisites : mapping, optional
        Feature (group) -> those that have to be bought before it.
    n_bins : int or sequence of int, default=(3, 5, 8)
        Bins a feature at most, for ``scoring="bins"``; a feature with fewer distinct values has one a value.
        With several numbers, what the bins of each tell is averaged.
    learning : PolicyIteration or PaperIteration, optional
        How the policy is learned; None is ``PolicyIteration()``.
    time_budget : float, optional
        Seconds after which the best policy so far is taken, at the end of an iteration. Ctrl-C does the same,
        and so does a callback that asks to stop (see `set_callbacks` of scikit-learn 1.9).
    n_jobs : int, optional
        Climbs of the policy iteration at a time, in threads. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        For the sampled states and the folds.

    Attributes
    ----------
    classes_ : array
        Class labels.
    units_ : list
        Names of what can be bought: features or groups.
    learned_units_ : (units,) bool array
        What learning knew of; the others were screened out and are never bought.
    usage_ : (units,) array
        Share of the training rows that buy each.
    value_ : float
        Mean return (minus the cost above). With folds, each row is played by a policy that has not seen it.
    history_ : list of dict
        One entry an iteration: climb, iteration, value, share of units bought.
    stop_reason_ : str
        Why learning ended.

    Notes
    -----
    A missing value (NaN) cannot be bought for its case, neither in `fit` nor later, and costs nothing; a
    group can be bought unless all its values are missing. A text or categorical column is one feature with
    one number for each level and action; a level that `fit` has not seen is taken as missing, with a warning,
    as nothing is known about it. With a sparse X, learning plays the purchase of
    a zero only where the policy wants it, which saves time, and takes others to tell nothing.

    Cost of an iteration: one rollout for each state and unit, each O(units + classes) a purchase, plus one
    matrix of bins x bins to factor for each fold and stage. Problems with few states of knowledge are solved
    exactly (see `PolicyIteration`). Do not use it when all features are there anyway and cost nothing: any
    other classifier has less to learn.

    Differs from [1]_: bins, weights by number of purchases, one regression for all actions, states close to
    the policy's own, honest returns by folds, soft labels in every second climb, a margin on purchases, the
    average of the best iterations and not a mixture, exact solutions of small problems, screening. `paper`
    gives the algorithm as published.

    References
    ----------
    .. [1] G. Dulac-Arnold, L. Denoyer, P. Preux, P. Gallinari (2012), "Sequential approaches for learning
       datum-wise sparse representations", Machine Learning 89, 87-122.

    Examples
    --------
    A switch says which of two sensors to read.

    >>> import numpy as np
    >>> from rlselect import DatumwiseClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(300, 3))
    >>> y = np.where(X[:, 0] == 1, X[:, 1], X[:, 2])
    >>> model = DatumwiseClassifier(random_state=0).fit(X, y)
    >>> model.acquisition_order([[1, 0, 1], [0, 0, 1]])
    [['x0', 'x1'], ['x0', 'x2']]
    >>> model.predict([[1, 0, 1], [0, 0, 1]])
    array([0, 1])
    """

    def __init__(
        self,
        *,
        scoring="bins",
        feature_cost=0.01,
        costs=None,
        budget=None,
        cost_budget=None,
        error_costs=None,
        feature_groups=None,
        related=None,
        relation="any",
        unrelated_cost=None,
        prerequisites=None,
        n_bins=(3, 5, 8),
        learning=None,
        time_budget=None,
        n_jobs=None,
        random_state=None,
    ):
        self.scoring = scoring
        self.feature_cost = feature_cost
        self.costs = costs
        self.budget = budget
        self.cost_budget = cost_budget
        self.error_costs = error_costs
        self.feature_groups = feature_groups
        self.related = related
        self.relation = relation
        self.unrelated_cost = unrelated_cost
        self.prerequisites = prerequisites
        self.n_bins = n_bins
        self.learning = learning
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, feature_cost: float = 0.01, **changes: Any) -> "DatumwiseClassifier":
        """The choices of the paper: linear scores on block vectors, ten random states a row, a mixture.

        Parameters
        ----------
        feature_cost : float, default=0.01
            The paper's lambda.
        **changes : object
            Any parameters of the class; ``learning=PaperIteration(...)`` changes the algorithm's own.

        Returns
        -------
        DatumwiseClassifier
            Not fitted yet.
        """
        choices = {"scoring": "linear", "relation": "all", "learning": PaperIteration(), **changes}
        return cls(feature_cost=feature_cost, **choices)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn what to buy, when to stop and what to answer.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values: numbers, truth values, text or categories; NaN or None where a value cannot be had.
        y : (n,) array or str
            Class labels, or the name of their column in X.
        sample_weight : (n,) array or str, optional
            A weight of k counts as k copies of the row; or the name of their column.

        Returns
        -------
        DatumwiseClassifier
            This one.
        """
        start = time.perf_counter()
        settings = self._check_settings()
        X, y, weights = self._check_rows(X, y, sample_weight)
        self._n_rows = len(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y holds 1 class ({only!r}); a classifier needs rows of at least 2 classes")
        self._names = self._features.feature_names
        self._whole = make_structure(self, self._names, self.classes_)
        self.units_ = list(self._whole.names)
        kept = self._screen(X, labels, weights, settings)
        self.learned_units_ = np.isin(np.arange(self._whole.n_units), kept)
        self._kept = kept
        self._columns = np.concatenate([self._whole.groups[u] for u in kept])
        self._structure = self._whole.subset(kept)
        X = X[:, self._columns]
        encoder = make_encoder(self.scoring, self.n_bins).fit(X, weights)
        self._encoder = with_levels(encoder, self._n_levels(self._columns))
        codes = self._encoder.encode(X)
        closed, skipped = closed_units(X, self._structure), zero_units(X, self._structure)
        problem = Problem(self._structure, self._encoder, codes, closed, labels, weights, skipped)
        self._learn(merge_rows(problem), settings)
        self._seconds = time.perf_counter() - start
        return self

    def _check_settings(self) -> PolicyIteration | PaperIteration:
        if self.scoring not in ("bins", "linear"):
            raise ValueError(f"scoring={self.scoring!r} is not known; use 'bins' or 'linear'")
        check_bins(self.n_bins)
        limit = self.time_budget
        if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
            raise ValueError(f"time_budget={limit!r} must be None or a number of seconds > 0")
        settings = PolicyIteration() if self.learning is None else self.learning
        if not isinstance(settings, PolicyIteration | PaperIteration):
            raise ValueError(
                f"learning={settings!r} is not known; use None, PolicyIteration(...) or PaperIteration(...)"
            )
        return settings

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray, NDArray]:
        require_target(y, type(self).__name__)
        self._features, rows = open_coded(X, y, sample_weight=sample_weight, owner=type(self).__name__)
        self._keep_names(self._features)
        assert rows.y is not None
        check_classification_targets(rows.y)
        weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
        keep = weights > 0
        mean = weights[keep].mean()
        if mean < _LEAST_WEIGHT:
            warnings.warn(
                f"sample_weight has the mean {mean:.2g}, so that {keep.sum()} rows count as "
                f"{weights.sum():.2g}: a weight of k stands for k copies of a row. Multiply the weights if "
                "they are meant as shares.",
                UserWarning,
                stacklevel=user_level(),
            )
        return rows.X[keep], rows.y[keep], weights[keep]

    def _keep_names(self, features: CodedFeatures) -> None:
        self.n_features_in_ = features.n_features
        self.__dict__.pop("feature_names_in_", None)
        if features.names is not None:
            self.feature_names_in_ = features.names

    def _n_levels(self, columns: NDArray) -> dict[int, int]:
        """Numbers of levels of those of the columns that are categories."""
        levels = self._features.levels
        return {k: len(levels[j]) for k, j in enumerate(columns.tolist()) if j in levels}

    def _screen(self, X: Any, labels: NDArray, weights: NDArray, settings: Any) -> NDArray:
        most = getattr(settings, "screen", None)
        if most is None or self._whole.n_units <= most:
            return np.arange(self._whole.n_units)
        levels = self._n_levels(np.arange(X.shape[1]))
        encoder = with_levels(make_encoder("bins", self.n_bins).fit(X, weights), levels)
        codes = encoder.encode(X)
        return screen_units(codes, labels, weights, self._whole, most)

    def _learn(self, problem: Problem, settings: PolicyIteration | PaperIteration) -> None:
        rng = self.random_state
        if not isinstance(rng, np.random.Generator):
            rng = np.random.default_rng(check_random_state(rng).randint(2**31))
        steps = settings.n_iter * getattr(settings, "n_restarts", 1)
        progress = Progress(self)
        with Clock(self.time_budget, steps, progress.begin(min(steps, PARTS))) as clock:
            learned = self._search(problem, settings, rng, lambda: clock.tick() is not None)
        self._policy = learned.policy
        self.history_ = learned.history
        self.value_ = learned.value
        self.stop_reason_ = clock.reason or learned.reason
        warn_if_interrupted(self.stop_reason_, type(self).__name__, f"{len(self.history_)} iterations")
        episodes = self._policy.run(problem.codes, problem.closed)
        self.usage_ = np.zeros(self._whole.n_units)
        self.usage_[self._kept] = np.average(episodes.bought, axis=0, weights=problem.weights)
        progress.finish()

    def _search(self, problem: Problem, settings: Any, rng: np.random.Generator, stop: Any) -> Learned:
        if isinstance(settings, PaperIteration):
            return learn_paper(problem, settings, rng, stop)
        if can_solve(problem, settings.exact_states):
            return solve(problem)
        return learn(problem, settings, rng, self.n_jobs, stop)

    # ------------------------------------------------------------------ using

    def _episodes(self, X: Any) -> tuple[NDArray, Episodes]:
        check_is_fitted(self)
        return self._play(self._features.encode(X)[:, self._columns])

    def _play(self, X: Any) -> tuple[NDArray, Episodes]:
        codes = self._encoder.encode(X)
        return codes, self._policy.run(codes, closed_units(X, self._structure))

    def _bought(self, X: Any) -> NDArray:
        bought = self._episodes(X)[1].bought
        out = np.zeros((len(bought), self._whole.n_units), dtype=bool)
        out[:, self._kept] = bought
        return out

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values; only those that are bought are looked at.

        Returns
        -------
        (n,) array
            The class that each case ends with.
        """
        answer = self._episodes(X)[1].answer
        return self.classes_[answer]

    def predict_proba(self, X):
        """Class probabilities, from what each case bought.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.

        Returns
        -------
        (n, classes) array
            In the order of `classes_`. With `error_costs` the answer need not be the most probable class.
        """
        codes, episodes = self._episodes(X)
        return self._policy.probabilities(codes, episodes.bought)

    def acquire(self, X):
        """What each case buys.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.

        Returns
        -------
        (n, d) bool array
            True for the features that are bought.
        """
        bought = self._bought(X)
        return self._whole.shown(bought)

    def acquisition_order(self, X):
        """What each case buys, in order.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.

        Returns
        -------
        list of lists
            Names of features or groups.
        """
        episodes = self._episodes(X)[1]
        names = self._structure.names
        return [[names[u] for u in row if u >= 0] for row in episodes.order]

    def cost(self, X):
        """What the purchases of each case cost, errors not included.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.

        Returns
        -------
        (n,) array
            Sums of costs.
        """
        return self._episodes(X)[1].cost

    def score(self, X, y, sample_weight=None):
        """Mean accuracy of `predict`.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.
        y : (n,) array or str
            True classes, or the name of their column.
        sample_weight : (n,) array or str, optional
            Weights of the cases, or the name of their column.

        Returns
        -------
        float
            Share of the cases that are answered rightly.
        """
        rows = read_vectors(X, {"y": y, "sample_weight": sample_weight})
        return super().score(X, rows["y"], rows["sample_weight"])

    def sparsity(self, X):
        """Mean share of the features (groups) that are not bought.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.

        Returns
        -------
        float
            1 when nothing is bought.
        """
        return 1.0 - float(self._bought(X).mean())

    def start(self) -> Session:
        """Begin with one case whose values are not known yet.

        Returns
        -------
        Session
            ``next()`` says what to measure, ``tell(value)`` and ``unavailable()`` answer, ``result()`` gives
            the class.
        """
        check_is_fitted(self)
        reader = (self._features, self._columns)
        return Session(self._policy, self._encoder, self._structure, self.classes_, *reader)

    def question_tree(self, X: Any, max_depth: int = 3) -> QuestionNode:
        """The first questions that some cases are asked, as a tree.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            The cases.
        max_depth : int, default=3
            Questions from the top to the bottom at most.

        Returns
        -------
        QuestionNode
            The root; ``print`` it, or walk through its branches.
        """
        check_is_fitted(self)
        if not isinstance(max_depth, Integral) or max_depth < 0:
            raise ValueError(f"max_depth={max_depth!r} must be an integer >= 0")
        X = self._features.encode(X)[:, self._columns]
        _, episodes = self._play(X)
        X = X.toarray() if sparse.issparse(X) else X
        labels = self.classes_[episodes.answer]
        answers = [self._features.answers(j) for j in self._columns.tolist()]
        edges = getattr(self._encoder, "edges_", None)
        return build_tree(episodes.order, labels, X, self._structure, edges, answers, max_depth)

    def summary(self) -> str:
        """What was learned, in a few lines.

        Returns
        -------
        str
            Rules, mean return, and the features in the order of their use.
        """
        check_is_fitted(self)
        return summarize(self, self._whole)

    def report(self, X: Any = None, y: Any = None, sample_weight: Any = None, max_depth: int = 3) -> Summary:
        """What is bought, by whom, at which price, and how good the answers are.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame, optional
            Cases to report on, best ones that took no part in `fit`; None tells about the training rows what
            `fit` has kept.
        y : (n,) array or str, optional
            Their true classes, or the name of their column, for accuracy and costs.
        sample_weight : (n,) array or str, optional
            Weights of the cases.
        max_depth : int, default=3
            Questions of the tree from the top to the bottom at most.

        Returns
        -------
        Summary
            ``str()`` gives text (valid Markdown), a notebook shows a page with pictures, and ``dict`` holds
            the values, for `rlselect.report.to_html` and `rlselect.report.to_json`.
        """
        check_is_fitted(self)
        return Summary(make_report(self, X, y, sample_weight, max_depth))
