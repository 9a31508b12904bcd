"""Batched episodes equal a loop over cases."""

import numpy as np
import pytest
from naive import play
from problems import (
    RULES,
    N,
    make_policy,
    make_problem,
)

from rlselect.datumwise import (
    PolicyIteration,
    _policy,
    _policy_iteration,
)


@pytest.mark.parametrize("variant", RULES)
@pytest.mark.parametrize("n_stages", [1, 2, 4])
def test_episodes_equal_a_loop(variant, n_stages):
    rules, policy, codes, closed = make_policy(np.random.default_rng(0), variant, n_stages=n_stages)
    episodes = policy.run(codes, closed)
    lengths = []
    for i in range(N):
        order, answer, spent = play(policy, codes[i], closed[i])
        assert [u for u in episodes.order[i] if u >= 0] == order
        assert episodes.answer[i] == answer
        assert episodes.cost[i] == pytest.approx(spent)
        lengths.append(len(order))
        if rules.budget is not None:
            assert len(order) <= rules.budget
        if rules.cost_budget is not None:
            assert spent <= rules.cost_budget + 1e-9
    assert max(lengths) > 1 or rules.budget == 0 or variant == "restricted all"


@pytest.mark.parametrize("width", [0, 64])
@pytest.mark.parametrize("groups", [None, [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])]])
@pytest.mark.parametrize("scoring", ["bins", "linear"])
def test_a_kept_table_changes_nothing(scoring, groups, width, monkeypatch):
    monkeypatch.setattr(_policy, "_FAST_ROW", width)
    _, policy, codes, closed = make_policy(np.random.default_rng(5), "plain", scoring, groups=groups)
    margins = np.linspace(-0.2, 0.2, closed.shape[1]), 0.1
    before = policy.run(codes, closed, margins)
    policy.keep_table()
    after = policy.run(codes, closed, margins)
    assert (after.order == before.order).all()
    assert (after.answer == before.answer).all()
    assert (policy.with_margins(margins).run(codes, closed).order == before.order).all()


def test_margins_make_purchases_rarer():
    problem = make_problem(150, 8, 0.01)
    settings = PolicyIteration(n_iter=2, n_restarts=1, n_folds=1, states_per_row=6)
    policy = _policy_iteration.iterate_policies(problem, settings, np.random.default_rng(0)).policy
    count = [
        policy.with_margins(margins).run(problem.codes, problem.closed).bought.sum(axis=1)
        for margins in ((0, 0), (0, 5), (5, 5))
    ]
    assert count[0].mean() > 1
    assert (count[1] == 1).all()
    assert (count[2] == 0).all()
