"""How sure networks are within budgets: states of rows left out against a naive loop."""

from dataclasses import replace

import numpy as np
from test_network_learn import QUICK, make_problem

from rlselect._clock import Clock
from rlselect.datumwise._network_budgets import first_purchases, know_budgets
from rlselect.datumwise._network_frontier import UNKNOWN, best_temperatures, smooth_temperatures
from rlselect.datumwise._network_learn import learn_networks
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._policy import Episodes


def test_first_purchases():
    order = np.array([[2, 0, -1], [1, -1, -1], [-1, -1, -1]])
    episodes = Episodes(order, np.zeros((3, 3), dtype=bool), np.zeros(3), np.zeros(3))
    assert first_purchases(episodes, 1).tolist() == [[False, False, True], [False, True, False], [False] * 3]
    assert first_purchases(episodes, 2)[0].tolist() == [True, False, True]


def test_temperatures_within_budgets_are_those_of_a_loop_over_states():
    problem = make_problem(20)
    policy = learn_networks(problem, replace(QUICK, steps=30), np.random.default_rng(0)).policy
    bare = replace(policy, frontier=UNKNOWN)
    plain = replace(policy.frontier, numbers=(), limited=None)
    folds = np.arange(len(problem.labels)) % 4
    found = know_budgets(problem, folds, bare, plain, Clock(None))
    n_units = problem.rules.n_units
    assert found.numbers == tuple(b for b in NETWORK.budgets if b < n_units)
    rough = []
    for number in found.numbers:
        shape = len(plain.prices), len(folds)
        logs, counts = np.empty((*shape, problem.rules.n_classes)), np.zeros(shape)
        for k, price in enumerate(plain.prices):
            for row, fold in enumerate(folds):
                alone = replace(bare.part(fold), price=float(price))
                codes = problem.codes[[row]]
                order = alone.run(codes, problem.closed[[row]]).order[0]
                state = np.isin(np.arange(n_units), order[order >= 0][:number])[None]
                logs[k, row] = np.log(alone.probabilities(codes, state)[0])
                counts[k, row] = problem.weights[row] * state.any()
        rough.append(best_temperatures(logs, problem.labels, counts, problem.rules.losses))
    wanted = smooth_temperatures(np.array(found.numbers), NETWORK.averaged * np.array(rough))
    np.testing.assert_allclose(found.limited, wanted, rtol=1e-12)
    assert np.ptp(found.limited) > 0.01


def test_without_time_the_price_says_how_sure_a_case_may_be():
    problem = make_problem(20)
    policy = learn_networks(problem, replace(QUICK, steps=20), np.random.default_rng(0)).policy
    clock = Clock(None)
    clock.reason = "interrupted"
    folds = np.arange(len(problem.labels)) % 4
    assert know_budgets(problem, folds, policy, UNKNOWN, clock) is UNKNOWN
    one = replace(problem, rules=replace(problem.rules, budget=1))
    assert know_budgets(one, folds, policy, UNKNOWN, Clock(None)) is UNKNOWN
