import pytest

from rlselect import QLearning, compare_regimes
from rlselect.regimes import DecisionMapDisplay, RegimeValueDisplay, StageObjectiveDisplay


def test_displays(learner, trial):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    drawn = StageObjectiveDisplay.from_estimator(learner)
    assert len(drawn.axes_) == 2
    decision = DecisionMapDisplay.from_estimator(learner, trial, 2, resolution=10)
    assert decision.decision.shape == (10, 10)
    assert set(decision.names) <= set(learner.tailoring_[1])
    with pytest.raises(ValueError, match="two history columns"):
        DecisionMapDisplay.from_estimator(learner, trial, 2, features=["X1_1", "no"])
    compared = compare_regimes(
        trial, {"always": [1, 1], "observed": "observed"}, method="ipw", random_state=0
    )
    assert len(RegimeValueDisplay.from_comparison(compared).ax_.get_yticks()) == 2
    own = RegimeValueDisplay.from_estimator(learner)
    assert list(own.values.values()) == [learner.value_, learner.observed_]
    with pytest.raises(ValueError, match="eliminated nothing"):
        StageObjectiveDisplay.from_estimator(QLearning(model="linear", selection=None).fit(trial))
    plt.close("all")
