"""Short rules with a value of their own."""

import json

import numpy as np
import pytest

from rlselect import AdvantageLearning, QLearning, TrialData, compare_regimes, regime_value
from rlselect._clock import Clock, OutOfTime
from rlselect.persist import load, save
from rlselect.regimes import PolicyTree, PolicyTreeDisplay
from rlselect.regimes._policy_tree import TreeSplit, _conditions, offer_splits, rows_in_time
from rlselect.regimes._stages import HistoryColumn


def one_stage(n=300, seed=0, **stage):
    """The drug helps where x > 1 alone: worth E max(x - 1, 0)."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(10.0, 1.0, size=(2, n))
    action = rng.choice(["drug", "rest"], size=n)
    gain = 0.5 * z + (action == "drug") * 2.0 * np.where(x > 10.5, 1.0, -1.0)
    table = {"x": x, "z": z, "A": action, "R": gain + 0.5 * rng.normal(size=n)}
    stages = [{"history": ["x", "z"], "action": "A", "reward": "R", "propensity": "randomized", **stage}]
    return TrialData.from_wide(table, stages)


@pytest.fixture(scope="module")
def trial():
    return one_stage()


@pytest.fixture(scope="module")
def learner(trial):
    return QLearning(model="anova", random_state=0).fit(trial)


def test_trees_are_grown_in_haste_when_time_runs_out_among_them(learner, monkeypatch):
    """Not those of all folds, and not from all rows, where time is up; nothing changes where it is not."""
    asked = []

    def late():
        asked.append(1)
        if len(asked) == 3:
            raise OutOfTime

    monkeypatch.setattr("rlselect.regimes._learner.stop_if_late", late)
    broken = learner.policy_tree(1, random_state=0)
    assert len(asked) == 3
    assert str(broken).startswith("stage 1: rest if x <= 10.")
    monkeypatch.undo()
    with Clock(0.0):
        assert str(learner.policy_tree(1, random_state=0)).startswith("stage 1: rest if x <= 10.")
        assert len(rows_in_time(np.arange(200), [None] * 9000, 2)) == 2
        assert len(rows_in_time(np.arange(200), [], 2)) == 200
    assert len(rows_in_time(np.arange(200), [None] * 9000, 1)) == 200


def test_the_rule_is_found_and_is_a_regime(learner, trial):
    tree = learner.regime_
    assert isinstance(tree, PolicyTree)
    assert str(tree).startswith("stage 1: rest if x <= 10.")
    assert f"value of these rules: {tree.value_}" in str(tree)
    history = {"x": [10.0, 11.0]}
    assert list(tree.predict(history)) == ["rest", "drug"]
    assert list(tree.predict(history, "stage 1")) == ["rest", "drug"]
    # 5 + 2 P(x > 10.5)
    assert abs(tree.value_.value - 5.617) < 3 * tree.value_.standard_error
    assert tree.agreement_ == [tree[0].agreement]
    assert tree[0].agreement == np.mean(tree.predict(trial) == learner.predict(trial))
    assert learner.policy_tree(2, random_state=0)[0].text == tree[0].text


def test_what_is_printed_is_what_is_done(learner, trial):
    """Thresholds are the numbers that are written."""
    threshold = float(str(learner.regime_[0].text).split("x <= ")[1].split(";")[0])
    by_hand = np.where(trial.history(1)["x"] <= threshold, "rest", "drug")
    assert np.array_equal(learner.regime_.predict(trial), by_hand)


def test_values_take_trees_learners_and_functions_alike(learner):
    other = one_stage(200, 1)
    regimes = {
        "tree": learner.regime_,
        "function": lambda history, stage: learner.regime_.predict(history, stage),
        "learner": learner,
    }
    found = compare_regimes(other, regimes, model="linear", random_state=0).values
    assert found["tree"].value == found["function"].value
    assert abs(found["learner"].value - found["tree"].value) < 0.2


def test_feasibility_is_respected():
    def feasible(history):
        return np.column_stack([history["z"] < 11.0, np.ones(len(history["z"]), bool)])

    rng = np.random.default_rng(0)
    x, z = rng.normal(10.0, 1.0, size=(2, 300))
    action = np.where((rng.uniform(size=300) < 0.5) & (z < 11.0), "drug", "rest")
    table = {"x": x, "z": z, "A": action, "R": (action == "drug") * (x - 9.5) + 0.3 * rng.normal(size=300)}
    stage = {"history": ["x", "z"], "action": "A", "reward": "R", "feasible": feasible}
    trial = TrialData.from_wide(table, [stage | {"propensity": "randomized"}])
    tree = QLearning(model="linear", random_state=0).fit(trial).regime_
    advice = tree.predict(trial)
    assert "drug" in advice
    assert "where that is not feasible, the first that is of drug, rest" in tree[0].text
    assert set(advice[z >= 11.0]) == {"rest"}
    regime_value(trial, tree, model="linear", random_state=0)  # refuses what is not feasible


def test_costs_change_trees_and_their_value(learner):
    assert learner.policy_tree(costs={"drug": 10.0})[0].text == "always rest"
    free, paid = (learner.policy_tree(1, costs=c, random_state=0) for c in (None, {"drug": 0.5}))
    share = np.mean(free.predict(one_stage()) == "drug")
    assert free.value_.value - paid.value_.value == pytest.approx(0.5 * share, abs=0.05)
    dear = np.where(one_stage().history(1)["z"] > 10.0, 10.0, 0.0)
    assert "z" not in learner.policy_tree(2, costs={"drug": dear})[0].text  # it is no decision feature
    for bad, sentence in (({"pill": 1.0}, "costs names the action"), ({"drug": [1.0]}, "has shape")):
        with pytest.raises(ValueError, match=sentence):
            learner.policy_tree(costs=bad)
    for depth in (-1, 4, 1.5):
        with pytest.raises(ValueError, match="an integer between 0 and 3"):
            learner.policy_tree(depth)


def test_exports_and_the_picture(learner):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    plain = json.loads(learner.regime_.export("json"))
    (stage,) = plain["stages"]
    assert stage["tree"]["column"] == "x"
    assert (stage["tree"]["at_most"], stage["tree"]["above"]) == ({"action": "rest"}, {"action": "drug"})
    assert plain["value"] == learner.regime_.value_.value
    assert learner.regime_.export() == str(learner.regime_)
    with pytest.raises(ValueError, match="form='xml'"):
        learner.regime_.export("xml")
    drawn = PolicyTreeDisplay.from_tree(learner.regime_)
    words = [text.get_text() for text in drawn.axes_[0].texts]
    assert {"drug", "rest", "x?"} <= set(words)
    plt.close("all")


def test_a_saved_learner_keeps_its_rule_but_not_its_trial(learner, trial, tmp_path):
    save(learner, tmp_path / "learner.rls")
    again = load(tmp_path / "learner.rls")
    assert str(again.regime_) == str(learner.regime_)
    with pytest.raises(ValueError, match="holds no trial"):
        again.policy_tree()
    assert again.policy_tree(trial=trial, random_state=0)[0].needed == ["x"]


def test_contrasts_have_rules_too(trial):
    learner = AdvantageLearning(model="linear", selection=None, random_state=0).fit(trial)
    assert "x <= " in str(learner.regime_)
    assert abs(learner.regime_.value_.value - 5.617) < 4 * learner.regime_.value_.standard_error


def test_scores_of_a_tree_are_the_doubly_robust_ones(trial):
    """With a regime that cannot vary, the value is that of the fixed regime."""
    learner = QLearning(model="linear", random_state=0).fit(trial)
    tree = learner.policy_tree(0, random_state=0)
    (label,) = set(tree.predict(trial))
    fixed = regime_value(trial, [label], model="linear", random_state=0, n_folds=10)
    assert tree.value_.value == pytest.approx(fixed.value, abs=0.25 * fixed.standard_error)
    assert tree.value_.standard_error == pytest.approx(fixed.standard_error, rel=0.1)


def test_a_rule_names_each_column_once():
    low, high, other = (TreeSplit(0, "kidney", bound) for bound in (0.45, 0.62, 0.8))
    age, red, blue = (
        TreeSplit(1, "age", 65.0),
        TreeSplit(2, "hue", 0.0, "red"),
        TreeSplit(2, "hue", 1.0, "blue"),
    )
    assert _conditions([(high, True), (age, False), (low, False)]) == ["0.45 < kidney <= 0.62", "age > 65"]
    assert _conditions([(high, False), (other, False)]) == ["kidney > 0.8"]
    assert _conditions([(high, True), (low, True)]) == ["kidney <= 0.45"]
    assert _conditions([(red, True), (blue, False)]) == ["hue is blue"]
    assert _conditions([(red, True), (blue, True)]) == ["hue is not red", "hue is not blue"]
    # of two labels, the other one has a name
    smoker = HistoryColumn("smoker", "category", ("no", "yes"))
    told = offer_splits([smoker], [0], np.array([[0.0], [1.0]]), 2)
    assert [split.sides() for split in told] == [("smoker is no", "smoker is yes")]
