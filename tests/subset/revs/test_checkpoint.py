"""A killed search goes on where it was, to the answer of one that was left alone."""

import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rlselect
import rlselect.subset.revs._checkpoint as keep
from rlselect import REVS
from rlselect.data import open_table
from rlselect.persist._container import read_container, write_container
from rlselect.simulate import make_revs, make_weak
from rlselect.subset import Softmax

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


@pytest.mark.parametrize("kind", [pytest.param("npz", marks=pytest.mark.slow), "parquet"])
def test_killed_at_random_moments(sources, kind, tmp_path):
    source = sources[kind]
    X, y = (np.load(source)["X"], np.load(source)["y"]) if kind == "npz" else (source, "target")
    alone = REVS(random_state=4, min_effect=0.015).fit(X, y)
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
    with np.load(out) as found:
        np.testing.assert_array_equal(found["coef"], alone.coef_)
        np.testing.assert_array_equal(found["inclusion"], alone.inclusion_)
        np.testing.assert_array_equal(found["gain"], alone.gain_)
        assert found["rows"] == alone.n_rows_read_


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
    # one cell of one row
    X = data.X.copy()
    X[4321, 7] += 1e-9
    with pytest.raises(ValueError, match="belongs to other data or other options"):
        REVS(random_state=0, checkpoint=state).fit(X, data.y)
    with pytest.raises(ValueError, match="cannot be written"):
        REVS(checkpoint=tmp_path / "no" / "state").fit(data.X, data.y)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A search and its checkpoint."""
    data = make_revs(8000, 50, random_state=0)
    state = tmp_path_factory.mktemp("begun") / "state"
    REVS(random_state=0, checkpoint=state, time_budget=1e-6).fit(data.X, data.y)
    return data, state.read_bytes()


class Bomb:
    """Says so when somebody builds it."""

    def __reduce__(self):
        return print, ("built",)


def test_a_changed_checkpoint_is_refused_by_name(begun, tmp_path, capsys):
    data, whole = begun
    state = tmp_path / "state"
    rng = np.random.default_rng(0)
    spoilt = [b"", b"text", pickle.dumps(Bomb()), whole[:-1], whole + b"0", whole[:100]]
    for place in [0, 8, 40, 48, len(whole) - 1, *rng.integers(len(whole), size=10)]:
        changed = bytearray(whole)
        changed[place] ^= 4
        spoilt.append(bytes(changed))
    for content in spoilt:
        state.write_bytes(content)
        with pytest.raises(ValueError, match=r"checkpoint='.*state' is not a checkpoint of this library"):
            REVS(random_state=0, checkpoint=state).fit(data.X, data.y)
        assert state.read_bytes() == content
    assert "built" not in capsys.readouterr().out
    # an estimator is no checkpoint, a checkpoint no estimator
    rlselect.save(REVS(), state)
    with pytest.raises(ValueError, match="holds a 'fitted estimator', and a 'search of REVS' is wanted"):
        REVS(random_state=0, checkpoint=state).fit(data.X, data.y)
    state.write_bytes(whole)
    with pytest.raises(ValueError, match="holds a 'search of REVS'"):
        rlselect.load(state)
    state.unlink()
    os.mkfifo(state)
    with pytest.raises(ValueError, match="is no file, but a folder, a pipe"):
        REVS(random_state=0, checkpoint=state).fit(data.X, data.y)


@pytest.mark.parametrize("forged", [None, {"progress": 1, "rows": 2}, {}])
def test_a_forged_checkpoint_with_the_right_print_is_refused(begun, forged, tmp_path, monkeypatch):
    data, _ = begun
    state = tmp_path / "state"
    save = keep.save_object

    def forge(path, kind, whole, *others):
        save(path, kind, {"state": forged, "random": whole["random"]}, *others)

    monkeypatch.setattr(keep, "save_object", forge)
    REVS(random_state=0, checkpoint=state, time_budget=1e-6).fit(data.X, data.y)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="the file does not hold a search"):
        REVS(random_state=0, checkpoint=state).fit(data.X, data.y)


def test_a_forged_search_that_lacks_something_is_refused(begun, tmp_path):
    """Each attribute of each object in turn is taken out, and the checksum made to agree."""
    data, whole = begun
    state = tmp_path / "state"
    state.write_bytes(whole)
    head, arrays = read_container(state, "search of REVS", 2**30)
    fresh = REVS(random_state=0).fit(data.X, data.y)
    steps = head["nodes"]["steps"]
    lacking = [(k, i) for k, step in enumerate(steps) if step[0] == "fill" for i in range(len(step[2]))]
    refused = answered = 0
    for k, i in lacking:
        _, place, items = steps[k]
        forged = [*steps[:k], ["fill", place, items[:i] + items[i + 1 :]], *steps[k + 1 :]]
        nodes = {"steps": forged, "root": head["nodes"]["root"]}
        content = {"library": head["library"], "about": head["about"], "nodes": nodes}
        write_container(state, "search of REVS", content, arrays)
        try:
            answer = REVS(random_state=0, checkpoint=state).fit(data.X, data.y)
        except ValueError as error:
            said = str(error)
            refused += bool(re.search("state' (does not hold|is not a checkpoint).*Remove", said))
        else:
            # nobody asks for it any more
            assert np.array_equal(answer.coef_, fresh.coef_)
            answered += 1
    assert refused + answered == len(lacking)
    assert refused > len(lacking) / 2 > 20


def test_a_search_with_a_cluster_does_not_go_on_without_one(begun, tmp_path):
    data, _ = begun
    table = open_table(data.X, data.y)
    checkpoint = keep.Checkpoint(tmp_path / "state", table, {})
    outside = {"rng": np.random.default_rng(0), "tick": print, "workers": object()}
    checkpoint.save({"workers": outside["workers"]}, outside)
    del outside["workers"]
    with pytest.raises(ValueError, match=r"a search that had a Dask cluster .*this one has not: go on with"):
        checkpoint.load(outside, {"workers": object})


def test_another_version_starts_anew(begun, tmp_path, monkeypatch):
    data, whole = begun
    (tmp_path / "state").write_bytes(whole)
    monkeypatch.setattr(rlselect, "__version__", "9.9")
    with pytest.raises(ValueError, match="or to another version of this library"):
        REVS(random_state=0, checkpoint=tmp_path / "state").fit(data.X, data.y)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and /dev/full are Linux's")
def test_a_place_that_cannot_be_written_is_a_warning():
    data = make_revs(8000, 50, random_state=0)
    alone = REVS(random_state=0).fit(data.X, data.y)
    with pytest.warns(
        UserWarning, match=r"checkpoint='/proc/state' could not be written .*the fit goes on"
    ) as seen:
        fitted = REVS(random_state=0, checkpoint="/proc/state").fit(data.X, data.y)
    assert len(seen) == 1
    assert np.array_equal(fitted.coef_, alone.coef_)


def test_a_full_disk_is_a_warning(begun, tmp_path, monkeypatch):
    data, whole = begun
    state = tmp_path / "state"
    state.write_bytes(whole)
    alone = REVS(random_state=0).fit(data.X, data.y)

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(
        UserWarning, match=r"checkpoint=.*No space left on device.*before is kept; the fit goes on"
    ):
        fitted = REVS(random_state=0, checkpoint=state, time_budget=1e-6).fit(data.X, data.y)
    assert fitted.stop_reason_ == "time budget"
    assert state.read_bytes() == whole
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.undo()
    assert np.array_equal(REVS(random_state=0, checkpoint=state).fit(data.X, data.y).coef_, alone.coef_)


def test_a_generator_is_known_by_its_numbers(tmp_path):
    data = make_revs(8000, 50, random_state=0)
    state = tmp_path / "state"
    REVS(random_state=np.random.default_rng(5), checkpoint=state, time_budget=1e-6).fit(data.X, data.y)
    with pytest.raises(ValueError, match="other data or other options"):
        REVS(random_state=np.random.default_rng(6), checkpoint=state).fit(data.X, data.y)
    REVS(random_state=np.random.default_rng(5), checkpoint=state).fit(data.X, data.y)
    assert not state.exists()


def test_a_policy_of_others_has_no_checkpoint(tmp_path):
    class Mine(Softmax):
        """Not of this library."""

    data = make_revs(8000, 50, random_state=0)
    with pytest.raises(
        ValueError, match=r"cannot keep this search: REVS.*Mine, which is not of this library"
    ):
        REVS(policy=Mine(), checkpoint=tmp_path / "state").fit(data.X, data.y)


def test_min_effect_reads_on():
    """Faint effects far below the others are found without a wish; one beyond all rows takes them all."""
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
        assert np.array_equal(easy.support_, data.support)
    strong = data.X[:, 0] + data.y.std() * np.random.default_rng(0).standard_normal(300_000)
    easy = REVS(random_state=0).fit(data.X, strong)
    assert easy.stop_reason_ == "decided"
    assert easy.n_rows_read_ <= 51_200 < easy.n_rows_seen_ == 300_000
    limit = np.nanmax(easy.detectable_)
    for wish, reason in ((1.01 * limit, "decided"), (0.5 * limit, "all rows")):
        assert REVS(random_state=0, min_effect=wish).fit(data.X, strong).stop_reason_ == reason
    for bad in (0.0, -1.0, "small"):
        with pytest.raises(ValueError, match="min_effect="):
            REVS(min_effect=bad).fit(data.X[:6000], data.y[:6000])
