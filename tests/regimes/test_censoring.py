"""Censored times: Kaplan-Meier by hand, values that censoring does not move, what is refused."""

import numpy as np
import pytest

from rlselect import QLearning, TrialData, regime_value
from rlselect.regimes._censoring import uncensored_probabilities


def test_probabilities_of_being_followed_by_hand():
    """Censored at 2 (of 5 still there) and at 4 (of 3): G is 1 up to 2, then 4/5, then 4/5 x 2/3 beyond 4."""
    total = np.array([1.0, 2.0, 2.0, 4.0, 5.0, 6.0])
    gone = np.array([False, True, False, True, False, False])
    # an event at 2 comes before the censoring at 2: of those left, 4 of 4 and more
    chances = uncensored_probabilities([total], [np.ones(6, bool)], gone[None], np.ones(6))[0]
    np.testing.assert_allclose(chances[~gone], [1.0, 1.0, 0.75 * 2 / 3, 0.75 * 2 / 3])


def test_stages_multiply_to_the_whole():
    rng = np.random.default_rng(0)
    first, second = rng.exponential(size=(2, 80))
    gone = rng.uniform(size=80) < 0.3
    gone[np.argmax(first + second)] = False
    present = [np.ones(80, bool), np.ones(80, bool)]
    censored = np.array([np.zeros(80, bool), gone])
    parts = uncensored_probabilities([first, second], present, censored, np.ones(80))
    whole = uncensored_probabilities([first + second], present[:1], gone[None], np.ones(80))[0]
    np.testing.assert_allclose(parts.prod(axis=0), whole)


def survival(n=1500, seed=0):
    """Two stages of time; who lives through the first (at most 1 long) enters the second."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    first, second = rng.choice(["a", "b"], size=(2, n))
    life = rng.exponential(np.exp(0.5 * (first == "a") + 0.3 * x))
    one = np.minimum(life, 1.0)
    goes_on = life > 1.0
    two = rng.exponential(np.where(second == "b", 1.5, 0.5))
    return {"x": x, "A1": first, "A2": second, "T1": one, "T2": two, "on": goes_on}, rng


STAGES = [
    {"history": ["x"], "action": "A1", "reward": "T1", "censored": "C1", "propensity": "randomized"},
    {"history": [], "action": "A2", "reward": "T2", "censored": "C2", "propensity": "randomized"},
]


def seen(table, rng, horizon):
    """The same lives as they are followed up to a random time."""
    total_one, on = table["T1"], table["on"]
    stop = rng.exponential(3.0, size=len(on))
    in_first = stop < total_one
    total = total_one + np.where(on, table["T2"], 0.0)
    in_second = on & ~in_first & (stop < total)
    acts = on & ~in_first
    return {
        "x": table["x"],
        "A1": table["A1"],
        "T1": np.minimum(total_one, stop),
        "C1": in_first,
        "A2": np.where(acts, table["A2"], None),
        "T2": np.where(acts, np.minimum(table["T2"], np.maximum(stop - total_one, 0.0)), np.nan),
        "C2": in_second,
    }


@pytest.mark.parametrize("method", ["ipw", "dr"])
def test_censoring_does_not_move_values(method):
    """Value of (a, b) by following it in fresh subjects, beside what is estimated from censored ones."""
    horizon, errors, naive = 3.0, [], []
    truth, rng = survival(200_000, 99)
    life = np.random.default_rng(5).exponential(np.exp(0.5 + 0.3 * truth["x"]))
    total = np.minimum(life, 1.0) + (life > 1.0) * np.random.default_rng(6).exponential(1.5, size=len(life))
    worth = np.minimum(total, horizon).mean()
    for seed in range(3):
        table, rng = survival(seed=seed)
        followed = seen(table, rng, horizon)
        trial = TrialData.from_wide(followed, STAGES, horizon=horizon)
        assert 0.2 < np.mean(trial.lost(1) | trial.lost(2)) < 0.5
        found = regime_value(trial, ["a", "b"], method=method, model="linear", random_state=0)
        errors.append((found.value - worth) / found.standard_error)
        cut = np.minimum(followed["T1"] + np.nan_to_num(followed["T2"]), horizon)
        naive.append(cut[(followed["A1"] == "a") & (followed["A2"] != "a")].mean() - worth)
    assert np.abs(errors).max() < 3.0
    assert np.mean(naive) < -0.2


def test_learning_from_censored_times():
    table, rng = survival(600, 3)
    trial = TrialData.from_wide(seen(table, rng, 3.0), STAGES, horizon=3.0)
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert set(learner.predict({"x": [-1.0, 0.0, 1.0]})) == {"a"}
    assert set(learner.predict(trial, 2)) == {"b"}
    notes = " ".join(learner.summary().dict["notes"])
    assert "censored" in notes
    assert "Time counts up to 3." in notes
    # the observed value weighs as well: not censored, the same trial says the same within its error
    on = table["on"]
    total = np.minimum(table["T1"] + np.where(on, table["T2"], 0.0), 3.0)
    assert abs(learner.observed_.value - total.mean()) < 3.0 * learner.observed_.standard_error


def test_long_tables_tell_by_row():
    long = {"id": [0, 0, 1, 2, 2, 3, 3, 4], "t": [1, 2, 1, 1, 2, 1, 2, 1], "A": list("abaabbab")}
    long |= {"time": [1.0, 2.0, 0.5, 1.0, 1.5, 1.0, 3.0, 0.7], "c": [0, 0, 1, 0, 1, 0, 0, 0]}
    roles = {"id": "id", "stage": "t", "action": "A", "reward": "time", "covariates": []}
    trial = TrialData.from_long(long, **roles, censored="c")
    assert trial.lost(1).tolist() == [False, True, False, False, False]
    assert trial.lost(2).tolist() == [False, False, True, False, False]


def test_what_cannot_be_told_from_censored_times():
    table, rng = survival(200)
    followed = seen(table, rng, 3.0)
    late = followed | {"T1": followed["T1"] + 50.0 * (np.arange(200) == 0), "C1": followed["C1"].copy()}
    late["C1"][0], late["A2"][0] = True, None
    with pytest.raises(ValueError, match=r"the longest time, .* give a horizon up to which time counts"):
        TrialData.from_wide(late, STAGES)
    both = followed | {"C1": np.array([action is not None for action in followed["A2"]])}
    with pytest.raises(ValueError, match="are censored at stage 1 but have an action at stage 2"):
        TrialData.from_wide(both, STAGES)
    with pytest.raises(ValueError, match="with censored stages rewards are times and must not be negative"):
        TrialData.from_wide(followed | {"T1": -followed["T1"]}, STAGES)
    plain = [{**stage, "censored": None} for stage in STAGES]
    with pytest.raises(ValueError, match=r"horizon=2.0 was given, but no stage has a 'censored' column"):
        TrialData.from_wide(followed, plain, horizon=2.0)


def test_values_of_times_stay_between_0_and_the_horizon():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=60), "A": rng.choice(["a", "b"], size=60)}
    life, stop = rng.exponential(20.0, size=60), rng.exponential(5.0, size=60)
    table |= {"T": np.minimum(life, stop), "C": stop < life}
    stage = {"history": ["x"], "action": "A", "reward": "T", "censored": "C", "propensity": "1:1"}
    trial = TrialData.from_wide(table, [stage], horizon=1.0)
    found = regime_value(trial, ["a"], model="linear", random_state=0)
    assert found.value + 2.0 * found.standard_error > 1.0
    assert 0.0 <= found.interval[0] <= found.value <= found.interval[1] <= 1.0
