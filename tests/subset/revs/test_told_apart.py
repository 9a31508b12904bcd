"""Effects of classes that do not keep together, told apart under priors with a hole at zero."""

import numpy as np
import pytest
from scipy.special import expit

from rlselect.data import Batch, Units
from rlselect.kernels import ClusterLevels
from rlselect.learn import Softmax
from rlselect.subset.revs import _two_priors
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._visited import Visited
from rlselect.subset.revs._walk import Walker, WalkResult
from rlselect.subset.revs.evidence import DependentGlm, GlmSubset, Rows


def make_walker(X, y, always=0, stop_after=None, weight=None):
    """A walker over a logistic model of rows in memory, the first columns of which are always inside."""
    n, p = X.shape
    rows = Rows(lambda where: Batch(X[where], y[where], weight, None))
    rows.append(slice(0, n))
    state = GlmSubset(rows, Units(np.arange(p)), "binomial", revisits=True)
    inside = np.arange(p) < always
    state.reset(inside)
    ticks = iter(range(10**6))
    tick = lambda: "time budget" if stop_after is not None and next(ticks) >= stop_after else None  # noqa: E731
    prior = SizePrior(p - always, most=max(n / 4.0, 10.0))
    walker = Walker(
        state, prior, Softmax(1.0), ~inside, np.random.default_rng(0), tick, n, order=np.arange(p)
    )
    _two_priors._meet_neighbours(walker, state, None)
    return walker


def large_effects(n, p, seed, where=(10, 20, 30), size=3.0):
    rng = np.random.default_rng(seed)
    X, coef = rng.standard_normal((n, p)), np.zeros(p)
    coef[list(where)] = size * np.resize([1.0, -1.0], len(where))
    return X, (rng.random(n) < expit(X @ coef)).astype(float)


def told_apart(walker, units=()):
    """What is made of units that the first walk has found."""
    inclusion = np.where(np.isin(np.arange(len(walker.allowed)), units), 0.9, 0.01)
    return _two_priors._told_apart(walker, WalkResult(inclusion, [], 0, "converged"), [])


@pytest.mark.parametrize("units", [(), (10,), (10, 20, 30, 50, 51)])
def test_large_effects_are_found_whatever_the_first_walk_has(units):
    found = told_apart(make_walker(*large_effects(80, 100, 0)), units)
    assert set(np.flatnonzero(found.inclusion > 0.5)) == {10, 20, 30}
    assert found.visited.weights.sum() == pytest.approx(1.0)
    assert found.stop_reason == "converged"


def test_predictions_keep_to_what_the_first_walk_counted():
    walker, counted = make_walker(*large_effects(80, 40, 0)), Visited([np.array([10])], np.ones(1))
    inclusion = np.where(np.arange(40) == 10, 0.9, 0.01)
    found = _two_priors._told_apart(walker, WalkResult(inclusion, [], 0, "converged", counted), [])
    assert found.predicting is counted
    assert found.visited is not counted


def test_noise_is_not_found():
    X, _ = large_effects(80, 100, 0)
    noise = np.random.default_rng(1).integers(2, size=80).astype(float)
    assert told_apart(make_walker(X, noise), [5]).inclusion.max() < 0.5


def test_copies_that_the_narrow_prior_keeps_beside_each_other_are_told_apart():
    X, y = large_effects(150, 30, 2, where=(0, 10), size=2.0)
    X[:, 1] = X[:, 0] + 0.05 * np.random.default_rng(9).standard_normal(150)
    inclusion = told_apart(make_walker(X, y), [0, 1, 10]).inclusion
    assert np.count_nonzero(inclusion > 0.5) == 2
    assert inclusion[[0, 1]].sum() == pytest.approx(1.0, abs=0.2)


def test_effects_that_keep_together_are_left_to_the_narrow_prior():
    rng = np.random.default_rng(4)
    X = np.repeat(rng.standard_normal((100, 8)), 4, axis=1) + 0.8 * rng.standard_normal((100, 32))
    walker = make_walker(X, rng.integers(2, size=100).astype(float))
    assert told_apart(walker, np.arange(8)) is None
    assert told_apart(walker, [0, 8, 16]) is not None
    walker.neighbours = None
    assert told_apart(walker, [0, 8, 16]) is None


def test_units_that_are_always_inside_stay_there():
    X, y = large_effects(80, 40, 0)
    inclusion = told_apart(make_walker(X, y, always=2), [0, 1, 10]).inclusion
    assert inclusion[:2].min() == pytest.approx(1.0)
    assert set(np.flatnonzero(inclusion > 0.5)) == {0, 1, 10, 20, 30}


def test_a_search_that_is_stopped_has_the_best_of_its_looks():
    stopped = told_apart(make_walker(*large_effects(80, 100, 0), stop_after=8), [10, 20, 30])
    assert stopped.stop_reason == "time budget"
    assert set(np.flatnonzero(stopped.inclusion > 0.5)) == {10, 20, 30}


def test_the_order_of_columns_does_not_matter_and_weights_are_copies():
    X, y = large_effects(50, 31, 7, size=2.0)
    weight, order = np.random.default_rng(0).integers(1, 3, size=50), np.random.default_rng(2).permutation(31)
    plain = make_walker(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    other = make_walker(X[:, order], y, weight=weight * 1.0)
    other.prior, other.order = plain.prior, np.argsort(order)
    one, two = told_apart(plain, [10]), told_apart(other, [int(np.argsort(order)[10])])
    np.testing.assert_allclose(one.inclusion[order], two.inclusion, atol=1e-6)
    assert one.inclusion.max() > 0.5


def test_units_stand_beside_what_they_leave_to_clusters():
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(30), 8)
    X = rng.standard_normal((30, 5))[codes]
    y = rng.poisson(np.exp(X[:, :2].sum(axis=1) + 0.3 * rng.standard_normal(30)[codes])).astype(float)
    rows = Rows(lambda where: Batch(X[where], y[where], None, None))
    rows.append(slice(0, len(y)))
    state = DependentGlm(rows, Units(np.arange(5)), "poisson", ClusterLevels(codes))
    walker = Walker(state, SizePrior(5), Softmax(), np.ones(5, dtype=bool), rng, lambda: None, len(y))
    found = WalkResult(np.array([1.0, 1.0, 0.0, 0.0, 0.0]), [], 0, "converged")

    def stands_beside(mask):
        """After levels were learnt beside a subset: their spread, and how the units of the walk stand."""
        state.reset(np.array(mask, dtype=bool))
        while state.learn_dispersion():
            pass
        return state.spread.size, _two_priors._standing(walker, found)

    (wide, first), (narrow, second) = stands_beside([0, 0, 0, 0, 0]), stands_beside([1, 1, 0, 0, 0])
    assert wide > 5 * narrow
    assert first == pytest.approx(second, abs=0.1)
