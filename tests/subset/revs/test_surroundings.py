"""Subsets around a likely one: those that are heavy are fitted, their neighbours go by price."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from rlselect.data import Units
from rlselect.kernels import OrdinalOutcome
from rlselect.learn import Softmax
from rlselect.subset.revs import _two_priors
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._surroundings import AroundPlan, look_around
from rlselect.subset.revs._walk import Walker
from rlselect.subset.revs._walk_plan import OUTCOME_PLAN
from rlselect.subset.revs.evidence import OutcomeSubset


def ordered_classes(n, p, seed, effects):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    latent = sum(size * X[:, j] for j, size in effects.items()) + rng.logistic(size=n)
    return X, np.digitize(latent, np.quantile(latent, [0.33, 0.67]))


def make_walker(X, y, start=(), stop_after=None, order=None):
    """A walker over ordered classes, in a subset, under all priors."""
    n, p = X.shape
    outcome = OrdinalOutcome(y, 3, np.ones(n), np.zeros(n))
    columns = np.ascontiguousarray(((X - X.mean(axis=0)) / X.std(axis=0)).T)
    state = OutcomeSubset(columns, Units(np.arange(p)), outcome, float(n))
    state.reset(np.isin(np.arange(p), list(start)))
    ticks = iter(range(10**6))
    tick = lambda: "time budget" if stop_after is not None and next(ticks) >= stop_after else None  # noqa: E731
    everything, rng = np.ones(p, dtype=bool), np.random.default_rng(0)
    prior = SizePrior(p, most=n / 4.0)
    return Walker(
        state, prior, Softmax(1.0), everything, rng, tick, n, order=np.arange(p) if order is None else order
    )


def mixed(walker):
    walker.state.mix_priors()
    return walker


def test_inclusion_is_that_of_all_subsets():
    X, y = ordered_classes(80, 7, 1, {2: 1.0, 4: -0.6})
    walker = mixed(make_walker(X, y))
    subsets, values = [np.array(s, dtype=bool) for s in product([0, 1], repeat=7)], []
    for subset in subsets:
        walker.state.reset(subset)
        values.append(walker.posterior)
    exact = np.exp(values - logsumexp(values)) @ np.array(subsets)
    walker.state.reset(np.zeros(7, dtype=bool))
    around = look_around(walker)
    assert around.settled
    assert len(around.fitted) < len(subsets)
    np.testing.assert_allclose(around.inclusion(), exact, atol=0.02)
    assert 0.1 < np.sort(exact)[-2] < 0.99
    assert around.visited.weights.sum() == pytest.approx(1.0)
    # every subset, where all are looked at
    walker.state.reset(np.zeros(7, dtype=bool))
    whole = look_around(walker, AroundPlan(share=1e-300, reach=np.inf))
    assert len(whole.fitted) == len(subsets)
    np.testing.assert_allclose(whole.inclusion(), exact, atol=1e-6)


def alike_columns():
    X, y = ordered_classes(200, 40, 10, {3: 0.7, 9: 1.0})
    X[:, 4] = X[:, 3] + 0.3 * np.random.default_rng(10).standard_normal(200)
    return X, y


def test_one_column_takes_the_place_of_another_though_both_and_none_are_unlikely():
    walker = mixed(make_walker(*alike_columns(), start=(4, 9)))
    # with neither way worth a look
    assert walker.rewards().max() < np.log(0.05)
    around = look_around(walker, AroundPlan(share=0.05))
    np.testing.assert_array_equal(np.flatnonzero(around.best), [3, 9])
    assert around.inclusion()[3] > 0.8 > 0.2 > around.inclusion()[4]
    walker.state.reset(np.isin(np.arange(40), [4, 9]))
    without = look_around(walker, AroundPlan(share=0.05, swaps=1.0))
    np.testing.assert_array_equal(np.flatnonzero(without.best), [4, 9])


def test_the_order_of_columns_does_not_matter():
    X, y = ordered_classes(80, 20, 3, {2: 0.7, 4: -0.6})
    order = np.random.default_rng(2).permutation(20)
    one = look_around(mixed(make_walker(X, y)))
    other = look_around(mixed(make_walker(X[:, order], y, order=np.argsort(order))))
    np.testing.assert_allclose(one.inclusion()[order], other.inclusion(), atol=1e-9)


def walk(walker):
    return _two_priors.run_walk(walker, OUTCOME_PLAN, tune=True)


def test_chains_count_where_too_much_is_left_to_prices(monkeypatch):
    X, y = alike_columns()
    whole = walk(make_walker(X, y))
    assert len(whole.trajectories) == 1
    few = AroundPlan(looks=1, settled=1.0)
    monkeypatch.setattr(_two_priors, "look_around", lambda walker: look_around(walker, few))
    chains = walk(make_walker(X, y))
    assert len(chains.trajectories) == 1 + OUTCOME_PLAN.chains
    assert set(np.flatnonzero(chains.inclusion > 0.5)) == set(np.flatnonzero(whole.inclusion > 0.5)) == {3, 9}


@pytest.mark.parametrize("looks", [0, 2])
def test_a_search_that_is_stopped_among_its_looks_has_the_best_of_them(looks):
    walker = make_walker(*alike_columns(), start=(4, 9), stop_after=looks)
    around = look_around(mixed(walker))
    assert len(around.fitted) == looks + 1
    assert walker.stopped == "time budget"
    assert around.inclusion()[9] > 0.9
