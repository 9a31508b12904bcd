from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rlselect import QLearning, TrialData
from rlselect.regimes import _relearning
from rlselect.regimes._relearning import _rows_without, _stage_without, can_relearn

COLUMNS = [f"x{j}" for j in range(5)]
STAGE = {"history": COLUMNS, "action": "arm", "reward": "y", "propensity": {"a": 0.5, "b": 0.5}}


def noise(n=60, seed=0):
    rng = np.random.default_rng(seed)
    table = dict(zip(COLUMNS, rng.normal(size=(5, n)), strict=True))
    return table | {"arm": rng.choice(["a", "b"], size=n), "y": table["x0"] + rng.normal(size=n)}


def learnt(table, **options):
    learner = QLearning(random_state=0, **options)
    trial = TrialData.from_wide(table, [STAGE])
    return learner, learner._learn(trial, np.ones(len(table["y"]), dtype=bool), bool)


@pytest.mark.parametrize(("model", "part"), [("anova", "fold"), ("linear", "fold"), ("linear", "half")])
def test_outcomes_of_a_fold_change_nothing_of_what_it_is_judged_by(model, part):
    table = noise()
    learner, evaluation = learnt(table, model=model)
    assert can_relearn(learner._selections)
    test = evaluation.splits_into(10)[0] == 3 if part == "fold" else evaluation.halves(1)[0]
    # in the fold, and nowhere else, a column decides
    other = table | {"y": table["y"] + 5.0 * test * table["x3"] * np.where(table["arm"] == "a", 1.0, -1.0)}
    moved, _ = learnt(other, model=model)
    assert moved._selections[0].groups != learner._selections[0].groups
    rows = evaluation.trial.stages[0].history
    found = [
        _stage_without(chosen, test, _rows_without(chosen, test, y["y"]))[0].q_values(rows)
        for chosen, y in ((learner._selections[0], table), (moved._selections[0], other))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_lines_that_know_all_columns_are_spared_the_eliminations_without_folds(monkeypatch):
    learners = []
    for spared in (True, False):
        if not spared:
            monkeypatch.setattr(_relearning, "lines_from_all", lambda machine, judged: False)
        trial = TrialData.from_wide(noise(seed=3), [STAGE])
        learners.append(QLearning(random_state=0).fit(trial))
    assert learners[0].model_ == ["lines"]
    np.testing.assert_array_equal(*(learner.value_.split_scores for learner in learners))
    assert learners[0].regime_.value_ == learners[1].regime_.value_


def test_a_single_column_is_selected_anew_and_an_estimator_is_not():
    rng = np.random.default_rng(1)
    table = {"x0": rng.normal(size=40), "arm": rng.choice(["a", "b"], size=40), "y": rng.normal(size=40)}
    trial = TrialData.from_wide(table, [STAGE | {"history": ["x0"]}])
    learner = QLearning(model="linear", random_state=0).fit(trial)
    assert learner._selected_anew
    assert not hasattr(learner, "_selections")
    assert not QLearning(model=LinearRegression(), random_state=0).fit(trial)._selected_anew


def test_a_stage_whose_choice_cannot_be_made_again_is_known():
    learner, _ = learnt(noise(), model="linear")
    (chosen,) = learner._selections
    assert not can_relearn([chosen, replace(chosen, machine=None)])


def test_rows_may_come_in_any_order():
    table, order = noise(40), np.random.default_rng(5).permutation(40)
    found = []
    for rows in (np.arange(40), order):
        trial = TrialData.from_wide({name: column[rows] for name, column in table.items()}, [STAGE])
        found.append(QLearning(model="linear", random_state=0).fit(trial))
    one, other = found
    np.testing.assert_allclose(one.value_.scores[order], other.value_.scores, atol=1e-9)
    assert one.value_.standard_error == pytest.approx(other.value_.standard_error)
    assert one.regime_.value_.interval == pytest.approx(other.regime_.value_.interval)


def test_regimes_are_apart_by_the_scores_of_what_they_decide_differently():
    learner, evaluation = learnt(noise(), model="linear")
    machine, n = learner._machines[0], 60
    rows, arm = np.arange(n) < 20, evaluation.trial.stages[0].action
    pairs = np.zeros((1, 2, 1, n), dtype=int)
    pairs[0, 1, 0, :10] = 1
    found = evaluation.apart([machine], rows, pairs)[0]
    q = machine.q_values(evaluation.trial.stages[0].history)
    residual = evaluation.trial.stages[0].reward - q[np.arange(n), arm]
    scores = q + 2.0 * (arm[:, None] == [0, 1]) * residual[:, None]
    np.testing.assert_allclose(found[0, :10], (scores[:, 0] - scores[:, 1])[:10])
    assert found.shape == (1, 20)
    assert not found[0, 10:].any()


@pytest.mark.slow
# one randomised stage in a hundred looks as if it had not been
@pytest.mark.filterwarnings("ignore:Stage")
def test_trials_of_noise_are_told_better_or_worse_as_rarely_as_they_should():
    gains = []
    for seed in range(60):
        learner = QLearning(model="linear", random_state=seed)
        learner.fit(TrialData.from_wide(noise(seed=seed), [STAGE]))
        gains.append(learner.value_.less(learner.observed_))
    wrong = sum(gain.interval[0] > 0.0 or gain.interval[1] < 0.0 for gain in gains)
    short = sum(gain.value**2 > 4.0 * (gain.standard_error**2 - gain.learning_variance) for gain in gains)
    assert wrong <= 5
    assert short > wrong
