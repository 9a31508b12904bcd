"""The first questions as a tree."""

import numpy as np
import pandas as pd
from problems import (
    FAST,
)

from rlselect import DatumwiseClassifier
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._tree import build_tree


def test_question_tree_tells_the_first_questions():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 3)).astype(float)
    y = np.where(X[:, 0] == 1, X[:, 1], X[:, 2])
    y = np.where(y == 1, "yes", "no")
    tree = DatumwiseClassifier().fit(X, y).question_tree(X)
    assert tree.question == "x0"
    below = dict(tree.branches)
    assert below["<= 0.5"].question == "x2"
    assert below["> 0.5"].question == "x1"
    assert [node.answer for _, node in below["> 0.5"].branches] == ["no", "yes"]
    assert str(tree).startswith("x0?  [100%]\n  <= 0.5: x2?  [")
    cut = DatumwiseClassifier().fit(X, y).question_tree(X, max_depth=1)
    assert all(node.cut for _, node in cut.branches)
    X[:30, 0] = np.nan
    gaps = DatumwiseClassifier(scoring="bins", random_state=0).fit(X, y).question_tree(X)
    assert "not available" in str(gaps)
    groups = DatumwiseClassifier(feature_groups=[[0, 1], [2]], search=FAST, random_state=0).fit(X, y)
    assert groups.question_tree(X).share == 1.0


def test_question_tree_puts_neighbours_with_the_same_next_step_together():
    # bins 0 and 1 of the first feature ask the second, bin 2 answers; only bin 0 goes on after a low value
    X = np.array([[0, 0, 1], [0, 2, 1], [1, 0, 1], [1, 2, 1], [2, 0, 1], [2, 2, 1], [0, np.nan, 1]], float)
    order = np.array([[0, 1, 2], [0, 1, -1], [0, 1, -1], [0, 1, -1], [0, -1, -1], [0, -1, -1], [0, 2, -1]])
    labels = np.array(["a", "b", "c", "b", "d", "d", "a"])
    rules = PurchaseRules(["u", "v", "w"], [np.array([j]) for j in range(3)], np.ones(3), np.eye(4))
    edges = [np.array([0.5, 1.5]), np.array([0.5, 1.5]), np.empty(0)]
    tree = build_tree(order, labels, X, rules, edges, [None] * 3, depth=3)
    assert [label for label, _ in tree.branches] == ["<= 1.5", "> 1.5"]
    second = tree.branches[0][1]
    assert second.question == "v"
    assert [label for label, _ in second.branches] == ["<= 0.5", "> 1.5", "not available"]
    assert str(second.branches[0][1]) == "-> a (mostly)  [29%]"
    assert str(second.branches[1][1]) == "-> b  [29%]"
    order[2, 2] = 2
    cut = build_tree(order, labels, X, rules, edges, [None] * 3, depth=2)
    assert "<= 0.5: -> a (after more questions, mostly)  [29%]" in str(cut)
    # the same knowledge, values to be had, and yet another question: bins that were put together
    order[2, 1:] = [2, -1]
    apart = build_tree(order, labels, X, rules, edges[:1] + [np.empty(0)] * 2, [None] * 3, depth=2)
    assert [label for label, _ in apart.branches] == ["<= 1.5", "> 1.5"]
    assert [label for label, _ in apart.branches[0][1].branches] == [
        "any value",
        "not available",
        "other cases",
    ]


def test_tree_puts_levels_with_one_future_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": rng.choice([f"k{i}" for i in range(9)], 300)})
    y = np.where(frame["key"] == "k4", "rare", "usual")
    labels = dict(DatumwiseClassifier().fit(frame, y).question_tree(frame).branches)
    assert labels["k4"].answer == "rare"
    assert labels["k0, k1, k2, k3, k5, k6 and 2 more"].answer == "usual"
