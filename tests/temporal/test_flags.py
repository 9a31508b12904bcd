import re

import numpy as np
import pandas as pd
import pytest

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

BAD = 2


def fitted(data, formula="y ~ x + z", link="logit", **options):
    return TemporalProcessRegression(formula, link=link, **options).fit(data, id="id", time="t")


def broken(data, how):
    at = data["t"] == BAD
    if how == "complete":
        return data.assign(y=data["y"].where(~at, (data["x"] > 0).astype(int)))
    if how == "quasi":
        up = (data["x"] > 0.5).astype(float)
        return data.assign(y=data["y"].where(~(at & (up == 1)), 1), x=data["x"].where(~at, up))
    if how == "one class":
        return data.assign(y=data["y"].where(~at, 0))
    if how == "rank":
        return data.assign(x=data["x"].where(~at, 3 * data["z"] - 1))
    if how == "constant":
        return data.assign(x=data["x"].where(~at, 7.0))
    if how == "no data":
        return data.assign(y=data["y"].astype(float).where(~at))
    few = data.loc[at, "id"].iloc[:3]
    return data[~at | data["id"].isin(few)]


REASONS = {
    "complete": "separation",
    "quasi": "separation: a combination of",
    "one class": "separation: 'y' is 0 for every",
    "rank": "rank deficiency: the columns Intercept, x, z",
    "constant": "rank deficiency: 'x' is the same",
    "no data": "no data",
    "few": "too few subjects: 3 available for 3 coefficients",
}


@pytest.mark.parametrize("how", REASONS)
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_flagged_masked_and_nothing_else_moves(data, how, link):
    data = broken(data, how)
    model = fitted(data, link=link)
    assert model.flags_[BAD].startswith(REASONS[how])
    assert [reason for k, reason in enumerate(model.flags_) if k != BAD] == [None] * 5
    assert model.coef_.loc[BAD].isna().all()
    assert model.se_.loc[BAD].isna().all()
    assert np.isnan(model.influence_[:, BAD]).all()
    rest = fitted(data[data["t"] != BAD], link=link)
    np.testing.assert_array_equal(model.coef_.drop(index=BAD), rest.coef_)
    np.testing.assert_array_equal(model.se_.drop(index=BAD), rest.se_)
    np.testing.assert_array_equal(np.delete(model.influence_, BAD, axis=1), rest.influence_)


def test_other_times_equal_the_fit_before_the_damage(data):
    before, after = fitted(data), fitted(broken(data, "complete"))
    np.testing.assert_array_equal(before.coef_.drop(index=BAD), after.coef_.drop(index=BAD))


@pytest.mark.parametrize("kind", ["ids", "sds", "squared"])
@pytest.mark.parametrize(("how", "small"), [("quasi", False), ("rank", True), ("one class", True)])
def test_tests_leave_the_flagged_time_out_with_a_warning(data, kind, how, small):
    data = broken(data, how)
    model = fitted(data)
    options = {"kind": kind, "random_state": 0, "small_sample": small}
    with pytest.warns(FlaggedTimeWarning, match="1 flagged time point"):
        result = model.test("x", **options)
    rest = fitted(data[data["t"] != BAD]).test("x", **options)
    assert (result.statistic, result.pvalue) == (rest.statistic, rest.pvalue)
    assert list(result.excluded) == [BAD]
    outside = model.test("x", kind=kind, interval=(3, 5), random_state=0)
    assert len(outside.excluded) == 0
    with pytest.warns(FlaggedTimeWarning), pytest.raises(ValueError, match="nothing is left"):
        model.test("x", kind=kind, interval=(BAD, BAD))


@pytest.mark.parametrize("kind", ["ids", "sds", "squared"])
def test_few_subjects_are_tested_where_only_the_estimate_is_infinite(data, kind):
    """Curves without the effect can be estimated there; left out, its strongest sign would not count."""
    data = broken(data, "complete")
    model = fitted(data)
    result = model.test("x", kind=kind, n_draws=199, random_state=0)
    assert len(result.excluded) == 0
    np.testing.assert_array_equal(result.times, model.times_)
    rest = fitted(data[data["t"] != BAD]).test("x", kind=kind, n_draws=199, random_state=0)
    assert result.statistic > rest.statistic
    assert np.isfinite([result.statistic, result.estimate[0], result.se[0]]).all()
    # the covariate that separates is free when another one is tested
    with pytest.warns(FlaggedTimeWarning):
        assert list(model.test("z", kind=kind, n_draws=9, random_state=0).excluded) == [BAD]


def test_bands_and_smoothing_step_over_the_flagged_time(data):
    data = broken(data, "complete")
    model, rest = fitted(data, bandwidth=2.5), fitted(data[data["t"] != BAD], bandwidth=2.5)
    for smoothed in (False, True):
        band = model.bands(smoothed=smoothed, random_state=1)
        assert band.lower.loc[BAD].isna().all()
        np.testing.assert_array_equal(
            band.lower.drop(index=BAD), rest.bands(smoothed=smoothed, random_state=1).lower
        )
    np.testing.assert_array_equal(model.smoothed_coef_.drop(index=BAD), rest.smoothed_coef_)


