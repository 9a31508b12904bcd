"""From options to units: responses, groups, features by name, exact duplicates."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rlselect.data import open_table
from rlselect.predictors import Units
from rlselect.subset._problem import find_twins, pose_problem, read_features, read_groups, read_response

NAMES = ["age", "height", "weight", "city"]


def pose(X, y, **options):
    given = {"family": "auto", "feature_groups": None, "always_select": (), "never_select": ()}
    return pose_problem(open_table(X, y), **(given | options))


# ---- the response ----


@pytest.mark.parametrize(
    ("y", "family", "classes"),
    [
        (np.array([0, 1, 1, 0]), "binomial", [0, 1]),
        (np.array([3.5, 2.0, 2.0, 3.5]), "binomial", [2.0, 3.5]),
        (np.array([True, False, True]), "binomial", [False, True]),
        (np.array(["no", "yes", "no"], dtype=object), "binomial", ["no", "yes"]),
        (np.array([0, 1, 2]), "gaussian", None),
        (np.array([1.0, 1.0, 1.0]), "gaussian", None),
        (np.array([0.5, 1.5, 2.5]), "gaussian", None),
    ],
)
def test_auto_reads_the_family_off_the_response(y, family, classes):
    got, labels, response = read_response(y, "auto")
    assert got == family
    if classes is None:
        assert labels is None
        np.testing.assert_array_equal(response, y)
    else:
        assert labels.tolist() == classes
        np.testing.assert_array_equal(labels[response.astype(int)], y)
    assert response.dtype == np.float64


def test_auto_looks_beyond_the_first_rows():
    y = np.r_[np.zeros(1500), np.ones(1500), [2.0]]
    assert read_response(y, "auto")[0] == "gaussian"
    assert read_response(y[:-1], "auto")[0] == "binomial"


def test_a_family_that_is_named_is_kept():
    y = np.array([0, 1, 1, 0])
    assert read_response(y, "gaussian")[0] == "gaussian"
    assert read_response(y, "poisson")[0] == "poisson"


@pytest.mark.parametrize(
    ("y", "family", "says"),
    [
        (np.array([0, 1]), "logistic", "family='logistic'.*choose one of 'auto', 'gaussian'"),
        (np.array([1, 1, 1]), "binomial", "only one class \\(1\\).*exactly two"),
        (np.array([0, 1, 2]), "binomial", "3 classes.*exactly two"),
        (np.array([0.5, 1.5, 2.5]), "binomial", "continuous values"),
        (np.array(["a", "b", "c"], dtype=object), "auto", "3 classes"),
        (np.array([1.0, -2.0]), "poisson", "counts of zero or more.*-2"),
    ],
)
def test_responses_that_do_not_fit(y, family, says):
    with pytest.raises(ValueError, match=says):
        read_response(y, family)


def test_text_where_numbers_are_needed():
    with pytest.raises(TypeError, match=r"y holds text \('low'\), but numbers are needed"):
        read_response(np.array(["low", "high"], dtype=object), "gaussian")


# ---- groups and names ----


@pytest.mark.parametrize(
    "groups",
    [
        {"body": ["height", "weight"]},
        {"body": [1, 2]},
        [["height", "weight"]],
        [["height", "weight"], ["age"]],
        [[1, 2], [3]],
        ["a", "b", "b", "c"],
        [0, 7, 7, 2],
        np.array([5, 1, 1, 9]),
        {"body": [False, True, True, False]},
    ],
    ids=repr,
)
def test_groups_in_any_form(groups):
    got = read_groups(groups, NAMES)
    assert got[1] == got[2]
    assert len({got[0], got[1], got[3]}) == 3


def test_no_groups():
    np.testing.assert_array_equal(read_groups(None, NAMES), np.arange(4))


def test_groups_that_make_no_sense():
    with pytest.raises(ValueError, match=r"has 2 labels for 4 features"):
        read_groups(["a", "b"], NAMES)
    with pytest.raises(ValueError, match=r"'height' in two groups"):
        read_groups({"a": ["age", "height"], "b": ["height"]}, NAMES)
    with pytest.raises(ValueError, match=r"feature_groups.*'heigth'.*'height'"):
        read_groups({"a": ["heigth"]}, NAMES)


def test_features_by_name_position_or_mask():
    np.testing.assert_array_equal(read_features(["city", "age"], NAMES, "x"), [3, 0])
    np.testing.assert_array_equal(read_features([1, -1], NAMES, "x"), [1, 3])
    np.testing.assert_array_equal(read_features("weight", NAMES, "x"), [2])
    np.testing.assert_array_equal(read_features(np.array([2]), NAMES, "x"), [2])
    np.testing.assert_array_equal(read_features([True, False, False, True], NAMES, "x"), [0, 3])
    assert len(read_features((), NAMES, "x")) == 0


@pytest.mark.parametrize("feature", [4, -5, 1.5, None])
def test_features_that_are_not_there(feature):
    with pytest.raises(ValueError, match=r"always_select holds .*positions below 4"):
        read_features([feature], NAMES, "always_select")


def test_nearest_name_is_suggested():
    with pytest.raises(ValueError, match=r"never_select.*'wieght'.*'weight'"):
        read_features(["wieght"], NAMES, "never_select")


# ---- units ----


def test_text_columns_are_groups_of_indicators():
    frame = pd.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0], "city": ["a", "b", "c", "a"], "y": [0.1, 0.4, 0.2, 0.9]}
    )
    problem = pose(frame, "y")
    assert problem.units.n_units == 2
    assert [len(c) for c in problem.units.columns] == [1, 2]
    np.testing.assert_array_equal(problem.to_features(np.array([5.0, 7.0])), [5.0, 7.0])
    np.testing.assert_array_equal(problem.columns_of(np.array([False, True])), [1, 2])


def test_groups_join_indicators():
    frame = pd.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 0.0, 0.0, 2.0], "city": ["a", "b", "c", "a"]}
    )
    problem = pose(frame, np.arange(4.0), feature_groups={"g": ["age", "city"]})
    assert sorted(len(c) for c in problem.units.columns) == [1, 3]
    assert problem.unit_of_feature[0] == problem.unit_of_feature[2] != problem.unit_of_feature[1]


def test_a_feature_without_columns_has_no_unit():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "country": ["x", "x", "x"]})
    problem = pose(frame, np.arange(3.0), always_select=["country"])
    assert problem.unit_of_feature.tolist() == [0, -1]
    np.testing.assert_array_equal(problem.to_features(np.array([0.7])), [0.7, 0.0])
    assert not problem.always.any()


def test_always_and_never():
    X = np.random.default_rng(0).standard_normal((20, 4))
    problem = pose(X, X[:, 0], always_select=[1], never_select=["x3"])
    np.testing.assert_array_equal(problem.always, [False, True, False, False])
    np.testing.assert_array_equal(problem.allowed, [True, False, True, False])
    with pytest.raises(ValueError, match=r"both name 'x1'"):
        pose(X, X[:, 0], always_select=[1], never_select=[1])
    grouped = pose(X, X[:, 0], feature_groups=[[0, 1]], always_select=[0])
    np.testing.assert_array_equal(grouped.always, [True, False, False])


# ---- exact duplicates ----


def twins(X):
    table = open_table(X, np.zeros(X.shape[0]))
    return find_twins(table, Units(np.arange(X.shape[1]))).tolist()


@pytest.mark.parametrize("n", [10, 2000])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_equal_columns_are_twins(container, n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6)) * (rng.random((n, 6)) < 0.5)
    X[:, 3], X[:, 5] = X[:, 1], X[:, 1]
    assert twins(container(X)) == [0, 1, 2, 1, 4, 1]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_single_value_makes_the_difference(container):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    X[:, 3], X[:, 4] = X[:, 1], X[:, 1]
    X[1999, 3] += 1e-12
    assert twins(container(X)) == [0, 1, 2, 3, 1]


def test_equal_at_a_glance_but_in_two_kinds():
    # the first rows are all zero, later two pairs part company
    X = np.zeros((1000, 4))
    X[500:, :2] = np.random.default_rng(0).standard_normal((500, 1))
    X[700:, 2:] = 1.0
    assert twins(X) == [0, 0, 2, 2]
    assert twins(sparse.csr_array(X)) == [0, 0, 2, 2]


def test_stored_zeros_and_negative_zeros_are_zeros():
    X = np.array([[1.0, 1.0, 2.0], [0.0, -0.0, 1.0], [3.0, 3.0, 0.0]])
    assert twins(X) == [0, 0, 2]
    stored = sparse.csr_array(
        (np.array([1.0, 1.0, 2.0, 0.0, 1.0, 3.0, 3.0]), [0, 1, 2, 1, 2, 0, 1], [0, 3, 5, 7])
    )
    assert stored.nnz == 7
    assert twins(stored) == [0, 0, 2]


def test_groups_have_no_twins():
    X = np.random.default_rng(0).standard_normal((20, 4))
    X[:, 2], X[:, 3] = X[:, 0], X[:, 1]
    problem = pose(X, X[:, 0], feature_groups=[[0, 1]])
    np.testing.assert_array_equal(problem.twin_of, [0, 1, 2])


@pytest.mark.parametrize(
    ("options", "allowed", "represented_by"),
    [
        ({}, [True, True, False, False], [0, 1, 0, 0]),
        # what may not be selected represents nobody: the next copy does
        ({"never_select": [0]}, [False, True, True, False], [0, 1, 2, 2]),
        ({"never_select": [0, 2, 3]}, [False, True, False, False], [0, 1, 2, 3]),
        # what is selected anyway represents all
        ({"always_select": [2]}, [False, True, False, False], [2, 1, 2, 2]),
        ({"always_select": [2], "never_select": [0]}, [False, True, False, False], [0, 1, 2, 2]),
    ],
)
def test_who_represents_copies(options, allowed, represented_by):
    X = np.random.default_rng(0).standard_normal((20, 2))[:, [0, 1, 0, 0]]
    problem = pose(X, X[:, 0], **options)
    np.testing.assert_array_equal(problem.allowed, allowed)
    np.testing.assert_array_equal(problem.twin_of, represented_by)
