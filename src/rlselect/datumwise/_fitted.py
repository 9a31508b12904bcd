"""A learned policy with all that it needs to play new cases."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data import CodedFeatures
from rlselect.datumwise._encoding import CaseEncoder
from rlselect.datumwise._policy import Episodes, PurchasePolicy
from rlselect.datumwise._problem import closed_units
from rlselect.datumwise._reasons import PurchaseReasons
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._sure import Promise, find_threshold, play_until_sure
from rlselect.datumwise._tree import QuestionNode, build_tree

__all__ = ["FittedPurchases"]

# shares of questions are told well enough by so many rows
_TREE_ROWS = 2000


@dataclass(frozen=True)
class FittedPurchases:
    """From tables like that of fit to purchases and answers.

    Parameters
    ----------
    features : CodedFeatures
        Reads tables.
    classes : (classes,) array
        Labels.
    rules : PurchaseRules
        Of all units; the policy has those of the units that it knows.
    known : int array
        Units that the policy knows.
    encoder : CaseEncoder
        Fitted to their features.
    policy : PurchasePolicy
        Learned.
    reasons : PurchaseReasons
        Why the training rows bought what they did.
    free : int array
        Units, by their place among the known ones, that are known from the start and cost nothing.
    promise : Promise or None
        What is promised about the answers.
    variance : float or None
        Where the classes are values of a number: what a squared error of one unit of cost is.
    """

    features: CodedFeatures
    classes: NDArray
    rules: PurchaseRules
    known: NDArray
    encoder: CaseEncoder
    policy: PurchasePolicy
    reasons: PurchaseReasons
    free: NDArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    promise: Promise | None = None
    variance: float | None = None

    @cached_property
    def columns(self) -> NDArray:
        """Features that the policy knows, in the order of its rules."""
        return self.rules.columns(self.known)

    def episodes(self, X: Any) -> tuple[NDArray, Episodes]:
        """Codes of the cases of a table, and what happens to them, by the units that the policy knows."""
        return self._play(self._values(X))

    @property
    def expected(self) -> str:
        """What is expected to shrink: errors, if each costs one, or else costs; of numbers squared errors."""
        if self.variance is not None:
            return "squared error"
        plain = np.array_equal(self.rules.losses, 1.0 - np.eye(self.rules.n_classes))
        return "error" if plain else "cost"

    def means(self, codes: NDArray, bought: NDArray) -> NDArray:
        """What is expected of a number in given states (states,)."""
        return self.policy.probabilities(codes, bought) @ self.classes

    def bought(self, X: Any) -> NDArray:
        """What each case buys: cases x units, of all units."""
        bought = self.episodes(X)[1].paid
        out = np.zeros((len(bought), self.rules.n_units), dtype=bool)
        out[:, self.known] = bought
        return out

    def question_tree(self, X: Any, max_depth: int) -> QuestionNode:
        """The first questions that the cases of a table are asked."""
        return self._trees(self._values(X), [max_depth])[0]

    def first_questions(self, coded: Any, max_depth: int) -> list[QuestionNode]:
        """The same of training rows, given as numbers, some of them where they are many: by depth from 0."""
        n = coded.shape[0]
        rows = np.linspace(0, n - 1, min(n, _TREE_ROWS)).round().astype(np.intp)
        return self._trees(coded[rows][:, self.columns], range(max_depth + 1))

    def _trees(self, values: Any, depths: Iterable[int]) -> list[QuestionNode]:
        _, episodes = self._play(values)
        values = values.toarray() if sparse.issparse(values) else values
        answers = [self.features.answers(j) for j in self.columns.tolist()]
        labels, edges = self.classes[episodes.answer], self.encoder.edges_
        if self.variance is not None:
            labels = np.array([float(f"{label:.4g}") for label in labels.tolist()])
        rules = self.policy.rules
        return [build_tree(episodes.order, labels, values, rules, edges, answers, depth) for depth in depths]

    def _values(self, X: Any) -> Any:
        return self.features.encode(X)[:, self.columns]

    def _play(self, values: Any) -> tuple[NDArray, Episodes]:
        codes, closed, held = self._begin(values)
        if self.promise is not None:
            sure = self.promise.threshold, self.promise.buy_more
            return codes, play_until_sure(self.policy, codes, closed, held, *sure)
        return codes, self.policy.run(codes, closed, held=held)

    def _begin(self, values: Any) -> tuple[NDArray, NDArray, NDArray | None]:
        """Codes of cases, what cannot be bought for them, and what they know from the start."""
        closed = closed_units(values, self.policy.rules)
        held = None
        if len(self.free):
            held = np.zeros_like(closed)
            held[:, self.free] = ~closed[:, self.free]
        return self.encoder.encode(values), closed, held

    def promising(
        self, X: Any, labels: NDArray, max_error: float, level: float, buy_more: bool
    ) -> "FittedPurchases":
        """The same with a promise about its answers, by cases and their classes (numbers)."""
        begin = self._begin(self._values(X))
        threshold = find_threshold(self.policy, *begin, labels, max_error, level, buy_more)
        # what cannot be decided anyhow need not be paid for
        buy_more = buy_more and threshold < np.inf
        return replace(self, promise=Promise(max_error, level, threshold, buy_more))

    def at(
        self, rules: PurchaseRules, thrift: float | None = None, free: NDArray | None = None
    ) -> "FittedPurchases":
        """The same under other prices and budgets; `free` are units by their place among all."""
        own = self.free if free is None else np.flatnonzero(np.isin(self.known, free))
        limits = rules.subset(self.known)
        if limits.budget is not None:
            # what is known from the start counts as bought, but not as a purchase
            limits = replace(limits, budget=limits.budget + len(own))
        return replace(self, rules=rules, policy=self.policy.at(limits, thrift, len(own)), free=own)
