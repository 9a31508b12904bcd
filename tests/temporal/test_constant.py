import numpy as np
import pytest

from rlselect import TemporalProcessRegression


def fitted(data, formula="y ~ x + z", link="logit", **options):
    return TemporalProcessRegression(formula, link=link, **options).fit(data, id="id", time="t")


def test_constant_effect_is_the_same_number_at_all_times(data):
    model = fitted(data, "y ~ x + z + g", constant=["z", "g"])
    for name in ("z", "g[T.b]", "g[T.c]"):
        assert model.coef_[name].nunique() == 1
        assert model.se_[name].nunique() == 1
    free = fitted(data, "y ~ x + z + g")
    assert model.se_["z"].iloc[0] < free.se_["z"].min()


def test_everything_constant_equals_one_pooled_regression(data):
    model = fitted(data, "v ~ x + z", "identity", constant=["Intercept", "x", "z"])
    x = np.column_stack([np.ones(len(data)), data["x"], data["z"]])
    expected = np.linalg.lstsq(x, data["v"], rcond=None)[0]
    np.testing.assert_allclose(model.coef_.iloc[3], expected, rtol=1e-10)


def test_constant_refuses_what_cannot_be_identified(data):
    with pytest.raises(ValueError, match="linearly dependent"):
        fitted(data.assign(z2=2 * data["z"]), "v ~ x + z + z2", "identity", constant=["z", "z2"])
    with pytest.raises(ValueError, match="linearly dependent"):
        fitted(data.assign(one=1.0), "v ~ x + one", "identity", constant=["one"])
    with pytest.raises(ValueError, match="not a covariate"):
        fitted(data, constant=["age"])


def test_constant_effects_leave_the_flagged_time_out(data):
    bad = 2
    data = data.assign(y=data["y"].where(data["t"] != bad, 0))
    model = fitted(data, constant=["z"])
    assert model.flags_[bad].startswith("separation")
    rest = fitted(data[data["t"] != bad], constant=["z"])
    np.testing.assert_array_equal(model.coef_.drop(index=bad), rest.coef_)
