"""Units of correlated columns that speak for each other."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp

from rlselect import REVS
from rlselect.subset.revs._neighbours import Neighbours, log_means, neighbours_among


def in_pairs(m, correlation=0.7):
    """Correlations of columns that go two by two."""
    return np.kron(np.eye(m // 2), np.full((2, 2), correlation) + (1.0 - correlation) * np.eye(2))


def all_of(m):
    return np.ones(m, dtype=bool)


@pytest.mark.parametrize("strength", [1.0, 3.0])
def test_means_over_subsets_of_a_size_are_those_of_all_subsets(strength):
    rng = np.random.default_rng(3)
    links = np.abs(rng.standard_normal((8, 8))) / 12.0
    links = links + links.T
    np.fill_diagonal(links, 0.0)
    for size, found in enumerate(log_means(links, strength, 8)):
        energies = [links[np.ix_(some, some)].sum() / 2.0 for some in map(list, combinations(range(8), size))]
        exact = logsumexp(strength * np.array(energies)) - np.log(len(energies))
        assert found == pytest.approx(exact, abs=0.15)


def test_changes_are_differences_of_priors():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 1)) + rng.standard_normal((60, 9))
    free = np.arange(9) != 4
    prior = neighbours_among(np.corrcoef(X.T), free, rng.permutation(9))
    mask = np.isin(np.arange(9), [0, 2, 3, 4])
    for unit, change in enumerate(prior.changes(mask)):
        other = mask.copy()
        other[unit] = not other[unit] if free[unit] else other[unit]
        assert change == pytest.approx(prior.log_prior(other) - prior.log_prior(mask), abs=1e-12)
    assert not prior.changes(np.zeros(9, dtype=bool)).any()


def test_effects_that_keep_together_make_neighbours_likely_and_others_do_not():
    prior = neighbours_among(in_pairs(40), all_of(40), np.arange(40))
    together, apart = np.arange(40) < 9, np.isin(np.arange(40), 2 * np.arange(9))
    kept, left = prior.changes(together), prior.changes(apart)
    # the other one of a pair of which one is inside, against one of a pair outside
    assert kept[9] - kept[20] > 1.5
    assert 0.0 < left[1] - left[20] < 0.3
    assert prior.log_prior(together) > 2.0
    assert prior.log_prior(apart) < 0.0


def test_columns_that_are_all_alike_or_all_apart_know_no_neighbours():
    for correlation in (np.eye(12), np.full((12, 12), 0.5)):
        prior = neighbours_among(correlation, all_of(12), np.arange(12))
        some = np.isin(np.arange(12), [0, 1, 5])
        np.testing.assert_allclose(prior.changes(some), 0.0, atol=1e-9)
    assert neighbours_among(np.eye(3), np.arange(3) < 1, np.arange(3)) is None


def test_links_of_copies_fade():
    def link(correlation):
        return neighbours_among(in_pairs(4, correlation), all_of(4), np.arange(4)).links[0, 1]

    assert link(0.1) < 0.001
    assert link(0.7) > 3.0 * link(0.99) > 0.0


def test_sizes_beyond_those_that_are_known_go_on_as_the_last_ones():
    prior = Neighbours(np.zeros((60, 60)), all_of(60), np.outer(np.arange(4.0), np.arange(6.0)))
    sizes = [prior.log_prior(np.arange(60) < size) for size in (30, 31)]
    assert sizes[0] - sizes[1] == pytest.approx(0.0, abs=1e-9)
    assert sizes[0] == pytest.approx(np.log(0.5), abs=1e-9)


def blocks(seed, true):
    """Ten blocks of four columns, correlated by .6; the columns of the first blocks that matter."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(0.6) * np.repeat(rng.standard_normal((300, 10)), 4, axis=1)
    X = np.hstack([X + np.sqrt(0.4) * rng.standard_normal((300, 40)), rng.standard_normal((300, 60))])
    coef = np.zeros(100)
    coef[true] = 0.7
    return X, (rng.random(300) < 1.0 / (1.0 + np.exp(-X @ coef))).astype(int), coef != 0


def test_classes_have_all_columns_of_a_block_that_matters_and_the_order_of_columns_does_not():
    X, y, true = blocks(3, np.arange(12))
    model = REVS(family="binomial", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.support_, true)
    order = np.random.default_rng(2).permutation(100)
    other = REVS(family="binomial", random_state=0).fit(X[:, order], y)
    np.testing.assert_allclose(other.inclusion_, model.inclusion_[order], atol=1e-6)


def test_one_column_of_each_block_brings_no_others():
    X, y, true = blocks(2, 4 * np.arange(8))
    model = REVS(family="binomial", random_state=0).fit(X, y)
    assert np.count_nonzero(model.support_ & ~true) <= 1
    assert np.count_nonzero(model.support_ & true) >= 6
