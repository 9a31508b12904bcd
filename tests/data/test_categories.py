"""Text and categories become indicators of one feature."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from rlselect.data import TableEncoder, open_table

CITY = ["Rome", "Oslo", "Paris", "Oslo"]
AGE = [1.0, 2.0, 3.0, 4.0]
DESIGN = [[1, 0, 1], [2, 0, 0], [3, 1, 0], [4, 0, 0]]

FRAMES = {
    "pandas str": pd.DataFrame({"age": AGE, "city": CITY}),
    "pandas object": pd.DataFrame({"age": AGE, "city": np.array(CITY, dtype=object)}),
    "pandas string": pd.DataFrame({"age": AGE, "city": pd.array(CITY, dtype="string")}),
    "pandas arrow": pd.DataFrame({"age": AGE, "city": pd.array(CITY, dtype="string[pyarrow]")}),
    "pandas category": pd.DataFrame({"age": AGE, "city": pd.Categorical(CITY)}),
    "pandas unused levels": pd.DataFrame(
        {"age": AGE, "city": pd.Categorical(CITY, categories=["Bern", "Oslo", "Paris", "Prague", "Rome"])}
    ),
    "polars string": pl.DataFrame({"age": AGE, "city": CITY}),
    "polars categorical": pl.DataFrame({"age": AGE, "city": pl.Series(CITY, dtype=pl.Categorical)}),
    "polars enum": pl.DataFrame(
        {"age": AGE, "city": pl.Series(CITY, dtype=pl.Enum(["Bern", "Oslo", "Paris", "Rome"]))}
    ),
    "arrow": pa.table({"age": AGE, "city": CITY}),
    "arrow dictionary": pa.table({"age": AGE, "city": pa.array(CITY).dictionary_encode()}),
    "arrow view": pa.table({"age": AGE, "city": pa.array(CITY, type=pa.string_view())}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_text_of_every_kind_gives_one_design(kind):
    frame = FRAMES[kind]
    table = open_table(frame)
    assert table.columns == ["age", "city=Paris", "city=Rome"]
    assert_array_equal(table.encoder.column_feature_, [0, 1, 1])
    assert table.encoder.n_features_in_ == 2
    assert_array_equal(table.take().X, DESIGN)
    assert_array_equal(table.take([2, 0], columns=[2, 0]).X, [[0, 3], [1, 1]])
    for other in FRAMES.values():
        assert_array_equal(table.encoder.transform(other), DESIGN)


def test_rows_of_lists_keep_their_numbers():
    rows = [list(row) for row in zip(AGE, CITY, strict=True)]
    for X in (rows, np.array(rows, dtype=object)):
        table = open_table(X)
        assert table.columns == ["x0", "x1=Paris", "x1=Rome"]
        assert_array_equal(table.take().X, DESIGN)
    table = open_table(np.array(CITY)[:, None])
    assert table.columns == ["x0=Paris", "x0=Rome"]


def test_declared_order_decides_the_reference():
    order = ["Rome", "Paris", "Oslo"]
    for column in (pd.Series(pd.Categorical(CITY, categories=order)), pl.Series(CITY, dtype=pl.Enum(order))):
        frame = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else pl.DataFrame({"c": column})
        assert open_table(frame).columns == ["c=Paris", "c=Oslo"]


def test_categories_of_numbers_sort_as_numbers():
    frame = pd.DataFrame({"rooms": pd.Categorical([10, 2, 2, 3])})
    assert open_table(frame).columns == ["rooms=3", "rooms=10"]
    frame = pa.table({"rooms": pa.array([10, 2, 2, 3]).dictionary_encode()})
    assert open_table(frame).columns == ["rooms=3", "rooms=10"]


def test_dictionary_with_repeated_and_null_values():
    codes, values = pa.array([0, 1, 2, 3, None]), pa.array(["u", "v", "u", None])
    frame = pa.table({"c": pa.DictionaryArray.from_arrays(codes, values)})
    table = open_table(frame, missing="indicator")
    assert table.columns == ["c=v", "c=missing"]
    assert_array_equal(table.take().X, [[0, 0], [1, 0], [0, 0], [0, 1], [0, 1]])


def test_float32_survives_beside_text():
    frame = pl.DataFrame({"age": np.array(AGE, dtype=np.float32), "city": CITY})
    assert open_table(frame).take().X.dtype == np.float32


def test_unseen_level_is_the_reference_with_a_warning():
    encoder = TableEncoder().fit(FRAMES["arrow"])
    new = pa.table({"age": [1.0, 2.0], "city": ["Lima", "Rome"]})
    with pytest.warns(UserWarning, match=r"levels that were not there in fit \('city': 'Lima'\)"):
        out = encoder.transform(new)
    assert_array_equal(out, [[1, 0, 0], [2, 0, 1]])
    # a level of the dictionary that no row uses is not worth a warning
    unused = pd.DataFrame({"age": [1.0], "city": pd.Categorical(["Rome"], categories=["Lima", "Rome"])})
    assert_array_equal(encoder.transform(unused), [[1, 0, 1]])


def test_clashing_names_stay_apart():
    frame = pa.table({"c": ["missing", None, "a"], "c=missing": [1.0, 2.0, 3.0]})
    names = open_table(frame, missing="indicator").columns
    assert len(set(names)) == len(names) == 3


def test_single_level_gives_no_column():
    frame = pa.table({"k": ["a", "a"], "v": [1.0, 2.0]})
    table = open_table(frame)
    assert table.columns == ["v"]
    assert_array_equal(table.encoder.column_feature_, [1])
    assert_array_equal(table.take().X, [[1], [2]])
    with pytest.raises(ValueError, match="no design column: each of its columns is text with a single level"):
        open_table(frame.select(["k"]))


def text_of(n_levels, n_rows):
    return [f"level {i % n_levels}" for i in range(n_rows)]


@pytest.mark.parametrize(
    ("n_levels", "n_rows", "names"),
    [
        (20, 20, False),
        (21, 84, False),
        (21, 83, True),
        (600, 2400, False),
        (600, 2399, True),
        (1001, 9000, True),
    ],
)
def test_text_that_names_rows_is_left_out_with_a_warning(n_levels, n_rows, names):
    frame = pa.table({"id": text_of(n_levels, n_rows), "v": np.arange(n_rows, dtype=float)})
    if not names:
        assert len(open_table(frame).columns) == n_levels
        return
    with pytest.warns(UserWarning, match=rf"{n_rows} rows.*left out: 'id' \({n_levels} levels\)\. To use"):
        table = open_table(frame)
    assert table.columns == ["v"]
    assert_array_equal(table.encoder.column_feature_, [1])
    # what it holds later, or that it holds nothing, does not matter
    later = pa.table({"id": ["new", None], "v": [1.0, 2.0]})
    assert_array_equal(table.encoder.transform(later), [[1], [2]])


def test_gaps_of_what_is_left_out_do_not_count():
    frame = pa.table({"id": [None, *text_of(99, 99)], "v": np.arange(100.0)})
    for missing in ("error", "indicator"):
        with pytest.warns(UserWarning, match="left out: 'id'"):
            assert open_table(frame, missing=missing).columns == ["v"]


def test_a_column_of_a_type_for_categories_is_taken_on_purpose():
    levels = text_of(300, 300)
    for column in (pd.Categorical(levels), pl.Series(levels, dtype=pl.Categorical)):
        make = pd.DataFrame if isinstance(column, pd.Categorical) else pl.DataFrame
        assert len(open_table(make({"c": column})).columns) == 299
    with pytest.raises(ValueError, match=r"'c' of X is a category with 1001 levels in 1001 rows.*merge"):
        open_table(pd.DataFrame({"c": pd.Categorical(text_of(1001, 1001))}))


def test_identifiers_alone_are_no_table():
    with (
        pytest.warns(UserWarning, match=r"'id' \(1001 levels, all numbers\)"),
        pytest.raises(ValueError, match=r"no design column.*names rows"),
    ):
        open_table(pa.table({"id": [str(i) for i in range(1001)]}))


def test_text_and_numbers_do_not_change_roles():
    encoder = TableEncoder().fit(FRAMES["arrow"])
    with pytest.raises(TypeError, match=r"Column 'age' of X holds text \('old'\), but was a number in fit"):
        encoder.transform(pa.table({"age": ["old"], "city": ["Rome"]}))
    with pytest.raises(TypeError, match="Column 'city' of X holds numbers, but was text in fit"):
        encoder.transform(pa.table({"age": [1.0], "city": [2.0]}))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(TypeError, match="'city' of X holds numbers, but was text in fit"),
    ):
        encoder.transform(np.ones((2, 2)))


def test_categories_of_numbers_may_come_as_numbers():
    """A row from a dictionary has no categorical type."""
    frame = pd.DataFrame(
        {"year": pd.Categorical([1999, 2001, 2001]), "rate": pd.Categorical([0.5, 1.0, 1.0])}
    )
    frame["flag"] = pd.Series([True, False, True], dtype=object)
    encoder = TableEncoder(missing="indicator").fit(frame)
    rows = pd.DataFrame({"year": [2001, 1999], "rate": [0.5, 1.0], "flag": [True, False]})
    assert_array_equal(encoder.transform(rows), [[1, 0, 1], [0, 1, 0]])
    with pytest.warns(UserWarning, match=r"not there in fit \('year': '1980'\)"):
        assert_array_equal(encoder.transform(rows.assign(year=[1980, 2001]))[:, 0], [0, 1])
    with pytest.warns(UserWarning, match="had none in fit"):
        gaps = encoder.transform(rows.assign(year=[np.nan, 2001.0]))
    assert_array_equal(gaps[:, 0], [0, 1])
    with pytest.raises(TypeError, match="'year' of X holds numbers, but was text in fit"):
        encoder.transform(rows.assign(year=[7, 8]))


def test_encoder_is_a_good_citizen():
    encoder = TableEncoder(missing="indicator").fit(FRAMES["arrow"])
    copy = pickle.loads(pickle.dumps(encoder))
    assert_array_equal(copy.transform(FRAMES["arrow"]), DESIGN)
    assert clone(encoder).missing == "indicator"
    assert encoder.get_feature_names_out().tolist() == encoder.column_names_
    out = TableEncoder().set_output(transform="pandas").fit_transform(FRAMES["pandas str"])
    assert list(out.columns) == ["age", "city=Paris", "city=Rome"]
    unnamed = TableEncoder().fit([[1, "u"], [2, "v"]])
    assert unnamed.get_feature_names_out(["n", "t"]).tolist() == ["n", "t=v"]
    with pytest.raises(ValueError, match="input_features is not equal"):
        encoder.get_feature_names_out(["a", "b"])
    with pytest.raises(ValueError, match="input_features should have length"):
        unnamed.get_feature_names_out(["a"])
