"""Regimes that are trees, one per stage: what they ask, what they recommend and what they are worth."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rlselect._clock import present_clock, time_is_up
from rlselect._limits import seconds_for
from rlselect.regimes._estimates import RegimeValue
from rlselect.regimes._history import read_history
from rlselect.regimes._stage_names import find_stage
from rlselect.regimes._stages import HistoryColumn, StageFrame
from rlselect.regimes._tree_search import TreeNode, find_tree
from rlselect.regimes._trial import TrialData

__all__ = ["PolicyTree", "StageTree", "TreeSplit", "learn_stage_tree", "offer_splits", "rows_in_time"]

# cuts of a column, and of all columns together; where time is up, pairs of cuts that are priced, times rows
# and actions
_CUTS, _ALL_CUTS, _HASTY_PAIRS = 31, 900, 1.8e8
# operations of a pair of cuts and an action beside the two of each row
_OF_A_PAIR = 200.0
# a tree that takes more than this share of what is left is learnt in haste: others follow
_LONG = 0.1
# fewest subjects of a leaf, or a fiftieth of them: a rule for fewer is a rule for those very subjects
_LEAST = 5


@dataclass(frozen=True)
class TreeSplit:
    """A question about a history column.

    Attributes
    ----------
    place : int
        Of the column in the history.
    name : str
    threshold : float
        At most this, or more; of labels their position.
    label : object
        Asked for by name; None for numbers.
    digits : int
        Of a threshold as it is written, and meant.
    other : object
        The only other label there is; None where there are several.
    """

    place: int
    name: str
    threshold: float
    label: Any = None
    digits: int = 3
    other: Any = None

    def is_low(self, history: np.ndarray) -> np.ndarray:
        """Which rows are on the lower side: at most the threshold, or not of the label."""
        values = history[:, self.place]
        return values != self.threshold if self.label is not None else values <= self.threshold

    @property
    def text(self) -> str:
        """The threshold as it is written."""
        return f"{self.threshold:.{self.digits}g}"

    def sides(self) -> tuple[str, str]:
        """How the lower and the upper side read."""
        if self.label is not None:
            low = f"not {self.label}" if self.other is None else self.other
            return f"{self.name} is {low}", f"{self.name} is {self.label}"
        return f"{self.name} <= {self.text}", f"{self.name} > {self.text}"


# a question, and whether the answer is on its lower side
Answer: TypeAlias = tuple[TreeSplit, bool]


def _conditions(path: Sequence[Answer]) -> list[str]:
    """How a path through a tree reads: narrowest bounds of numbers, what labels are or else are not."""
    said = {}
    for place in dict.fromkeys(split.place for split, _ in path):
        mine = [answer for answer in path if answer[0].place == place]
        if mine[0][0].label is not None:
            named = [split.sides()[1] for split, low in mine if not low]
            said[place] = named or [split.sides()[0] for split, _ in mine]
            continue
        above = max((split for split, low in mine if not low), key=lambda s: s.threshold, default=None)
        below = min((split for split, low in mine if low), key=lambda s: s.threshold, default=None)
        if above is None or below is None:
            said[place] = [split.sides()[split is above] for split in (above, below) if split is not None]
        else:
            said[place] = [f"{above.text} < {below.sides()[0]}"]
    return [text for texts in said.values() for text in texts]


def offer_splits(
    columns: Sequence[HistoryColumn], places: Sequence[int], history: np.ndarray, n_actions: int
) -> list[TreeSplit]:
    """Questions about some columns of a history; thresholds are numbers as they will be written."""
    found = []
    size = max(1, len(history)) * n_actions
    few = int(math.sqrt(_HASTY_PAIRS / size))
    hasty = _in_haste(len(history), min(_ALL_CUTS, _CUTS * len(places)), n_actions)
    most = min(few, _ALL_CUTS) if hasty else _ALL_CUTS
    cuts = max(3, min(_CUTS, most // max(1, len(places))))
    for j in places:
        column, values = columns[j], history[:, j]
        if column.labels:
            seen = np.unique(values).astype(int)
            # two labels are one question
            asked, other = (seen[1:], column.labels[seen[0]]) if len(seen) == 2 else (seen, None)
            found += [TreeSplit(j, column.name, float(k), column.labels[k], other=other) for k in asked]
            continue
        spread = float(values.std()) or 1.0
        # as many digits as it takes to see a hundredth of the spread
        digits = min(15, 3 + max(0, math.ceil(math.log10(max(np.abs(values).max() / spread, 1.0)))))
        distinct = np.unique(values)
        middles = 0.5 * (distinct[1:] + distinct[:-1])
        if len(middles) > cuts:
            middles = np.quantile(values, np.linspace(0.0, 1.0, cuts + 2)[1:-1])
        written = np.unique([float(f"{value:.{digits}g}") for value in middles])
        found += [TreeSplit(j, column.name, float(value), None, digits) for value in written]
    return found


def rows_in_time(rows: np.ndarray, splits: Sequence[TreeSplit], n_actions: int) -> np.ndarray:
    """The rows to learn a tree from: all, or in haste so many that their pairs of cuts are priced."""
    if not _in_haste(len(rows), len(splits), n_actions):
        return rows
    return rows[:: math.ceil(len(rows) * n_actions * max(1, len(splits)) ** 2 / _HASTY_PAIRS) or 1]


def _in_haste(n_rows: int, n_splits: int, n_actions: int) -> bool:
    """Whether time is up, or trees of this size would take too much of what is left."""
    left = present_clock().left
    if time_is_up() or left is None:
        return time_is_up()
    return seconds_for((2.0 * n_rows + _OF_A_PAIR) * n_actions * float(n_splits) ** 2) > _LONG * left


@dataclass(frozen=True)
class StageTree:
    """The tree of one stage.

    Attributes
    ----------
    stage : int
    frame : StageFrame
    splits : list of TreeSplit
    root : TreeNode
    order : tuple of int
        Actions by what they are worth to all: the first feasible one is taken where that of a leaf is not.
    agreement : float
        Share of subjects for whom the tree and the full regime recommend the same action.
    """

    stage: int
    frame: StageFrame
    splits: list[TreeSplit]
    root: TreeNode
    order: tuple[int, ...]
    agreement: float = float("nan")

    def decide(self, history: np.ndarray) -> np.ndarray:
        """Positions of the recommended actions for rows of the stage's history."""
        wanted = np.empty(len(history), dtype=int)
        self._walk(self.root, history, np.arange(len(history)), wanted)
        return feasible_instead(wanted, self.order, self.frame, history)

    def _walk(self, node: TreeNode, history: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> None:
        if node.low is None or node.high is None:
            wanted[rows] = node.action
            return
        low = self.splits[node.split].is_low(history[rows])
        self._walk(node.low, history, rows[low], wanted)
        self._walk(node.high, history, rows[~low], wanted)

    @property
    def needed(self) -> list[str]:
        """Names of the columns it asks for."""
        return list(dict.fromkeys(self.splits[node.split].name for node in _nodes(self.root) if node.low))

    @property
    def text(self) -> str:
        """The tree as a sentence."""
        return "; ".join(self._rules())

    @property
    def outline(self) -> str:
        """The tree as lines: the stage, then what to do under which conditions."""
        head = f"Stage {self.stage} [{100 * self.agreement:.0f} %]"
        return "\n".join([head, *(f"  {rule}" for rule in self._rules())])

    def _rules(self) -> list[str]:
        parts = [
            f"{self.frame.labels[action]} if {' and '.join(conditions)}"
            if conditions
            else f"always {self.frame.labels[action]}"
            for action, path in self._leaves(self.root, [])
            for conditions in [_conditions(path)]
        ]
        if self.frame.doses is not None:
            parts.append("where such subjects were not given that, the nearest dose that they were")
        elif self.frame.feasible is not None:
            order = ", ".join(str(self.frame.labels[k]) for k in self.order)
            parts.append(f"where that is not feasible, the first that is of {order}")
        return parts

    def _leaves(self, node: TreeNode, path: list[Answer]) -> list[tuple[int, list[Answer]]]:
        if node.low is None or node.high is None:
            return [(node.action, path)]
        split = self.splits[node.split]
        return [
            *self._leaves(node.low, [*path, (split, True)]),
            *self._leaves(node.high, [*path, (split, False)]),
        ]

    def as_dict(self, node: TreeNode | None = None) -> dict[str, Any]:
        """The tree, or what follows a node of it, as plain values."""
        node = self.root if node is None else node
        if node.low is None or node.high is None:
            return {"action": self.frame.labels[node.action]}
        split = self.splits[node.split]
        asked = {"threshold": split.threshold} if split.label is None else {"label": split.label}
        sides = ("at_most", "above") if split.label is None else ("is_not", "is")
        return {
            "column": split.name,
            **asked,
            sides[0]: self.as_dict(node.low),
            sides[1]: self.as_dict(node.high),
        }

    def __str__(self) -> str:
        return f"stage {self.stage}: {self.text} (agrees for {100 * self.agreement:.0f} % of subjects)"


def _nodes(node: TreeNode | None) -> list[TreeNode]:
    return [] if node is None else [node, *_nodes(node.low), *_nodes(node.high)]


def feasible_instead(
    wanted: np.ndarray, order: Sequence[int], frame: StageFrame, history: np.ndarray
) -> np.ndarray:
    """Wanted actions where they are allowed, else the first in an order that is, or the nearest dose."""
    allowed = frame.allowed(history)
    if frame.doses is not None:
        away = np.abs(frame.doses.grid - frame.doses.grid[wanted][:, None])
        return np.where(allowed, away, np.inf).argmin(axis=1)
    ordered = np.asarray(order)
    instead = ordered[allowed[:, ordered].argmax(axis=1)]
    return np.where(allowed[np.arange(len(wanted)), wanted], wanted, instead)


def learn_stage_tree(
    number: int,
    frame: StageFrame,
    history: np.ndarray,
    scores: np.ndarray,
    splits: list[TreeSplit],
    depth: int,
) -> StageTree:
    """The best tree of a stage for scores (m, K) of its subjects' actions."""
    order = tuple(int(k) for k in np.argsort(-scores.mean(axis=0), kind="stable"))
    rows = np.arange(len(history))
    # an action that is not feasible is worth what is done instead
    meant = [feasible_instead(np.full(len(rows), k), order, frame, history) for k in range(scores.shape[1])]
    scores = np.column_stack([scores[rows, chosen] for chosen in meant])
    sides = np.column_stack([np.empty((len(rows), 0), bool), *(split.is_low(history) for split in splits)])
    root = find_tree(sides, scores, depth, max(_LEAST, len(rows) // 50))
    return StageTree(number, frame, splits, _merged(root), order)


def _merged(node: TreeNode) -> TreeNode:
    """The tree without splits whose two sides recommend the same."""
    if node.low is None or node.high is None:
        return node
    low, high = _merged(node.low), _merged(node.high)
    if low.low is None and high.low is None and low.action == high.action:
        return low
    return TreeNode(-1, node.split, low, high)


@dataclass(frozen=True, repr=False)
class PolicyTree:
    """A regime of one short tree per stage, with a value of its own.

    Made by :meth:`QLearning.policy_tree`; ``learner.regime_`` is the one of depth two. ``str(tree)`` reads as
    text, ``tree[0]`` is the tree of the first stage, and :func:`regime_value` takes it as it takes a learner.

    Attributes
    ----------
    stages : list of StageTree
    value_ : RegimeValue
        Cross-fitted doubly robust value: subjects are judged by trees that were learnt without their fold,
        with ``selection="loo"`` from columns that were selected without it (from everyone where costs are
        given or time is short). Net of the costs of actions, where those were given.
    agreement_ : list of float
        By stage: share of subjects for whom the tree and the full regime recommend the same action.
    """

    stages: list[StageTree]
    value_: RegimeValue

    @property
    def agreement_(self) -> list[float]:
        """By stage: share of subjects for whom the tree and the full regime recommend the same action."""
        return [stage.agreement for stage in self.stages]

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, index: int) -> StageTree:
        return self.stages[index]

    def predict(self, history: Any, stage: int | str = 1) -> np.ndarray:
        """Recommended action for each row of a history.

        Parameters
        ----------
        history : data frame, Arrow table, dict of columns, path of a file, array or TrialData
            A table needs the columns that the tree asks for.
        stage : int or str, default=1
            Counted from 1, or its name.

        Returns
        -------
        (n,) array
        """
        tree = self.stages[find_stage(stage, [one.frame.name for one in self.stages]) - 1]
        if isinstance(history, TrialData):
            data = history.stage(stage)
            rows = data.history[data.present]
        else:
            rows = read_history(history, tree.frame, tree.needed)
        return np.array(tree.frame.labels)[tree.decide(rows)]

    def export(self, form: Literal["text", "json"] = "text") -> str:
        """The trees as text, or as JSON.

        Parameters
        ----------
        form : {"text", "json"}, default="text"
        """
        if form == "text":
            return str(self)
        if form != "json":
            raise ValueError(f"form={form!r} was given; it must be 'text' or 'json'.")
        value = self.value_
        plain = {
            "value": value.value,
            "standard_error": value.standard_error,
            "interval": list(value.interval),
            "stages": [
                {
                    "stage": tree.stage,
                    "name": tree.frame.name,
                    "agreement": tree.agreement,
                    "tree": tree.as_dict(),
                    "otherwise": [tree.frame.labels[k] for k in tree.order],
                }
                for tree in self.stages
            ],
        }
        return json.dumps(plain, default=str)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.stages), f"value of these rules: {self.value_}"])

    __repr__ = __str__
