"""Intervals at single times: degrees of freedom against dense matrices, and what they cover."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student

from rlselect import TemporalProcessRegression
from rlselect.temporal import SmallSampleWarning
from rlselect.temporal._points import point_errors
from rlselect.temporal._splines import spline_basis


def enlarged(x, owner, weight):
    """The inverse information, and what enlarges residuals by their leverage (CR2), by n x n matrices."""
    inverse, root = np.linalg.inv((x.T * weight) @ x), np.sqrt(weight)
    together = owner[:, None] == owner
    values, vectors = np.linalg.eigh(together * (np.eye(len(x)) - root[:, None] * (x @ inverse @ x.T) * root))
    return inverse, root[:, None] * (vectors / np.sqrt(values)) @ vectors.T * root


def tilted(tables):
    """Variances by a line in the covariates, of many rows (covariates, owner, squared residual) per time."""
    x = np.concatenate([table[0] - table[0].mean(axis=0) for table in tables])[:, 1:]
    owner = np.concatenate([table[1] for table in tables])
    excess = np.concatenate([table[2] / table[2].mean() - 1 for table in tables])
    slope = np.linalg.solve(x.T @ x, x.T @ excess)
    own = np.array([x[owner == who].T @ (excess - x @ slope)[owner == who] for who in np.unique(owner)])
    bread = np.linalg.inv(x.T @ x)
    wald = slope @ np.linalg.solve(bread @ own.T @ own @ bread, slope) * (1 - x.shape[1] / len(own))
    line = 1 + max(0, 1 - x.shape[1] / wald) * (x @ slope)
    return np.split(np.maximum(line, 0.1), np.cumsum([len(table[0]) for table in tables])[:-1])


def dense(x, residual, owner, weight, variance):
    """HC2 (CR2) standard errors and Bell-McCaffrey degrees of freedom of a linear model, by n x n matrices.

    Responses have these variances, whatever their weights.
    """
    inverse, enlarge = enlarged(x, owner, weight)
    hat = x @ inverse @ x.T * weight
    groups = owner[:, None] == np.unique(owner)
    se, df = [], []
    for pull in (inverse @ x.T) @ enlarge:
        se.append(np.sqrt(((groups.T @ (pull * residual)) ** 2).sum()))
        g = groups.T @ (pull[:, None] * (np.eye(len(x)) - hat))
        form = (g * variance) @ g.T
        df.append(np.trace(form) ** 2 / np.trace(form @ form))
    return np.array(se), np.array(df)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(("weighted", "spread"), [(False, True), (True, False)])
def test_few_subjects_equal_dense_matrices(make_data, clustered, weighted, spread):
    data = make_data(n=36, missing=0.0)
    data["home"], data["w"] = data["id"] // 3, (1.0 + data["id"] % 4) ** weighted
    if spread:
        data["v"] += data["v"].std() * np.random.default_rng(0).normal(size=len(data)) * np.exp(data["x"])
    roles = {"cluster": "home"} if clustered else {}
    model = TemporalProcessRegression("v ~ x + z").fit(data, id="id", time="t", sample_weight="w", **roles)
    band = model.conf_int(0.9)
    parts, tables = [], []
    for time in range(6):
        part = data[data["t"] == time]
        x = np.column_stack([np.ones(len(part)), part["x"], part["z"]])
        residual = (part["v"] - x @ model.coef_.loc[time]).to_numpy()
        owner, weight = part["home" if clustered else "id"].to_numpy(), part["w"].to_numpy()
        parts.append((x, residual, owner, weight))
        score = enlarged(x, owner, weight)[1] @ residual
        tables.append((x, owner, (score / weight) ** 2))
    variances = tilted(tables)
    for time in (0, 4):
        se, df = dense(*parts[time], variances[time])
        reach = student.ppf(0.95, df) * se
        np.testing.assert_allclose(band.upper.loc[time] - model.coef_.loc[time], reach)


def test_bounded_means_keep_normal_quantiles(make_data):
    model = TemporalProcessRegression("y ~ x", link="logit").fit(make_data(n=60), id="id", time="t")
    band = model.conf_int(0.9)
    assert list(band.critical.values()) == pytest.approx([norm.ppf(0.95)] * 2)
    assert ((band.upper - model.coef_) > norm.ppf(0.95) * model.se_).all(axis=None)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_binary_responses_have_at_least_the_variance_of_their_means(make_data, link):
    """The larger of HC2 and the inverse information, at each time by itself; which one it is varies."""
    data = make_data(n=60, missing=0.0)
    data["y"] = ((data["y"] == 1) & (data["id"] % 3 == 0)).astype(float)
    model = TemporalProcessRegression("y ~ x", link=link).fit(data, id="id", time="t")
    band = model.conf_int(0.9)
    larger = []
    for time in range(6):
        part = data[data["t"] == time]
        x, y = np.column_stack([np.ones(60), part["x"]]), part["y"].to_numpy()
        eta = x @ model.coef_.loc[time].to_numpy()
        mu, slope = (
            (expit(eta), expit(eta) * expit(-eta)) if link == "logit" else (norm.cdf(eta), norm.pdf(eta))
        )
        weight = slope**2 / (mu * (1 - mu))
        bread = np.linalg.inv((x.T * weight) @ x)
        leverage = weight * np.einsum("ik,kl,il->i", x, bread, x)
        score = slope * (y - mu) / (mu * (1 - mu)) / np.sqrt(1 - leverage)
        hc2 = bread @ (x.T * score**2) @ x @ bread
        var = np.maximum(np.diag(hc2), np.diag(bread))
        larger += list(np.diag(hc2) > np.diag(bread))
        reach = norm.ppf(0.95) * np.sqrt(var)
        np.testing.assert_allclose(band.upper.loc[time] - model.coef_.loc[time], reach, rtol=1e-6)
    assert 0 < sum(larger) < len(larger)
    # a share is no event: its variance may be small
    shares = TemporalProcessRegression("y ~ x", link=link)
    shares.fit(data.assign(y=0.4 + 0.2 * data["y"]), id="id", time="t")
    assert ((shares.conf_int(0.9).upper - shares.coef_) < 1.2 * norm.ppf(0.95) * shares.se_).all(axis=None)


@pytest.mark.parametrize("clustered", [False, True])
def test_influential_subjects_of_counts_are_left_out_for_good(make_data, clustered):
    """Without such a subject the equations are solved again; others have changes of first order."""
    data = make_data(n=24, missing=0.0)
    data.loc[data["id"] == 3, "c"] = 25
    data["home"] = data["id"] // 2
    unit, cluster = ("home", {"cluster": "home"}) if clustered else ("id", {})

    def fit(some):
        return TemporalProcessRegression("c ~ x", link="log").fit(some, id="id", time="t", **cluster)

    model = fit(data)
    n = model.n_independent_
    careful = model._fitted.careful_influence().contrast(np.eye(2), np.arange(6))
    one = model._fitted.enlarged_influence(1.0).contrast(np.eye(2), np.arange(6))
    half = model._fitted.enlarged_influence(0.5).contrast(np.eye(2), np.arange(6))
    shares = (one**2 / (one**2).sum(axis=2, keepdims=True)).max(axis=1) > 0.05
    place = 3 if not clustered else 1
    assert shares[:, place].all()
    assert not shares.all(axis=0).all()
    without = fit(data[data[unit] != place])
    change = n * (model.coef_ - without.coef_).to_numpy() * np.clip(half / one, 0, 1)[:, :, place]
    np.testing.assert_allclose(careful[:, :, place], change, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        careful.transpose(0, 2, 1)[~shares], half.transpose(0, 2, 1)[~shares], rtol=1e-9
    )
    assert np.abs(careful[:, 0, place]).mean() > 1.05 * np.abs(half[:, 0, place]).mean()


def test_a_count_that_cannot_be_left_out_keeps_its_change_of_first_order(make_data):
    data = make_data(n=20, missing=0.0)
    data["c"] = np.where(data["id"] == 5, 4.0, 0.0)
    model = TemporalProcessRegression("c ~ 1", link="log").fit(data, id="id", time="t")
    with pytest.warns(SmallSampleWarning, match="'c' is the same for all but 1"):
        band = model.bands(random_state=0)
    assert np.isfinite(band.upper - band.lower).all(axis=None)
    assert ((band.upper - band.lower) > 4.0).all(axis=None)


@pytest.mark.parametrize("options", [{"constant": ["z"]}, {"dropout": ["v"]}])
def test_without_leverage_influence_functions_are_a_sample(make_data, options):
    data = make_data(n=40)
    data = data[~((data["id"] % 5 == 0) & (data["t"] > 3))]
    fit = {"dropout": options.pop("dropout")} if "dropout" in options else {}
    model = TemporalProcessRegression("v ~ x + z", **options).fit(data, id="id", time="t", **fit)
    # influence functions (subjects, times, covariates): their squares tell how well a variance is known
    squares = model.influence_**2 / (model.influence_**2).sum(axis=0)
    df = np.clip(2 / ((squares**2).sum(axis=0) - 1 / 40), 1, 39)
    assert df.min() < 30
    reach = student.ppf(0.975, df) * np.sqrt(40 / 39) * model.se_
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


def test_smoothed_curves_have_the_mean_of_the_degrees_of_freedom_of_their_times(make_data):
    data = make_data(n=30)
    for options in ({"n_splines": 5}, {"bandwidth": 2.0}):
        model = TemporalProcessRegression("v ~ x", **options).fit(data, id="id", time="t")
        (_, raw), (_, found) = (
            point_errors(model._fitted, smoothed).errors(np.eye(2), np.arange(6))
            for smoothed in (False, True)
        )
        if "bandwidth" in options:
            near = np.maximum(1 - np.abs(np.subtract.outer(range(6), range(6))) / 1.4, 0.0)
            kernel = near / near.sum(axis=1, keepdims=True)
            shares = np.abs(2 * kernel - kernel @ kernel)
        else:
            basis = spline_basis(np.arange(6.0), 5)
            shares = basis @ basis.T
        np.testing.assert_allclose(found, shares / shares.sum(axis=1, keepdims=True) @ raw)
        assert (found < 29).all()
