"""A picture of the trees of a regime."""

from typing import Any, Self

from rlselect.regimes._policy_tree import PolicyTree, StageTree
from rlselect.regimes._tree_search import TreeNode
from rlselect.report import PanelDisplay

__all__ = ["PolicyTreeDisplay"]


class PolicyTreeDisplay(PanelDisplay):
    """Trees of a regime, one panel per stage: questions, and the recommended actions at their ends.

    Parameters
    ----------
    tree : PolicyTree
    """

    def __init__(self, tree: PolicyTree) -> None:
        self.tree = tree

    @classmethod
    def from_tree(cls, tree: PolicyTree, *, axes: Any = None) -> Self:
        """Draw a policy tree.

        Parameters
        ----------
        tree : PolicyTree
            As `QLearning.policy_tree` gives it, or ``learner.regime_``.
        axes : sequence of matplotlib axes, optional
            One per stage.
        """
        return cls(tree).plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return len(self.tree), len(self.tree)

    def _panel_size(self) -> tuple[float, float]:
        return (5.0, 3.5)

    def _draw(self, axes: list[Any]) -> None:
        for stage, ax in zip(self.tree.stages, axes, strict=True):
            _draw_node(stage, stage.root, ax, 0.0, 1.0, 0)
            ax.set(title=stage.frame.name, xlim=(-0.05, 1.05), ylim=(-3.4, 0.4))
            ax.set_axis_off()


def _draw_node(stage: StageTree, node: TreeNode, ax: Any, left: float, right: float, depth: int) -> None:
    """A node in the middle of its share of the width, and what follows below it."""
    middle = 0.5 * (left + right)
    style = {"ha": "center", "va": "center", "bbox": {"boxstyle": "round", "facecolor": "white"}}
    if node.low is None or node.high is None:
        ax.text(middle, -depth, str(stage.frame.labels[node.action]), weight="bold", **style)
        return
    low, high = stage.splits[node.split].sides()
    for child, start, end, says in ((node.low, left, middle, low), (node.high, middle, right, high)):
        ax.plot([middle, 0.5 * (start + end)], [-depth, -depth - 1], color="0.6", zorder=0)
        ax.text(0.5 * (middle + 0.5 * (start + end)), -depth - 0.5, says, ha="center", fontsize="small")
        _draw_node(stage, child, ax, start, end, depth + 1)
    ax.text(middle, -depth, stage.splits[node.split].name, **style)
