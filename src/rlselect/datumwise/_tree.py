"""The first questions of a policy as a tree."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._rules import PurchaseRules
from rlselect.report import short

__all__ = ["QuestionNode", "build_tree"]

# rows and their depth -> the node they come to
Grow: TypeAlias = Callable[[NDArray, int], "QuestionNode"]

# A branch names at most this many levels of a category.
_LEVELS = 6


@dataclass
class QuestionNode:
    """A question, or an answer, and what comes after it.

    Parameters
    ----------
    share : float
        Share of the rows that come here.
    question : object
        Name of the feature or group that is bought; None where an answer is given or the tree is cut.
    answer : object
        The class given, or the most frequent one below a cut.
    cut : bool
        Whether the cases go on asking, below the depth of the tree.
    mixed : bool
        Whether some of the cases are given another answer than `answer`, or before they go on.
    branches : list of (str, QuestionNode)
        What the question showed, and where that leads.
    """

    share: float
    question: Any = None
    answer: Any = None
    cut: bool = False
    mixed: bool = False
    branches: list[tuple[str, "QuestionNode"]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    @property
    def hedge(self) -> str:
        """What has to be said about the answer: after more questions, or for most cases only."""
        if self.cut:
            return " (after more questions, mostly)" if self.mixed else " (after more questions)"
        return " (mostly)" if self.mixed else ""

    def _lines(self, indent: str) -> list[str]:
        if self.question is None:
            return [f"{indent}-> {self.answer}{self.hedge}  [{_share(self.share)}]"]
        lines = [f"{indent}{self.question}?  [{_share(self.share)}]"]
        for label, node in self.branches:
            below = node._lines(indent + "    ")
            lines.append(f"{indent}  {label}: {below[0].strip()}")
            lines += below[1:]
        return lines


def _share(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def build_tree(
    order: NDArray,
    labels: NDArray,
    X: NDArray,
    rules: PurchaseRules,
    edges: list[NDArray] | None,
    answers: list[list[str] | None],
    depth: int,
) -> QuestionNode:
    """The tree of the first purchases of some episodes, so deep at most.

    After a single feature in bins the branches are ranges of its values; neighbours with the same next
    step are put together, though what comes after that may differ a little between them. After a category
    they are sets of levels with the same next step. After a group, or with linear scores of a number,
    there is one branch for each thing that is done next.

    `order` (cases, steps) has units in the order of purchase, -1 after the last; `labels` (cases,) are
    the classes given, `X` (cases, features) values, `edges` the ends of the bins of each feature,
    `answers` the levels of each feature that is a category.
    """
    # steps after the last purchase, as many as the tree is deep
    padding = max(1, depth + 1 - order.shape[1])
    order = np.hstack([order, np.full((len(order), padding), -1, dtype=order.dtype)])

    def grow(rows: NDArray, level: int) -> QuestionNode:
        share = len(rows) / len(order)
        units, counts = np.unique(order[rows, level], return_counts=True)
        unit = int(units[counts.argmax()])
        if unit < 0 or level == depth:
            given, number = np.unique(labels[rows], return_counts=True)
            answer, cut = given[number.argmax()], bool(unit >= 0)
            others = (labels[rows] != answer) | ((order[rows, level] >= 0) != cut)
            return QuestionNode(share, answer=answer, cut=cut, mixed=bool(others.any()))
        asked = order[rows, level] == unit
        others, rows = rows[~asked], rows[asked]
        group = rules.groups[unit]
        levels = answers[group[0]] if len(group) == 1 else None
        if levels is not None:
            branches = _by_level(rows, X[rows, group[0]], levels, level, grow)
        elif edges is not None and len(group) == 1:
            branches = _ranges(rows, X[rows, group[0]], edges[group[0]], level, grow)
        else:
            branches = _futures(rows, order[rows, level + 1], rules, level, grow)
        lacking = np.isnan(X[others][:, group]).all(axis=1)
        for label, some in (("not available", others[lacking]), ("other cases", others[~lacking])):
            if len(some):
                branches.append((label, grow(some, level)))
        return QuestionNode(share, question=rules.names[unit], branches=branches)

    return grow(np.arange(len(order)), 0)


def _ranges(
    rows: NDArray, values: NDArray, edges: NDArray, level: int, grow: Grow
) -> list[tuple[str, QuestionNode]]:
    bins = np.searchsorted(edges, values, side="left")
    found: list[tuple[int, int, NDArray, QuestionNode]] = []
    for number in np.unique(bins):
        inside = rows[bins == number]
        node = grow(inside, level + 1)
        if found and _same_step(found[-1][3], node):
            first, _, before, _ = found.pop()
            inside = np.concatenate([before, inside])
            found.append((first, int(number), inside, grow(inside, level + 1)))
        else:
            found.append((int(number), int(number), inside, node))
    last = len(edges)
    out = []
    for first, final, _, node in found:
        if first == 0 and final == last:
            label = "any value"
        elif first == 0:
            label = f"<= {short(edges[final], 4)}"
        elif final == last:
            label = f"> {short(edges[first - 1], 4)}"
        else:
            label = f"{short(edges[first - 1], 4)} to {short(edges[final], 4)}"
        out.append((label, node))
    return out


def _by_level(
    rows: NDArray, values: NDArray, levels: list[str], depth: int, grow: Grow
) -> list[tuple[str, QuestionNode]]:
    found: list[tuple[list[str], NDArray, QuestionNode]] = []
    for number in np.unique(values).astype(int):
        names, inside = [levels[number]], rows[values == number]
        node = grow(inside, depth + 1)
        twin = next((k for k, other in enumerate(found) if _same_step(other[2], node)), None)
        if twin is None:
            found.append((names, inside, node))
        else:
            names, inside = found[twin][0] + names, np.concatenate([found[twin][1], inside])
            found[twin] = (names, inside, grow(inside, depth + 1))
    if len(found) == 1 and len(found[0][0]) > 1:
        return [("any value", found[0][2])]
    return [(_listed(names), node) for names, _, node in found]


def _listed(names: list[str]) -> str:
    more = len(names) - _LEVELS
    return ", ".join(names[:_LEVELS]) + (f" and {more} more" if more > 0 else "")


def _same_step(a: QuestionNode, b: QuestionNode) -> bool:
    return (a.question, a.answer, a.cut) == (b.question, b.answer, b.cut)


def _futures(
    rows: NDArray, following: NDArray, rules: PurchaseRules, level: int, grow: Grow
) -> list[tuple[str, QuestionNode]]:
    out = []
    for unit in np.unique(following)[::-1]:
        label = "enough" if unit < 0 else "some cases"
        out.append((label, grow(rows[following == unit], level + 1)))
    return out
