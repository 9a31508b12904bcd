from functools import cache

import numpy as np
import polars as pl
import pytest

from rlselect.regimes import QLearning, TrialData


def wide(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=n),
        "A1": rng.choice(["a", "b"], size=n),
        "R1": rng.normal(size=n),
        "z": rng.normal(size=n),
        "A2": rng.choice([0, 1, 2], size=n),
        "R2": rng.normal(size=n),
    }


STAGES = [
    {"history": ["x"], "action": "A1", "reward": "R1"},
    {"history": ["z"], "action": "A2", "reward": "R2"},
]


def test_histories_accumulate():
    table = wide()
    trial = TrialData.from_wide(table, STAGES)
    assert [c.name for c in trial.stages[0].columns] == ["x"]
    assert [c.name for c in trial.stages[1].columns] == ["x", "A1", "R1", "z"]
    history = trial.history(2)
    np.testing.assert_array_equal(history["A1"], table["A1"])
    np.testing.assert_allclose(history["R1"], table["R1"])
    assert trial.stages[1].labels == (0, 1, 2)
    assert "40 subjects, 2 stages" in repr(trial)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_the_same_as_dicts(kind):
    table = wide()
    module = pytest.importorskip(kind)
    frame = module.table(table) if kind == "pyarrow" else module.DataFrame(table)
    one, two = TrialData.from_wide(table, STAGES), TrialData.from_wide(frame, STAGES)
    for a, b in zip(one.stages, two.stages, strict=True):
        np.testing.assert_array_equal(a.history, b.history)
        np.testing.assert_array_equal(a.action, b.action)


def test_files_and_lazy_frames_are_tables(tmp_path):
    table = wide()
    frame = pl.DataFrame(table)
    frame.write_csv(tmp_path / "trial.csv")
    plain = TrialData.from_wide(table, STAGES)
    for other in (frame.lazy(), tmp_path / "trial.csv", {name: list(v) for name, v in table.items()}):
        trial = TrialData.from_wide(other, STAGES)
        np.testing.assert_allclose(trial.stages[1].history, plain.stages[1].history, rtol=1e-12)
        assert trial.stages[1].labels == plain.stages[1].labels
    learner = QLearning(model="linear", selection=None, random_state=0).fit(plain)
    assert list(learner.predict(tmp_path / "trial.csv")) == list(learner.predict(table))
    assert list(learner.predict(frame.lazy(), stage=2)) == list(learner.predict(plain, stage=2))


def test_roles_may_be_arrays():
    table = wide() | {"chance": np.full(40, 0.5)}
    named = STAGES[0] | {"propensity": "chance"}
    arrays = named | {"action": pl.Series(table["A1"]), "reward": list(table["R1"])}
    arrays["propensity"] = table["chance"]
    plain, given = (TrialData.from_wide(table, [first, STAGES[1]]) for first in (named, arrays))
    np.testing.assert_array_equal(given.stages[1].history, plain.stages[1].history)
    assert [c.name for c in given.stages[1].columns] == ["x", "action_1", "reward_1", "z"]
    long = {"x": np.tile(table["x"], 2)}
    roles = {
        "id": np.tile(np.arange(40)[::-1], 2),
        "stage": np.repeat([1, 2], 40),
        "action": np.tile(table["A1"], 2),
        "reward": np.tile(table["R1"], 2),
    }
    trial = TrialData.from_long(long, **roles, covariates=["x"], propensity=np.full(80, 0.5))
    same = TrialData.from_long(
        long | roles, **{r: r for r in roles}, covariates=["x"], propensity="randomized"
    )
    np.testing.assert_array_equal(trial.stages[1].history, same.stages[1].history)
    np.testing.assert_array_equal(trial.history(1)["x"], table["x"])
    assert list(trial.history(2)) == ["x", "action_1", "reward_1"]


