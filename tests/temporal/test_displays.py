import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rlselect import TemporalProcessRegression, two_sample_cvm
from rlselect.temporal import ECDFDisplay, EffectCurveDisplay

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def model(data):
    return TemporalProcessRegression("y ~ x * g", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def test_effect_curve_display(model):
    display = EffectCurveDisplay.from_estimator(model, covariate="x", smoothed=True, random_state=0)
    np.testing.assert_array_equal(display.line_.get_ydata(), model.smoothed_coef_["x"])
    assert display.count_ax_.get_yticks()[-1] == model.n_available_.max()
    assert len(display.ax_.collections) == 2
    np.testing.assert_array_equal(
        EffectCurveDisplay.from_estimator(model, covariate="x", random_state=0).line_.get_ydata(),
        display.line_.get_ydata(),
    )
    raw = EffectCurveDisplay.from_estimator(model, covariate="x", smoothed=False, random_state=0)
    np.testing.assert_array_equal(raw.line_.get_ydata(), model.coef_["x"])
    bare = EffectCurveDisplay.from_estimator(model, covariate="x", band=False, interval=False, counts=False)
    assert len(bare.ax_.collections) == 0
    band = model.bands(0.8, random_state=0)
    given = EffectCurveDisplay.from_estimator(model, covariate="x", band=band, ax=bare.ax_)
    np.testing.assert_array_equal(given.band[0], band.lower["x"])
    again = given.plot(color="C2", label="ours")
    assert (again.line_.get_color(), again.line_.get_label()) == ("C2", "ours")
    with pytest.raises(ValueError, match="'age' is not a covariate"):
        EffectCurveDisplay.from_estimator(model, covariate="age")


def test_flagged_times_are_marked(data):
    data["y"] = data["y"].where(data["t"] != 2, 1)
    model = TemporalProcessRegression("y ~ x", link="logit").fit(data, id="id", time="t")
    display = EffectCurveDisplay.from_estimator(model, covariate="x", random_state=0)
    assert list(display.flagged) == [2]


def test_ecdf_display():
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(20), 3)
    value = rng.normal(size=60)
    display = ECDFDisplay.from_test(two_sample_cvm(value, ids < 10, ids, n_draws=10, random_state=0))
    x, y = display.lines_[1].get_data()
    assert (y[0], y[-1]) == (0, 1)
    assert y[np.searchsorted(x, np.sort(value[ids < 10])[14], side="right") - 1] == pytest.approx(0.5)


def test_all_curves_in_one_picture(data):
    from rlselect.temporal import EffectCurvesDisplay

    model = TemporalProcessRegression("v ~ x + z").fit(data, id="id", time="t")
    display = EffectCurvesDisplay.from_estimator(model, random_state=0)
    assert [ax.get_ylabel() for ax in display.axes_] == [
        "effect of Intercept",
        "effect of x",
        "effect of z",
    ]
    drawn = display.curves[1].line_.get_ydata()
    assert list(drawn) == model.coef_["x"].tolist()
