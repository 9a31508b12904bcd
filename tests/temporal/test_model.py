import pickle
import signal
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rlselect
from rlselect import TemporalProcessRegression
from rlselect.temporal import _smooth


@pytest.fixture
def model(data):
    return TemporalProcessRegression("y ~ x * g", link="logit", bandwidth=2.0).fit(data, id="id", time="t")


def test_params_clone_and_repr():
    model = TemporalProcessRegression("y ~ x", link="probit", constant=["x"])
    assert model.get_params() == {
        "formula": "y ~ x",
        "link": "probit",
        "variance": "auto",
        "time_budget": None,
        "bandwidth": None,
        "kernel": "triangular",
        "n_splines": None,
        "visits": "exact",
        "grid": None,
        "several": "mean",
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
    again.set_params(bandwidth=None).fit(data, id="id", time="t")
    assert not hasattr(again, "smoothed_coef_")


def test_unfitted_says_so():
    for call in ("conf_int", "bands", "summary", "report", "backward_selection"):
        with pytest.raises(NotFittedError):
            getattr(TemporalProcessRegression("y ~ x"), call)()
    with pytest.raises(NotFittedError):
        TemporalProcessRegression("y ~ x").test("x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": "logistic"}, "link='logistic' was given; it must be 'identity', 'logit'"),
        ({"variance": "gamma"}, "variance='gamma' was given"),
        ({"kernel": "box", "bandwidth": 1.0}, "kernel='box' was given"),
        ({"constant": [1]}, "a list of names of covariates or terms"),
        ({"formula": 3}, "formula=3 was given"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(data, options, message):
    model = TemporalProcessRegression(**{"formula": "y ~ x", **options})
    with pytest.raises(ValueError, match=message):
        model.fit(data, id="id", time="t")


def test_variance_matters_for_the_standard_error(data):
    usual = TemporalProcessRegression("y ~ x", link="logit").fit(data, id="id", time="t")
    other = TemporalProcessRegression("y ~ x", link="logit", variance="gaussian").fit(data, id="id", time="t")
    assert not np.allclose(usual.coef_, other.coef_)
    assert (usual.variance_, other.variance_) == ("binomial", "gaussian")


def test_a_failed_refit_leaves_the_old_fit(model, data):
    before, learnt = model.predict(data, smoothed=True), set(vars(model))
    model.set_params(bandwidth=None)
    for bad in (data.assign(y=2 * data["y"]), data.assign(x=1.0, g="a"), data.iloc[:0]):
        with pytest.raises(ValueError, match=r"between 0 and 1|none of the 6|0 sample"):
            model.fit(bad, id="id", time="t")
    assert set(vars(model)) == learnt
    np.testing.assert_array_equal(model.predict(data, smoothed=True), before)
    assert not hasattr(model.fit(data, id="id", time="t"), "bandwidth_")


def folds(monkeypatch, after):
    """Call a function after each fold of bandwidth="cv"; returns the list of folds done."""
    done, score = [], _smooth._fold_score

    def watched(*task):
        done.append(score(*task))
        after(len(done))
        return done[-1]

    monkeypatch.setattr(_smooth, "_fold_score", watched)
    return done


def test_interrupted_folds_choose_the_bandwidth(data, monkeypatch):
    done = folds(monkeypatch, lambda count: count == 2 and signal.raise_signal(signal.SIGINT))
    model = TemporalProcessRegression("v ~ x", bandwidth="cv")
    with pytest.warns(UserWarning, match="was interrupted after some of the folds"):
        model.fit(data, id="id", time="t")
    assert model.stop_reason_ == "interrupted"
    assert len(done) == 2
    total = sum(part for part, _ in done) / sum(rows for _, rows in done)
    np.testing.assert_allclose(model.path_["score"], total)
    assert model.bandwidth_ == model.path_["bandwidth"][np.argmin(total)]
    assert "smoothed_coef_" in vars(model)


def test_an_interrupt_elsewhere_leaves_the_old_fit(model, data, monkeypatch):
    before = model.coef_

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rlselect.temporal._equations.estimate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, id="id", time="t")
    assert model.coef_ is before


def test_callbacks_are_told_of_folds_and_may_stop(data):
    pytest.importorskip("sklearn.callback")

    class Watcher:
        parts = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **_):
            pass

        def on_fit_task_end(self, estimator, context, **_):
            self.parts += context.task_name == "stage"
            return self.parts == stop_after

    for stop_after, reason in ((99, "all candidates"), (3, "callback")):
        model, watcher = TemporalProcessRegression("v ~ x", bandwidth="cv"), Watcher()
        model.set_callbacks(watcher)
        model.fit(data, id="id", time="t")
        assert (watcher.parts, model.stop_reason_) == (min(5, stop_after), reason)


def test_seeds_of_all_kinds(model):
    for seed in (3, np.random.RandomState(3), np.random.default_rng(3)):
        assert model.bands(n_draws=50, random_state=seed).critical["x"] > 1
    for make in (lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)):
        first, second = (model.test("x", kind="sds", n_draws=50, random_state=make()) for _ in range(2))
        assert first.pvalue == second.pvalue
    with pytest.raises(ValueError, match="random_state='seed' was given"):
        model.bands(random_state="seed")


def test_decimals_are_numbers_and_no_categories(data):
    """Numbers of databases had a level for each of their values in a formula."""
    data = data.assign(v=data["v"].round(2), z=data["z"].round(1))
    exact = data.assign(**{name: [Decimal(str(value)) for value in data[name]] for name in ("v", "z")})
    exact.loc[3, "z"] = data.loc[3, "z"] = None
    models = [TemporalProcessRegression("v ~ z").fit(one, id="id", time="t") for one in (data, exact)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-12)
