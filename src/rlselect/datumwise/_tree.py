"""The first questions of a policy as a tree."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._rules import PurchaseRules
from rlselect.report import short

__all__ = ["QuestionNode", "build_tree"]

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


class _NextStep(NamedTuple):
    """What most of some cases do next: buy a unit, or with -1 get an answer, unless the tree is cut there."""

    unit: int
    answer: Any = None
    cut: bool = False


@dataclass
class _Episodes:
    """Cases whose first purchases are to become a tree, see `build_tree`."""

    order: NDArray
    labels: NDArray
    X: NDArray
    rules: PurchaseRules
    edges: list[NDArray] | None
    answers: list[list[str] | None]
    depth: int

    def step(self, rows: NDArray, level: int) -> _NextStep:
        """What most of these rows do after so many purchases."""
        unit = _most(self.order[rows, level])
        if unit >= 0 and level < self.depth:
            return _NextStep(int(unit))
        return _NextStep(-1, _most(self.labels[rows]), bool(unit >= 0))

    def grow(self, rows: NDArray, level: int) -> QuestionNode:
        """The node that these rows come to after so many purchases."""
        share = len(rows) / len(self.order)
        unit, answer, cut = self.step(rows, level)
        if unit < 0:
            others = (self.labels[rows] != answer) | ((self.order[rows, level] >= 0) != cut)
            return QuestionNode(share, answer=answer, cut=cut, mixed=bool(others.any()))
        asked = self.order[rows, level] == unit
        others, rows = rows[~asked], rows[asked]
        group = self.rules.groups[unit]
        levels = self.answers[group[0]] if len(group) == 1 else None
        if levels is not None:
            parts = self._by_level(rows, self.X[rows, group[0]], levels, level + 1)
        elif self.edges is not None and len(group) == 1:
            parts = self._ranges(rows, self.X[rows, group[0]], self.edges[group[0]], level + 1)
        else:
            parts = self._futures(rows, level + 1)
        branches = [(label, self.grow(some, level + 1)) for label, some in parts]
        lacking = np.isnan(self.X[others][:, group]).all(axis=1)
        for label, some in (("not available", others[lacking]), ("other cases", others[~lacking])):
            if len(some):
                branches.append((label, self.grow(some, level)))
        return QuestionNode(share, question=self.rules.names[unit], branches=branches)

    def _ranges(
        self, rows: NDArray, values: NDArray, edges: NDArray, level: int
    ) -> list[tuple[str, NDArray]]:
        """Neighbouring bins with the same next step, put together."""
        bins = np.searchsorted(edges, values, side="left")
        found: list[tuple[int, int, NDArray, _NextStep]] = []
        for number in np.unique(bins).tolist():
            begin, inside = number, rows[bins == number]
            step = self.step(inside, level)
            if found and found[-1][3] == step:
                begin, _, before, _ = found.pop()
                inside = np.concatenate([before, inside])
                step = self.step(inside, level)
            found.append((begin, number, inside, step))
        return [(_range(first, final, edges), inside) for first, final, inside, _ in found]

    def _by_level(
        self, rows: NDArray, values: NDArray, levels: list[str], level: int
    ) -> list[tuple[str, NDArray]]:
        """Levels of a category with the same next step, put together."""
        found: list[tuple[list[str], NDArray, _NextStep]] = []
        for number in np.unique(values).astype(int):
            names, inside = [levels[number]], rows[values == number]
            step = self.step(inside, level)
            twin = next((k for k, other in enumerate(found) if other[2] == step), None)
            if twin is None:
                found.append((names, inside, step))
            else:
                names, inside = found[twin][0] + names, np.concatenate([found[twin][1], inside])
                found[twin] = (names, inside, self.step(inside, level))
        if len(found) == 1 and len(found[0][0]) > 1:
            return [("any value", found[0][1])]
        return [(_listed(names), inside) for names, inside, _ in found]

    def _futures(self, rows: NDArray, level: int) -> list[tuple[str, NDArray]]:
        """Rows by what they buy next."""
        following = self.order[rows, level]
        return [
            ("enough" if unit < 0 else "some cases", rows[following == unit])
            for unit in np.unique(following)[::-1]
        ]


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
    return _Episodes(order, labels, X, rules, edges, answers, depth).grow(np.arange(len(order)), 0)


def _most(values: NDArray) -> Any:
    """The most frequent value, of equally frequent ones the least."""
    found, counts = np.unique(values, return_counts=True)
    return found[counts.argmax()]


def _range(first: int, final: int, edges: NDArray) -> str:
    """Name of the bins from one to another."""
    if first == 0 and final == len(edges):
        return "any value"
    if first == 0:
        return f"<= {short(edges[final], 4)}"
    if final == len(edges):
        return f"> {short(edges[first - 1], 4)}"
    return f"{short(edges[first - 1], 4)} to {short(edges[final], 4)}"


def _listed(names: list[str]) -> str:
    more = len(names) - _LEVELS
    return ", ".join(names[:_LEVELS]) + (f" and {more} more" if more > 0 else "")
