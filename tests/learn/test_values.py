import numpy as np
import pytest

from rlselect.learn import EpsilonGreedy, PowerDecay, ValueTable, key_mask, subset_key


@pytest.mark.parametrize("n_units", [1, 7, 8, 9, 20_000])
def test_keys_name_subsets(n_units):
    rng = np.random.default_rng(0)
    masks = [rng.random(n_units) < 0.3 for _ in range(20)]
    for mask in masks:
        np.testing.assert_array_equal(key_mask(subset_key(mask), n_units), mask)
    flipped = masks[0].copy()
    flipped[-1] = not flipped[-1]
    assert subset_key(flipped) != subset_key(masks[0])
    assert subset_key(masks[0]) == subset_key(masks[0].copy())


def test_sarsa_is_equation_6_against_a_dense_table():
    rng = np.random.default_rng(1)
    n_units, n_actions = 3, 4
    table = ValueTable(n_actions)
    dense = np.zeros((2**n_units, n_actions))
    keys = [subset_key(np.array([bool(s >> j & 1) for j in range(n_units)])) for s in range(2**n_units)]
    for t in range(1, 400):
        s, following = rng.integers(2**n_units, size=2)
        a, next_action = rng.integers(n_actions, size=2)
        reward, rate, discount = rng.standard_normal(), 1 / t**0.3, 0.9
        expected = dense[s, a] + rate * (reward + discount * dense[following, next_action] - dense[s, a])
        dense[s, a] = expected
        got = table.sarsa(
            keys[s],
            int(a),
            reward=reward,
            next_key=keys[following],
            next_action=int(next_action),
            rate=rate,
            discount=discount,
        )
        assert got == pytest.approx(expected, rel=1e-14)
    for s, key in enumerate(keys):
        np.testing.assert_allclose(table.values(key), dense[s], rtol=1e-14)
        assert table.best_value(key) == pytest.approx(dense[s].max(), rel=1e-14)


def filled(n_actions, entries):
    table = ValueTable(n_actions)
    for action, value in entries.items():
        table.sarsa(b"s", action, reward=value, next_key=b"t", next_action=0, rate=1.0, discount=0.0)
    return table


@pytest.mark.parametrize(
    ("entries", "best"),
    [
        ({}, [0, 1, 2, 3]),
        ({1: 2.0}, [1]),
        ({1: -2.0}, [0, 2, 3]),
        ({1: -2.0, 3: 0.0}, [0, 2, 3]),
        ({0: -1.0, 1: -2.0, 2: -1.0, 3: -5.0}, [0, 2]),
        ({0: 1.0, 3: 1.0}, [0, 3]),
    ],
)
def test_unvisited_actions_take_part_with_zero(entries, best):
    table = filled(4, entries)
    np.testing.assert_array_equal(table.best_actions(b"s"), best)
    assert [a for a in range(4) if table.is_best(b"s", a)] == best
    assert table.visited(b"s") == entries


def test_reading_stores_nothing():
    table = ValueTable(20_001)
    for state in range(100):
        key = bytes([state])
        table.values(key)
        table.best_actions(key)
        table.is_best(key, 5)
        table.get(key, 7)
    assert len(table) == 0
    table.sarsa(b"s", 20_000, reward=1.0, next_key=b"t", next_action=0, rate=1.0, discount=0.5)
    assert len(table) == 1
    assert table.visited(b"s") == {20_000: 1.0}


@pytest.mark.parametrize(("action", "following"), [(4, 0), (-1, 0), (0, 4)])
def test_actions_outside_the_table(action, following):
    with pytest.raises(ValueError, match="actions run from 0 to 3"):
        ValueTable(4).sarsa(
            b"s", action, reward=1.0, next_key=b"s", next_action=following, rate=1.0, discount=0.5
        )


def test_a_table_without_actions():
    with pytest.raises(ValueError, match="at least 1"):
        ValueTable(0)


def test_a_small_chain_is_learnt():
    """From the empty subset of three units, +1 for reaching {0, 2}: the greedy path must be two flips."""
    target = subset_key(np.array([True, False, True]))
    table = ValueTable(4)
    rng = np.random.default_rng(3)
    policy = EpsilonGreedy(PowerDecay(0.2))

    def flip(mask, action):
        following = mask.copy()
        if action < 3:
            following[action] = not following[action]
        return following

    t = 0
    for _ in range(400):
        mask = np.zeros(3, dtype=bool)
        action = policy.choose(table.values(subset_key(mask)), t=t + 1, rng=rng)
        for _ in range(20):
            t += 1
            following = flip(mask, action)
            done = subset_key(following) == target
            next_action = policy.choose(table.values(subset_key(following)), t=t, rng=rng)
            table.sarsa(
                subset_key(mask),
                action,
                reward=float(done),
                next_key=subset_key(following),
                next_action=next_action,
                rate=0.2,
                discount=0.0 if done else 0.9,
            )
            if done:
                break
            mask, action = following, next_action
    mask = np.zeros(3, dtype=bool)
    for _ in range(2):
        mask = flip(mask, table.best_actions(subset_key(mask))[0])
    assert subset_key(mask) == target
    assert table.best_value(subset_key(np.zeros(3, dtype=bool))) == pytest.approx(0.9, abs=0.1)
