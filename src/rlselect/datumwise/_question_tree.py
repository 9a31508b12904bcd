"""The first few questions a classifier asks, as a tree read off from what it asked of given cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["QuestionNode", "build_question_tree"]


@dataclass
class QuestionNode:
    """A question, or an answer when nothing is asked.

    Parameters
    ----------
    asked : str or None
        Feature or group asked for; None at an answer or where the tree is cut.
    n_cases : int
        Cases that came here.
    answers : dict
        Class -> share of these cases that are answered so in the end.
    more : float
        Questions that these cases are still asked from here on, on average.
    when : str
        Values of the question above that lead here.
    children : list of QuestionNode
    """

    asked: str | None
    n_cases: int
    answers: dict[Any, float]
    more: float
    when: str = ""
    children: list["QuestionNode"] = field(default_factory=list)

    @property
    def answer(self) -> Any:
        """The class most cases here are answered with."""
        return max(self.answers, key=lambda label: self.answers[label])

    @property
    def final(self) -> bool:
        """Whether nothing more is asked of any case here."""
        return self.more == 0.0

    def walk(self) -> list["QuestionNode"]:
        """The node and all below it, parents first."""
        return [self, *(node for child in self.children for node in child.walk())]


def build_question_tree(
    orders: Sequence[Sequence[Any]],
    answers: NDArray,
    values: Mapping[Any, NDArray],
    depth: int,
    min_share: float = 0.0,
) -> QuestionNode:
    """The tree of the first questions.

    Cases that were asked the same go together; the values of a question that lead to each continuation are
    read off from the cases. Cases that start with another question than most, because the value of that one
    cannot be had, are left out.

    Parameters
    ----------
    orders : list
        For each case the names of the features or groups it was asked for, in order.
    answers : (cases,) array
        Final answers.
    values : dict
        Name of a feature -> its value in every case; groups have none.
    depth : int
        Questions in a row.
    min_share : float, default=0.0
        Continuations of a smaller share of all cases are drawn as one leaf.

    Returns
    -------
    QuestionNode
        The first question.
    """
    if depth < 1:
        raise ValueError(f"depth={depth} must be at least 1")
    if not len(answers):
        raise ValueError("there are no cases to ask; X has no rows")
    names = list(dict.fromkeys(name for order in orders for name in order))
    place = {name: unit for unit, name in enumerate(names)}
    asked = np.full((len(answers), max(len(order) for order in orders) + 1), -1)
    for row, order in enumerate(orders):
        asked[row, : len(order)] = [place[name] for name in order]
    builder = _Builder(asked, np.asarray(answers), values, names, depth, min_share * len(answers))
    first, counts = np.unique(asked[:, 0], return_counts=True)
    return builder.node(np.flatnonzero(asked[:, 0] == first[np.argmax(counts)]), 0, "")


@dataclass
class _Builder:
    asked: NDArray  # cases x questions, -1 after the last
    answers: NDArray
    values: Mapping[Any, NDArray]
    names: list
    depth: int
    least: float

    def node(self, rows: NDArray, level: int, when: str) -> QuestionNode:
        unit = self.common_question(rows, level)
        node = self.leaf(rows, level, when)
        if unit is None:
            return node
        node.asked = str(self.names[unit])
        following = self.continuation(rows, level + 1)
        small = [group for group in np.unique(following) if np.sum(following == group) < self.least]
        following[np.isin(following, small)] = _OTHER
        whens = self.conditions(rows, level, following)
        for group in sorted(whens, key=lambda g: -int(np.sum(following == g))):
            child = rows[following == group]
            make = self.leaf if group == _OTHER else self.node
            node.children.append(make(child, level + 1, whens[group]))
        return node

    def common_question(self, rows: NDArray, level: int) -> int | None:
        """The question all rows are asked now, None at an answer, a mixture or below the depth."""
        if level >= self.depth or level >= self.asked.shape[1]:
            return None
        first = int(self.asked[rows[0], level])
        return first if first >= 0 and np.all(self.asked[rows, level] == first) else None

    def continuation(self, rows: NDArray, level: int) -> NDArray:
        """What comes next for each row: a unit, or a negative code of its answer."""
        _, code = np.unique(self.answers, return_inverse=True)
        following = self.asked[rows, level].copy()
        ended = following < 0
        following[ended] = -1 - code[rows][ended]
        return following

    def conditions(self, rows: NDArray, level: int, following: NDArray) -> dict[int, str]:
        """Values of the last question that lead to each continuation; of one more where they overlap."""
        groups = [int(group) for group in np.unique(following)]
        lines: dict[int, list[str]] = {group: [] for group in groups}
        for back, unit in enumerate(self.asked[rows[0], level::-1]):
            seen = self.values.get(self.names[unit])
            if seen is None:
                continue
            met = {g: met_values(np.asarray(seen, dtype=float)[rows], following == g) for g in groups}
            for group, (points, here) in met.items():
                text = _intervals(points, here)
                if back == 0:
                    lines[group].append(text)
                elif text not in _VAGUE and len(lines[group]) < 2:
                    lines[group].append(f"{self.names[unit]} {text}")
            if np.sum([here for _, here in met.values()], axis=0).max(initial=0) <= 1:
                break
        return {group: "\n".join(parts) for group, parts in lines.items()}

    def leaf(self, rows: NDArray, level: int, when: str) -> QuestionNode:
        labels, counts = np.unique(self.answers[rows], return_counts=True)
        shares = {label.item(): count / len(rows) for label, count in zip(labels, counts, strict=True)}
        more = float(np.mean(np.sum(self.asked[rows, level:] >= 0, axis=1)))
        return QuestionNode(None, len(rows), shares, more, when)


# a code for the continuations that are too rare to be drawn; no answer has it
_OTHER = np.iinfo(np.int64).max


_VAGUE = ("any value", "several values")


def met_values(values: NDArray, group: NDArray) -> tuple[NDArray, NDArray]:
    """The values there are, and which of them a group of the rows has."""
    known = ~np.isnan(values)
    points, place = np.unique(values[known], return_inverse=True)
    here = np.zeros(len(points), dtype=bool)
    here[place[group[known]]] = True
    return points, here


def _intervals(points: NDArray, here: NDArray) -> str:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], here, [False]]).astype(int)))
    starts, stops = edges[::2], edges[1::2]
    if len(starts) > 2:
        return _VAGUE[1]
    return " or ".join(_interval(points, a, b) for a, b in zip(starts, stops, strict=True))


def _interval(points: NDArray, start: int, stop: int) -> str:
    low = f"{(points[start - 1] + points[start]) / 2:.3g}" if start else ""
    high = f"{(points[stop - 1] + points[stop]) / 2:.3g}" if stop < len(points) else ""
    if low and high:
        return f"{low} to {high}"
    return f"> {low}" if low else f"≤ {high}" if high else _VAGUE[0]
