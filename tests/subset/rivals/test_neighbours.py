import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from rlselect.data import open_table
from rlselect.subset.rivals._neighbours import NeighbourReward, concordance
from rlselect.subset.rivals._rival import read_problem


def problem(y, p=4, seed=0):
    X = np.random.default_rng(seed).standard_normal((len(y), p))
    return read_problem(open_table(X, y, owner="test"), "auto", "test")


def test_two_classes_are_judged_by_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    known = problem(rng.integers(0, 2, 80))
    reward = NeighbourReward(known, 5, 30, rng)
    judged, X = reward._judged, known.X[:, [1, 3]]
    near = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X[judged], return_distance=False)[:, 1:]
    expected = roc_auc_score(known.y[judged], known.y[near].mean(axis=1))
    assert reward(frozenset({1, 3})) == pytest.approx(expected)


def test_several_classes_are_judged_one_against_the_rest():
    rng = np.random.default_rng(1)
    Y, scores = np.eye(3)[rng.integers(0, 3, 50)], rng.integers(0, 4, (50, 3)).astype(float)
    expected = np.mean([roc_auc_score(Y[:, k], scores[:, k]) for k in range(3)])
    assert concordance(Y, scores) == pytest.approx(expected)


def test_numbers_are_judged_by_concordance_and_nothing_is_worth_a_half():
    y = np.array([1.0, 2.0, 4.0])[:, None]
    assert concordance(y, np.array([0.1, 0.5, 0.3])[:, None]) == pytest.approx(2 / 3)
    known = problem(np.random.default_rng(0).standard_normal(40))
    assert NeighbourReward(known, 5, 20, np.random.default_rng(0))(frozenset()) == 0.5
