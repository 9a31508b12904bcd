"""What all datum-wise estimators share: learning what to buy, and saying what was bought."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect._clock import PARTS, fit_clock, warn_if_interrupted
from rlselect._compat import Progress
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
    whole,
)
from rlselect._parallel import one_thread
from rlselect._random import RandomState, as_generator
from rlselect.data import CodedFeatures, open_coded
from rlselect.datumwise._after_fit import AfterFit
from rlselect.datumwise._content_order import by_content
from rlselect.datumwise._displays import FeatureUseDisplay, feature_names
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
from rlselect.datumwise._tree_display import QuestionTreeDisplay
from rlselect.report import Marked, Marks, NotDrawnError, PathDisplay, PathWords, Summary

__all__ = ["FeatureBuyer"]

# questions after one another that a fit keeps of its training rows
_KEPT_QUESTIONS = 3
# training rows that tell who buys what, where the time is up
_HASTY_ROWS = 10_000


def _are_bins(value: Any) -> bool:
    """Whether several numbers of bins are given."""
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and len(value) > 0 and all(whole(2).holds(one) for one in value)


class FeatureBuyer(AfterFit, Estimator):
    """An estimator that buys features one by one for each case, and answers when it knows enough."""

    scoring: Literal["bins", "linear", "network", "auto"]
    cost_budget: float | None
    feature_groups: Any
    related: Any
    relation: Literal["any", "all", "pairs"]
    unrelated_cost: Any
    prerequisites: Any
    n_bins: Any
    search: Literal["auto"] | PolicyIteration | PaperIteration | NetworkTraining
    time_budget: float | None
    n_jobs: int | None
    device: str
    random_state: RandomState
    _options: ClassVar[Mapping[str, Allowed]] = {
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
    displays: ClassVar = (FeatureUseDisplay, PathDisplay, QuestionTreeDisplay)
    _path_words = PathWords("iteration", {"value": "mean return", "bought": "share of features bought"})

    @abstractmethod
    def _read_answers(self, y: NDArray, weights: NDArray) -> tuple[NDArray, NDArray, Any, float | None]:
        """What may be answered, the place of each row's own among it, what answers cost, and the variance.

        The variance is None where the answers are classes.
        """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _fit(self, progress: Progress, X: Any, y: Any, sample_weight: Any) -> None:
        task = resolve(self.scoring, self.search, self.device)
        self._refuse_unused(task)
        if self.device != "cpu":
            find_device(self.device)
        rng = as_generator(self.random_state)
        features, X, y, weights = self._read(X, y, sample_weight)
        classes, labels, losses, variance = self._read_answers(y, weights)
        rules = self._read_rules(features, classes, losses)
        if variance is not None:
            rules = replace(rules, values=(classes - classes.mean()) / np.sqrt(variance))
        clock = fit_clock(self.time_budget, task.n_steps, progress.begin(min(task.n_steps, PARTS)))
        table = CaseTable(X, labels, weights, rules, features.levels, self.n_bins)
        with one_thread(), clock:
            table = table.in_time()
            most = table.screen_for(task)
            seen = table.units_in_time(most)
            known = table.units_to_learn(most, seen)
            table = table.thinned(most, known)
            rules = table.rules
            if task.scoring in ("network", "auto"):
                known = by_content(table.X, table.labels, table.weights, rules, known)
            rows, learned = learn_policy(
                table, known, task, rng, self.n_jobs, lambda: clock.tick() is not None
            )
        hurried = "" if len(seen) == rules.n_units else "time budget, the best of all features at a glance; "
        self.stop_reason_ = clock.reason or hurried + learned.reason
        warn_if_interrupted(self.stop_reason_, type(self).__name__, f"{len(learned.steps)} iterations")
        if len(table.labels) < len(labels) and self.stop_reason_ not in ("interrupted", "callback"):
            self.stop_reason_ = f"time budget, {len(table.labels)} of {len(labels)} rows; {learned.reason}"
        self.value_ = learned.value
        self.path_ = learned.path()
        self.scoring_ = learned.scoring
        self._n_rows, self._words = len(labels), learned.words
        self._keep_names(features.n_features, features.names)
        if clock.reason is not None and len(rows.codes) > _HASTY_ROWS:
            # they stand in an order of their values
            some = np.linspace(0, len(rows.codes) - 1, _HASTY_ROWS).round().astype(np.intp)
            rows = rows.take(some, rows.weights[some])
        episodes = learned.policy.run(rows.codes, rows.closed)
        with clock.afterwards():
            reasons = purchase_reasons(learned.policy, rows.codes, episodes, rows.weights)
        self._fitted = FittedPurchases(
            features, classes, rules, known, rows.encoder, learned.policy, reasons, variance=variance
        )
        self._first_questions = self._fitted.first_questions(X, _KEPT_QUESTIONS)
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
        self._require_target(y)
        features, rows = open_coded(X, y, sample_weight=sample_weight, owner=name)
        assert rows.y is not None
        weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
        keep = weights > 0
        return features, rows.X[keep], rows.y[keep], weights[keep]

    def _read_rules(self, features: CodedFeatures, classes: NDArray, losses: Any) -> PurchaseRules:
        return read_rules(
            features.feature_names,
            classes,
            feature_groups=self.feature_groups,
            feature_cost=self.feature_cost,
            costs=self.costs,
            budget=self.budget,
            cost_budget=self.cost_budget,
            error_costs=losses,
            related=self.related,
            relation=self.relation,
            unrelated_cost=self.unrelated_cost,
            prerequisites=self.prerequisites,
        )

    def _episodes(self, X: Any) -> Episodes:
        check_is_fitted(self)
        return self._fitted.episodes(X)[1]

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
            the answer.
        """
        check_is_fitted(self)
        check_value("visit_cost", visit_cost, PRICE)
        return Session(self._fitted, known, visit_cost)

    def question_tree(self, X: Any = None, max_depth: int = 3) -> QuestionNode:
        """The first questions that some cases are asked, as a tree.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame, optional
            The cases; without them the tree of the training rows (of 2,000 of them, where they are more), of
            which three questions are kept.
        max_depth : int, default=3
            Questions from the top to the bottom at most.

        Returns
        -------
        QuestionNode
            The root; ``print`` it, or walk through its branches.
        """
        check_is_fitted(self)
        check_value("max_depth", max_depth, whole(0))
        if X is not None:
            return self._fitted.question_tree(X, max_depth)
        if self._first_questions is None:
            raise NotDrawnError("The prices were changed after fit, so other questions are asked: give X.")
        if max_depth > _KEPT_QUESTIONS:
            raise NotDrawnError(
                f"max_depth={max_depth} was given, but {_KEPT_QUESTIONS} questions of the training rows are "
                "kept; give X for more."
            )
        return self._first_questions[max_depth]

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        max_depth: int = 3,
    ) -> Summary:
        """What is bought, by whom, at which price, and how good the answers are.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it, whole or not at all: the name ends in .html, .md or .json.
        X : (n, d) array, sparse matrix or data frame, optional
            Cases to report on, best ones that took no part in `fit`; None gives `summary`, which tells about
            the training rows what `fit` has kept.
        y : (n,) array or str, optional
            Their true answers, or the name of their column, for accuracy and costs.
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
        if X is None and (y is not None or sample_weight is not None):
            given = "y" if y is not None else "sample_weight"
            raise ValueError(f"{given} was given without X; give the cases that it belongs to.")

        def tell() -> dict[str, Any]:
            return self._report() if X is None else self._account().of_cases(X, y, sample_weight, max_depth)

        return self._written(path, tell)

    def _report(self) -> dict[str, Any]:
        return self._account().of_training()

    def _marks(self) -> Marks:
        """What the fit says of each feature, for `rlselect.report.side_by_side`."""
        names, order = feature_names(self), np.argsort(self.ranking_)
        marked = {names[j]: Marked(bool(self.support_[j]), float(self.inclusion_[j])) for j in order}
        return Marks(marked, "share of the training rows that buy it")

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
            self._target_name,
        )
