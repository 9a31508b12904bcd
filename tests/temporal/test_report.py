import json
import re

import numpy as np
import pandas as pd
import pytest

from rlselect import TemporalProcessRegression
from rlselect.report import Summary


@pytest.fixture
def model(data):
    data["y"] = data["y"].where(data["t"] != 2, 1)
    return TemporalProcessRegression("y ~ x + z", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def table_of(account):
    section = account.dict["sections"][0]
    return pd.DataFrame(section["rows"], columns=section["columns"]).set_index("Covariate")


def test_summary_is_the_report_with_its_defaults(model):
    assert isinstance(model.summary(), Summary)
    assert str(model.summary()) == str(model.report())
    assert str(model.report(n_draws=50)) != str(model.report())
    for word in ("y ~ x + z", "logit, variance binomial", "triangular kernel, bandwidth 2", "6 from 0 to 5"):
        assert word in str(model.summary())
    with pytest.raises(ValueError, match="level=95 was given"):
        model.report(level=95)


def test_the_table_holds_effects_and_tests(model):
    table = table_of(model.report(level=0.8, n_draws=100, random_state=3))
    assert list(table.index) == ["Intercept", "x", "z"]
    curve = model.smoothed_coef_["x"]
    assert table.loc["x", "Lowest"] == curve.min()
    assert table.loc["x", "Highest at"] == curve.idxmax()
    with pytest.warns(UserWarning, match="flagged"):
        ids = model.test("x")
    assert table.loc["x", "p (mean)"] == ids.pvalue
    assert (table.loc["x", "Mean effect"], table.loc["x", "Std. error"]) == (ids.estimate[0], ids.se[0])
    with pytest.warns(UserWarning, match="flagged"):
        assert table.loc["z", "p (curve)"] == model.test("z", kind="sds", n_draws=100, random_state=3).pvalue
    outside = model.bands(0.8, smoothed=True, n_draws=100, random_state=3).excludes(0)
    assert table["Times band excludes 0"].tolist() == outside.sum().tolist()


def test_flagged_times_are_told_once_per_reason(model):
    reasons = model.summary().dict["sections"][1]["rows"]
    assert [(reason.split(":")[0], times) for reason, times in reasons] == [("separation", [2])]


def test_the_answer_names_who_has_an_effect(model):
    table = table_of(model.summary()).drop("Intercept")
    seen = table.index[2 * table[["p (mean)", "p (curve)"]].min(axis=1) < 0.05]
    answer = model.summary().dict["answer"]
    for name in table.index:
        assert (f"{name} (on average" in answer) == (name in seen)
    assert "There is no estimate at 1 of 6 times." in answer
    # at level 1 - 1e-9 nothing is seen
    hidden = model.report(level=1 - 1e-9).dict["answer"]
    assert "no effect of x and z, which does not prove" in hidden


def test_page_and_values(model, tmp_path):
    account = model.summary()
    page = account.save(tmp_path / "fit.html").read_text()
    assert page.count("<svg") == 3
    assert "Effect of x" in page
    values = json.loads(account.save(tmp_path / "fit.json").read_text())
    curve = values["sections"][0]["curves"][1]
    assert curve["y"][2] is None
    np.testing.assert_allclose(curve["y"][3:], model.smoothed_coef_["x"].iloc[3:])
    assert "around what smoothing has not flattened" in page


def test_splines_are_drawn_where_they_were_fitted_and_raw_curves_else(data):
    models = [TemporalProcessRegression("v ~ x", n_splines=k).fit(data, id="id", time="t") for k in (None, 5)]
    drawn = [m.report(n_draws=20).dict["sections"][0]["curves"][1]["y"] for m in models]
    np.testing.assert_allclose(drawn[0], models[0].coef_["x"])
    np.testing.assert_allclose(drawn[1], models[1].smoothed_coef_["x"])


@pytest.mark.parametrize(
    ("unit", "first", "last"),
    [("D", "2024-01-01", "2024-01-06"), ("h", "2024-01-01", "2024-01-01T05:00"), (None, "0 days", "5 days")],
)
def test_dates_are_written_as_dates(data, unit, first, last):
    days = pd.to_timedelta(data["t"], unit=unit or "D")
    dated = data.assign(t=days if unit is None else pd.Timestamp("2024-01-01") + days)
    account = TemporalProcessRegression("v ~ x").fit(dated, id="id", time="t").report(n_draws=20)
    assert f"6 from {first} to {last}" in str(account)
    page = account._repr_html_()
    assert re.search(rf"<text[^>]*>{first}</text>", page)


def test_models_without_a_formula_and_with_constant_effects(data):
    plain = TemporalProcessRegression().fit(data[["x"]].to_numpy(), data["v"], id=data["id"], time=data["t"])
    assert "y ~ Intercept + x0" in str(plain.report(n_draws=20))
    partly = TemporalProcessRegression("v ~ x + z", constant=["z"]).fit(data, id="id", time="t")
    assert "Constant in time: z" in str(partly.report(n_draws=20))
