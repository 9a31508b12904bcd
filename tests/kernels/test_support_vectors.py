"""Support vector solvers carry a certificate: the duality gap."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from rlselect.kernels._active_set import active_set_solution
from rlselect.kernels._interior_point import interior_point_solution, low_rank_root
from rlselect.machines._kernels import make_kernel, make_state
from rlselect.machines._losses import make_loss
from rlselect.machines._solve import solve_machine


def _data(seed, n=80, d=6):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    return X, np.where(signal > 0, 1.0, -1.0), signal + 0.2 * rng.normal(size=n)


def _gap(gram, y, weights, lam, loss, solution):
    dual = loss.conjugate(solution.dual, y[:, None], weights, lam)
    dual -= lam * np.sum(solution.dual * (gram @ solution.dual))
    return (solution.objective - dual) / solution.objective


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "logistic", "squared"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
def test_duality_gap_closes(loss, kernel, fit_intercept, lam):
    X, labels, values = _data(0)
    loss = make_loss(loss)
    y = labels if loss.classifies else values
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=len(y))
    gram = make_state(make_kernel(kernel), X, [np.arange(X.shape[1])], 2.0).gram()
    solution = solve_machine(gram, y[:, None], weights, lam, loss, fit_intercept)
    assert -1e-9 <= _gap(gram, y, weights, lam, loss, solution) < 1e-6


@pytest.mark.parametrize("tube", [None, 0.1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_interior_point_and_active_set_agree(tube, fit_intercept):
    X, labels, values = _data(1)
    y = labels if tube is None else values
    gram = make_state(make_kernel("rbf"), X, [np.arange(X.shape[1])], 1.5).gram()
    cost = np.full(len(y), 3.0)
    rough, shift = interior_point_solution(gram, y, cost, tube, fit_intercept)
    exact = active_set_solution(gram, y, cost, tube, rough, fit_intercept)
    assert exact is not None
    np.testing.assert_allclose(exact[0], rough, atol=1e-4)
    assert exact[1] == pytest.approx(shift, abs=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_agrees_with_scikit_learn(loss):
    X, labels, values = _data(2)
    loss = make_loss(loss)
    y = labels if loss.classifies else values
    gram = make_state(make_kernel("rbf"), X, [np.arange(X.shape[1])], 1.5).gram()
    lam = 0.005
    ours = solve_machine(gram, y[:, None], np.ones(len(y)), lam, loss, True)
    options = {"kernel": "precomputed", "C": 1.0 / (2 * lam * len(y)), "tol": 1e-8}
    theirs = (SVC(**options) if loss.classifies else SVR(epsilon=0.1, **options)).fit(gram, y)
    f = gram @ ours.coefficients[:, 0] + ours.intercept
    reference = theirs.decision_function(gram) if loss.classifies else theirs.predict(gram)
    np.testing.assert_allclose(f, reference, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "hinge", "epsilon_insensitive", "logistic"])
def test_solution_on_one_kernel_bounds_every_other(loss):
    X, labels, values = _data(4)
    loss = make_loss(loss)
    y = (labels if loss.classifies else values)[:, None]
    state = make_state(make_kernel("rbf"), X, [np.array([j]) for j in range(X.shape[1])], 2.0)
    weights, lam = np.ones(len(y)), 0.01
    dual = solve_machine(state.gram(), y, weights, lam, loss, True).dual
    forms = state.quadratic_forms(dual, state.active)
    bounds = loss.conjugate(dual, y, weights, lam) - lam * forms
    for i, bound in zip(state.active, bounds, strict=True):
        assert solve_machine(state.without(i).copy(), y, weights, lam, loss, True).objective >= bound - 1e-9


@pytest.mark.parametrize("loss", ["squared", "hinge", "epsilon_insensitive", "logistic"])
def test_weight_is_repetition(loss):
    X, labels, values = _data(5, n=30)
    loss = make_loss(loss)
    y = (labels if loss.classifies else values)[:, None]
    weights = np.random.default_rng(0).integers(1, 4, size=30)
    rows = np.repeat(np.arange(30), weights)
    gram = make_state(make_kernel("rbf"), X, [np.arange(X.shape[1])], 2.0).gram()
    once = solve_machine(gram, y, weights.astype(float), 0.01, loss)
    many = solve_machine(gram[np.ix_(rows, rows)], y[rows], np.ones(len(rows)), 0.01, loss)
    assert once.objective == pytest.approx(many.objective, rel=1e-7)


@pytest.mark.parametrize("tube", [None, 0.1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_few_dimensions_are_the_same_problem(tube, fit_intercept):
    X, labels, values = _data(3)
    y, gram, cost = labels if tube is None else values, X @ X.T, np.full(len(X), 2.0)
    root = low_rank_root(gram)
    assert root.shape == (80, 6)
    np.testing.assert_allclose(root @ root.T, gram, atol=1e-12)
    few, shift = interior_point_solution(gram, y, cost, tube, fit_intercept, root)
    plain, other = interior_point_solution(gram, y, cost, tube, fit_intercept)
    np.testing.assert_allclose(gram @ few + shift, gram @ plain + other, atol=1e-4)


def test_many_dimensions_have_no_root():
    X, *_ = _data(4)
    gram = make_state(make_kernel("rbf"), X, [np.arange(6)], 1.0).gram()
    assert low_rank_root(gram) is None
    assert low_rank_root(np.zeros((5, 5))) is None


def test_a_solution_above_the_limit_is_given_up():
    X, _, values = _data(5, n=220)
    loss, weights = make_loss("epsilon_insensitive"), np.ones(220)
    machine = (X @ X.T, values[:, None], weights, 0.01, loss, True)
    value = solve_machine(*machine).objective
    assert solve_machine(*machine, None, 1.01 * value).objective == pytest.approx(value, rel=1e-7)
    assert solve_machine(*machine, None, 0.9 * value).objective > value
