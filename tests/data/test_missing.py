"""Missing and infinite values: refused, dropped or marked, in every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rlselect.data import TableEncoder, open_table

nan = np.nan
GAPPY = np.array([[1.0, nan], [2.0, 4.0], [nan, 8.0], [6.0, 0.0]])
MARKED = [[1, 4, 0, 1], [2, 4, 0, 0], [3, 8, 1, 0], [6, 0, 0, 0]]  # means 3 and 4


def gappy(kind, X=GAPPY):
    cells = [[None if np.isnan(v) else v for v in column] for column in X.T]
    columns = dict(zip("ab", cells, strict=True))
    return {
        "array": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "masked": lambda: np.ma.masked_invalid(X),
        "object": lambda: np.array(cells, dtype=object).T,
        "sparse": lambda: sparse.csr_array(X),
        "pandas": lambda: pd.DataFrame(X, columns=["a", "b"]),
        "pandas Int64": lambda: pd.DataFrame({k: pd.array(v, dtype="Int64") for k, v in columns.items()}),
        "pandas arrow": lambda: pd.DataFrame(
            {k: pd.array(v, dtype="double[pyarrow]") for k, v in columns.items()}
        ),
        "polars": lambda: pl.DataFrame(columns),
        "polars int": lambda: pl.DataFrame(columns).cast(pl.Int32),
        "arrow": lambda: pa.table(columns),
    }[kind]()


KINDS = [
    "array",
    "float32",
    "masked",
    "object",
    "sparse",
    "pandas",
    "pandas Int64",
    "pandas arrow",
    "polars",
    "polars int",
    "arrow",
]


@pytest.mark.parametrize("kind", KINDS)
def test_error_names_columns_counts_and_ways_out(kind):
    table = open_table(gappy(kind))  # nothing is read, so nothing is wrong yet
    names = table.columns
    with pytest.raises(ValueError, match=r"contains missing values \(NaN\)") as info:
        table.take()
    message = str(info.value)
    assert f"columns '{names[0]}' (1 row), '{names[1]}' (1 row), of 4 rows read" in message
    assert 'missing="drop"' in message
    assert 'missing="indicator"' in message
    assert table.take([1, 3]).X.shape == (2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_drop_leaves_rows_out(kind):
    table = open_table(gappy(kind), [10, 11, 12, 13], sample_weight=[1, 2, 3, 4], missing="drop")
    assert (table.n_rows, table.rows_dropped) == (2, 2)
    assert_array_equal(table.row_index_, [1, 3])
    batch = table.take()
    X = batch.X.toarray() if table.is_sparse else batch.X
    assert_array_equal(X, [[2, 4], [6, 0]])
    assert_array_equal(batch.y, [11, 13])
    assert_array_equal(batch.sample_weight, [2, 4])
    assert_array_equal(table.take([1]).y, [13])
    with pytest.raises(
        ValueError, match=r'NaN.*every row needs an answer here.*fit with missing="indicator"'
    ):
        table.encoder.transform(gappy(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_indicator_imputes_the_mean_and_marks(kind):
    table = open_table(gappy(kind), missing="indicator")
    assert [c[-9:] for c in table.columns[2:]] == [f"{c}=missing"[-9:] for c in table.columns[:2]]
    assert_array_equal(table.encoder.column_feature_, [0, 1, 0, 1])
    X = table.take().X
    X = X.toarray() if table.is_sparse else X
    assert_allclose(X, MARKED)
    part = table.take(np.array([2, 0]), columns=[2, 0]).X
    assert_allclose(part.toarray() if table.is_sparse else part, [[1, 3], [0, 1]])
    assert table.dtype == (np.float32 if kind == "float32" else np.float64)


def test_indicator_without_gaps_adds_nothing():
    X = GAPPY[[1, 3]]
    encoder = TableEncoder(missing="indicator").fit(X)
    assert encoder.column_names_ == ["x0", "x1"]
    for new in (GAPPY, sparse.csr_array(GAPPY)):
        with pytest.warns(UserWarning, match=r"had none in fit \('x0', 'x1'\)"):
            out = encoder.transform(new)
        out = out.toarray() if sparse.issparse(out) else out
        assert_array_equal(out, [[1, 2], [2, 4], [4, 8], [6, 0]])


def test_new_gaps_beside_marked_ones():
    X = GAPPY.copy()
    X[2, 0] = 3.0
    for wrap in (np.asarray, sparse.csr_array):
        encoder = TableEncoder(missing="indicator").fit(wrap(X))
        assert encoder.column_names_ == ["x0", "x1", "x1=missing"]
        with pytest.warns(UserWarning, match=r"had none in fit \('x0'\)"):
            out = encoder.transform(wrap(GAPPY))
        out = out.toarray() if sparse.issparse(out) else out
        assert_array_equal(out, [[1, 4, 1], [2, 4, 0], [3, 8, 0], [6, 0, 0]])


TEXT = {"n": [1.0, None, 3.0], "t": ["u", "v", None], "k": [True, False, True]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_missing_text(make):
    frame = make(TEXT)
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column 't' \(1 row\), of 3 rows"):
        open_table(frame)
    dropped = open_table(frame, missing="drop")
    assert dropped.columns == ["n", "k"]  # one level is left
    assert_array_equal(dropped.take().X, [[1, 1]])
    marked = open_table(frame, missing="indicator")
    assert marked.columns == ["n", "t=v", "k", "n=missing", "t=missing"]
    assert_array_equal(marked.take().X, [[1, 0, 1, 0, 0], [2, 1, 0, 1, 0], [3, 0, 1, 0, 1]])
    assert_array_equal(marked.encoder.column_feature_, [0, 1, 2, 0, 1])
    encoder = TableEncoder(missing="indicator").fit(
        make({"n": [1.0, 2.0], "t": ["u", "v"], "k": [True, False]})
    )
    with pytest.warns(UserWarning, match=r"had none in fit \('[tn]'\)"):
        assert_array_equal(encoder.transform(frame), [[1, 0, 1], [1.5, 1, 0], [3, 0, 1]])


def test_missing_text_is_refused_at_transform():
    encoder = TableEncoder().fit(pa.table({"t": ["u", "v"]}))
    with pytest.raises(ValueError, match=r"NaN.*column 't'"):
        encoder.transform(pa.table({"t": ["u", None]}))
    with pytest.raises(ValueError, match=r"NaN.*column 't'"):  # nothing but gaps has no type at all
        encoder.transform(pa.table({"t": [None, None]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_column_of_gaps_only(make):
    frame = make({"v": [1.0, 2.0], "empty": [None, None]})
    with pytest.raises(ValueError, match=r"NaN.*column 'empty' \(2 rows\)"):
        open_table(frame).take()
    with pytest.raises(ValueError, match=r"leaves 0 of 2 rows.*Column 'empty' has the most \(2\)"):
        open_table(frame, missing="drop")
    table = open_table(frame, missing="indicator")
    assert_array_equal(table.take().X, [[1, 0, 1], [2, 0, 1]])


def test_truth_values_with_gaps():
    for frame in (
        pd.DataFrame({"t": pd.array([True, None, False], dtype="boolean")}),
        pl.DataFrame({"t": [True, None, False]}),
        pa.table({"t": [True, None, False]}),
    ):
        table = open_table(frame, missing="indicator")
        assert table.columns == ["t", "t=missing"]
        assert_array_equal(table.take().X, [[1, 0], [0.5, 1], [0, 0]])


def test_drop_counts_the_target_and_keeps_levels_of_kept_rows():
    frame = pa.table({"t": ["u", "v", "w", "w"], "n": [1.0, 2.0, 3.0, None], "y": [1.0, 2.0, None, 3.0]})
    table = open_table(frame, "y", missing="drop")
    assert table.columns == ["t=v", "n"]
    assert_array_equal(table.y, [1, 2])
    assert_array_equal(table.take().X, [[0, 1], [1, 2]])
    text = open_table(np.ones((3, 1)), ["u", None, "v"], missing="drop")
    assert text.y.tolist() == ["u", "v"]


@pytest.mark.parametrize("missing", ["error", "indicator"])
def test_missing_target_is_refused(missing):
    X = np.ones((3, 1))
    for y in (
        [1.0, nan, 2.0],
        ["u", None, "v"],
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["u", None, "v"]),
    ):
        with pytest.raises(ValueError, match=r"Input y contains missing values \(NaN\) in 1 of 3 rows.*drop"):
            open_table(X, y, missing=missing)


@pytest.mark.parametrize("missing", ["error", "drop", "indicator"])
@pytest.mark.parametrize(
    "wrap", [np.asarray, sparse.csr_array, pd.DataFrame], ids=["array", "sparse", "pandas"]
)
def test_infinity_is_always_refused(missing, wrap):
    X = np.array([[1.0, 2.0], [np.inf, 3.0], [4.0, -np.inf]])
    X = wrap(X)
    match = r"infinity or a value too large for float64 in columns 'x0' \(1 row\), 'x1' \(1 row\)"
    with pytest.raises(ValueError, match=match):
        open_table(X, missing=missing).take()
    with pytest.raises(ValueError, match="Input y contains infinity in 1 of 3 rows"):
        open_table(np.ones((3, 1)), [1.0, np.inf, 2.0], missing=missing)


def test_large_finite_values_pass():
    # Their sum overflows, they do not.
    X = np.full((4, 2), np.finfo(np.float32).max, dtype=np.float32)
    assert_array_equal(open_table(X).take().X, X)
    assert_array_equal(open_table(sparse.csr_array(X)).take().X.toarray(), X)


def test_message_names_five_columns_at_most():
    X = np.full((2, 9), nan)
    with pytest.raises(ValueError, match=r"'x4' \(2 rows\), and 4 more, of 2 rows"):
        open_table(X).take()
    with pytest.raises(ValueError, match=r"column 'x8' \(1 row\), of 1 rows"):
        open_table(X).take([0], columns=[8])


def test_scan_is_chunked(monkeypatch):
    monkeypatch.setattr("rlselect.data._store._CHUNK_CELLS", 4)
    assert_allclose(open_table(GAPPY, missing="indicator").take().X, MARKED)
    assert_array_equal(open_table(GAPPY, missing="drop").row_index_, [1, 3])


def test_some_rows_of_a_table_that_dropped_some():
    X = np.arange(24.0).reshape(8, 3)
    X[2, 1] = np.nan
    table = open_table(X, np.arange(8.0), sample_weight=np.arange(8.0) + 1, missing="drop", owner="REVS")
    rows = np.array([5, 0, 2])
    part = table.part(rows)
    for ours, theirs in zip(part.take(), table.take(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert part.n_rows == 3
    np.testing.assert_array_equal(part.row_index_, [6, 0, 3])
    np.testing.assert_array_equal(part.part(np.array([2, 0])).row_index_, [3, 6])
