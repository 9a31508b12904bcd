"""The datum-wise regressor."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from rlselect._capabilities import TABLES, Takes
from rlselect._compat import with_callbacks
from rlselect._options import AUTO, Allowed, one_of, whole
from rlselect._random import RandomState
from rlselect.data import read_numbers_or_classes, read_vectors
from rlselect.datumwise._answer_cuts import answer_edges
from rlselect.datumwise._buyer import FeatureBuyer
from rlselect.datumwise._encoding import quantile_edges
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._settings import NetworkTraining, PaperIteration, PolicyIteration

__all__ = ["DatumwiseRegressor"]

# values that an answer is a mean of: sums of bins and lines have one more column to learn for each
_ANSWERS = {"network": 16, "auto": 16, "bins": 8, "linear": 8}


class DatumwiseRegressor(RegressorMixin, FeatureBuyer):
    r"""Regressor that buys features one by one for each case, and answers when it knows enough.

    It looks for the policy with the smallest

    .. math:: \frac{1}{W} \sum_i w_i \left( \frac{(\hat y(x_i) - y_i)^2}{\operatorname{var} y}
              + \sum_{j \in z(x_i)} \xi_j \right),

    where z(x) are the features bought for x, each at its cost. So a price is a share of the variance of y,
    and which feature is bought next depends on the values bought before.

    It is the machine of `DatumwiseClassifier`: y is cut at quantiles, or for networks so that what is cut
    together differs little; the classes are the means of y between the cuts, and an answer costs its squared
    distance. What is predicted is the mean of these values by their probabilities.

    Parameters
    ----------
    scoring : {"bins", "linear", "network", "auto"}, default="network"
        How values make scores, see `DatumwiseClassifier`. Networks see how values act together, and one fit
        holds for all prices; bins are learned much faster.
    feature_cost : float, default=0.01
        Cost of each feature (group): it is bought as long as it explains more than a hundredth of the
        variance of y.
    costs : sequence or mapping, optional
        Cost of each feature (group), in order or by name; a mapping may leave some at `feature_cost`.
    budget : int, optional
        Most purchases per case; a group counts once. 0 answers the mean.
    cost_budget : float, optional
        Most that the purchases of a case may cost.
    feature_groups : sequence or mapping, optional
        Features that are bought together, for one cost: one label per feature, lists of features (numbers or
        names), or a mapping from names to such lists. Features that no list names are bought alone. Groups
        may overlap: each has its price, whether some of it is known already or not, and one of which all is
        known is not bought any more.
    related : matrix or callable, optional
        Which features (groups) are related: a square boolean matrix, or a function of two names.
    relation : {"any", "all", "pairs"}, default="any"
        Whether a feature must be related to one of those bought, or to all of them (Table 2 of the paper that
        `DatumwiseClassifier` names). With
        "pairs" a case pays for every pair of features it has bought, by whether they are related (equation
        10, which says otherwise than the table), and for each feature once as related to itself.
    unrelated_cost : float, sequence or mapping, optional
        Cost of a feature (group) that is not related to what is bought; the first purchase is never
        unrelated. None with `related` forbids such purchases.
    prerequisites : mapping, optional
        Feature (group) -> those that have to be bought before it.
    n_answers : int or "auto", default="auto"
        Values of y that answers are means of; "auto" has 16 for networks and 8 for sums.
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
        states and agree but for rounding, which long trainings enlarge. Bins and lines stay on the CPU.
    random_state : int, Generator, RandomState or None, default=None
        For the sampled states and the folds.

    Attributes
    ----------
    answers_ : array
        Values of y that answers are means of, rising.
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
    Gaps, categories, groups and all that can be changed after the fit are as for `DatumwiseClassifier`. What
    is left of the variance between the cuts cannot be explained: with 16 answers of networks about 1 % for
    normal y and 15 % for log-normal y. For y with a few values far out, take logarithms or ranks first.

    References
    ----------
    .. [1] G. Dulac-Arnold, L. Denoyer, P. Preux, P. Gallinari (2012), "Sequential approaches for learning
       datum-wise sparse representations", Machine Learning 89, 87-122.

    Examples
    --------
    A switch says which of two sensors to read.

    >>> import numpy as np
    >>> from rlselect.datumwise import DatumwiseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(300, 3))
    >>> y = 10.0 + np.where(X[:, 0] == 1, X[:, 1], 2.0 * X[:, 2])
    >>> model = DatumwiseRegressor(scoring="bins", random_state=0).fit(X, y)
    >>> model.acquisition_order([[1, 0, 1], [0, 0, 1]])
    [['x0', 'x1'], ['x0', 'x2']]
    >>> model.predict([[1, 0, 1], [0, 0, 1]])
    array([10., 12.])
    """

    _takes: ClassVar = Takes(
        outcomes=("numbers",),
        data=("sample weights", "feature groups", *TABLES),
    )
    _options: ClassVar[Mapping[str, Allowed]] = {
        "scoring": one_of("bins", "linear", "network", "auto"),
        "n_answers": AUTO | whole(2),
        **FeatureBuyer._options,
    }

    def __init__(
        self,
        *,
        scoring: Literal["bins", "linear", "network", "auto"] = "network",
        feature_cost: float = 0.01,
        costs: Mapping[Any, float] | ArrayLike | None = None,
        budget: int | None = None,
        cost_budget: float | None = None,
        feature_groups: Mapping[Any, Any] | Sequence[Any] | None = None,
        related: ArrayLike | Callable[[Any, Any], bool] | None = None,
        relation: Literal["any", "all", "pairs"] = "any",
        unrelated_cost: float | Mapping[Any, float] | ArrayLike | None = None,
        prerequisites: Mapping[Any, Any] | None = None,
        n_answers: int | Literal["auto"] = "auto",
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
        self.feature_groups = feature_groups
        self.related = related
        self.relation = relation
        self.unrelated_cost = unrelated_cost
        self.prerequisites = prerequisites
        self.n_answers = n_answers
        self.n_bins = n_bins
        self.search = search
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn what to buy, when to stop and what to answer.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values: numbers, truth values, text or categories; NaN or None where a value cannot be had.
        y : (n,) array or str
            Numbers, or the name of their column in X.
        sample_weight : (n,) array or str, optional
            A weight of k counts as k copies of the row; or the name of their column.

        Returns
        -------
        self
            Fitted, also when learning was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y, sample_weight)

    def _read_answers(self, y: NDArray, weights: NDArray) -> tuple[NDArray, NDArray, NDArray, float]:
        values = np.asarray(read_numbers_or_classes(y, "regression")[0], dtype=float)
        if values.min() == values.max():
            rows = "its one row (n_samples=1)" if len(values) == 1 else "every row"
            raise ValueError(f"y is {values[0]:.4g} in {rows}; give rows with different numbers.")
        span = float(values.max() - values.min())
        if not 1e-130 < span < 1e130:
            raise ValueError(
                f"y spans {span:.3g}, whose square is no number any more; measure it in other units."
            )
        scoring = "network" if isinstance(self.search, NetworkTraining) else self.scoring
        number = _ANSWERS[scoring] if self.n_answers == "auto" else int(self.n_answers)
        # sums learn what is rare badly
        cut = answer_edges if scoring == "network" else quantile_edges
        labels = np.searchsorted(cut(values, weights, number), values, side="left")
        # sums of what is far from zero lose the differences that matter here
        lowest = float(values.min())
        above = values - lowest
        means = np.bincount(labels, weights * above) / np.bincount(labels, weights)
        variance = float(np.average((above - np.average(above, weights=weights)) ** 2, weights=weights))
        self.answers_ = lowest + means
        return self.answers_, labels, np.subtract.outer(means, means) ** 2 / variance, variance

    def _judge(
        self,
        fitted: FittedPurchases,
        codes: NDArray,
        episodes: Episodes,
        labels: NDArray,
        weights: NDArray | None,
    ) -> dict[str, NDArray]:
        variance = np.average((labels - np.average(labels, weights=weights)) ** 2, weights=weights)
        shares = fitted.policy.probabilities(codes, episodes.bought)
        means = shares @ fitted.classes
        left = (shares * np.subtract.outer(means, fitted.classes) ** 2).sum(axis=1)
        return {"r2": 1 - (means - labels) ** 2 / variance, "expected": 1 - left / fitted.variance}

    def predict(self, X: Any) -> NDArray:
        """Numbers.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values; only those that are bought are looked at.

        Returns
        -------
        (n,) array
            What each case is expected to have, by what it bought.
        """
        check_is_fitted(self)
        codes, episodes = self._fitted.episodes(X)
        return self._fitted.means(codes, episodes.bought)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared of `predict`.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values.
        y : (n,) array or str
            True numbers, or the name of their column.
        sample_weight : (n,) array or str, optional
            Weights of the cases, or the name of their column.

        Returns
        -------
        float
            Share of the variance that is explained.
        """
        rows = read_vectors(X, {"y": y, "sample_weight": sample_weight})
        return super().score(X, rows["y"], rows["sample_weight"])
