"""Curves from as many subjects as there is time for."""

import numpy as np
import pytest

from rlselect import TemporalProcessRegression


@pytest.mark.parametrize("clustered", [False, True])
def test_local_curves_take_a_sample_of_the_subjects(monkeypatch, clustered):
    rng = np.random.default_rng(0)
    n, times = 300, 6
    x, who = rng.normal(size=(n * times, 1)), np.repeat(np.arange(n), times)
    when = np.tile(np.arange(times), n) + rng.uniform(-0.4, 0.4, n * times)
    given = {"id": who, "time": when} | ({"cluster": who // 3} if clustered else {})
    y = x[:, 0] + rng.normal(size=n * times)
    model = TemporalProcessRegression(visits="local", grid=3, bandwidth=2.0, time_budget=100.0)
    assert model.fit(x, y, **given).stop_reason_ == "nothing to choose from"
    whole = model.coef_["x0"].to_numpy()
    monkeypatch.setattr("rlselect.temporal._in_time.seconds_for", lambda operations: 1e9)
    model.fit(x, y, **given)
    assert model.stop_reason_ == "time budget, 100 of 300 subjects"
    assert len(model.subjects_) == 100
    if clustered:
        assert model.n_independent_ == len(np.unique(model.subjects_ // 3))
    else:
        assert model.n_independent_ == 100
    np.testing.assert_allclose(model.coef_["x0"], whole, atol=0.15)
    mine = np.isin(who, model.subjects_)
    rows = {name: values[mine] for name, values in given.items()}
    alone = TemporalProcessRegression(visits="local", grid=model.times_, bandwidth=2.0)
    np.testing.assert_allclose(model.se_, alone.fit(x[mine], y[mine], **rows).se_)
