import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from rlselect import QLearning, TrialData
from rlselect.regimes import StageRFE
from rlselect.regimes._q_learning import _balance
from rlselect.simulate import make_regime_trial


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
        # what moves decisions of curves is not told from what decides
        assert learner.faint_[t] == []
        assert f"A{t + 1}" not in learner.selected_[t]
        assert learner.path_[t]["n_features"][0] == sum(map(len, learner.path_[t]["eliminated"]))
    assert str(learner.regime_).startswith("stage 1: ")
    assert repr(learner.regime_) == str(learner.regime_)
    assert len(learner.regime_) == 2
    assert learner.regime_[0].agreement > 0.7


@pytest.mark.parametrize("selection", ["rfe", "rfe-test", "rfe-vpred"])
def test_the_dissertations_selections(selection):
    simulated = make_regime_trial("I", 80, 5, random_state=0)
    trial = TrialData.from_wide(simulated.columns, simulated.stages)
    learner = QLearning(selection=selection, random_state=0).fit(trial)
    assert learner.model_ == ["rbf", "rbf"]
    assert all("safeguard" in reason for reason in learner.stop_reason_)
    assert all(learner.selected_)
    assert "R1" in learner.selected_[1]


@pytest.mark.parametrize("model", ["auto", "rbf", "linear", "trees", Ridge()])
def test_models(model, simulated):
    small = {name: values[:60] for name, values in simulated.columns.items()}
    # a forest for every fold of every stage takes its time
    trial = TrialData.from_wide(small, simulated.stages[: 1 if model == "trees" else 2])
    learner = QLearning(model=model, selection=None, random_state=0).fit(trial)
    assert learner.selected_[0] == [f"X1_{j}" for j in range(1, 7)]
    assert np.isfinite(learner.q_values(trial, 1)).all()
    if model == "auto":
        assert set(learner.model_) <= {"anova", "rbf", "linear"}


def test_auto_prefers_a_gaussian_kernel_for_products_of_covariates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    action = rng.choice([-1, 1], size=100)
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "A": action, "R": 2 * X[:, 0] * X[:, 1] + 0.5 * action}
    trial = TrialData.from_wide(table, [{"history": ["a", "b", "c"], "action": "A", "reward": "R"}])
    learner = QLearning(random_state=0).fit(trial)
    assert learner.model_ == ["rbf"]
    assert learner.selected_ == [["a", "b"]]


def test_half_of_the_subjects_may_say_nothing_and_one_column_stays():
    # Algorithm 26 ends with one column left, also where none predicts.
    rng = np.random.default_rng(1)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60), "R": rng.normal(size=60)}
    table["A"] = rng.choice([0, 1], size=60)
    trial = TrialData.from_wide(table, [{"history": ["a", "b"], "action": "A", "reward": "R"}])
    for seed in range(3):
        assert len(QLearning(selection="rfe-test", random_state=seed).fit(trial).selected_[0]) >= 1


def test_lost_subjects_are_stood_for(simulated):
    rng = np.random.default_rng(0)
    table = {name: values[:100].astype(object) for name, values in simulated.columns.items()}
    gone = rng.uniform(size=100) < 0.2
    for name in ("A2", "R2"):
        table[name][gone] = None
    ends = QLearning(model="linear", random_state=0).fit(TrialData.from_wide(table, simulated.stages))
    lost = TrialData.from_wide(table, simulated.stages, leaving="weights")
    weighted = QLearning(model="linear", random_state=0).fit(lost)
    # Whoever has left earns nothing more under "ends", and is stood for by others under "weights".
    assert weighted.value_.value > ends.value_.value + 0.2


def test_the_paper_is_a_gaussian_kernel_with_its_numbers(trial):
    paper = QLearning.paper(algorithm="rfe-test", train_share=0.6, safeguard=0.2, level=0.9, random_state=0)
    assert (paper.model, paper.level, paper.discount) == ("rbf", 0.9, 1.0)
    assert paper.selection == StageRFE(
        "rfe-test", safeguard=0.2, train_share=0.6, bandwidths=tuple(2.0**k for k in range(-2, 8))
    )
    assert QLearning.paper(model="linear", bandwidths=(3.0,)).model == "linear"
    one = QLearning.paper(bandwidths=(3.0,), random_state=0).fit(trial)
    assert {machine.bandwidth for machine in one._machines} == {3.0}
    more = QLearning.paper(bandwidths=(3.0,), safeguard=0.4, random_state=0).fit(trial)
    for few, many, all_columns in zip(one.selected_, more.selected_, one.history_names_in_, strict=True):
        assert set(few) <= set(many)
        assert len(many) == min(len(few) + int(0.4 * len(all_columns)), len(all_columns))


def test_names_of_selections_are_settings(trial):
    by_name = QLearning(selection="rfe", random_state=0).fit(trial)
    by_object = QLearning(selection=StageRFE(), random_state=0).fit(trial)
    assert by_name.selected_ == by_object.selected_
    assert by_name.value_ == by_object.value_


def test_only_kernel_machines_are_eliminated_by_value(trial):
    for model in ("trees", LinearRegression()):
        with pytest.raises(ValueError, match="refits kernel machines"):
            QLearning(model=model, selection="rfe-vpred").fit(trial)


@pytest.mark.parametrize(
    "options", [{}, {"selection": None}, {"selection": "rfe", "model": "linear"}, {"model": "rbf"}]
)
def test_a_device_that_nothing_would_use_is_refused(options, trial):
    with pytest.raises(ValueError, match=r"device='cuda' has no effect with model=.* and selection="):
        QLearning(device="cuda", **options).fit(trial)


def test_linear_contrasts_are_right_where_the_rest_of_the_model_is_not():
    """Action 1 is better where x > 0.5; what else moves the reward is curved, and x moved the action too."""
    rng = np.random.default_rng(0)
    n = 3000
    x = rng.normal(size=n)
    chance = 1.0 / (1.0 + np.exp(-2.0 * x - 1.0))
    action = (rng.uniform(size=n) < chance).astype(int)
    table = {"x": x, "A": action, "R": x**3 + action * (x - 0.5) + 0.5 * rng.normal(size=n)}
    table["p"] = np.where(action == 1, chance, 1.0 - chance)
    stage = {"history": ["x"], "action": "A", "reward": "R", "propensity": "p"}
    trial = TrialData.from_wide(table, [stage])
    subjects = np.arange(n)
    weights = _balance(trial, 0, subjects)
    # in proportion to the probability of the other action; weighted, x is alike in both arms
    for arm in (action == 0, action == 1):
        np.testing.assert_allclose(weights[arm], (1.0 - table["p"][arm]) / (1.0 - table["p"][arm]).mean())
    means = [np.average(x[action == k], weights=weights[action == k]) for k in (0, 1)]
    assert abs(means[1] - means[0]) < 0.1 < x[action == 1].mean() - x[action == 0].mean()
    learner = QLearning(model="linear", random_state=0)
    grid = {"x": np.linspace(-2, 2, 41)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = (learner.fit(trial).predict(grid) == (grid["x"] > 0.5)).mean()
    design = np.column_stack([np.ones(n), x, action, action * x])
    plain = np.linalg.lstsq(design, table["R"], rcond=None)[0]
    assert right > 0.85
    assert ((plain[2] + plain[3] * grid["x"] > 0) == (grid["x"] > 0.5)).mean() < 0.7
    randomised = TrialData.from_wide(table, [stage | {"propensity": "randomized"}])
    np.testing.assert_allclose(_balance(randomised, 0, subjects), 1.0)
