"""The vote of the folds."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from rlselect import REVS, DivideAndConquer
from rlselect.simulate import make_revs

DATA = make_revs(4000, 60, random_state=0)


@pytest.mark.parametrize(
    "estimator", [Lasso(0.1), ElasticNet(0.1), SelectKBest(f_regression, k=25), REVS(random_state=0)]
)
def test_any_selector_or_sparse_model(estimator):
    fit = DivideAndConquer(estimator, n_folds=4, random_state=0).fit(DATA.X, DATA.y)
    assert fit.support_[DATA.support].mean() >= 0.9
    assert np.array_equal(fit.support_, fit.inclusion_ >= 0.8)
    assert sorted(fit.ranking_) == list(range(1, 61))
    assert fit.transform(DATA.X).shape == (4000, fit.support_.sum())


def test_votes_are_those_of_the_folds():
    fit = DivideAndConquer(Lasso(0.1), n_folds=5, vote=0.6, random_state=3).fit(DATA.X, DATA.y)
    folds = np.array_split(np.random.default_rng(3).permutation(4000), 5)
    votes = [Lasso(0.1).fit(DATA.X[np.sort(f)], DATA.y[np.sort(f)]).coef_ != 0 for f in folds]
    assert np.allclose(fit.inclusion_, np.mean(votes, axis=0))
    assert np.array_equal(fit.support_, np.sum(votes, axis=0) >= 3)
    strict = DivideAndConquer(Lasso(0.1), n_folds=5, vote=1.0, random_state=3).fit(DATA.X, DATA.y)
    assert np.array_equal(strict.support_, np.all(votes, axis=0))


def test_does_not_depend_on_jobs_or_container():
    first = DivideAndConquer(Lasso(0.2), n_folds=6, random_state=1).fit(DATA.X, DATA.y)
    with joblib.parallel_config("threading", n_jobs=2):
        second = DivideAndConquer(Lasso(0.2), n_folds=6, random_state=1).fit(sparse.csr_array(DATA.X), DATA.y)
    assert np.allclose(first.inclusion_, second.inclusion_)
    frame = pd.DataFrame(DATA.X).rename(columns=str).assign(target=DATA.y)
    named = DivideAndConquer(Lasso(0.2), n_folds=6, random_state=1).fit(frame, "target")
    assert np.array_equal(first.inclusion_, named.inclusion_)
    assert list(named.get_feature_names_out()) == [str(j) for j in np.flatnonzero(first.support_)]


def test_weights_and_classes():
    data = make_revs(3000, 40, family="binomial", n_nonzero=5, random_state=0)
    sparse_model = LogisticRegression(C=0.05, l1_ratio=1.0, solver="liblinear")
    fit = DivideAndConquer(sparse_model, n_folds=3, random_state=0).fit(data.X, data.y)
    assert fit.support_[data.support].all()
    weight = np.random.default_rng(0).integers(0, 3, 4000)
    plain, weighted = (
        DivideAndConquer(Lasso(0.03), n_folds=4, random_state=0).fit(DATA.X, DATA.y, sample_weight=w)
        for w in (None, weight)
    )
    assert not np.array_equal(plain.inclusion_, weighted.inclusion_)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", ["MCPenalty", "SCAD"])
def test_mcp_and_scad_through_skglm(penalty):
    skglm = pytest.importorskip("skglm")
    penalties = pytest.importorskip("skglm.penalties")
    datafits = pytest.importorskip("skglm.datafits")
    model = skglm.GeneralizedLinearEstimator(datafits.Quadratic(), getattr(penalties, penalty)(0.1, 3.0))
    with np.errstate(all="ignore"):
        fit = DivideAndConquer(model, n_folds=3, random_state=0).fit(DATA.X, DATA.y)
    assert fit.support_[DATA.support].mean() > 0.9


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_folds": 0}, ValueError, "n_folds=0"),
        ({"n_folds": 2.5}, ValueError, "n_folds=2.5"),
        ({"n_folds": 5000}, ValueError, "n_folds=5000 was given with 4000 rows"),
        ({"vote": 0.0}, ValueError, "vote=0.0"),
        ({"vote": 1.1}, ValueError, "vote=1.1"),
        ({"estimator": KNeighborsRegressor(), "n_folds": 2}, TypeError, "neither support_ nor coef_"),
    ],
)
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        DivideAndConquer(**{"estimator": Lasso(), **options}).fit(DATA.X, DATA.y)


def test_a_category_is_kept_with_any_of_its_indicators():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "city": rng.choice(["Oslo", "Paris", "Rome"], 200)})
    frame["one"] = "same"
    frame["spent"] = 3.0 * (frame["city"] == "Rome") + 0.1 * rng.normal(size=200)
    fit = DivideAndConquer(Lasso(0.05), n_folds=4, random_state=0).fit(frame, "spent")
    assert fit.support_.tolist() == [False, True, False]
    assert fit.inclusion_[1] == 1.0
    assert fit.get_feature_names_out().tolist() == ["city"]
    assert fit.transform(frame).shape == (200, 1)
    gaps = frame.assign(x=frame["x"].where(frame.index % 3 > 0))
    assert DivideAndConquer(Lasso(0.05), n_folds=4, missing="indicator").fit(gaps, "spent").support_[1]


def test_a_failed_refit_leaves_the_old_fit():
    fit = DivideAndConquer(Lasso(0.1), n_folds=4, random_state=0).fit(DATA.X, DATA.y)
    before = fit.inclusion_.copy()
    with pytest.raises(TypeError, match="neither"):
        fit.set_params(estimator=KNeighborsRegressor()).fit(DATA.X[:, :3], DATA.y)
    np.testing.assert_array_equal(fit.inclusion_, before)
    assert fit.n_features_in_ == 60


def test_the_summary_names_the_selected():
    fit = DivideAndConquer(Lasso(0.1), n_folds=4, random_state=0).fit(DATA.X, DATA.y)
    rows = fit.summary().dict["sections"][0]["rows"]
    assert [name for name, _ in rows] == [f"x{j}" for j in np.argsort(fit.ranking_)[: fit.support_.sum()]]
    assert "Lasso" in str(fit.summary())
    report = fit.summary().dict
    assert report["answer"].startswith(f"{fit.support_.sum()} of {DATA.X.shape[1]} variables matter")
    assert [name for name, _ in report["sections"][0]["bars"]] == [name for name, _ in rows]


def test_a_target_is_needed():
    with pytest.raises(ValueError, match="requires y"):
        DivideAndConquer(Lasso(), n_folds=2).fit(DATA.X)


def test_a_fold_that_says_nothing_is_refused_by_name():
    X, y = DATA.X[:60, :4], np.array(["a"] * 55 + ["b"] * 5)
    with pytest.raises(ValueError, match=r"a fold of 6 rows, in which y is always 'a' .*smaller n_folds"):
        DivideAndConquer(LogisticRegression(), n_folds=10, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y has only one class"):
        DivideAndConquer(LogisticRegression(), n_folds=2).fit(X, np.repeat("a", 60))
