"""The one Newton loop, against the loop written out for one problem at a time."""

import numpy as np
import pytest
from scipy.special import expit

from rlselect.kernels import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    glm_problem,
    invert_positive,
    small_decrement,
    small_step,
    solve_each,
    solve_shortest,
    summed_problem,
)


def data(m=6, k=3, n=50, seed=0, family="binomial"):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, k, n))
    x[:, 0] = 1.0
    # from almost nothing to steep: the problems of a batch take different numbers of steps
    eta = np.linspace(0.1, 3.0, m)[:, None] * x[:, 1]
    y = (rng.random((m, n)) < expit(eta)) if family == "binomial" else rng.poisson(np.exp(eta))
    return x, y.astype(float), rng.integers(0, 3, size=(m, n)).astype(float)


def naive(x, y, w, family, ridge, start, tol, polish):
    """Newton steps with halving, one problem, dense, in plain words."""

    def loss(b):
        eta = b @ x
        rows = np.logaddexp(0, eta) - y * eta if family == "binomial" else np.exp(eta) - y * eta
        return w @ rows + 0.5 * ridge @ b**2

    coef, n_steps = start.copy(), 0
    while True:
        eta = coef @ x
        mean = expit(eta) if family == "binomial" else np.exp(eta)
        curvature = mean * (1 - mean) if family == "binomial" else mean
        hessian = (x * w * curvature) @ x.T + np.diag(ridge)
        gradient = x @ (w * (y - mean)) - ridge * coef
        step = np.linalg.solve(hessian, gradient)
        if step @ gradient <= tol:
            return (coef + step if polish else coef), hessian, n_steps
        while not loss(coef + step) <= loss(coef) + 1e-9 * (1 + abs(loss(coef))):
            step = step / 2
        coef, n_steps = coef + step, n_steps + 1


@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("far", [0.0, 3.0])
def test_a_batch_is_the_loop_written_out(family, polish, far):
    x, y, w = data(family=family)
    ridge = np.array([0.0, 0.5, 0.5])
    start = np.full((len(x), 3), far) * np.array([1.0, -1.0, 1.0])
    link = "logit" if family == "binomial" else "log"
    problem = glm_problem(x, y, w, link, family, ridge=ridge)
    found = damped_newton(problem, start, small_decrement(1e-8), polish=polish)
    assert found.converged.all()
    counts = set()
    for t in range(len(x)):
        coef, _, n_steps = naive(x[t], y[t], w[t], family, ridge, start[t], 1e-8, polish)
        np.testing.assert_allclose(found.coef[t], coef, rtol=1e-12, atol=1e-12)
        counts.add(n_steps)
        alone = damped_newton(problem.part(np.array([t])), start[[t]], small_decrement(1e-8), polish=polish)
        np.testing.assert_array_equal(found.coef[t], alone.coef[0])
    assert len(counts) > 1
    np.testing.assert_array_equal(start, np.full((len(x), 3), far) * np.array([1.0, -1.0, 1.0]))


def test_without_polish_the_hessian_is_that_of_the_answer():
    x, y, w = data(m=1)
    ridge = np.full(3, 0.1)
    problem = glm_problem(x, y, w, "logit", "binomial", ridge=ridge)
    found = damped_newton(problem, np.zeros((1, 3)), small_decrement(1e-10), polish=False)
    coef, hessian, _ = naive(x[0], y[0], w[0], "binomial", ridge, np.zeros(3), 1e-10, False)
    np.testing.assert_allclose(found.coef[0], coef, rtol=1e-12)
    np.testing.assert_allclose(found.direction.hessian[0], hessian, rtol=1e-12)
    np.testing.assert_allclose(found.point.kept[0][0], coef @ x[0], rtol=1e-12)


def test_sums_over_blocks_are_the_dense_fit():
    x, y, w = data(m=1, n=90)

    def sums(coef):
        total = [0.0, np.zeros((3, 3)), np.zeros(3)]
        for rows in np.split(np.arange(90), 5):
            A, eta = x[0][:, rows], coef @ x[0][:, rows]
            mean, v = expit(eta), w[0][rows]
            total[0] += v @ (np.logaddexp(0, eta) - y[0][rows] * eta)
            total[1] += (A * v * mean * (1 - mean)) @ A.T
            total[2] += A @ (v * (y[0][rows] - mean))
        return tuple(total)

    rule = small_decrement(1e-9, relative=True)
    blocks = damped_newton(summed_problem(sums), np.zeros((1, 3)), rule, polish=False)
    dense = damped_newton(glm_problem(x, y, w, "logit", "binomial"), np.zeros((1, 3)), rule, polish=False)
    np.testing.assert_allclose(blocks.coef, dense.coef, rtol=1e-11)
    np.testing.assert_allclose(blocks.point.kept[0], dense.direction.hessian, rtol=1e-10)