def test_long_equals_wide():
    table = wide()
    n = len(table["x"])
    long = {
        "id": np.tile(np.arange(n), 2),
        "t": np.repeat([1, 2], n),
        "act": np.concatenate([table["A1"], table["A1"]]),
        "gain": np.concatenate([table["R1"], table["R2"]]),
        "x": np.concatenate([table["x"], np.full(n, np.nan)]),
        "z": np.concatenate([np.full(n, np.nan), table["z"]]),
    }
    keys = {"id": "id", "stage": "t", "action": "act", "reward": "gain", "covariates": ["x", "z"]}
    trial = TrialData.from_long(long, **keys)
    same = TrialData.from_wide(table | {"A2": table["A1"]}, STAGES)
    np.testing.assert_allclose(trial.stages[1].history, same.stages[1].history)
    assert [c.name for c in trial.stages[1].columns] == ["x_1", "act_1", "gain_1", "z_2"]
    long["t"] = np.ones(2 * n)
    with pytest.raises(ValueError, match="Subject 0 has 2 rows at stage"):
        TrialData.from_long(long, **keys)


def test_early_leavers_and_their_weights():
    table = wide(400)
    rng = np.random.default_rng(1)
    stays = rng.uniform(size=400) < 1.0 / (1.0 + np.exp(-1.0 - 1.5 * table["x"]))
    table["A2"] = np.where(stays, table["A2"].astype(float), np.nan)
    table["z"] = np.where(stays, table["z"], np.nan)
    table["R2"] = np.where(stays, table["R2"], np.nan)
    ends = TrialData.from_wide(table, STAGES)
    lost = TrialData.from_wide(table, STAGES, leaving="weights")
    assert ends.stages[1].present.sum() == stays.sum()
    # what was made of them was said nowhere
    gone = 400 - stays.sum()
    assert ends.notes()[0] == (
        f"Of the subjects without an action at stage 2, {gone} were done, and what they had so far counts."
    )
    assert f"{gone} were lost, and those who stayed stand for them" in lost.notes()[0]
    assert TrialData.from_wide(wide(40), STAGES).notes() == []
    assert (ends.remaining_probabilities(1) == 1).all()
    chance = lost.remaining_probabilities(1)
    truth = 1.0 / (1.0 + np.exp(-1.0 - 1.5 * table["x"]))
    assert np.abs(chance - truth).mean() < 0.08
    with pytest.raises(ValueError, match="leaving='never' is not known"):
        TrialData.from_wide(table, STAGES, leaving="never")


def test_propensities():
    table = wide(300)
    table["known"] = np.full(300, 0.25)
    stage = dict(STAGES[0])
    half = TrialData.from_wide(table, [stage | {"propensity": "randomized"}]).action_probabilities(1)
    assert np.allclose(half[0], [np.mean(table["A1"] == "a"), np.mean(table["A1"] == "b")])
    given = TrialData.from_wide(table, [stage | {"propensity": {"a": 0.3, "b": 0.7}}])
    assert np.allclose(given.action_probabilities(1)[5], [0.3, 0.7])
    column = TrialData.from_wide(table, [stage | {"propensity": "known"}]).action_probabilities(1)
    assert np.allclose(np.sort(column, axis=1), [0.25, 0.75])
    for ratio in ("1:3", "randomised 1:3", "randomized 0.5:1.5"):
        found = TrialData.from_wide(table, [stage | {"propensity": ratio}])
        assert np.allclose(found.action_probabilities("stage 1"), [0.25, 0.75])
    for bad in (
        {"a": 0.5},
        {"a": 0.5, "b": 0.6},
        "coin",
        "1:1:1",
        "1:0",
        None,
        np.full(300, 2.0),
        np.ones(3),
    ):
        with pytest.raises(ValueError, match="propensity"):
            TrialData.from_wide(table, [stage | {"propensity": bad}])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"R2": np.nan}, "reward 'R2' of stage 2 is NaN"),
        ({"z": np.nan}, "history column 'z' is NaN"),
        ({"A1": None}, "have an action at stage 2 but none at stage 1"),
    ],
)
def test_one_bad_entry(change, message):
    table = wide()
    for name, value in change.items():
        table[name] = table[name].astype(object)
        table[name][3] = value
    with pytest.raises(ValueError, match=message):
        TrialData.from_wide(table, STAGES)


