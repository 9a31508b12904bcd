"""Weights for drop-out: the model of staying against a loop, and what they mend."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from rlselect import TemporalProcessRegression


def leaving(seed=0, n=400, n_times=6, strength=1.5):
    """Responses without any trend; who has a high one tends to leave."""
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=n)
    rows = []
    for i in range(n):
        for t in range(n_times):
            x, y = rng.normal(), trait[i] + rng.normal()
            rows.append((i, t, x, y))
            if rng.random() < 1 / (1 + np.exp(2.0 - strength * y)):
                break
    return pd.DataFrame(rows, columns=["id", "t", "x", "y"])


def test_weights_are_products_of_inverse_probabilities():
    data = leaving(n=150)
    model = TemporalProcessRegression("y ~ x").fit(data, id="id", time="t", dropout=["y"])
    last = data.groupby("id")["t"].transform("max")
    risk = data[data["t"] < 5].assign(stays=(data["t"] < last).astype(int))
    clock = (risk["t"] + 1 - 2.5) / 5
    features = np.column_stack([clock, risk["y"]])
    logistic = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(features, risk["stays"])
    np.testing.assert_allclose(model.dropout_coef_, [logistic.intercept_[0], *logistic.coef_[0]], rtol=1e-4)
    risk["p"] = logistic.predict_proba(features)[:, 1]
    there = data[data["t"] == 3]
    past = risk[risk["id"].isin(there["id"]) & (risk["t"] < 3)]
    weight = 1 / past.groupby("id")["p"].prod().loc[there["id"]].to_numpy()
    x = np.column_stack([np.ones(len(there)), there["x"]])
    expected = np.linalg.solve((x * weight[:, None]).T @ x, x.T @ (weight * there["y"]))
    np.testing.assert_allclose(model.coef_.loc[3], expected, rtol=1e-3, atol=1e-4)


def test_weights_mend_the_bias_of_informative_dropout():
    data = leaving(n=3000)
    plain = TemporalProcessRegression("y ~ x").fit(data, id="id", time="t")
    mended = TemporalProcessRegression("y ~ x").fit(data, id="id", time="t", dropout=["y"])
    assert plain.coef_.loc[5, "Intercept"] < -0.5
    assert abs(mended.coef_.loc[5, "Intercept"]) < 0.5 * abs(plain.coef_.loc[5, "Intercept"])
    np.testing.assert_allclose(mended.coef_.loc[0], plain.coef_.loc[0])


def test_influence_functions_know_that_weights_are_estimated():
    """Leaving a subject out changes weights and curves as its influence function says."""
    data = leaving(n=500, strength=0.8)
    fit = {"id": "id", "time": "t", "dropout": ["y"]}
    model = TemporalProcessRegression("y ~ x").fit(data, **fit)
    predicted, change = [], []
    for who in range(0, 500, 25):
        without = TemporalProcessRegression("y ~ x").fit(data[data["id"] != who], **fit)
        change.append((model.coef_ - without.coef_).to_numpy()[3])
        predicted.append(model.influence_[who, 3] / 500)
    change, predicted = np.array(change), np.array(predicted)
    assert np.abs(change - predicted).max() < 0.2 * np.abs(change).max()
    known = data.assign(w=model._fitted.design.dropout.weights.T[data["id"], data["t"]])
    fixed = TemporalProcessRegression("y ~ x").fit(known, id="id", time="t", sample_weight="w")
    np.testing.assert_allclose(fixed.coef_, model.coef_)
    assert not np.allclose(fixed.se_.loc[3], model.se_.loc[3], rtol=1e-3)
    assert model.test("x", random_state=0).pvalue > 0.001
    assert "Weighted for drop-out" in str(model.summary())


def test_what_cannot_be_weighted():
    data = leaving(n=60)
    with pytest.raises(ValueError, match="every subject stays"):
        TemporalProcessRegression("y ~ x").fit(data[data["t"] == 0], id="id", time="t", dropout=["y"])
    with pytest.raises(TypeError, match="list of names"):
        TemporalProcessRegression("y ~ x").fit(data, id="id", time="t", dropout="y")
    with pytest.raises(ValueError, match="visits='exact'"):
        TemporalProcessRegression("y ~ x", visits="bin", grid=3).fit(data, id="id", time="t", dropout=["y"])
    for options in ({"constant": ["x"]}, {"n_splines": 5}):
        with pytest.raises(ValueError, match="dropout were both given"):
            TemporalProcessRegression("y ~ x", **options).fit(data, id="id", time="t", dropout=["y"])
