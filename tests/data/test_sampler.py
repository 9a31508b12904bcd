"""Rows of a table in memory are drawn fairly, once each, in blocks of two halves."""

import numpy as np
import pytest

from rlselect.data._sampler import RowSampler, deal_out


@pytest.fixture(params=["shuffled", "drawn"])
def sampler_of(request, monkeypatch):
    """Both ways to draw: a shuffle of all rows, and draws that remember what they took."""
    if request.param == "drawn":
        monkeypatch.setattr("rlselect.data._sampler._SHUFFLE", 0)
    return lambda n, seed=0: RowSampler(n, np.random.default_rng(seed))


def test_rows_are_drawn_once(sampler_of):
    sampler = sampler_of(5000)
    seen = []
    for wanted in (300, 300, 600, 1200, 1200, 5000):
        blocks = list(sampler.draw(wanted, 200))
        assert len(blocks) % 2 == 0
        assert max(map(len, blocks)) <= 200
        assert max(map(len, blocks)) - min(map(len, blocks)) <= 1
        for block in blocks:
            assert np.all(np.diff(block) > 0)
        seen += blocks
        assert sampler.n_used == sum(map(len, seen))
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(5000))
    assert sum(len(b) for b in sampler.draw(10, 200)) == 0


def test_draws_are_fair(sampler_of):
    # 400 samplers draw 50 of 200 rows: each row is drawn 100 times, give or take
    counts = np.zeros(200)
    first_blocks = np.zeros(200)
    for seed in range(400):
        blocks = list(sampler_of(200, seed).draw(50, 10))
        for block in blocks:
            counts[block] += 1
        first_blocks[blocks[0]] += 1
    expected, spread = 100.0, np.sqrt(400 * 0.25 * 0.75)
    assert np.abs(counts - expected).max() < 4.5 * spread
    assert counts.sum() == 400 * 50
    # nor does the place of a row decide in which block it comes
    early, late = first_blocks[:100].sum(), first_blocks[100:].sum()
    assert abs(early - late) < 4.5 * np.sqrt(first_blocks.sum())


def test_the_same_seed_draws_the_same_rows(sampler_of):
    once, again = (list(sampler_of(3000, 7).draw(500, 100)) for _ in range(2))
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 1001])
def test_everything_is_every_row_in_order(n):
    sampler = RowSampler(n, np.random.default_rng(0))
    blocks = list(sampler.everything(100))
    assert len(blocks) % 2 == 0
    rows = np.concatenate([np.arange(n)[b] for b in blocks])
    np.testing.assert_array_equal(rows, np.arange(n))
    assert sampler.n_used == n


def test_later_rows_come_from_two_random_halves_in_turn():
    sampler = RowSampler(10_000, np.random.default_rng(0))
    list(sampler.draw(1000, 100))
    blocks = list(sampler.draw(4000, 100))
    # a block lies in one stretch of the data, and each half covers all of it
    assert max(np.ptp(b) for b in blocks) < 1000
    for half in (np.concatenate(blocks[::2]), np.concatenate(blocks[1::2])):
        assert len(half) == 2000
        assert abs(half.mean() - 5000) < 5 * 10_000 / np.sqrt(12 * 2000)


def test_stretches_are_all_rows_and_draw_none():
    sampler = RowSampler(1001, np.random.default_rng(0))
    stretches = sampler.stretches(100)
    assert len(stretches) % 2 == 0
    rows = np.concatenate([np.arange(1001)[block] for stretch in stretches for block in stretch])
    np.testing.assert_array_equal(rows, np.arange(1001))
    assert sampler.n_used == 0


def test_every_stretch_has_its_round():
    order = deal_out(23, 4, np.random.default_rng(0))
    assert len(order) == 23
    for group in range(5):
        assert sorted(order[4 * group : 4 * group + 4]) == [0, 1, 2, 3]
    assert not np.array_equal(order[:4], order[4:8])
    # never a round without rows
    assert sorted(deal_out(3, 10, np.random.default_rng(0))) == [0, 1, 2]


def test_rounds_are_all_rows():
    rounds = RowSampler(1001, np.random.default_rng(0)).rounds(4, 100, np.random.default_rng(1))
    assert len(rounds) == 4
    rows = np.concatenate([np.arange(1001)[block] for blocks in rounds for block in blocks])
    np.testing.assert_array_equal(np.sort(rows), np.arange(1001))
