"""The first few questions as a picture."""

import textwrap
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect.datumwise._classifier import DatumwiseClassifier
from rlselect.datumwise._tree import QuestionNode
from rlselect.report import Display

__all__ = ["QuestionTreeDisplay"]

# id of a node -> where its box stands
Places: TypeAlias = dict[int, tuple[float, float]]


class QuestionTreeDisplay(Display):
    """Which question comes first, and which next after which value.

    Made by :meth:`from_estimator`. A box is a question or an answer with the share of the cases that came to
    it; the text on a line says which values of the question above lead along it.

    Parameters
    ----------
    root : QuestionNode
        As :meth:`DatumwiseClassifier.question_tree` returns it.
    min_share : float, default=0.0
        Branches with a smaller share of the cases are not drawn.

    Attributes
    ----------
    ax_ : the axes drawn on
    figure_ : their figure
    """

    def __init__(self, root: QuestionNode, min_share: float = 0.0) -> None:
        self.root = root
        self.min_share = min_share

    @classmethod
    def from_estimator(
        cls,
        estimator: DatumwiseClassifier,
        X: Any,
        *,
        max_depth: int = 3,
        min_share: float = 0.02,
        ax: Any = None,
    ) -> Self:
        """Draw the first questions that a fitted classifier asks the rows of X.

        Parameters
        ----------
        estimator : DatumwiseClassifier
        X : rows
        max_depth : int, default=3
            Questions from the top to the bottom at most.
        min_share : float, default=0.02
            Branches with a smaller share of the rows are not drawn.
        ax : matplotlib axes, optional

        Returns
        -------
        QuestionTreeDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator.question_tree(X, max_depth=max_depth), min_share).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        widest, deepest = _extent(self._layout())
        # lists of levels take several lines
        lines = max((_wrapped(label).count("\n") for label in self._labels(self.root)), default=0)
        return max(3.0, 1.2 * (widest + 1)), max(2.0, (1.2 + 0.25 * lines) * (deepest + 1))

    def _draw(self, ax: Any) -> None:
        places = self._layout()
        widest, deepest = _extent(places)
        self._draw_node(self.root, places, ax)
        ax.set(xlim=(-0.7, widest + 0.7), ylim=(-deepest - 0.4, 0.4))
        ax.set_axis_off()

    def _shown(self, node: QuestionNode) -> list[tuple[str, QuestionNode]]:
        return [(label, below) for label, below in node.branches if below.share >= self.min_share]

    def _labels(self, node: QuestionNode) -> list[str]:
        shown = self._shown(node)
        return [label for label, _ in shown] + [text for _, below in shown for text in self._labels(below)]

    def _draw_node(self, node: QuestionNode, places: Places, ax: Any) -> None:
        x, y = places[id(node)]
        plain = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
        for label, below in self._shown(node):
            to_x, to_y = places[id(below)]
            ax.plot([x, to_x], [y, to_y], color="0.6", linewidth=0.6 + 5 * below.share, zorder=1)
            near = ((x + 2 * to_x) / 3, (y + 2 * to_y) / 3)
            ax.text(*near, _wrapped(label), fontsize=6.5, ha="center", va="center", bbox=plain, zorder=2)
            self._draw_node(below, places, ax)
        colour = "#dbe9f6" if node.question is not None else "#f2f2f2" if node.cut else "#e5f2df"
        box = {"boxstyle": "round,pad=0.3", "fc": colour, "ec": "0.4"}
        ax.text(x, y, _caption(node), fontsize=8, ha="center", va="center", bbox=box, zorder=3)

    def _layout(self) -> Places:
        """Leaves side by side, questions over the middle of what is below them."""
        places: Places = {}
        n_leaves = 0

        def place(node: QuestionNode, level: int) -> float:
            nonlocal n_leaves
            below = [place(child, level + 1) for _, child in self._shown(node)]
            x = float(np.mean(below)) if below else float(n_leaves)
            n_leaves += not below
            places[id(node)] = (x, -float(level))
            return x

        place(self.root, 0)
        return places


def _extent(places: Places) -> tuple[float, float]:
    """Width and depth of a layout."""
    return max(x for x, _ in places.values()), max(-y for _, y in places.values())


def _wrapped(label: str) -> str:
    return "\n".join(textwrap.wrap(label, 17, max_lines=4, placeholder=" ..."))


def _caption(node: QuestionNode) -> str:
    if node.question is not None:
        return f"{node.question}?\n{node.share:.0%}"
    hedge = node.hedge.strip(" ()").replace(" questions", "").replace(", ", ",\n")
    return "\n".join(part for part in (str(node.answer), hedge, f"{node.share:.0%}") if part)
