"""Missing history values: refused, or filled and marked, in trials and in what is predicted for."""

import numpy as np
import pytest

from rlselect import QLearning, TrialData, load, save


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x, gap = rng.normal(size=n), rng.uniform(size=n) < 0.3
    site = rng.choice(["north", "south", None], size=n)
    action = rng.choice([-1, 1], size=n)
    # those whose value is missing gain from action 1
    reward = action * np.where(gap, 2.0, x) + 0.3 * rng.normal(size=n)
    return {"x": np.where(gap, np.nan, x), "site": site, "A": action, "R": reward}, gap


STAGE = {"history": ["x", "site"], "action": "A", "reward": "R", "propensity": {-1: 0.5, 1: 0.5}}


def test_gaps_are_refused_unless_asked_for():
    columns, gap = table()
    with pytest.raises(ValueError, match=r"'x' is NaN or infinite .* say missing='indicator'"):
        TrialData.from_wide(columns, [STAGE])
    with pytest.raises(ValueError, match="missing='mean' was given; it must be one of"):
        TrialData.from_wide(columns, [STAGE], missing="mean")
    trial = TrialData.from_wide(columns, [STAGE], missing="indicator")
    history = trial.history(1)
    assert list(history) == ["x", "x=missing", "site"]
    assert np.array_equal(history["x=missing"] == 1.0, gap)
    np.testing.assert_allclose(history["x"][gap], np.nanmean(columns["x"]))
    np.testing.assert_allclose(history["x"][~gap], columns["x"][~gap])
    assert set(history["site"]) == {"north", "south", "missing"}


def test_what_is_missing_may_decide(tmp_path):
    columns, gap = table()
    trial = TrialData.from_wide(columns, [STAGE], missing="indicator")
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert {"x", "x=missing"} <= set(learner.selected_[0])
    notes = " ".join(learner.summary().dict["notes"])
    assert f"Missing values of 'x' ({gap.sum()} of 200 subjects) have the mean of the others" in notes
    assert "'site'" in notes
    new = {"x": [np.nan, -2.0, 2.0], "site": [None, "north", "south"]}
    assert learner.predict(new).tolist() == [1, -1, 1]
    save(learner, tmp_path / "learner")
    assert load(tmp_path / "learner").predict(new).tolist() == [1, -1, 1]
    assert learner.regime_.predict(new)[1:].tolist() == [-1, 1]


def test_columns_without_gaps_may_have_none_later():
    columns, gap = table()
    whole = {name: values[~gap] for name, values in columns.items()} | {"site": np.repeat("n", (~gap).sum())}
    trial = TrialData.from_wide(whole, [STAGE | {"history": ["x"]}], missing="indicator")
    assert list(trial.history(1)) == ["x"]
    learner = QLearning(model="linear", random_state=0).fit(trial)
    with pytest.raises(ValueError, match="'x' holds NaN"):
        learner.predict({"x": [np.nan]})