@pytest.mark.parametrize("exact", [lambda d: 0.0 * d["x"], lambda d: 2 * d["x"] - d["z"] + 1e6])
def test_no_residual_variation_is_not_perfect_knowledge(data, exact):
    data = data.assign(v=data["v"].where(data["t"] != BAD, exact(data)))
    model = fitted(data, "v ~ x + z", "identity")
    assert model.flags_[BAD].startswith("no residual variation")
    with pytest.warns(FlaggedTimeWarning):
        assert model.test("x", kind="sds", n_draws=200, random_state=0).statistic < 1e3


def test_counts_with_an_empty_group_are_separated(data):
    at = data["t"] == BAD
    data = data.assign(up=(data["x"] > 0).astype(int))
    data["c"] = data["c"].where(~(at & (data["up"] == 1)), 0)
    model = fitted(data, "c ~ up + z", "log")
    assert model.flags_[BAD].startswith("separation: a combination of")
    assert sum(reason is not None for reason in model.flags_) == 1


def test_steep_but_finite_estimates_are_kept(data):
    rng = np.random.default_rng(3)
    n = 2000
    x = rng.normal(size=n)
    frame = pd.DataFrame({"id": np.arange(n), "t": 0, "x": x, "y": (x + 0.02 * rng.normal(size=n) > 0) * 1})
    model = fitted(frame, "y ~ x")
    assert model.flags_ == [None]
    assert model.coef_["x"].iloc[0] > 40


def test_a_mean_on_the_edge_of_its_range_is_no_solution(data):
    data = data.assign(up=(data["x"] > 0).astype(int))
    data["y"] = data["y"].where((data["t"] != BAD) | (data["up"] == 1), 0)
    model = fitted(data, "y ~ up", "identity", variance="binomial")
    assert model.flags_[BAD].startswith("no convergence: link 'identity' with variance 'binomial'")
    shares = data[data["t"] == 0].groupby("up")["y"].mean()
    assert model.coef_.loc[0, "up"] == pytest.approx(shares[1] - shares[0], rel=1e-8)


def fits(model, *args, **options):
    """Fit; False when no time point at all can be estimated."""
    try:
        model.fit(*args, **options)
    except ValueError as error:
        if not re.search("none of the . time points|too few subjects", str(error)):
            raise
        return False
    return True


def test_flat_stretches_of_the_mean_are_no_solutions():
    """Away from the likelihood the score also vanishes at infinity; such roots are never reported."""
    rng = np.random.default_rng(0)
    kept = 0
    for _ in range(40):
        n, n_times = 25, 4
        x = rng.normal(size=(n * n_times, 2))
        y = (rng.random(n * n_times) < 0.6).astype(float)
        model = TemporalProcessRegression(link="cloglog", variance="poisson")
        ids, times = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
        if not fits(model, x, y, id=ids, time=times):
            continue
        kept += 1
        assert np.nanmax(np.abs(model.coef_)) < 20
    assert kept > 20


@pytest.mark.filterwarnings("ignore:At . of:rlselect.temporal.FlaggedTimeWarning")
def test_random_small_problems_never_give_nonsense():
    """Whatever the data, an estimate is finite with a positive standard error, or flagged and NaN."""
    rng = np.random.default_rng(1)
    kept = 0
    for _ in range(150):
        n, n_times, p = rng.integers(5, 25), rng.integers(1, 5), rng.integers(1, 4)
        rows = n * n_times
        x = np.where(rng.random(p) < 0.5, rng.normal(size=(rows, p)), rng.integers(0, 2, size=(rows, p)))
        link = str(rng.choice(["identity", "logit", "probit", "cloglog", "log"]))
        y = (rng.random(rows) < rng.choice([0.05, 0.5, 0.9])).astype(float)
        y[rng.random(rows) < 0.1] = np.nan
        weights = rng.choice([0.0, 1.0, 2.5], size=rows)
        ids, times = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
        model = TemporalProcessRegression(link=link)
        if not fits(model, x, y, id=ids, time=times, sample_weight=weights):
            continue
        kept += 1
        sound = np.array([reason is None for reason in model.flags_])
        coef, se = model.coef_.to_numpy(), model.se_.to_numpy()
        assert np.isnan(coef[~sound]).all()
        assert np.isfinite(coef[sound]).all()
        assert (np.abs(coef[sound]) < 1e3).all()
        assert (se[sound] > 0).all()
    assert kept > 50


def test_subjects_with_times_of_their_own_are_told_of_other_visits():
    """188 of 194 times without an estimate were no matter of a warning, and a table of two thousand signs."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"id": np.repeat(np.arange(40), 4), "x": rng.standard_normal(160)})
    rows["day"] = np.sort(rng.choice(90, size=(40, 4)) + 90 * np.arange(4), axis=1).ravel()
    rows["y"] = rows.x + rng.standard_normal(160)
    with pytest.warns(FlaggedTimeWarning, match="visits='carry', visits='bin' or visits='local'"):
        model = TemporalProcessRegression("y ~ x").fit(rows, id="id", time="day")
    with pytest.warns(SmallSampleWarning):
        told = model.summary()
    assert "visits='bin'" in told.dict["answer"]
    times = [row[1] for row in told.dict["sections"][1]["rows"]]
    assert max(map(len, times)) == 7
    assert re.fullmatch(r"\d+ more", max(times, key=len)[-1])
