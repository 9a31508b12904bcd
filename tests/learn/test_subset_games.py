from itertools import combinations

import numpy as np
import pytest

from rlselect.learn import TemporalDifferences, UpperConfidenceTree

SUBSETS = [frozenset(s) for k in range(5) for s in combinations(range(4), k)]


def random_worths(seed):
    """Any worths for the 16 subsets of four units."""
    rng = np.random.default_rng(seed)
    return dict(zip(SUBSETS, rng.uniform(size=len(SUBSETS)), strict=True))


def parity(subset):
    """Two units that are worth nothing alone, and a price for each."""
    return 0.5 + 0.4 * ({1, 3} <= subset) - 0.02 * len(subset)


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_ends_at_the_best_of_all_subsets(seed):
    worth = random_worths(seed)
    tree = UpperConfidenceTree(
        4, worth.__getitem__, np.random.default_rng(seed), exploration=1.0, local_weight=1.0
    )
    for _ in range(3000):
        tree.play()
    assert frozenset(tree.best_path()) == max(worth, key=worth.get)


def test_the_tree_finds_units_that_are_worth_nothing_alone():
    tree = UpperConfidenceTree(8, parity, np.random.default_rng(0))
    for _ in range(2000):
        tree.play()
    assert sorted(tree.best_path()) == [1, 3]
    ranked = np.argsort(-tree.units.mean)
    assert set(ranked[:2].tolist()) == {1, 3}


def test_bounds_are_those_of_the_formula():
    tree = UpperConfidenceTree(3, parity, np.random.default_rng(0), exploration=0.3, local_weight=4.0)
    for _ in range(50):
        tree.play()
    empty = frozenset()
    place = tree.places[empty]
    for move in range(4):
        count = place.moves.count[move]
        if count == 0:
            continue
        mean, log = place.moves.mean[move], np.log(place.visits) / count
        variance = place.moves.variance(np.array([move]))[0]
        if move == 3:
            rapid = tree.sizes.mean[0]
        else:
            t = place.below.count[move]
            rapid = (t * place.below.mean[move] + 20.0 * tree.units.mean[move]) / (t + 20.0)
        expected = (count * mean + 4.0 * rapid) / (count + 4.0)
        expected += np.sqrt(0.3 * log * min(0.25, variance + np.sqrt(2 * log)))
        assert tree._bounds(empty, np.array([move]))[0] == pytest.approx(expected)


def test_a_game_counts_in_every_subset_that_it_came_through():
    games = []

    def judge(subset):
        games.append(subset)
        return len(subset) / 4

    tree = UpperConfidenceTree(4, judge, np.random.default_rng(3))
    for _ in range(200):
        tree.play()
    for unit in range(4):
        rewards = [len(g) / 4 for g in games if unit in g]
        assert tree.units.count[unit] == len(rewards)
        assert tree.units.mean[unit] == pytest.approx(np.mean(rewards))
    # the first game only makes the empty set known
    assert tree.places[frozenset()].visits == 199


def test_values_follow_the_temporal_difference():
    played = []

    class Watched(TemporalDifferences):
        def _learn(self, subset, unit, larger, reward):
            played.append((subset, larger, reward))
            super()._learn(subset, unit, larger, reward)

    learner = Watched(4, parity, np.random.default_rng(0), rate=0.3, discount=0.6)
    for _ in range(30):
        learner.play()
    values = {}
    for subset, larger, reward in played:
        old = values.get(subset, 0.0)
        values[subset] = old + 0.3 * (reward + 0.6 * values.get(larger, 0.0) - old)
    assert learner.values == pytest.approx(values)


def test_temporal_differences_find_the_pair():
    learner = TemporalDifferences(8, parity, np.random.default_rng(0))
    best = max((learner.play() for _ in range(500)), key=lambda game: game[1])
    assert sorted(best[0]) == [1, 3]
    # what completes the pair has the credit for it; nothing else gains
    assert set(np.flatnonzero(learner.units.mean > 0)) <= {1, 3}
    assert int(learner.units.mean.argmax()) in (1, 3)


@pytest.mark.parametrize("seed", range(4))
def test_temporal_differences_meet_the_best_of_all_subsets(seed):
    worth = random_worths(seed)
    learner = TemporalDifferences(4, worth.__getitem__, np.random.default_rng(seed), patience=4, epsilon=0.2)
    best = max((learner.play() for _ in range(500)), key=lambda game: game[1])
    assert best[0] == max(worth, key=worth.get)
