"""The first few questions as a picture."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect.datumwise._displays import feature_names, pyplot
from rlselect.datumwise._question_tree import QuestionNode, build_question_tree

__all__ = ["QuestionTreeDisplay"]


class QuestionTreeDisplay:
    """Which question comes first, and which next after which value.

    Made by :meth:`from_estimator`. A box is a question with the number of cases that came to it, or an answer
    with its share; the text on a line says which values of the question above lead along it.

    Parameters
    ----------
    root : QuestionNode

    Attributes
    ----------
    ax_ : the axes drawn on
    figure_ : their figure
    """

    def __init__(self, root: QuestionNode):
        self.root = root

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, depth: int = 3, min_share: float = 0.02, ax: Any = None
    ) -> "QuestionTreeDisplay":
        """Draw the first questions that a fitted classifier asks the rows of X.

        Parameters
        ----------
        estimator : DatumwiseClassifier
        X : rows
        depth : int, default=3
            Questions in a row.
        min_share : float, default=0.02
            Continuations of a smaller share of the rows are drawn as one.
        ax : matplotlib axes, optional

        Returns
        -------
        QuestionTreeDisplay
        """
        check_is_fitted(estimator)
        return cls(question_tree(estimator, X, depth, min_share)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> "QuestionTreeDisplay":
        """Draw into axes, new ones by default.

        Parameters
        ----------
        ax : matplotlib axes, optional
        """
        places = _layout(self.root)
        deepest = max(-y for _, y in places.values())
        widest = max(x for x, _ in places.values())
        if ax is None:
            size = (max(3.0, 1.9 * (widest + 1)), max(2.0, 1.3 * (deepest + 1)))
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        plain = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
        for node in self.root.walk():
            x, y = places[id(node)]
            for child in node.children:
                to_x, to_y = places[id(child)]
                share = child.n_cases / self.root.n_cases
                ax.plot([x, to_x], [y, to_y], color="0.6", linewidth=0.6 + 5 * share, zorder=1)
                near = ((x + 2 * to_x) / 3, (y + 2 * to_y) / 3)
                ax.text(*near, child.when, fontsize=6.5, ha="center", va="center", bbox=plain, zorder=2)
            colour = "#dbe9f6" if node.asked is not None else "#e5f2df" if node.final else "#f2f2f2"
            box = {"boxstyle": "round,pad=0.3", "fc": colour, "ec": "0.4"}
            ax.text(x, y, _caption(node), fontsize=8, ha="center", va="center", bbox=box, zorder=3)
        ax.set(xlim=(-0.7, widest + 0.7), ylim=(-deepest - 0.4, 0.4))
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def question_tree(estimator: Any, X: Any, depth: int = 3, min_share: float = 0.02) -> QuestionNode:
    """The tree of the first questions, as nodes.

    Parameters
    ----------
    estimator : DatumwiseClassifier
        Fitted.
    X : rows
    depth, min_share
        As for :meth:`QuestionTreeDisplay.from_estimator`.

    Returns
    -------
    QuestionNode
    """
    columns = X if hasattr(X, "columns") else None
    names = feature_names(estimator)
    dense = X.toarray() if hasattr(X, "toarray") else X
    values = {n: columns[n] if columns is not None else dense[:, j] for j, n in enumerate(names)}
    orders = estimator.acquisition_order(X)
    return build_question_tree(orders, estimator.predict(X), values, depth, min_share)


def _caption(node: QuestionNode) -> str:
    if node.asked is not None:
        return f"{node.asked}?\n{node.n_cases} cases"
    share = node.answers[node.answer]
    first = f"{node.answer}" if share == 1.0 else f"{node.answer} ({share:.0%})"
    more = "" if node.final else f"\n{node.more:.1f} more"
    return f"{first}\n{node.n_cases} cases{more}"


def _layout(root: QuestionNode) -> dict[int, tuple[float, float]]:
    """Leaves side by side, questions over the middle of what is below them."""
    places: dict[int, tuple[float, float]] = {}
    n_leaves = 0

    def place(node: QuestionNode, level: int) -> float:
        nonlocal n_leaves
        if node.children:
            x = float(np.mean([place(child, level + 1) for child in node.children]))
        else:
            x = float(n_leaves)
            n_leaves += 1
        places[id(node)] = (x, -float(level))
        return x

    place(root, 0)
    return places
