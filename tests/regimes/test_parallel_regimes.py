"""Families, candidates and folds of a regime go through joblib, with the same answer to the last digit."""

import joblib
import numpy as np
import pytest

from rlselect import QLearning, TrialData, regime_value
from rlselect.regimes import _evaluation, _selection, _value_elimination
from rlselect.simulate import make_regime_trial


def made(n_stages):
    simulated = make_regime_trial("I", 60, 5, random_state=1)
    return TrialData.from_wide(simulated.columns, simulated.stages[:n_stages])


@pytest.fixture(scope="module")
def trial():
    return made(2)


def families(trial):
    # one stage has a learner of each family, too
    learner = QLearning(random_state=0).fit(made(1))
    paths = [path[key] for path in learner.path_ for key in ("objective", "risk")]
    return np.concatenate([learner.value_.scores, *paths])


def candidates(trial):
    learner = QLearning(selection="rfe-vpred", random_state=0).fit(trial)
    return np.concatenate([learner.value_.scores, *[path["objective"] for path in learner.path_]])


def folds(trial):
    return regime_value(trial, [1, -1], random_state=0).scores


@pytest.mark.parametrize(
    ("work", "module", "task"),
    [
        (families, _selection, "elimination"),
        (candidates, _value_elimination, "_values_without"),
        (folds, _evaluation, "_fold_scores"),
    ],
)
def test_two_processes_give_the_same_answer(work, module, task, trial, monkeypatch):
    sent, run_tasks = [], module.run_tasks

    def count(function, tasks, **options):
        tasks = list(tasks)
        sent.extend([function.__name__] * len(tasks))
        return run_tasks(function, tasks, **options)

    monkeypatch.setattr(_value_elimination, "_PARCEL", 3 * 60**3)  # three candidates per parcel
    here = work(trial)
    with monkeypatch.context() as patch, joblib.parallel_config("loky", n_jobs=2):
        patch.setattr(module, "run_tasks", count)
        there = work(trial)
    assert sent.count(task) > 1
    np.testing.assert_array_equal(there, here)


def test_parcels_do_not_change_the_answer(trial, monkeypatch):
    whole = candidates(trial)
    monkeypatch.setattr(_value_elimination, "_PARCEL", 3 * 60**3)
    np.testing.assert_array_equal(candidates(trial), whole)
