"""Learnt decisions as rules a person can read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from rlselect.regimes._stages import HistoryColumn

__all__ = ["Regime", "StageRule", "summarise_rule"]

_DEPTH = 2


@dataclass(frozen=True)
class StageRule:
    """A short tree that imitates the decisions of a stage.

    Attributes
    ----------
    stage : int
    text : str
    agreement : float
        Share of subjects for whom the rule and the learnt regime recommend the same action.
    """

    stage: int
    text: str
    agreement: float

    def __str__(self) -> str:
        return f"stage {self.stage}: {self.text} (agrees for {100 * self.agreement:.0f} % of subjects)"


@dataclass(frozen=True, repr=False)
class Regime:
    """Rules of all stages; ``str(regime)`` and ``repr(regime)`` read as text."""

    rules: list[StageRule]

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))

    __repr__ = __str__

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: int) -> StageRule:
        return self.rules[index]


def summarise_rule(
    number: int,
    columns: Sequence[HistoryColumn],
    history: np.ndarray,
    q: np.ndarray,
    chosen: np.ndarray,
    labels: Sequence[Any],
) -> StageRule:
    """Fit a depth-two tree on the decision columns, weighing subjects by what their decision is worth."""
    n = len(chosen)
    if len(np.unique(chosen)) == 1 or not columns:
        place = int(np.bincount(chosen).argmax())
        return StageRule(number, f"always {labels[place]}", float(np.mean(chosen == place)))
    ordered = np.sort(q, axis=1)
    stake = ordered[:, -1] - ordered[:, 0]
    stake = stake / (stake.max() or 1.0)
    design, questions = _questions(columns, history)
    tree = DecisionTreeClassifier(
        max_depth=_DEPTH, min_samples_leaf=max(1, n // 50), ccp_alpha=1e-3, random_state=0
    ).fit(design, chosen, sample_weight=np.maximum(stake, 1e-12))
    agreement = float(np.mean(tree.predict(design) == chosen))
    return StageRule(number, _sentence(tree, questions, labels), agreement)


class _Question(NamedTuple):
    """What a split on a column of a tree's design asks."""

    name: str
    label: Any = None
    center: float = 0.0
    scale: float = 1.0

    def sides(self, threshold: float) -> tuple[str, str]:
        """How the lower and the upper side of a split read."""
        if self.label is not None:
            return f"{self.name} is not {self.label}", f"{self.name} is {self.label}"
        value = self.center + self.scale * threshold
        # as many digits as it takes to see a hundredth of the spread
        digits = 3 + max(0, math.ceil(math.log10(max(abs(value) / self.scale, 1.0))))
        text = f"{value:.{min(digits, 15)}g}"
        return f"{self.name} <= {text}", f"{self.name} > {text}"


def _questions(columns: Sequence[HistoryColumn], history: np.ndarray) -> tuple[np.ndarray, list[_Question]]:
    """Numbers a tree can split on, of any scale, and what a split on each of them asks."""
    blocks: list[np.ndarray] = []
    questions: list[_Question] = []
    for column, values in zip(columns, history.T, strict=True):
        if not column.labels:
            center, scale = float(values.mean()), float(values.std()) or 1.0
            blocks.append((values - center) / scale)
            questions.append(_Question(column.name, None, center, scale))
            continue
        for place, label in enumerate(column.labels):
            blocks.append((values == place).astype(float))
            questions.append(_Question(column.name, label))
    return np.column_stack(blocks), questions


def _sentence(tree: DecisionTreeClassifier, questions: Sequence[_Question], labels: Sequence[Any]) -> str:
    inner = tree.tree_

    def walk(node: int, conditions: list[str]) -> list[tuple[Any, list[str]]]:
        if inner.children_left[node] < 0:
            label = labels[int(tree.classes_[inner.value[node][0].argmax()])]
            return [(label, conditions)]
        low, high = questions[inner.feature[node]].sides(inner.threshold[node])
        left = walk(inner.children_left[node], [*conditions, low])
        right = walk(inner.children_right[node], [*conditions, high])
        if {label for label, _ in left + right} == {left[0][0]}:
            return [(left[0][0], conditions)]
        return left + right

    leaves = walk(0, [])
    parts = [
        f"{label} if {' and '.join(conditions)}" if conditions else f"always {label}"
        for label, conditions in leaves
    ]
    return "; ".join(parts)
