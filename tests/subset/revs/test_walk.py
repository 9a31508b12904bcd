"""The walk over subsets: exact where every subset can be visited, close to exact where it cannot."""

from dataclasses import replace
from itertools import product
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from rlselect import REVS
from rlselect.data._units import Units
from rlselect.kernels import log_likelihood
from rlselect.learn import UCB, EpsilonGreedy, Softmax, ThompsonSampling, subset_key
from rlselect.simulate import make_revs
from rlselect.subset.revs import _two_priors, _walk
from rlselect.subset.revs._two_priors import run_walk
from rlselect.subset.revs._visited import Tally
from rlselect.subset.revs._walk import SizePrior, Walker, WalkResult, tune_prior
from rlselect.subset.revs._walk_plan import WalkPlan
from rlselect.subset.revs.evidence._glm_subset import GlmSubset
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES

LONG = WalkPlan(starts=(1.0,), ramp=80, settle=300, steps=6000, chains=2, enumerate_up_to=0)


def make_walker(
    X,
    y,
    family="gaussian",
    *,
    unit_of=None,
    policy=None,
    allowed=None,
    start=None,
    tick=None,
    seed=0,
    **prior,
):
    def take(rows):
        return SimpleNamespace(X=X[rows], y=y[rows], sample_weight=None, offset=None)

    units = Units(np.arange(X.shape[1]) if unit_of is None else np.array(unit_of))
    rows = Rows(take, as_is=family == "gaussian")
    if family == "gaussian":
        gram = LazyGram(rows, X.shape[1])
        gram.grow([slice(0, len(y))])
        state = RidgeSubset(gram, units)
    else:
        rows.append(slice(0, len(y)))
        state = GlmSubset(rows, units, family)
    allowed = np.ones(units.n_units, dtype=bool) if allowed is None else np.array(allowed)
    if start is not None:
        state.reset(np.array(start))
    return Walker(
        state,
        SizePrior(int(allowed.sum()), **prior),
        Softmax() if policy is None else policy,
        allowed,
        np.random.default_rng(seed),
        (lambda: None) if tick is None else tick,
        len(y),
    )


