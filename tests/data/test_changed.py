"""Sources that are changed on the way: rows left out and dates made numbers, part by part."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from rlselect.data import (
    CsvCells,
    leave_out_gaps,
    load_source,
    make_columns,
    open_once,
    open_source,
    some_rows,
)
from rlselect.data import _open as door
from rlselect.preflight import find_dates

N = 6000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    told = pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=N, freq="h"),
            "x": rng.standard_normal(N),
            "y": rng.standard_normal(N),
        }
    )
    told.loc[rng.random(N) < 0.1, "y"] = np.nan
    # a part of which nothing is left, and one that keeps all its rows
    told.loc[1000:1999, "y"] = np.nan
    told.loc[2000:2999, "y"] = 1.0
    return told


@pytest.fixture(params=["parquet", "csv"])
def opened(request, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "_SMALL", 100)
    if request.param == "parquet":
        parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "d.parquet", row_group_size=1000)
        return open_once(str(tmp_path / "d.parquet"))
    monkeypatch.setattr(door, "SMALL_CSV", 1)
    frame.to_csv(tmp_path / "d.csv", index=False)
    return open_once(str(tmp_path / "d.csv"), cells=CsvCells())


def expected(frame):
    kept = frame.dropna(subset=["y"]).reset_index(drop=True)
    table = pa.Table.from_pandas(kept)
    return find_dates(table).make(table).to_pandas()


def test_rows_without_a_target_and_dates_are_changed_part_by_part(opened, frame):
    said = []
    dates = find_dates(some_rows(opened, 100).table)
    changed = make_columns(leave_out_gaps(opened, ["y"], lambda *told: said.append(told)), dates)
    wanted = expected(frame)
    assert changed.names == list(wanted.columns)
    pd.testing.assert_frame_equal(load_source(changed, "test").to_pandas(), wanted, check_dtype=False)
    assert said[-1] == (N - len(wanted), N)

    table = open_source(changed, "y")
    assert not table.in_memory
    assert table.n_rows == len(wanted)
    batches = list(table.scan())
    X = np.concatenate([batch.X for batch in batches])
    np.testing.assert_allclose(X, wanted.drop(columns="y").to_numpy(), rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([batch.y for batch in batches]), wanted["y"])
    table.start(np.random.default_rng(1))
    drawn = np.concatenate([table.take(rows).X for rows in table.sampler.draw(500, 100)])
    known = {tuple(row) for row in X}
    assert len(drawn) == 500
    assert all(tuple(row) in known for row in drawn)
    whole = np.concatenate([table.take(rows).X for rows in table.sampler.everything(500)])
    np.testing.assert_allclose(np.sort(whole[:, -1]), np.sort(X[:, -1]), rtol=1e-12)


def test_a_source_without_a_single_target_is_told_so(opened):
    def told(left_out, n_rows):
        if left_out == n_rows:
            raise ValueError("nothing is left")

    empty = make_columns(opened, _Emptied())
    with pytest.raises(ValueError, match="nothing is left"):
        load_source(leave_out_gaps(empty, ["x"], told), "test")


class _Emptied:
    """Leaves every cell of x empty."""

    def schema(self, given):
        return given

    def needed(self, names):
        return list(names)

    def make(self, table):
        place = table.schema.get_field_index("x")
        return table if place < 0 else table.set_column(place, "x", pa.nulls(len(table), pa.float64()))
