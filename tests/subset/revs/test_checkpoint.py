"""A killed search goes on where it was, to the answer of one that was left alone."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rlselect import REVS
from rlselect.simulate import make_revs, make_weak

FIT = """
    import sys, time
    import numpy as np
    import rlselect.subset.revs._checkpoint as keep
    from rlselect import REVS
    from rlselect.data import _parts
    keep._EVERY = 0.0
    source, out, state = sys.argv[1:4]
    save = keep.Checkpoint.save
    def slow(self, *args):
        save(self, *args)
        time.sleep(0.03)
    keep.Checkpoint.save = slow
    fit = REVS(random_state=4, checkpoint=state, min_effect=0.015)
    X, y = (np.load(source)["X"], np.load(source)["y"]) if source.endswith("npz") else (source, "target")
    fit.fit(X, y)
    part = out + ".part.npz"
    np.savez(part, coef=fit.coef_, inclusion=fit.inclusion_, gain=fit.gain_, rows=fit.n_rows_read_)
    import os
    os.replace(part, out)
"""


def _start(source, out, state):
    code = textwrap.dedent(FIT)
    return subprocess.Popen([sys.executable, "-c", code, str(source), str(out), str(state)])


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weak")
    data = make_weak(60_000, 30, n_nonzero=10, coefficients=(0.05, 0.1), dtype=np.float32, random_state=5)
    np.savez(folder / "weak.npz", X=data.X, y=data.y)
    table = pa.table({f"v{j}": data.X[:, j] for j in range(30)} | {"target": data.y})
    pq.write_table(table, folder / "weak.parquet", row_group_size=8192)
    return {"npz": folder / "weak.npz", "parquet": folder / "weak.parquet"}


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_killed_at_random_moments(sources, kind, tmp_path):
    source = sources[kind]
    alone = _start(source, tmp_path / "alone.npz", tmp_path / "state-alone")
    assert alone.wait(timeout=120) == 0
    rng = np.random.default_rng(0)
    out, state = tmp_path / "killed.npz", tmp_path / "state"
    kills = 0
    for _ in range(5):
        run = _start(source, out, state)
        patience = time.monotonic() + 60
        # the first seconds are imports: the clock of the kill starts with the first save of this run
        before = state.stat().st_mtime_ns if state.exists() else 0
        while run.poll() is None and time.monotonic() < patience:
            if state.exists() and state.stat().st_mtime_ns != before:
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.6))
        if run.poll() is None and kills < 2:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        if run.wait(timeout=120) == 0:
            break
    assert kills >= 2
    assert not state.exists()
    with np.load(tmp_path / "alone.npz") as a, np.load(out) as b:
        for name in a.files:
            assert np.array_equal(a[name], b[name], equal_nan=True), name


def test_time_budget_leaves_a_checkpoint_to_go_on_from(sources, tmp_path):
    state = tmp_path / "state"
    source = str(sources["parquet"])
    short = REVS(random_state=0, checkpoint=state, time_budget=1e-6, min_effect=0.015).fit(source, "target")
    assert short.stop_reason_ == "time budget"
    assert state.exists()
    whole = REVS(random_state=0, checkpoint=state, min_effect=0.015).fit(source, "target")
    fresh = REVS(random_state=0, min_effect=0.015).fit(source, "target")
    assert not state.exists()
    assert np.array_equal(whole.coef_, fresh.coef_)
    assert np.array_equal(whole.gain_, fresh.gain_, equal_nan=True)


def test_logistic_goes_on(tmp_path):
    data = make_revs(20_000, 40, family="binomial", n_nonzero=5, random_state=0)
    state = tmp_path / "state"
    REVS(random_state=0, checkpoint=state, time_budget=1e-6).fit(data.X, data.y)
    whole = REVS(random_state=0, checkpoint=state).fit(data.X, data.y)
    fresh = REVS(random_state=0).fit(data.X, data.y)
    assert np.array_equal(whole.inclusion_, fresh.inclusion_)
    assert np.array_equal(whole.coef_, fresh.coef_)


def test_only_for_the_same_data_and_options(tmp_path):
    data = make_revs(8000, 50, random_state=0)
    state = tmp_path / "state"
    REVS(random_state=0, checkpoint=state, time_budget=1e-6).fit(data.X, data.y)
    for fit, y in ((REVS(random_state=0, penalty=3.0), data.y), (REVS(random_state=0), data.y + 1.0)):
        with pytest.raises(ValueError, match="belongs to other data or other options"):
            fit.set_params(checkpoint=state).fit(data.X, y)
    state.write_text("no pickle")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        REVS(random_state=0, checkpoint=state).fit(data.X, data.y)
    with pytest.raises(ValueError, match="cannot be written"):
        REVS(checkpoint=tmp_path / "no" / "state").fit(data.X, data.y)


def test_min_effect_reads_on():
    """Faint effects far below the others: found whenever the wish says that they must be."""
    missed = 0
    for seed in range(1, 4):
        data = make_weak(
            300_000,
            40,
            design="gap",
            coefficients=(0.3, 0.04),
            n_nonzero=6,
            dtype=np.float32,
            random_state=seed,
        )
        easy = REVS(random_state=0).fit(data.X, data.y)
        asked = REVS(random_state=0, min_effect=0.04 / data.y.std()).fit(data.X, data.y)
        assert asked.n_rows_read_ > easy.n_rows_read_
        assert np.array_equal(asked.support_, data.support)
        missed += not np.array_equal(easy.support_, data.support)
    assert missed <= 2
    for bad in (0.0, -1.0, "small"):
        with pytest.raises(ValueError, match="min_effect="):
            REVS(min_effect=bad).fit(data.X[:6000], data.y[:6000])
