"""Features by name or position, and groups of them."""

import numpy as np
import pytest

from rlselect.data import read_features, read_groups

NAMES = ["age", "height", "weight", "city"]


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
    got = read_groups(groups, NAMES).first_members()
    assert got[1] == got[2]
    assert len({got[0], got[1], got[3]}) == 3


def test_no_groups():
    np.testing.assert_array_equal(read_groups(None, NAMES).first_members(), np.arange(4))


def test_groups_that_make_no_sense():
    with pytest.raises(ValueError, match=r"has 2 labels for 4 features"):
        read_groups(["a", "b"], NAMES)
    with pytest.raises(ValueError, match=r"'height' in two groups"):
        read_groups({"a": ["age", "height"], "b": ["height"]}, NAMES)
    with pytest.raises(ValueError, match=r"feature_groups.*'heigth'.*'height'"):
        read_groups({"a": ["heigth"]}, NAMES)


def test_groups_keep_their_names_and_their_order():
    groups = read_groups({"place": ["city"], "body": [2, 1]}, NAMES)
    assert groups.names == ["place", "body", "age"]
    assert [list(members) for members in groups.members] == [[3], [1, 2], [0]]
    assert read_groups(["b", "a", "a", "b"], NAMES).names == ["b", "a"]
    assert read_groups([[0], [1, 2]], NAMES).names == ["group 0", "group 1", "city"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("body", "not understood; give one label per feature"),
        (5, "not understood"),
        ({"a": []}, r"empty groups \(a\)"),
        (["a", None, "b", "c"], "a group named None"),
        ([0.0, float("nan"), 1.0, 2.0], "a group named nan"),
        ({"a": [True]}, "feature_groups holds True"),
    ],
    ids=repr,
)
def test_groups_that_say_nothing(groups, message):
    with pytest.raises(ValueError, match=message):
        read_groups(groups, NAMES)


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


def test_groups_may_overlap_where_that_is_allowed():
    names = ["height", "age", "weight", "town"]
    groups = read_groups({"size": ["height", "weight"], "body": ["weight", "age"]}, names, overlap=True)
    assert groups.names == ["size", "body", "town"]
    assert [members.tolist() for members in groups.members] == [[0, 2], [1, 2], [3]]
    with pytest.raises(ValueError, match="same features in 'a' and 'b'"):
        read_groups({"a": [0, 1], "b": ["age", "height"]}, names, overlap=True)
