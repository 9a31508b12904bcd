"""Machines on explicit columns against the kernel matrices they stand for."""

import numpy as np
import pytest

from rlselect import QLearning, TrialData
from rlselect._clock import Clock
from rlselect.machines import eliminate
from rlselect.regimes import _column_machine, _selection
from rlselect.regimes._column_machine import ColumnMachine
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._selection import fit_q_function
from rlselect.regimes._stage_machine import StageMachine
from rlselect.simulate import make_regime_trial


def both(kind, n=120, p=5, weighted=False):
    """The two machines of the last stage of setting II, which has a past action."""
    simulated = make_regime_trial("II", n, p, random_state=3)
    stage = TrialData.from_wide(simulated.columns, simulated.stages).stages[1]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, n) if weighted else np.ones(n)
    makers = (StageMachine, ColumnMachine)
    return [make(encoder, X, stage.reward, weights, kind) for make in makers], stage


@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_kernel_is_the_same_to_the_last_digits(weighted):
    (kernel, columns), stage = both("linear", weighted=weighted)
    paths = []
    for machine in (kernel, columns):
        problem = machine.make_problem()
        paths.append(eliminate(problem, lambda left: 1, machine.tuner.again))
    assert paths[0].order == paths[1].order
    assert paths[0].lam == paths[1].lam
    np.testing.assert_allclose(paths[0].objective, paths[1].objective, rtol=1e-8)
    np.testing.assert_allclose(paths[0].losses, paths[1].losses, rtol=1e-6)
    groups = [0, 2, 5]
    fitted = [machine.fit(groups) for machine in (kernel, columns)]
    assert fitted[0].loo_risk == pytest.approx(fitted[1].loo_risk)
    np.testing.assert_allclose(
        fitted[0].q_values(stage.history), fitted[1].q_values(stage.history), rtol=1e-6
    )
    rows = np.arange(0, 120, 2)
    again = [machine.refit(rows, stage.reward[rows]) for machine in fitted]
    np.testing.assert_allclose(again[0].q_values(stage.history), again[1].q_values(stage.history), rtol=1e-6)


def test_a_smooth_kernel_is_the_same_but_for_dimensions_without_weight():
    (kernel, columns), stage = both("anova")
    fitted = [machine.fit([0, 1, 6, 7]) for machine in (kernel, columns)]
    assert fitted[0].lam == fitted[1].lam
    assert fitted[0].loo_risk == pytest.approx(fitted[1].loo_risk, rel=1e-3)
    q = [machine.q_values(stage.history) for machine in fitted]
    assert np.abs(q[0] - q[1]).max() < 0.02 * q[0].std()


def test_removals_and_down_dates_are_those_of_refits():
    (_, machine), _ = both("anova", n=200)
    problem = machine.make_problem()
    problem.refresh()
    names = machine.encoder.names
    for _ in range(3):
        (group, price), *_ = problem.removals(len(problem.active))
        fresh = machine.make_problem([g for g in problem.active if g != group], tune=False)
        fresh.lam = problem.lam
        fresh.refresh()
        assert price == pytest.approx(fresh.objective)
        problem.drop([group])
        problem.refresh()
        np.testing.assert_allclose(problem.inverse, fresh.inverse, atol=1e-10)
        np.testing.assert_allclose(problem.losses, fresh.losses, rtol=1e-6)
    # without the past action its products with covariates are gone too
    past = names.index("A1")
    width = len(problem.kept)
    problem.drop([past])
    owners = machine.design.owners[problem.places[problem.kept]]
    assert not (owners == past).any()
    assert len(problem.kept) < 0.7 * width


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_leaving_a_subject_out(weighted):
    """However much it counts: a weight of 2 is no second subject with the same noise."""
    machines, _ = both("linear", n=40, weighted=weighted)
    for machine in machines:
        groups = list(range(len(machine.encoder.groups)))
        losses, total = machine.fit(groups).losses, machine.weights.sum()
        for i in (0, 7):
            rest = np.delete(np.arange(40), i)
            machine.lam, kept = machine.lam * total / (total - machine.weights[i]), machine.lam
            other = machine.refit(rest, machine.y[rest])
            machine.lam = kept
            assert np.square(machine.y[i] - other.predict(machine.X[[i]])[0]) == pytest.approx(losses[i])


def test_both_routes_learn_the_same_regime(monkeypatch):
    simulated = make_regime_trial("II", 200, 5, random_state=1)
    stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in simulated.stages]
    trial = TrialData.from_wide(simulated.columns, stages)
    exact = QLearning(model="linear", random_state=0).fit(trial)
    monkeypatch.setattr(_column_machine, "_MANY", 100)
    monkeypatch.setattr(_selection, "_SAMPLE", 100)
    quick = QLearning(model="linear", random_state=0).fit(trial)
    assert isinstance(quick._machines[0], ColumnMachine)
    assert quick.selected_ == exact.selected_
    assert quick.tailoring_ == exact.tailoring_
    assert quick.value_.value == pytest.approx(exact.value_.value, abs=0.1 * exact.value_.standard_error)
    every = QLearning(random_state=0).fit(trial)
    assert set(every.model_) <= {"anova", "linear", "rbf", "lines"}
    assert abs(every.value_.value - exact.value_.value) < exact.value_.standard_error


def test_a_gaussian_kernel_may_still_win_among_many(monkeypatch):
    rng = np.random.default_rng(0)
    n = 300
    X = rng.normal(size=(n, 4))
    action = rng.choice([-1, 1], size=n)
    table = {f"x{j}": X[:, j] for j in range(4)} | {"A": action}
    table["R"] = 2.0 * action * np.sign(X[:, 0] * X[:, 1]) + 0.3 * rng.normal(size=n)
    stage = {"history": [f"x{j}" for j in range(4)], "action": "A", "reward": "R", "propensity": "randomized"}
    trial = TrialData.from_wide(table, [stage])
    monkeypatch.setattr(_column_machine, "_MANY", 100)
    monkeypatch.setattr(_selection, "_SAMPLE", 150)
    learner = QLearning(random_state=0).fit(trial)
    assert learner.model_ == ["rbf"]
    assert set(learner.selected_[0]) == {"x0", "x1"}
    assert "on a sample of 150 subjects" in learner.stop_reason_[0]
    monkeypatch.setattr(_selection, "_MOST_FOR_GAUSSIAN", 200)
    assert QLearning(random_state=0).fit(trial).model_ != ["rbf"]


@pytest.mark.slow
def test_many_subjects_are_learnt_in_seconds():
    import time

    simulated = make_regime_trial("II", 5000, 11, random_state=1)
    trial = TrialData.from_wide(
        simulated.columns, [s | {"propensity": "randomized"} for s in simulated.stages]
    )
    begin = time.process_time()
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert time.process_time() - begin < 5.0
    assert abs(learner.value_.value - 5.56) < 0.3


def test_short_of_time_many_subjects_are_learnt_by_lines():
    simulated = make_regime_trial("I", 600, 5, random_state=0)
    stage = TrialData.from_wide(simulated.columns, simulated.stages).stages[0]
    given = stage, np.arange(600), stage.reward, np.ones(600), "auto", None, np.random.default_rng(0)
    with Clock(1e-6):
        machine, chosen = fit_q_function(*given)
    assert (machine.kind, chosen.reason.split(";")[0]) == ("linear", "time budget, lines alone")
    with Clock(600.0):
        machine, chosen = fit_q_function(*given)
    assert "lines alone" not in chosen.reason
