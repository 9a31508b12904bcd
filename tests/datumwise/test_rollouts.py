"""Batched episodes and rollouts equal a loop over cases and actions."""

import numpy as np
import pytest
from naive import open_units, play, price

from rlselect.datumwise import _policy
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._rollout import play_states
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._states import reachable, sample_states

N, D, C = 25, 6, 3
CHAIN = (np.eye(D, k=1) + np.eye(D, k=-1)).astype(bool)
NEEDS = np.zeros((D, D), dtype=bool)
NEEDS[2, 0] = NEEDS[3, [1, 2]] = True

VARIANTS = {
    "plain": {},
    "budget": {"budget": 2},
    "no budget at all": {"budget": 0},
    "cost budget": {"cost_budget": 0.5},
    "restricted any": {"related": CHAIN},
    "restricted all": {"related": ~np.eye(D, dtype=bool) & ~CHAIN, "relation": "all"},
    "relational any": {"related": CHAIN, "unrelated": np.full(D, 0.7), "cost_budget": 1.1},
    "relational all": {"related": CHAIN, "relation": "all", "unrelated": np.linspace(0.2, 0.9, D)},
    "prerequisites": {"needs": NEEDS},
    "everything": {
        "related": CHAIN, "unrelated": np.full(D, 0.6), "needs": NEEDS, "budget": 4, "cost_budget": 1.5,
    },
}  # fmt: skip


def make(rng, variant, scoring="bins", n_stages=4, groups=None):
    X = rng.normal(size=(N, D))
    groups = [np.array([j]) for j in range(D)] if groups is None else groups
    n_units = len(groups)
    rules = PurchaseRules(
        names=list(range(n_units)),
        groups=groups,
        prices=rng.uniform(0.05, 0.3, n_units),
        losses=rng.uniform(0, 1, (C, C)),
        **VARIANTS[variant],
    )
    encoder = make_encoder(scoring, 4).fit(X, np.ones(N))
    theta = rng.normal(size=(n_stages, encoder.width_, n_units + C))
    theta[..., :n_units] += 0.8  # so that something is bought
    policy = AdditivePolicy(rules, encoder, theta, rng.normal(size=(n_stages, encoder.width_, C)))
    closed = rng.random((N, n_units)) < 0.1
    return rules, policy, encoder.encode(X), closed


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_stages", [1, 2, 4])
def test_episodes_equal_a_loop(variant, n_stages):
    rules, policy, codes, closed = make(np.random.default_rng(0), variant, n_stages=n_stages)
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


def values_of(policy, codes, closed, labels, bought, spent, skipped=None):
    """Returns of `play_states` with the states of each row beside each other."""
    n, k, d = bought.shape
    row = np.repeat(np.arange(n), k)
    flat = bought.reshape(-1, d)
    played = play_states(policy, codes, closed, row, flat, spent.ravel(), skipped)
    purchases, values = played.returns(policy.rules.losses.T[labels[row]])
    return purchases.reshape(n, k, d), values.reshape(n, k), played.n_rollouts


@pytest.mark.parametrize("variant", VARIANTS)
def test_rollouts_equal_a_loop(variant):
    rng = np.random.default_rng(1)
    rules, policy, codes, closed = make(rng, variant)
    labels = rng.integers(0, C, N)
    bought, spent = sample_states(rules, closed, 5, rng.random((N, D)) < 0.5, 0.4, rng)
    purchases, values, played = values_of(policy, codes, closed, labels, bought, spent)
    count = 0
    for i in range(N):
        for k in range(5):
            allowed = open_units(rules, bought[i, k], spent[i, k], closed[i])
            for u in range(D):
                if u not in allowed:
                    assert np.isnan(purchases[i, k, u])
                    continue
                _, answer, total = play(policy, codes[i], closed[i], bought[i, k], spent[i, k], first=u)
                worth = spent[i, k] - total - rules.losses[answer, labels[i]]
                assert purchases[i, k, u] == pytest.approx(worth, abs=1e-6)
                count += 1
            _, answer, total = play(policy, codes[i], closed[i], bought[i, k], spent[i, k])
            worth = spent[i, k] - total - rules.losses[answer, labels[i]]
            assert values[i, k] == pytest.approx(worth, abs=1e-6)
    assert played == count


