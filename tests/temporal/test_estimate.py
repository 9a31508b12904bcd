import numpy as np
import pandas as pd
import pytest
from scipy.optimize import root
from scipy.special import expit, ndtr

from rlselect import TemporalProcessRegression

CANONICAL = ["identity", "logit", "log"]


def fitted(data, formula="y ~ x + z", link="logit", **options):
    return TemporalProcessRegression(formula, link=link, **options).fit(data, id="id", time="t")


@pytest.mark.parametrize("link", CANONICAL)
@pytest.mark.parametrize("kind", ["", "_weighted", "_constant"])
def test_equals_statsmodels(reference, link, kind):
    data = pd.DataFrame(reference["data"])
    model = TemporalProcessRegression(
        f"y_{link} ~ x + z", link=link, constant=["z"] if kind == "_constant" else None
    )
    model.fit(data, id="id", time="time", sample_weight="w" if kind == "_weighted" else None)
    expected = reference[link + kind]
    np.testing.assert_allclose(model.coef_, expected["coef"], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.se_, expected["se"], rtol=1e-8, atol=1e-8)


def _mean(link):
    return {
        "identity": (lambda e: e, np.ones_like),
        "logit": (expit, lambda e: expit(e) * expit(-e)),
        "probit": (ndtr, lambda e: np.exp(-(e**2) / 2) / np.sqrt(2 * np.pi)),
        "cloglog": (lambda e: 1 - np.exp(-np.exp(e)), lambda e: np.exp(e - np.exp(e))),
        "log": (np.exp, np.exp),
    }[link]


VARIANCE = {"gaussian": np.ones_like, "binomial": lambda m: m * (1 - m), "poisson": lambda m: m}
MODELS = [
    ("identity", "gaussian", "v"),
    ("logit", "binomial", "y"),
    ("probit", "binomial", "y"),
    ("cloglog", "binomial", "y"),
    ("log", "poisson", "c"),
    ("log", "gaussian", "c"),
    ("logit", "gaussian", "y"),
]


@pytest.mark.parametrize(("link", "variance", "response"), MODELS)
def test_equals_a_root_finder_and_the_written_out_sandwich(data, link, variance, response):
    model = fitted(data, f"{response} ~ x + z", link, variance=variance)
    mean, slope = _mean(link)
    for t in (0, 3):
        part = data[data["t"] == t]
        x = np.column_stack([np.ones(len(part)), part["x"], part["z"]])
        y = part[response].to_numpy(float)

        def each(b, x=x, y=y):
            eta = x @ b
            mu = mean(eta)
            return x * (slope(eta) / VARIANCE[variance](mu) * (y - mu))[:, None]

        found = root(lambda b: each(b).sum(axis=0), model.coef_.loc[t].to_numpy() + 0.02, tol=1e-13).x
        np.testing.assert_allclose(model.coef_.loc[t], found, rtol=1e-8, atol=1e-8)
        eta = x @ found
        weight = slope(eta) ** 2 / VARIANCE[variance](mean(eta))
        bread = np.linalg.inv((x * weight[:, None]).T @ x)
        cov = bread @ each(found).T @ each(found) @ bread
        np.testing.assert_allclose(model.se_.loc[t], np.sqrt(np.diag(cov)), rtol=1e-7)


def test_influence_functions_average_to_zero_and_give_the_standard_errors(data):
    model = fitted(data)
    n = len(model.subjects_)
    assert model.influence_.shape == (n, 6, 3)
    np.testing.assert_allclose(model.influence_.sum(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(np.sqrt((model.influence_**2).sum(axis=0)) / n, model.se_, rtol=1e-10)
    missing = set(model.subjects_) - set(data.loc[data["t"] == 2, "id"])
    rows = np.isin(model.subjects_, list(missing))
    assert rows.any()
    assert (model.influence_[rows, 2] == 0).all()


def test_influence_predicts_the_effect_of_leaving_a_subject_out(make_data):
    data = make_data(n=400, missing=0)
    model = fitted(data)
    for who in (3, 77):
        without = fitted(data[data["id"] != who])
        change = (model.coef_ - without.coef_).to_numpy()
        predicted = model.influence_[list(model.subjects_).index(who)] / 400
        assert np.abs(change - predicted).max() < 0.15 * np.abs(predicted).max()


def test_a_weight_equals_repeated_subjects_for_the_estimate(data):
    data["w"] = np.where(data["id"] % 3 == 0, 2.0, 1.0)
    again = data[data["w"] == 2].assign(id=lambda d: d["id"] + 1000)
    weighted = TemporalProcessRegression("y ~ x", link="logit").fit(
        data, id="id", time="t", sample_weight="w"
    )
    repeated = fitted(pd.concat([data, again]), "y ~ x")
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)


def test_scales_and_offsets_do_not_matter(data):
    plain = fitted(data, "v ~ x + z", "identity")
    scaled = fitted(
        data.assign(x=data["x"] * 1e120, z=data["z"] * 1e-120, v=data["v"] * 1e30), "v ~ x + z", "identity"
    )
    np.testing.assert_allclose(scaled.coef_["x"] * 1e90, plain.coef_["x"], rtol=1e-9)
    np.testing.assert_allclose(scaled.se_["z"] * 1e-150, plain.se_["z"], rtol=1e-9)
    shifted = fitted(data.assign(x=data["x"] + 1e6), "v ~ x + z", "identity")
    np.testing.assert_allclose(shifted.coef_["x"], plain.coef_["x"], rtol=1e-7)
