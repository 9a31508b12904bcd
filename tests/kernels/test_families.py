"""Families against scipy, and their derivatives against differences."""

from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from rlselect.kernels import (
    CANONICAL_LINK,
    LINKS,
    VARIANCES,
    dispersion_likelihoods,
    likeliest_dispersion,
    log_likelihood,
    log_probabilities,
    mean_and_curvature,
    mean_function,
    null_intercept,
    score_and_curvature,
    softplus,
    variance_function,
    working_quantities,
)
from rlselect.kernels._families import deviance, is_canonical, link_function, unit_deviance

FAMILIES = ["binomial", "poisson"]


@pytest.mark.parametrize("family", ["gaussian", *FAMILIES])
def test_likelihood_mean_and_curvature_are_derivatives(family):
    rng = np.random.default_rng(0)
    eta = rng.uniform(-3, 3, size=50)
    y = rng.integers(0, 2, size=50).astype(float)
    mean, curvature = mean_and_curvature(family, eta)
    step = 1e-5
    up, here, down = (log_likelihood(family, y, eta + d) for d in (step, 0.0, -step))
    np.testing.assert_allclose((up - down) / (2 * step), y - mean, atol=1e-8)
    above, below = (mean_and_curvature(family, eta + d)[0] for d in (step, -step))
    np.testing.assert_allclose((above - below) / (2 * step), curvature, rtol=1e-8)
    assert np.all(np.isfinite(here))


