"""ActorCriticPredictor on whatever users bring, how it ends early, and what is refused."""

import itertools
import pickle
import signal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from rlselect._clock import Clock
from rlselect.cli import _main as cli
from rlselect.data._units import Units
from rlselect.report import to_html, to_json
from rlselect.subset import ActorCriticPredictor, PerformanceDisplay, RewardDisplay, ThetaDisplay
from rlselect.subset.acp._search import Actor, Effort
from rlselect.subset.acp.masked._kernel import MaskedKernel
from rlselect.subset.acp.masked._linear import MaskedLinear
from rlselect.subset.acp.masked._predictor import make_target

LINEAR = {"predictor": "linear", "random_state": 0}


def problem(n=100, p=8, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)


def selected(fitted):
    return np.flatnonzero(fitted.support_).tolist()


@pytest.fixture(scope="module")
def plain():
    X, y = problem()
    X[np.abs(X) < 0.3] = 0.0
    return X, y, ActorCriticPredictor(**LINEAR).fit(X, y)


# ---- containers ----


@pytest.mark.parametrize(
    "container",
    [
        lambda X: X.tolist(),
        np.asfortranarray,
        sparse.csr_array,
        lambda X: pd.DataFrame(X, columns=[f"v{j}" for j in range(8)]),
        lambda X: pl.DataFrame({f"v{j}": X[:, j] for j in range(8)}),
    ],
    ids=["list", "fortran", "csr", "pandas", "polars"],
)
def test_every_container_gives_the_same_answer(plain, container):
    X, y, expected = plain
    given = container(X)
    fitted = ActorCriticPredictor(**LINEAR).fit(given, y)
    np.testing.assert_allclose(fitted.inclusion_, expected.inclusion_, atol=1e-8)
    np.testing.assert_allclose(fitted.predict(given), expected.predict(X), atol=1e-8)
    if hasattr(given, "columns"):
        assert fitted.get_feature_names_out().tolist() == ["v0", "v1"]
        assert "v1" in str(fitted.summary())


def test_the_target_may_be_a_column_and_categories_stay_together():
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Paris", "Rome"], 150)
    frame = pd.DataFrame({"age": rng.standard_normal(150), "city": city, "junk": rng.standard_normal(150)})
    frame["spent"] = 2.0 * (city == "Rome") + frame["age"] + 0.3 * rng.standard_normal(150)
    fitted = ActorCriticPredictor(**LINEAR).fit(frame, "spent")
    assert fitted.get_feature_names_out().tolist() == ["age", "city"]
    assert fitted.transform(frame).shape == (150, 2)
    assert fitted.score(frame, frame["spent"]) > 0.9


# ---- shapes ----


def test_copies_and_constants(plain):
    X, y, _ = plain
    doubled = np.column_stack([X, X[:, 0], np.ones(100)])
    fitted = ActorCriticPredictor(**LINEAR).fit(doubled, y)
    assert selected(fitted) == [0, 1]
    assert fitted.inclusion_[9] == 0.0
    assert sorted(fitted.ranking_) == list(range(1, 11))
    nothing = ActorCriticPredictor(**LINEAR).fit(np.ones((20, 3)), y[:20])
    assert selected(nothing) == []
    assert nothing.stop_reason_ == "nothing to choose from"
    np.testing.assert_allclose(nothing.predict(np.ones((4, 3))), y[:20].mean())
    flat = ActorCriticPredictor(task="regression", random_state=0).fit(X, np.full(100, 3.0))
    assert selected(flat) == []
    np.testing.assert_allclose(flat.predict(X), 3.0)


def test_more_columns_than_rows_are_screened():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 500))
    y = X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(80)
    fitted = ActorCriticPredictor(**LINEAR).fit(X, y)
    assert selected(fitted) == [0, 1, 2]
    assert len(fitted.screening_["linear"]) == 300
    assert "kept 300 of 500" in str(fitted.summary())
    fewer = ActorCriticPredictor(screening=20, **LINEAR).fit(X, y)
    assert len(fewer.screening_["linear"]) == 20
    assert selected(fewer) == [0, 1, 2]
    assert ActorCriticPredictor(screening=None, max_iter=3, **LINEAR).fit(X, y).screening_ == {}


def test_no_signal_selects_next_to_nothing():
    false = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((100, 20)), rng.standard_normal(100)
        false += ActorCriticPredictor(predictor="linear", random_state=seed).fit(X, y).support_.sum()
    assert false <= 2


