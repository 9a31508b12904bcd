"""A learned policy with all that it needs to play new cases."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data import CodedFeatures
from rlselect.datumwise._encoding import CaseEncoder
from rlselect.datumwise._policy import Episodes, PurchasePolicy
from rlselect.datumwise._problem import closed_units
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._tree import QuestionNode, build_tree

__all__ = ["FittedPurchases"]


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
    """

    features: CodedFeatures
    classes: NDArray
    rules: PurchaseRules
    known: NDArray
    encoder: CaseEncoder
    policy: PurchasePolicy

    @cached_property
    def columns(self) -> NDArray:
        """Features that the policy knows, in the order of its rules."""
        return self.rules.columns(self.known)

    def episodes(self, X: Any) -> tuple[NDArray, Episodes]:
        """Codes of the cases of a table, and what happens to them, by the units that the policy knows."""
        return self._play(self._values(X))

    def bought(self, X: Any) -> NDArray:
        """What each case buys: cases x units, of all units."""
        bought = self.episodes(X)[1].bought
        out = np.zeros((len(bought), self.rules.n_units), dtype=bool)
        out[:, self.known] = bought
        return out

    def question_tree(self, X: Any, max_depth: int) -> QuestionNode:
        """The first questions that the cases of a table are asked."""
        values = self._values(X)
        _, episodes = self._play(values)
        values = values.toarray() if sparse.issparse(values) else values
        answers = [self.features.answers(j) for j in self.columns.tolist()]
        labels, edges = self.classes[episodes.answer], self.encoder.edges_
        return build_tree(episodes.order, labels, values, self.policy.rules, edges, answers, max_depth)

    def _values(self, X: Any) -> Any:
        return self.features.encode(X)[:, self.columns]

    def _play(self, values: Any) -> tuple[NDArray, Episodes]:
        codes = self.encoder.encode(values)
        return codes, self.policy.run(codes, closed_units(values, self.policy.rules))