def test_likelihoods_are_those_of_scipy():
    rng = np.random.default_rng(0)
    eta = rng.uniform(-3, 3, size=50)
    y = rng.integers(0, 2, size=50).astype(float)
    np.testing.assert_allclose(
        log_likelihood("binomial", y, eta), stats.bernoulli(expit(eta)).logpmf(y), atol=1e-10
    )
    counts = rng.poisson(np.exp(eta)).astype(float)
    np.testing.assert_allclose(
        log_likelihood("poisson", counts, eta), stats.poisson(np.exp(eta)).logpmf(counts), atol=1e-10
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_far_linear_predictors_stay_finite(family):
    eta = np.array([-1e4, -50.0, 50.0, 1e4])
    mean, curvature = mean_and_curvature(family, eta)
    assert np.all(np.isfinite(mean))
    assert np.all(curvature > 0)
    assert np.all(np.isfinite(log_likelihood(family, np.array([0.0, 1.0, 1.0, 0.0]), eta)))


@pytest.mark.parametrize("link", LINKS)
def test_links_invert_and_slopes_are_derivatives(link):
    eta = np.linspace(-2, 1.5, 9)
    mu, rest, slope = mean_function(link, eta)
    np.testing.assert_allclose(mu + rest, 1, rtol=1e-12)
    step = 1e-6
    numeric = (mean_function(link, eta + step)[0] - mean_function(link, eta - step)[0]) / (2 * step)
    np.testing.assert_allclose(slope, numeric, rtol=1e-7)
    if link != "probit":  # there the inverse is a logistic approximation, for starts only
        np.testing.assert_allclose(link_function(link, mu), eta, atol=1e-9)


@pytest.mark.parametrize("variance", VARIANCES)
def test_deviance_is_the_integral_of_the_score(variance):
    y, mu, step = 0.3, np.array([0.2, 0.5, 0.8]), 1e-6
    numeric = (
        unit_deviance(variance, y, mu + step, 1 - mu - step)
        - unit_deviance(variance, y, mu - step, 1 - mu + step)
    ) / (2 * step)
    expected = -2 * (y - mu) / variance_function(variance, mu, 1 - mu)
    np.testing.assert_allclose(numeric, expected, rtol=1e-6)
    if variance != "gaussian":
        assert unit_deviance(variance, np.array(y), np.array(-0.1), np.array(1.1)) == np.inf


@pytest.mark.parametrize("family", VARIANCES)
def test_a_family_alone_is_its_canonical_link(family):
    eta, y, w = np.linspace(-3, 3, 7), np.full(7, 0.3), np.arange(7.0)
    link = CANONICAL_LINK[family]
    mean, curvature = mean_and_curvature(family, eta)
    mu, rest, slope = mean_function(link, eta)
    np.testing.assert_allclose(mean, mu, rtol=1e-14)
    np.testing.assert_allclose(curvature, slope, rtol=1e-13)
    np.testing.assert_allclose(variance_function(family, mu, rest), slope, rtol=1e-13)
    expected = w @ unit_deviance(family, y, mu, rest)
    assert deviance(link, family, eta, y, w) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("variance", VARIANCES)
def test_working_quantities_are_the_definition(link, variance):
    eta, y, w = np.linspace(-2, -0.1, 9), np.full(9, 0.4), np.arange(9.0)
    mu, rest, slope = mean_function(link, eta)
    with np.errstate(all="ignore"):
        v = variance_function(variance, mu, rest)
        weight, score = working_quantities(link, variance, eta, y, w)
    inside = v > 0
    np.testing.assert_allclose(weight[inside], (w * slope**2 / v)[inside], rtol=1e-12)
    np.testing.assert_allclose(score[inside], (w * slope * (y - mu) / v)[inside], rtol=1e-12)
    assert is_canonical(link, variance) == np.allclose(slope, v, rtol=1e-12)


def test_beyond_the_clip_nothing_overflows_and_before_it_nothing_changes():
    far = np.array([-1e8, -500.0, 500.0, 1e8])
    for link in LINKS[1:]:
        mu, rest, slope = mean_function(link, far)
        assert np.isfinite([mu, rest, slope]).all()
        assert (slope > 0).all()
    for eta in (-199.0, 199.0):
        assert mean_function("log", np.array([eta]))[0][0] == np.exp(eta)
    # squares of the largest mean add up to a number
    assert np.isfinite(1e6 * mean_function("log", far)[0] ** 2).all()
    assert mean_function("logit", np.array([35.0]))[1][0] == expit(-35.0)


def test_softplus_is_the_log_of_a_sum_anywhere():
    eta = np.concatenate([np.linspace(-40, 40, 81), [-800.0, 800.0, -1e8, 1e8]])
    np.testing.assert_allclose(softplus(eta), np.logaddexp(0.0, eta), rtol=1e-14)


def test_a_likelihood_without_its_constant_differs_by_a_term_of_the_response():
    y = np.array([0.0, 1.0, 5.0])
    one, two = (
        log_likelihood("poisson", y, eta) - log_likelihood("poisson", y, eta, constant=False)
        for eta in (np.zeros(3), np.ones(3))
    )
    np.testing.assert_allclose(one, two, atol=1e-12)
    np.testing.assert_allclose(one, -np.log([1.0, 1.0, 120.0]), atol=1e-12)


def test_log_probabilities_add_up_to_one():
    logs = log_probabilities(np.array([[0.3, -2.0], [900.0, 0.0]]))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    assert logs[0, 1] - logs[0, 0] == pytest.approx(0.3)


@pytest.mark.parametrize("family", VARIANCES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_null_intercept_balances_the_response(family, weighted):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30).astype(float)
    w = rng.integers(1, 4, 30).astype(float) if weighted else None
    # exact without an offset, and with one wherever the link is linear or multiplies
    offset = None if family == "binomial" else rng.normal(size=30)
    eta = null_intercept(family, y, w, offset) + (0.0 if offset is None else offset)
    mean = mean_and_curvature(family, np.broadcast_to(eta, 30))[0]
    assert np.average(mean, weights=w) == pytest.approx(np.average(y, weights=w))


def test_a_single_class_and_no_counts_have_a_finite_start():
    for family in FAMILIES:
        assert np.isfinite(null_intercept(family, np.zeros(9), None, None))
    assert np.isfinite(null_intercept("binomial", np.ones(9), None, None))


@pytest.mark.parametrize("dispersion", [0.0, 0.7])
def test_scores_and_curvatures_of_counts_are_derivatives(dispersion):
    y, eta, step = np.array([0.0, 1.0, 4.0, 30.0]), np.array([-1.0, 0.3, 1.5, 2.0]), 1e-4

    def value(at):
        return log_likelihood("poisson", y, at, dispersion=dispersion)

    score, curvature = score_and_curvature("poisson", y, eta, dispersion)
    np.testing.assert_allclose(score, (value(eta + step) - value(eta - step)) / (2 * step), rtol=1e-6)
    second = (value(eta + step) - 2 * value(eta) + value(eta - step)) / step**2
    np.testing.assert_allclose(curvature, -second, rtol=1e-5)


@pytest.mark.parametrize("dispersion", [0.01, 0.7, 20.0])
def test_dispersed_counts_are_the_negative_binomial_of_scipy(dispersion):
    y, eta = np.array([0.0, 1.0, 4.0, 30.0]), np.array([-1.0, 0.3, 1.5, 2.0])
    size = 1.0 / dispersion
    expected = stats.nbinom.logpmf(y, size, size / (size + np.exp(eta)))
    np.testing.assert_allclose(log_likelihood("poisson", y, eta, dispersion=dispersion), expected, rtol=1e-8)


def test_the_dispersion_of_counts_is_found_and_none_where_there_is_none():
    rng = np.random.default_rng(0)
    eta, weight = rng.normal(1.0, 0.5, 4000), rng.integers(0, 3, 4000).astype(float)
    for dispersion in (0.3, 2.0):
        y = rng.poisson(np.exp(eta) * rng.gamma(1.0 / dispersion, dispersion, 4000)).astype(float)
        found = likeliest_dispersion(partial(dispersion_likelihoods, y, eta, weight))
        assert found == pytest.approx(dispersion, rel=0.15)
        grid = np.linspace(0.8, 1.2, 201) * dispersion
        best = grid[np.argmax(dispersion_likelihoods(y, eta, weight, grid))]
        assert found == pytest.approx(best, rel=0.005)
        copies = np.repeat(np.arange(4000), weight.astype(int))
        again = dispersion_likelihoods(y[copies], eta[copies], None, grid)
        np.testing.assert_allclose(again, dispersion_likelihoods(y, eta, weight, grid), rtol=1e-10)
    y = rng.poisson(np.exp(eta)).astype(float)
    assert likeliest_dispersion(partial(dispersion_likelihoods, y, eta, None)) == 0.0
