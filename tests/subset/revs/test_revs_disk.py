"""REVS on files: the same answer as in memory, from a small part of the rows and in little memory."""

import subprocess
import sys
import textwrap
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.dataset import dataset, field

from rlselect import REVS
from rlselect.simulate import make_revs, make_weak

N, P = 60_000, 60


def write(folder, X, y, files=3, rows=8192, **more):
    folder.mkdir(exist_ok=True)
    table = pa.table({f"v{j}": X[:, j] for j in range(X.shape[1])} | {"target": y} | more)
    edges = np.linspace(0, len(table), files + 1).astype(int)
    for i, (a, b) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(a, b - a), folder / f"part-{i:02d}.parquet", row_group_size=rows)
    return folder


@pytest.fixture(scope="module")
def data():
    return make_revs(N, P, structure="banded", dtype=np.float32, random_state=3)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    return write(tmp_path_factory.mktemp("data"), data.X, data.y, w=weight)


def test_same_support_from_files_and_memory(folder, data):
    disk = REVS(random_state=0, never_select=["w"]).fit(str(folder / "*.parquet"), "target")
    memory = REVS(random_state=0).fit(data.X, data.y)
    assert np.array_equal(disk.support_[:P], memory.support_)
    assert np.array_equal(disk.support_[:P], data.support)
    # of narrow rows that are decoded anyway, the sums are made of all
    assert disk.n_rows_read_ == disk.n_rows_decoded_ == N
    assert disk.stop_reason_ == "all rows"
    assert (memory.n_rows_read_, memory.stop_reason_) == (25_600, "decided")
    again = REVS(random_state=0, never_select=["w"]).fit(folder, "target")
    assert np.array_equal(again.coef_, disk.coef_)


def test_all_rows_give_the_answer_of_memory(tmp_path):
    """Weak signals need every row: then the sums, and with them the answer, are those of memory."""
    data = make_weak(20_000, 40, coefficients=(0.03, 0.06), n_nonzero=8, random_state=2)
    folder = write(tmp_path / "weak", data.X, data.y, rows=1500)
    disk, memory = REVS(random_state=0).fit(folder, "target"), REVS(random_state=0).fit(data.X, data.y)
    assert disk.stop_reason_ == memory.stop_reason_ == "all rows"
    assert disk.n_rows_read_ == 20_000
    assert np.array_equal(disk.support_, memory.support_)
    assert np.allclose(disk.inclusion_, memory.inclusion_, atol=1e-3)
    assert np.allclose(disk.coef_, memory.coef_, atol=1e-6)
    assert np.allclose(disk._errors, memory._errors, atol=1e-6)
    assert disk.intercept_ == pytest.approx(memory.intercept_, abs=1e-6)
    assert disk.dispersion_ == pytest.approx(memory.dispersion_, rel=1e-6)


def test_what_stays_in_memory_is_what_would_be_decoded_again(folder, monkeypatch):
    held = REVS(random_state=0, min_effect=1e-6).fit(folder, "target")
    monkeypatch.setattr("rlselect.data._part_table._HELD_BYTES", 0)
    again = REVS(random_state=0, min_effect=1e-6).fit(folder, "target")
    assert held.n_rows_decoded_ == N < again.n_rows_decoded_
    assert held.n_rows_read_ == again.n_rows_read_ == N
    assert np.array_equal(held.support_, again.support_)
    np.testing.assert_allclose(held.coef_, again.coef_, rtol=1e-6, atol=1e-8)


def test_wide_files_are_decoded_once_or_twice(tmp_path, monkeypatch):
    """Row groups as large as a batch may be: a refill visits few of them, and a few passes do."""
    monkeypatch.setattr("rlselect.data._part_table._MOST_BYTES", 2**21)
    monkeypatch.setattr("rlselect.data._pool._DECODE_BYTES", 2**22)
    data = make_weak(16_384, 500, coefficients=(0.2, 0.4), n_nonzero=12, dtype=np.float32, random_state=5)
    folder = write(tmp_path / "wide", data.X, data.y, files=2, rows=1024)
    disk, memory = REVS(random_state=0).fit(folder, "target"), REVS(random_state=0).fit(data.X, data.y)
    assert disk.n_rows_read_ == 16_384
    assert disk.n_rows_decoded_ <= 2.5 * 16_384
    assert np.array_equal(disk.support_, memory.support_)
    np.testing.assert_allclose(disk.coef_, memory.coef_, rtol=1e-4)


