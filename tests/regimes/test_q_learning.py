import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from rlselect import AdvantageLearning, QLearning, TrialData, compare_regimes, regime_value
from rlselect.regimes import DecisionMapDisplay, RegimeValueDisplay, StageObjectiveDisplay, StageRFE
from rlselect.simulate import make_regime_trial


@pytest.fixture(scope="module")
def simulated():
    return make_regime_trial("I", 200, 6, random_state=3)


@pytest.fixture(scope="module")
def trial(simulated):
    return TrialData.from_wide(
        simulated.columns, [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    )


@pytest.fixture(scope="module")
def learner(trial):
    return QLearning(model="anova", random_state=0).fit(trial)


def grid_trial(n_each=3):
    """Two binary features, two stages, every cell observed equally often, no noise: exact by hand."""
    cells = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], [0, 1], [0, 1])).reshape(5, -1).T
    x1, junk, a1, x2, a2 = np.repeat(cells, n_each, axis=0).T.astype(float)
    r1 = np.where(x1 == 1, a1, 0.0)
    r2 = np.where(x2 == 1, 3.0 * a2, 1.0 - a2) + a1 * (1.0 - x1) * 0.5 * a2
    table = {"x1": x1, "junk": junk, "A1": a1.astype(int), "R1": r1, "x2": x2, "A2": a2.astype(int), "R2": r2}
    stages = [
        {"history": ["x1", "junk"], "action": "A1", "reward": "R1", "propensity": "randomized"},
        {"history": ["x2"], "action": "A2", "reward": "R2", "propensity": "randomized"},
    ]
    return TrialData.from_wide(table, stages)


def exact(discount, sign=1.0):
    """Dynamic programming over the four known numbers of a state."""

    def r2(x1, a1, x2, a2):
        return sign * ((3.0 * a2 if x2 else 1.0 - a2) + a1 * (1 - x1) * 0.5 * a2)

    q1, d2 = {}, {}
    for x1 in (0, 1):
        for a1 in (0, 1):
            later = []
            for x2 in (0, 1):
                d2[x1, a1, x2] = max((0, 1), key=lambda a: r2(x1, a1, x2, a))
                later.append(r2(x1, a1, x2, d2[x1, a1, x2]))
            q1[x1, a1] = sign * x1 * a1 + discount * np.mean(later)
    value = np.mean([max(q1[x1, 0], q1[x1, 1]) for x1 in (0, 1)])
    return q1, d2, sign * value


@pytest.mark.parametrize("discount", [1.0, 0.5])
@pytest.mark.parametrize("maximize", [True, False])
def test_small_problem_is_solved_exactly(discount, maximize):
    trial = grid_trial()
    # Trees grown out are a lookup table, so nothing but the backward recursion can be wrong.
    from sklearn.tree import DecisionTreeRegressor

    learner = QLearning(
        model=DecisionTreeRegressor(), selection=None, discount=discount, maximize=maximize, random_state=0
    ).fit(trial)
    q1, d2, value = exact(discount, 1.0 if maximize else -1.0)
    sign = 1.0 if maximize else -1.0
    for x1 in (0, 1):
        found = learner.q_values({"x1": [x1], "junk": [0]}, 1)[0]
        np.testing.assert_allclose(found, [sign * q1[x1, 0], sign * q1[x1, 1]], atol=1e-9)
        for a1 in (0, 1):
            for x2 in (0, 1):
                history = {"x1": [x1], "junk": [1], "A1": [a1], "R1": [x1 * a1], "x2": [x2]}
                assert learner.predict(history, 2)[0] == d2[x1, a1, x2]
    assert learner.value_.value == pytest.approx(value, abs=0.25)


def test_kernel_learner_finds_the_same_decisions():
    learner = QLearning(model="linear", random_state=0).fit(grid_trial(6))
    _, d2, _ = exact(1.0)
    assert "junk" not in learner.selected_[0] + learner.selected_[1]
    assert "x2" in learner.tailoring_[1]
    for (x1, a1, x2), best in d2.items():
        history = {"x1": [x1], "junk": [0], "A1": [a1], "R1": [x1 * a1], "x2": [x2]}
        if x2 or not (a1 and not x1):
            assert learner.predict(history, 2)[0] == best


