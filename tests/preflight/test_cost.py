"""How long a fit takes: longer for more, on a slower machine, and about as long as it does take."""

import time

import numpy as np
import pytest

import rlselect
from rlselect import _limits
from rlselect.preflight import _cost, check

METHODS = ["REVS", "ActorCriticPredictor", "DatumwiseClassifier", "QLearning", "TemporalProcessRegression"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outcome", ["number", "two classes", "classes", "count"])
def test_more_rows_or_columns_never_take_less(method, outcome):
    for n, p in [(10, 1), (300, 10), (4000, 100), (50_000, 30), (10**9, 1000)]:
        cost = _cost.cost_of(method, outcome, n, p)
        wider = _cost.cost_of(method, outcome, n, 2 * p)
        assert 0 < cost.seconds[0] < cost.seconds[1]
        assert cost.seconds[1] <= wider.seconds[1]
        assert 0 < cost.memory < wider.memory
        if n != 4000:  # beyond 5,000 rows REVS reads no more than it needs
            assert cost.seconds[1] <= _cost.cost_of(method, outcome, 2 * n, p).seconds[1]


def test_a_slower_machine_takes_longer(monkeypatch):
    here = _cost.cost_of("REVS", "number", 300, 20).seconds
    factor = _cost.slower_here()
    monkeypatch.setattr(_cost, "slower_here", lambda: 3 * factor)
    np.testing.assert_allclose(_cost.cost_of("REVS", "number", 300, 20).seconds, np.multiply(here, 3))


def test_the_speed_of_the_machine_is_timed_once(monkeypatch):
    _limits.slower_here.cache_clear()
    first = _limits.slower_here()
    assert 0.1 < first < 100
    monkeypatch.setattr(_limits, "_STEPS_SECONDS", 1.0)
    assert _limits.slower_here() == first


def test_a_fit_takes_about_as_long_as_was_said():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 40))
    y = X[:, 0] - X[:, 7] + rng.standard_normal(400)
    low, high = check(X, y).recommendation.seconds
    model = rlselect.REVS(random_state=0)
    start = time.process_time()
    model.fit(X, y)
    # others may be at work while the machine is timed
    assert low / 4 <= time.process_time() - start <= 4 * high
