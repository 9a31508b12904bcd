"""Ends of learning: time, Ctrl-C, callbacks. Each leaves the best policy so far."""

import signal
import threading
import time

import joblib
import numpy as np
import pytest

from rlselect import DatumwiseClassifier, _limits
from rlselect.datumwise import PaperIteration, PolicyIteration, _paper_iteration, _policy_iteration

LONG = {
    "default": PolicyIteration(n_iter=10_000, states_per_row=6),
    "paper": PaperIteration(n_iter=10_000, states_per_row=4),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "a", "b")


@pytest.fixture
def slowly(monkeypatch):
    """A clock that counts the work of this process alone, on a machine that is so many times as slow."""

    def on(slower):
        monkeypatch.setattr(time, "perf_counter", lambda: slower * time.process_time())
        for known in (_limits.slower_here, _limits._flops_per_second):
            known.cache_clear()

    yield on
    monkeypatch.undo()
    for known in (_limits.slower_here, _limits._flops_per_second):
        known.cache_clear()


@pytest.mark.parametrize("name", LONG)
def test_time_budget(rows, name, slowly):
    slowly(1.0)
    X, y = rows
    model = DatumwiseClassifier(search=LONG[name], time_budget=0.2, random_state=0).fit(X, y)
    assert model.stop_reason_ == "time budget"
    assert 1 <= len(model.path_["value"]) < 10_000
    assert model.score(X, y) > 0.5


def test_time_budget_on_a_slow_machine(slowly):
    """The first policies have to end: of many columns, they are made from few states."""
    X = np.random.default_rng(0).normal(size=(2000, 60))
    slowly(5.0)
    began = time.perf_counter()
    model = DatumwiseClassifier(time_budget=3.0, random_state=0).fit(X, X[:, 0] > 0)
    assert time.perf_counter() - began < 4.5
    assert model.stop_reason_.startswith("time budget")


def test_time_budget_where_joblib_would_take_other_processes(rows):
    X, y = rows
    model = DatumwiseClassifier(search=LONG["default"], time_budget=0.2, random_state=0, n_jobs=2)
    with joblib.parallel_config(backend="loky"):
        model.fit(X, y)
    assert model.stop_reason_ == "time budget"
    assert set(model.path_["climb"]) == {0, 1}


@pytest.mark.parametrize(
    ("name", "module", "step", "n_jobs"),
    [
        ("default", _policy_iteration, "improve", None),
        ("default", _policy_iteration, "improve", 2),
        ("paper", _paper_iteration, "_regress", None),
    ],
)
def test_first_ctrl_c_ends_after_the_iteration(rows, monkeypatch, name, module, step, n_jobs):
    X, y = rows
    whole, calls = getattr(module, step), []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return whole(*args)

    monkeypatch.setattr(module, step, interrupted)
    before = signal.getsignal(signal.SIGINT)
    model = DatumwiseClassifier(search=LONG[name], random_state=0, n_jobs=n_jobs)
    with pytest.warns(UserWarning, match=r"DatumwiseClassifier was interrupted after \d iterations; the fit"):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is before
    assert model.stop_reason_ == "interrupted"
    assert "interrupted" in str(model.summary())
    assert len(calls) <= 6
    assert model.score(X, y) > 0.5


def test_a_second_ctrl_c_keeps_the_best_so_far(rows, monkeypatch):
    X, y = rows
    whole, calls = _policy_iteration.improve, []

    def broken(*args):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return whole(*args)

    monkeypatch.setattr(_policy_iteration, "improve", broken)
    with pytest.warns(UserWarning, match="interrupted after 3 iterations"):
        model = DatumwiseClassifier(search=LONG["default"], random_state=0).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert len(calls) == 4
    assert model.score(X, y) > 0.5


def test_fits_in_other_threads_leave_signals_alone(rows):
    X, y = rows
    search = PolicyIteration(n_iter=1, n_restarts=1, states_per_row=4)
    models = []
    thread = threading.Thread(
        target=lambda: models.append(DatumwiseClassifier(search=search, random_state=0).fit(X, y))
    )
    thread.start()
    thread.join()
    assert models[0].score(X, y) > 0.5


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_callbacks_see_iterations(rows, n_jobs, Watch):
    pytest.importorskip("sklearn.callback")
    X, y = rows
    search = PolicyIteration(n_iter=2, n_restarts=2, states_per_row=4)
    watch = Watch()
    model = DatumwiseClassifier(search=search, random_state=0, n_jobs=n_jobs).set_callbacks(watch)
    model.fit(X, y)
    assert watch.ended
    assert watch.parts == 4
    quiet = DatumwiseClassifier(search=search, random_state=0).fit(X, y)
    assert (quiet.predict_proba(X) == model.predict_proba(X)).all()


def test_a_callback_may_stop_the_climb(rows, Watch):
    pytest.importorskip("sklearn.callback")
    X, y = rows
    stopper = Watch(most=3)
    long = PolicyIteration(n_iter=50, n_restarts=2, states_per_row=4)
    model = DatumwiseClassifier(search=long, random_state=0).set_callbacks(stopper).fit(X, y)
    assert model.stop_reason_ == "callback"
    assert len(model.path_["value"]) == 3
    assert model.score(X, y) > 0.5


def test_callbacks_of_an_exact_solution(rows, Watch):
    pytest.importorskip("sklearn.callback")
    watch = Watch()
    X = np.random.default_rng(0).integers(0, 2, size=(50, 2))
    DatumwiseClassifier(scoring="bins").set_callbacks(watch).fit(X, X[:, 0])
    assert watch.ended