@pytest.mark.parametrize("key", ["y", "x"])
def test_sorted_files_do_not_bias(data, tmp_path, key):
    order = np.argsort(data.y if key == "y" else data.X[:, 7])
    folder = write(tmp_path / "sorted", data.X[order], data.y[order], rows=4096)
    fit = REVS(random_state=0).fit(folder, "target")
    memory = REVS(random_state=0).fit(data.X, data.y)
    assert np.array_equal(fit.support_, data.support)
    # within a few standard errors of what unsorted rows say; a biased sample is off by dozens
    gap = np.abs(fit.coef_ - memory.coef_)[data.support] / memory._errors[data.support]
    assert gap.max() < 6


def test_predict_and_transform_yield_batches(folder, data):
    fit = REVS(random_state=0, never_select=["w"]).fit(folder, "target")
    frame = pa.table({f"v{j}": data.X[:, j] for j in range(P)} | {"w": np.ones(N)})
    parts = list(fit.predict(folder))
    assert len(parts) > 3
    assert np.allclose(np.concatenate(parts), fit.predict(frame), atol=1e-5)
    tables = list(fit.transform(folder))
    assert tables[0].column_names == list(fit.get_feature_names_out())
    assert sum(map(len, tables)) == N


def test_weights_and_classes(folder, tmp_path):
    data = make_revs(12_000, 30, family="binomial", n_nonzero=5, random_state=0)
    labels = np.where(data.y > 0, "yes", "no")
    source = write(tmp_path / "labels", data.X, labels)
    fit = REVS(random_state=0).fit(source, "target")
    assert fit.family_ == "binomial"
    assert fit.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(fit.support_, data.support)
    assert set(np.concatenate(list(fit.predict(source)))) == {"no", "yes"}
    assert next(iter(fit.predict_proba(source))).shape[1] == 2
    weighted = REVS(random_state=0).fit(folder, "target", sample_weight="w")
    plain = REVS(random_state=0, never_select=["w"]).fit(folder, "target")
    assert not np.array_equal(weighted.coef_, plain.coef_[:P])


def test_a_third_class_deep_inside(tmp_path):
    data = make_revs(12_000, 10, family="binomial", n_nonzero=5, random_state=0)
    labels = np.where(data.y > 0, "yes", "no").astype(object)
    labels[-1] = "perhaps"
    source = write(tmp_path / "labels", data.X, labels)
    fit = REVS(family="binomial", random_state=0, validate="read")
    with pytest.raises(ValueError, match=r"third value \('perhaps'\)|3 classes \('no', 'perhaps', 'yes'\)"):
        fit.fit(source, "target")
    assert REVS(random_state=0).fit(source, "target").family_ == "multinomial"


def test_nothing_to_choose_from_and_paper(folder):
    names = [f"v{j}" for j in range(P)] + ["w"]
    fit = REVS(always_select=names[:2], never_select=names[2:]).fit(folder, "target")
    assert fit.stop_reason_ == "nothing to choose from"
    assert fit.support_.sum() == 2
    with pytest.raises(ValueError, match="takes single rows at random"):
        REVS.paper().fit(folder, "target")


