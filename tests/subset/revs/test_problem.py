"""From options to units: responses, groups, features by name, exact duplicates."""

import numpy as np
import pandas as pd
import pytest

from rlselect.data import open_table
from rlselect.subset.revs._problem import Response, pose_problem, read_response


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


def test_auto_takes_labels_with_an_order_as_classes_in_order():
    y = np.array(["low", "high", "mid", "low", "mid", "high"], dtype=object)
    assert read_response(y, "auto")[0] == "multinomial"
    family, labels, codes = read_response(y, "auto", ["low", "mid", "high", "never seen"])
    assert (family, labels.tolist(), codes.tolist()) == (
        "ordinal",
        ["low", "mid", "high"],
        [0, 2, 1, 0, 1, 2],
    )
    assert read_response(np.array([1, 2, 3, 1, 2, 3]), "auto", [1, 2, 3])[0] == "ordinal"
    assert read_response(y, "multinomial", ["low", "mid", "high"])[0] == "multinomial"
    # two labels have one coefficient either way
    two = read_response(np.array(["low", "high", "low", "high"], dtype=object), "auto", ["low", "high"])
    assert two[0] == "binomial"


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


def test_the_order_of_categories_beats_that_of_numbers():
    y = np.array([7, 3, 3, 7, 5, 5])
    _, classes, codes = read_response(y, "ordinal", [7, 3, 5, 1])
    assert classes.tolist() == [7, 3, 5]
    np.testing.assert_array_equal(classes[codes.astype(int)], y)
    np.testing.assert_array_equal(Response("ordinal", classes)(y), codes)


def test_text_where_numbers_are_needed():
    with pytest.raises(TypeError, match=r"y holds text \('low'\), but numbers are needed"):
        read_response(np.array(["low", "high"], dtype=object), "gaussian")


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
    unit = problem.groups.unit_of_feature
    assert unit[0] == unit[2] != unit[1]


def test_a_feature_without_columns_has_no_unit():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "country": ["x", "x", "x"]})
    problem = pose(frame, np.arange(3.0), always_select=["country"])
    assert problem.groups.unit_of_feature.tolist() == [0, -1]
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
