"""Every kind of value comes back as it was; what is shared stays shared."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rlselect.data import Units
from rlselect.persist import load_object, save_object
from rlselect.subset import UCB


def again(thing, tmp_path, **outside):
    save_object(tmp_path / "file", "test", thing, outside, None, "it")
    return load_object(tmp_path / "file", "test", outside).thing


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**200),
        1e-308,
        -0.0,
        math.inf,
        "text \ud800 \0 \u202e",
        b"\x00\xff",
        b"",
        (1, [2, {"three": (4.0,)}]),
        {1: "a", (2, "b"): [None], None: {}},
        {"a", 1, None},
        frozenset({(1, 2)}),
        slice(1, None, -2),
        range(3, 9, 2),
        Path("a/b"),
        np.dtype("<f4"),
        np.dtype([("a", "<i8"), ("b", "?")]),
        np.float32,
        np.int64,
    ],
)
def test_values(value, tmp_path):
    found = again(value, tmp_path)
    assert found == value
    assert type(found) is type(value)
    assert isinstance(value, set | frozenset) or str(found) == str(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.arange(3, dtype=">i4"),
        np.array(5),
        np.zeros((0, 3), dtype=np.float32),
        np.array(["a", "größer", ""]),
        np.array([b"a", b"bc"]),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.array([3, 4], dtype="m8[D]"),
        np.array([True, False]),
        np.array([np.nan, np.inf, -0.0]),
        np.array([(1, True), (2, False)], dtype=[("a", "<i8"), ("b", "?")]),
        np.array([(1, 2.0)], dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True)),
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.array([], dtype=object),
    ],
)
def test_arrays(array, tmp_path):
    found = again(array, tmp_path)
    assert found.shape == array.shape
    assert found.dtype.kind == array.dtype.kind
    assert found.tolist() == array.tolist() or np.array_equal(found, array, equal_nan=True)
    assert found.flags.writeable
    assert found.flags.aligned
    # the order in memory decides about the last bits of products
    if array.dtype != object and array.flags.f_contiguous:
        assert found.flags.f_contiguous


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix])
def test_sparse(kind, tmp_path):
    matrix = kind(np.array([[0, 1.5, 0], [2, 0, 0]]))
    found = again(matrix, tmp_path)
    assert type(found) is kind
    assert np.array_equal(found.toarray(), matrix.toarray())


def test_frames(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.5, np.nan], "b": ["x", None], "c": [1, 2], "d": pd.to_datetime(["2020-01-01", None])},
        index=pd.Index(["r", "s"], name="row"),
    )
    pd.testing.assert_frame_equal(again(frame, tmp_path), frame)
    plain = pd.DataFrame(np.eye(3), columns=[3, 1, 1])
    pd.testing.assert_frame_equal(again(plain, tmp_path), plain)
    pd.testing.assert_frame_equal(again(frame[[]], tmp_path), frame[[]])
    series = pd.Series([1.0, 2.0], index=pd.RangeIndex(2, 6, 2), name="s")
    pd.testing.assert_series_equal(again(series, tmp_path), series)
    times = pd.date_range("2020", periods=3).rename("t")
    assert again(times, tmp_path).equals(times)
    for refused in (
        frame.set_index(["a", "c"]),
        frame.astype({"b": "category"}),
        pd.Series(pd.date_range("2020", periods=2, tz="UTC")),
    ):
        with pytest.raises(TypeError, match="use "):
            again(refused, tmp_path)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_random_numbers(bits, tmp_path):
    rng = np.random.Generator(getattr(np.random, bits)([4, 5]))
    rng.spawn(2)
    rng.integers(9, size=3, dtype=np.uint32)
    found = again(rng, tmp_path)
    assert found.random(20).tolist() == rng.random(20).tolist()
    assert found.spawn(1)[0].random() == rng.spawn(1)[0].random()


def test_what_is_shared_stays_shared(tmp_path):
    part = np.arange(3.0)
    policy = UCB()
    found = again({"a": [part, policy], "b": (part, policy)}, tmp_path)
    assert found["a"][0] is found["b"][0]
    assert found["a"][1] is found["b"][1]
    assert found["a"][1] == policy


def test_what_is_outside_is_only_referred_to(tmp_path):
    table = object()
    found = again([table, {"in": table}], tmp_path, table=table)
    assert found[0] is table
    assert found[1]["in"] is table


def test_objects_may_stand_in_circles(tmp_path):
    units = Units(np.array([0, 0, 1]))
    units.me = [units]
    found = again(units, tmp_path)
    assert found.me[0] is found
    assert found.unit_of.tolist() == [0, 0, 1]