def problem(n=60, p=6, seed=0, effect=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    y = effect * (X[:, 0] - X[:, 1]) + 0.35 * effect * X[:, 2] + rng.standard_normal(n)
    return X, y


LOG_2 = float(np.log(2.0))


def naive_prior(k, m, least=LOG_2, nothing=20.0):
    """Log prior of one subset of k among m, up to a constant, as the documentation has it."""
    price = sum(max(np.log((m - i) / (i + 1)), least) for i in range(k))
    return -price - (np.log(nothing) if k else 0.0)


def naive_ridge(X, y, columns, slab):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    v = (y - y.mean()) / y.std()
    A = Z[:, columns]
    covariance = np.eye(len(y)) + slab * A @ A.T
    quad = v @ np.linalg.solve(covariance, v)
    return -0.5 * (len(y) - 1) * np.log(quad) - 0.5 * np.linalg.slogdet(covariance)[1]


def naive_glm(X, y, family, columns, slab):
    """Laplace evidence times the factor beta^2 / g of each effect, taken at its posterior."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    A = np.column_stack([np.ones(len(y)), Z[:, columns]])

    def minus(coef):
        return -log_likelihood(family, y, A @ coef).sum() + 0.5 * coef[1:] @ coef[1:] / slab

    best = minimize(minus, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-6})
    eta = A @ best.x
    curvature = expit(eta) * expit(-eta) if family == "binomial" else np.exp(eta)
    hessian = (A * curvature[:, None]).T @ A
    hessian[1:, 1:] += np.eye(len(columns)) / slab
    variance = np.diagonal(np.linalg.inv(hessian))[1:]
    shape = np.log((best.x[1:] ** 2 + variance) / slab).sum()
    return -best.fun - 0.5 * np.linalg.slogdet(hessian)[1] - 0.5 * len(columns) * np.log(slab) + shape


def naive_inclusion(evidence, p, prior=naive_prior):
    masks = np.array(list(product([False, True], repeat=p)))
    weights = np.array([evidence(np.flatnonzero(m)) + prior(m.sum(), p) for m in masks])
    return np.exp(weights - logsumexp(weights)) @ masks


# ---- the price of a unit ----


def test_prior_odds_of_sizes():
    prior = SizePrior(10)
    assert prior.add(0) == pytest.approx(-np.log(10) - np.log(20))
    assert prior.add(1) == pytest.approx(-np.log(9 / 2))
    assert prior.add(2) == pytest.approx(-np.log(8 / 3))
    # never below the least price, however many are in
    assert prior.add(5) == prior.add(8) == prior.add(9) == pytest.approx(-np.log(2))
    assert SizePrior(10, nothing=1.0, least=0.0).add(0) == pytest.approx(-np.log(10))
    assert SizePrior(10, least=1.5).add(4) == -1.5
    assert SizePrior(10, lenience=0.5).add(3) == pytest.approx(0.5 + prior.add(3))
    assert SizePrior(1000, most=4).add(4) == pytest.approx(-np.log(1000))


def test_a_fixed_price_does_not_see_the_size():
    prior = SizePrior(10, penalty=1.3)
    assert {prior.add(k) for k in range(10)} == {-1.3}


def test_without_a_least_price_all_sizes_are_alike():
    prior = SizePrior(7, nothing=1.0, least=-np.inf)
    log_size = [sum(prior.add(i) for i in range(k)) for k in range(8)]
    # one subset has that weight, and there are comb(7, k) of its size
    np.testing.assert_allclose([lw + np.log(comb(7, k)) for k, lw in enumerate(log_size)], 0.0, atol=1e-12)


# ---- a weighted mean that cannot overflow ----


def test_tally_is_a_weighted_mean():
    rng = np.random.default_rng(0)
    values, weights = rng.random((50, 3)), rng.normal(size=50) * 3
    masks = rng.random((50, 3)) < 0.5
    tally = Tally(3)
    for value, weight, mask in zip(values, weights, masks, strict=True):
        tally.add(value, weight, mask)
    np.testing.assert_allclose(tally.mean, np.average(values, axis=0, weights=np.exp(weights)))
    for mask in np.unique(masks, axis=0):
        same = (masks == mask).all(axis=1)
        np.testing.assert_allclose(np.exp(tally.seen[subset_key(mask)]), np.exp(weights[same]).sum())


@pytest.mark.parametrize("far", [-2000.0, 2000.0])
def test_tally_knows_weights_of_any_size(far):
    tally, mask = Tally(2), np.zeros(2, dtype=bool)
    tally.add(np.array([0.0, 1.0]), far, mask)
    tally.add(np.array([1.0, 0.0]), far + np.log(3.0), mask)
    np.testing.assert_allclose(tally.mean, [0.75, 0.25])
    tally.add(np.array([0.5, 0.5]), far + 5000.0, mask)
    np.testing.assert_allclose(tally.mean, [0.5, 0.5])


def test_an_empty_tally_is_zero():
    np.testing.assert_array_equal(Tally(2).mean, 0.0)


# ---- one chain ----


@pytest.mark.parametrize("start", [[False] * 6, [True, False, False, True, False, False]])
def test_rewards_are_changes_of_the_posterior(start):
    X, y = problem()
    walker = make_walker(X, y, start=start)
    here, rewards = walker.posterior, walker.rewards()
    for unit in range(6):
        there = np.array(start)
        there[unit] = not there[unit]
        other = make_walker(X, y, start=there)
        assert rewards[unit] == pytest.approx(other.posterior - here, abs=1e-8)


def test_what_may_not_move_is_never_chosen_and_costs_nothing():
    X, y = problem()
    start = np.array([False, False, False, True, False, False])
    walker = make_walker(X, y, allowed=[True, True, False, False, True, True], start=start)
    rewards = walker.rewards()
    np.testing.assert_array_equal(np.isneginf(rewards), [False, False, True, True, False, False])
    # unit 3 is always in: the first free unit still is the first, of four
    assert walker.prior.add(0) == pytest.approx(-np.log(4) - np.log(20))
    walker.run(200)
    assert walker.state.mask[3]
    assert not walker.state.mask[2]
    inclusion = walker.tally.mean
    assert inclusion[3] == 1.0
    assert inclusion[2] == 0.0


def test_a_climb_ends_where_no_move_pays():
    X, y = problem(n=200, p=12)
    walker = make_walker(X, y)
    moves = walker.climb()
    assert moves == len(walker.trajectory) > 0
    assert walker.rewards().max() <= 0
    np.testing.assert_array_equal(walker.trajectory.current, walker.state.mask)
    assert walker.climb() == 0


def test_stopping_leaves_a_subset_that_is_recorded():
    X, y = problem(n=200, p=12)
    ticks = iter([None] * 30 + ["enough"] * 10_000)
    walker = make_walker(X, y, tick=lambda: next(ticks))
    result = run_walk(walker, WalkPlan(enumerate_up_to=0), tune=True)
    assert result.stop_reason == "enough"
    assert np.all((result.inclusion >= 0) & (result.inclusion <= 1))
    assert result.n_stages == sum(len(t) for t in result.trajectories) <= 30


def test_a_search_stopped_before_it_begins_stands_where_it_began():
    X, y = problem(n=200, p=12)
    start = np.arange(12) == 4
    walker = make_walker(X, y, tick=lambda: "at once", start=start, allowed=~start)
    result = run_walk(walker, WalkPlan(), tune=True)
    assert result.stop_reason == "at once"
    np.testing.assert_array_equal(result.inclusion > 0.5, start)
    assert result.inclusion[start].tolist() == [1.0]
    assert result.n_stages == 0


def test_a_search_stopped_early_does_not_hand_back_a_lenient_subset():
    # while the price is discounted, noise enters: that is no answer
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 40))
    y = X[:, 0] + rng.standard_normal(100)
    for early in (3, 10, 30, 60, 120):
        ticks = iter([None] * early + ["enough"] * 100_000)
        result = run_walk(make_walker(X, y, tick=lambda t=ticks: next(t)), WalkPlan(), tune=True)
        assert result.stop_reason == "enough"
        assert (result.inclusion > 0.5).sum() <= 4
        assert result.inclusion[0] > 0.5
        # what nobody has counted is as sure as its price beside the subset, and not certain
        assert result.inclusion.min() > 0.0
        assert np.sum(result.inclusion > 0.95) <= 1


def test_of_searches_that_end_in_the_same_subset_the_first_is_kept(monkeypatch):
    ends, posterior = [], Walker.posterior.fget

    def a_little_more_each_time(walker):
        ends.append(walker.state)
        exact = posterior(walker)
        return exact + 1e-14 * len(ends) * abs(exact)

    monkeypatch.setattr(Walker, "posterior", property(a_little_more_each_time))
    walker = make_walker(*problem(n=200, p=12))
    _walk._best_start(walker, WalkPlan(starts=(1.0, 2.0), ramp=40), tune=False)
    assert len({end.mask.tobytes() for end in ends}) == 1
    assert len({id(end) for end in ends}) == 3
    assert walker.state is ends[0]


# ---- every subset ----


@pytest.mark.parametrize("p", [1, 3, 6, 10])
def test_enumeration_is_exact(p):
    X, y = problem(p=max(p, 3))
    X = X[:, :p]
    walker = make_walker(X, y)
    result = run_walk(walker, WalkPlan(), tune=False)
    expected = naive_inclusion(lambda c: naive_ridge(X, y, c, walker.state.slab), p)
    np.testing.assert_allclose(result.inclusion, expected, atol=1e-8)
    assert result.stop_reason == "converged"


def test_enumeration_is_exact_with_a_prior_read_off_the_data():
    X, y = problem(effect=3.0)
    walker = make_walker(X, y)
    before = walker.state.slab
    result = run_walk(walker, WalkPlan(), tune=True)
    assert walker.state.slab != before
    expected = naive_inclusion(lambda c: naive_ridge(X, y, c, walker.state.slab), 6)
    np.testing.assert_allclose(result.inclusion, expected, atol=1e-8)


def test_enumeration_learns_its_prior_from_a_pair_that_pays_only_in_company():
    # a climb from nothing takes neither of the two, and would leave the prior as it was
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    X[:, 1] = 0.97 * X[:, 0] + np.sqrt(1 - 0.97**2) * X[:, 1]
    y = 3.0 * (X[:, 0] - X[:, 1]) + rng.standard_normal(150)
    climber = make_walker(X, y)
    climber.climb()
    assert climber.state.size == 0
    walker = make_walker(X, y)
    result = run_walk(walker, WalkPlan(), tune=True)
    assert walker.state.slab > 0.1
    assert result.inclusion[:2].min() > 0.9
    assert result.inclusion[2:].max() < 0.3
    expected = naive_inclusion(lambda c: naive_ridge(X, y, c, walker.state.slab), 8)
    np.testing.assert_allclose(result.inclusion, expected, atol=1e-6)


def test_a_round_that_is_broken_off_does_not_replace_a_whole_one():
    X, y = problem(effect=1.0)
    whole = run_walk(make_walker(X, y), WalkPlan(), tune=False).inclusion
    ticks = iter([None] * (64 + 30) + ["enough"] * 1000)
    result = run_walk(make_walker(X, y, tick=lambda: next(ticks)), WalkPlan(), tune=True)
    assert result.stop_reason == "enough"
    assert np.abs(result.inclusion - whole).max() < 0.3


def test_enumeration_is_exact_with_a_fixed_price():
    X, y = problem()
    walker = make_walker(X, y, penalty=0.7)
    result = run_walk(walker, WalkPlan(), tune=False)
    expected = naive_inclusion(
        lambda c: naive_ridge(X, y, c, walker.state.slab), 6, prior=lambda k, m: -0.7 * k
    )
    np.testing.assert_allclose(result.inclusion, expected, atol=1e-8)


def test_enumeration_is_exact_for_groups():
    X, y = problem()
    unit_of = [0, 0, 1, 2, 2, 3]
    walker = make_walker(X, y, unit_of=unit_of)
    result = run_walk(walker, WalkPlan(), tune=False)
    expected = naive_inclusion(
        lambda units: naive_ridge(X, y, np.flatnonzero(np.isin(unit_of, units)), walker.state.slab), 4
    )
    np.testing.assert_allclose(result.inclusion, expected, atol=1e-8)


def test_enumeration_around_a_unit_that_is_always_in():
    X, y = problem()
    start = np.arange(6) == 5
    walker = make_walker(X, y, start=start, allowed=~start)
    result = run_walk(walker, WalkPlan(), tune=False)
    expected = naive_inclusion(lambda c: naive_ridge(X, y, [*c, 5], walker.state.slab), 5)
    np.testing.assert_allclose(result.inclusion, [*expected, 1.0], atol=1e-8)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_enumeration_is_exact_for_other_families(family):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 5))
    eta = 0.5 * X[:, 0] - 0.35 * X[:, 1]
    y = (rng.random(120) < expit(eta)).astype(float) if family == "binomial" else rng.poisson(np.exp(eta))
    y = y.astype(float)
    walker = make_walker(X, y, family)
    _walk.weigh_all(walker, tune=False)
    expected = naive_inclusion(lambda c: naive_glm(X, y, family, c, walker.state.slab), 5)
    # fits stop within a ten-thousandth of a nat of their mode
    np.testing.assert_allclose(walker.tally.mean, expected, atol=2e-3)


def test_few_columns_of_classes_learn_their_prior_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (rng.random(60) < expit(2.0 * X[:, 0] - 1.5 * X[:, 1])).astype(float)
    narrow = make_walker(X, y, "binomial")
    _walk.weigh_all(narrow, tune=False)
    found = run_walk(make_walker(X, y, "binomial"), WalkPlan(), tune=False).inclusion
    assert narrow.tally.mean[:2].max() < 0.9 < 0.98 < found[:2].min()


def test_where_one_prior_selects_nothing_both_count_by_what_the_rows_say_of_them():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), rng.integers(0, 2, 60).astype(float)
    subsets = [np.array(c, dtype=bool) for c in product([False, True], repeat=4)]
    sums, weights = [], []
    narrow = make_walker(X, y, "binomial")
    for walker in narrow, _two_priors._rival(narrow, np.zeros(4, dtype=bool)):
        posterior, prior = [], []
        for subset in subsets:
            walker.state.reset(subset)
            prior.append(sum(walker.prior.add(i) for i in range(subset.sum())))
            posterior.append(np.exp(walker.posterior))
        weights.append(np.sum(posterior) / np.exp(prior).sum())
        sums.append(np.average(subsets, axis=0, weights=posterior))
    found = run_walk(make_walker(X, y, "binomial"), WalkPlan(), tune=False)
    assert not (found.inclusion > 0.5).any()
    np.testing.assert_allclose(found.inclusion, np.average(sums, axis=0, weights=weights), atol=2e-3)
    shares = np.zeros(4)
    for units, weight in zip(found.visited.subsets, found.visited.weights, strict=True):
        shares[units] += weight
    np.testing.assert_allclose(shares, found.inclusion, atol=1e-9)
    assert found.visited.weights.sum() == pytest.approx(1.0)


def test_evidence_averaged_over_priors_chooses_the_walk():
    """Banded effects that a narrow prior shares: what a second price of a unit would throw away."""
    data = make_revs(200, 200, structure="banded", family="binomial", random_state=96002)
    found = REVS(family="binomial", random_state=96002).fit(data.X, data.y)
    assert not (found.support_ & ~data.support).any()
    assert found.support_.sum() >= 11


def test_units_that_the_second_walk_left_out_are_judged_beside_its_own():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20))
    y = (rng.random(150) < expit(1.5 * X[:, 0] - 1.5 * X[:, 1] + X[:, 2])).astype(float)
    walker = make_walker(X, y, "binomial")
    rival = _two_priors._rival(walker, np.arange(20) < 1)
    first, second = np.full(20, 0.01), np.full(20, 0.02)
    # each of them has effects that the other lacks, and the first a column of noise
    first[[0, 2, 5]] = second[[0, 1]] = 0.9
    plan = WalkPlan(settle=30, steps=60, enumerate_up_to=0)
    found, other = (WalkResult(values, [], 0, "converged") for values in (first, second))
    judged = _two_priors._judged(rival, found, other, plan, None)
    assert set(np.flatnonzero(judged.inclusion > 0.5)) == {0, 1, 2}
    np.testing.assert_array_equal(np.delete(judged.inclusion, [0, 1, 2, 5]), 0.02)
    assert {int(unit) for subset in judged.visited.subsets for unit in subset} <= {0, 1, 2, 5}
    rival.tick = lambda: "time budget"
    stopped = _two_priors._judged(rival, found, other, plan, None)
    assert stopped.stop_reason == "time budget"
    np.testing.assert_array_equal(stopped.inclusion, second)


# ---- a walk instead ----


@pytest.fixture(scope="module")
def undecided():
    """Fourteen columns of which several may or may not belong, with their exact inclusion."""
    X, y = problem(n=80, p=14, effect=0.35)
    exact = run_walk(make_walker(X, y), WalkPlan(enumerate_up_to=14), tune=False).inclusion
    assert ((exact > 0.05) & (exact < 0.95)).sum() >= 3
    return X, y, exact


def test_the_walk_is_close_to_enumeration(undecided):
    X, y, exact = undecided
    walked = run_walk(make_walker(X, y), LONG, tune=False)
    np.testing.assert_allclose(walked.inclusion, exact, atol=0.04)


def test_the_walk_needs_its_own_temperature(undecided):
    # a check of the check: another temperature visits other subsets, and the weights do not mend that
    X, y, exact = undecided
    walked = run_walk(make_walker(X, y, policy=Softmax(4.0)), LONG, tune=False)
    assert np.abs(walked.inclusion - exact).max() > 0.02


@pytest.mark.parametrize("policy", [EpsilonGreedy(), UCB(), ThompsonSampling()])
def test_other_policies_weigh_what_they_visit_by_its_posterior(policy):
    X, y = problem(n=80, p=8, effect=0.5)
    exact = run_walk(make_walker(X, y), WalkPlan(enumerate_up_to=8), tune=False)
    walked = run_walk(make_walker(X, y, policy=policy), replace(LONG, steps=1500), tune=False)
    np.testing.assert_allclose(walked.inclusion, exact.inclusion, atol=0.1)


@pytest.mark.parametrize("policy", [Softmax()])
def test_threads_do_not_change_the_answer(policy):
    X, y = problem(n=80, p=20)
    plan = WalkPlan(starts=(1.0,), ramp=40, settle=60, steps=200, chains=4)
    results = [
        run_walk(make_walker(X, y, policy=policy), plan, tune=True, n_jobs=n_jobs) for n_jobs in (None, 1, 3)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.inclusion, results[0].inclusion)
        assert other.n_stages == results[0].n_stages


def test_threads_do_not_change_the_answer_of_newton_fits():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 12))
    y = (rng.random(120) < expit(X[:, 0] - X[:, 1])).astype(float)
    plan = WalkPlan(starts=(1.0,), ramp=24, settle=30, steps=60, chains=3, enumerate_up_to=0)
    once, again = (
        run_walk(make_walker(X, y, "binomial"), plan, tune=False, n_jobs=n_jobs) for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(once.inclusion, again.inclusion)


def test_the_prior_is_read_off_the_subset():
    X, y = problem(n=400, p=6, effect=2.0)
    walker = make_walker(X, y, start=np.arange(6) < 2)
    tune_prior(walker, shapes=1)
    table = walker.state.evidence_table(SHAPES)[:, 0]
    assert walker.state.slab == walker.state.slabs()[np.argmax(table)]
    assert walker.state.shape == 0
    slab = walker.state.slab
    empty = make_walker(X, y)
    tune_prior(empty, shapes=2)
    assert empty.state.slab == 0.1 != slab


def test_the_walk_is_over_subsets_and_priors():
    X, y = problem(n=40, p=4, effect=0.6)
    found = run_walk(make_walker(X, y), LONG, tune=True).inclusion
    state = make_walker(X, y).state
    slabs, every = state.slabs(), []
    for mask, slab, shape in product(product([False, True], repeat=4), slabs, SHAPES):
        state.reset(np.array(mask))
        state.set_prior(slab, shape)
        weight = state.evidence + state.alike + naive_prior(sum(mask), 4) + 0.5 * np.log(slab)
        every.append((*mask, slab, weight))

    def mean(rows):
        return np.exp(rows[:, 5] - logsumexp(rows[:, 5])) @ rows[:, :4]

    rows = np.array(every)
    exact = mean(rows)
    np.testing.assert_allclose(found, exact, atol=0.04)
    # a single prior has another answer
    assert np.abs(mean(rows[rows[:, 4] == slabs[-1]]) - exact).max() > 0.1


def test_a_walk_that_has_found_nothing_keeps_its_prior(monkeypatch):
    rng = np.random.default_rng(5)
    X, noise = rng.standard_normal((60, 20)), rng.standard_normal(60)
    drawn = []
    monkeypatch.setattr(_walk, "_redraw_prior", drawn.append)
    plan = replace(LONG, steps=100)
    run_walk(make_walker(X, noise), plan, tune=True)
    assert not drawn
    run_walk(make_walker(X, 2.0 * X[:, 0] + noise), plan, tune=True)
    assert len(drawn) == 8


def test_a_size_from_a_sum_of_weights_is_that_of_rows():
    rows, weights = SizePrior(72, most=13.0), SizePrior(72, most=13.000000000000004)
    assert [rows.add(k) for k in range(20)] == [weights.add(k) for k in range(20)]
    assert rows.add(12) != rows.add(13)
