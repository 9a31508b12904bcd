"""The protocol of the datum-wise experiments: choices, the peers, saved records."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
if not FOLDER.is_dir():
    pytest.skip("the experiments are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(FOLDER))

import _datumwise_common as common  # noqa: E402
import _datumwise_methods as methods  # noqa: E402

from rlselect.datumwise._peers import features_on_path  # noqa: E402


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return common.Problem("iris", X, y, list("abcd"), list("123"))


def record(first, second):
    """Points (sparsity, accuracy) of each setting on the two halves."""
    pairs = np.stack([first, second], axis=1)
    return {"sparsity": pairs[:, :, 0].tolist(), "accuracy": pairs[:, :, 1].tolist()}


def test_a_half_never_judges_what_it_chose():
    first = [(0.5, 0.99), (0.8, 0.9), (0.85, 0.95), (0.9, 0.95), (1.0, 0.4)]
    second = [(0.5, 0.1), (0.8, 0.99), (0.7, 0.6), (0.9, 1.0), (1.0, 0.4)]
    got = record(first, second)
    assert (common.choose(got, 0.8, 0), common.choose(got, 0.8, 1)) == (2, 3)
    # the first half chose the third setting, judged .6 on the second; the second the fourth, judged .95
    assert common.at_sparsity(got, 0.8) == pytest.approx(((0.6 + 0.95) / 2, (0.7 + 0.9) / 2))
    assert common.choose(record(first[:2], second[:2]), 0.95, 0) == 1


def test_coin_between_neighbours_of_the_hull():
    first = [(0.5, 0.9), (0.7, 0.5), (0.9, 0.8)]
    second = [(0.4, 1.0), (0.7, 0.0), (0.8, 0.6)]
    accuracy, unused = common.mixed_at_sparsity(record(first, second), 0.8)
    # chosen on the first half: one quarter of the first setting; on the second: the last setting alone
    expected = (0.25 * 1.0 + 0.75 * 0.6 + 0.8) / 2, (0.25 * 0.4 + 0.75 * 0.8 + 0.9) / 2
    assert (accuracy, unused) == pytest.approx(expected)


def test_path_takes_the_neighbours_whatever_their_accuracy():
    first = [(0.5, 0.9), (0.7, 0.5), (0.9, 0.8), (0.95, 0.9)]
    second = [(0.4, 1.0), (0.7, 0.0), (0.8, 0.6), (0.9, 0.1)]
    expected = ((0.5 * 0.0 + 0.5 * 0.6) + 0.8) / 2, ((0.5 * 0.7 + 0.5 * 0.8) + 0.9) / 2
    assert common.path_at_sparsity(record(first, second), 0.8) == pytest.approx(expected)
    # the same when the settings are listed from sparse to dense
    assert common.path_at_sparsity(record(first[::-1], second[::-1]), 0.8) == pytest.approx(expected)
    assert common.path_at_sparsity(record(first, second), 1.0) == pytest.approx((0.5, 0.925))


def test_upper_hull_is_concave_and_covers_all_points():
    points = np.random.default_rng(0).random((40, 2))
    hull = points[common.upper_hull(points)]
    slopes = np.diff(hull[:, 1]) / np.diff(hull[:, 0])
    assert np.all(np.diff(slopes) < 0)
    assert np.all(np.interp(points[:, 0], *hull.T) >= points[:, 1] - 1e-12)


def test_features_on_path_equal_a_walk_down_the_tree(iris):
    tree = DecisionTreeClassifier(random_state=0).fit(iris.X, iris.y)
    fast = features_on_path(tree, iris.X)
    nodes = tree.tree_
    for row, used in zip(iris.X.astype(np.float32), fast, strict=True):
        node, asked = 0, set()
        while nodes.children_left[node] >= 0:
            j = nodes.feature[node]
            asked.add(int(j))
            left = row[j] <= nodes.threshold[node]
            node = nodes.children_left[node] if left else nodes.children_right[node]
        assert asked == set(np.flatnonzero(used))


@pytest.mark.parametrize("method", methods.PEERS, ids=lambda m: m.name)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_peers_go_from_no_feature_to_a_good_fit(iris, method, n_classes):
    rows = iris.y < n_classes
    problem = common.Problem("iris", iris.X[rows], iris.y[rows], iris.feature_names, iris.classes)
    split = common.make_split(problem, 0.5, 0)
    got = common.run_method(method, split, 0)
    assert np.max(got["sparsity"]) == 1.0
    assert np.max(got["accuracy"]) > 0.75


def test_test_rows_have_no_part_in_scaling(iris):
    split = common.make_split(iris, 0.5, 3)
    np.testing.assert_allclose(split.X_train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(split.X_train.std(axis=0), 1.0)
    (a, y_a), (b, y_b) = split.halves
    assert np.abs(np.vstack([a, b]).mean(axis=0)).max() > 1e-6
    assert len(split.X_train) == len(a) + len(b) == 75
    assert np.abs(np.bincount(y_a) - np.bincount(y_b)).max() <= 1


def test_records_resume(tmp_path):
    path = tmp_path / "folder" / "a.jsonl"
    first = common.Records(path, resume=False)
    assert first.get(("a", 1), lambda: [1.5]) == [1.5]
    again = common.Records(path, resume=True)
    assert again.get(("a", 1), lambda: pytest.fail("computed twice")) == [1.5]
    assert again.get(("a", 2), lambda: 2) == 2
    assert [json.loads(line)["value"] for line in path.read_text().splitlines()] == [[1.5], 2]
    assert common.Records(path, resume=False).done == {}
