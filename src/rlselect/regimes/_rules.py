"""Learnt decisions as rules a person can read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from rlselect.regimes._trial import HistoryColumn

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

    rules: list

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))

    __repr__ = __str__

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: int) -> StageRule:
        return self.rules[index]


def summarise_rule(
    number: int,
    columns: list[HistoryColumn],
    history: np.ndarray,
    q: np.ndarray,
    chosen: np.ndarray,
    labels: Any,
) -> StageRule:
    """Fit a depth-two tree on the decision columns, weighing subjects by what their decision is worth."""
    n = len(chosen)
    if len(np.unique(chosen)) == 1 or not columns:
        place = int(np.bincount(chosen).argmax())
        return StageRule(number, f"always {labels[place]}", float(np.mean(chosen == place)))
    ordered = np.sort(q, axis=1)
    stake = ordered[:, -1] - ordered[:, 0]
    design, questions = _questions(columns, history)
    tree = DecisionTreeClassifier(
        max_depth=_DEPTH, min_samples_leaf=max(1, n // 50), ccp_alpha=1e-3, random_state=0
    ).fit(design, chosen, sample_weight=np.maximum(stake, 1e-12))
    agreement = float(np.mean(tree.predict(design) == chosen))
    return StageRule(number, _sentence(tree, questions, labels), agreement)


def _questions(columns, history):
    """Numbers a tree can split on, and how each split reads (a format for the threshold, either side)."""
    blocks: list[np.ndarray] = []
    questions: list[tuple[str, str]] = []
    for column, values in zip(columns, history.T, strict=True):
        if not column.labels:
            blocks.append(values)
            questions.append((f"{column.name} <= {{:.3g}}", f"{column.name} > {{:.3g}}"))
            continue
        for place, label in enumerate(column.labels):
            blocks.append((values == place).astype(float))
            questions.append((f"{column.name} is not {label}", f"{column.name} is {label}"))
    return np.column_stack(blocks), questions


def _sentence(tree, questions, labels):
    inner = tree.tree_

    def walk(node, conditions):
        if inner.children_left[node] < 0:
            label = labels[int(tree.classes_[inner.value[node][0].argmax()])]
            return [(label, conditions)]
        low, high = (text.format(inner.threshold[node]) for text in questions[inner.feature[node]])
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
