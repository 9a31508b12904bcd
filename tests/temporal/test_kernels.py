import numpy as np
import pytest

from rlselect.kernels._batched_irls import batched_irls, solve_each, whiten
from rlselect.kernels._glm_families import (
    LINKS,
    VARIANCES,
    link_function,
    mean_function,
    unit_deviance,
    variance_function,
)


def problems(seed=0, n_fits=5, p=3, n=60):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_fits, p, n)) * np.array([1.0, 1e6, 1e-6])[:, None]
    x[:, 0] = 1.0
    eta = 0.3 + 0.8 * x[:, 1] * 1e-6
    y = (rng.random((n_fits, n)) < 1 / (1 + np.exp(-eta))).astype(float)
    w = rng.integers(0, 4, size=(n_fits, n)).astype(float)
    return x * (w > 0)[:, None, :], y * (w > 0), w


def test_whitened_designs_are_orthonormal():
    x, _, w = problems()
    q, z, rank = whiten(x, w)
    assert (rank == 3).all()
    for t in range(len(x)):
        np.testing.assert_allclose(q[t], z[t].T @ x[t], atol=1e-10)
        np.testing.assert_allclose((q[t] * w[t]) @ q[t].T / w[t].sum(), np.eye(3), atol=1e-10)


@pytest.mark.parametrize("offset", [1e5, 1e8, 1e10])
def test_large_offsets_are_no_rank_deficiency(offset):
    x, _, w = problems()
    x[2, 1] = (x[2, 1] * 1e-6 + offset) * (w[2] > 0)
    q, _, rank = whiten(x, w)
    assert rank[2] == 3
    np.testing.assert_allclose((q[2] * w[2]) @ q[2].T / w[2].sum(), np.eye(3), atol=1e-5)


def test_dependent_columns_are_found_and_only_there():
    x, _, w = problems()
    x[1, 2] = 0.3 * x[1, 1] - 7 * x[1, 0]
    x[3, 2] = 0.0
    w[4] = 0.0
    x[4] = 0.0
    _, z, rank = whiten(x, w)
    assert rank.tolist() == [3, 2, 3, 2, 0]
    assert (z[[1, 3, 4]] == 0).all()


def test_batched_equals_one_by_one_to_the_last_digit():
    x, y, w = problems()
    y[2] = (x[2, 1] > 0) * (w[2] > 0)  # separated: iterates to the end while the others wait
    q, _, _ = whiten(x, w)
    theta, converged = batched_irls(q, y, w, "logit", "binomial")
    assert converged.tolist() == [True, True, False, True, True]
    for t in (0, 1, 3, 4):
        alone, _ = batched_irls(q[t : t + 1], y[t : t + 1], w[t : t + 1], "logit", "binomial")
        np.testing.assert_array_equal(theta[t], alone[0])


def test_one_singular_system_does_not_spoil_the_others():
    a = np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)])
    out = solve_each(a, np.ones((3, 2, 1)))[:, :, 0]
    np.testing.assert_array_equal(out[[0, 2]], [[1, 1], [0.5, 0.5]])
    assert np.isnan(out[1]).all()


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
