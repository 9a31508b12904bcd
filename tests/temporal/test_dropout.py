"""Weights for drop-out: the model of staying against a loop, and what they mend."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from rlselect import TemporalProcessRegression
from rlselect.temporal import SmallSampleWarning
from rlselect.temporal._dropout import expected_share


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
    with pytest.warns(SmallSampleWarning, match=r"information of 85 of 201 subjects at 5 \(measured: 0.5"):
        assert model.test("x", random_state=0).pvalue > 0.001
    with pytest.warns(SmallSampleWarning):
        assert "Weighted for drop-out" in str(model.summary())


def test_what_cannot_be_weighted():
    data = leaving(n=60)
    with pytest.raises(ValueError, match="every subject stays"):
        TemporalProcessRegression("y ~ x").fit(data[data["t"] == 0], id="id", time="t", dropout=["y"])
    with pytest.raises(TypeError, match="list of names"):
        TemporalProcessRegression("y ~ x").fit(data, id="id", time="t", dropout="y")
    for options in ({"constant": ["x"]}, {"n_splines": 5}):
        with pytest.raises(ValueError, match="dropout were both given"):
            TemporalProcessRegression("y ~ x", **options).fit(data, id="id", time="t", dropout=["y"])


def test_large_weights_are_cut_to_a_quantile_of_their_time():
    data = leaving(n=150)
    fit = {"id": "id", "time": "t", "dropout": ["y"]}
    whole = TemporalProcessRegression("y ~ x").fit(data, **fit)
    model = TemporalProcessRegression("y ~ x").fit(data, **fit, dropout_quantile=0.9)
    before = whole._fitted.design.dropout.weights.T[data["id"], data["t"]]
    most = pd.Series(before).groupby(data["t"]).transform(lambda own: own.quantile(0.9)).to_numpy()
    known = TemporalProcessRegression("y ~ x")
    known.fit(data.assign(w=np.minimum(before, most)), id="id", time="t", sample_weight="w")
    np.testing.assert_allclose(model.coef_, known.coef_)
    weight = np.minimum(before, most)[data["t"] == 4]
    assert model.n_effective_[4] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert (model.n_effective_ >= whole.n_effective_ - 1e-9).all()
    assert "cut" not in whole._fitted.design.dropout.told()
    steady = TemporalProcessRegression("y ~ x").fit(data, **fit, dropout_quantile=0.6)
    with pytest.warns(SmallSampleWarning, match=r"hardly any of those who were likely to leave .* at 5"):
        summary = steady.summary()
    assert "hardly any of those" in str(summary)
    assert "larger ones cut" in str(summary)
    assert "Effective subjects" in str(summary)
    assert not hasattr(known, "n_effective_")


def test_expected_share_needs_no_luck():
    """Of ten subjects two stay with probability 1/4 per time; whether they did plays no part but in that."""
    probability = np.full((3, 10), 0.9)
    probability[:, :2], probability[0] = 0.25, np.nan
    there = np.ones((3, 10), dtype=bool)
    q = np.array([0.25, 0.25, *[0.9] * 8])
    expected = [1.0, *(100 / ((q**-k).sum() * (q**k).sum()) for k in (1, 2))]
    np.testing.assert_allclose(expected_share(probability, there), expected)
    there[1:, :2], probability[2, :2] = False, np.nan
    np.testing.assert_allclose(expected_share(probability, there), expected)
    there[2] = False
    np.testing.assert_allclose(expected_share(probability, there), [*expected[:2], 1.0])


def test_one_subject_who_should_have_left_does_not_rule_a_curve():
    """A probability of staying near 0: without a cut one row is most of a regression, and it is said."""
    data = leaving(n=80, strength=0.8)
    data = data[(data["id"] != 3)]
    lucky = pd.DataFrame({"id": 3, "t": range(6), "x": 0.0, "y": 6.0})
    data = pd.concat([data, lucky], ignore_index=True)
    fit = {"id": "id", "time": "t", "dropout": ["y"]}
    whole = TemporalProcessRegression("y ~ x").fit(data, **fit)
    cut = TemporalProcessRegression("y ~ x").fit(data, **fit, dropout_quantile=0.95)
    assert whole.n_effective_[5] < 3.0
    assert cut.n_effective_[5] > 2 * whole.n_effective_[5]
    assert abs(cut.coef_.loc[5, "Intercept"]) < 0.6 * abs(whole.coef_.loc[5, "Intercept"])
    with pytest.warns(
        SmallSampleWarning, match=r"weights for drop-out leave the information of [12] of \d+ subjects"
    ):
        whole.conf_int()


@pytest.mark.parametrize("quantile", [0.0, 1.5, "most", np.nan])
def test_a_quantile_that_is_none(quantile):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        TemporalProcessRegression("y ~ x").fit(
            leaving(n=40), id="id", time="t", dropout=["y"], dropout_quantile=quantile
        )
    with pytest.raises(ValueError, match="without dropout"):
        TemporalProcessRegression("y ~ x").fit(leaving(n=40), id="id", time="t", dropout_quantile=0.9)


def irregular(seed=0, n=300, strength=1.0):
    """Visits at times of everyone's own until 6, without any trend; who has a high response may leave."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        trait, t = rng.normal(), rng.uniform()
        while t <= 6:
            x, y = rng.normal(), trait + 0.7 * rng.normal()
            rows.append((i, t, x, y))
            if rng.random() < 1 / (1 + np.exp(2.5 - strength * y)):
                break
            t += rng.uniform(0.5, 1.5)
    return pd.DataFrame(rows, columns=["id", "t", "x", "y"])


