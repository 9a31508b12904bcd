"""The exact search and the closed forms of the squared loss, against naive loops."""

import numpy as np
import pytest

from rlselect.kernels._gaussian_products import expansion_terms, removal_products
from rlselect.kernels._squared_bounds import (
    FactoredInverse,
    best_removals,
    loo_residuals,
    loo_residuals_path,
    projected_inverse,
    squared_objective,
)
from rlselect.machines._kernels import make_kernel, make_state


def _problem(seed, n=60, d=12, kernel="rbf", bandwidth=3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.3 * rng.normal(size=n)
    state = make_state(make_kernel(kernel), X, [np.array([j]) for j in range(d)], bandwidth)
    return X, y, state


def _naive_minimum(gram, y, weights, lam, fit_intercept):
    """The objective by solving its normal equations for the coefficients and the intercept."""
    n, total = len(y), weights.sum()
    design = np.column_stack([gram, np.ones(n)]) if fit_intercept else gram
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[:n, :n] = lam * gram
    left = penalty + design.T @ (weights[:, None] * design) / total
    solution = np.linalg.lstsq(left, design.T @ (weights * y) / total, rcond=None)[0]
    residual = y - design @ solution
    return solution @ penalty @ solution + weights @ residual**2 / total


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_is_the_minimum(fit_intercept):
    _, y, state = _problem(0)
    weights = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    lam = 0.02
    ridge = lam * weights.sum() / weights
    naive = _naive_minimum(state.gram(), y, weights, lam, fit_intercept)
    assert lam * squared_objective(state.gram(), y, ridge, fit_intercept) == pytest.approx(naive, rel=1e-8)
    inverse = projected_inverse(state.gram(), ridge, fit_intercept)
    assert lam * (y @ inverse @ y) == pytest.approx(naive, rel=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_is_a_refit(fit_intercept):
    _, y, state = _problem(2, n=25)
    gram, ridge = state.gram(), np.full(25, 0.7)
    inverse = projected_inverse(gram, ridge, fit_intercept)
    fast = loo_residuals(inverse @ y, np.diag(inverse), ridge, np.ones(25))
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        a = projected_inverse(gram[np.ix_(rest, rest)], ridge[rest], fit_intercept) @ y[rest]
        fit = gram[np.ix_(rest, rest)] @ a
        shift = np.mean(y[rest] - fit - ridge[rest] * a) if fit_intercept else 0.0
        assert fast[i] == pytest.approx(y[i] - gram[i, rest] @ a - shift, abs=1e-9)


def test_leave_one_out_treats_a_weight_as_copies():
    _, y, state = _problem(3, n=20)
    weights = np.random.default_rng(0).integers(1, 4, size=20)
    rows = np.repeat(np.arange(20), weights)
    lam = 0.05
    once = projected_inverse(state.gram(), lam * weights.sum() / weights, True)
    many = projected_inverse(state.gram()[np.ix_(rows, rows)], np.full(len(rows), lam * len(rows)), True)
    short = loo_residuals(once @ y, np.diag(once), lam * weights.sum() / weights, weights.astype(float))
    long = loo_residuals(
        many @ y[rows], np.diag(many), np.full(len(rows), lam * len(rows)), np.ones(len(rows))
    )
    np.testing.assert_allclose(short[rows], long, rtol=1e-7)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("ridge_value", [1e-3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_search_is_exhaustive(kernel, ridge_value, seed):
    _, y, state = _problem(seed, kernel=kernel)
    ridge, fit_intercept = np.full(len(y), ridge_value), seed % 2 == 0
    while len(state.active) > 1:
        exact = {i: squared_objective(state.without(i), y, ridge, fit_intercept) for i in state.active}
        count = min(3, len(state.active))
        gram = state.gram()
        inverse = projected_inverse(gram, ridge, fit_intercept)
        found = best_removals(
            y, gram, inverse, ridge, fit_intercept, list(state.active), state.without, state.shortcut, count
        )
        assert [i for i, _ in found] == sorted(exact, key=lambda i: exact[i])[:count]
        for i, value in found:
            assert value == pytest.approx(exact[i], rel=1e-9)
        state.drop([found[0][0]])


def test_search_skips_most_candidates(monkeypatch):
    from rlselect.kernels import _squared_bounds

    _, y, state = _problem(0, n=120, d=40, bandwidth=9.0)
    solved = []
    original = _squared_bounds._solve_candidate
    monkeypatch.setattr(_squared_bounds, "_solve_candidate", lambda *a: solved.append(1) or original(*a))
    ridge, tried = np.ones(len(y)), 0
    while state.active:
        tried += len(state.active)
        gram = state.gram()
        inverse = projected_inverse(gram, ridge, True)
        found = best_removals(
            y, gram, inverse, ridge, True, list(state.active), state.without, state.shortcut
        )
        state.drop([found[0][0]])
    assert len(solved) < 0.25 * tried


def test_equal_columns_leave_in_column_order():
    rng = np.random.default_rng(0)
    column = rng.normal(size=(40, 1))
    X = np.repeat(column, 4, axis=1)
    state = make_state(make_kernel("rbf"), X, [np.array([j]) for j in range(4)], 2.0)
    ridge, y = np.ones(40), column[:, 0]
    gram = state.gram()
    inverse = projected_inverse(gram, ridge, True)
    found = best_removals(y, gram, inverse, ridge, True, [0, 1, 2, 3], state.without, state.shortcut, 4)
    assert [i for i, _ in found] == [0, 1, 2, 3]


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_the_unit_of_the_target_does_not_matter(unit):
    # beyond single precision nothing was found, and an elimination went on for ever
    _, y, state = _problem(0, n=120, d=6)
    ridge, gram = np.ones(len(y)), state.gram()
    given = (
        projected_inverse(gram, ridge, True),
        ridge,
        True,
        list(state.active),
        state.without,
        state.shortcut,
    )
    plain, other = best_removals(y, gram, *given, 3), best_removals(unit * y, gram, *given, 3)
    assert [i for i, _ in other] == [i for i, _ in plain]
    np.testing.assert_allclose([v for _, v in other], [v * unit**2 for _, v in plain], rtol=1e-9)


def test_not_positive_definite_is_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        projected_inverse(-5.0 * np.eye(3), np.ones(3), True)
    with pytest.raises(np.linalg.LinAlgError):
        squared_objective(-5.0 * np.eye(3), np.ones(3), np.ones(3), True)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_gaussian_products_match_built_matrices(dtype, tolerance):
    X, _, state = _problem(5, n=50, d=6, bandwidth=6.0)
    columns = (X / 6.0).astype(dtype)
    terms = expansion_terms(columns, 1e-14)
    assert terms.max() < 30
    order = np.argsort(-terms)
    vectors = np.random.default_rng(0).normal(size=(50, 6)).astype(dtype)
    fast = np.empty((50, 6), dtype=dtype)
    fast[:, order] = removal_products(
        state.gram().astype(dtype), columns[:, order], vectors[:, order], terms[order]
    )
    for j in range(6):
        np.testing.assert_allclose(fast[:, j], state.without(j) @ vectors[:, j], atol=tolerance * 50)


def test_far_columns_are_declared_too_long():
    assert expansion_terms(np.array([[-20.0], [20.0]]), 1e-8)[0] == 64


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_eigendecomposition_serves_every_lambda(fit_intercept):
    _, y, state = _problem(4, n=30)
    gram = state.gram()
    weights = np.random.default_rng(5).uniform(0.5, 3.0, size=30)
    lams = [1e-5, 1e-2, 1.0]
    found = loo_residuals_path(gram, y, weights, lams, fit_intercept, weights)
    for lam, row in zip(lams, found, strict=True):
        ridge = lam * weights.sum() / weights
        inverse = projected_inverse(gram, ridge, fit_intercept)
        one = loo_residuals(inverse @ y, np.diag(inverse), ridge, weights)
        np.testing.assert_allclose(row, one, rtol=1e-6, atol=1e-8)


def test_hasty_removals_are_in_the_order_of_lower_bounds():
    _, y, state = _problem(6)
    gram, ridge = state.gram(), np.full(len(y), 0.5)
    inverse = projected_inverse(gram, ridge, True)
    arguments = (y, gram, inverse, ridge, True, list(range(12)), state.without, state.shortcut, 5)
    hasty = best_removals(*arguments, exact=False)
    values = [value for _, value in hasty]
    assert len(hasty) == 5
    assert values == sorted(values)
    for candidate, value in hasty:
        assert value <= squared_objective(state.without(candidate), y, ridge, True) * (1 + 1e-9)
    assert {c for c, _ in hasty} & {c for c, _ in best_removals(*arguments)}


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_inverse_may_stay_a_factor(fit_intercept):
    rng = np.random.default_rng(8)
    block = rng.normal(size=(120, 130))
    gram, ridge = block @ block.T / 130, rng.uniform(0.5, 2.0, size=120)
    whole, factored = (form(gram, ridge, fit_intercept) for form in (projected_inverse, FactoredInverse))
    for vectors in (rng.normal(size=120), rng.normal(size=(120, 3))):
        np.testing.assert_allclose(factored @ vectors, whole @ vectors, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factored.diagonal(), whole.diagonal(), rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        FactoredInverse(-5.0 * np.eye(3), np.ones(3), fit_intercept)


def test_several_columns_are_added_up():
    rng = np.random.default_rng(8)
    X, targets = rng.normal(size=(40, 6)), rng.normal(size=(40, 3))
    state = make_state(make_kernel("rbf"), X, [np.array([j]) for j in range(6)], 3.0)
    ridge, gram = np.full(40, 0.5), state.gram()
    found = best_removals(
        targets, gram, projected_inverse(gram, ridge, True), ridge, True, state.active, state.without, None, 3
    )
    naive = {
        i: sum(squared_objective(state.without(i), column, ridge, True) for column in targets.T)
        for i in state.active
    }
    assert [i for i, _ in found] == sorted(naive, key=naive.__getitem__)[:3]
    np.testing.assert_allclose([value for _, value in found], sorted(naive.values())[:3], rtol=1e-9)
    lams, weights = [0.01, 0.1], rng.integers(1, 3, size=40).astype(float)
    together = loo_residuals_path(gram, targets, weights, lams, True, weights)
    for c, column in enumerate(targets.T):
        np.testing.assert_allclose(
            together[..., c], loo_residuals_path(gram, column, weights, lams, True, weights), rtol=1e-9
        )