@pytest.mark.parametrize("seed", range(4))
def test_few_variables_are_searched_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 7))
    y = X @ np.array([1.0, 0.6, 0.4, 0.3, 0.0, 0.0, 0.0]) + rng.standard_normal(60)
    fitted = ActorCriticPredictor(penalty=np.log(60) / 2, **LINEAR).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    predictor = MaskedLinear(Z, make_target(y, False))
    masks = np.array(list(itertools.product([False, True], repeat=7)))
    total = np.zeros(len(masks))
    draws = np.random.default_rng(0)
    for _ in range(30):
        predictor.redraw(draws)
        total += predictor.criterion(masks) + np.log(60) / 60 * masks.sum(axis=1)
    total /= 30
    found = total[np.all(masks == fitted.support_, axis=1)][0]
    assert found <= np.sort(total)[0] + 0.01


# ---- options ----


def test_options_matter(plain):
    X, y, _ = plain
    assert ActorCriticPredictor(penalty=120.0, **LINEAR).fit(X, y).support_.sum() == 0
    assert ActorCriticPredictor(penalty=0.0, **LINEAR).fit(X, y).support_.sum() >= 2
    short = ActorCriticPredictor(max_iter=2, batch_size=10, **LINEAR).fit(X, y)
    assert short.stop_reason_ == "max iterations"
    assert short.path_["theta"].shape == (2, 8)
    assert short.n_fits_ + short.cache_hits_ >= 20
    low = ActorCriticPredictor(threshold=0.01, max_iter=2, **LINEAR).fit(X, y)
    assert low.support_.sum() == 8


@pytest.mark.parametrize("predictor", ["linear", "logistic", "kernel", "network"])
def test_each_predictor_classifies(predictor):
    X, y = problem(n=80, p=5)
    fitted = ActorCriticPredictor(predictor=predictor, max_iter=10, batch_size=8, random_state=0)
    if predictor == "network":
        fitted = ActorCriticPredictor.paper(max_iter=1, batch_size=4, random_state=0)
    fitted.fit(X, np.where(y > 0, "yes", "no"))
    assert fitted.predictor_.name == predictor
    assert fitted.score(X, np.where(y > 0, "yes", "no")) > (0.4 if predictor == "network" else 0.8)


def test_an_estimator_judges_the_same_for_any_number_of_workers():
    X, y = problem(n=60, p=5)
    options = {"predictor": DecisionTreeRegressor(max_depth=3), "max_iter": 2, "batch_size": 8}
    one, two = (ActorCriticPredictor(n_jobs=jobs, random_state=0, **options).fit(X, y) for jobs in (None, 2))
    np.testing.assert_array_equal(one.inclusion_, two.inclusion_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert one.predictor_.name == "DecisionTreeRegressor"


def test_a_seed_is_an_answer_and_fits_travel(plain):
    X, y, fitted = plain
    again = clone(fitted).fit(X, y)
    np.testing.assert_array_equal(again.inclusion_, fitted.inclusion_)
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict(X), fitted.predict(X))
    kernel = ActorCriticPredictor(predictor="kernel", max_iter=3, random_state=0).fit(X, y > 0)
    back = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(back.predict_proba(X), kernel.predict_proba(X))


def test_the_papers_dictionary_and_adam():
    X, y = problem(p=3)
    fitted = ActorCriticPredictor.paper(predictor="linear", max_iter=20, random_state=0).fit(X, y)
    # eight subsets there are, and each is judged once
    assert fitted.n_fits_ <= 8
    assert fitted.cache_hits_ == 64 * fitted.n_iter_ - fitted.n_fits_
    adam = ActorCriticPredictor.paper(predictor="linear", actor="adam", max_iter=5, random_state=0).fit(X, y)
    assert np.abs(np.diff(adam.path_["theta"], axis=0)).max() < 0.05
    loose = ActorCriticPredictor.paper(predictor="linear", tolerance=100.0, random_state=0).fit(X, y)
    assert (loose.stop_reason_, loose.n_iter_) == ("converged", 2)
    with pytest.raises(ValueError, match="needs one"):
        ActorCriticPredictor.paper(predictor="auto").fit(X, y)


@pytest.mark.parametrize("idle", [{"penalty": 3.0}, {"screening": 2}, {"false_alarm": 0.1}])
def test_options_that_the_papers_search_would_ignore_are_refused(idle):
    X, y = problem(p=3)
    with pytest.raises(ValueError, match=r"has no effect with search=PolicyGradient"):
        ActorCriticPredictor.paper(predictor="linear", **idle).fit(X, y)


# ---- early ends ----


