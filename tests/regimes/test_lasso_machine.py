"""Sparse linear Q-functions against scikit-learn's elastic net, and when they are preferred."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet

from rlselect import QLearning, TrialData, load, save
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._held_out_folds import Split
from rlselect.regimes._lasso_machine import LassoMachine, _losses, prefer_sparse
from rlselect.regimes._selection import StageSelection
from rlselect.regimes._stage_machine import StageMachine


def arms(n=150, p=6, seed=0, curved=False):
    """Three arms; the last two have a slope on a column of their own, or a parabola."""
    rng = np.random.default_rng(seed)
    X, action = rng.normal(size=(n, p)), rng.integers(0, 3, n)
    shape = np.square(X) - 1.0 if curved else X
    gains = np.column_stack([np.zeros(n), shape[:, :2]])
    table = {f"x{j}": X[:, j] for j in range(p)}
    table["reward"] = X[:, 2] + gains[np.arange(n), action] + 0.5 * rng.normal(size=n)
    table["action"] = np.array(["a", "b", "c"])[action]
    stage = {"history": [f"x{j}" for j in range(p)], "action": "action", "reward": "reward"}
    return TrialData.from_wide(table, [stage | {"propensity": "1:1:1"}])


def machine_of(trial, kind="lasso", weights=None):
    stage = trial.stages[0]
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, stage.action)
    weights = np.ones(len(X)) if weights is None else weights
    make = LassoMachine if kind == "lasso" else StageMachine
    return make(encoder, X, stage.reward, weights, kind)


def test_slopes_are_those_of_an_elastic_net_on_columns_and_their_products_with_each_action():
    trial = arms()
    stage, weights = trial.stages[0], np.random.default_rng(1).uniform(0.2, 2.0, 150)
    machine = machine_of(trial, weights=weights).fit(range(6))
    Z = (stage.history - stage.history.mean(axis=0)) / stage.history.std(axis=0)

    def design(action):
        dummies = np.eye(3)[action]
        return np.column_stack([dummies, Z, *(Z * dummies[:, [k]] for k in range(3))])

    naive = ElasticNet(machine.lam, l1_ratio=machine.share, tol=1e-9, max_iter=100_000)
    naive.fit(design(stage.action), stage.reward, sample_weight=weights)
    expected = np.column_stack([naive.predict(design(np.full(150, k))) for k in range(3)])
    np.testing.assert_allclose(machine.q_values(stage.history), expected, atol=0.01)
    fitted = machine.predict(machine.X)
    np.testing.assert_allclose(fitted, machine.q_values(stage.history)[np.arange(150), stage.action])


def test_the_penalty_is_the_best_on_the_folds():
    machine = machine_of(arms(seed=2)).fit(range(6))
    losses = np.empty(150)
    for fold in range(5):
        train, test = np.flatnonzero(machine.folds != fold), np.flatnonzero(machine.folds == fold)
        part = machine_of(arms(seed=2))
        part.groups, part.lam, part.share = list(range(6)), machine.lam, machine.share
        again = part.refit(train, part.y[train])
        losses[test] = np.square(machine.y[test] - again.predict(machine.X[test]))
    assert machine.loo_risk == pytest.approx(losses.mean(), rel=1e-2)
    # what has no slope is gone, and what has one is there
    assert {0, 1, 2} <= set(machine.groups)
    assert not machine.slopes[[j for j in range(6) if j not in machine.groups]].any()


def test_the_order_of_the_actions_does_not_matter():
    trial = arms(seed=3)
    stage = trial.stages[0]
    machine = machine_of(trial).fit(range(6))
    order = np.array([2, 0, 1])
    encoder = HistoryEncoder(stage.columns, stage.history, stage.labels)
    X = encoder.encode(stage.history, order[stage.action])
    other = LassoMachine(encoder, X, stage.reward, np.ones(150), "lasso")
    # folds look at the codes of actions, which are others now
    other.__dict__["folds"] = machine.folds
    q = other.fit(range(6)).q_values(stage.history)
    np.testing.assert_allclose(q[:, order], machine.q_values(stage.history), atol=1e-2)


def test_many_small_slopes_are_shrunk_rather_than_chosen_among():
    rng = np.random.default_rng(5)
    X, y_noise = rng.normal(size=(100, 10)), rng.normal(size=100)
    action = rng.integers(0, 2, 100)
    table = {f"x{j}": X[:, j] for j in range(10)} | {"action": action}
    table["reward"] = 0.5 * X.sum(axis=1) * np.where(action, 1.0, 0.2) + y_noise
    stage = {"history": [f"x{j}" for j in range(10)], "action": "action", "reward": "reward"}
    machine = machine_of(TrialData.from_wide(table, [stage])).fit(range(10))
    assert machine.share < 1.0
    assert machine.groups == list(range(10))


def preferred(trial, groups, kind="anova"):
    machine = machine_of(trial, kind).fit(groups)
    return machine, *prefer_sparse(machine, StageSelection(list(groups), None, "before"))


def test_lines_are_preferred_where_they_are_as_good():
    _, sparse, chosen = preferred(arms(seed=4), [0, 1, 2])
    assert isinstance(sparse, LassoMachine)
    assert chosen.groups == sparse.groups == [0, 1, 2]
    assert chosen.reason == "before; linear slopes are as good on held-out folds"
    machine, kept, chosen = preferred(arms(seed=4, curved=True), [0, 1, 2])
    assert kept is machine
    assert chosen.reason == "before"


def test_what_an_elimination_lost_comes_back():
    _, sparse, chosen = preferred(arms(seed=4), [0, 2])
    assert isinstance(sparse, LassoMachine)
    assert 1 in chosen.groups


def test_selected_columns_are_judged_by_what_each_fold_selects_without_itself():
    trial = arms(seed=4)
    machine = machine_of(trial, "anova").fit([0, 1, 2])
    assert isinstance(prefer_sparse(machine, StageSelection([0, 1, 2], None, "before"))[0], LassoMachine)
    folds = np.random.default_rng(0).permutation(150) % 3
    # every fold loses two of the three that all rows together have found, to columns of noise
    split = Split(np.empty((0, 150)), [[0, 3, 4, 1, 2, 5], [1, 4, 5, 0, 2, 3], [2, 5, 3, 0, 1, 4]], folds)
    sparse, chosen = prefer_sparse(machine, StageSelection([0, 1, 2], None, "before", (split,)))
    naive = np.empty(150)
    for fold, groups in enumerate([[0, 3, 4], [1, 4, 5], [2, 3, 5]]):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = machine_of(trial, "anova")
        part.groups, part.lam, part.bandwidth = groups, machine.lam, machine.bandwidth
        fitted = part.refit(train, machine.y[train]).predict(machine.X[test])
        naive[test] = np.square(machine.y[test] - fitted)
    mine = _losses(machine, folds, {0: [0, 3, 4], 1: [1, 4, 5], 2: [2, 3, 5]})
    np.testing.assert_allclose(mine, naive, rtol=1e-9)
    assert machine.groups == [0, 1, 2]
    # all columns need no selection, and win
    assert isinstance(sparse, LassoMachine)
    assert chosen.splits == (split,)
    assert set(sparse.groups) > {0, 1, 2}


def test_a_response_without_spread_or_a_dose_is_left_alone():
    trial = arms()
    machine = machine_of(trial, "linear").fit([0])
    machine.y = np.full(150, 2.0)
    chosen = StageSelection([0], None, "before")
    assert prefer_sparse(machine, chosen) == (machine, chosen)
    machine = machine_of(trial, "linear").fit([0])
    machine.encoder.codes = np.linspace(-1.0, 1.0, 5)[:, None]
    assert prefer_sparse(machine, chosen) == (machine, chosen)


def test_the_default_takes_lines_from_a_linear_trial_and_a_file_keeps_them(tmp_path):
    trial = arms(seed=6)
    learner = QLearning(random_state=0).fit(trial)
    assert learner.model_ == ["lasso"]
    assert {"x0", "x1"} <= set(learner.tailoring_[0]) <= set(learner.selected_[0])
    save(learner, tmp_path / "learner")
    history = trial.history(1)
    np.testing.assert_array_equal(load(tmp_path / "learner").q_values(history), learner.q_values(history))
    assert QLearning(model="linear", random_state=0).fit(trial).model_ == ["linear"]
