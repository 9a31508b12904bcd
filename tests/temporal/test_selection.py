import numpy as np
import pytest

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning


def test_backward_selection_keeps_what_matters(make_data):
    data = make_data(n=300)
    rng = np.random.default_rng(1)
    for k in range(3):
        data[f"noise{k}"] = rng.normal(size=len(data))
    model = TemporalProcessRegression("v ~ x + z + g + noise0 + noise1 + noise2")
    model.fit(data, id="id", time="t")
    chosen = model.backward_selection()
    assert {"x", "z"} <= set(chosen.selected)
    assert len(chosen.dropped) >= 3
    again = TemporalProcessRegression(chosen.model.formula).fit(data, id="id", time="t")
    np.testing.assert_allclose(again.coef_, chosen.model.coef_, rtol=1e-9)
    steps = chosen.steps
    drops = steps[steps["action"] == "drop"]
    assert drops["term"].tolist() == chosen.dropped
    for step, rows in steps.groupby("step"):
        dropped = rows[rows["action"] == "drop"]
        if len(dropped):
            assert dropped["pvalue"].iloc[0] == rows["pvalue"].max() > 0.05
        else:
            assert step == steps["step"].max()
            assert rows["pvalue"].max() <= 0.05
    assert model.backward_selection(alpha=0.999).dropped == []
    assert "noise0" in model.backward_selection(always_select=["noise0"]).selected
    sds = model.backward_selection(kind="sds", n_draws=200, random_state=0)
    assert sds.steps["pvalue"].min() == pytest.approx(1 / 201)


def test_backward_selection_respects_interactions_and_predicts(data):
    model = TemporalProcessRegression("v ~ x * g + z").fit(data, id="id", time="t")
    chosen = model.backward_selection(alpha=1e-9)
    order = chosen.dropped
    assert "x:g" in order
    assert order.index("x:g") < min(order.index(t) for t in ("g",) if t in order)
    assert not set(chosen.steps.loc[chosen.steps["step"] == 1, "term"]) & {"x", "g"}
    assert np.isfinite(chosen.model.predict(data)).all()


def test_backward_selection_with_constant_effects_and_arrays(data):
    model = TemporalProcessRegression("v ~ x + z + g", constant=["z", "g"]).fit(data, id="id", time="t")
    chosen = model.backward_selection()
    if "g" in chosen.dropped:
        assert "g" not in (chosen.model.constant or [])
    plain = TemporalProcessRegression().fit(
        data[["x", "z"]].to_numpy(), data["v"].to_numpy(), id=data["id"], time=data["t"]
    )
    assert "x0" in plain.backward_selection().selected


def test_backward_selection_warns_once_about_flagged_times(data):
    data["y"] = data["y"].where(data["t"] != 2, 1)
    model = TemporalProcessRegression("y ~ x + z + g", link="logit").fit(data, id="id", time="t")
    with pytest.warns(FlaggedTimeWarning) as caught:
        model.backward_selection()
    assert len(caught) == 1
    with pytest.raises(ValueError, match="not a term"):
        model.backward_selection(always_select=["age"])
    with pytest.raises(ValueError, match="alpha"):
        model.backward_selection(alpha=2)
