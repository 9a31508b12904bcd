"""A part whose rows are dealt out while it is read holds what the part in one piece holds."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from rlselect.data import open_source
from rlselect.data._dealt import DealtPart, WholePart
from rlselect.data._source import Batch

N = 1003


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 7), dtype=np.float32)
    return Batch(X, rng.standard_normal(N), rng.random(N), None)


@pytest.fixture(params=[1, 4, 6])
def dealt(request, batch):
    m = request.param
    return DealtPart(
        [Batch(*(None if v is None else np.asfortranarray(v[k::m]) for v in batch)) for k in range(m)]
    )


def test_slices_of_any_step_are_those_of_the_whole(batch, dealt):
    whole = WholePart(batch, stays=True)
    for step in (1, 2, 4, 5, 6):
        for start in range(step):
            same(dealt.slice(start, step), whole.slice(start, step))


@pytest.mark.parametrize("which", [None, np.arange(0), np.array([3]), np.array([0, 1, 2, 500, 999, 1002])])
def test_rows_are_those_of_the_whole(batch, dealt, which):
    same(dealt.rows(which), WholePart(batch, stays=False).rows(which))


def test_some_columns_are_those_of_the_whole(batch, dealt):
    some = np.array([5, 0])
    whole = WholePart(batch, stays=False).columns(some)
    same(dealt.columns(some).slice(1, 2), whole.slice(1, 2))
    same(dealt.columns(some).rows(None), whole.rows(None))


def test_slices_do_not_keep_a_part_that_goes_but_are_views_of_one_that_stays(batch):
    assert WholePart(batch, stays=False).slice(0, 2).X.base is None
    assert np.shares_memory(WholePart(batch, stays=True).slice(0, 2).X, batch.X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused_by_name_and_place(tmp_path, bad):
    columns = {f"v{j}": np.arange(6000.0) for j in range(20)}
    columns["v13"] = np.where(np.arange(6000) == 77, bad, columns["v13"])
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=3000)
    table = open_source(tmp_path / "x.parquet", "v0")
    with pytest.raises(ValueError, match=r"row group 0.*'v13'"):
        table.start(np.random.default_rng(0))


def test_first_rows_are_read_without_the_rows_behind_them(tmp_path):
    rng = np.random.default_rng(1)
    frame = pa.table({"x": rng.standard_normal(9000), "z": rng.standard_normal(9000), "y": np.arange(9000.0)})
    for name, write in {"x.parquet": pq.write_table, "x.feather": feather.write_feather}.items():
        write(frame, tmp_path / name)
        batch = open_source(tmp_path / name, "y").first_rows(40, np.array([1]))
        assert np.array_equal(batch.X[:, 0], frame["z"].to_numpy()[:40])
        assert np.array_equal(batch.y, np.arange(40.0))
