import numpy as np
import pytest

from rlselect.simulate import make_regime_trial
from rlselect.simulate._regimes import first_stage_two


def best(setting):
    def policy(h, t):
        if setting == "III":
            return np.where(h[f"X{t}_2"] > 45, 1, -1)
        if setting == "I":
            score = h["X1_3"] if t == 1 else 2 * h["X1_1"] + 1.5 * h["X1_2"] + h["R1"]
        elif t == 1:
            X = np.column_stack([h[f"X1_{j}"] for j in range(1, 5)])
            score = first_stage_two(X, 1) - first_stage_two(X, -1)
        else:
            score = 0.5 + 1.5 * h["R1"] + 1.5 * h["A1"] + 2 * (h["X2_1"] - h["X2_2"])
        return np.where(score > 0, 1, -1)

    return policy


@pytest.mark.parametrize("setting", ["I", "II", "III"])
def test_optimal_value(setting):
    trial = make_regime_trial(setting, 40_000, 5, policy=best(setting), random_state=0)
    total = sum(trial.columns[stage["reward"]] for stage in trial.stages)
    assert abs(total.mean() - trial.optimal_value) <= 4 * total.std() / 200 + 1e-9


def test_setting_three_as_printed():
    c = make_regime_trial("III", 20_000, 5, random_state=0).columns
    assert abs(c["X2_3"].mean() - 45) < 0.2
    assert abs(c["X3_2"].std() - 5) < 0.1
    assert np.corrcoef(c["X1_1"], c["X3_1"])[0, 1] > 0.9
    assert not c["R1"].any()
    loss = sum(
        np.abs(slope * c[f"X{t}_1"] - shift) * ((c[f"A{t}"] > 0) != (c[f"X{t}_2"] > 45))
        for t, slope, shift in [(1, 0.6, 35), (2, 0.8, 60), (3, 1.4, 55)]
    )
    np.testing.assert_allclose(c["R3"], 20 - loss)


def test_history_sizes_are_the_dissertations():
    trial = make_regime_trial("III", 10, 50, random_state=0)
    sizes = np.cumsum([len(stage["history"]) + 2 for stage in trial.stages]) - 1
    assert sizes.tolist() == [51, 103, 155]


def test_misses_and_proxies():
    trial = make_regime_trial("III", 10, 5, random_state=0)
    assert trial.missed({"X2_1", "A1", "X1_2", "X2_2"}, 2) == 0
    assert trial.missed({"A1", "X1_2", "X2_2"}, 2) == 1
    assert trial.extra({"X1_1", "X2_1", "X2_5"}, 2) == 1
    assert trial.missed([], 3, kind="decision") == 1
    assert make_regime_trial("II", 10, 5, random_state=0).missed(["X1_3"], 1, kind="direct") == 1
    with pytest.raises(ValueError, match="kind='all'"):
        trial.missed([], 1, kind="all")


def test_bad_input():
    with pytest.raises(ValueError, match="setting='IV'"):
        make_regime_trial("IV")
    with pytest.raises(ValueError, match="at least 5"):
        make_regime_trial("I", 10, 3)


def test_seeded():
    one, two = (make_regime_trial("II", 20, 5, random_state=4).columns for _ in range(2))
    assert all(np.array_equal(one[name], two[name]) for name in one)
