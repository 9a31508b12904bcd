"""Gaussian subsets: any walk is a solution from scratch, and the left-over test knows its size."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from rlselect.data._units import Units
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES, Shape


def make_subset(X, y, unit_of=None, weight=None, cuts=None, n_parts=1, whole=True, revisits=False, **options):
    def take(rows):
        return SimpleNamespace(
            X=X[rows],
            y=y[rows],
            sample_weight=None if weight is None else weight[rows],
            offset=None,
        )

    gram = LazyGram(Rows(take, as_is=True, **options), X.shape[1], n_parts)
    cuts = (0, len(y)) if cuts is None else cuts
    gram.grow(slice(a, b) for a, b in itertools.pairwise(cuts))
    if whole:
        gram.fetch(range(X.shape[1]))
    units = Units(np.arange(X.shape[1]) if unit_of is None else np.array(unit_of))
    return RidgeSubset(gram, units, revisits=revisits)


def problem(n=80, p=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    y = X[:, 0] - 0.5 * X[:, 4] + rng.standard_normal(n)
    return X, y, rng.uniform(0.5, 2.0, size=n)


def naive_evidence(X, y, w, columns, slab):
    Z = (X - np.average(X, axis=0, weights=w)) / np.sqrt(np.cov(X.T, aweights=w, ddof=0).diagonal())
    v = y - np.average(y, weights=w)
    v = v / np.sqrt(np.average(v**2, weights=w))
    A = Z[:, columns] * np.sqrt(w)[:, None]
    covariance = np.eye(len(y)) + slab * A @ A.T
    quad = (np.sqrt(w) * v) @ np.linalg.solve(covariance, np.sqrt(w) * v)
    return -0.5 * (w.sum() - 1.0) * np.log(quad) - 0.5 * np.linalg.slogdet(covariance)[1]


UNITS = {
    "single": list(range(10)),
    "groups": [0, 1, 1, 2, 3, 3, 3, 4, 5, 0],
    "one of all": [0] * 10,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit_of", UNITS.values(), ids=UNITS.keys())
def test_evidence_and_moves_are_naive(unit_of, weighted):
    X, y, w = problem()
    w = w if weighted else np.ones(len(y))
    state = make_subset(X, y, unit_of, w)
    start = np.zeros(state.units.n_units, dtype=bool)
    start[::2] = True
    state.reset(start)

    def evidence(mask):
        return naive_evidence(X, y, w, np.flatnonzero(mask[state.units.unit_of]), state.slab)

    assert state.evidence == pytest.approx(evidence(start), abs=1e-7)
    moves = state.moves()
    for unit in range(state.units.n_units):
        there = start.copy()
        there[unit] = not there[unit]
        assert moves[unit] == pytest.approx(evidence(there) - evidence(start), abs=1e-7)


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("unit_of", UNITS.values(), ids=UNITS.keys())
def test_any_walk_is_a_solution_from_scratch(unit_of, whole, shape):
    X, y, w = problem()
    state = make_subset(X, y, unit_of, w, whole=whole)
    state.set_prior(0.4, shape)
    rng = np.random.default_rng(1)
    # more toggles than the state makes before it starts over by itself
    for i, unit in enumerate(rng.integers(state.units.n_units, size=450)):
        state.toggle(int(unit))
        if i % 50 == 17:
            fresh = make_subset(X, y, unit_of, w)
            fresh.set_prior(0.4, shape)
            fresh.reset(state.mask)
            assert state.evidence == pytest.approx(fresh.evidence, abs=1e-7)
            np.testing.assert_allclose(state.moves(), fresh.moves(), atol=1e-7)
            np.testing.assert_allclose(state.z_values(), fresh.z_values(), atol=1e-7)
            assert state.noise == pytest.approx(fresh.noise, abs=1e-9)
            assert state.size == np.count_nonzero(state.mask)


def test_more_variables_than_rows():
    X, y, w = problem(n=25, p=60)
    state = make_subset(X, y, None, w)
    rng = np.random.default_rng(1)
    for unit in rng.integers(60, size=150):
        state.toggle(int(unit))
    assert state.size > 25
    fresh = make_subset(X, y, None, w)
    fresh.reset(state.mask)
    assert state.evidence == pytest.approx(fresh.evidence, abs=1e-6)
    np.testing.assert_allclose(state.moves(), fresh.moves(), atol=1e-6)


def test_copies_go_their_own_ways():
    X, y, w = problem()
    state = make_subset(X, y, None, w)
    state.toggle(3)
    twin = state.copy()
    before, evidence = state.moves().copy(), state.evidence
    for unit in (0, 4, 3, 8):
        twin.toggle(unit)
    assert state.evidence == evidence
    np.testing.assert_array_equal(state.moves(), before)
    np.testing.assert_array_equal(np.flatnonzero(state.mask), [3])
    np.testing.assert_array_equal(np.flatnonzero(twin.mask), [0, 4, 8])
    state.toggle(9)
    np.testing.assert_array_equal(np.flatnonzero(twin.mask), [0, 4, 8])
    fresh = make_subset(X, y, None, w)
    fresh.reset(twin.mask)
    np.testing.assert_allclose(twin.moves(), fresh.moves(), atol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.9])
@pytest.mark.parametrize("unit_of", UNITS.values(), ids=UNITS.keys())
def test_a_walk_that_remembers_its_subsets_sees_what_one_without_memory_sees(unit_of, share):
    X, y, w = problem()
    once, again = (make_subset(X, y, unit_of, w, revisits=revisits) for revisits in (False, True))
    rng = np.random.default_rng(3)
    for step, unit in enumerate(rng.integers(min(3, once.units.n_units), size=120)):
        if step % 40 == 0:
            for state in (once, again):
                state.set_prior(0.1 + step / 100, Shape(1, share))
            again = again.copy()
        for state in (once, again):
            state.toggle(int(unit))
        np.testing.assert_array_equal(again.mask, once.mask)
        assert again.evidence == pytest.approx(once.evidence, abs=1e-9)
        assert again.alike == pytest.approx(once.alike, abs=1e-9)
        np.testing.assert_allclose(again.moves(), once.moves(), atol=1e-8)
    outside = np.flatnonzero(~once.mask)
    if len(outside):
        # from a remembered subset on to one that is new
        once.toggle(int(outside[-1]))
        again.toggle(int(outside[-1]))
        np.testing.assert_allclose(again.moves(), once.moves(), atol=1e-8)
    again.grow([slice(0, 40)])
    once.grow([slice(0, 40)])
    np.testing.assert_allclose(again.moves(), once.moves(), atol=1e-8)


def test_growing_rows_keeps_the_subset_and_forgetting_columns_changes_nothing():
    X, y, w = problem()
    state = make_subset(X, y, None, w, cuts=(0, 30), whole=False)
    for unit in (2, 4, 7):
        state.prepare(unit, state.moves())
        state.toggle(unit)
    state.trim(state.moves(), np.array([1]))
    state.grow([slice(30, 60), slice(60, 80)])
    fresh = make_subset(X, y, None, w)
    fresh.reset(state.mask)
    np.testing.assert_array_equal(np.flatnonzero(state.mask), [2, 4, 7])
    assert state.evidence == pytest.approx(fresh.evidence, abs=1e-8)
    np.testing.assert_allclose(state.moves(), fresh.moves(), atol=1e-8)


def test_the_table_of_priors_is_the_evidence_under_each():
    X, y, w = problem()
    state = make_subset(X, y, None, w)
    assert np.all(state.evidence_table(SHAPES) == 0.0)
    for unit in (0, 4, 5):
        state.toggle(unit)
    table, slabs = state.evidence_table(SHAPES), state.slabs()
    assert table.shape == (len(slabs), len(SHAPES))
    empty = naive_evidence(X, y, w, [], 1.0)
    for slab, row in zip(slabs, table, strict=True):
        assert row[0] == pytest.approx(naive_evidence(X, y, w, [0, 4, 5], slab) - 0 * empty, abs=1e-7)
        # the second shape: the prior density times beta^2 / (g s^2), taken at the posterior of each effect
        other = make_subset(X, y, None, w)
        other.set_prior(slab, SHAPES[0])
        other.reset(state.mask)
        factor = other._coef**2 + other.noise * np.diagonal(other._inverse)
        assert row[1] - row[0] == pytest.approx(np.log(factor / (slab * other.noise)).sum(), abs=1e-7)


def test_the_prior_that_fits_the_effects_wins():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 12))
    big, small = (make_subset(X, X @ np.full(12, b) + rng.standard_normal(4000)) for b in (1.0, 0.1))
    best = []
    for state in (big, small):
        state.reset(np.ones(12, dtype=bool))
        best.append(state.slabs()[np.argmax(state.evidence_table(SHAPES)[:, 0])])
    # effects of size b in units of the noise have the variance b^2, up to what twelve of them can tell
    assert 0.4 < best[0] < 2.5
    assert 0.004 < best[1] < 0.025


def test_the_widest_prior_is_no_limit_for_large_effects():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 4))
    state = make_subset(X, X @ [100.0, 100.0, 100.0, 0.0] + rng.standard_normal(300))
    state.reset(np.array([True, True, True, False]))
    while np.argmax(state.evidence_table(SHAPES)[:, 0]) == len(state.slabs()) - 1:
        assert state.widen()
    state.set_prior(state.slabs()[np.argmax(state.evidence_table(SHAPES)[:, 0])], SHAPES[0])
    # three effects of 100 have the variance 10,000, and what is left is the noise
    assert 2e3 < state.slab < 5e4
    assert state.noise * 3e4 == pytest.approx(1.0, rel=0.3)


def test_columns_that_others_explain_are_no_failure():
    X, y, w = problem()
    X[:, 6] = X[:, 0] + X[:, 1]
    X[:, 7] = X[:, 0]
    state = make_subset(X, y, None, w)
    for unit in (0, 1, 6, 7, 0, 6, 0, 1):
        state.toggle(unit)
        assert np.isfinite(state.evidence)
        assert np.all(np.isfinite(state.moves()))
    fresh = make_subset(X, y, None, w)
    fresh.reset(state.mask)
    assert state.evidence == pytest.approx(fresh.evidence, abs=1e-5)


def test_a_perfect_fit_is_found_and_nothing_more():
    X, _, _ = problem()
    state = make_subset(X, 2.0 * X[:, 0] - X[:, 3])
    state.set_prior(state.slabs()[-1], SHAPES[0])
    for unit in (0, 3):
        assert state.moves()[unit] > 10
        state.toggle(unit)
    moves = state.moves()
    assert np.all(np.isfinite(moves))
    assert np.all(moves < 0)


def test_a_constant_response_wants_nothing():
    X, _, w = problem()
    state = make_subset(X, np.full(80, 0.37), None, w)
    assert np.all(state.moves() < 0)
    state.toggle(2)
    assert state.moves()[2] > 0


def test_z_values_are_those_of_least_squares_when_the_prior_is_flat():
    X, y, _ = problem()
    state = make_subset(X, y)
    state.set_prior(1e8, SHAPES[0])
    state.reset(np.arange(10) < 4)
    A = np.column_stack([np.ones(80), X[:, :4]])
    coef, rss, *_ = np.linalg.lstsq(A, y, rcond=None)
    noise = rss[0] / 79
    se = np.sqrt(noise * np.diagonal(np.linalg.inv(A.T @ A)))
    np.testing.assert_allclose(state.z_values()[:4], np.abs(coef / se)[1:], rtol=1e-5)


def leftover_draws(n_draws, signal, seed, p=50, n=1600, selected=3):
    """The left-over test on fresh data: some strong effects in the subset, `signal` outside it."""
    rng = np.random.default_rng(seed)
    mix = np.eye(p) + 0.25 * rng.standard_normal((p, p)) / np.sqrt(p)
    out = []
    for _ in range(n_draws):
        X = rng.standard_normal((n, p)) @ mix
        beta = np.zeros(p)
        beta[:selected] = 1.0
        beta[selected:] = signal * rng.choice([-1, 1], size=p - selected)
        y = X @ beta + rng.standard_normal(n)
        state = make_subset(X, y, cuts=(0, n // 4, n // 2, 3 * n // 4, n), n_parts=2)
        state.reset(np.arange(p) < selected)
        out.append(state.leftover(rng.choice(p, size=16, replace=False)))
    return np.array(out)


@pytest.mark.parametrize("selected", [0, 3, 20])
def test_leftover_is_standard_normal_when_nothing_is_left(selected):
    draws = leftover_draws(300, signal=0.0, seed=1, selected=selected)
    # four standard errors of the mean, the spread and the share beyond 1.5 of 300 standard normal values
    assert abs(draws.mean()) < 4 / np.sqrt(300)
    assert 1 - 4 / np.sqrt(600) < draws.std() < 1 + 4 / np.sqrt(600)
    share, expected = np.mean(draws > 1.5), 0.0668
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 300)


def test_leftover_shows_many_faint_effects_that_no_single_column_does():
    # one by one they hide: |z| is about 0.03 * sqrt(1600) = 1.2
    draws = leftover_draws(40, signal=0.03, seed=2)
    assert np.mean(draws > 1.5) > 0.9
    assert np.median(draws) > 3
