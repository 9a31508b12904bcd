"""Temperatures of additive scores: states of rows left out against a naive loop."""

import numpy as np
import pytest
from problems import improved, make_problem

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration
from rlselect.datumwise._calibrate import stage_temperatures
from rlselect.datumwise._network_frontier import best_temperatures
from rlselect.datumwise._plan import PLAN


def test_temperatures_are_those_of_a_loop_over_states():
    problem, folds = make_problem(200, 4, 0.01, effect=3.0), np.arange(200) % 2
    policies = improved(problem, PolicyIteration(n_folds=2, states_per_row=6), folds)
    found = stage_temperatures(problem, policies, folds)
    assert found[0] == 1.0
    last = len(found) - 1
    for stage in range(1, last + 1):
        logs, labels = [], []
        for row in range(200):
            policy, one = policies[folds[row]], slice(row, row + 1)
            order = policy.run(problem.codes[one], problem.closed[one]).order[0]
            order = order[order >= 0]
            if len(order) < stage:
                continue
            bought = np.zeros((1, 4), dtype=bool)
            bought[0, order if stage == last else order[:stage]] = True
            logs.append(np.log(policy.probabilities(problem.codes[one], bought)[0]))
            labels.append(problem.labels[row])
        if labels:
            counts = np.ones((1, len(labels)))
            given = np.array(logs)[None], np.array(labels), counts, problem.rules.losses
            assert found[stage] == best_temperatures(*given, PLAN.flattered)[0]
    np.testing.assert_array_equal(stage_temperatures(problem, policies[-1:], np.zeros(200, int)), 1.0)


@pytest.mark.parametrize("price", [0.005, 0.05])
def test_confidence_is_about_accuracy(price):
    """Shares of a sum of four columns, as least squares leave them, are too unsure."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 4))
    y = np.digitize(X.sum(axis=1), [-1.5, 0.0, 1.5])
    search = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)
    model = DatumwiseClassifier(feature_cost=price, search=search, random_state=0).fit(X[:500], y[:500])
    sure = model.predict_proba(X[500:]).max(axis=1).mean()
    right = model.score(X[500:], y[500:])
    assert sure == pytest.approx(right, abs=0.05)
    model._fitted.policy.temperatures = np.ones(4)
    raw = model.predict_proba(X[500:]).max(axis=1).mean()
    assert abs(raw - right) > abs(sure - right) - 0.01
    assert price > 0.01 or raw < right - 0.05
