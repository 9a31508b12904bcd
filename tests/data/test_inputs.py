"""Every kind of input gives the same design, without copies of numbers."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rlselect.data import Batch, Columns, TableEncoder, open_table
from rlselect.data._iterator import IteratorParts

NUMBERS = np.random.default_rng(0).normal(size=(12, 3))
NAMES = ["a", "b", "c"]


def numeric_inputs(X):
    columns = {n: X[:, j] for j, n in enumerate(NAMES)}
    return {
        "array": X,
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "big endian": X.astype(X.dtype.newbyteorder(">")),
        "object": X.astype(object),
        "lists": X.tolist(),
        "masked": np.ma.masked_array(X),
        "csr matrix": sparse.csr_matrix(X),
        "csc array": sparse.csc_array(X),
        "coo": sparse.coo_array(X),
        "pandas": pd.DataFrame(X, columns=NAMES),
        "pandas by column": pd.DataFrame(columns),
        "pandas sparse": pd.DataFrame(columns).astype(pd.SparseDtype("float64", 0.0)),
        "pandas nullable": pd.DataFrame(columns).astype("Float64"),
        "pandas unnamed": pd.DataFrame(X),
        "polars": pl.DataFrame(columns),
        "polars chunks": pl.concat([pl.DataFrame(columns)[:5], pl.DataFrame(columns)[5:]], rechunk=False),
        "arrow": pa.table(columns),
        "arrow chunks": pa.concat_tables([pa.table(columns)[:5], pa.table(columns)[5:]]),
    }


@pytest.mark.parametrize("kind", numeric_inputs(NUMBERS))
def test_numeric_inputs_give_one_design(kind):
    X = numeric_inputs(NUMBERS)[kind]
    table = open_table(X, np.arange(12))
    batch = table.take([7, 0, 7])
    assert (
        table.is_sparse
        == sparse.issparse(batch.X)
        == (kind in ("csr matrix", "csc array", "coo", "pandas sparse"))
    )
    dense = batch.X.toarray() if table.is_sparse else batch.X
    assert_array_equal(dense, NUMBERS[[7, 0, 7]])
    assert dense.dtype == np.float64
    assert_array_equal(batch.y, [7, 0, 7])
    whole = table.take().X
    assert_array_equal(whole.toarray() if table.is_sparse else whole, NUMBERS)
    if table.is_sparse:
        assert isinstance(whole, sparse.csr_array)
    else:
        assert type(whole) is np.ndarray
        assert whole.flags.c_contiguous
        assert batch.X.flags.c_contiguous
    named = kind.startswith(("pandas", "polars", "arrow")) and kind != "pandas unnamed"
    assert table.columns == (NAMES if named else ["x0", "x1", "x2"])
    if named:
        assert table.encoder.feature_names_in_.dtype == object
        assert_array_equal(table.encoder.feature_names_in_, NAMES)
    else:
        assert table.encoder.feature_names_in_ is None
    assert table.encoder.n_features_in_ == 3
    assert_array_equal(table.encoder.column_feature_, [0, 1, 2])
    other = TableEncoder().fit(X).transform(X)
    assert_array_equal(other.toarray() if table.is_sparse else other, NUMBERS)


@pytest.mark.parametrize("kind", ["array", "csr matrix", "pandas", "pandas by column", "polars", "arrow"])
def test_float32_stays(kind):
    X = numeric_inputs(NUMBERS.astype(np.float32))[kind]
    table = open_table(X)
    assert table.dtype == np.float32
    assert table.take().X.dtype == np.float32
    assert table.take(np.arange(3)).X.dtype == np.float32
    assert TableEncoder().fit_transform(X).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16, np.longdouble])
def test_other_numbers_become_float64(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    assert open_table(X).take().X.dtype == np.float64
    assert_array_equal(open_table(X).take().X, X.astype(float))
    assert open_table(sparse.csr_array(X.astype(np.int64))).take().X.dtype == np.float64


def test_mixed_precision_becomes_float64():
    frame = pl.DataFrame({"a": NUMBERS[:, 0].astype(np.float32), "b": NUMBERS[:, 1]})
    assert open_table(frame).take().X.dtype == np.float64


def test_arrays_and_frames_are_not_copied(tmp_path):
    np.save(tmp_path / "x.npy", NUMBERS)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for X in (NUMBERS, mapped, NUMBERS[2:9]):
        assert np.shares_memory(open_table(X).take().X, X)
        assert np.shares_memory(open_table(X).take(slice(1, 4)).X, X)
        assert np.shares_memory(TableEncoder().fit(X).transform(X), X)
    block = pd.DataFrame(NUMBERS, columns=NAMES, copy=False)
    assert np.shares_memory(open_table(block).take().X, block.to_numpy())
    csr = sparse.csr_matrix(NUMBERS)
    assert np.shares_memory(open_table(csr).take().X.data, csr.data)


def test_columns_of_frames_are_held_without_copy():
    column = NUMBERS[:, 0].copy()
    for frame in (
        pl.DataFrame({"a": column, "b": ["u", "v"] * 6}),
        pa.table({"a": column, "b": ["u", "v"] * 6}),
    ):
        assert np.shares_memory(open_table(frame)._store.cols[0].values, column)
    frame = pd.DataFrame({"a": column, "b": ["u", "v"] * 6})
    assert np.shares_memory(open_table(frame)._store.cols[0].values, frame["a"].to_numpy())


def test_numbers_are_neither_read_nor_copied_beyond_the_rows_taken():
    # A terabyte, as NumPy sees it, in four bytes: any pass over it or copy of it would not come back.
    X = np.broadcast_to(np.float32(1), (250_000_000, 1000))
    table = open_table(X)
    assert table.n_rows == 250_000_000
    assert_array_equal(table.take(np.array([3, 249_999_999])).X, np.ones((2, 1000)))
    assert_array_equal(table.take(slice(5, 8), columns=[7]).X, np.ones((3, 1)))
    assert table.sample(4, None, np.random.default_rng(0)).X.shape == (4, 1000)
    TableEncoder().fit(X)


def test_sparse_duplicates_are_summed_and_input_is_untouched():
    X = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = X.data.copy()
    out = open_table(X).take().X
    assert_array_equal(out.toarray(), [[0, 3], [5, 0]])
    assert out.nnz == 2
    assert_array_equal(X.data, before)


def test_sparse_with_long_indices():
    X = sparse.csr_array(NUMBERS)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert_array_equal(open_table(X).take([1, 2]).X.toarray(), NUMBERS[[1, 2]])


def test_take_columns_and_rows():
    for X in numeric_inputs(NUMBERS).values():
        part = open_table(X).take(slice(2, 8, 2), columns=[2, 0]).X
        part = part.toarray() if sparse.issparse(part) else part
        assert_array_equal(part, NUMBERS[2:8:2][:, [2, 0]])
        part = open_table(X).take(np.array([4, 1]), columns=[1]).X
        part = part.toarray() if sparse.issparse(part) else part
        assert_array_equal(part, NUMBERS[[4, 1]][:, [1]])
    mask = NUMBERS[:, 0] > 0
    assert_array_equal(open_table(NUMBERS).take(mask).X, NUMBERS[mask])
    with pytest.raises(IndexError):
        open_table(NUMBERS).take([12])


def test_sample_and_scan_follow_the_protocol(monkeypatch):
    table = open_table(NUMBERS, np.arange(12), sample_weight=np.arange(12) + 1.0, offset=np.arange(12))
    batch = table.sample(5, None, np.random.default_rng(3))
    again = table.sample(5, None, np.random.default_rng(3))
    assert isinstance(batch, Batch)
    assert len(set(batch.y)) == 5
    assert_array_equal(batch.X, NUMBERS[batch.y])
    assert_array_equal(batch.sample_weight, batch.y + 1)
    assert_array_equal(batch.offset, batch.y)
    assert_array_equal(batch.y, again.y)
    assert sorted(table.sample(99, [0], np.random.default_rng(3)).y) == list(range(12))
    monkeypatch.setattr("rlselect.data._store._CHUNK_CELLS", 15)
    parts = list(table.scan())
    assert [len(b.X) for b in parts] == [5, 5, 2]
    assert_array_equal(np.concatenate([b.X for b in parts]), NUMBERS)
    assert_array_equal(np.concatenate([b.y for b in table.scan([1])]), np.arange(12))


def test_repr_names_the_shape():
    assert repr(open_table(sparse.csr_array(NUMBERS))) == "<sparse Table of 12 rows x 3 columns>"


def test_columns_by_name_leave_the_features():
    columns = {"u": [1.0, 2.0, 3.0], "y": [0, 1, 0], "w": [1, 0, 2], "o": [0.5, 0.5, 0.0], "v": [5, 6, 8]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        table = open_table(frame, "y", sample_weight="w", offset="o")
        assert table.columns == ["u", "v"]
        assert_array_equal(table.y, [0, 1, 0])
        assert table.sample_weight.dtype == table.offset.dtype == np.float64
        assert_array_equal(table.sample_weight, [1, 0, 2])
        assert_array_equal(table.offset, [0.5, 0.5, 0.0])
        # new data may still carry the target, or not
        assert_array_equal(table.encoder.transform(frame), table.take().X)
        features = table.encoder.features_of(frame)
        assert type(features) is type(frame)
        assert open_table(features).columns == ["u", "v"]
        again = open_table(frame, "y", encoder=table.encoder)
        assert_array_equal(again.take().X, table.take().X)
        assert_array_equal(again.y, table.y)
    assert table.encoder.features_of(NUMBERS) is NUMBERS
    lean = pd.DataFrame(columns)[["u", "v"]]
    assert_array_equal(table.encoder.transform(lean), lean.to_numpy())


@pytest.mark.parametrize(
    "y",
    [
        [3, 1, 2],
        (3, 1, 2),
        np.array([3, 1, 2]),
        np.array([3, 1, 2], dtype=object),
        pd.Series([3, 1, 2], index=[9, 8, 7]),
        pd.Series([3, 1, 2], dtype="Int64"),
        pd.Series([3, 1, 2], dtype="category"),
        pl.Series([3, 1, 2]),
        pa.chunked_array([[3, 1], [2]]),
        pa.array([3, 1, 2]),
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}",
)
def test_whole_number_targets_stay_whole(y):
    target = open_table(np.ones((3, 1)), y).y
    assert target.dtype.kind == "i"
    assert_array_equal(target, [3, 1, 2])


def test_text_and_truth_targets():
    X = np.ones((3, 1))
    for y in (
        ["no", "yes", "no"],
        np.array(["no", "yes", "no"]),
        pd.Series(["no", "yes", "no"], dtype="category"),
    ):
        target = open_table(X, y).y
        assert target.dtype == object
        assert target.tolist() == ["no", "yes", "no"]
    for y in (
        [True, False, True],
        pd.Series([True, False, True], dtype="boolean"),
        pa.array([True, False, True]),
    ):
        assert open_table(X, y).y.dtype == bool
    assert open_table(X, np.array([True, False, True], dtype=object)).y.dtype == bool


def test_column_vector_target_warns_as_scikit_learn_does():
    with pytest.warns(UserWarning, match="A column-vector y was passed when a 1d array was expected"):
        assert open_table(np.ones((3, 1)), np.ones((3, 1))).y.shape == (3,)


def test_decimals_and_truth_values_are_numbers():
    frame = pa.table({"d": pa.array([decimal.Decimal("1.5"), decimal.Decimal("2.0")]), "t": [True, False]})
    assert_array_equal(open_table(frame).take().X, [[1.5, 1], [2.0, 0]])
    assert_array_equal(open_table(pl.from_arrow(frame)).take().X, [[1.5, 1], [2.0, 0]])
    # booleans held as objects are levels
    table = open_table(pd.DataFrame({"t": np.array([True, False, True], dtype=object)}))
    assert table.columns == ["t=True"]
    assert_array_equal(table.take().X.ravel(), [1, 0, 1])


def test_dates_are_refused_with_a_way_out():
    day = datetime.date(2024, 5, 1)
    for frame in (
        pd.DataFrame({"when": pd.to_datetime(["2024-05-01"] * 2)}),
        pd.DataFrame({"when": [day, day]}),
        pl.DataFrame({"when": [day, day]}),
        pa.table({"when": [datetime.timedelta(1)] * 2}),
    ):
        with pytest.raises(
            TypeError, match=r"Column 'when' of X holds dates or times .* turn it into numbers"
        ):
            open_table(frame)
    with pytest.raises(TypeError, match="X holds dates"):
        open_table(np.array([["2024-05-01"]], dtype="datetime64[D]"))
    with pytest.raises(TypeError, match="y holds dates"):
        open_table(np.ones((1, 1)), np.array(["2024-05-01"], dtype="datetime64[D]"))


def test_a_frame_of_sparse_columns_that_leave_out_nan_is_read_as_columns():
    values = np.array([0.0, 1.0, 0.0, 2.0])
    for fill in (np.nan, 0.0, 1.0):
        frame = pd.DataFrame({"a": pd.arrays.SparseArray(values, fill_value=fill)})
        batch = open_table(frame).take()
        X = batch.X.toarray() if hasattr(batch.X, "toarray") else batch.X
        np.testing.assert_array_equal(X[:, 0], values)


def test_intervals_in_polars_are_no_numbers():
    frame = pl.DataFrame({"a": np.arange(4.0), "b": pd.interval_range(0, 4)}, strict=False)
    with pytest.raises(TypeError, match="Column 'b' of X holds 2 numbers per cell"):
        open_table(frame, owner="test")


def test_whole_numbers_of_128_bits():
    numbers = pl.Series("a", [0, 1, 3, 2]).cast(pl.Int128)
    batch = open_table(numbers.to_frame(), y=numbers, owner="test").take()
    np.testing.assert_array_equal(batch.X[:, 0], [0, 1, 3, 2])
    np.testing.assert_array_equal(batch.y, [0, 1, 3, 2])


def test_a_function_that_wants_arguments_is_no_source():
    with pytest.raises(TypeError, match=r"X is a function of \(path\) .*; a function without arguments"):
        IteratorParts(lambda path: iter([]))


def test_labels_in_another_order_are_told_of():
    """A target that was shuffled alone was matched by position without a word: nothing was found."""
    frame = pd.DataFrame(NUMBERS, columns=NAMES)
    y = frame["a"] + 1.0
    told = "in another order, and rows are matched by position"
    turned = y[::-1]
    with pytest.warns(UserWarning, match=f"The index of y has the labels of that of X {told}"):
        table = open_table(frame, turned)
    assert_array_equal(table.take().y, turned.to_numpy())
    with pytest.warns(UserWarning, match=rf"{told}.* give sample_weight\.loc\[X\.index\]"):
        open_table(frame, y, sample_weight=turned.abs())
    with pytest.warns(UserWarning, match=rf"{told}.* give id\.loc\[data\.index\]"):
        Columns(frame, "data").distinct(turned, "id")
    # nothing to say: the same order, other labels, none, labels that come twice
    open_table(frame, y)
    open_table(frame[::-1], turned)
    open_table(frame, turned.set_axis(range(100, 112)))
    open_table(frame, turned.to_numpy())
    open_table(frame, turned.tolist())
    open_table(frame.set_axis([0] * 12), turned.set_axis([0] * 12))
