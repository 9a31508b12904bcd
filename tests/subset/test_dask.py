"""REVS on Dask collections and on iterators: the answer of the rows, whoever holds them."""

import numpy as np
import pandas as pd
import pytest

from rlselect import REVS
from rlselect.data import open_source
from rlselect.data._dask import DaskParts
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


class TestDask:
    dd = pytest.importorskip("dask.dataframe")

    @pytest.fixture(scope="class")
    def cluster(self):
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
            ) as cluster,
            distributed.Client(cluster) as client,
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
    def test_any_number_of_workers_and_a_killed_one(self, data, cluster):
        import dask

        source = self.dd.from_pandas(frame(data), npartitions=8)
        with dask.config.set(scheduler="synchronous"):
            alone = REVS(random_state=0).fit(source, "target")
        local, client = cluster
        two = REVS(random_state=0).fit(source, "target")
        assert np.array_equal(alone.coef_, two.coef_)
        kept = client.persist(source)
        victim = next(iter(local.workers.values()))
        killed = []

        original = DaskParts.visit

        def visit(self, picks, names):
            if len(killed) < 1 and len(picks) > 2:
                killed.append(victim)
                victim.process.process._process.kill()
            return original(self, picks, names)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rlselect.data._dask.DaskParts.visit", visit)
            after = REVS(random_state=0).fit(kept, "target")
        assert killed
        assert np.array_equal(after.coef_, alone.coef_)
        client.wait_for_workers(1)
        local.scale(1)
        one = REVS(random_state=0).fit(source, "target")
        assert np.array_equal(one.coef_, alone.coef_)