def test_other_bad_input():
    table = wide()
    with pytest.raises(ValueError, match=r"stage 2 reward='R9' is not a column of data\. Did you mean 'R2'"):
        TrialData.from_wide(table, [STAGES[0], STAGES[1] | {"reward": "R9"}])
    with pytest.raises(ValueError, match="never observed"):
        TrialData.from_wide(table, [STAGES[0] | {"feasible": ["a", "b", "c"]}])
    with pytest.raises(ValueError, match="not in feasible"):
        TrialData.from_wide(table, [STAGES[0] | {"feasible": ["a"]}])
    with pytest.raises(ValueError, match="has only the action 'a'"):
        TrialData.from_wide(table | {"A1": np.full(40, "a")}, STAGES)
    with pytest.raises(ValueError, match="1 subject"):
        TrialData.from_wide({k: v[:1] for k, v in table.items()}, STAGES)
    with pytest.raises(ValueError, match="'history', 'action' and 'reward' are needed"):
        TrialData.from_wide(table, [{"history": ["x"], "treatment": "A1"}])
    with pytest.raises(ValueError, match="used twice"):
        TrialData.from_wide(table, [STAGES[0], STAGES[1] | {"history": ["x"]}])
    with pytest.raises(TypeError, match=r"stage 1 reward \(column 'R1'\) holds text \('high'\), but numbers"):
        TrialData.from_wide(table | {"R1": np.full(40, "high")}, STAGES)
    with pytest.raises(ValueError, match=r"stage 1 action \(column 'A1'\) mixes numbers \(0\) and text"):
        TrialData.from_wide(table | {"A1": [0, "a"] * 20}, STAGES)
    with pytest.raises(TypeError, match=r"stage 1 history \(column 'x'\) holds dates"):
        TrialData.from_wide(table | {"x": np.full(40, "2024", "M8[D]")}, STAGES)
    with pytest.raises(ValueError, match="list each column once"):
        TrialData.from_wide(table, [STAGES[0] | {"history": ["x", "x"]}])
    with pytest.raises(ValueError, match="differ in length"):
        TrialData.from_wide(table | {"x": np.zeros(3)}, STAGES)
    with pytest.raises(ValueError, match="non-empty list"):
        TrialData.from_wide(table, [])
    with pytest.raises(TypeError, match="data is of type int; give a data frame"):
        TrialData.from_wide(7, STAGES)
    with pytest.raises(ValueError, match="between 1 and 2"):
        TrialData.from_wide(table, STAGES).history(3)


def test_doses_and_hundreds_of_actions_are_refused():
    rng = np.random.default_rng(0)
    table = wide(120) | {"A1": rng.uniform(size=120)}
    with pytest.raises(
        ValueError, match=r"stage 1 has 120 different numbers as actions .*put them into a few"
    ):
        TrialData.from_wide(table, STAGES[:1])
    table["A1"] = np.array([f"ward {k % 30}" for k in range(120)])
    with pytest.raises(ValueError, match="stage 1 has 30 actions for 120 subjects"):
        TrialData.from_wide(table, STAGES[:1])
    table["A1"] = np.array([f"ward {k % 12}" for k in range(120)])
    assert len(TrialData.from_wide(table, STAGES[:1]).stages[0].labels) == 12
    table["A1"] = np.arange(120) % 10
    assert len(TrialData.from_wide(table, STAGES[:1]).stages[0].labels) == 10


def test_feasible_by_history():
    table = wide()

    def feasible(history):
        return np.column_stack([np.ones(len(history["x"]), bool), history["x"] > 0])

    table["A1"] = np.where(table["x"] > 0, table["A1"], "a")
    trial = TrialData.from_wide(table, [STAGES[0] | {"feasible": feasible}])
    chances = trial.action_probabilities(1)
    assert (chances[table["x"] <= 0] == [1.0, 0.0]).all()
    table["A1"][np.argmin(table["x"])] = "b"
    with pytest.raises(ValueError, match="could not"):
        TrialData.from_wide(table, [STAGES[0] | {"feasible": feasible}])


