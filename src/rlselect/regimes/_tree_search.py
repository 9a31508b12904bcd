r"""The best decision tree of small depth, by exact search over all its splits.

With :math:`c_{is} = 1` where row i is on the lower side of split s, the sums of scores on the four sides of
any two splits follow from :math:`\sum_i c_{is} c_{ir} \gamma_{ia}`: one product per action prices all pairs.
"""

from dataclasses import dataclass
from typing import Optional

import numpy as np

__all__ = ["TreeNode", "find_tree"]

# Gains below this share of the scores' size are rounding: so are differences of two splits that ask the same
# in another order, of which the first is taken.
_ROUNDING = 1e-9
# Splits must gain so many standard errors of their gain: the best of many looks good by chance.
_STANDARD_ERRORS = 1.0


@dataclass(frozen=True)
class TreeNode:
    """A leaf with an action, or a split with what follows on its two sides.

    Attributes
    ----------
    action : int
        Position of the action of a leaf.
    split : int
        Number of the split among those that were offered; -1 for a leaf.
    low, high : TreeNode or None
        Where the split's question is answered by "at most", or "is not", and where it is not.
    """

    action: int
    split: int = -1
    low: Optional["TreeNode"] = None
    high: Optional["TreeNode"] = None


def find_tree(sides: np.ndarray, scores: np.ndarray, depth: int, least: int) -> TreeNode:
    """The tree with the largest sum of scores.

    Parameters
    ----------
    sides : (n, s) bool array
        Which rows are on the lower side of which split.
    scores : (n, K) array
        Of each action for each row.
    depth : int
        Most splits between the root and a leaf.
    least : int
        Fewest rows of a leaf.

    Returns
    -------
    TreeNode
        Splits are left out that gain too little beside the standard error of their gain.
    """
    tree = _search(sides.astype(float), scores, depth, least)[1]
    return _pruned(tree, sides, scores)[0]


def _pruned(node: TreeNode, sides: np.ndarray, scores: np.ndarray) -> tuple[TreeNode, np.ndarray]:
    """What is worth keeping of a tree, and the score that each row has under it."""
    leaf = _leaf(scores)[1]
    if node.low is None or node.high is None:
        return leaf, scores[:, leaf.action]
    low = sides[:, node.split] > 0
    kept = np.empty(len(scores))
    parts = []
    for child, mine in ((node.low, low), (node.high, ~low)):
        part, kept[mine] = _pruned(child, sides[mine], scores[mine])
        parts.append(part)
    # a leaf, or what follows on one side, may do as well for all rows
    for simpler in (leaf, *parts):
        instead = _scores_under(simpler, sides, scores)
        gain = kept - instead
        if gain.sum() <= _STANDARD_ERRORS * np.sqrt(len(gain)) * gain.std():
            return simpler, instead
    return TreeNode(-1, node.split, *parts), kept


def _scores_under(node: TreeNode, sides: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The score that each row has under a tree."""
    if node.low is None or node.high is None:
        return scores[:, node.action]
    low = sides[:, node.split] > 0
    return np.where(low, _scores_under(node.low, sides, scores), _scores_under(node.high, sides, scores))


def _search(sides: np.ndarray, scores: np.ndarray, depth: int, least: int) -> tuple[float, TreeNode]:
    """Value and tree of some rows."""
    best = _leaf(scores)
    if depth == 0 or len(scores) < 2 * least or not sides.shape[1]:
        return best
    if depth <= 2:
        split = _best_split(sides, scores, depth, least)
        candidates = [] if split is None else [split]
    else:
        counts = sides.sum(axis=0)
        candidates = np.flatnonzero((counts >= least) & (len(scores) - counts >= least)).tolist()
    margin = _margin(scores)
    for split in candidates:
        low = sides[:, split] > 0
        (left, lower), (right, higher) = (
            _search(sides[mine], scores[mine], depth - 1, least) for mine in (low, ~low)
        )
        if left + right > best[0] + margin:
            best = (left + right, TreeNode(-1, int(split), lower, higher))
    return best


def _leaf(scores: np.ndarray) -> tuple[float, TreeNode]:
    sums = scores.sum(axis=0)
    place = int(sums.argmax())
    return float(sums[place]), TreeNode(place)


def _best_split(sides: np.ndarray, scores: np.ndarray, depth: int, least: int) -> int | None:
    """The first split of the best tree of depth one or two; None where no leaf would be large enough."""
    n = len(scores)
    # actions come first: the largest of a few numbers that lie side by side takes long
    count, low = sides.sum(axis=0), scores.T @ sides
    total = scores.sum(axis=0)[:, None]
    possible = (count >= least) & (n - count >= least)
    if not possible.any():
        return None
    lower, upper = low.max(axis=0), (total - low).max(axis=0)
    if depth == 2:
        pairs = np.stack([sides.T @ (sides * one[:, None]) for one in scores.T])
        both = sides.T @ sides
        first, second = low[:, :, None], low[:, None, :]
        # sums on the lower and the upper side of a first split (rows), by second split (columns)
        parts = (
            (pairs, first - pairs, both, count[:, None] - both),
            (
                second - pairs,
                total[:, None] - first - second + pairs,
                count[None] - both,
                n - count[:, None] - count[None] + both,
            ),
        )
        deeper = []
        for one, other, n_one, n_other in parts:
            gain = np.where(
                (n_one >= least) & (n_other >= least), one.max(axis=0) + other.max(axis=0), -np.inf
            )
            deeper.append(gain.max(axis=1))
        lower, upper = np.maximum(lower, deeper[0]), np.maximum(upper, deeper[1])
    values = np.where(possible, lower + upper, -np.inf)
    return int(np.argmax(values >= values.max() - _margin(scores)))


def _margin(scores: np.ndarray) -> float:
    """Sums that differ by less are the same but for rounding."""
    return _ROUNDING * float(np.abs(scores).sum())
