"""Several targets of the same rows."""

import numpy as np
import pandas as pd
import pytest

from rlselect.data import open_once, read_responses

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0, 1, 0], "c": ["x", "y", "z"]})


@pytest.mark.parametrize(
    "y",
    [None, "a", np.ones(3), [1, 2, 3], ["x", "y", "x"], np.ones((3, 1)), FRAME[["a"]], FRAME["a"], {"a": 1}],
)
def test_one_target_is_none(y):
    assert read_responses(FRAME, y) is None


def test_columns_of_an_array_and_of_a_frame():
    given = read_responses(np.ones((3, 2)), [[1, "x"], [2, "y"], [3, "x"]])
    assert given.names == ["y0", "y1"]
    assert given.values[0].tolist() == [1, 2, 3]
    framed = read_responses(FRAME[["c"]], FRAME[["a", "b"]])
    assert framed.names == ["a", "b"]
    assert framed.taken == ()
    assert framed.beside(0) is framed.X


def test_names_of_columns_are_taken_out_of_the_table(tmp_path):
    given = read_responses(FRAME, ["a", "b"])
    assert list(given.X.columns) == ["c"]
    assert given.values[1].to_list() == [0, 1, 0]
    FRAME.to_parquet(tmp_path / "t.parquet")
    source = read_responses(tmp_path / "t.parquet", ["a", "b"])
    assert source.values == ["a", "b"]
    assert open_once(source.beside(1)).names == ["b", "c"]


def test_labels_of_rows_are_no_names():
    assert read_responses(FRAME, ["a", "b", "zzz"]) is None
    with pytest.raises(ValueError, match="'bb' is not a column"):
        read_responses(FRAME, ["a", "bb"])
