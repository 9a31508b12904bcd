"""Options, publishing once, seeds and vocabulary: what all learners share."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rlselect import AdvantageLearning, QLearning, TrialData, regime_value
from rlselect.machines import SquaredKernelProblem
from rlselect.simulate import make_regime_trial


def test_predictions_take_tables_arrays_and_trials(learner, trial):
    whole = trial.history(2)
    some = {name: whole[name] for name in learner.selected_[1]}
    from_trial = learner.predict(trial, 2)
    np.testing.assert_array_equal(learner.predict(some, 2), from_trial)
    np.testing.assert_array_equal(learner.predict(np.column_stack(list(whole.values())), 2), from_trial)
    q = learner.q_values(some, 2)
    assert q.shape == (200, 2)
    np.testing.assert_array_equal(np.array([-1, 1])[q.argmax(axis=1)], from_trial)
    with pytest.raises(ValueError, match="8 are needed: X1_1"):
        learner.predict(np.zeros((2, 3)), 2)
    with pytest.raises(ValueError, match="needed column='X1_2' is not a column of history"):
        learner.predict({"X1_1": [0.0]}, 2)
    with pytest.raises(ValueError, match="between 1 and 2"):
        learner.predict(some, 3)
    with pytest.raises(ValueError, match="NaN"):
        learner.predict({name: [np.nan] for name in some}, 2)


def test_params_clone_pickle_repr(linear, trial):
    other = QLearning(model="rbf", selection=None, discount=0.9, maximize=False, n_jobs=2, random_state=5)
    assert other.get_params() == {
        "model": "rbf",
        "selection": None,
        "discount": 0.9,
        "time_budget": None,
        "maximize": False,
        "level": 0.95,
        "n_jobs": 2,
        "device": "cpu",
        "random_state": 5,
    }
    assert clone(other).get_params() == other.get_params()
    assert repr(QLearning()) == "QLearning()"
    assert "discount=0.9" in repr(other)
    again = pickle.loads(pickle.dumps(linear))
    np.testing.assert_array_equal(again.predict(trial, 1), linear.predict(trial, 1))
    with pytest.raises(NotFittedError):
        QLearning().predict(trial, 1)
    same = clone(linear).fit(trial)
    assert same.selected_ == linear.selected_
    assert same.value_ == linear.value_


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
    "bad",
    [
        {"model": "svm"},
        {"model": 3},
        {"selection": "best"},
        {"discount": 2},
        {"maximize": "yes"},
        {"level": 1.0},
    ],
)
def test_bad_parameters(bad, trial):
    with pytest.raises(ValueError, match=next(iter(bad))):
        QLearning(**bad).fit(trial)


def test_fit_wants_a_trial():
    with pytest.raises(TypeError, match="from_wide"):
        QLearning().fit(np.zeros((3, 2)))


@pytest.fixture(scope="module")
def linear(trial):
    return QLearning(model="linear", random_state=0).fit(trial)


def test_callbacks_hear_of_every_part(trial, linear, Watch):
    pytest.importorskip("sklearn.callback")
    watch = Watch(most=0)  # asks to stop at once, which is not followed
    watched = QLearning(model="linear", random_state=0).set_callbacks(watch).fit(trial)
    assert watch.ended
    assert watch.parts == 5
    assert watched.selected_ == linear.selected_
    assert watched.value_.value == linear.value_.value


@cache
def small_fit(kind):
    return kind(model="linear", random_state=0).fit(small_trial(0))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("kind", [QLearning, AdvantageLearning])
def test_a_fit_that_ends_early_leaves_the_learner_as_it_was(monkeypatch, error, kind):
    trial, other = (small_trial(seed) for seed in (0, 1))
    learner = copy.copy(small_fit(kind))
    before, recommended = dict(vars(learner)), learner.predict(trial, stage=2)
    original, calls = SquaredKernelProblem.removals, []

    def removals(self, count):
        calls.append(count)
        if len(calls) == 20:
            raise error
        return original(self, count)

    monkeypatch.setattr(SquaredKernelProblem, "removals", removals)
    with pytest.raises(error):
        learner.fit(other)
    monkeypatch.undo()
    after = vars(learner)
    assert after.keys() == before.keys()
    assert all(after[name] is value for name, value in before.items())
    np.testing.assert_array_equal(learner.predict(trial, stage=2), recommended)
    with pytest.raises(ValueError, match="discount"):
        learner.set_params(discount=7.0).fit(trial)
    assert learner.value_ is before["value_"]


def small_trial(seed, n_stages=2):
    simulated = make_regime_trial("I", 40, 5, random_state=seed)
    return TrialData.from_wide(simulated.columns, simulated.stages[:n_stages])


@pytest.mark.parametrize("kind", [QLearning, AdvantageLearning])
def test_any_seed_will_do(kind):
    trial = small_trial(0, n_stages=1)

    def scores(seed):
        return kind(model="linear", selection=None, random_state=seed).fit(trial).value_.scores

    np.testing.assert_array_equal(scores(np.random.RandomState(3)), scores(np.random.RandomState(3)))
    np.testing.assert_array_equal(scores(np.random.default_rng(3)), scores(np.random.default_rng(3)))
    values = [
        regime_value(trial, kind(model="linear", selection=None), random_state=seed).value
        for seed in (np.random.RandomState(3), np.random.RandomState(3))
    ]
    assert values[0] == values[1]
    with pytest.raises(ValueError, match="random_state='x'"):
        scores("x")


@pytest.mark.parametrize("options", [{}, {"selection": "rfe-vpred"}, {"selection": None}, {"model": "rbf"}])
def test_the_vocabulary_by_stage(options):
    simulated = make_regime_trial("I", 40, 5, random_state=1)
    columns = simulated.columns | {"X1_2": np.full(40, 2.0)}  # says nothing: no elimination hears of it
    trial = TrialData.from_wide(columns, simulated.stages)
    learner = QLearning(random_state=0, **options).fit(trial)
    for t in range(2):
        names = learner.history_names_in_[t]
        assert names.tolist() == list(trial.history(t + 1))
        assert set(names[learner.support_[t]]) == set(learner.selected_[t])
        ranking, n_selected = learner.ranking_[t], len(learner.selected_[t])
        assert sorted(ranking) == list(range(1, len(names) + 1))
        assert sorted(ranking[learner.support_[t]]) == list(range(1, n_selected + 1))
        assert learner.actions_[t] == (-1, 1)
        path = learner.path_[t]
        if path is None:
            assert options == {"selection": None}
            continue
        assert ranking[names.tolist().index("X1_2")] == len(names)
        assert {len(values) for values in path.values()} == {len(path["n_features"])}
        assert [len(gone) for gone in path["eliminated"][1:]] == (-np.diff(path["n_features"])).tolist()
        # of the columns that were not selected, the last to leave is the best
        order = [name for gone in path["eliminated"] for name in gone if name not in learner.selected_[t]]
        places = [int(ranking[names.tolist().index(name)]) for name in order]
        assert places == sorted(places, reverse=True)


def test_the_level_of_the_intervals(trial, linear):
    narrow = QLearning(model="linear", level=0.5, random_state=0).fit(trial)
    assert narrow.value_.value == linear.value_.value
    assert (narrow.value_.level, narrow.observed_.level) == (0.5, 0.5)
    low, high = narrow.value_.interval
    assert linear.value_.interval[0] < low < high < linear.value_.interval[1]
    assert "50 % interval" in str(narrow.value_)
