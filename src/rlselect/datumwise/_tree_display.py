"""The first few questions as a picture."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from rlselect.datumwise._tree import QuestionNode
from rlselect.report import Display, TreeBox, draw_tree, tree_size

__all__ = ["QuestionTreeDisplay"]


class QuestionTreeDisplay(Display):
    """What it means: which question comes first, and which next after which value.

    Made by :meth:`from_estimator`. A box is a question or an answer with the share of the cases that came to
    it; the text on a line says which values of the question before lead along it.

    Parameters
    ----------
    root : QuestionNode
        As :meth:`DatumwiseClassifier.question_tree` returns it.
    min_share : float, default=0.0
        Branches with a smaller share of the cases are not drawn.
    """

    def __init__(self, root: QuestionNode, min_share: float = 0.0) -> None:
        self.root = root
        self.min_share = min_share

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        max_depth: int = 3,
        min_share: float = 0.02,
    ) -> Self:
        """Draw the first questions that a fitted estimator asks.

        Parameters
        ----------
        estimator : DatumwiseClassifier or DatumwiseRegressor
            Fitted.
        X : rows, optional
            Cases; those of `fit` by default, of which three questions are kept.
        y : ignored
            What is asked does not depend on it.
        ax : matplotlib axes or figure, optional
            Where to draw.
        max_depth : int, default=3
            Questions after one another at most.
        min_share : float, default=0.02
            Branches with a smaller share of the rows are not drawn.

        Returns
        -------
        QuestionTreeDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator.question_tree(X, max_depth=max_depth), min_share).plot(ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        width, height = tree_size(self._box(self.root))
        return width, max(height, 2.0)

    def _draw(self, axes: list[Any]) -> None:
        draw_tree(axes[0], self._box(self.root))

    def _box(self, node: QuestionNode) -> TreeBox:
        if node.question is None:
            hedge = node.hedge.strip(" ()").replace(", ", ",\n")
            lines = [part for part in (str(node.answer), hedge, f"{node.share:.0%}") if part]
            return TreeBox(lines, "open" if node.cut else "answer", (), node.share)
        shown = [(label, self._box(below)) for label, below in node.branches if below.share >= self.min_share]
        return TreeBox([f"{node.question}?", f"{node.share:.0%}"], "question", shown, node.share)
