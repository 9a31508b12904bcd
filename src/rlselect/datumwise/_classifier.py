"""The datum-wise classifier."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rlselect._clock import PARTS, fit_clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._devices import find_device
from rlselect._estimator import Estimator, rank
from rlselect._options import (
    AUTO,
    NONE,
    Allowed,
    anything,
    check_value,
    instance,
    number,
    one_of,
    refuse_unused,
    take_settings,
    whole,
)
from rlselect._parallel import one_thread
from rlselect._random import RandomState, as_generator
from rlselect.data import CodedFeatures, open_coded, read_classes, read_vectors, require_target
from rlselect.datumwise._after_fit import AfterFit
from rlselect.datumwise._content_order import by_content
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._learn import CaseTable, LearningTask, learn_policy, resolve
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._read_rules import PRICE, read_rules
from rlselect.datumwise._reasons import purchase_reasons
from rlselect.datumwise._report import PurchaseAccount
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._session import Session
from rlselect.datumwise._settings import NetworkTraining, PaperIteration, PolicyIteration
from rlselect.datumwise._tree import QuestionNode
from rlselect.report import Summary

__all__ = ["DatumwiseClassifier"]


def _are_bins(value: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and len(value) > 0 and all(whole(2).holds(one) for one in value)


class DatumwiseClassifier(ClassifierMixin, AfterFit, Estimator):
    r"""Classifier that buys features one by one for each case, and answers when it knows enough.

    It looks for the policy with the smallest

    .. math:: \frac{1}{W} \sum_i w_i \left( C[\hat y(x_i), y_i] + \sum_{j \in z(x_i)} \xi_j \right),

    where z(x) are the features bought for x, each at its cost, and C is the cost of an answer (0 when it is
    right and 1 when it is wrong, unless `error_costs` says otherwise). Which feature is bought next depends
    on the values bought before.

    Parameters
    ----------
    scoring : {"bins", "linear", "network", "auto"}, default="bins"
        How values make scores. "bins" and "linear" are sums: what a bought value adds to the score of each
        action is a number looked up by its quantile bin, or, as in [1]_, a constant and a multiple of the
        value. "network" has networks that see how values act together, learned for all prices at once.
        "auto" learns bins and networks and keeps what does better on rows left out; small problems are
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
        and so does a callback that asks to stop (see `set_callbacks` of scikit-learn 1.9).
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

    _options: ClassVar[Mapping[str, Allowed]] = {
        "scoring": one_of("bins", "linear", "network", "auto"),
        "feature_cost": PRICE,
        "budget": NONE | whole(0, "an integer of at least 0, the most purchases per case"),
        "cost_budget": NONE | number("a finite number of at least 0, in units of the costs", least=0.0),
        "relation": one_of("any", "all", "pairs"),
        "n_bins": whole(2) | anything("a list of such integers", _are_bins),
        "search": AUTO
        | instance(
            "PolicyIteration(...), PaperIteration(...) or NetworkTraining(...)",
            PolicyIteration,
            PaperIteration,
            NetworkTraining,
        ),
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
        "device": instance("'cpu', 'torch' or the name of a device of torch", str),
    }

    def __init__(
        self,
        *,
        scoring: Literal["bins", "linear", "network", "auto"] = "bins",
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

        With `related`, the relation is "all", the rule of its Table 2.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fitting

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

    def _fit(self, progress: Progress, X: Any, y: Any, sample_weight: Any) -> None:
        task = resolve(self.scoring, self.search, self.device)
        self._refuse_unused(task)
        if self.device != "cpu":
            find_device(self.device)
        rng = as_generator(self.random_state)
        features, X, y, weights = self._read(X, y, sample_weight)
        self.classes_, labels = read_classes(y, given="A classifier", instead="ranges of it (np.digitize)")
        rules = self._read_rules(features)
        clock = fit_clock(self.time_budget, task.n_steps, progress.begin(min(task.n_steps, PARTS)))
        table = CaseTable(X, labels, weights, rules, features.levels, self.n_bins)
        known = table.units_to_learn(task.screen)
        if task.scoring in ("network", "auto"):
            known = by_content(X, labels, weights, rules, known)
        with one_thread(), clock:
            rows, learned = learn_policy(
                table, known, task, rng, self.n_jobs, lambda: clock.tick() is not None
            )
        self.stop_reason_ = clock.reason or learned.reason
        warn_if_interrupted(self.stop_reason_, type(self).__name__, f"{len(learned.steps)} iterations")
        self.value_ = learned.value
        self.path_ = learned.path()
        self.scoring_ = learned.scoring
        self._n_rows, self._words = len(labels), learned.words
        self._keep_names(features.n_features, features.names)
        episodes = learned.policy.run(rows.codes, rows.closed)
        reasons = purchase_reasons(learned.policy, rows.codes, episodes, rows.weights)
        self._fitted = FittedPurchases(
            features, self.classes_, rules, known, rows.encoder, learned.policy, reasons
        )
        self._keep_use(rules, known, episodes.bought, rows.weights)

    def _keep_use(self, rules: PurchaseRules, known: NDArray, bought: NDArray, weights: NDArray) -> None:
        """Who buys what, by unit and by feature."""
        self.units_ = list(rules.names)
        self.learned_units_ = np.isin(np.arange(rules.n_units), known)
        self.unit_inclusion_ = np.zeros(rules.n_units)
        self.unit_inclusion_[known] = np.average(bought, axis=0, weights=weights)
        self.inclusion_ = np.empty(self.n_features_in_)
        for members, share in zip(rules.groups, self.unit_inclusion_, strict=True):
            self.inclusion_[members] = share
        if rules.shared is not None:
            seen = bought.astype(np.float32) @ rules.shared[known] > 0
            self.inclusion_ = np.average(seen, axis=0, weights=weights)
        self.support_ = self.inclusion_ > 0
        self.ranking_ = rank(self.inclusion_)

    def _refuse_unused(self, task: LearningTask) -> None:
        if task.scoring in ("linear", "network"):
            refuse_unused(
                self, ["n_bins"], f"scoring={task.scoring!r}", "leave it out, or use scoring='bins'"
            )
        if task.scoring in ("bins", "linear"):
            fix = "leave it out, or use scoring='network'"
            refuse_unused(self, ["device"], f"scoring={task.scoring!r}", fix)
        if self.related is None:
            refuse_unused(self, ["relation"], "related=None", "say what is related")
        if isinstance(task.search, PaperIteration):
            refuse_unused(self, ["n_jobs"], "the paper's iteration, which is one climb", "leave it out")
        everything = self.costs is not None and not isinstance(self.costs, Mapping)
        if everything and not hasattr(self.costs, "to_dict") and not isinstance(self.unrelated_cost, Mapping):
            refuse_unused(self, ["feature_cost"], "a cost for everything in costs", "leave it out")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[CodedFeatures, Any, NDArray, NDArray]:
        """Numbers, labels and weights of the rows that count."""
        name = type(self).__name__
        require_target(y, name)
        features, rows = open_coded(X, y, sample_weight=sample_weight, owner=name)
        assert rows.y is not None
        weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
        keep = weights > 0
        return features, rows.X[keep], rows.y[keep], weights[keep]

    def _read_rules(self, features: CodedFeatures) -> PurchaseRules:
        return read_rules(
            features.feature_names,
            self.classes_,
            feature_groups=self.feature_groups,
            feature_cost=self.feature_cost,
            costs=self.costs,
            budget=self.budget,
            cost_budget=self.cost_budget,
            error_costs=self.error_costs,
            related=self.related,
            relation=self.relation,
            unrelated_cost=self.unrelated_cost,
            prerequisites=self.prerequisites,
        )

    # ------------------------------------------------------------------ using

    def _episodes(self, X: Any) -> Episodes:
        check_is_fitted(self)
        return self._fitted.episodes(X)[1]

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

    def acquire(self, X: Any) -> NDArray[np.bool_]:
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
        check_is_fitted(self)
        return self._fitted.rules.shown(self._fitted.bought(X))

    def acquisition_order(self, X: Any) -> list[list[Any]]:
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
        order = self._episodes(X).order
        names = self._fitted.policy.rules.names
        return [[names[u] for u in row if u >= 0] for row in order]

    def cost(self, X: Any) -> NDArray:
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
        return self._episodes(X).cost

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

    def sparsity(self, X: Any) -> float:
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
        check_is_fitted(self)
        return 1.0 - float(self._fitted.bought(X).mean())

    def start(self, known: Mapping[Any, Any] | None = None, *, visit_cost: float = 0.0) -> Session:
        """Begin with one case whose values are not known yet.

        Parameters
        ----------
        known : mapping, optional
            Feature or group -> value of what is known from the start, free of charge.
        visit_cost : float, default=0.0
            What every visit costs, however many values are measured in it, see `Session.next_few`.

        Returns
        -------
        Session
            ``next()`` says what to measure, ``tell(value)`` and ``unavailable()`` answer, ``result()`` gives
            the class.
        """
        check_is_fitted(self)
        check_value("visit_cost", visit_cost, PRICE)
        return Session(self._fitted, known, visit_cost)

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
        check_value("max_depth", max_depth, whole(0))
        return self._fitted.question_tree(X, max_depth)

    def report(self, X: Any = None, y: Any = None, sample_weight: Any = None, max_depth: int = 3) -> Summary:
        """What is bought, by whom, at which price, and how good the answers are.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame, optional
            Cases to report on, best ones that took no part in `fit`; None gives `summary`, which tells about
            the training rows what `fit` has kept.
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
        check_value("max_depth", max_depth, whole(0))
        if X is not None:
            return Summary(self._account().of_cases(X, y, sample_weight, max_depth))
        if y is not None or sample_weight is not None:
            given = "y" if y is not None else "sample_weight"
            raise ValueError(f"{given} was given without X; give the cases that it belongs to.")
        return self.summary()

    def _report(self) -> dict[str, Any]:
        return self._account().of_training()

    def _account(self) -> PurchaseAccount:
        return PurchaseAccount(
            type(self).__name__,
            self._fitted,
            self.unit_inclusion_,
            self.value_,
            self.path_,
            self._n_rows,
            self._seconds,
            self.stop_reason_,
            self._words,
        )