def test_a_time_budget_leaves_a_valid_fit(plain):
    X, y, _ = plain
    fitted = ActorCriticPredictor(time_budget=1e-6, random_state=0).fit(X, y)
    assert fitted.stop_reason_ == "time budget"
    assert np.isfinite(fitted.predict(X)).all()
    assert sorted(fitted.ranking_) == list(range(1, 9))
    assert len(str(fitted.summary())) > 50


def test_an_interrupt_leaves_a_valid_fit(plain, monkeypatch):
    X, y, _ = plain
    draw = MaskedLinear.redraw

    def interrupted(self, rng):
        signal.raise_signal(signal.SIGINT)
        return draw(self, rng)

    monkeypatch.setattr(MaskedLinear, "redraw", interrupted)
    monkeypatch.setattr("rlselect.subset.acp._search._REPEATS", 0)
    with pytest.warns(UserWarning, match="interrupted after 1 iterations"):
        fitted = ActorCriticPredictor(**LINEAR).fit(X, y)
    assert fitted.stop_reason_ == "interrupted"
    assert np.isfinite(fitted.predict(X)).all()


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "task='ranking'.*'regression'"),
        ({"predictor": "forest"}, "predictor='forest'.*'kernel'"),
        ({"threshold": 1.5}, "threshold=1.5"),
        ({"batch_size": 1}, "batch_size=1 .*from 2 to"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"penalty": -1.0}, "penalty=-1.0"),
        ({"penalty": "bic"}, "penalty='bic'"),
        ({"screening": 0}, "screening=0"),
        ({"false_alarm": 0.0}, "false_alarm=0.0.*from 0.001 to 1"),
        ({"screening": "no"}, "screening='no'"),
        ({"search": "paper"}, "search='paper'"),
        ({"time_budget": 0}, "time_budget=0"),
        ({"task": "classification"}, "continuous"),
        ({"predictor": "logistic"}, "needs classes"),
    ],
)
def test_wrong_options_are_named(plain, options, message):
    X, y, _ = plain
    with pytest.raises(ValueError, match=message):
        ActorCriticPredictor(**options).fit(X, y)


def test_wrong_data_are_named(plain):
    X, y, fitted = plain
    with pytest.raises(ValueError, match=r"only one class \('a'\)"):
        ActorCriticPredictor().fit(X, ["a"] * 100)
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"missing values .* 'x2'"):
        ActorCriticPredictor().fit(broken, y)
    with pytest.raises(ValueError, match=r"missing values .* 'x2'"):
        fitted.predict(broken)
    with pytest.raises(ValueError, match="y contains missing"):
        ActorCriticPredictor().fit(X, np.where(np.arange(100) == 4, np.nan, y))
    with pytest.raises(ValueError, match="minimum of 3"):
        ActorCriticPredictor().fit(X[:2], y[:2])


# ---- pictures, pages, the command line ----


def test_displays(plain):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    X, y, fitted = plain
    theta = ThetaDisplay.from_estimator(fitted)
    assert len(theta.ax_.lines) >= 8
    with pytest.raises(ValueError, match="led no actor"):
        ThetaDisplay.from_estimator(fitted, predictor="kernel")
    reward = RewardDisplay.from_estimator(fitted)
    np.testing.assert_array_equal(reward.ax_.lines[2].get_ydata(), fitted.path_["baseline"])
    curve = PerformanceDisplay.from_estimator(fitted, X, y, sizes=[1, 2, 5])
    assert curve.sizes.tolist() == [1, 2, 5]
    assert curve.mean[1] > curve.mean[0]
    assert curve.metric == "R squared"
    classes = ActorCriticPredictor(max_iter=3, **LINEAR).fit(X, y > 0)
    assert PerformanceDisplay.from_estimator(classes, X, y > 0, sizes=[2]).metric == "accuracy"
    plt.close("all")


def test_reports(plain):
    fitted = plain[2]
    page = to_html(fitted.summary().dict)
    assert "The search" in page
    answer = fitted.summary().dict["answer"]
    assert answer.startswith(f"{fitted.support_.sum()} of {fitted.n_features_in_} variables matter")
    assert "linear" in page
    assert "Subsets judged" in str(fitted.summary())
    assert '"variables"' in to_json(fitted.summary().dict)


