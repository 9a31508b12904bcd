"""REVS on Dask collections and on iterators: the answer of the rows, whoever holds them."""

import pickle
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from rlselect import REVS
from rlselect._clock import Clock
from rlselect.data import open_source, open_table
from rlselect.data._dask import DaskParts, DaskWorkers, _as_arrow, _made, _sums
from rlselect.data._iterator import IteratorParts
from rlselect.data._parts import Piece
from rlselect.simulate import make_revs

N, P = 40_000, 50


@pytest.fixture(scope="module")
def data():
    return make_revs(N, P, structure="block", random_state=2)


def frame(data):
    return pd.DataFrame(data.X, columns=[f"v{j}" for j in range(P)]).assign(target=data.y)


def chunks(data, size=3000):
    table = frame(data)

    def factory():
        for start in range(0, N, size):
            yield table.iloc[start : start + size]

    return factory


def test_iterator_factory(data):
    fit = REVS(random_state=0).fit(chunks(data), "target")
    assert np.array_equal(fit.support_, data.support)
    assert fit.n_rows_read_ in (25_600, N)
    parts = list(fit.predict(chunks(data)))
    assert np.allclose(np.concatenate(parts), fit.predict(frame(data)))
    table = open_source(chunks(data), "target")
    assert table.n_rows == N
    assert np.array_equal(table.take(slice(2990, 3010)).y, data.y[2990:3010])


def test_chunks_may_be_arrays(data):
    rows = np.column_stack([data.X, data.y])
    fit = REVS(random_state=0).fit(lambda: np.array_split(rows, 9), f"x{P}")
    assert np.array_equal(fit.support_, data.support)