def test_selection_and_decision_features(learner, simulated):
    assert simulated.missed(learner.selected_[1], 2) == 0
    assert simulated.missed(learner.tailoring_[1], 2, kind="decision") == 0
    assert simulated.missed(learner.tailoring_[0], 1, kind="decision") == 0
    assert "X1_5" in learner.selected_[1]
    for t in (0, 1):
        assert sorted(learner.tailoring_[t] + learner.prognostic_[t]) == sorted(learner.selected_[t])
        assert f"A{t + 1}" not in learner.selected_[t]
        assert learner.path_[t]["n_features"][0] == sum(map(len, learner.path_[t]["eliminated"]))
    assert str(learner.regime_).startswith("stage 1: ")
    assert repr(learner.regime_) == str(learner.regime_)
    assert len(learner.regime_) == 2
    assert learner.regime_[0].agreement > 0.7


def test_predictions_take_tables_arrays_and_trials(learner, trial):
    whole = trial.history(2)
    some = {name: whole[name] for name in learner.selected_[1]}
    from_trial = learner.predict(trial, 2)
    np.testing.assert_array_equal(learner.predict(some, 2), from_trial)
    np.testing.assert_array_equal(learner.predict(np.column_stack(list(whole.values())), 2), from_trial)
    q = learner.q_values(some, 2)
    assert q.shape == (200, 2)
    np.testing.assert_array_equal(np.array([-1, 1])[q.argmax(axis=1)], from_trial)
    with pytest.raises(ValueError, match="needs 8 columns"):
        learner.predict(np.zeros((2, 3)), 2)
    with pytest.raises(ValueError, match="is not in the table"):
        learner.predict({"X1_1": [0.0]}, 2)
    with pytest.raises(ValueError, match="between 1 and 2"):
        learner.predict(some, 3)
    with pytest.raises(ValueError, match="NaN"):
        learner.predict({name: [np.nan] for name in some}, 2)


def test_params_clone_pickle_repr(learner, trial):
    other = QLearning(model="rbf", selection=None, discount=0.9, maximize=False, n_jobs=2, random_state=5)
    assert other.get_params() == {
        "model": "rbf", "selection": None, "discount": 0.9, "maximize": False, "level": 0.95, "n_jobs": 2, "device": "cpu",
        "random_state": 5,
    }  # fmt: skip
    assert clone(other).get_params() == other.get_params()
    assert repr(QLearning()) == "QLearning()"
    assert "discount=0.9" in repr(other)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.predict(trial, 1), learner.predict(trial, 1))
    with pytest.raises(NotFittedError):
        QLearning().predict(trial, 1)
    same = clone(learner).fit(trial)
    assert same.selected_ == learner.selected_
    assert same.value_ == learner.value_


@pytest.mark.parametrize("selection", ["rfe", "rfe-test", "rfe-vpred"])
def test_the_dissertations_selections(selection):
    simulated = make_regime_trial("I", 80, 5, random_state=0)
    trial = TrialData.from_wide(simulated.columns, simulated.stages)
    learner = QLearning(selection=selection, random_state=0).fit(trial)
    assert learner.model_ == ["rbf", "rbf"]
    assert all("safeguard" in reason for reason in learner.stop_reason_)
    assert all(learner.selected_)
    assert "R1" in learner.selected_[1]


def test_a_past_action_comes_back_with_its_covariate():
    from rlselect.regimes._encoding import HistoryEncoder
    from rlselect.regimes._second_look import recall_pairs
    from rlselect.regimes._selection import StageSelection
    from rlselect.regimes._stage_machine import StageMachine

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


def test_surplus_columns_of_the_last_stage_leave():
    from rlselect.regimes._encoding import HistoryEncoder
    from rlselect.regimes._selection import StageSelection
    from rlselect.regimes._stage_machine import StageMachine

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


