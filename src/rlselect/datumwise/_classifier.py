"""The datum-wise classifier."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rlselect._capabilities import TABLES, Takes
from rlselect._compat import user_level, with_callbacks
from rlselect._options import Allowed, check_value, flag, number, one_of, take_settings
from rlselect._random import RandomState
from rlselect.data import read_classes, read_vectors
from rlselect.datumwise._buyer import FeatureBuyer
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._settings import NetworkTraining, PaperIteration, PolicyIteration

__all__ = ["DatumwiseClassifier"]


class DatumwiseClassifier(ClassifierMixin, FeatureBuyer):
    r"""Classifier that buys features one by one for each case, and answers when it knows enough.

    It looks for the policy with the smallest

    .. math:: \frac{1}{W} \sum_i w_i \left( C[\hat y(x_i), y_i] + \sum_{j \in z(x_i)} \xi_j \right),

    where z(x) are the features bought for x, each at its cost, and C is the cost of an answer (0 when it is
    right and 1 when it is wrong, unless `error_costs` says otherwise). Which feature is bought next depends
    on the values bought before.

    Parameters
    ----------
    scoring : {"auto", "bins", "linear", "network"}, default="auto"
        How values make scores. "bins" and "linear" are sums: what a bought value adds to the score of each
        action is a number looked up by its quantile bin, or, as in [1]_, a constant and a multiple of the
        value; they take seconds. "network" has networks that see how values act together, learned for all
        prices at once in about a minute. "auto" learns all three (no lines within a `time_budget`) and keeps
        networks unless bins or lines do clearly better on rows left out: at the given price and along the
        frontier or, where errors or features have costs of their own, by what is paid; small problems are
        solved exactly. With a `search` it is the scoring that the search learns.
    feature_cost : float, default=0.01
        Cost of each feature (group). As an error costs 1, a feature is bought as long as it prevents more
        than one error in a hundred cases.
    costs : sequence or mapping, optional
        Cost of each feature (group), in order or by name; a mapping may leave some at `feature_cost`.
    budget : int, optional
        Most purchases per case; a group counts once. 0 answers the class with the least expected cost.
    cost_budget : float, optional
        Most that the purchases of a case may cost.
    error_costs : (classes, classes) array, optional
        ``error_costs[predicted, true]``, in the order of `classes_`; a negative diagonal is a reward.
    feature_groups : sequence or mapping, optional
        Features that are bought together, for one cost: one label per feature, lists of features (numbers or
        names), or a mapping from names to such lists. Features that no list names are bought alone. Groups
        may overlap: each has its price, whether some of it is known already or not, and one of which all is
        known is not bought any more.
    related : matrix or callable, optional
        Which features (groups) are related: a square boolean matrix, or a function of two names.
    relation : {"any", "all", "pairs"}, default="any"
        Whether a feature must be related to one of those bought, or to all of them (Table 2 of [1]_). With
        "pairs" a case pays for every pair of features it has bought, by whether they are related (equation
        10 of [1]_, which says otherwise than the table), and for each feature once as related to itself.
    unrelated_cost : float, sequence or mapping, optional
        Cost of a feature (group) that is not related to what is bought; the first purchase is never
        unrelated. None with `related` forbids such purchases.
    prerequisites : mapping, optional
        Feature (group) -> those that have to be bought before it.
    n_bins : int or sequence of int, default=(3, 5, 8)
        Bins per feature at most, for ``scoring="bins"``; a feature with fewer distinct values has one per
        value. With several numbers, what the bins of each tell is averaged.
    search : "auto", PolicyIteration, PaperIteration or NetworkTraining, default="auto"
        How the policy is learned; "auto" is ``PolicyIteration()``, for networks ``NetworkTraining()``.
    time_budget : float, optional
        Seconds after which the best policy so far is taken, at the end of an iteration. Ctrl-C does the same,
        and so does a callback that asks to stop (see `set_callbacks` of scikit-learn 1.9). Of more rows than
        there is time for some are learnt from, and `stop_reason_` says how many.
    n_jobs : int, optional
        Climbs of `PolicyIteration` at a time, or kinds of networks, in threads. The result does not depend on
        it.
    device : str, default="cpu"
        Where networks are trained and asked: "cpu" with NumPy, "torch" with torch on the CPU, or any other
        device of torch such as "cuda", where all networks learn in one batch. All meet the same rows and
        states and agree but for rounding, which long trainings enlarge. Bins, lines and the last step of
        networks, which reads gains by least squares, stay on the CPU.
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
    unit_inclusion_ : (units,) array
        Share of the training rows that buy each.
    inclusion_ : (features,) array
        The same by feature: every feature of a group has the share of the group, of several groups that of
        the rows that buy any of them.
    support_ : (features,) bool array
        Features that some training row buys.
    ranking_ : (features,) int array
        A permutation, 1 is best: by inclusion, then by position.
    value_ : float
        Mean return (minus the cost above). With folds, each row is played by a policy that has not seen it.
    path_ : dict of arrays
        One entry per iteration: ``climb``, ``iteration``, ``value`` and ``bought``, the share of the units
        that a row buys. Empty where the problem was solved exactly.
    stop_reason_ : str
        Why learning ended.
    scoring_ : str
        The scoring that was learned, also where `scoring` is "auto".
    n_features_in_, feature_names_in_
        What `fit` has seen.

    Notes
    -----
    A missing value (NaN) cannot be bought for its case, neither in `fit` nor later, and costs nothing; a
    group can be bought unless all its values are missing. A text or categorical column is one feature with
    one number for each level and action; a level that `fit` has not seen is taken as missing, with a warning,
    as nothing is known about it. With a sparse X, learning plays the purchase of
    a zero only where the policy wants it, which saves time, and takes others to tell nothing.

    Cost of an iteration: one rollout for each state and unit, each O(units + classes) per purchase, plus
    one matrix of bins x bins to factor for each fold and stage. Problems with few states of knowledge are
    solved exactly (see `PolicyIteration`). Do not use it when all features are there anyway and cost nothing:
    any other classifier has less to learn.

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

    _takes: ClassVar = Takes(
        outcomes=("two classes", "several classes"),
        data=("sample weights", "feature groups", *TABLES),
    )
    _options: ClassVar[Mapping[str, Allowed]] = {
        "scoring": one_of("auto", "bins", "linear", "network"),
        **FeatureBuyer._options,
    }

    def __init__(
        self,
        *,
        scoring: Literal["auto", "bins", "linear", "network"] = "auto",
        feature_cost: float = 0.01,
        costs: Mapping[Any, float] | ArrayLike | None = None,
        budget: int | None = None,
        cost_budget: float | None = None,
        error_costs: ArrayLike | None = None,
        feature_groups: Mapping[Any, Any] | Sequence[Any] | None = None,
        related: ArrayLike | Callable[[Any, Any], bool] | None = None,
        relation: Literal["any", "all", "pairs"] = "any",
        unrelated_cost: float | Mapping[Any, float] | ArrayLike | None = None,
        prerequisites: Mapping[Any, Any] | None = None,
        n_bins: int | Sequence[int] = (3, 5, 8),
        search: Literal["auto"] | PolicyIteration | PaperIteration | NetworkTraining = "auto",
        time_budget: float | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomState = None,
    ) -> None:
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
        self.search = search
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    @classmethod
    def paper(cls, feature_cost: float = 0.01, **changes: Any) -> Self:
        """The choices of the paper: linear scores on block vectors, ten random states per row, a mixture.

        With `related`, the relation is "all", the rule of its Table 2. One thing is not the paper's: scores
        have a constant, which the ridge leaves alone, as without it all would tie before the first purchase
        (see `PaperIteration`).

        Parameters
        ----------
        feature_cost : float, default=0.01
            The paper's lambda.
        **changes : object
            Other parameters of the constructor, and of `PaperIteration`.

        Returns
        -------
        DatumwiseClassifier
            Not fitted yet.

        Examples
        --------
        >>> from rlselect import DatumwiseClassifier
        >>> DatumwiseClassifier.paper(alpha=0.5, budget=3).search.alpha
        0.5
        """
        knobs = take_settings(PaperIteration, changes)
        relation = {} if changes.get("related") is None else {"relation": "all"}
        choices = {"scoring": "linear", "search": PaperIteration(**knobs), **relation, **changes}
        return cls(feature_cost=feature_cost, **choices)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        self
            Fitted, also when learning was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y, sample_weight)

    def _read_answers(self, y: NDArray, weights: NDArray) -> tuple[NDArray, NDArray, Any, None]:
        self.classes_, labels = read_classes(y, given="A classifier", instead="DatumwiseRegressor")
        return self.classes_, labels, self.error_costs, None

    def _judge(
        self,
        fitted: FittedPurchases,
        codes: NDArray,
        episodes: Episodes,
        labels: NDArray,
        weights: NDArray | None,
    ) -> dict[str, NDArray]:
        shares = fitted.policy.probabilities(codes, episodes.bought)
        confidence = shares[np.arange(len(shares)), episodes.answer]
        return {"accuracy": self.classes_[episodes.answer] == labels, "confidence": confidence}

    def predict(self, X: Any) -> NDArray:
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
        answer = self._episodes(X).answer
        return self.classes_[answer]

    def predict_proba(self, X: Any) -> NDArray:
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
        check_is_fitted(self)
        codes, episodes = self._fitted.episodes(X)
        return self._fitted.policy.probabilities(codes, episodes.bought)

    def with_max_error(
        self, max_error: float, X: Any, y: Any, *, level: float = 0.9, buy_more: bool = False
    ) -> Self:
        """The same classifier, which answers only where it is sure enough that few answers are wrong.

        What an answer needs as its probability is set by rows that took no part in `fit`: the least that
        shows a share of wrong answers of at most `max_error`, by exact binomial tests of 40 thresholds with
        the error of all of them together held ("learn then test"). So, whatever the probabilities are worth,
        with probability `level` over these rows at most `max_error` of the answers to cases like them are
        wrong.

        Parameters
        ----------
        max_error : float in (0, 1)
            Share of the answers that may be wrong.
        X : (n, d) array, sparse matrix or data frame
            Cases like those to come, which took no part in `fit`. The fewer there are, the fewer cases are
            answered; without any error, ``log((1 - level) / 5) / log(1 - max_error)`` of them are needed.
        y : (n,) array or str
            Their classes, or the name of their column.
        level : float in (0, 1), default=0.9
            Probability that the promise is kept.
        buy_more : bool, default=False
            Whether a case that is not sure enough goes on buying, what is best first, as long as budgets
            allow; otherwise it is undecided when nothing more is worth its price.

        Returns
        -------
        DatumwiseClassifier
            Fitted. `decided` says which cases are answered; `predict` has the most likely answer for the
            others as well. Prices and budgets cannot be changed after this.

        Examples
        --------
        >>> import numpy as np
        >>> from rlselect import DatumwiseClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(0, 2, size=(600, 3))
        >>> y = np.where(rng.random(600) < 0.3 * X[:, 2], 1 - X[:, 0], X[:, 0])
        >>> model = DatumwiseClassifier(feature_cost=0.001).fit(X[:300], y[:300])
        >>> careful = model.with_max_error(0.05, X[300:], y[300:], buy_more=True)
        >>> careful.decided([[0, 0, 0], [0, 0, 1]])
        array([ True, False])
        """
        check_is_fitted(self)
        self._refuse_promise("with_max_error")
        between = number("a number above 0 and below 1", above=0.0, below=1.0)
        check_value("max_error", max_error, between)
        check_value("level", level, between)
        check_value("buy_more", buy_more, flag())
        y = np.asarray(read_vectors(X, {"y": y, "sample_weight": None})["y"])
        # an unknown class is never answered rightly
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        labels = np.where(self.classes_[place] == y, place, -1)
        fitted = self._fitted.promising(X, labels, max_error, level, buy_more)
        assert fitted.promise is not None
        if fitted.promise.threshold == np.inf:
            warnings.warn(
                f"The {len(labels)} rows do not show that any answers are wrong in at most {max_error:.3g} "
                "of the cases, so that all cases stay undecided; give more rows, or a larger max_error.",
                UserWarning,
                stacklevel=user_level(),
            )
        return self._with(fitted)

    def decided(self, X: Any) -> NDArray[np.bool_]:
        """Which cases are answered, after `with_max_error`; without it, all are.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.

        Returns
        -------
        (n,) bool array
            False where the answer is not sure enough.
        """
        episodes = self._episodes(X)
        return np.ones(len(episodes.answer), dtype=bool) if episodes.decided is None else episodes.decided

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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
