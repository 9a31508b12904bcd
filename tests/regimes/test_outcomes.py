"""Who is done and keeps an outcome, who is lost, and one outcome at the end of the study."""

import numpy as np
import pytest

from rlselect import QLearning, TrialData, regime_value


def smart(n=200, seed=0):
    """Responders get no second action; everyone has one outcome, about 10."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    first, second = rng.choice(["a", "b"], size=(2, n))
    responds = rng.uniform(size=n) < np.where(first == "a", 0.7, 0.3)
    outcome = 10.0 + 2.0 * responds + x * (second == "a") * ~responds + rng.normal(size=n)
    return {
        "x": x,
        "z": np.where(responds, np.nan, z),
        "A1": first,
        "A2": np.where(responds, None, second),
        "Y": outcome,
    }


STAGES = [
    {"history": ["x"], "action": "A1", "propensity": "randomized"},
    {"history": ["z"], "action": "A2", "reward": "Y", "propensity": "randomized"},
]


def test_responders_keep_their_outcome():
    table = smart()
    trial = TrialData.from_wide(table, STAGES)
    assert list(trial.history(2)) == ["x", "A1", "z"]
    assert regime_value(trial, "observed").value == pytest.approx(table["Y"].mean())
    plain = TrialData.from_wide(
        table | {"R1": np.zeros(200)}, [STAGES[0] | {"reward": "R1"}, STAGES[1]], leaving="weights"
    )
    assert np.array_equal(trial.returns(), plain.returns())
    assert (plain.remaining_probabilities(1) == 1.0).all()  # nobody was lost


@pytest.mark.parametrize("method", ["ipw", "dr"])
def test_values_of_a_trial_with_responders(method):
    """E Y under (a, a) is 10 + 2 x 0.7: the second stage adds x, whose mean is 0."""
    errors = []
    for seed in range(3):
        trial = TrialData.from_wide(smart(600, seed), STAGES)
        found = regime_value(trial, ["a", "a"], method=method, model="linear", random_state=0)
        errors.append((found.value - 11.4) / found.standard_error)
    assert np.abs(errors).max() < 3.0


def test_learning_sees_that_the_first_action_makes_responders():
    learner = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(smart(400), STAGES))
    assert set(learner.predict({"x": [0.0, 1.0, -1.0]})) == {"a"}
    # a responder or not, the best first action and the better second one: 11.4 + .3 E max(x, 0)
    assert abs(learner.value_.value - 11.52) < 3 * learner.value_.standard_error


def test_one_outcome_in_long_tables_is_in_the_last_row():
    table = smart(60)
    responds = np.array([action is None for action in table["A2"]])
    rows = [
        (i, 1, table["x"][i], table["A1"][i], table["Y"][i] if responds[i] else np.nan) for i in range(60)
    ]
    rows += [(i, 2, table["z"][i], table["A2"][i], table["Y"][i]) for i in range(60) if not responds[i]]
    names = ["id", "t", "x", "act", "Y"]
    long = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    roles = {"id": "id", "stage": "t", "action": "act", "reward": "Y", "covariates": ["x"]}
    for leaving in ("ends", "weights"):
        trial = TrialData.from_long(long, **roles, propensity="randomized", leaving=leaving)
        assert list(trial.history(2)) == ["x_1", "act_1", "x_2"]
        assert np.allclose(trial.returns(), table["Y"])
        assert (trial.remaining_probabilities(1) == 1.0).all()


def test_lost_subjects_have_no_outcome():
    table = smart(200)
    lost = np.arange(200) % 5 == 0
    table["A2"] = np.where(lost, None, table["A2"])
    table["Y"] = np.where(lost, np.nan, table["Y"])
    with pytest.raises(ValueError, match=r"40 subject\(s\), the first in row 0, have no reward at any stage"):
        TrialData.from_wide(table, STAGES)
    trial = TrialData.from_wide(table, STAGES, leaving="weights")
    assert not trial.stages[1].known[lost].any()
    assert trial.stages[1].known[~lost].all()
    chances = trial.remaining_probabilities(1)
    assert abs(chances.mean() - 0.8) < 0.1
    found = regime_value(trial, ["a", "a"], model="linear", random_state=0)
    assert abs(found.value - 11.4) < 3.5 * found.standard_error


def test_the_last_stage_needs_a_reward():
    with pytest.raises(ValueError, match="stage 2 is the last one and has no reward"):
        TrialData.from_wide(smart(), [STAGES[0] | {"reward": "Y"}, {"history": ["z"], "action": "A2"}])


def test_every_algorithm_sees_the_outcome_of_those_who_are_done():
    """Paid at stage 1, where it is known already, or after it: the same responses, so the same machines."""
    table = smart(80)
    responds = np.array([action is None for action in table["A2"]])
    early = table | {
        "R1": np.where(responds, table["Y"], 0.0),
        "R2": np.where(responds, np.nan, table["Y"]),
    }
    stages = [STAGES[0] | {"reward": "R1"}, STAGES[1] | {"reward": "R2"}]
    # the reward of stage 1 is a constant for those who go on, and no history column varies less
    for selection in ("loo", "rfe-vpred"):
        fits = [
            QLearning(model="linear", selection=selection, random_state=0).fit(trial)
            for trial in (TrialData.from_wide(table, STAGES), TrialData.from_wide(early, stages))
        ]
        assert fits[0].selected_ == fits[1].selected_
        assert fits[0].value_.value == pytest.approx(fits[1].value_.value)
