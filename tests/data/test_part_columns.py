"""Columns of files that are too large to be loaded: read by name, in stretches, as the loaded ones."""

import numpy as np
import pandas as pd
import pytest

from rlselect.data import Columns
from rlselect.data import _open as door
from rlselect.data._part_columns import PartColumns


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "who": np.repeat(np.arange(20), 10),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.tile(np.arange(10), 20), "D"),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo"], 200)),
            "x": rng.normal(size=200),
            "gap": np.where(np.arange(200) % 7 == 0, np.nan, 1.0),
        }
    )


@pytest.fixture
def large(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=60)
    monkeypatch.setattr(door, "_SMALL_COLUMNS", 100)
    return Columns(tmp_path / "t.parquet", "data")


def test_every_role_reads_as_from_memory(frame, large):
    whole = Columns(frame, "data")
    assert isinstance(large._columns, PartColumns)
    assert (large.names, large.n_rows) == (whole.names, 200)
    np.testing.assert_array_equal(large.numbers("gap", "y"), whole.numbers("gap", "y"))
    for name in ("who", "town"):
        one, other = large.distinct(name, "id"), whole.distinct(name, "id")
        np.testing.assert_array_equal(one.positions, other.positions)
        assert one.values.tolist() == other.values.tolist()
    np.testing.assert_array_equal(large.clock("day", "time"), whole.clock("day", "time"))
    with pytest.raises(ValueError, match=r"id='whom' is not a column of data\. Did you mean 'who'"):
        large.distinct("whom", "id")


@pytest.mark.parametrize("numbers", [1, 40, 90, 10_000])
def test_stretches_follow_each_other(frame, large, numbers):
    for columns in (
        large,
        Columns(frame, "data"),
        Columns(frame[["x", "gap"]].to_numpy(), "data", ["x", "gap"]),
    ):
        parts = list(columns.stretches(["x", "gap"], numbers))
        first = np.cumsum([0, *(part.n_rows for _, part in parts)])
        assert [place for place, _ in parts] == first[:-1].tolist()
        assert max(part.n_rows for _, part in parts) <= max(numbers // 2, 1)
        found = np.concatenate([part.matrix(["x", "gap"], "covariate") for _, part in parts])
        np.testing.assert_array_equal(found, frame[["x", "gap"]])


def test_a_look_reads_one_column(large, monkeypatch):
    seen = []
    visit = large._columns._parts.visit
    monkeypatch.setattr(
        large._columns._parts, "visit", lambda picks, names: seen.append(list(names)) or visit(picks, names)
    )
    assert "x" in large._columns
    assert seen == []
    large.numbers("x", "y")
    assert seen == [["x"]]


def test_small_files_and_queries_are_loaded(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    assert not isinstance(Columns(tmp_path / "t.parquet", "data")._columns, PartColumns)


def test_a_large_csv_is_read_once(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(door, "_SMALL_COLUMNS", 100)
    monkeypatch.setattr(door, "SMALL_CSV", 100)
    columns = Columns(tmp_path / "t.csv", "data")
    (tmp_path / "t.csv").unlink()
    np.testing.assert_allclose(columns.numbers("x", "y"), frame["x"])


@pytest.mark.parametrize("kind", ["iterator", "dask"])
def test_large_chunks_and_partitions_are_kept_in_a_file(frame, kind, monkeypatch):
    monkeypatch.setattr(door, "_SMALL_COLUMNS", 100)
    if kind == "dask":
        source = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)
    else:
        source = lambda: (frame.iloc[k : k + 60] for k in range(0, 200, 60))  # noqa: E731
    columns, whole = Columns(source, "data"), Columns(frame, "data")
    assert isinstance(columns._columns, PartColumns)
    assert (columns.names, columns.n_rows) == (whole.names, 200)
    for name in ("x", "gap"):
        np.testing.assert_array_equal(columns.numbers(name, "y"), whole.numbers(name, "y"))
    for name in ("who", "town"):
        one, other = columns.distinct(name, "id"), whole.distinct(name, "id")
        np.testing.assert_array_equal(one.positions, other.positions)
        assert one.values.tolist() == other.values.tolist()
    np.testing.assert_array_equal(columns.clock("day", "time"), whole.clock("day", "time"))


def test_chunks_of_wider_numbers_start_the_file_again(monkeypatch):
    monkeypatch.setattr(door, "_SMALL_COLUMNS", 100)
    chunks = [pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [0.5, 3.5]}), pd.DataFrame({"x": [None, 7.0]})]
    columns = Columns(lambda: iter(chunks * 10), "data")
    assert isinstance(columns._columns, PartColumns)
    np.testing.assert_array_equal(columns.numbers("x", "y")[:6], [1, 2, 0.5, 3.5, np.nan, 7])