def overshooting(seen):
    """|x|^(4/3): the full step leads from x to -2x, half of it to -x/2."""

    def evaluate(coef):
        seen.append(len(coef))
        return NewtonPoint(np.abs(coef[:, 0]) ** (4 / 3))

    def direction(coef, here):
        return NewtonStep(-3.0 * coef, np.abs(coef[:, 0]))

    return NewtonProblem(evaluate, direction, lambda which: overshooting(seen))


def test_only_those_that_got_worse_are_tried_again_and_only_the_rest_goes_on():
    seen = []
    start = np.array([[1.0], [1e-12], [0.0]])
    found = damped_newton(overshooting(seen), start, small_decrement(1e-9), polish=False, floor=0.0)
    assert found.converged.all()
    np.testing.assert_array_equal(found.coef[:, 0], [2.0**-30, 1e-12, 0.0])
    # all three at the start and after a step; one overshot, and the others are finished
    assert seen == [3, 3, 1] + [1, 1] * 29


def test_a_step_that_is_no_number_stops_its_own_problem_only():
    x, y, w = data()
    x[2] = 0.0
    problem = glm_problem(x, y, w, "logit", "binomial", ridge=None)
    found = damped_newton(problem, np.zeros((6, 3)), small_step(1e-10))
    assert found.converged.tolist() == [True, True, False, True, True, True]
    np.testing.assert_array_equal(found.coef[2], 0.0)
    rest = np.array([0, 1, 3, 4, 5])
    alone = damped_newton(problem.part(rest), np.zeros((5, 3)), small_step(1e-10))
    np.testing.assert_array_equal(found.coef[rest], alone.coef)


def test_out_of_steps_is_not_converged():
    x, y, w = data()
    found = damped_newton(
        glm_problem(x, y, w, "logit", "binomial"), np.zeros((6, 3)), small_step(1e-10), most_steps=2
    )
    assert not found.converged.any()


def test_one_singular_system_does_not_spoil_the_others():
    a = np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)])
    out = solve_each(a, np.ones((3, 2, 1)))[:, :, 0]
    np.testing.assert_array_equal(out[[0, 2]], [[1, 1], [0.5, 0.5]])
    assert np.isnan(out[1]).all()


def test_a_regular_system_is_solved():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    hessian, gradient = A @ A.T + np.eye(5), rng.standard_normal(5)
    step = solve_shortest(hessian, gradient)
    np.testing.assert_allclose(hessian @ step, gradient, atol=1e-10)


@pytest.mark.parametrize("mixture", [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.3, -0.7, 0.1)])
def test_the_step_of_a_singular_system_is_the_shortest(mixture):
    # a repeated column, and columns that others add up to, singular up to rounding only
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 3))
    A = np.column_stack([A, A @ mixture])
    gradient = A.T @ rng.standard_normal(40)
    step = solve_shortest(A.T @ A, gradient)
    expected = np.linalg.pinv(A, rcond=1e-10) @ (np.linalg.pinv(A.T, rcond=1e-10) @ gradient)
    np.testing.assert_allclose(step, expected, atol=1e-8)


def test_a_system_that_holds_no_numbers_has_no_step():
    assert np.isnan(solve_shortest(np.full((2, 2), np.nan), np.ones(2))).all()


@pytest.mark.parametrize("k", [0, 1, 6])
def test_the_inverse_and_the_determinant_are_plain_ones(k):
    A = np.random.default_rng(k).standard_normal((40, k))
    inverse, logdet = invert_positive(A.T @ A)
    np.testing.assert_allclose(inverse, np.linalg.inv(A.T @ A), rtol=1e-9, atol=1e-12)
    assert logdet == pytest.approx(np.linalg.slogdet(A.T @ A)[1], abs=1e-10)


def test_a_singular_matrix_has_a_pseudo_inverse():
    A = np.random.default_rng(0).standard_normal((40, 3))
    matrix = np.column_stack([A, A @ (0.3, -0.7, 0.1)]).T @ np.column_stack([A, A @ (0.3, -0.7, 0.1)])
    inverse, _ = invert_positive(matrix)
    np.testing.assert_allclose(matrix @ inverse @ matrix, matrix, atol=1e-8)
