"""A picture of the trees of a regime."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from rlselect.regimes._policy_tree import PolicyTree, StageTree
from rlselect.regimes._tree_search import TreeNode
from rlselect.report import TEXT, Display, TreeBox, draw_tree, tree_size

__all__ = ["PolicyTreeDisplay"]


class PolicyTreeDisplay(Display):
    """What it means: the trees of a regime, one panel per stage, with the recommended actions at their ends.

    Parameters
    ----------
    tree : PolicyTree
    """

    def __init__(self, tree: PolicyTree) -> None:
        self.tree = tree

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the trees of a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted.
        X, y : ignored
            The fit tells all; `QLearning.policy_tree` learns others.
        ax : matplotlib axes, one per stage, or a figure, optional
            Where to draw.

        Returns
        -------
        PolicyTreeDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator.regime_).plot(ax=ax)

    @classmethod
    def from_tree(cls, tree: PolicyTree, *, ax: Any = None) -> Self:
        """Draw a policy tree.

        Parameters
        ----------
        tree : PolicyTree
            As `QLearning.policy_tree` gives it, or ``learner.regime_``.
        ax : matplotlib axes, one per stage, or a figure, optional
            Where to draw.

        Returns
        -------
        PolicyTreeDisplay
        """
        return cls(tree).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return len(self.tree), 1

    def _panel_size(self) -> tuple[float, float]:
        sizes = [tree_size(_box(stage, stage.root)) for stage in self.tree.stages]
        return max(4.0, *(width for width, _ in sizes)), 0.4 + max(height for _, height in sizes)

    def _draw(self, axes: list[Any]) -> None:
        for stage, ax in zip(self.tree.stages, axes, strict=True):
            draw_tree(ax, _box(stage, stage.root))
            ax.set_title(stage.frame.name, fontsize=TEXT + 2, loc="left")


def _box(stage: StageTree, node: TreeNode) -> TreeBox:
    if node.low is None or node.high is None:
        return TreeBox([str(stage.frame.labels[node.action])])
    split = stage.splits[node.split]
    # the name stands in the box
    low, high = (side.removeprefix(f"{split.name} ") for side in split.sides())
    return TreeBox(
        [f"{split.name}?"], "question", [(low, _box(stage, node.low)), (high, _box(stage, node.high))]
    )
