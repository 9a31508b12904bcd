"""Subsets of few effects, weighed one by one."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from rlselect.data import Batch, Units
from rlselect.kernels import ClusterLevels
from rlselect.learn import Softmax
from rlselect.subset.revs import _two_priors
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._walk import Walker, WalkResult
from rlselect.subset.revs._weighing import WeighPlan, weigh_few
from rlselect.subset.revs.evidence import SHAPES, DependentGlm, GlmSubset, Rows


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
    return Walker(state, prior, Softmax(1.0), ~inside, np.random.default_rng(0), tick, n, order=np.arange(p))


def large_effects(n, p, seed, where=(10, 20, 30), size=3.0):
    rng = np.random.default_rng(seed)
    X, coef = rng.standard_normal((n, p)), np.zeros(p)
    coef[list(where)] = size * np.resize([1.0, -1.0], len(where))
    return X, (rng.random(n) < expit(X @ coef)).astype(float)


@pytest.mark.parametrize("always", [0, 1])
def test_all_subsets_of_few_units_have_their_share_of_the_posterior(always):
    X, y = large_effects(50, 6, 3, where=(2, 4), size=2.0)
    walker = make_walker(X, y, always)
    subsets = [np.array(s, dtype=bool) for s in product([0, 1], repeat=6) if all(s[:always])]
    state = GlmSubset(walker.state.rows, walker.state.units, "binomial")
    state.reset(np.arange(6) < always)
    slabs, exact = state.slabs(), []
    for subset in subsets:
        state.reset(subset)
        values = []
        for slab, shape in product(slabs, SHAPES[:2]):
            state.set_prior(slab, shape)
            values.append(state.evidence + state.alike)
        spread = np.repeat(0.5 * np.log(slabs), 2)
        price = sum(map(walker.prior.add, range(subset[always:].sum())))
        exact.append(logsumexp(np.array(values) + spread) - logsumexp(spread) + price)
    weighed = weigh_few(walker, WeighPlan(within=np.inf, share=0.0))
    assert len(weighed.posterior) == len(subsets)
    shares = np.exp(exact - logsumexp(exact))
    np.testing.assert_allclose(weighed.inclusion(), shares @ np.array(subsets), atol=2e-3)
    # the plain plan leaves out next to nothing of that
    np.testing.assert_allclose(
        weigh_few(make_walker(X, y, always)).inclusion(), weighed.inclusion(), atol=0.02
    )


def test_large_effects_that_pay_together_are_found_and_noise_is_not():
    X, y = large_effects(80, 100, 0)
    weighed = weigh_few(make_walker(X, y))
    assert set(np.flatnonzero(weighed.inclusion() > 0.5)) == {10, 20, 30}
    assert weighed.visited.weights.sum() == pytest.approx(1.0)
    assert len(weighed.posterior) < 1000
    noise = np.random.default_rng(1).integers(2, size=80).astype(float)
    quiet = weigh_few(make_walker(X, noise))
    assert quiet.inclusion().max() < 0.5
    assert quiet.inclusion().min() > 0.0


def test_units_that_only_the_narrow_prior_finds_are_for_the_second_walk():
    X, y = large_effects(80, 100, 0)
    walker = make_walker(X, y)

    def first(units):
        inclusion = np.full(100, 0.01)
        inclusion[units] = 0.9
        return _two_priors._rival(walker, inclusion > 0.5), WalkResult(inclusion, [], 0, "converged")

    assert (_two_priors._weighed(*first([10]))).inclusion[[10, 20, 30]].min() > 0.9
    # three others make up for one that is left out, one for two does not
    assert _two_priors._weighed(*first([50])) is not None
    assert _two_priors._weighed(*first([50, 51, 10, 20])) is None
    # nor is anything weighed where there are many
    assert _two_priors._weighed(*first(np.arange(40, 48))) is None


def test_copies_that_the_narrow_prior_keeps_beside_each_other_are_told_apart_by_weight():
    X, y = large_effects(150, 30, 2, where=(0, 10), size=2.0)
    X[:, 1] = X[:, 0] + 0.05 * np.random.default_rng(9).standard_normal(150)
    walker = make_walker(X, y)
    likely = np.isin(np.arange(30), [0, 1, 10])
    found = WalkResult(np.where(likely, 0.95, 0.01), [], 0, "converged")
    inclusion = _two_priors._weighed(_two_priors._rival(walker, likely), found).inclusion
    assert np.count_nonzero(inclusion > 0.5) == 2
    assert inclusion[[0, 1]].sum() == pytest.approx(1.0, abs=0.2)
    # a column that is no copy stays for the second walk
    other = np.isin(np.arange(30), [0, 5, 10])
    found = WalkResult(np.where(other, 0.95, 0.01), [], 0, "converged")
    assert _two_priors._weighed(_two_priors._rival(walker, other), found) is None


def test_a_search_that_is_stopped_while_it_weighs_keeps_what_the_walk_found():
    X, y = large_effects(80, 100, 0)
    rival = _two_priors._rival(make_walker(X, y), np.zeros(100, dtype=bool))
    rival.tick = make_walker(X, y, stop_after=2).tick
    found = WalkResult(np.full(100, 0.01), [], 0, "converged")
    stopped = _two_priors._weighed(rival, found)
    assert stopped.stop_reason == "time budget"
    np.testing.assert_array_equal(stopped.inclusion, found.inclusion)


def test_the_order_of_columns_does_not_matter_and_weights_are_copies():
    X, y = large_effects(50, 31, 7, size=2.0)
    weight, order = np.random.default_rng(0).integers(1, 3, size=50), np.random.default_rng(2).permutation(31)
    plain = make_walker(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    other = make_walker(X[:, order], y, weight=weight * 1.0)
    other.prior, other.order = plain.prior, np.argsort(order)
    one, other = (weigh_few(walker, WeighPlan(ahead=2, looks=6)) for walker in (plain, other))
    np.testing.assert_allclose(one.inclusion()[order], other.inclusion(), atol=1e-9)
    assert one.inclusion().max() > 0.5


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
