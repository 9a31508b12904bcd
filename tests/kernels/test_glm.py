"""Dense regressions, many at once, against one at a time and against a general minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rlselect.kernels import (
    USUAL_VARIANCE,
    batched_irls,
    damped_newton,
    glm_problem,
    small_decrement,
    solve_shortest,
    whiten,
)
from rlselect.kernels._families import deviance


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


@pytest.mark.parametrize("link", ["logit", "probit", "log"])
@pytest.mark.parametrize("solve", [None, solve_shortest])
def test_a_penalised_fit_with_an_offset_is_the_minimum(link, solve):
    variance = USUAL_VARIANCE[link]
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 80))
    x[:, 0] = 1.0
    eta = 0.4 * x[:, 1]
    y = (rng.random((2, 80)) < 1 / (1 + np.exp(-eta))).astype(float)
    if variance == "poisson":
        y = rng.poisson(np.exp(eta)).astype(float)
    w, offset, ridge = (
        rng.uniform(0.5, 2.0, (2, 80)),
        0.3 * rng.normal(size=(2, 80)),
        np.array([0.0, 1.0, 5.0]),
    )
    problem = glm_problem(x, y, w, link, variance, offset=offset, ridge=ridge, solve=solve)
    found = damped_newton(problem, np.zeros((2, 3)), small_decrement(1e-12))
    assert found.converged.all()
    for t in range(2):

        def loss(b, t=t):
            return 0.5 * deviance(link, variance, b @ x[t] + offset[t], y[t], w[t]) + 0.5 * ridge @ b**2

        best = minimize(loss, np.zeros(3), options={"gtol": 1e-9})
        np.testing.assert_allclose(found.coef[t], best.x, atol=1e-5)
        assert loss(found.coef[t]) <= best.fun + 1e-10
