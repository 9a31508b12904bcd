"""States to learn from: reachable, and each kept once."""

import numpy as np
import pytest
from naive import open_units, price
from problems import (
    RULES,
    D,
    make_policy,
    make_problem,
)

from rlselect.datumwise._states import distinct, reachable


def test_each_state_is_kept_once():
    rng = np.random.default_rng(3)
    rules = make_problem(10, 5, 0.1).rules
    row = np.repeat(np.arange(300), 8)
    bought = rng.random((len(row), 5)) < 0.3
    states = distinct(rules, row, bought, bought @ rules.prices)
    drawn = {}
    for r, held in zip(row, map(tuple, bought), strict=True):
        drawn[r, held] = drawn.get((r, held), 0) + 1
    kept = dict(zip(zip(states.row, map(tuple, states.bought), strict=True), states.count, strict=True))
    assert kept == drawn
    assert len(kept) == len(states.row) < len(row)
    assert (np.diff(states.row) >= 0).all()
    assert states.spent == pytest.approx(states.bought @ rules.prices)


@pytest.mark.parametrize("variant", RULES)
def test_sampled_states_can_be_reached(variant):
    rng = np.random.default_rng(3)
    rules = make_policy(rng, variant)[0]
    wanted = rng.random((200, D)) < 0.7
    bought, spent = reachable(rules, wanted, rng)
    assert not (bought & ~wanted).any()
    nobody = np.zeros(D, bool)

    def reached(target, cost):
        # some order of purchases leads there at that cost
        states = [(nobody.copy(), 0.0)]
        while states:
            held, paid = states.pop()
            if (held == target).all():
                if abs(paid - cost) < 1e-9:
                    return True
                continue
            for u in open_units(rules, held, paid, nobody):
                if target[u]:
                    after = held.copy()
                    after[u] = True
                    states.append((after, paid + price(rules, list(np.flatnonzero(held)), u)))
        return False

    for target, cost in list(zip(bought, spent, strict=True))[:30]:
        assert reached(target, cost)
