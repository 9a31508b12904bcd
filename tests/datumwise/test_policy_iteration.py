"""Climbs and the average of the best policies."""

import numpy as np
import pytest
from problems import (
    improved,
    make_problem,
)

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration, _folds, _policy_iteration


@pytest.mark.parametrize("most", [1, 40])
def test_fewer_states_than_folds(most):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 4))
    search = PolicyIteration(max_states=most, n_iter=2)
    model = DatumwiseClassifier(search=search, random_state=0).fit(X, X[:, 0] > 0)
    assert model.predict(X).shape == (60,)


@pytest.mark.slow
def test_many_weak_features_do_not_end_with_one_question():
    rng = np.random.default_rng(7001)
    X = rng.normal(size=(2400, 40))
    y = X[:, :8].sum(axis=1) + rng.normal(size=2400) > 0
    search = PolicyIteration(n_iter=6, states_per_row=10)
    model = DatumwiseClassifier(feature_cost=0.02, search=search, random_state=0).fit(X[:400], y[:400])
    assert model.unit_inclusion_.sum() > 1.5
    assert model.score(X[400:], y[400:]) > 0.66  # one feature alone is right in 61 % of the cases


@pytest.mark.parametrize("seed", range(2))
def test_many_features_do_not_stop_learning_from_buying(seed):
    problem = make_problem(250, 100, 0.02, effect=0.7)
    settings = PolicyIteration(n_iter=5, n_restarts=1, n_folds=1, states_per_row=5, screen=None)
    learned = _policy_iteration.iterate_policies(problem, settings, np.random.default_rng(seed))
    bought = learned.policy.run(problem.codes, problem.closed).bought
    prior = -min(np.mean(problem.labels), 1 - np.mean(problem.labels))
    assert learned.value > prior + 0.03
    assert bought[:, :4].any(axis=1).mean() > 0.9


def test_the_best_policies_are_averaged_unless_one_is_clearly_better():
    problem, folds = make_problem(200, 4, 0.01, effect=3.0), np.arange(200) % 2
    settings = PolicyIteration(n_folds=2, n_averaged=2, states_per_row=6)
    good = improved(problem, settings, folds)
    value = float(_folds.evaluate(problem, good, folds)[1].mean())
    # the mean with a policy that is almost the same, and with one that never buys
    near = [policy.with_margins((1e-4, 1e-4)) for policy in good]
    far = [policy.with_margins((9.0, 9.0)) for policy in good]
    for other, averaged in ((near, True), (far, False)):
        climb = _policy_iteration._Climb((-9.0, other), [(value, good), (value - 1e-6, other)], [])
        kept, _ = _policy_iteration._average([climb], problem, folds, settings)
        expected = (good[-1].theta + other[-1].theta) / 2 if averaged else good[-1].theta
        assert kept[-1].theta == pytest.approx(expected, abs=1e-6)
    # nothing learned is better than what was there at first
    climb = _policy_iteration._Climb((1.0, far), [(value, good), (value, near)], [])
    kept, _ = _policy_iteration._average([climb], problem, folds, settings)
    assert kept[-1].theta == pytest.approx(far[-1].theta)


def test_n_averaged_matters():
    problem = make_problem(120, 5, 0.02, effect=0.5)
    theta = [
        _policy_iteration.iterate_policies(
            problem,
            PolicyIteration(n_averaged=n_averaged, n_iter=3, n_restarts=1, states_per_row=4),
            np.random.default_rng(0),
        ).policy.theta
        for n_averaged in (1, 8)
    ]
    assert np.abs(theta[0] - theta[1]).max() > 1e-3
