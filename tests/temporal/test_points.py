"""Intervals at single times: degrees of freedom against dense matrices, and what they cover."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from rlselect import TemporalProcessRegression
from rlselect.temporal import SmallSampleWarning


def dense(x, residual, owner):
    """HC2 standard errors and Bell-McCaffrey degrees of freedom of a linear model, by n x n matrices."""
    inverse = np.linalg.inv(x.T @ x)
    hat = x @ inverse @ x.T
    enlarge = 1 / np.sqrt(1 - np.diag(hat))
    groups = owner[:, None] == np.unique(owner)
    se, df = [], []
    for pull in (inverse @ x.T) * enlarge:
        se.append(np.sqrt(((groups.T @ (pull * residual)) ** 2).sum()))
        g = groups.T @ (pull[:, None] * (np.eye(len(x)) - hat))
        form = g @ g.T
        df.append(np.trace(form) ** 2 / np.trace(form @ form))
    return np.array(se), np.array(df)


@pytest.mark.parametrize("clustered", [False, True])
def test_few_subjects_equal_dense_matrices(make_data, clustered):
    data = make_data(n=36, missing=0.0)
    data["home"] = data["id"] // 3
    cluster = {"cluster": "home"} if clustered else {}
    model = TemporalProcessRegression("v ~ x + z").fit(data, id="id", time="t", **cluster)
    band = model.conf_int(0.9)
    for time in (0, 4):
        part = data[data["t"] == time]
        x = np.column_stack([np.ones(len(part)), part["x"], part["z"]])
        residual = part["v"] - x @ model.coef_.loc[time]
        se, df = dense(x, residual.to_numpy(), part["home" if clustered else "id"].to_numpy())
        reach = student.ppf(0.95, df) * se
        np.testing.assert_allclose(band.upper.loc[time] - model.coef_.loc[time], reach)


def test_bounded_means_keep_normal_quantiles(make_data):
    model = TemporalProcessRegression("y ~ x", link="logit").fit(make_data(n=60), id="id", time="t")
    band = model.conf_int(0.9)
    assert list(band.critical.values()) == pytest.approx([norm.ppf(0.95)] * 2)
    assert ((band.upper - model.coef_) > norm.ppf(0.95) * model.se_).all(axis=None)


@pytest.mark.parametrize("options", [{"constant": ["z"]}, {"dropout": ["v"]}])
def test_without_leverage_influence_functions_are_a_sample(make_data, options):
    data = make_data(n=40)
    data = data[~((data["id"] % 5 == 0) & (data["t"] > 3))]
    fit = {"dropout": options.pop("dropout")} if "dropout" in options else {}
    model = TemporalProcessRegression("v ~ x + z", **options).fit(data, id="id", time="t", **fit)
    reach = student.ppf(0.975, 39) * np.sqrt(40 / 39) * model.se_
    np.testing.assert_allclose(model.conf_int().upper, model.coef_ + reach)


def test_too_few_are_said(make_data):
    model = TemporalProcessRegression("v ~ x").fit(make_data(n=7), id="id", time="t")
    with pytest.warns(SmallSampleWarning, match="measured"):
        model.conf_int()
    with pytest.warns(SmallSampleWarning, match="measured"):
        model.predict_interval(make_data(n=2))


def test_an_arm_of_one_subject_tells_nothing(make_data):
    data = make_data(n=30, missing=0.0)
    data["arm"] = (data["id"] == 4).astype(float)
    model = TemporalProcessRegression("v ~ arm + x").fit(data, id="id", time="t")
    with pytest.warns(SmallSampleWarning, match="'arm' is the same for all but 1"):
        band = model.conf_int()
    assert np.isinf(band.upper["arm"]).all()
    assert np.isfinite(band.upper[["Intercept", "x"]]).all(axis=None)


@pytest.mark.parametrize("link", ["identity", "log"])
def test_intervals_of_twenty_subjects_cover(link):
    """80 trials, 6 times; normal quantiles of HC0 cover .85 to .90."""
    rng = np.random.default_rng(5)
    n, n_times = 20, 6
    ids, times = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    hits, plain = [], []
    for _ in range(80):
        x = rng.normal(size=(n, n_times))
        eta = 0.5 + 0.3 * x
        y = eta + rng.normal(size=x.shape) if link == "identity" else rng.poisson(np.exp(eta))
        model = TemporalProcessRegression(link=link).fit(x.reshape(-1, 1), y.ravel(), id=ids, time=times)
        lower, upper = model.conf_int()
        hits.append((lower["x0"] <= 0.3) & (upper["x0"] >= 0.3))
        plain.append((model.coef_["x0"] - 0.3).abs() <= 1.96 * model.se_["x0"])
    assert 0.93 < np.mean(hits) < 0.98
    assert np.mean(plain) < 0.91