def test_columns_the_next_stage_needs_are_asked_for_again():
    from rlselect.regimes._encoding import HistoryEncoder
    from rlselect.regimes._selection import StageSelection
    from rlselect.regimes._stage_machine import StageMachine

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


def test_safeguard_adds_five_per_cent(trial):
    from rlselect.machines._stopping import choose_size
    from rlselect.regimes._encoding import HistoryEncoder
    from rlselect.regimes._selection import select_features
    from rlselect.regimes._stage_machine import StageMachine, paper_regularization

    wide = make_regime_trial("II", 80, 10, random_state=0)
    stage = TrialData.from_wide(wide.columns, wide.stages).stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    machine = StageMachine(encoder, X, stage.reward, np.ones(80), "rbf", paper=StageRFE())
    chosen = select_features(machine, StageRFE(), np.random.default_rng(0))
    size, _ = choose_size("change-point", chosen.path, "squared")
    assert len(chosen.groups) == size + 1  # floor(.05 * 22) = 1
    assert np.allclose(chosen.path.lam, paper_regularization(stage.reward))
    assert set(chosen.path.bandwidth) <= set(2.0 ** np.arange(8))
    assert paper_regularization(np.array([0.0, 2.0])) == pytest.approx(1 / 6)


@pytest.mark.parametrize("model", ["auto", "rbf", "linear", "trees", Ridge()])
def test_models(model, simulated):
    small = {name: values[:100] for name, values in simulated.columns.items()}
    trial = TrialData.from_wide(small, simulated.stages)
    learner = QLearning(model=model, selection=None, random_state=0).fit(trial)
    assert learner.selected_[0] == [f"X1_{j}" for j in range(1, 7)]
    assert np.isfinite(learner.q_values(trial, 1)).all()
    if model == "auto":
        assert set(learner.model_) <= {"anova", "rbf", "linear"}


def test_auto_prefers_a_gaussian_kernel_for_products_of_covariates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    action = rng.choice([-1, 1], size=150)
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "A": action, "R": 2 * X[:, 0] * X[:, 1] + 0.5 * action}
    trial = TrialData.from_wide(table, [{"history": ["a", "b", "c"], "action": "A", "reward": "R"}])
    learner = QLearning(random_state=0).fit(trial)
    assert learner.model_ == ["rbf"]
    assert learner.selected_ == [["a", "b"]]


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
    assert learner.prognostic_ == [[], []]
    direction = 2 * simulated.columns["X1_1"] + 1.5 * simulated.columns["X1_2"] + simulated.columns["R1"]
    assert np.mean(learner.predict(trial, 2) == np.sign(direction)) > 0.9
    assert learner.value_.interval[0] < simulated.optimal_value < learner.value_.interval[1] + 1
    for bad in ({"model": "trees"}, {"selection": "rfe-vpred"}):
        with pytest.raises(ValueError, match="it must be"):
            AdvantageLearning(**bad).fit(trial)
    assert AdvantageLearning(selection=None, model="rbf").fit(trial).model_ == ["rbf", "rbf"]


def test_half_of_the_subjects_may_say_nothing_and_one_column_stays():
    # Algorithm 26 ends with one column left, also where none predicts.
    rng = np.random.default_rng(1)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60), "R": rng.normal(size=60)}
    table["A"] = rng.choice([0, 1], size=60)
    trial = TrialData.from_wide(table, [{"history": ["a", "b"], "action": "A", "reward": "R"}])
    for seed in range(3):
        assert len(QLearning(selection="rfe-test", random_state=seed).fit(trial).selected_[0]) >= 1


