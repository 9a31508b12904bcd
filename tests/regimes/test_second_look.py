"""What eliminations cannot see: surplus columns, pairs, and what the next stage needs."""

import numpy as np
import pytest

from rlselect import AdvantageLearning, QLearning, TrialData
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._second_look import prune, recall_pairs, recall_strong
from rlselect.regimes._selection import StageSelection
from rlselect.regimes._stage_machine import StageMachine
from rlselect.simulate import make_regime_trial


def test_a_past_action_comes_back_with_its_covariate():
    simulated = make_regime_trial("III", 200, 5, random_state=3)
    stage = TrialData.from_wide(simulated.columns, simulated.stages).stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    names = encoder.names
    rng = np.random.default_rng(1)
    table = simulated.columns
    own = (table["X2_2"] - 45.0) * table["A2"] + 4.0 * rng.standard_normal(200)
    both = own + (table["X1_2"] - 45.0) * table["A1"]
    start = [names.index("X2_2")]
    for y, wanted in [(both, {"X2_2", "A1", "X1_2"}), (own, {"X2_2"})]:
        machine = StageMachine(encoder, X, y, np.ones(200), "anova").fit(start)
        wider, chosen = recall_pairs(machine, StageSelection(start, None, "one column"))
        assert {names[g] for g in wider.groups} == wanted
        assert chosen.groups == wider.groups
        assert ("A1 with X1_2" in chosen.reason) == (len(wanted) > 1)
        # The risk of a set with given parameters is that of a machine fitted with them.
        assert wider.risk_with(wider.groups) == pytest.approx(wider.loo_risk)


def test_a_column_that_an_elimination_lost_comes_back():
    rng = np.random.default_rng(0)
    X, action = rng.normal(size=(200, 12)), rng.choice(list("abc"), size=200)
    table = {f"x{j}": column for j, column in enumerate(X.T)} | {"A": action}
    table["R"] = X[:, 0] + X[:, 1] * (action == "b") - X[:, 2] * (action == "c") + rng.normal(size=200)
    history = [f"x{j}" for j in range(12)]
    stage = TrialData.from_wide(table, [{"history": history, "action": "A", "reward": "R"}]).stages[0]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    rows = encoder.encode(stage.history, stage.action)
    machine = StageMachine(encoder, rows, stage.reward, np.ones(200), "linear").fit([0])
    wider, chosen = recall_strong(machine, StageSelection([0], None, "one column"))
    assert sorted(wider.groups) == sorted(chosen.groups) == [0, 1, 2]
    assert chosen.reason == "one column, and x2, x1 beside them"
    same, _ = recall_strong(wider, chosen)
    assert same is wider
    settled, _ = QLearning(model="linear")._settle(machine, StageSelection([0], None, "one"), None)
    assert sorted(settled.groups) == [0, 1, 2]


def test_surplus_columns_of_the_last_stage_leave():
    simulated = make_regime_trial("I", 200, 8, random_state=6)
    stage = TrialData.from_wide(simulated.columns, simulated.stages).stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    groups = sorted(encoder.names.index(name) for name in ("R1", "X1_1", "X1_2", "X1_5", "X1_7", "X1_8"))
    machine = StageMachine(encoder, X, stage.reward, np.ones(200), "anova").fit(groups)
    fewer, chosen = QLearning()._settle(machine, StageSelection(groups, None, "six columns"), None)
    assert {encoder.names[g] for g in fewer.groups} == {"R1", "X1_1", "X1_2", "X1_5"}
    assert chosen.groups == fewer.groups
    assert "less X1_" in chosen.reason
    # Before a stage whose needs are known nothing leaves.
    same, _ = QLearning()._settle(machine, StageSelection(groups, None, "six columns"), ["X1_7"])
    assert same is machine


def test_many_weak_columns_are_strong_together():
    """Each could go within a standard error; where a few of many are weak, they do."""
    rng = np.random.default_rng(2)
    X, action = rng.normal(size=(200, 10)), rng.choice([0, 1], size=200)
    table = {f"x{j}": column for j, column in enumerate(X.T)} | {"A": action}
    table["R"] = X[:, 0] + action * (X @ (0.3 * (-1.0) ** np.arange(10))) + rng.normal(size=200)
    names = [f"x{j}" for j in range(10)]
    stage = TrialData.from_wide(table, [{"history": names, "action": "A", "reward": "R"}]).stages[0]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    rows = encoder.encode(stage.history, stage.action)
    machine = StageMachine(encoder, rows, stage.reward, np.ones(200), "linear").fit(range(10))
    alone = [machine.on_groups([g for g in range(10) if g != group]) for group in range(10)]
    weak = min(alone, key=lambda other: other.loo_risk)
    loss = weak.losses - machine.losses
    assert loss.mean() < loss.std() / np.sqrt(200)
    kept, chosen = prune(machine, StageSelection(list(range(10)), None, "ten columns"))
    assert len(kept.groups) >= 9
    assert chosen.groups == kept.groups


def test_columns_the_next_stage_needs_are_asked_for_again():
    simulated = make_regime_trial("I", 120, 8, random_state=2)
    stage = TrialData.from_wide(simulated.columns, simulated.stages).stages[0]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    y = stage.reward + simulated.columns["X1_5"] ** 2
    machine = StageMachine(encoder, X, y, np.ones(120), "anova").fit([2, 3])
    chosen = StageSelection([2, 3], None, "two columns")
    # X1_5 is part of the response, X1_8 is noise, R1 is no history yet and X1_3 is in.
    needed = ["R1", "X1_3", "X1_5", "X1_8"]
    wider, again = QLearning()._settle(machine, chosen, needed)
    assert again.groups == wider.groups == [2, 3, 4]
    assert wider.loo_risk < machine.loo_risk
    assert again.reason == "two columns, and X1_5 because the next stage needs it"
    for other in (QLearning(selection="rfe"), QLearning(discount=0.0), AdvantageLearning()):
        assert other._settle(machine, chosen, needed) == (machine, chosen)
