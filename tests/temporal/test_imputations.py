import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from rlselect import TemporalProcessRegression
from rlselect.temporal import pool_imputations, wide_to_long


def imputed(data, m=4):
    rng = np.random.default_rng(0)
    lost = rng.random(len(data)) < 0.2
    fits = []
    for _ in range(m):
        guess = data["v"].where(~lost, data["v"].mean() + rng.normal(size=len(data)))
        fits.append(TemporalProcessRegression("v ~ x").fit(data.assign(v=guess), id="id", time="t"))
    return fits


def test_rubins_rules_by_hand(data):
    fits = imputed(data)
    pooled = pool_imputations(fits)
    values = np.array([f.coef_.loc[2, "x"] for f in fits])
    inside = np.mean([f.se_.loc[2, "x"] ** 2 for f in fits])
    between = 1.25 * values.var(ddof=1)
    assert pooled.coef.loc[2, "x"] == pytest.approx(values.mean())
    assert pooled.se.loc[2, "x"] == pytest.approx(np.sqrt(inside + between))
    share, complete = between / (inside + between), 120 - 2
    observed = (complete + 1) / (complete + 3) * complete * (1 - share)
    df = 1 / (share**2 / 3 + 1 / observed)
    assert pooled.df.loc[2, "x"] == pytest.approx(df)
    # intervals: what few subjects need within imputations is that of single fits
    each = [f.conf_int(0.9) for f in fits]
    inside, complete = (
        np.mean([v.loc[2, "x"] for v in part]) for part in ([b.se**2 for b in each], [b.df for b in each])
    )
    share = between / (inside + between)
    observed = (complete + 1) / (complete + 3) * complete * (1 - share)
    reach = t.ppf(0.95, 1 / (share**2 / 3 + 1 / observed)) * np.sqrt(inside + between)
    assert pooled.conf_int(0.9).upper.loc[2, "x"] == pytest.approx(values.mean() + reach)
    assert reach > t.ppf(0.95, df) * pooled.se.loc[2, "x"]
    statistic, df, pvalue = pooled.test("x")
    found = [f.test("x") for f in fits]
    mean = np.mean([r.estimate[0] for r in found])
    spread = np.mean([r.se[0] ** 2 for r in found]) + 1.25 * np.var([r.estimate[0] for r in found], ddof=1)
    assert statistic == pytest.approx(mean / np.sqrt(spread))
    assert pvalue == pytest.approx(2 * t.sf(abs(statistic), df))


def test_equal_imputations_are_one_fit(data):
    fit = TemporalProcessRegression("v ~ x").fit(data, id="id", time="t")
    pooled = pool_imputations([fit, fit])
    pd.testing.assert_frame_equal(pooled.coef, fit.coef_)
    np.testing.assert_allclose(pooled.se, fit.se_)
    one, both = fit.conf_int(), pooled.conf_int()
    np.testing.assert_allclose((one.upper + one.lower) / 2, fit.coef_)
    np.testing.assert_allclose(both.se, one.se)
    assert (both.df < one.df).all(axis=None)  # Barnard and Rubin's, of finite data
    with pytest.raises(ValueError, match="two or more"):
        pool_imputations([fit])
    other = TemporalProcessRegression("v ~ z").fit(data, id="id", time="t")
    with pytest.raises(ValueError, match="same covariates"):
        pool_imputations([fit, other])


def test_wide_tables_give_the_fit_of_long_ones(make_data):
    data = make_data(missing=0)
    wide = data.pivot(index="id", columns="t", values=["v", "x"])
    wide.columns = [f"{name}_{time}" for name, time in wide.columns]
    wide = wide.reset_index().merge(data.groupby("id")["g"].first().reset_index())
    spread = {name: {k: f"{name}_{k}" for k in range(6)} for name in ("v", "x")}
    long = wide_to_long(wide, id="id", values=spread)
    mine = TemporalProcessRegression("v ~ x + g").fit(long, id="id", time="time")
    theirs = TemporalProcessRegression("v ~ x + g").fit(data, id="id", time="t")
    np.testing.assert_allclose(mine.coef_, theirs.coef_)
    del spread["x"][3]
    gap = wide_to_long(wide, id="id", values=spread)
    assert np.isnan(gap["x"]).sum() == 120
    with pytest.raises(ValueError, match="must be a column"):
        wide_to_long(wide, id="v_0", values=spread)
