"""The life of a RiskRFE: refits, copies, interrupts, callbacks and time budgets."""

import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from rlselect.machines._elimination import SquaredKernelProblem
from rlselect.subset import RiskRFE, Threshold


def _regression(seed, n=60, d=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 1] * X[:, min(4, d - 1)] + np.sin(X[:, min(6, d - 1)]) + 0.2 * rng.normal(size=n)


def _order(selector):
    return np.argsort(-selector.ranking_).tolist()


def test_a_second_fit_forgets_the_first():
    X, y = _regression(19, n=40, d=4)
    selector = RiskRFE(LinearRegression(), stopping=2).fit(X, y)
    selector.set_params(stopping=0).fit(X, y)
    assert not hasattr(selector, "estimator_")
    np.testing.assert_allclose(selector.predict(X), y.mean())
    tiny = RiskRFE(stopping=2, regularization=0.01, bandwidth=2.0).fit(X, 1e-14 * y)
    assert "constant" not in tiny.stop_reason_


def test_clone_and_pickle():
    X, y = _regression(16, n=40, d=4)
    selector = clone(RiskRFE(stopping=2)).fit(X, y)
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.predict(X), selector.predict(X))


def _interrupting(monkeypatch, times=1):
    """The fourth removal is interrupted by Ctrl-C."""
    original, calls = SquaredKernelProblem.removals, []

    def removals(self, count):
        calls.append(count)
        if len(calls) == 4:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return original(self, count)

    monkeypatch.setattr(SquaredKernelProblem, "removals", removals)


def test_an_interrupt_leaves_a_valid_fit(monkeypatch):
    X, y = _regression(17)
    whole = RiskRFE(regularization=0.01, bandwidth=3.0).fit(X, y)
    _interrupting(monkeypatch)
    selector = RiskRFE(regularization=0.01, bandwidth=3.0)
    with pytest.warns(UserWarning, match="interrupted after 3 of 9 removals"):
        selector.fit(X, y)
    assert selector.stop_reason_.startswith("interrupted; ")
    # three have left, in their order; of those that are left the first is best
    np.testing.assert_array_equal(_order(selector)[:3], _order(whole)[:3])
    assert _order(selector)[3:] == sorted(_order(whole)[3:], reverse=True)
    assert selector.n_features_ >= 6
    assert selector.predict(X).shape == (60,)
    assert "interrupted" in str(selector.summary())


def test_a_second_interrupt_leaves_the_old_fit(monkeypatch):
    X, y = _regression(17)
    selector = RiskRFE(regularization=0.01, bandwidth=3.0).fit(X, y)
    before = selector.predict(X)
    _interrupting(monkeypatch, times=2)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(100.0 * X + 5.0, -y)
    np.testing.assert_array_equal(selector.predict(X), before)


def test_a_failed_refit_leaves_the_old_fit():
    X, y = _regression(17)
    selector = RiskRFE().fit(X, y)
    before = selector.predict(X)
    with pytest.raises(ValueError, match="singular"):
        selector.set_params(regularization=1e-99, bandwidth=1e9).fit(
            10.0 * np.vstack([X, X]), np.append(y, y)
        )
    np.testing.assert_array_equal(selector.predict(X), before)


def test_callbacks_see_every_removal_and_may_stop(Watch):
    pytest.importorskip("sklearn.callback")
    X, y = _regression(17)
    quiet = RiskRFE(kernel="rbf").fit(X, y)
    for kernel, step, parts in (("rbf", 1, 9), ("rbf", 4, 9), ("auto", 1, 27)):
        watch = Watch()
        RiskRFE(kernel=kernel, step=step).set_callbacks(watch).fit(X, y)
        assert watch.ended
        assert watch.parts == parts
    stopped = RiskRFE().set_callbacks(Watch(most=3)).fit(X, y)
    assert stopped.stop_reason_.startswith("callback; ")
    np.testing.assert_allclose(stopped.path_["risk"], quiet.path_["risk"][:3])
    watch = Watch()
    RiskRFE().set_callbacks(watch).fit(X, np.ones(len(X)))
    assert watch.ended


def test_a_time_budget_stops_the_elimination():
    X, y = _regression(17)
    selector = RiskRFE(time_budget=1e-9).fit(X, y)
    assert selector.stop_reason_.startswith("time budget; ")
    # out of time, whole cycles are taken in one step
    assert selector.path_["n_features"].tolist() in ([9], [9, 1])
    assert selector.support_.any()
    for rule in ("change-point", "loo-ric", "held-out", Threshold(0.1), 2):
        assert RiskRFE(time_budget=1e-9, stopping=rule).fit(X, y).predict(X).shape == (60,)
