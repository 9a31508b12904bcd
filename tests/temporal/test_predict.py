import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import t as student

from rlselect import TemporalProcessRegression
from rlselect.temporal._resample import variance_df


def fitted(data, formula="y ~ x + z", link="logit", **options):
    return TemporalProcessRegression(formula, link=link, **options).fit(data, id="id", time="t")


def test_predict_is_the_mean_and_interpolates(data):
    model = fitted(data)
    row = pd.DataFrame({"x": [0.5, 0.5, 0.5], "z": [1.0, 1.0, 1.0], "t": [2.0, 2.5, 3.0]})
    eta = model.coef_ @ [1, 0.5, 1.0]
    expected = expit([eta[2], (eta[2] + eta[3]) / 2, eta[3]])
    np.testing.assert_allclose(model.predict(row), expected, rtol=1e-12)
    assert np.isnan(model.predict(row.assign(x=[np.nan, 1, 1]))[0])
    for method in (model.predict, model.predict_interval):
        with pytest.raises(ValueError, match=r"'x' is infinite in 1 row\(s\); make them missing"):
            method(row.assign(x=[np.inf, 1, 1]))
    with pytest.raises(ValueError, match="between 0 and 5"):
        model.predict(row.assign(t=9.0))
    with pytest.raises(ValueError, match="not there in fit"):
        fitted(data, "v ~ g", "identity").predict(pd.DataFrame({"g": ["q"], "t": [1]}))


def test_rows_of_outer_bins_have_the_curves_of_their_bin(data):
    dates = data.assign(t=pd.Timestamp("2024-01-01") + pd.to_timedelta(data["t"], unit="D"))
    for rows, edges, outside in (
        (data, "0.0 and 5.0", -1),
        (dates, "2024-01-01.* and 2024-01-06", "2023-12-31"),
    ):
        model = TemporalProcessRegression("v ~ x", visits="bin", grid=2).fit(rows, id="id", time="t")
        ends = rows.loc[[rows["t"].idxmin(), rows["t"].idxmax()]]
        expected = [model.coef_.iloc[k] @ [1.0, x] for k, x in zip((0, 1), ends["x"], strict=True)]
        np.testing.assert_allclose(model.predict(ends), expected)
        assert np.isfinite(model.predict_interval(rows)).all(axis=None)
        with pytest.raises(ValueError, match=f"between {edges}"):
            model.predict(ends.assign(t=type(rows["t"].iloc[0])(outside)))


def test_intervals_equal_the_sandwich_and_interpolate(make_data, monkeypatch):
    monkeypatch.setattr("rlselect.temporal._curves._LARGE", 0)
    data = make_data(n=200)
    model = TemporalProcessRegression("v ~ x + z").fit(data, id="id", time="t")
    new = pd.DataFrame({"x": [0.5, 0.5, 1.0], "z": [1.0, 1.0, np.nan], "t": [2.0, 2.5, 3.0]})
    found = model.predict_interval(new, level=0.9)
    np.testing.assert_allclose(found["mean"], model.predict(new))
    psi, n = model.influence_, len(model.subjects_)
    row = np.array([1.0, 0.5, 1.0])
    each = np.stack([psi[:, 2] @ row, (psi[:, 2] + psi[:, 3]) @ row / 2])
    errors = np.sqrt((each**2).sum(axis=1)) / n
    own = np.stack([psi[:, 2] @ row, psi[:, 3] @ row]) ** 2
    df = variance_df(own / own.sum(axis=1, keepdims=True))
    multiple = student.ppf(0.95, [df[0], df.min()])
    np.testing.assert_allclose((found["upper"] - found["mean"])[:2], multiple * errors)
    assert found.loc[2].isna().all()
    wide = model.predict_interval(new, level=0.9, of="response")
    part = data[data["t"] == 2]
    left = (part["v"] - model.predict(part)) ** 2
    spare = len(part) - 3
    total = np.sqrt(errors[0] ** 2 + left.sum() / spare)
    assert (wide["upper"] - wide["mean"])[0] == pytest.approx(student.ppf(0.95, spare) * total)


def test_intervals_of_one_effect_are_those_of_its_curve(make_data):
    """Few subjects, a smoother, both: the mean at x = 1 less that at x = 0 is the effect of x."""
    few = TemporalProcessRegression("v ~ 0 + x", bandwidth=2.0).fit(make_data(n=30), id="id", time="t")
    new = pd.DataFrame({"x": 1.0, "t": few.times_})
    for smoothed in (False, True):
        found = few.predict_interval(new, smoothed=smoothed)
        curve = few.conf_int(smoothed=smoothed)["x"]
        np.testing.assert_allclose(found[["lower", "upper"]], curve[["lower", "upper"]])


def test_intervals_of_means_stay_inside_their_range(data):
    model = TemporalProcessRegression("y ~ x", link="logit").fit(data, id="id", time="t")
    found = model.predict_interval(data)
    assert ((found > 0) & (found < 1)).all(axis=None)
    assert (found["lower"] < found["mean"]).all()
    with pytest.raises(ValueError, match="needs link='identity'"):
        model.predict_interval(data, of="response")


def test_profiles_are_contrasts_of_coefficients(make_data):
    data = make_data(n=160)
    model = TemporalProcessRegression("y ~ x * g", link="logit").fit(data, id="id", time="t")
    found = model.compare_profiles({"x": 1.0, "g": "b"}, {"x": 0.0, "g": "a"}, random_state=0)
    coef = model.coef_
    expected = coef["x"] + coef["g[T.b]"] + coef["x:g[T.b]"]
    np.testing.assert_allclose(found["estimate"], expected)
    alone = model.compare_profiles({"x": 1.0, "g": "a"}, {"x": 0.0, "g": "a"}, random_state=0, n_draws=4000)
    band = model.bands(random_state=0, n_draws=4000)["x"]
    np.testing.assert_allclose(
        alone["upper"], band["upper"], atol=0.1 * (band["upper"] - band["lower"]).max()
    )
    with pytest.raises(ValueError, match="second must be one row"):
        model.compare_profiles({"x": 1.0, "g": "a"}, {"x": np.nan, "g": "a"})
    few = TemporalProcessRegression("v ~ x").fit(make_data(n=40), id="id", time="t")
    both = few.compare_profiles({"x": 1.0}, {"x": 0.0}, random_state=1, n_draws=200)
    np.testing.assert_allclose(both, few.bands(random_state=1, n_draws=200)["x"])


def test_covariance_of_two_times(data):
    model = TemporalProcessRegression("v ~ x").fit(data, id="id", time="t")
    psi, n = model.influence_, len(model.subjects_)
    np.testing.assert_allclose(np.sqrt(np.diag(model.covariance(3))), model.se_.loc[3])
    np.testing.assert_allclose(model.covariance(1, 4), psi[:, 1].T @ psi[:, 4] / n**2)
    with pytest.raises(ValueError, match="not one of the times"):
        model.covariance(17)
