"""Several responses of RiskRFE."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from rlselect import RiskRFE, load, save


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 5))
    Y = np.column_stack([X[:, 0] * X[:, 1], 50.0 * X[:, 1] ** 2 + 300.0])
    return X, Y + rng.standard_normal((90, 2)) * [0.2, 10.0]


def naive_objective(X, T, lam, width):
    """Sum over the responses of the regularised risk of kernel ridge without an intercept."""
    n = len(X)
    machine = KernelRidge(alpha=n * lam, kernel="rbf", gamma=1.0 / width**2).fit(X, T)
    fitted = machine.predict(X)
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / width**2)
    norm = np.einsum("nr,nm,mr->", machine.dual_coef_, K, machine.dual_coef_)
    return lam * norm + np.square(T - fitted).sum() / n


def test_the_objective_is_the_sum_over_the_responses(rows):
    X, Y = rows
    T = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    options = {"kernel": "rbf", "regularization": 0.01, "bandwidth": 2.0, "fit_intercept": False}
    fitted = RiskRFE(**options, stopping=2).fit(X, Y)
    left = list(range(5))
    expected = [naive_objective(X, T, 0.01, 2.0)]
    while len(left) > 1:
        # the exhaustive loop: whose absence leaves the smallest sum
        tries = {j: naive_objective(X[:, [k for k in left if k != j]], T, 0.01, 2.0) for j in left}
        gone = min(tries, key=tries.get)
        left.remove(gone)
        expected.append(tries[gone])
    np.testing.assert_allclose(fitted.path_["objective"][:5], expected, rtol=1e-6)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 1]


def test_predictions_are_in_the_units_of_each_response(rows, tmp_path):
    X, Y = rows
    fitted = RiskRFE().fit(X, Y)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 1]
    assert fitted.predict(X).shape == (90, 2)
    assert fitted.score(X, Y) > 0.8
    save(fitted, tmp_path / "fit.rls")
    np.testing.assert_array_equal(load(tmp_path / "fit.rls").predict(X), fitted.predict(X))
    assert "Responses: y0, y1" in str(fitted.summary())


def test_a_linear_machine_has_coefficients_by_response(rows):
    X, _ = rows
    Y = X[:, :2] @ [[1.0, 20.0], [-1.0, 10.0]] + [3.0, -700.0]
    fitted = RiskRFE(kernel="linear", regularization=1e-6).fit(X, Y, sample_weight=np.ones(90))
    np.testing.assert_allclose(fitted.coef_[:, :2], [[1.0, -1.0], [20.0, 10.0]], rtol=1e-3)
    np.testing.assert_allclose(fitted.intercept_, [3.0, -700.0], rtol=1e-3)
    np.testing.assert_allclose(X @ fitted.coef_.T + fitted.intercept_, fitted.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "or REVS for classes"),
        ({"estimator": Ridge()}, "which kernel machines take; leave it out"),
    ],
)
def test_what_makes_no_sense_is_refused(rows, options, message):
    with pytest.raises(ValueError, match=message):
        RiskRFE(**options).fit(*rows)


def test_constant_responses_select_nothing(rows):
    X, _ = rows
    fitted = RiskRFE().fit(X, np.tile([1.0, 2.0], (90, 1)))
    assert not fitted.support_.any()
    np.testing.assert_allclose(fitted.predict(X), np.tile([1.0, 2.0], (90, 1)))