def test_command_line(tmp_path):
    X, y = problem(n=60, p=4)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ["select", str(tmp_path / "data.csv"), "--target", "y", "--method", "acp"]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    assert "Predictor: linear" in result.output
    result = CliRunner().invoke(cli.main, [*arguments, "--family", "poisson"])
    assert result.exit_code == 2
    assert "families" in result.output
    frame.assign(a=frame["a"].where(frame.index > 5)).to_csv(tmp_path / "data.csv", index=False)
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 2
    assert "--missing indicator" in result.output
    result = CliRunner().invoke(cli.main, [*arguments, "--missing", "drop"])
    assert result.exit_code == 0, result.output
    assert "Rows read: 54" in result.output


@pytest.mark.parametrize("missing", ["drop", "indicator"])
def test_missing_values_are_treated_as_asked(missing):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((150, 5)), columns=list("abcde"))
    y = frame["a"] - 2.0 * frame["b"] + 0.3 * rng.standard_normal(150)
    frame.loc[::10, "a"] = np.nan
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column 'a'"):
        ActorCriticPredictor(predictor="linear").fit(frame, y)
    fitted = ActorCriticPredictor(predictor="linear", missing=missing, random_state=0).fit(frame, y)
    assert fitted.get_feature_names_out().tolist() == ["a", "b"]
    complete = frame.dropna()
    assert fitted.score(complete, y[complete.index]) > 0.9
    if missing == "indicator":
        assert np.isfinite(fitted.predict(frame)).all()
    else:
        alone = ActorCriticPredictor(predictor="linear", random_state=0).fit(complete, y[complete.index])
        np.testing.assert_allclose(fitted.predict(complete), alone.predict(complete))


@pytest.mark.parametrize("size", [1e-200, 1e12, 1e100])
def test_the_size_of_the_numbers_does_not_matter(size):
    X, y = problem(n=80, p=6)
    plain = ActorCriticPredictor(predictor="linear", random_state=0).fit(X, y)
    for large in (X * size, y), (X, y * size), (X * size, y * size):
        fitted = ActorCriticPredictor(predictor="linear", random_state=0).fit(*large)
        np.testing.assert_array_equal(fitted.support_, plain.support_)
        assert fitted.support_.any()
        np.testing.assert_allclose(fitted.predict(large[0]) / large[1], plain.predict(X) / y, rtol=1e-6)


def test_numbers_whose_squares_are_none_are_refused():
    X, y = problem(n=80, p=6)
    for huge in (X * 1e200, y), (X, y * 1e200):
        with pytest.raises(ValueError, match=r"beyond 1e\+130"):
            ActorCriticPredictor(predictor="linear", random_state=0).fit(*huge)


def test_a_response_without_noise_has_no_use_for_more_than_its_terms():
    X, _ = problem(n=80, p=8)
    fitted = ActorCriticPredictor(random_state=0).fit(X, X[:, 0] + X[:, 3])
    assert np.flatnonzero(fitted.support_).tolist() == [0, 3]
    assert fitted.stop_reason_ == "converged"


def test_a_source_that_does_not_fit_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    chunks = pa.table({"a": np.arange(400.0), "b": np.arange(400.0), "y": np.arange(400.0)}).to_batches(100)
    with pytest.raises(ValueError, match=r"ActorCriticPredictor needs all of them .*, or use REVS"):
        ActorCriticPredictor().fit(lambda: iter(chunks), "y")


def test_a_stop_in_a_long_look_comes_before_its_end():
    X, y = problem(n=600, p=40)
    asked = []

    class Slow(MaskedKernel):
        def tuned_criterion(self, masks):
            asked.append(len(masks))
            return np.zeros(len(masks))

    actor = Actor(
        Slow(X, make_target(y, False)),
        Units(np.arange(40)),
        n_variables=40,
        penalty=None,
        batch_size=8,
        max_iter=9,
        rng=np.random.default_rng(0),
        clock=Clock(1e-9, 9),
        effort=Effort(),
        expand=lambda theta: theta,
    )
    actor._changes(actor.mode)
    assert asked == [41]


def test_many_whole_numbers_are_doubted_as_classes():
    X, y = problem(n=120)
    prices = np.round(100.0 * y)
    short = {"max_iter": 2, "random_state": 0}
    with pytest.warns(UserWarning, match=r"different whole numbers in 120 rows.*task='regression'"):
        assert ActorCriticPredictor(**short).fit(X, prices.astype(int)).task_ == "classification"
    # said once is enough, text is a label, and a few numbers are too
    assert ActorCriticPredictor(task="regression", **short).fit(X, prices).task_ == "regression"
    for labels in np.array([f"k{v:.0f}" for v in np.round(10.0 * y)]), np.round(y):
        assert ActorCriticPredictor(**short).fit(X, labels).task_ == "classification"
