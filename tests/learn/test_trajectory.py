import numpy as np
import pytest

from rlselect.learn import Trajectory


def random_walk(n_units, n_stages, seed, restart_at=()):
    """A walk, and the list of masks a naive recorder would keep."""
    rng = np.random.default_rng(seed)
    mask = rng.random(n_units) < 0.2
    walk, masks = Trajectory(n_units, start=mask), []
    for i in range(n_stages):
        if i in restart_at:
            mask = rng.random(n_units) < 0.5
            walk.restart(mask)
        unit = int(rng.integers(-1, n_units))
        action = 0 if unit < 0 else -(unit + 1) if mask[unit] else unit + 1
        moved = bool(rng.random() < 0.7)
        walk.append(action, reward=float(i), moved=moved, score=2.0 * i, cost=0.5, rows=10 * i)
        mask = mask.copy()
        if moved and action:
            mask[unit] = not mask[unit]
        masks.append(mask)
    return walk, np.array(masks)


@pytest.mark.parametrize("restart_at", [(), (0, 7, 8, 1024, 2500)])
@pytest.mark.parametrize("n_units", [3, 40])
def test_subsets_are_rebuilt(n_units, restart_at):
    walk, masks = random_walk(n_units, 3000, 0, restart_at)
    assert len(walk) == 3000
    for i in (*range(0, 3000, 37), 6, 7, 8, 1022, 1023, 1024, 1025, 2047, 2048, 2499, 2500, 2999, -1, -3000):
        np.testing.assert_array_equal(walk.subset_at(i), masks[i])
    np.testing.assert_array_equal(walk.current, masks[-1])
    np.testing.assert_array_equal(walk.to_dict()["size"], masks.sum(axis=1))


@pytest.mark.parametrize(
    ("start", "stop"), [(0, None), (0, 1), (1500, None), (900, 2600), (1024, 1025), (2500, None)]
)
def test_inclusion_is_the_mean_of_the_masks(start, stop):
    walk, masks = random_walk(12, 3000, 1, restart_at=(0, 7, 1024, 2500))
    np.testing.assert_allclose(walk.inclusion(start, stop), masks[start:stop].mean(axis=0), atol=1e-12)
    weights = np.random.default_rng(2).random(len(masks[start:stop]))
    expected = weights @ masks[start:stop] / weights.sum()
    np.testing.assert_allclose(walk.inclusion(start, stop, weights), expected, atol=1e-12)


def test_columns():
    walk, _ = random_walk(5, 100, 3, restart_at=(40,))
    columns = walk.to_dict()
    assert set(columns) == {
        "action",
        "moved",
        "segment",
        "size",
        "reward",
        "score",
        "cost",
        "rows",
        "seconds",
    }
    np.testing.assert_array_equal(columns["reward"], np.arange(100.0))
    np.testing.assert_array_equal(columns["score"], 2.0 * np.arange(100))
    np.testing.assert_array_equal(columns["rows"], 10 * np.arange(100))
    np.testing.assert_array_equal(columns["segment"], np.repeat([0, 1], [40, 60]))
    assert np.all(np.diff(columns["seconds"]) >= 0)
    assert not np.any(columns["moved"] & (columns["action"] == 0))
    assert walk.segment_range(0) == (0, 40)
    assert walk.segment_range(-1) == (40, 100)
    columns["reward"][:] = 0.0
    assert walk.to_dict()["reward"][-1] == 99.0


def test_given_seconds_are_kept():
    walk = Trajectory(2)
    walk.append(1, seconds=1.5)
    assert walk.to_dict()["seconds"].tolist() == [1.5]


def test_an_empty_segment_is_replaced():
    walk = Trajectory(2, start=[True, False])
    walk.restart([False, True])
    walk.append(0)
    assert walk.n_segments == 1
    np.testing.assert_array_equal(walk.subset_at(0), [False, True])


def test_start_is_copied():
    start = np.array([True, False])
    walk = Trajectory(2, start=start)
    walk.append(-1)
    assert start.tolist() == [True, False]
    walk.current[1] = True
    assert walk.current.tolist() == [False, False]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (1, r"\+1: unit 0 is already in"),
        (-2, "-2: unit 1 is not in"),
        (3, "from -2 to 2"),
        (-3, "from -2 to 2"),
    ],
)
def test_impossible_actions(action, message):
    walk = Trajectory(2, start=[True, False])
    with pytest.raises(ValueError, match=message):
        walk.append(action)
    assert len(walk) == 0


def test_wrong_requests():
    walk = Trajectory(2)
    with pytest.raises(IndexError):
        walk.subset_at(0)
    with pytest.raises(ValueError, match="not a part of the 0 recorded"):
        walk.inclusion()
    walk.append(1)
    with pytest.raises(ValueError, match="one entry for each of 1 rows"):
        walk.inclusion(weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="a mask of 2 units"):
        walk.restart([True])


def test_memory_does_not_grow_with_the_units():
    walk = Trajectory(20_000)
    for i in range(50_000):
        unit = i % 2000
        walk.append(unit + 1 if (i // 2000) % 2 == 0 else -(unit + 1))
    assert walk._rows.nbytes + sum(mask.nbytes for mask in walk._masks) < 100 * 50_000
    assert walk.subset_at(1999).sum() == 2000
    assert walk.subset_at(3999).sum() == 0
