"""Models on many subsets at once, against one model at a time."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, Ridge

from rlselect.kernels._arc_cosine import BIAS, _triangle_inverse, network_kernel, network_loo_residuals
from rlselect.kernels._subset_least_squares import fold_products, padded_columns, subset_heldout, subset_ridge
from rlselect.kernels._subset_logistic import log_probabilities, subset_logistic


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 7))
    Y = X[:, :2] @ rng.standard_normal((2, 2)) + rng.standard_normal((60, 2))
    masks = rng.random((12, 7)) < 0.5
    masks[0] = False
    masks[1] = True
    return X, Y, masks


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_fold_errors_are_those_of_separate_fits(data, ridge):
    X, Y, masks = data
    folds = np.arange(60) % 5
    got = subset_heldout(*fold_products(X, Y, folds, 5), padded_columns(masks), ridge)
    for i, mask in enumerate(masks):
        for k in range(5):
            train, held = folds != k, folds == k
            if mask.any():
                model = (Ridge(alpha=ridge) if ridge else LinearRegression()).fit(X[train][:, mask], Y[train])
                fitted = model.predict(X[held][:, mask])
            else:
                fitted = Y[train].mean(axis=0)
            if ridge and mask.any():
                # scikit-learn centres first, which is what an unpenalised constant does
                assert model.coef_.shape == (2, mask.sum())
            np.testing.assert_allclose(got[i, k], np.square(Y[held] - fitted).sum(), rtol=1e-6)


def test_more_columns_than_rows_and_copies_do_not_break(data):
    X, Y, _ = data
    wide = np.concatenate([X, X, np.zeros((60, 1))], axis=1)[:8]
    products = fold_products(wide, Y[:8], np.arange(8) % 4, 4)
    assert np.isfinite(subset_heldout(*products, padded_columns(np.ones((1, 15), dtype=bool)))).all()


def test_padding_does_not_matter(data):
    X, Y, masks = data
    gram, cross, _ = fold_products(X, Y, np.zeros(60, dtype=int), 1)
    together = subset_ridge(gram[0], cross[0], padded_columns(masks), 0.0)
    for i, mask in enumerate(masks):
        alone = subset_ridge(gram[0], cross[0], padded_columns(mask[None]), 0.0)[0]
        np.testing.assert_allclose(together[i, : len(alone)], alone, atol=1e-10)
        assert np.all(together[i, len(alone) :] == 0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_stack_minimises_each_objective(data, n_classes):
    X, _, masks = data
    rng = np.random.default_rng(1)
    codes = rng.integers(n_classes, size=60)
    padded = np.vstack([np.ones(60), X.T, np.zeros(60)])
    columns = padded_columns(masks)
    penalty = np.where(columns == 8, 1.0, 0.5)
    penalty[:, 0] = 0.0
    weight = (rng.random((12, 60)) < 0.7).astype(float)
    coef = subset_logistic(padded[columns], codes, weight, penalty, n_classes=n_classes)
    for i, mask in enumerate(masks):
        Z = np.column_stack([np.ones(60), X[:, mask]])

        def objective(flat, Z=Z, i=i):
            beta = flat.reshape(Z.shape[1], n_classes - 1)
            logs = log_probabilities(Z @ beta)[np.arange(60), codes]
            return 0.25 * np.square(beta[1:]).sum() - weight[i] @ logs

        best = minimize(objective, np.zeros(Z.shape[1] * (n_classes - 1)), tol=1e-10)
        found = coef[i, : Z.shape[1]].ravel()
        assert objective(found) <= best.fun + 1e-7
        np.testing.assert_allclose(found, best.x, atol=2e-3)


def test_separated_classes_stay_finite():
    X = np.linspace(-1, 1, 20)[:, None]
    codes = (X[:, 0] > 0).astype(int)
    design = np.stack([np.column_stack([np.ones(20), X]).T])
    coef = subset_logistic(design, codes, np.ones((1, 20)), np.array([[0.0, 0.1]]), n_classes=2)
    assert np.isfinite(coef).all()
    assert coef[0, 1, 0] > 2


def test_the_kernel_is_the_limit_of_wide_networks():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 3))
    weights = rng.standard_normal((4, 400_000))
    inputs = np.column_stack([np.full(5, np.sqrt(BIAS)), A / np.sqrt(3)])
    hidden = np.maximum(inputs @ weights, 0.0)
    np.testing.assert_allclose(network_kernel(A), 2.0 * hidden @ hidden.T / 400_000, rtol=0.03)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 64, 131, 300])
def test_a_triangle_is_inverted_by_halves(n, dtype):
    lower = np.tril(np.random.default_rng(0).standard_normal((n, n)) / n) + np.eye(n)
    got = _triangle_inverse(np.asfortranarray(lower, dtype=dtype))
    assert got.dtype == dtype
    np.testing.assert_allclose(got @ lower, np.eye(n), atol=1e-12 if dtype == np.float64 else 1e-5)


def test_a_matrix_that_is_not_positive_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        network_loo_residuals(-np.eye(3), np.ones((3, 1)), 0.1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_leave_one_out_residuals_are_those_of_n_fits(data, dtype):
    X, Y, _ = data
    K = network_kernel(X[:25].astype(dtype))
    got = network_loo_residuals(K.copy(), Y[:25], 0.3)
    K = network_kernel(X[:25])
    for i in range(25):
        rest = np.arange(25) != i
        weights = np.linalg.solve(K[np.ix_(rest, rest)] + 0.3 * np.eye(24), Y[:25][rest])
        np.testing.assert_allclose(
            got[i], Y[i] - K[i, rest] @ weights, atol=1e-8 if dtype == np.float64 else 1e-3
        )
