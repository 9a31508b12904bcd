import numpy as np
import pytest

from rlselect import QLearning, TrialData, compare_regimes
from rlselect.regimes import DecisionMapDisplay, RegimeValueDisplay, StageObjectiveDisplay, TailoringDisplay
from rlselect.report import NotDrawnError


def test_displays(learner, trial):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    drawn = StageObjectiveDisplay.from_estimator(learner)
    assert len(drawn.axes_) == 2
    decision = DecisionMapDisplay.from_estimator(learner, trial, stage=2, resolution=10)
    assert decision.decision.shape == (10, 10)
    assert set(decision.names) <= set(learner.tailoring_[1])
    with pytest.raises(ValueError, match="two history columns"):
        DecisionMapDisplay.from_estimator(learner, trial, stage=2, features=["X1_1", "no"])
    compared = compare_regimes(
        trial, {"always": [1, 1], "observed": "observed"}, method="ipw", random_state=0
    )
    assert len(RegimeValueDisplay.from_comparison(compared).ax_.get_yticks()) == 2
    own = RegimeValueDisplay.from_estimator(learner)
    assert list(own.values.values()) == [learner.value_, learner.regime_.value_, learner.observed_]
    on_trial = RegimeValueDisplay.from_estimator(learner, trial)
    always = [name for name in on_trial.values if name.endswith("for all")]
    assert list(on_trial.values) == ["the regime", "its trees", *always, "what was done"]
    fixed = compare_regimes(trial, {"a": [trial.stages[0].labels[0]] * 2}, random_state=0)
    assert on_trial.values[always[0]].value == pytest.approx(fixed.values["a"].value)
    tailoring = TailoringDisplay.from_estimator(learner)
    slopes = {one.slope for effects in learner.tailoring_effects_ for one in effects}
    assert slopes <= {line.get_xdata()[0] for line in tailoring.ax_.lines}
    with pytest.raises(ValueError, match="eliminated nothing"):
        StageObjectiveDisplay.from_estimator(QLearning(model="linear", selection=None).fit(trial))
    plt.close("all")


def test_a_map_of_one_column_is_refused():
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(0)
    x, action = rng.normal(size=60), rng.integers(0, 2, 60)
    table = {"x": x, "a": action, "r": x * action + 0.1 * rng.normal(size=60)}
    trial = TrialData.from_wide(table, [{"history": ["x"], "action": "a", "reward": "r"}])
    learner = QLearning(model="linear", selection=None, random_state=0).fit(trial)
    with pytest.raises(NotDrawnError, match="two columns of numbers; the history of stage 1 has 1"):
        DecisionMapDisplay.from_estimator(learner)