def test_the_kernel_is_chosen_on_eliminations():
    from rlselect.machines._elimination import EliminationPath
    from rlselect.regimes._selection import _rank_families

    rng = np.random.default_rng(0)
    base = rng.uniform(1.0, 2.0, size=400)

    def path(level):
        # All columns fit noise best; the price of columns looks through it.
        losses = [level * base * 0.97, level * base, 3.0 * base]
        return EliminationPath(sizes=[30, 2, 0], losses=losses, weights=np.ones(400))

    kinds = ["anova", "rbf", "linear"]
    assert _rank_families(kinds, [path(1.0), path(1.2), path(0.9)]) == [2, 0, 1]
    assert _rank_families(kinds, [path(1.0), path(0.5), path(0.9)]) == [1, 2, 0]
    noisy = path(0.99)
    noisy.losses[1] = noisy.losses[1] + rng.normal(scale=2.0, size=400)
    noisy.losses[1] += 0.995 * base.mean() - noisy.losses[1].mean()
    assert _rank_families(kinds, [path(1.0), noisy, path(1.5)]) == [0, 1, 2]


def test_more_folds_only_where_the_size_is_in_doubt(monkeypatch):
    from rlselect.machines._elimination import EliminationPath
    from rlselect.regimes import _held_out_folds

    class Machine:
        y, weights = np.zeros(200), np.ones(200)
        encoder = type("E", (), {"groups": [0, 1, 2]})()

    path = EliminationPath(sizes=[3, 2, 1, 0], order=[2, 1, 0])
    rng = np.random.default_rng(0)
    noise = rng.normal(size=200)

    def split(gap):
        # The second column is worth ``gap``; folds disagree on which it is.
        def one(machine, generator):
            losses = np.array([1.0 + 0 * noise, 1.0 + 0 * noise, 1.0 + gap + noise, 5.0 + noise])
            return losses, [[0, 1, 2], [0, 2, 1], [0, 1, 2]]

        return one

    monkeypatch.setattr(_held_out_folds, "one_split", split(1.0))
    groups, reason = _held_out_folds.cross_fitted_choice(Machine(), path, rng)
    assert (groups, "of 3 eliminations" in reason) == ([0, 1], True)
    monkeypatch.setattr(_held_out_folds, "one_split", split(0.05))
    assert "of 9 eliminations" in _held_out_folds.cross_fitted_choice(Machine(), path, rng)[1]


def test_another_trial_is_refused(learner, trial, simulated):
    fewer = [simulated.stages[0] | {"history": ["X1_2", "X1_1", *simulated.stages[0]["history"][2:]]}]
    other = TrialData.from_wide(simulated.columns, [*fewer, simulated.stages[1]])
    for call in (lambda: learner.predict(other, 1), lambda: regime_value(other, learner)):
        with pytest.raises(ValueError, match="stage 1 of the trial has the history columns"):
            call()
    with pytest.raises(ValueError, match="1 stage"):
        learner.q_values(TrialData.from_wide(simulated.columns, simulated.stages[:1]), 1)
    with pytest.raises(ValueError, match="whole number between 1 and 2"):
        learner.predict(trial, 1.0)


@pytest.mark.parametrize(
    "bad", [{"model": "svm"}, {"model": 3}, {"selection": "best"}, {"discount": 2}, {"maximize": "yes"}]
)
def test_bad_parameters(bad, trial):
    with pytest.raises(ValueError, match=next(iter(bad))):
        QLearning(**bad).fit(trial)


def test_fit_wants_a_trial():
    with pytest.raises(TypeError, match="from_wide"):
        QLearning().fit(np.zeros((3, 2)))


def test_lost_subjects_are_stood_for(simulated):
    rng = np.random.default_rng(0)
    table = {name: values.astype(object) for name, values in simulated.columns.items()}
    gone = rng.uniform(size=200) < 0.2
    for name in ("A2", "R2"):
        table[name][gone] = None
    ends = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, simulated.stages))
    lost = TrialData.from_wide(table, simulated.stages, leaving="weights")
    weighted = QLearning(model="linear", random_state=0).fit(lost)
    # Whoever has left earns nothing more under "ends", and is stood for by others under "weights".
    assert weighted.value_.value > ends.value_.value + 0.2


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
    with pytest.raises(ValueError, match="selection=None"):
        StageObjectiveDisplay.from_estimator(QLearning(model="linear", selection=None).fit(trial))
    plt.close("all")
