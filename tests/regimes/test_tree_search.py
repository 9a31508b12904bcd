"""Exact search against all trees there are."""

from itertools import product

import numpy as np
import pytest

from rlselect.regimes import _tree_search
from rlselect.regimes._tree_search import find_tree


def value(node, sides, scores):
    if node.low is None:
        return scores[:, node.action].sum()
    low = sides[:, node.split]
    return value(node.low, sides[low], scores[low]) + value(node.high, sides[~low], scores[~low])


def best_by_trying(sides, scores, depth, least):
    """The value of the best tree, by trying every split at every node."""
    best = scores.sum(axis=0).max()
    if depth == 0:
        return best
    for split in range(sides.shape[1]):
        low = sides[:, split]
        if min(low.sum(), (~low).sum()) < least:
            continue
        parts = [best_by_trying(sides[mine], scores[mine], depth - 1, least) for mine in (low, ~low)]
        best = max(best, sum(parts))
    return best


@pytest.mark.parametrize(("depth", "n_actions", "least"), [*product([0, 1, 2, 3], [2, 3], [1, 4])])
def test_no_tree_is_better(monkeypatch, depth, n_actions, least):
    monkeypatch.setattr(_tree_search, "_pruned", lambda tree, *_: (tree, None))
    rng = np.random.default_rng(depth + 10 * n_actions)
    X, scores = rng.normal(size=(40, 3)), rng.normal(size=(40, n_actions))
    sides = np.column_stack([X[:, [j]] <= np.array([[-0.7, 0.0, 0.6]]) for j in range(3)])
    tree = find_tree(sides, scores, depth, least)
    assert value(tree, sides, scores) == pytest.approx(best_by_trying(sides, scores, depth, least))


def test_splits_that_only_look_good_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    sides = np.column_stack([X[:, [j]] <= np.linspace(-1.5, 1.5, 21)[None] for j in range(4)])
    true = np.column_stack([np.zeros(300), np.where(X[:, 0] > 0, 1.0, -1.0)])
    tree = find_tree(sides, true + rng.normal(size=(300, 2)), 2, 6)
    assert value(tree, sides, true) > 0.85 * np.maximum(true, 0).sum()
    # a split between equals gains what the best of many does by chance
    noise = 0.1 * rng.normal(size=(300, 2)) + [0.0, 1.0]
    assert find_tree(sides, noise, 2, 6).low is None


def test_two_questions_that_say_nothing_alone():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    sides = np.column_stack([X[:, [j]] <= np.array([[-0.5, 0.0, 0.5]]) for j in range(3)])
    scores = np.column_stack([np.zeros(400), np.sign(X[:, 0] * X[:, 1])])
    tree = find_tree(sides, scores, 2, 1)
    assert value(tree, sides, scores) == pytest.approx((X[:, 0] * X[:, 1] > 0).sum())