def test_validate_all(folder, tmp_path, data):
    X = data.X.copy()
    X[-5, 4] = np.nan
    bad = write(tmp_path / "nan", X, data.y, files=2)
    with pytest.raises(ValueError, match=r"part-01.parquet', row group 3: .*missing values.*'v4'"):
        REVS(validate="all").fit(bad, "target")
    whole = REVS(validate="all", random_state=0, never_select=["w"]).fit(folder, "target")
    read = REVS(random_state=0, never_select=["w"]).fit(folder, "target")
    assert np.array_equal(whole.coef_, read.coef_)
    assert whole.n_rows_decoded_ == read.n_rows_decoded_


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("family", ["gaussian", pytest.param("binomial", marks=pytest.mark.slow)])
def test_memory_stays_within_four_batches(tmp_path, family):
    """A tiny `min_effect` makes it read all of a file that is far larger than four batches."""
    rng = np.random.default_rng(0)
    rows, p, groups = 65_536, 80, 8
    schema = pa.schema([(f"v{j}", pa.float32()) for j in range(p)] + [("target", pa.float32())])
    with pq.ParquetWriter(tmp_path / "big.parquet", schema) as writer:
        for _ in range(groups):
            X = rng.standard_normal((rows, p), dtype=np.float32)
            y = 0.5 * X[:, 0] + rng.standard_normal(rows, dtype=np.float32)
            y = y if family == "gaussian" else (y > 0).astype(np.float32)
            columns = {f"v{j}": X[:, j] for j in range(p)} | {"target": y}
            writer.write_table(pa.table(columns, schema=schema), row_group_size=rows)
    code = f"""
        from rlselect import REVS
        from rlselect.data import open_source
        from rlselect.simulate import make_revs
        def peak():
            return int([l for l in open("/proc/self/status") if l.startswith("VmHWM")][0].split()[1]) * 1024
        path = {str(tmp_path / "big.parquet")!r}
        small = make_revs(6000, 80, family={family!r}, random_state=0)
        REVS(random_state=0).fit(small.X, small.y)
        table = open_source(path, "target")
        before = peak()
        fit = REVS(random_state=0, min_effect=1e-3).fit(path, "target")
        print(fit.n_rows_read_, (peak() - before) / table.batch_bytes)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    read, batches = done.stdout.split()
    assert int(read) == groups * rows
    assert float(batches) <= 4.0


def test_folders_name_columns(data, tmp_path):
    """The way Spark and others write: one folder a value, and no such column in the files."""
    rng = np.random.default_rng(1)
    city, year = rng.integers(0, 3, N), rng.integers(2020, 2022, N)
    y = data.X[:, 0] + np.array([0.0, 0.8, -0.8])[city] + rng.standard_normal(N)
    for c in range(3):
        for t in (2020, 2021):
            rows = (city == c) & (year == t)
            (tmp_path / f"city=town%20{c}" / f"year={t}").mkdir(parents=True)
            write(tmp_path / f"city=town%20{c}" / f"year={t}", data.X[rows, :8], y[rows], files=1)
    memory = pa.table(
        {f"v{j}": data.X[:, j] for j in range(8)}
        | {"target": y, "city": np.array(["town 0", "town 1", "town 2"])[city], "year": year}
    )
    expected = REVS(random_state=0).fit(memory, "target")
    sources = (tmp_path, str(tmp_path / "*/*/*.parquet"), dataset(tmp_path, partitioning="hive"))
    for source in sources:
        fit = REVS(random_state=0).fit(source, "target")
        assert list(fit.get_feature_names_out()) == ["v0", "city"]
        assert list(fit.feature_names_in_) == list(expected.feature_names_in_)
        assert fit.column_names_ == expected.column_names_
        np.testing.assert_allclose(fit.coef_, expected.coef_, atol=0.06)
    batches = list(fit.transform(tmp_path))
    assert batches[0].column_names == ["v0", "city"]
    assert sum(map(len, batches)) == N
    assert len(np.concatenate(list(fit.predict(tmp_path)))) == N
    some = dataset(tmp_path).filter(field("v0") > 0)
    assert (
        min(
            t["v0"].to_numpy().min()
            for t in fit.transform(dataset(tmp_path, partitioning="hive").filter(field("v0") > 0))
        )
        > 0
    )
    assert REVS(random_state=0).fit(some, "target")._n_rows == np.count_nonzero(data.X[:, 0] > 0)
    (tmp_path / "other.parquet").write_bytes(next(tmp_path.rglob("*.parquet")).read_bytes())
    with pytest.raises(ValueError, match=r"other.parquet' lies in folders that name the columns \[\]"):
        REVS().fit(tmp_path, "target")


def test_a_column_that_predict_needs_is_missed(folder, data, tmp_path):
    fit = REVS(random_state=0, never_select=["w"]).fit(folder, "target")
    fewer = write(tmp_path / "fewer", data.X[:6000, 1:], data.y[:6000])
    for method in (fit.predict, fit.transform):
        with pytest.raises(ValueError, match=r"yet now missing:\n- v59"):
            method(fewer)
    more = write(tmp_path / "more", data.X[:6000], data.y[:6000], w=np.ones(6000), id=np.arange(6000))
    np.testing.assert_allclose(
        np.concatenate(list(fit.predict(more))),
        data.X[:6000] @ fit.coef_[:P] + fit.intercept_,
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_damaged_value_is_named(data, tmp_path, family):
    X = data.X[:20_000, :10].astype(np.float64)
    X[15_123, 6] = 1e300
    y = data.y[:20_000] if family == "gaussian" else (data.y[:20_000] > 0).astype(float)
    source = write(tmp_path / "damaged", X, y, files=4, rows=2500)
    with pytest.raises(ValueError, match=r"part-03.parquet', row group 0: .* in column 'v6'"):
        REVS(random_state=0, min_effect=1e-4).fit(source, "target")
    with pytest.raises(ValueError, match=r"beyond .* in column 'x6'"):
        REVS(random_state=0, min_effect=1e-4).fit(X, y)


def test_checksums_are_verified(data, tmp_path):
    table = pa.table({f"v{j}": data.X[:20_000, j] for j in range(4)} | {"target": data.y[:20_000]})
    pq.write_table(table, tmp_path / "a.parquet", write_page_checksum=True, compression=None)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[3000:3004] = b"ugly"
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"a.parquet', row group 0 cannot be read"):
        REVS(random_state=0).fit(tmp_path, "target")
