"""A cluster that fails: our sentence, and a search that goes on from where it was saved."""

import os
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from rlselect import REVS
from rlselect.data import open_source
from rlselect.data._dask import DaskWorkers

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

SENTENCE = r"X is a Dask collection, and .*fit again\. With checkpoint= and the name of a file"


def weak(n=80_000, p=12):
    """Some effects take more rows than come to the client."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n, p))
    return np.column_stack([X, X @ np.r_[1.0, -1.0, 0.02, -0.02, np.zeros(p - 4)] + rng.standard_normal(n)])


@contextmanager
def started():
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(**how) as local,
        distributed.Client(local) as client,
    ):
        yield local, client


@pytest.fixture
def cluster():
    with started() as made:
        yield made


def failing(function, part=2, after=1):
    """A collection of which one partition fails once it was computed so many times."""
    rows, calls = weak(), []

    def load(block, block_info=None):
        number = block_info[0]["chunk-location"][0]
        if number == part:
            calls.append(1)
            if len(calls) > after:
                function()
        return block

    source = da.from_array(rows, chunks=(10_000, 13))
    return source.map_blocks(load, dtype=float, meta=np.zeros((0, 0)))


def out_of_memory():
    raise MemoryError("no room for 10 GB")


def lost():
    raise KeyError("partition-17")


def unreachable():
    raise distributed.comm.CommClosedError("in <TCP>: Stream is closed")


def killed():
    raise distributed.scheduler.KilledWorker("load-2", SimpleNamespace(address="tcp://worker"), 3)


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (out_of_memory, r"run out of memory.*MemoryError: no room for 10 GB"),
        (lost, r"a partition cannot be computed.*KeyError: 'partition-17'"),
        (unreachable, r"cannot be reached; start them again.*CommClosedError"),
        (killed, r"run out of memory, or die.*KilledWorker"),
    ],
)
@pytest.mark.parametrize("after", [0, 1])
def test_faults_are_told_in_our_words(fault, what, after):
    with dask.config.set(scheduler="synchronous"), pytest.raises(RuntimeError, match=SENTENCE) as caught:
        REVS(random_state=0).fit(failing(fault, after=after), "x12")
    assert caught.match(what)
    assert caught.value.__cause__ is None


@pytest.mark.filterwarnings("ignore")
def test_a_vanished_scheduler_leaves_a_checkpoint_that_goes_on(cluster, monkeypatch, tmp_path):
    local, client = cluster
    source = da.from_array(weak(), chunks=(10_000, 13))
    with dask.config.set(scheduler="synchronous"):
        whole = REVS(random_state=0).fit(source, "x12")
    start, rounds = DaskWorkers.start, []

    def vanishing(self, function, blocks, *args):
        rounds.append(1)
        if len(rounds) == 1:
            client.close()
            local.close()
        return start(self, function, blocks, *args)

    monkeypatch.setattr(DaskWorkers, "start", vanishing)
    path = tmp_path / "search"
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match=SENTENCE):
        REVS(random_state=0, checkpoint=path).fit(client.persist(source), "x12")
    assert time.monotonic() - begun < 60
    monkeypatch.undo()
    assert os.path.getsize(path) > 0
    with started():
        resumed = REVS(random_state=0, checkpoint=path).fit(source, "x12")
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.inclusion_, whole.inclusion_)
    assert not path.exists()


@pytest.mark.filterwarnings("ignore")
def test_lost_workers_are_told(cluster):
    _, client = cluster
    source = client.persist(da.from_array(weak(30_000), chunks=(10_000, 13)))
    distributed.wait(source)
    table = open_source(source, "x12")
    client.cancel(source, force=True)
    with pytest.raises(RuntimeError, match=SENTENCE):
        list(table.scan())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", [out_of_memory, killed])
def test_a_worker_without_memory_leaves_a_checkpoint_that_goes_on(cluster, monkeypatch, tmp_path, fault):
    source = da.from_array(weak(), chunks=(10_000, 13))
    with dask.config.set(scheduler="synchronous"):
        whole = REVS(random_state=0).fit(source, "x12")
    start, path = DaskWorkers.start, tmp_path / "search"

    def dying(self, function, blocks, *args):
        return start(self, lambda *block: fault(), blocks, *args)

    monkeypatch.setattr(DaskWorkers, "start", dying)
    with pytest.raises(RuntimeError, match=SENTENCE) as caught:
        REVS(random_state=0, checkpoint=path).fit(source, "x12")
    assert caught.match("run out of memory, or die")
    monkeypatch.undo()
    assert os.path.getsize(path) > 0
    resumed = REVS(random_state=0, checkpoint=path).fit(source, "x12")
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.inclusion_, whole.inclusion_)
    assert not path.exists()
