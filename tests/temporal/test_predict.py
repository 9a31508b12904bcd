import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rlselect import TemporalProcessRegression


def fitted(data, formula="y ~ x + z", link="logit", **options):
    return TemporalProcessRegression(formula, link=link, **options).fit(data, id="id", time="t")


def test_predict_is_the_mean_and_interpolates(data):
    model = fitted(data)
    row = pd.DataFrame({"x": [0.5, 0.5, 0.5], "z": [1.0, 1.0, 1.0], "t": [2.0, 2.5, 3.0]})
    eta = model.coef_ @ [1, 0.5, 1.0]
    expected = expit([eta[2], (eta[2] + eta[3]) / 2, eta[3]])
    np.testing.assert_allclose(model.predict(row), expected, rtol=1e-12)
    assert np.isnan(model.predict(row.assign(x=[np.nan, 1, 1]))[0])
    with pytest.raises(ValueError, match="between 0 and 5"):
        model.predict(row.assign(t=9.0))
    with pytest.raises(ValueError, match="not there in fit"):
        fitted(data, "v ~ g", "identity").predict(pd.DataFrame({"g": ["q"], "t": [1]}))
