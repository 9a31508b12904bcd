"""One number per feature: levels as numbers, gaps as NaN, the same in every kind of table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from scipy import sparse

from rlselect.data import open_coded

COLUMNS = {"age": [31.0, None, 27.0], "city": ["Rome", "Paris", None], "member": [True, False, True]}
NUMBERS = np.array([[31.0, 1.0, 1.0], [np.nan, 0.0, 0.0], [27.0, np.nan, 1.0]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_frames_become_the_same_numbers(make):
    frame = make({**COLUMNS, "y": [1, 0, 1], "w": [1.0, 2.0, 3.0]})
    features, batch = open_coded(frame, "y", sample_weight="w")
    np.testing.assert_array_equal(batch.X, NUMBERS)
    assert batch.y.tolist() == [1, 0, 1]
    assert batch.sample_weight.tolist() == [1.0, 2.0, 3.0]
    assert features.feature_names == features.names.tolist() == ["age", "city", "member"]
    assert features.levels == {1: ["Paris", "Rome"]}
    assert [features.answers(j) for j in range(3)] == [None, ["Paris", "Rome"], ["False", "True"]]
    # a later table may still hold the target, and need not
    for later in (frame, make(COLUMNS)):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(features)).encode(later), NUMBERS)


def test_arrays_have_no_names():
    features, batch = open_coded(np.array([[1.0, np.nan], [0.0, 2.0]]))
    assert features.names is None
    assert features.feature_names == ["x0", "x1"]
    assert np.isnan(batch.X[0, 1])
    assert batch.y is None
    thin, batch = open_coded(sparse.coo_array(np.eye(3)))
    assert sparse.issparse(batch.X)
    np.testing.assert_array_equal(batch.X.toarray(), np.eye(3))
    with pytest.raises(ValueError, match="infinity"):
        thin.encode(sparse.csr_array(np.diag([np.inf, 1.0, 1.0])))
    with pytest.raises(ValueError, match=r"infinity.*'?x1"):
        features.encode([[1.0, -np.inf]])


def test_unseen_levels_are_gaps_with_a_warning():
    features, _ = open_coded(pd.DataFrame(COLUMNS))
    new = pd.DataFrame({**COLUMNS, "city": ["Oslo", "Rome", "Oslo"]})
    with pytest.warns(UserWarning, match=r"not there in fit \('city': 'Oslo'\).*taken as missing"):
        numbers = features.encode(new)
    np.testing.assert_array_equal(numbers[:, 1], [np.nan, 1.0, np.nan])
    with pytest.warns(UserWarning, match="'city' had no level 'Oslo' in fit"):
        assert np.isnan(features.encode_value(1, "Oslo"))


def test_single_values():
    features, _ = open_coded(pd.DataFrame(COLUMNS))
    assert features.encode_value(1, "Rome") == 1.0
    assert features.encode_value(0, np.float32(2.5)) == 2.5
    assert features.encode_value(2, True) == 1.0
    assert all(np.isnan(features.encode_value(j, gap)) for j in range(3) for gap in (None, np.nan))
    for value, message in (
        ("old", "'age' is a number, but 'old'"),
        (np.inf, "the value of 'age' is infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            features.encode_value(0, value)
    with pytest.raises(ValueError, match="'city' takes one of its levels, but"):
        features.encode_value(1, ["Rome"])


def test_sources_are_loaded(tmp_path):
    frame = pa.table({"age": [31.0, None, 27.0], "city": ["Rome", "Oslo", "Oslo"], "bought": ["a", "b", "b"]})
    feather.write_feather(frame, str(tmp_path / "cases.feather"))
    whole, loaded = (
        open_coded(X, "bought", owner="Someone") for X in (frame, str(tmp_path / "cases.feather"))
    )
    np.testing.assert_array_equal(loaded[1].X, whole[1].X)
    np.testing.assert_array_equal(loaded[1].y, whole[1].y)
    np.testing.assert_array_equal(
        loaded[0].encode(str(tmp_path / "cases.feather")), whole[0].encode(frame.drop_columns("bought"))
    )