def test_iterators_that_cannot_be_read(data):
    with pytest.raises(TypeError, match="must return an iterable"):
        REVS().fit(lambda: 3, "target")
    with pytest.raises(TypeError, match="Chunk 0 of X is a list"):
        REVS().fit(lambda: [[1, 2]], "target")
    with pytest.raises(ValueError, match="yields no rows"):
        REVS().fit(lambda: [], "target")
    calls = []

    def shrinking():
        calls.append(1)
        table = frame(data)
        return iter([table] if len(calls) == 1 else [table[:-1]])

    with pytest.raises(ValueError, match="has changed since the first pass"):
        REVS().fit(shrinking, "target")
    bad = frame(data)
    bad.loc[N - 3, "v7"] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 1 of X: .*missing values.*'v7'"):
        REVS(validate="all").fit(lambda: [bad[: N // 2], bad[N // 2 :]], "target")
    other = frame(data).rename(columns={"v3": "w3"})
    with pytest.raises(ValueError, match=r"'chunk 1' has no column 'v3'"):
        REVS().fit(lambda: [frame(data), other], "target")


def weak(n=120_000, p=40):
    """Some effects take more rows than come to the client, and one column nearly repeats another."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n, p)).astype(np.float32)
    X[:, 9] = 0.97 * X[:, 0] + 0.24 * X[:, 9]
    coef = np.r_[1.0, -1.0, 0.03, -0.03, np.zeros(p - 4)]
    return np.column_stack([X, X @ coef + rng.standard_normal(n)])


def counting(monkeypatch):
    """Count the blocks that are made where they lie, and the tasks that work on them."""
    counts = {"blocks": 0, "starts": 0}
    make, start = DaskWorkers._make, DaskWorkers.start

    def counted_make(self, blocks):
        counts["blocks"] += len(blocks)
        make(self, blocks)

    def counted_start(self, function, blocks, *args):
        counts["starts"] += 1
        return start(self, function, blocks, *args)

    monkeypatch.setattr(DaskWorkers, "_make", counted_make)
    monkeypatch.setattr(DaskWorkers, "start", counted_start)
    return counts


def kill_a_holder(local, client, monkeypatch, at):
    """Kill the worker that holds a block, and every answer it was to give, in the midst of some round."""
    workers, start, rounds, killed = list(local.workers.values()), DaskWorkers.start, [], []

    def deadly(self, function, blocks, *args):
        answers = start(self, function, blocks, *args)
        rounds.append(function)
        if len(rounds) == at:
            holder = blocks[0].handle[0]
            here = client.who_has([holder])[holder.key]
            killed.append(next((w for w in workers if w.worker_address in here), workers[0]))
            killed[0].process.process._process.kill()
        return answers

    monkeypatch.setattr(DaskWorkers, "start", deadly)
    return killed


def test_pieces_are_a_sample_without_replacement():
    import dask

    da = pytest.importorskip("dask.array")
    values = np.arange(60_000.0)
    with dask.config.set(scheduler="synchronous"):
        source = da.from_array(np.column_stack([values, values]), chunks=((20_000, 7000, 33_000), 2))
        table = open_source(source, "x1")
        table.start(np.random.default_rng(0))
        seen, halves = [], [[], []]
        for wanted in (3200, 22_400, 10_000, 10_000, 60_000):
            for i, rows in enumerate(table.pool.draw(wanted, 2000)):
                y = table.take(rows).y
                seen.append(y)
                halves[i % 2].append(y)
        assert table.pool.n_used == 60_000
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), values)
    for half in halves:
        y = np.concatenate(half)
        assert abs(y.mean() - values.mean()) < 5 * values.std() / np.sqrt(len(y))


def test_bad_rows_are_named_where_they_lie():
    import dask

    da = pytest.importorskip("dask.array")
    rows = np.random.default_rng(0).standard_normal((12_000, 3))
    with dask.config.set(scheduler="synchronous"):
        table = open_source(da.from_array(rows, chunks=(4000, 3)), "x2")
        table.start(np.random.default_rng(0))
    part = rows[4000:8000]
    expected = table.parts.expected(1, ["x0", "x1", "x2"])
    how = (5, table.coder(), None)
    made = _made(part, [Piece(1, 10, 30)], *how, expected, lambda b: b.X)
    np.testing.assert_array_equal(made[0], part[np.sort(Piece(1, 10, 30).of(5, 4000)), :2])
    part[:, 1] = np.nan
    with pytest.raises(ValueError, match="Partition 1 of X has changed since the first pass, in column 'x1'"):
        _made(part, [Piece(1, 10, 30)], *how, expected, len)
    expected = expected._replace(sums=_sums(part, list(expected.sums)))
    with pytest.raises(ValueError, match=r"Partition 1 of X: .*missing values.*'x1' \(20 rows\)"):
        _made(part, [Piece(1, 10, 30)], *how, expected, len)


@pytest.mark.parametrize("kind", ["float32", "int16", "mixed", "Int64", "gaps", "empty"])
def test_partitions_become_arrow_tables_as_pandas_would_have_them(kind):
    part = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    if kind == "mixed":
        part = part.assign(c=["x", "y", None], d=[0.5, np.nan, 1.0])
    elif kind == "gaps":
        part = part.astype(float).where(part != 5)
    elif kind == "empty":
        part = part[:0].astype(float)
    else:
        part = part.astype(kind)
    expected = pa.Table.from_pandas(part.iloc[::-1], preserve_index=False).replace_schema_metadata(None)
    assert _as_arrow(part.iloc[::-1]).equals(expected)


def with_gaps(kind):
    """Partitions of which one knows nothing of the city, in a form that readers give to nothing."""
    rng = np.random.default_rng(3)
    parts = []
    for i in range(4):
        size = rng.standard_normal(3000)
        city = rng.choice(["Bonn", "Oslo", "Rome"], 3000).astype(object)
        target = size + (city == "Oslo") + 0.1 * rng.standard_normal(3000)
        city[0] = None  # the first row tells nothing of a column
        if i == 1:
            city[:] = None
        parts.append(pd.DataFrame({"size": size, "city": city, "target": target}))
    parts[1]["city"] = parts[1]["city"].astype({"none": object, "numbers": float, "text": "string"}[kind])
    return parts


def collection(parts):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    return dd.from_delayed([dask.delayed(part) for part in parts], verify_meta=False)


@pytest.mark.parametrize("kind", ["none", "numbers", "text"])
@pytest.mark.parametrize("source", ["dask", "iterator"])
def test_a_part_that_knows_nothing_of_a_column_reads_as_missing(kind, source):
    import dask

    parts = with_gaps(kind)
    memory = open_table(pd.concat([p.astype({"city": object}) for p in parts]), "target", missing="indicator")
    with dask.config.set(scheduler="synchronous"):
        X = (lambda: parts) if source == "iterator" else collection(parts)
        marked = open_source(X, "target", missing="indicator", validate="all")
        assert marked.columns == memory.columns
        assert np.allclose(marked.take().X, memory.take().X)
        assert len(open_source(X, "target", missing="drop").take().X) == 9000 - 3
        fit = REVS(random_state=0, missing="indicator").fit(X, "target")
        with pytest.raises(ValueError, match=r"missing values.*'city'"):
            REVS().fit(X, "target")
    assert list(fit.get_feature_names_out()) == ["size", "city"]


def test_a_column_without_any_value_keeps_its_type():
    import dask

    parts = [pd.DataFrame({"a": np.arange(5.0), "b": np.full(5, np.nan)}) for _ in range(2)]
    with dask.config.set(scheduler="synchronous"):
        for source in (DaskParts(collection(parts)), IteratorParts(lambda: parts)):
            assert source.schema.field("b").type == pa.float64()


class TestDask:
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")

    @pytest.fixture(scope="class")
    def cluster(self):
        with (
            self.distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
            ) as cluster,
            self.distributed.Client(cluster) as client,
        ):
            yield cluster, client

    def test_frame_and_array_without_a_cluster(self, data):
        import dask
        import dask.array as da

        with dask.config.set(scheduler="synchronous"):
            fit = REVS(random_state=0).fit(self.dd.from_pandas(frame(data), npartitions=7), "target")
            array = da.from_array(np.column_stack([data.X, data.y]), chunks=(6000, 20))
            named = REVS(random_state=0).fit(array, f"x{P}")
        assert np.array_equal(fit.support_, data.support)
        assert np.array_equal(named.support_, data.support)

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("family", ["binomial", pytest.param("poisson", marks=pytest.mark.slow)])
    def test_newton_steps_on_the_workers(self, cluster, monkeypatch, family):
        import dask
        import dask.array as da

        local, client = cluster
        rng = np.random.default_rng(4)
        X = rng.standard_normal((40_000, 12)).astype(np.float32)
        eta = X @ np.r_[0.5, -0.5, 0.05, np.zeros(9)]
        y = rng.random(len(X)) < 1 / (1 + np.exp(-eta)) if family == "binomial" else rng.poisson(np.exp(eta))
        source = da.from_array(np.column_stack([X, y]), chunks=(9000, 13))
        model = REVS(random_state=0, family=family)
        with dask.config.set(scheduler="synchronous"):
            alone = clone(model).fit(source, "x12")
        kept = client.persist(source)
        near = clone(model).fit(kept, "x12")
        monkeypatch.setattr("rlselect.subset.revs._search._NEARBY_BYTES", 0)
        counts = counting(monkeypatch)
        far = clone(model).fit(kept, "x12")
        assert counts["blocks"] == 10
        assert counts["starts"] > 5
        after = far
        if family == "binomial":
            killed = kill_a_holder(local, client, monkeypatch, at=4)
            after = clone(model).fit(kept, "x12")
            assert killed
        here = clone(model).fit(X.astype(np.float64), y)
        assert list(np.flatnonzero(here.support_)) == [0, 1, 2]
        np.testing.assert_allclose(alone.coef_, here.coef_, rtol=1e-4)
        for fit in (near, far, after):
            assert np.array_equal(fit.support_, here.support_)
            assert np.array_equal(fit.coef_, alone.coef_)
            assert np.array_equal(fit.inclusion_, alone.inclusion_)

    @pytest.mark.filterwarnings("ignore")
    def test_same_answer_for_any_number_of_workers_and_when_one_is_killed(self, cluster, monkeypatch):
        import dask
        import dask.array as da

        local, client = cluster
        rows = weak()
        source = da.from_array(rows, chunks=(15_000, 41))
        with dask.config.set(scheduler="synchronous"):
            alone = REVS(random_state=0).fit(source, "x40")
        assert list(np.flatnonzero(alone.support_)) == [0, 1, 2, 3]
        assert alone.n_rows_read_ > 25_600
        assert alone.path_["chain"].max() == 3
        counts = counting(monkeypatch)
        kept = client.persist(source)
        two = REVS(random_state=0).fit(kept, "x40")
        assert counts["blocks"] > 4
        assert counts["starts"] > 0
        killed = kill_a_holder(local, client, monkeypatch, at=1)
        after = REVS(random_state=0).fit(kept, "x40")
        assert killed
        for fit in (two, after):
            assert np.array_equal(fit.coef_, alone.coef_)
            assert np.array_equal(fit.inclusion_, alone.inclusion_)
            assert fit.n_rows_read_ == alone.n_rows_read_
            assert np.array_equal(fit.path_["action"], alone.path_["action"])
        monkeypatch.undo()
        address = next(iter(client.scheduler_info()["workers"]))
        client.retire_workers([a for a in client.scheduler_info()["workers"] if a != address])
        one = REVS(random_state=0).fit(kept, "x40")
        assert np.array_equal(one.coef_, alone.coef_)


def test_a_clock_goes_on_in_another_process():
    clock = Clock(100.0, 50, report=lambda: True)
    clock.tick()
    twin = pickle.loads(pickle.dumps(clock))
    assert twin.reason == clock.reason == "callback"
    assert twin.deadline - time.perf_counter() == pytest.approx(100.0, abs=5.0)
    assert pickle.loads(pickle.dumps(Clock(None, 50))).tick() is None
    late = pickle.loads(pickle.dumps(Clock(1e-9, 50)))
    assert late.tick() == "time budget"


def test_chains_hand_back_what_they_saw(monkeypatch):
    # a backend that works on copies, as other processes do
    def on_copies(**_):
        return lambda jobs: [f(*pickle.loads(pickle.dumps(a)), **k) for f, a, k in jobs]

    small = make_revs(150, 30, n_nonzero=10, random_state=1)
    here = REVS(random_state=0).fit(small.X, small.y)
    monkeypatch.setattr("rlselect.subset.revs._walk.Parallel", on_copies)
    there = REVS(random_state=0, time_budget=600).fit(small.X, small.y)
    assert np.array_equal(here.inclusion_, there.inclusion_)
    assert np.array_equal(here.path_["action"], there.path_["action"])
