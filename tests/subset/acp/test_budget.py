"""A time budget with predictors that take long for a single subset, and sizes that do not fit."""

import time

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from rlselect import ActorCriticPredictor


def problem(n, p=8):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, 3.0 * X[:, 1] + 0.3 * rng.standard_normal(n)


def test_a_forest_keeps_to_it():
    X, y = problem(400)
    forest = RandomForestRegressor(30, random_state=0)
    began = time.process_time()
    fitted = ActorCriticPredictor(predictor=forest, time_budget=0.5, random_state=0).fit(X, y)
    # a batch of 64 subsets on five folds would take ten seconds
    assert time.process_time() - began < 4.0
    assert fitted.stop_reason_ == "time budget"
    assert fitted.support_[1]


def test_networks_of_the_paper_keep_to_it():
    X, y = problem(600)
    fitted = ActorCriticPredictor.paper(time_budget=0.3, random_state=0).fit(X, y)
    assert fitted.stop_reason_ == "time budget"
    assert np.isfinite(fitted.predict(X)).all()


@pytest.mark.parametrize("labels", [False, True])
def test_networks_learn_from_as_many_rows_as_there_is_time_for(labels):
    X, y = problem(20_000)
    y = np.where(y > 5.0, "high", "low") if labels else y
    fitted = ActorCriticPredictor(predictor="network", time_budget=0.3, random_state=0).fit(X, y)
    rows = int(fitted.stop_reason_.removeprefix("time budget, ").removesuffix(" of 20000 rows"))
    assert 1000 <= rows < 20_000
    assert len(np.unique(fitted.predict(X[:2000]))) == 2 or not labels


def test_a_kernel_on_all_rows_is_refused_where_it_does_not_fit():
    n = 400_000
    X, y = np.zeros((n, 2)), np.arange(n) % 7.0
    X[:, 0], X[:, 1] = y, np.arange(n) % 3
    began = time.process_time()
    with pytest.raises(MemoryError, match=r"kernel matrices of 400000 rows need .*use predictor='linear'"):
        ActorCriticPredictor.paper(predictor="kernel", batch_size=2, random_state=0).fit(X, y)
    assert time.process_time() - began < 3.0
