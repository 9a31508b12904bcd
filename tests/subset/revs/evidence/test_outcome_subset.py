"""Prices of moves under an outcome against the moves themselves."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_t
from sklearn.datasets import load_wine

from rlselect.data import Units
from rlselect.kernels import ClassOutcome, CoxOutcome, OrdinalOutcome
from rlselect.subset.revs.evidence import SHAPES, OutcomeSubset, Shape, outcome_mode


def state_of(name, n=240, shape=1):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((6, n))
    Z = (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)
    weight = rng.integers(1, 3, n).astype(float)
    eta = 0.4 * Z[0] - 0.3 * Z[2]
    codes = np.digitize(eta + rng.logistic(size=n), [-0.5, 0.7])
    if name == "multinomial":
        outcome = ClassOutcome(codes, 3, weight)
    elif name == "ordinal":
        outcome = OrdinalOutcome(codes, 3, weight, np.zeros(n))
    else:
        time = np.round(rng.exponential(np.exp(-eta)), 1) + 0.1
        outcome = CoxOutcome(time, rng.random(n) < 0.7, weight, np.zeros(n))
    state = OutcomeSubset(Z, Units(np.array([0, 1, 2, 3, 4, 4])), outcome, weight.sum(), shape=shape)
    return state, Z


@pytest.mark.parametrize("shape", [0, 1, 2])
@pytest.mark.parametrize("name", ["multinomial", "ordinal", "cox"])
def test_every_move_has_about_the_price_of_making_it(name, shape):
    state, _ = state_of(name, shape=shape)
    state.reset(np.array([True, False, True, False, False]))
    here, prices = state.evidence, state.moves().copy()
    for unit, price in enumerate(prices):
        state.toggle(unit)
        assert state.evidence - here == pytest.approx(price, abs=0.2 + 0.03 * abs(price))
        made = state.evidence - here
        state.toggle(unit)
        # a move that was made has its true price
        assert state.moves()[unit] == pytest.approx(made, abs=1e-9)


@pytest.mark.parametrize("name", ["multinomial", "ordinal", "cox"])
def test_evidence_is_laplace_at_the_mode(name):
    state, Z = state_of(name, shape=0)
    state.reset(np.array([True, False, True, False, False]))
    outcome, f, q = state.outcome, state.outcome.n_own, state.outcome.n_predictors
    variance = state.slab
    A = Z[[0, 2]] if outcome.order is None else Z[[0, 2]][:, outcome.order]

    def loss(theta):
        prior = 0.5 * theta[f:] @ theta[f:] / variance
        return prior - outcome.at(theta[:f], theta[f:].reshape(2, q).T @ A).value

    start = np.concatenate([outcome.start(), np.zeros(2 * q)])
    best = minimize(
        loss, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11, "maxfev": 20000}
    )
    own, coef = state.coef
    np.testing.assert_allclose(np.concatenate([own, coef.ravel()]), best.x, atol=1e-4)
    h = 1e-3 * np.eye(len(start))
    hessian = [
        [
            (loss(best.x + a + b) - loss(best.x + a - b) - loss(best.x - a + b) + loss(best.x - a - b)) / 4e-6
            for a in h
        ]
        for b in h
    ]
    logdet = np.linalg.slogdet(hessian)[1] + 2 * q * np.log(variance)
    assert state.evidence == pytest.approx(-best.fun - 0.5 * logdet, abs=1e-3)


@pytest.mark.parametrize("name", ["multinomial", "ordinal", "cox"])
def test_evidence_with_a_hole_at_zero_is_the_integral_over_the_coefficients(name):
    state, Z = state_of(name)
    state.reset(np.array([True, False, True, False, False]))
    outcome, f, q = state.outcome, state.outcome.n_own, state.outcome.n_predictors
    A = Z[[0, 2]] if outcome.order is None else Z[[0, 2]][:, outcome.order]
    mode = outcome_mode(outcome, A, 4.0, np.concatenate([outcome.start(), np.zeros(2 * q)]))
    draws = multivariate_t(mode.coef, 2.0 * mode.inverse, df=6, seed=0)
    theta = draws.rvs(1500).reshape(1500, -1)
    fit = [outcome.at(t[:f], t[f:].reshape(2, q).T @ A).value for t in theta] - draws.logpdf(theta)
    square = (theta[:, f:].reshape(-1, 2, q) ** 2).sum(axis=2)
    for order in (1, 4):
        for slab in (0.05, 0.1):
            # the slab is the mean square of a coefficient, hole at zero included
            v = slab * q / (q + 2 * order)
            prior = order * np.log(square) - 0.5 * square / v - 0.5 * q * np.log(2 * np.pi * v)
            prior -= order * np.log(2 * v) + gammaln(0.5 * q + order) - gammaln(0.5 * q)
            integral = logsumexp(fit + prior.sum(axis=1)) - np.log(1500)
            state.set_prior(slab, Shape(order, 0.0))
            assert state.evidence + 0.5 * f * np.log(2 * np.pi) == pytest.approx(integral, abs=0.15)


def test_a_unit_that_all_but_separates_the_classes_leaves_for_its_true_price():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((5, 60))
    codes = np.digitize(4.0 * Z[0] + 3.0 * Z[1] + rng.logistic(size=60), [-1.0, 1.0])
    outcome = ClassOutcome(codes, 3, np.ones(60))
    state = OutcomeSubset(Z, Units(np.arange(5)), outcome, 60.0, slab=4.0, shape=0)
    state.mix_priors()
    state.reset(np.array([True, True, True, False, False]))
    here, prices = state.evidence, state.moves().copy()
    # one Newton step says -4 of both
    assert prices[:2].max() < -15.0
    assert prices[2] > 0.0
    for unit in range(3):
        state.toggle(unit)
        assert state.evidence - here == pytest.approx(prices[unit], abs=0.3, rel=0.2)
        state.toggle(unit)


def test_columns_that_are_alike_do_not_each_take_the_other_side_of_zero():
    rng = np.random.default_rng(957000)
    root = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    Z = root @ rng.standard_normal((8, 300))
    codes = np.digitize(0.9 * Z[4] + rng.logistic(size=300), [-1.0, 0.0, 1.0])
    outcome = OrdinalOutcome(codes, 4, np.ones(300), np.zeros(300))
    state = OutcomeSubset(Z, Units(np.arange(8)), outcome, 300.0, slab=0.4, shape=4)
    evidence = {}
    for columns in ((4,), (3, 4), (1, 2, 3, 4, 5, 6)):
        state.reset(np.isin(np.arange(8), columns))
        evidence[columns] = state.evidence
    # all but the first column are superfluous: each costs some log evidence
    assert evidence[4,] - evidence[3, 4] > 2.0
    assert evidence[3, 4] - evidence[1, 2, 3, 4, 5, 6] > 2.0


def wine():
    data = load_wine()
    Z = data.data[::2].T
    Z = (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)
    outcome = ClassOutcome(data.target[::2], 3, np.ones(Z.shape[1]))
    return OutcomeSubset(Z, Units(np.arange(13)), outcome, float(Z.shape[1]), slab=4.0, shape=0)


# slabs and orders of the hole, and integrals by 120,000 draws (effective ones: 205 at least)
@pytest.mark.parametrize(
    ("subset", "slab", "order", "integral"),
    [
        ((0, 1, 2, 4, 7, 10, 12), 4.0, 2, -26.8),
        ((0, 1, 2, 4, 7, 10, 12), 1.28, 2, -30.1),
        ((1, 2, 4, 5, 7, 8, 11, 12), 1.28, 2, -40.5),
        ((0, 6, 9, 10, 12), 1.28, 4, -17.2),
    ],
)
def test_evidence_of_columns_that_all_but_separate_the_classes_is_the_integral(subset, slab, order, integral):
    state = wine()
    state.reset(np.isin(np.arange(13), subset))
    state.set_prior(slab, Shape(order, 0.0))
    assert state.evidence == pytest.approx(integral, abs=1.0)


def test_prices_near_separation_are_differences_of_averages_over_priors_that_were_fitted():
    state = wine()
    holes = [shape for shape in state.shapes if shape.alike]
    spread = np.repeat(0.5 * np.log(state.slabs())[:, None], len(holes), axis=1)
    start, exact = np.isin(np.arange(13), [0, 9, 12]), {}
    for unit in (-1, 0, 6, 10):
        state.reset(start ^ (np.arange(13) == unit))
        exact[unit] = logsumexp(state.evidence_table(holes) + spread) - logsumexp(spread)
    state.reset(start)
    state.mix_priors()
    assert state.evidence == pytest.approx(exact[-1], abs=0.3)
    for unit in (0, 6, 10):
        assert state.moves()[unit] == pytest.approx(exact[unit] - exact[-1], abs=1.0)


def test_classes_that_many_subsets_separate_have_prices():
    state = wine()
    state.mix_priors()
    rng = np.random.default_rng(0)
    for _ in range(6):
        state.reset(np.isin(np.arange(13), rng.choice(13, 7, replace=False)))
        assert state.evidence < 0.0
        assert np.isfinite(state.moves()).all()


def test_relabelled_classes_have_the_same_evidence():
    state, Z = state_of("multinomial")
    codes = np.array([2, 0, 1])[state.outcome._codes]
    other = OutcomeSubset(Z, state.units, ClassOutcome(codes, 3, state.outcome._weight), state.counted)
    for mask in ([0, 0, 0, 0, 0], [1, 0, 1, 0, 1]):
        state.reset(np.array(mask, dtype=bool))
        other.reset(np.array(mask, dtype=bool))
        assert other.evidence == pytest.approx(state.evidence, abs=1e-6)
        np.testing.assert_allclose(other.moves(), state.moves(), atol=1e-5)


def test_prior_follows_the_table_and_prices_are_forgotten_with_it():
    state, _ = state_of("cox")
    state.reset(np.array([True, False, True, False, False]))
    table = state.evidence_table(SHAPES)
    assert np.isneginf(table[:, [shape.share > 0 for shape in SHAPES]]).all()
    slab = float(state.slabs()[5])
    state.set_prior(slab, Shape(0, 0.0))
    assert state.alike == 0.0
    assert state.evidence == pytest.approx(table[5, 0], abs=1e-5)
    twin = state.copy()
    twin.toggle(0)
    assert state.mask[0]
    assert not twin.mask[0]


@pytest.mark.parametrize("family", ["multinomial", "cox"])
def test_prices_over_all_priors_are_those_of_the_averaged_evidence(family):
    state, _ = state_of(family)
    holes = [shape for shape in state.shapes if shape.alike]
    spread = np.repeat(0.5 * np.log(state.slabs())[:, None], len(holes), axis=1)
    start = np.array([True, False, True, False, False])
    exact = {}
    for unit in range(-1, 5):
        mask = start ^ (np.arange(5) == unit)
        state.reset(mask)
        exact[unit] = logsumexp(state.evidence_table(holes) + spread) - logsumexp(spread)
    state.reset(start)
    state.mix_priors()
    assert state.alike == 0.0
    assert state.evidence == pytest.approx(exact[-1], abs=0.05)
    moves = state.moves().copy()
    for unit in range(5):
        assert moves[unit] == pytest.approx(
            exact[unit] - exact[-1], abs=0.1 + 0.1 * abs(exact[unit] - exact[-1])
        )
        twin = state.copy()
        twin.toggle(unit)
        assert twin.evidence == pytest.approx(exact[unit], abs=0.05)
