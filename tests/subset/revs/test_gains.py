"""What each selected variable saves on new rows, where many rows tell."""

import numpy as np
import pytest
from scipy.special import expit

from rlselect import REVS
from rlselect.kernels import log_likelihood
from rlselect.subset.revs.evidence._refit import fit_glm


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_gains_on_many_rows_are_refits_without_a_column_less_akaikes_price(family):
    rng = np.random.default_rng(2)
    n = 20_000
    X = rng.normal(size=(n, 6))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    eta = 0.6 * X[:, 0] + 0.15 * X[:, 1] - 0.3 * X[:, 3]
    y = {
        "gaussian": lambda: eta + rng.normal(size=n),
        "binomial": lambda: (rng.random(n) < expit(eta)).astype(float),
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
    }[family]()
    model = REVS(family=family, random_state=0).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 1, 3]
    assert np.isnan(model.gain_[[2, 4, 5]]).all()

    def loss(columns):
        fit = fit_glm(X[:, columns], y, family)
        eta = fit.intercept + X[:, columns] @ fit.coef
        return np.mean((y - eta) ** 2) if family == "gaussian" else -np.mean(log_likelihood(family, y, eta))

    assert model.n_rows_read_ == n
    price = 2.0 * model.dispersion_ / n if family == "gaussian" else 1.0 / n
    saved = [loss(others) - loss([0, 1, 3]) for others in ([1, 3], [0, 3], [0, 1])]
    np.testing.assert_allclose(model.gain_[[0, 1, 3]], np.array(saved) - price, rtol=0.08)
