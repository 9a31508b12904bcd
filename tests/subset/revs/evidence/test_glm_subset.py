"""Logistic and Poisson subsets: prices by one step, refits to the mode, the left-over test."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from rlselect.data._units import Units
from rlselect.kernels import log_likelihood
from rlselect.subset.revs.evidence._glm_subset import GlmSubset
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES, Shape

FAMILIES = ["binomial", "poisson"]


def make_subset(X, y, family, unit_of=None, weight=None, offset=None, cuts=None, **options):
    def take(rows):
        return SimpleNamespace(
            X=X[rows],
            y=y[rows],
            sample_weight=None if weight is None else weight[rows],
            offset=None if offset is None else offset[rows],
        )

    cuts = (0, len(y)) if cuts is None else cuts
    rows = Rows(take)
    for a, b in itertools.pairwise(cuts):
        rows.append(slice(a, b))
    units = Units(np.arange(X.shape[1]) if unit_of is None else np.array(unit_of))
    return GlmSubset(rows, units, family, **options)


def problem(family, n=200, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.2 * rng.standard_normal((p, p)))
    eta = 0.3 + 0.8 * X[:, 0] - 0.6 * X[:, 4]
    y = (rng.random(n) < expit(eta)).astype(float) if family == "binomial" else rng.poisson(np.exp(eta))
    return X, y.astype(float), rng.uniform(0.5, 2.0, size=n), 0.3 * rng.standard_normal(n)


def naive_laplace(family, X, y, w, offset, columns, slab):
    """Laplace log evidence with the mode found by a general-purpose optimiser."""
    Z = (X - np.average(X, axis=0, weights=w)) / np.sqrt(np.cov(X.T, aweights=w, ddof=0).diagonal())
    A = np.column_stack([np.ones(len(y)), Z[:, columns]])

    def minus(coef):
        return -w @ log_likelihood(family, y, A @ coef + offset) + 0.5 * coef[1:] @ coef[1:] / slab

    best = minimize(minus, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-8})
    eta = A @ best.x + offset
    curvature = expit(eta) * expit(-eta) if family == "binomial" else np.exp(eta)
    hessian = (A * (w * curvature)[:, None]).T @ A
    hessian[1:, 1:] += np.eye(len(columns)) / slab
    return -best.fun - 0.5 * np.linalg.slogdet(hessian)[1] - 0.5 * len(columns) * np.log(slab)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("columns", [[], [0, 4], [1, 2, 7]])
def test_evidence_is_the_naive_laplace_evidence(family, columns, extras):
    X, y, w, offset = problem(family)
    state = make_subset(X, y, family, None, *((w, offset) if extras else ()))
    mask = np.isin(np.arange(8), columns)
    state.reset(mask)
    w, offset = (w, offset) if extras else (np.ones(200), np.zeros(200))
    # Newton stops within a hundredth of a nat of the mode
    assert state.evidence == pytest.approx(
        naive_laplace(family, X, y, w, offset, columns, state.slab), abs=1e-2
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_one_step_prices_are_close_to_refits(family):
    X, y, w, offset = problem(family)
    state = make_subset(X, y, family, None, w, offset, shape=0)
    state.reset(np.isin(np.arange(8), [0, 2]))
    moves = state.moves()
    here = naive_laplace(family, X, y, w, offset, [0, 2], state.slab)
    for unit in range(8):
        there = [j for j in (0, 2) if j != unit] if unit in (0, 2) else [0, 2, unit]
        gain = naive_laplace(family, X, y, w, offset, there, state.slab) - here
        # the step is exact to second order: right for faint columns, roughly so for strong ones
        assert moves[unit] == pytest.approx(gain, abs=0.1 + 0.35 * abs(gain))
        assert np.sign(moves[unit]) == np.sign(gain)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("unit_of", [list(range(8)), [0, 1, 1, 2, 3, 3, 3, 0]], ids=["single", "groups"])
def test_any_walk_is_a_fit_from_scratch(family, unit_of):
    X, y, w, offset = problem(family)
    state = make_subset(X, y, family, unit_of, w, offset)
    rng = np.random.default_rng(1)
    for i, unit in enumerate(rng.integers(state.units.n_units, size=60)):
        state.toggle(int(unit))
        if i % 6 == 0:
            fresh = make_subset(X, y, family, unit_of, w, offset)
            fresh.reset(state.mask)
            assert state.evidence == pytest.approx(fresh.evidence, abs=1e-2)
            np.testing.assert_allclose(state.moves(), fresh.moves(), atol=0.1, rtol=0.02)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_and_containers_do_not_matter(family, container):
    X, y, w, offset = problem(family)
    mask = np.isin(np.arange(8), [0, 3])
    whole = make_subset(X, y, family, None, w, offset)
    # the scale is that of the first block: here the same in both
    X2, y2, w2, offset2 = (np.concatenate([v, v]) for v in (X, y, w, offset))
    twice = make_subset(container(X2), y2, family, None, w2, offset2, cuts=(0, 200, 400))
    both = make_subset(X, y, family, None, 2.0 * w, offset)
    for state in (whole, twice, both):
        state.reset(mask)
    np.testing.assert_allclose(twice.moves(), both.moves(), atol=1e-6)
    assert twice.evidence == pytest.approx(both.evidence, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_weight_is_a_repeated_row(family):
    X, y, _, offset = problem(family)
    repeat = np.random.default_rng(3).integers(0, 4, size=len(y))
    once = make_subset(X, y, family, None, repeat.astype(float), offset)
    again = make_subset(
        *(np.repeat(v, repeat, axis=0) for v in (X, y)), family, None, None, np.repeat(offset, repeat)
    )
    for unit in (0, 4, 6):
        np.testing.assert_allclose(once.moves(), again.moves(), atol=1e-6)
        assert once.evidence == pytest.approx(again.evidence, abs=1e-6)
        once.toggle(unit)
        again.toggle(unit)


@pytest.mark.parametrize("family", FAMILIES)
def test_copies_go_their_own_ways(family):
    X, y, w, offset = problem(family)
    state = make_subset(X, y, family, None, w, offset)
    state.toggle(3)
    twin = state.copy()
    before, evidence, coef = state.moves().copy(), state.evidence, state._coef.copy()
    for unit in (0, 4, 3):
        twin.toggle(unit)
        np.testing.assert_array_equal(state._coef, coef)
    assert state.evidence == evidence
    np.testing.assert_array_equal(state.moves(), before)
    state.toggle(7)
    fresh = make_subset(X, y, family, None, w, offset)
    fresh.reset(state.mask)
    assert state.evidence == pytest.approx(fresh.evidence, abs=1e-2)


@pytest.mark.parametrize("family", FAMILIES)
def test_growing_rows_is_one_go(family):
    X, y, w, offset = problem(family)
    X[100:], y[100:], w[100:], offset[100:] = X[:100], y[:100], w[:100], offset[:100]
    grown = make_subset(X, y, family, None, w, offset, cuts=(0, 100))
    grown.toggle(4)
    grown.grow([slice(100, 200)])
    whole = make_subset(X, y, family, None, w, offset)
    whole.reset(grown.mask)
    np.testing.assert_allclose(grown.moves(), whole.moves(), atol=0.02)
    grown.grow([slice(0, 200)], anew=True)
    np.testing.assert_allclose(grown.moves(), whole.moves(), atol=0.02)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
def test_counts_of_any_size(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = rng.poisson(size * np.exp(0.4 * X[:, 1])).astype(float)
    y[0] = max(y[0], 1.0)
    state = make_subset(X, y, "poisson")
    mean = np.exp(state._coef[0])
    assert mean == pytest.approx(y.mean(), rel=0.05)
    if size >= 1.0:
        assert np.argmax(state.moves()) == 1
        state.toggle(1)
        assert state._coef[1] == pytest.approx(0.4, abs=0.15)


def test_exposures_of_any_size():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    exposure = rng.uniform(1e4, 1e6, size=300)
    y = rng.poisson(exposure * 1e-4 * np.exp(0.4 * X[:, 1])).astype(float)
    state = make_subset(X, y, "poisson", None, None, np.log(exposure))
    assert np.argmax(state.moves()) == 1
    state.toggle(1)
    assert state._coef[1] == pytest.approx(0.4, abs=0.05)


def test_a_rare_class_is_fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    y = (rng.random(5000) < expit(-7.0 + 1.5 * X[:, 2])).astype(float)
    assert 3 < y.sum() < 50
    state = make_subset(X, y, "binomial")
    assert expit(state._coef[0]) == pytest.approx(y.mean(), rel=0.1)
    assert np.argmax(state.moves()) == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_separation_and_repeated_columns_have_finite_prices(family):
    X, _, _, _ = problem(family)
    y = (X[:, 0] > 0).astype(float)
    X[:, 5] = X[:, 0]
    X[:, 6] = X[:, 0] + X[:, 1]
    state = make_subset(X, y, family)
    for unit in (0, 5, 1, 6, 0):
        state.toggle(unit)
        assert np.isfinite(state.evidence)
        assert np.all(np.isfinite(state.moves()))


def test_constant_columns_are_known():
    X, y, _, _ = problem("binomial")
    X[:, 2], X[:, 5] = 0.0, 7.7
    state = make_subset(X, y, "binomial")
    np.testing.assert_array_equal(state.varies(), ~np.isin(np.arange(8), [2, 5]))
    # a column of zeros changes nothing: only its price speaks against it
    np.testing.assert_allclose(state.moves()[[2, 5]], 0.0, atol=1e-12)


def leftover_draws(family, n_draws, signal, seed, p=40, n=1200, selected=2, constant=False):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n_draws):
        X = rng.standard_normal((n, p))
        if constant:
            X[:, -1] = 3.3
        beta = np.zeros(p)
        beta[:selected] = 0.5
        beta[selected:] = signal * rng.choice([-1, 1], size=p - selected)
        eta = X @ beta - X[0, -1] * beta[-1] * constant
        y = rng.random(n) < expit(eta) if family == "binomial" else rng.poisson(np.exp(0.5 + eta))
        state = make_subset(X, y.astype(float), family, cuts=(0, n // 2, n))
        state.reset(np.arange(p) < selected)
        out.append(state.leftover(rng.choice(p, size=16, replace=False)))
    return np.array(out)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("selected", [0, 12])
def test_leftover_is_standard_normal_when_nothing_is_left(family, selected):
    draws = leftover_draws(family, 200, signal=0.0, seed=1, selected=selected)
    assert abs(draws.mean()) < 4 / np.sqrt(200)
    assert 1 - 4 / np.sqrt(400) < draws.std() < 1 + 4 / np.sqrt(400)
    share, expected = np.mean(draws > 1.5), 0.0668
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 200)


@pytest.mark.parametrize("family", FAMILIES)
def test_leftover_shows_many_faint_effects(family):
    draws = leftover_draws(family, 30, signal=0.08 if family == "binomial" else 0.03, seed=2)
    assert np.mean(draws > 1.5) > 0.9


def test_a_constant_column_leaves_nothing_over():
    draws = leftover_draws("binomial", 30, signal=0.0, seed=3, constant=True)
    assert np.all(np.abs(draws) < 4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_of_priors_is_the_evidence_under_each(family):
    X, y, w, offset = problem(family)
    state = make_subset(X, y, family, weight=w, offset=offset)
    for unit in (0, 4, 5):
        state.toggle(unit)
    table, slabs = state.evidence_table(SHAPES), state.slabs()
    assert table[3, 0] == pytest.approx(naive_laplace(family, X, y, w, offset, [0, 4, 5], slabs[3]), abs=1e-3)
    for i in (0, 6, 11):
        for j, shape in enumerate(SHAPES):
            state.set_prior(slabs[i], shape)
            assert table[i, j] == pytest.approx(state.evidence + state.alike, abs=1e-3)


def test_tied_prices_are_close_to_refits():
    X, y, w, offset = problem("binomial", n=600)
    state = make_subset(X, y, "binomial", weight=w, offset=offset)
    for unit in (0, 4):
        state.toggle(unit)
    state.set_prior(0.3, SHAPES[2])
    moves = state.moves()
    for unit in (1, 2, 3, 5, 6, 7):
        there = state.copy()
        there.toggle(unit)
        assert moves[unit] == pytest.approx(there.evidence - state.evidence, abs=0.1)


def test_the_dispersion_of_counts_is_learnt_and_that_of_classes_is_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6))
    mean = np.exp(1.0 + 0.5 * X[:, 0])
    dispersed = rng.poisson(mean * rng.gamma(1.0, 1.0, 500)).astype(float)
    state = make_subset(X, dispersed, "poisson")
    assert state.learn_dispersion()
    alone = state.dispersion
    state.toggle(0)
    assert state.learn_dispersion()
    # the column explains some of what looked like dispersion
    assert 0.75 < state.dispersion < min(alone, 1.3)
    assert not state.learn_dispersion()
    assert not make_subset(X, rng.poisson(mean).astype(float), "poisson", cuts=(0, 100, 500)).dispersion
    assert not make_subset(X, (dispersed > 2).astype(float), "binomial").learn_dispersion()


def test_dispersed_counts_make_chance_effects_cheap():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 40))
    y = rng.poisson(3.0 * rng.gamma(0.5, 2.0, 300)).astype(float)
    state = make_subset(X, y, "poisson")
    before = state.z_values().max()
    state.learn_dispersion()
    assert state.z_values().max() < 4.0 < before


@pytest.mark.parametrize("share", [0.0, 0.9])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_walk_that_remembers_its_subsets_sees_what_one_without_memory_sees(family, share):
    X, y, *_ = problem(family)
    once, again = (make_subset(X, y, family, [0, 1, 2, 2, 3, 4, 5, 6], revisits=r) for r in (False, True))
    for state in (once, again):
        state.set_prior(0.5, Shape(1, share))
    for unit in np.random.default_rng(3).integers(3, size=40):
        for state in (once, again):
            state.toggle(int(unit))
        np.testing.assert_array_equal(again.mask, once.mask)
        assert again.evidence == pytest.approx(once.evidence, abs=1e-4)
        np.testing.assert_allclose(again.moves(), once.moves(), atol=1e-3)
    fits = []
    again._fit = lambda *_: fits.append(1)
    for unit in (0, 1, 2, 1, 0, 2):
        again.toggle(unit)
    assert not fits