def test_bad_long_tables_and_stages():
    n = 10
    long = {
        "id": np.tile(np.arange(n), 2),
        "t": np.repeat([1.0, 2.0], n),
        "a": np.tile([0, 1], n),
        "r": np.zeros(2 * n),
        "x": np.arange(2.0 * n),
    }
    keys = {"id": "id", "stage": "t", "action": "a", "reward": "r", "covariates": "x"}
    assert [c.name for c in TrialData.from_long(long, **keys).stages[0].columns] == ["x_1"]
    with pytest.raises(ValueError, match=r"feasible names the stage\(s\) \[7\]"):
        TrialData.from_long(long, **keys, feasible={7: [0, 1]})
    long["t"][3] = np.nan
    with pytest.raises(ValueError, match=r"stage \(column 't'\) is missing in 1 row"):
        TrialData.from_long(long, **keys)
    for bad in (None, "x", ["x"]):
        with pytest.raises(ValueError, match="stage"):
            TrialData.from_wide(wide(), bad)


@cache
def in_plain_units():
    table = wide(80)
    table["R1"] = table["R1"] + 2.0 * table["x"] * (table["A1"] == "a")
    return table, QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, STAGES))


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_units_do_not_matter(size):
    table, plain = in_plain_units()
    other = table | {"x": table["x"] * size, "R2": table["R2"] * size, "R1": table["R1"] * size}
    scaled = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(other, STAGES))
    assert scaled.selected_ == plain.selected_
    assert scaled.value_.value == pytest.approx(size * plain.value_.value)
    assert [rule.agreement for rule in scaled.regime_] == [rule.agreement for rule in plain.regime_]
    assert "if x <=" in str(scaled.regime_)


@pytest.mark.parametrize(("name", "size"), [("x", 1e80), ("x", 1e-80), ("R1", 1e30), ("R2", 1e-30)])
def test_numbers_beyond_any_unit_are_refused(name, size):
    table = wide(40)
    with pytest.raises(ValueError, match=rf"'{name}'.* is as large as .*; use another unit"):
        TrialData.from_wide(table | {name: table[name] * size}, STAGES)


def test_rules_of_odd_names_and_large_offsets():
    table = wide(80)
    table["dose {mg}"] = 1e6 + table["x"]
    table["R1"] = 0.1 * table["R1"] + 2.0 * table["x"] * (table["A1"] == "a")
    stage = STAGES[0] | {"history": ["dose {mg}"]}
    rule = str(QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, [stage])).regime_)
    threshold = float(rule.split("dose {mg} <= ")[1].split(";")[0])
    assert 0.0 < abs(threshold - 1e6) < 0.7


def test_rewards_that_are_all_the_same_need_no_history():
    trial = TrialData.from_wide(wide() | {"R1": np.full(40, 0.1)}, STAGES[:1])
    learner = QLearning(random_state=0).fit(trial)
    assert learner.selected_ == [[]]
    assert "same for everyone" in learner.stop_reason_[0]
    assert learner.value_.value == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (["drug", "", "none"], "the action ''"),
        (["drug", "Drug", "none"], "'Drug' and 'drug', which differ in capitals or blanks"),
        (["drug", "none ", "none"], "'none' and 'none ', which"),
    ],
)
def test_labels_that_a_table_has_by_mistake_are_refused(actions, said):
    data = {"x": np.arange(12.0), "A": np.array(actions * 4, dtype=object), "R": np.arange(12.0)}
    with pytest.raises(ValueError, match=said):
        TrialData.from_wide(data, [{"history": ["x"], "action": "A", "reward": "R"}])


def test_columns_that_tell_the_reward_are_told_of():
    table = wide(60)
    table["after"] = np.exp(table["R2"])
    leaking = [STAGES[0], STAGES[1] | {"history": ["z", "after"]}]
    trial = TrialData.from_wide(table, leaking)
    (note,) = trial.notes()
    assert note.startswith("after tells the reward of stage 2 nearly without error")
    assert note in QLearning(model="linear", random_state=0).fit(trial).summary().dict["notes"]
    # a few subjects may be in the same order by chance
    assert TrialData.from_wide({name: values[:15] for name, values in table.items()}, leaking).notes() == []
