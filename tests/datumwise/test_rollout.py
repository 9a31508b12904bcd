"""Batched episodes and rollouts equal a loop over cases and actions."""

import numpy as np
import pytest
from naive import open_units, play
from problems import (
    RULES,
    C,
    D,
    N,
    make_policy,
)

from rlselect.datumwise import _policy
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._rollout import play_states
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._states import sample_states


def values_of(policy, codes, closed, labels, bought, spent, skipped=None):
    """Returns of `play_states` with the states of each row beside each other."""
    n, k, d = bought.shape
    row = np.repeat(np.arange(n), k)
    flat = bought.reshape(-1, d)
    played = play_states(policy, codes, closed, row, flat, spent.ravel(), skipped)
    purchases, values = played.returns(policy.rules.losses.T[labels[row]])
    return purchases.reshape(n, k, d), values.reshape(n, k), played.n_rollouts


@pytest.mark.parametrize("variant", RULES)
def test_rollouts_equal_a_loop(variant):
    rng = np.random.default_rng(1)
    rules, policy, codes, closed = make_policy(rng, variant)
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
    _, policy, codes, closed = make_policy(np.random.default_rng(2), "plain", scoring, groups=groups)
    episodes = policy.run(codes, closed)
    for i in range(N):
        order, answer, spent = play(policy, codes[i], closed[i])
        assert [u for u in episodes.order[i] if u >= 0] == order
        assert (episodes.answer[i], episodes.cost[i]) == (answer, pytest.approx(spent))


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
    rules, policy, codes, closed = make_policy(rng, "plain")
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
    rules, policy, codes, closed = make_policy(rng, variant)
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
