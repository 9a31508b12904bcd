"""Visits that do not fall on common times, offsets and clusters, against loops."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning


@pytest.fixture
def irregular():
    """Three to nine visits at continuous times, an effect that rises."""
    rng = np.random.default_rng(3)
    parts = []
    for who in range(70):
        t = np.sort(rng.uniform(0, 10, size=rng.integers(3, 10)))
        x = rng.normal(size=len(t))
        y = 1 + 0.2 * t * x + rng.normal() + rng.normal(size=len(t))
        parts.append(pd.DataFrame({"id": who, "t": t, "x": x, "y": y}))
    return pd.concat(parts, ignore_index=True)


def least_squares(x, y, w, cluster):
    """Weighted least squares with a sandwich over clusters."""
    x = np.column_stack([np.ones(len(x)), x])
    bread = np.linalg.inv((x * w[:, None]).T @ x)
    beta = bread @ x.T @ (w * y)
    scores = x * (w * (y - x @ beta))[:, None]
    sums = np.array([scores[cluster == c].sum(axis=0) for c in np.unique(cluster)])
    return beta, np.sqrt(np.diag(bread @ sums.T @ sums @ bread))


def test_carry_holds_the_last_row_between_first_and_last(irregular):
    grid = [2.0, 4.5, 8.0]
    model = TemporalProcessRegression("y ~ x", visits="carry", grid=grid).fit(irregular, id="id", time="t")
    assert list(model.times_) == grid
    for g in grid:
        held = [
            part[part["t"] <= g].iloc[-1]
            for _, part in irregular.groupby("id")
            if part["t"].min() <= g <= part["t"].max()
        ]
        rows = pd.DataFrame(held)
        beta, se = least_squares(rows["x"], rows["y"].to_numpy(), np.ones(len(rows)), rows["id"].to_numpy())
        np.testing.assert_allclose(model.coef_.loc[g], beta)
        np.testing.assert_allclose(model.se_.loc[g], se)
    assert model.n_available_[2] == len(rows)


def test_carry_stops_at_a_row_that_is_not_available_and_starts_again(irregular):
    data = irregular[irregular["id"] < 40].copy()
    extra = pd.DataFrame({"id": 99, "t": [0.0, 3.0, 6.0, 9.0], "x": 1.0, "y": [50.0, np.nan, 50.0, 50.0]})
    model = TemporalProcessRegression("y ~ x", visits="carry", grid=[1.0, 4.0, 7.0])
    without = model.fit(data, id="id", time="t").n_available_
    there = model.fit(pd.concat([data, extra]), id="id", time="t").n_available_ - without
    assert there.tolist() == [1, 0, 1]


@pytest.mark.parametrize("several", ["mean", "first", "last", "nearest"])
def test_bins_and_their_rule(irregular, several):
    edges = [0.0, 2.5, 5.0, 10.0]
    model = TemporalProcessRegression("y ~ x", visits="bin", grid=edges, several=several)
    model.fit(irregular, id="id", time="t")
    assert list(model.times_) == [1.25, 3.75, 7.5]
    part = irregular[(irregular["t"] >= 2.5) & (irregular["t"] < 5.0)]
    by = part.assign(far=(part["t"] - 3.75).abs()).groupby("id")
    rows = {
        "mean": lambda: by.mean(),
        "first": lambda: by.first(),
        "last": lambda: by.last(),
        "nearest": lambda: part.loc[by["far"].idxmin()],
    }[several]()
    beta, se = least_squares(rows["x"], rows["y"].to_numpy(), np.ones(len(rows)), np.arange(len(rows)))
    np.testing.assert_allclose(model.coef_.loc[3.75], beta)
    np.testing.assert_allclose(model.se_.loc[3.75], se)


def test_local_estimation_weights_by_nearness_and_sums_over_subjects(irregular):
    model = TemporalProcessRegression("y ~ x", visits="local", grid=[2.0, 5.0], bandwidth=1.5)
    model.fit(irregular, id="id", time="t")
    for g in (2.0, 5.0):
        near = irregular[(irregular["t"] - g).abs() < 1.5 * (1 - 1e-6)]
        w = 1 - (near["t"] - g).abs().to_numpy() / 1.5
        beta, se = least_squares(near["x"], near["y"].to_numpy(), w, near["id"].to_numpy())
        np.testing.assert_allclose(model.coef_.loc[g], beta)
        np.testing.assert_allclose(model.se_.loc[g], se)
    # the last one is out of reach of both times, and counts as a subject all the same
    late = pd.DataFrame({"id": [200, 200], "t": [9.0, 9.5], "x": 1.0, "y": 1.0})
    model.fit(pd.concat([irregular, late]), id="id", time="t")
    np.testing.assert_allclose(model.se_.loc[5.0], se)
    assert model.influence_.shape == (71, 2, 2)
    model.fit(irregular, id="id", time="t")
    assert len(model.subjects_) == 70
    assert model.test("x", kind="sds", random_state=0).pvalue < 0.001
    lower = model.bands(random_state=0, n_draws=50).lower["x"].loc[5.0]
    # wider than intervals of the estimate itself: the leverage of whole subjects and the bias are allowed for
    assert 0.35 < lower < model.coef_.loc[5.0, "x"] - 1.96 * model.se_.loc[5.0, "x"]


def test_a_grid_of_a_time_zone_is_one_of_instants(irregular):
    """NumPy warned of time zones that it cannot represent, once for each edge."""
    start = pd.Timestamp("2020-01-01", tz="Europe/Rome")
    dated = irregular.assign(t=start + pd.to_timedelta(irregular["t"].round(3), unit="D"))
    edges = list(pd.date_range(start, periods=4, freq="3D"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = TemporalProcessRegression("y ~ x", visits="bin", grid=edges).fit(dated, id="id", time="t")
    assert ["time zone Europe/Rome" in str(one.message) for one in told] == [True]
    plain = TemporalProcessRegression("y ~ x", visits="bin", grid=[0, 3, 6, 9])
    plain.fit(irregular.assign(t=irregular["t"].round(3)), id="id", time="t")
    np.testing.assert_allclose(model.coef_, plain.coef_)


def test_dates_and_counts_of_grid_points(irregular):
    start = np.datetime64("2020-01-01")
    dated = irregular.assign(t=start + (irregular["t"] * 24 * 60).round().astype("timedelta64[m]"))
    model = TemporalProcessRegression("y ~ x", visits="bin", grid=4).fit(dated, id="id", time="t")
    plain = TemporalProcessRegression("y ~ x", visits="bin", grid=4)
    plain.fit(irregular.assign(t=(irregular["t"] * 24 * 60).round()), id="id", time="t")
    assert model.times_.dtype.kind == "M"
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert (
        len(TemporalProcessRegression("y ~ x", visits="carry", grid=7).fit(dated, id="id", time="t").times_)
        == 7
    )
    for number in (0, 2**70):
        with pytest.raises(ValueError, match=r"grid=\d+ was given; it must be from \d to 100,000"):
            TemporalProcessRegression("y ~ x", visits="carry", grid=number).fit(dated, id="id", time="t")


def test_offset_is_a_known_part_of_the_predictor(data):
    data["known"] = 0.5 * data["x"] + 0.1
    moved = TemporalProcessRegression("v ~ z").fit(data, id="id", time="t", offset="known")
    plain = TemporalProcessRegression("v ~ z").fit(
        data.assign(v=data["v"] - data["known"]), id="id", time="t"
    )
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-10)
    np.testing.assert_allclose(moved.se_, plain.se_)
    for link, response, options in [
        ("logit", "y", {}),
        ("log", "c", {}),
        ("log", "c", {"constant": ["x"]}),
        ("logit", "y", {"n_splines": 5}),
    ]:
        full = TemporalProcessRegression(f"{response} ~ x", link=link, **options).fit(data, id="id", time="t")
        half = TemporalProcessRegression(f"{response} ~ x", link=link, **options)
        half.fit(data, id="id", time="t", offset="known")
        np.testing.assert_allclose(half.coef_["x"] + 0.5, full.coef_["x"], rtol=1e-6)
        np.testing.assert_allclose(half.se_, full.se_, rtol=1e-6)
        assert half.test("x", value=0.1).statistic == pytest.approx(
            full.test("x", value=0.6).statistic, rel=1e-5
        )


def test_clusters_above_the_subject(make_data):
    data = make_data(n=120)
    data["family"] = data["id"] // 3
    model = TemporalProcessRegression("v ~ x").fit(data, id="id", time="t", cluster="family")
    plain = TemporalProcessRegression("v ~ x").fit(data, id="id", time="t")
    np.testing.assert_allclose(model.coef_, plain.coef_)
    part = data[data["t"] == 2]
    _, se = least_squares(part["x"], part["v"].to_numpy(), np.ones(len(part)), part["family"].to_numpy())
    np.testing.assert_allclose(model.se_.loc[2], se)
    assert model.influence_.shape[0] == 40
    np.testing.assert_allclose(model.influence_.mean(axis=0), 0, atol=1e-10)
    # copies of a subject are no information
    twins = pd.concat([data, data.assign(id=data["id"] + 1000)])
    same = TemporalProcessRegression("v ~ x").fit(twins, id="id", time="t", cluster="family")
    np.testing.assert_allclose(same.se_, model.se_)
    for options in ({"n_draws": 99}, {"n_draws": 99, "resample": "refit"}):
        band = same.bands(random_state=0, **options)
        assert np.isfinite(list(band.critical.values())).all()
    splines = TemporalProcessRegression("v ~ x", n_splines=5)
    once = splines.fit(data, id="id", time="t", cluster="family").smoothed_se_
    again = splines.fit(twins, id="id", time="t", cluster="family").smoothed_se_
    np.testing.assert_allclose(again, once, rtol=0.02)


def test_wrong_schedules(irregular):
    for options, message in [
        ({"visits": "bin"}, "needs a grid"),
        ({"visits": "local", "grid": 5}, "needs a number"),
        ({"visits": "exact", "grid": [1, 2]}, "leave grid out"),
        ({"visits": "carry", "grid": [3.0, 1.0]}, "increasing times"),
        ({"visits": "carry", "grid": "often"}, "increasing times such as"),
        ({"visits": "carry", "several": "last"}, "several='last' has no effect with visits='carry'"),
        ({"visits": "round"}, "visits='round' was given; it must be 'exact'"),
    ]:
        with pytest.raises(ValueError, match=message):
            TemporalProcessRegression("y ~ x", **options).fit(irregular, id="id", time="t")
    with pytest.raises(ValueError, match="set visits to"):
        TemporalProcessRegression("y ~ x").fit(irregular, id="id", time="t")
    irregular["ward"] = np.arange(len(irregular)) % 2
    with pytest.raises(ValueError, match="more than one cluster"):
        TemporalProcessRegression("y ~ x", visits="bin", grid=3).fit(
            irregular, id="id", time="t", cluster="ward"
        )


def local_study(seed=0, n=80):
    rng = np.random.default_rng(seed)
    t, x = rng.uniform(0, 10, (n, 6)), rng.normal(size=(n, 6))
    y = np.exp(-((t - 5) ** 2) / 2) * x + 0.5 * rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, 6))
    columns = {"id": np.repeat(np.arange(n), 6), "t": t.ravel(), "x": x.ravel(), "y": y.ravel()}
    return pd.DataFrame(columns)


def quadratic_fits(data, grid, width):
    """By least squares, time after time: effects that are quadratic in time within a triangular window."""
    out = []
    for g in grid:
        d = data["t"].to_numpy() - g
        root = np.sqrt(np.maximum(1 - np.abs(d) / width, 0))
        x = np.column_stack([np.ones(len(d)), data["x"]])
        rows = np.column_stack([x, x * d[:, None], x * d[:, None] ** 2])
        out.append(np.linalg.lstsq(rows * root[:, None], data["y"] * root, rcond=None)[0][:2])
    return np.array(out)


def test_intervals_of_local_estimation_let_effects_bend_within_the_window():
    data, grid = local_study(), np.linspace(0, 10, 5)
    model = TemporalProcessRegression("y ~ x", visits="local", grid=grid, bandwidth=2.0)
    model.fit(data, id="id", time="t")
    expected = quadratic_fits(data, grid, 2.0)
    band, points = model.bands(random_state=0), model.conf_int()
    np.testing.assert_allclose((points.lower + points.upper) / 2, expected, rtol=1e-8)
    np.testing.assert_allclose((band.lower + band.upper) / 2, expected, rtol=1e-8)
    np.testing.assert_allclose(band.estimate, model.coef_)
    assert ((band.upper - band.lower) > (points.upper - points.lower)).all(axis=None)
    found = model.predict_interval(pd.DataFrame({"x": [1.0], "t": [5.0]}))
    assert (found["lower"] + found["upper"])[0] / 2 == pytest.approx(expected[2].sum())
    # leaving subjects out, one by one: standard errors are those of the bending curve
    without = [quadratic_fits(data[data["id"] != who], grid[2:3], 2.0)[0, 1] for who in range(80)]
    psi = model._fitted.unbiased()[1].contrast(np.array([[0.0, 1.0]]), np.array([2]))[0, 0] / 80
    assert np.corrcoef(psi, expected[2, 1] - np.array(without))[0, 1] > 0.99
    plain = model.bands(random_state=0, small_sample=False)
    np.testing.assert_allclose((plain.lower + plain.upper) / 2, model.coef_)


def test_constant_effects_of_local_estimation_do_not_bend():
    data = local_study()
    data["z"] = np.where(data["id"] % 2, "a", "b")
    model = TemporalProcessRegression("y ~ x + z", visits="local", grid=4, bandwidth=2.0, constant=["z"])
    band = model.fit(data, id="id", time="t").conf_int()
    assert np.ptp(band.lower["z[T.b]"]) == pytest.approx(0.0, abs=1e-9)
    assert np.ptp(band.lower["x"]) > 0.1


def test_bands_of_local_estimation_hold_what_bends():
    truth, hits, plain = 1.0, 0, 0
    for seed in range(30):
        model = TemporalProcessRegression("y ~ x", visits="local", grid=[3, 5, 7], bandwidth=2.0)
        model.fit(local_study(seed, 150), id="id", time="t")
        lower, upper = model.conf_int()["x"].loc[5, ["lower", "upper"]]
        hits += lower <= truth <= upper
        plain += abs(model.coef_.loc[5, "x"] - truth) <= 2 * model.se_.loc[5, "x"]
    assert hits >= 26
    assert plain < 10


def test_times_whose_bias_cannot_be_told_are_named():
    data = local_study(n=30)
    # two moments within the window tell no bend
    near = data["t"].between(3.5, 6.9)
    data.loc[near, "t"] = np.where(data["t"] < 5, 4.0, 6.5)[near]
    data = data.drop_duplicates(["id", "t"])
    model = TemporalProcessRegression("y ~ x", visits="local", grid=[2.0, 5.2, 8.0], bandwidth=1.6)
    model.fit(data, id="id", time="t")
    with pytest.warns(FlaggedTimeWarning, match=r"no intervals and bands at 1 time point\(s\): 5.2"):
        band = model.conf_int()
    assert band.lower.loc[5.2].isna().all()
    assert band.estimate.loc[5.2].notna().all()
    alone = TemporalProcessRegression("y ~ x", visits="local", grid=[5.2], bandwidth=1.6)
    alone.fit(data, id="id", time="t")
    for ask in (alone.conf_int, alone.bands):
        with pytest.raises(ValueError, match="no intervals and bands at 1 time"):
            ask()
