"""Subjects that a time budget has room for."""

import numpy as np
import pytest

from rlselect import AdvantageLearning, QLearning, TrialData
from rlselect.regimes._in_time import subjects_in_time


def trial(n, p=4, rare=0, cluster=None, seed=0):
    """Two actions, and perhaps a rare third."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    action = rng.integers(0, 2, n)
    action[:rare] = 2
    table = {f"x{j}": X[:, j] for j in range(p)} | {"A": action, "R": X[:, 0] + action * X[:, 1]}
    stage = {"history": [f"x{j}" for j in range(p)], "action": "A", "reward": "R"}
    return TrialData.from_wide(table, [stage], cluster=cluster)


def test_a_part_holds_what_the_whole_holds_of_its_subjects():
    whole = trial(50)
    rows = np.array([3, 7, 20])
    part = whole.part(rows)
    np.testing.assert_array_equal(part.stages[0].history, whole.stages[0].history[rows])
    np.testing.assert_array_equal(part.stages[0].reward, whole.stages[0].reward[rows])
    assert (part.n_subjects, part.reward_type) == (3, whole.reward_type)
    assert whole.part(np.arange(50) < 10).n_subjects == 10


@pytest.mark.parametrize("model", ["auto", "rbf", "trees"])
def test_more_subjects_than_there_is_time_for_are_spread_over_the_actions(model):
    whole = trial(6000, rare=5)
    part = subjects_in_time(whole, model, "loo", True, 0.05, np.random.default_rng(0))
    assert 200 <= part.n_subjects < 3000
    assert np.bincount(part.stages[0].action)[2] == 5
    share = (part.stages[0].action == 1).mean()
    assert share == pytest.approx((whole.stages[0].action == 1).mean(), abs=0.02)
    assert subjects_in_time(whole, model, "loo", True, 1e6, np.random.default_rng(0)) is whole


def test_clusters_stay_whole():
    cluster = np.repeat(np.arange(600), 10)
    part = subjects_in_time(trial(6000, cluster=cluster), "rbf", "loo", False, 0.05, np.random.default_rng(0))
    assert set(np.bincount(part.sample.clusters)) == {10}


@pytest.mark.parametrize("learner", [QLearning, AdvantageLearning])
def test_a_fit_says_of_how_many_subjects_it_is(learner):
    fitted = learner(model="linear", selection=None, time_budget=0.02, random_state=0).fit(trial(5000))
    assert fitted.stop_reason_[0].startswith("time budget, ")
    assert "of 5000 subjects" in fitted.stop_reason_[0]


def test_trees_need_no_kernel_matrices(monkeypatch):
    monkeypatch.setattr("rlselect._limits.available_memory", lambda: 10**6)
    QLearning(model="trees", selection=None)._check_size(trial(3000))
    with pytest.raises(MemoryError, match="kernel matrices"):
        QLearning(model="rbf")._check_size(trial(3000))