MODES = {
    "bin": {"visits": "bin", "grid": 6},
    "first of a bin": {"visits": "bin", "grid": 6, "several": "first"},
    "carry": {"visits": "carry", "grid": np.arange(1.0, 5.6, 0.5)},
    "local": {"visits": "local", "grid": np.arange(0.0, 5.6, 0.5), "bandwidth": 0.8},
}


@pytest.mark.parametrize("mode", MODES)
def test_weights_mend_visits_that_are_not_shared(mode):
    data = irregular(n=2000)
    plain, mended = (
        TemporalProcessRegression("y ~ x", **MODES[mode]).fit(data, id="id", time="t", **options)
        for options in ({}, {"dropout": ["y"]})
    )
    late = slice(4.4, None)
    before, after = (model.coef_.loc[late, "Intercept"] for model in (plain, mended))
    assert (before < -0.25).all()
    assert (after.abs() < 0.4 * before.abs()).all()
    assert (after.abs() < 3.5 * mended.se_.loc[late, "Intercept"]).all()


def naive_weights(data, mode):
    """The model of staying by a loop over subjects: coefficients, and chances by subject and period.

    Periods are bins, or where everyone has times of their own the numbers of a subject's rows.
    """
    binned = "bin" in mode
    edges = np.linspace(data["t"].min(), data["t"].max(), 7)
    middle, end = (edges[1:] + edges[:-1]) / 2, data["t"].max()
    gap = data.groupby("id")["t"].diff().quantile(0.9)
    asked, every = [], {}
    for who, own in data.groupby("id"):
        own = own.sort_values("t")
        number = np.minimum(np.searchsorted(edges, own["t"], side="right") - 1, 5)
        number = number if binned else np.arange(len(own))
        for k in range(number[0] + 1, number[-1] + 2):
            past = own[number < k].iloc[-1]
            if binned and k == 6:
                continue
            every[who, k] = (middle[k] if binned else past["t"], past["y"])
            # a bin without rows is followed by others
            if past["t"] + gap <= end or k - 1 not in number:
                asked.append((*every[who, k], k <= number[-1]))
    asked = np.array(asked, dtype=float)
    if binned:
        centre, width = middle.mean(), np.ptp(middle)
    else:
        # the times at which it is asked: those of all rows but the last one of the longest subject
        longest = data.groupby("id")["t"].size().max()
        rest = data[data.groupby("id").cumcount() < longest - 1]["t"]
        centre, width = rest.mean(), np.ptp(rest)
    asked[:, 0] = (asked[:, 0] - centre) / width
    logistic = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(asked[:, :2], asked[:, 2])
    chance = {key: logistic.predict_proba([[(t - centre) / width, y]])[0, 1] for key, (t, y) in every.items()}
    return [logistic.intercept_[0], *logistic.coef_[0]], chance


@pytest.mark.parametrize("mode", MODES)
def test_the_model_of_staying_equals_a_loop(mode):
    data, options = irregular(seed=3, n=60), MODES[mode]
    model = TemporalProcessRegression("y ~ x", **options).fit(data, id="id", time="t", dropout=["y"])
    coef, chance = naive_weights(data, mode)
    np.testing.assert_allclose(model.dropout_coef_, coef, rtol=1e-4, atol=1e-5)
    number = data.sort_values("t").groupby("id").cumcount().sort_index()
    if mode == "local":
        weight = [
            1 / np.prod([chance[who, j] for j in range(1, k + 1)])
            for who, k in zip(data["id"], number, strict=True)
        ]
        known = TemporalProcessRegression("y ~ x", **options)
        known.fit(data.assign(w=weight), id="id", time="t", sample_weight="w")
        np.testing.assert_allclose(model.coef_, known.coef_, rtol=1e-3, atol=1e-4)
    if mode == "carry":
        # between two rows it is known that the second will come
        for place, time in enumerate(options["grid"]):
            for who in (5, 17, 40):
                own = np.sort(data.loc[data["id"] == who, "t"])
                behind = int((own <= time).sum())
                there = 0 < behind < len(own)
                weight = 1 / np.prod([chance[who, j] for j in range(1, behind + 1)]) if there else 0.0
                assert model._fitted.design.dropout.weights[place, who] == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize("mode", ["bin", "local"])
@pytest.mark.parametrize("clustered", [False, True])
def test_leaving_a_subject_out_moves_weights_and_curves(mode, clustered):
    data = irregular(seed=1, n=240, strength=0.6)
    data["home"] = data["id"] // 2
    unit = "home" if clustered else "id"
    fit = {"id": "id", "time": "t", "dropout": ["y"]} | ({"cluster": "home"} if clustered else {})
    # edges and grid of their own, so that they are the same without a subject
    options = MODES[mode] | ({"grid": np.arange(7.0)} if mode == "bin" else {})
    model = TemporalProcessRegression("y ~ x", **options).fit(data, **fit)
    at = 4
    predicted, change = [], []
    for who in range(0, data[unit].max(), 12):
        without = TemporalProcessRegression("y ~ x", **options).fit(data[data[unit] != who], **fit)
        change.append((model.coef_ - without.coef_).to_numpy()[at])
        predicted.append(model.influence_[who, at] / model.n_independent_)
    change, predicted = np.array(change), np.array(predicted)
    assert np.abs(change - predicted).max() < 0.25 * np.abs(change).max()