@pytest.mark.parametrize("scoring", ["bins", "linear"])
def test_groups_and_linear_scores(scoring):
    groups = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])]
    _, policy, codes, closed = make(np.random.default_rng(2), "plain", scoring, groups=groups)
    episodes = policy.run(codes, closed)
    for i in range(N):
        order, answer, spent = play(policy, codes[i], closed[i])
        assert [u for u in episodes.order[i] if u >= 0] == order
        assert (episodes.answer[i], episodes.cost[i]) == (answer, pytest.approx(spent))


@pytest.mark.parametrize("variant", VARIANTS)
def test_sampled_states_can_be_reached(variant):
    rng = np.random.default_rng(3)
    rules = make(rng, variant)[0]
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


def test_a_missing_value_of_a_group_adds_nothing():
    rng = np.random.default_rng(4)
    for scoring in ("bins", "linear"):
        X = rng.normal(size=(N, 2))
        encoder = make_encoder(scoring, 3).fit(X, np.ones(N))
        rules = PurchaseRules([0], [np.array([0, 1])], np.ones(1), 1 - np.eye(2))
        theta = rng.normal(size=(1, encoder.width_, 3))
        policy = AdditivePolicy(rules, encoder, theta, theta[..., 1:])
        gap = X[:1].copy()
        gap[0, 1] = np.nan
        scores = policy.action_scores(encoder.encode(gap), np.ones((1, 1), bool))[0]
        added = encoder.contributions(policy.theta[0], encoder.encode(X[:1]), np.array([0, 1]), np.arange(2))
        assert scores == pytest.approx(theta[0, 0] + added[0, 0], rel=1e-5)


def test_skipped_purchases_are_played_only_where_the_policy_wants_them():
    rng = np.random.default_rng(5)
    rules, policy, codes, closed = make(rng, "plain")
    labels = rng.integers(0, C, N)
    bought, spent = sample_states(rules, closed, 5, None, 0.5, rng)
    whole, values, _ = values_of(policy, codes, closed, labels, bought, spent)
    skipped = rng.random((N, D)) < 0.5
    part, same, played = values_of(policy, codes, closed, labels, bought, spent, skipped)
    assert same == pytest.approx(values)
    shown = ~np.isnan(part)
    assert part[shown] == pytest.approx(whole[shown])
    assert played == shown.sum() < (~np.isnan(whole)).sum()
    assert not np.isnan(part[~np.isnan(whole) & ~skipped[:, None, :]]).any()


@pytest.mark.parametrize("variant", ["plain", "budget", "everything"])
def test_actions_that_are_never_taken_change_nothing(variant, monkeypatch):
    rng = np.random.default_rng(6)
    rules, policy, codes, closed = make(rng, variant)
    labels = rng.integers(0, C, N)
    bought, spent = sample_states(rules, closed, 5, None, 0.5, rng)
    short = values_of(policy, codes, closed, labels, bought, spent)
    episodes = policy.run(codes, closed)
    monkeypatch.setattr(_policy, "_FAST_ROW", 16)
    assert policy.start(codes, closed, np.arange(N), bought[:, 0]).scores.shape[1] == 16
    for a, b in zip(short, values_of(policy, codes, closed, labels, bought, spent), strict=True):
        np.testing.assert_array_equal(a, b)
    again = policy.run(codes, closed)
    assert (again.order == episodes.order).all()
    assert (again.answer == episodes.answer).all()


@pytest.mark.parametrize("width", [0, 64])
@pytest.mark.parametrize("groups", [None, [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])]])
@pytest.mark.parametrize("scoring", ["bins", "linear"])
def test_a_kept_table_changes_nothing(scoring, groups, width, monkeypatch):
    monkeypatch.setattr(_policy, "_FAST_ROW", width)
    _, policy, codes, closed = make(np.random.default_rng(5), "plain", scoring, groups=groups)
    margins = np.linspace(-0.2, 0.2, closed.shape[1]), 0.1
    before = policy.run(codes, closed, margins)
    policy.keep_table()
    after = policy.run(codes, closed, margins)
    assert (after.order == before.order).all()
    assert (after.answer == before.answer).all()
    assert (policy.with_margins(margins).run(codes, closed).order == before.order).all()
