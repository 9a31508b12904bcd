import pickle

import matplotlib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rlselect
from rlselect import TemporalProcessRegression, two_sample_cvm
from rlselect.simulate import make_adherence
from rlselect.temporal import EffectCurveDisplay

matplotlib.use("Agg")


@pytest.fixture
def model(data):
    return TemporalProcessRegression("y ~ x * g", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def test_params_clone_and_repr():
    model = TemporalProcessRegression("y ~ x", link="probit", constant=["x"])
    assert model.get_params() == {
        "formula": "y ~ x",
        "link": "probit",
        "variance": None,
        "bandwidth": None,
        "kernel": "triangular",
        "constant": ["x"],
        "n_jobs": None,
    }
    assert clone(model).get_params() == model.get_params()
    assert repr(model).startswith("TemporalProcessRegression(")
    assert model.set_params(link="logit").link == "logit"
    assert {"TemporalProcessRegression", "two_sample_cvm"} <= set(rlselect.__all__)


def test_pickled_model_works(model, data):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.test("x").pvalue == model.test("x").pvalue
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    assert again.backward_selection().dropped == model.backward_selection().dropped


def test_unfitted_says_so():
    for call in ("conf_int", "bands", "summary", "backward_selection"):
        with pytest.raises(NotFittedError):
            getattr(TemporalProcessRegression("y ~ x"), call)()
    with pytest.raises(NotFittedError):
        TemporalProcessRegression("y ~ x").test("x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": "logistic"}, "link must be one of 'identity', 'logit'"),
        ({"variance": "gamma"}, "variance must be one of"),
        ({"kernel": "box"}, "kernel must be one of"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(data, options, message):
    model = TemporalProcessRegression("y ~ x", **options)
    with pytest.raises(ValueError, match=message):
        model.fit(data, id="id", time="t")


def test_variance_matters_for_the_standard_error(data):
    usual = TemporalProcessRegression("y ~ x", link="logit").fit(data, id="id", time="t")
    other = TemporalProcessRegression("y ~ x", link="logit", variance="gaussian").fit(data, id="id", time="t")
    assert not np.allclose(usual.coef_, other.coef_)


def test_summary_reads_well(data):
    data["y"] = data["y"].where(data["t"] != 2, 1)
    model = TemporalProcessRegression("y ~ x + z", link="logit", bandwidth=2.0).fit(data, id="id", time="t")
    text = str(model.summary(n_draws=100))
    assert "y ~ x + z" in text
    assert "time 2 flagged: separation" in text
    assert "bandwidth 2" in text
    table = model.summary(n_draws=100).table
    assert list(table.index) == ["Intercept", "x", "z"]
    assert 0 < table.loc["z", "p (ids)"] < 1


def test_effect_curve_display(model):
    import matplotlib.pyplot as plt

    display = EffectCurveDisplay.from_estimator(model, "x", smoothed=True, random_state=0)
    np.testing.assert_array_equal(display.line_.get_ydata(), model.smoothed_coef_["x"])
    assert display.count_ax_.get_yticks()[-1] == model.n_available_.max()
    assert len(display.ax_.collections) == 2
    bare = EffectCurveDisplay.from_estimator(model, "x", band=False, interval=False, counts=False)
    assert len(bare.ax_.collections) == 0
    band = model.bands(0.8, random_state=0)
    given = EffectCurveDisplay.from_estimator(model, "x", band=band, ax=bare.ax_)
    np.testing.assert_array_equal(given.band[0], band.lower["x"])
    with pytest.raises(ValueError, match="'age' is not a covariate"):
        EffectCurveDisplay.from_estimator(model, "age")
    plt.close("all")


def test_flagged_times_are_marked(data):
    import matplotlib.pyplot as plt

    data["y"] = data["y"].where(data["t"] != 2, 1)
    model = TemporalProcessRegression("y ~ x", link="logit").fit(data, id="id", time="t")
    display = EffectCurveDisplay.from_estimator(model, "x", random_state=0)
    assert list(display.flagged) == [2]
    plt.close("all")


def test_ecdf_display():
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(20), 3)
    value = rng.normal(size=60)
    display = two_sample_cvm(value, ids < 10, ids, n_draws=10, random_state=0).plot()
    x, y = display.lines_[1].get_data()
    assert (y[0], y[-1]) == (0, 1)
    assert y[np.searchsorted(x, np.sort(value[ids < 10])[14], side="right") - 1] == pytest.approx(0.5)
    plt.close("all")


def test_simulated_study_has_the_shape_of_the_trial():
    study = make_adherence(random_state=3)
    assert study.baseline["id"].nunique() == 401
    assert study.daily["day"].max() == 168
    assert study.weekly["week"].max() == 24
    assert 0.3 < study.baseline["svr"].mean() < 0.55
    again = make_adherence(random_state=3)
    assert again.weekly.equals(study.weekly)
    assert not make_adherence(random_state=4).weekly.equals(study.weekly)
    week3 = study.weekly[study.weekly["week"] == 3]
    never = week3[(week3["peginterferon"] == 0) & (week3["ribavirin"] < 1)]
    assert len(never) > 3
    assert (never["svr"] == 0).all()
    model = TemporalProcessRegression("svr ~ ribavirin * peginterferon", link="logit")
    model.fit(study.weekly, id="id", time="week")
    assert model.flags_[2].startswith("separation")
    days = make_adherence(50, 4, missing=0.0, random_state=0)
    assert len(days.daily) == 50 * 28
    assert len(days.weekly) == 200
    means = days.daily.groupby(["id", "week"])["ribavirin"].mean().to_numpy()
    np.testing.assert_allclose(means, days.weekly.sort_values(["id", "week"])["ribavirin"])
    for bad in ({"n_weeks": 3}, {"missing": 1.0}, {"n_subjects": 0}):
        with pytest.raises(ValueError, match="given"):
            make_adherence(**bad)
