import numpy as np
import pytest

from rlselect import AdvantageLearning, QLearning, TrialData, regime_value
from rlselect._clock import Clock
from rlselect.regimes import StageRFE
from rlselect.regimes._advantage import ContrastMachine, _without_main_effect
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._stage_machine import StageMachine


def test_several_actions_and_feasibility():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    high = x > 0
    action = np.where(high, rng.integers(3, size=300), rng.integers(2, size=300))
    reward = np.select([action == 0, action == 1], [0.0, -x], 5.0) + 0.1 * rng.normal(size=300)
    table = {"x": x, "A": np.array(["low", "mid", "top"])[action], "R": reward}

    def feasible(history):
        return np.column_stack([np.ones((len(history["x"]), 2), bool), history["x"] > 0])

    stage = {"history": ["x"], "action": "A", "reward": "R", "feasible": feasible}
    trial = TrialData.from_wide(table, [stage])
    learner = QLearning(model="anova", random_state=0).fit(trial)
    assert learner.predict({"x": [-2.0, 2.0]}, 1).tolist() == ["mid", "top"]
    with pytest.raises(ValueError, match="infeasible action 'top' at stage 1"):
        regime_value(trial, ["top"])
    with pytest.raises(ValueError, match="infeasible action"):
        regime_value(trial, ["nothing"])
    contrast = AdvantageLearning(model="anova", random_state=0).fit(trial)
    assert contrast.predict({"x": [-2.0, 2.0]}, 1).tolist() == ["mid", "top"]
    np.testing.assert_allclose(contrast.advantages({"x": [1.0]}, 1).sum(), 0.0, atol=1e-9)


def test_advantage_learning(simulated, trial):
    learner = AdvantageLearning(model="linear", random_state=0).fit(trial)
    assert simulated.missed(learner.tailoring_[1], 2, kind="decision") == 0
    assert "X1_5" not in learner.selected_[1]
    assert learner.prognostic_ == learner.faint_ == [[], []]
    direction = 2 * simulated.columns["X1_1"] + 1.5 * simulated.columns["X1_2"] + simulated.columns["R1"]
    assert np.mean(learner.predict(trial, 2) == np.sign(direction)) > 0.9
    assert learner.value_.interval[0] < simulated.optimal_value < learner.value_.interval[1] + 1
    for bad in ({"model": "trees"}, {"selection": "rfe-vpred"}, {"selection": StageRFE("rfe-vpred")}):
        with pytest.raises(ValueError, match="it must be"):
            AdvantageLearning(**bad).fit(trial)
    few = trial.part(np.arange(60))
    assert AdvantageLearning(selection=None, model="rbf").fit(few).model_ == ["rbf", "rbf"]


@pytest.mark.parametrize("kind", ["anova", "rbf", "linear"])
def test_the_contrast_vanishes_where_the_action_says_nothing(kind, trial):
    """Every term of the kernel is multiplied with the codes of the actions, whatever the columns."""
    stage = trial.stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    machine = ContrastMachine(encoder, X, stage.reward, np.ones(len(X)), kind)
    codes = X[:, encoder.action] @ X[:, encoder.action].T
    for groups in (None, [0, 2]):
        state = machine.make_state(2.0, groups)
        halved = X.copy()
        halved[:, encoder.action] *= 0.5
        np.testing.assert_allclose(state.cross(halved, state.active), 0.5 * state.gram(), atol=1e-9)
        signless = state.gram() * codes  # codes of two actions are -1 and 1
        assert state.active == (list(range(len(encoder.groups))) if groups is None else groups)
        assert np.linalg.eigvalsh(signless).min() > -1e-8 * len(X)
    machine.fit([0, 2])
    neutral = X.copy()
    neutral[:, encoder.action] = 0.0
    np.testing.assert_allclose(machine.predict(neutral), machine.intercept)


def test_what_only_predicts_is_not_in_the_contrast():
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 200))
    action = rng.choice([-1, 1], size=200)
    table = {"x": x, "z": z, "A": action, "R": x * action + 3.0 * z + 0.3 * rng.standard_normal(200)}
    stage = {"history": ["x", "z"], "action": "A", "reward": "R", "propensity": {-1: 0.5, 1: 0.5}}
    learner = AdvantageLearning(random_state=0).fit(TrialData.from_wide(table, [stage]))
    assert learner.selected_ == [["x"]]
    np.testing.assert_array_equal(learner.support_[0], [True, False])
    np.testing.assert_array_equal(learner.ranking_[0], [1, 2])


def test_short_of_time_main_effects_are_lines(trial):
    stage = trial.stages[0]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    weights = np.ones(len(X))
    with Clock(1e-6):
        mine = _without_main_effect(encoder, X, stage.reward, weights)
    # a column of the action that is zero throughout tells nothing
    Z = np.delete(X, encoder.action, axis=1)
    problem = StageMachine(
        encoder, X * ~np.isin(np.arange(X.shape[1]), encoder.action), stage.reward, weights, "linear"
    )
    lam = problem.make_problem().lam
    for i in (0, 7):
        rest = np.delete(np.arange(len(X)), i)
        centre, mean = Z[rest].mean(axis=0), stage.reward[rest].mean()
        A = (Z[rest] - centre).T @ (Z[rest] - centre) + lam * len(X) * np.eye(Z.shape[1])
        beta = np.linalg.solve(A, (Z[rest] - centre).T @ (stage.reward[rest] - mean))
        np.testing.assert_allclose(mine[i], stage.reward[i] - mean - (Z[i] - centre) @ beta, rtol=1e-6)
