"""RiskRFE on tables: frames of all kinds, categories, gaps, labels, roles by name."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from rlselect import RiskRFE
from rlselect._estimator import Selector
from rlselect.subset import LinearKernel, SquaredLabelLoss

FIXED = {"regularization": 0.01, "bandwidth": 3.0}


def people(n=120, seed=0):
    """A category of three levels and a number matter; a text of one level has no column."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "country": ["here"] * n,
            "city": rng.choice(["Oslo", "Paris", "Rome"], n),
            "member": rng.random(n) < 0.5,
            "noise": rng.normal(size=n),
        }
    )
    frame["spent"] = frame["age"] + 2.0 * (frame["city"] == "Paris") - 2.0 * (frame["city"] == "Rome")
    frame["spent"] += 0.1 * rng.normal(size=n)
    return frame


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_category_stays_or_leaves_as_a_whole(kernel):
    frame = people()
    selector = RiskRFE(kernel=kernel).fit(frame, "spent")
    assert selector.get_feature_names_out().tolist() == ["age", "city"]
    assert selector.column_names_ == ["age", "city=Paris", "city=Rome", "member", "noise"]
    assert sorted(selector.ranking_) == [1, 2, 3, 4, 5]
    # a feature without a column is never in, and the path begins without it
    assert selector.ranking_[1] == 5
    assert selector.path_["n_features"].tolist() == [4, 3, 2, 1, 0]
    design = np.column_stack(
        [frame["age"], frame["city"] == "Paris", frame["city"] == "Rome", frame["member"], frame["noise"]]
    ).astype(float)
    by_hand = RiskRFE(kernel=kernel, feature_groups=[[1, 2]]).fit(design, frame["spent"])
    np.testing.assert_array_equal(selector.predict(frame), by_hand.predict(design))
    assert selector.score(frame, frame["spent"]) > 0.9
    with pytest.warns(UserWarning, match="Bergen"):
        selector.predict(frame.assign(city="Bergen"))


def test_coefficients_belong_to_design_columns():
    frame = people()
    selector = RiskRFE(kernel="linear").fit(frame, "spent")
    assert selector.coef_.shape == (5,)
    np.testing.assert_array_equal(selector.coef_ != 0, [True, True, True, False, False])
    np.testing.assert_allclose(selector.coef_[:3], [1.0, 2.0, -2.0], atol=0.1)
    design = selector.encoder_.transform(frame)
    np.testing.assert_allclose(selector.predict(frame), design @ selector.coef_ + selector.intercept_)
    labels = np.where(frame["spent"] > 0, "much", "little")
    two = RiskRFE(kernel="linear").fit(frame.drop(columns="spent"), labels)
    assert two.coef_.shape == (1, 5)
    assert two.intercept_.shape == (1,)
    # a category has more than one coefficient, so the account leaves them to coef_
    assert "Coefficient" not in selector.summary().dict["sections"][0]["columns"]


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.convert_dtypes()])
def test_every_frame_is_the_same_table(kind):
    frame = people(60)
    there = kind(frame)
    one, other = (RiskRFE(**FIXED).fit(table, "spent") for table in (frame, there))
    np.testing.assert_array_equal(one.ranking_, other.ranking_)
    np.testing.assert_array_equal(one.predict(frame), other.predict(there))


def test_weights_by_name_are_copies():
    frame = people(40)
    frame["times"] = np.random.default_rng(1).integers(0, 3, 40)
    weighted = RiskRFE(**FIXED).fit(frame, "spent", sample_weight="times")
    copies = frame.loc[frame.index.repeat(frame["times"])].drop(columns="times")
    many = RiskRFE(**FIXED).fit(copies, "spent")
    np.testing.assert_array_equal(weighted.ranking_, many.ranking_)
    np.testing.assert_allclose(weighted.predict(frame), many.predict(frame[copies.columns]), rtol=1e-7)
    with pytest.raises(ValueError, match=r"sample_weight='tims' is not a column of X\. Did you mean 'times'"):
        RiskRFE().fit(frame, "spent", sample_weight="tims")
    with pytest.raises(ValueError, match="positive in 1 of 40 rows"):
        RiskRFE().fit(frame, "spent", sample_weight=np.eye(40)[0])


def test_rows_of_no_weight_say_nothing_about_classes():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.array(["a", "b", "c"] * 10)
    weight = np.where(y == "c", 0, 1)
    weighted = RiskRFE(**FIXED).fit(X, y, sample_weight=weight)
    fewer = RiskRFE(**FIXED).fit(X[y != "c"], y[y != "c"])
    assert weighted.classes_.tolist() == fewer.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(weighted.decision_function(X), fewer.decision_function(X), rtol=1e-9)
    with pytest.raises(ValueError, match="only one class"):
        RiskRFE(**FIXED).fit(X, y, sample_weight=y == "a")


def test_of_classes_that_tie_the_first_is_told_in_any_order_of_the_rows():
    X, y = np.random.default_rng(10).normal(size=(8, 1)), np.array(list("baabbaab"))
    for seed in range(6):
        rows = np.random.default_rng(seed).permutation(8)
        selector = RiskRFE().fit(X[rows], y[rows])
        assert not selector.support_.any()
        assert set(selector.predict(X)) == {"a"}


def test_groups_of_names_join_categories():
    groups = {"who": ["age", "city"], "rest": ["member", "noise"]}
    selector = RiskRFE(feature_groups=groups).fit(people(), "spent")
    assert selector.support_.tolist() == [True, False, True, False, False]
    assert selector.path_["n_features"].tolist() == [4, 2, 0]
    with pytest.raises(ValueError, match="'cty' is not a column"):
        RiskRFE(feature_groups=[["cty"]]).fit(people(), "spent")


def test_missing_values_are_refused_dropped_or_marked():
    frame = people()
    frame.loc[frame.index % 4 == 0, "noise"] = np.nan
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column 'noise'"):
        RiskRFE().fit(frame, "spent")
    dropped = RiskRFE(missing="drop", **FIXED).fit(frame, "spent")
    by_hand = RiskRFE(**FIXED).fit(frame.dropna(), "spent")
    np.testing.assert_array_equal(dropped.ranking_, by_hand.ranking_)
    marked = RiskRFE(missing="indicator").fit(frame, "spent")
    assert marked.column_names_[-1] == "noise=missing"
    assert marked.get_feature_names_out().tolist() == ["age", "city"]
    assert np.isfinite(marked.predict(frame)).all()


@pytest.mark.parametrize(
    ("y", "loss"),
    [
        (lambda x: np.where(x > 0, "yes", "no"), "squared_label"),
        (lambda x: x > 0, "squared_label"),
        (lambda x: (x > 0).astype(int), "squared_label"),
        (lambda x: np.digitize(x, [-0.5, 0.5]), "squared_label"),
        (lambda x: np.digitize(x, [-0.5, 0.5]).astype(float), "squared_label"),
        (lambda x: x, "squared"),
        (lambda x: np.full(len(x), 3), "squared"),
    ],
)
def test_labels_are_classes_and_numbers_are_numbers(y, loss):
    X = np.random.default_rng(0).normal(size=(100, 5))
    y = y(X[:, 2])
    selector = RiskRFE().fit(X, y)
    assert selector.loss_ == loss
    assert is_classifier(selector) == (loss == "squared_label")
    assert is_regressor(selector) == (loss == "squared")
    if is_classifier(selector):
        np.testing.assert_array_equal(selector.classes_, np.unique(y))
        assert selector.support_.tolist() == [False, False, True, False, False]
        assert selector.score(X, y) > 0.9
        assert not hasattr(selector, "predict_proba")
    else:
        assert not hasattr(selector, "decision_function")


def test_two_classes_are_a_regression_on_signs():
    X = np.random.default_rng(0).normal(size=(80, 5))
    y = np.where(X[:, 0] * X[:, 3] > 0, "b", "a")
    labels, numbers = RiskRFE().fit(X, y), RiskRFE().fit(X, np.where(y == "b", 1.0, -1.0) + 0.5)
    np.testing.assert_array_equal(labels.ranking_, numbers.ranking_)
    np.testing.assert_allclose(labels.path_["risk"], numbers.path_["risk"])
    np.testing.assert_allclose(labels.decision_function(X), numbers.predict(X) - 0.5)
    explicit = RiskRFE(loss=SquaredLabelLoss()).fit(X, y)
    np.testing.assert_array_equal(explicit.predict(X), labels.predict(X))


def test_quantities_in_whole_numbers_are_not_guessed():
    X = np.random.default_rng(0).normal(size=(60, 3))
    price = np.round(1000.0 * X[:, 0]).astype(int)
    with pytest.raises(
        ValueError, match=r"different whole numbers in 60 rows.*loss='squared' for quantities"
    ):
        RiskRFE().fit(X, price)
    assert RiskRFE(loss="squared").fit(X, price).support_.tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"y holds text \('a'\).*loss='squared' needs numbers.*loss='auto'"):
        RiskRFE(loss="squared").fit(X, ["a", "b"] * 30)
    with pytest.raises(ValueError, match=r"loss='hinge' was given, but y holds continuous values"):
        RiskRFE(loss="hinge").fit(X, X[:, 0])


def test_an_estimator_says_what_it_is():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = (X[:, 1] > 0).astype(int)
    for estimator, loss in (
        (Ridge(), "squared"),
        (SVC(), "hinge"),
        (LogisticRegression(), "logistic"),
        (RandomForestClassifier(5, max_depth=2, random_state=0), "logistic"),
    ):
        selector = RiskRFE(estimator, stopping=1)
        assert is_classifier(selector) == is_classifier(estimator)
        selector.fit(X, y)
        assert selector.loss_ == loss
        assert selector.support_.tolist() == [False, True, False, False]
    nothing = RiskRFE(LogisticRegression(), stopping=0).fit(X, y)
    np.testing.assert_allclose(nothing.predict_proba(X[:2]), [[1 - y.mean(), y.mean()]] * 2)
    assert not hasattr(nothing, "estimator_")


def test_an_estimator_sees_the_design():
    frame = people()
    selector = RiskRFE(Ridge(), feature_groups={"who": ["age", "member"]}).fit(frame, "spent")
    assert selector.support_.tolist() == [True, False, True, True, False]
    assert selector.estimator_.n_features_in_ == 4
    design = selector.encoder_.transform(frame)[:, :4]
    np.testing.assert_allclose(selector.predict(frame), selector.estimator_.predict(design))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": Ridge(), "kernel": "linear"}, "kernel='linear' has no effect with an estimator"),
        ({"estimator": Ridge(), "bandwidth": 2.0}, "bandwidth=2.0 has no effect with an estimator"),
        ({"estimator": Ridge(), "fit_intercept": False}, "fit_intercept=False has no effect"),
        (
            {"kernel": "linear", "bandwidth": 2.0},
            "bandwidth=2.0 has no effect with a kernel that has no width",
        ),
        ({"kernel": lambda A, B: A @ B.T, "bandwidth": "paper"}, "no width"),
    ],
)
def test_options_without_effect_are_refused(options, words):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=words):
        RiskRFE(**options).fit(X, X[:, 0])


def test_sparse_columns_are_for_the_linear_kernel():
    X = sparse.random_array((30, 4), density=0.5, rng=np.random.default_rng(0), format="csr")
    y = X.toarray()[:, 0]
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        RiskRFE().fit(X, y)
    linear = RiskRFE(kernel=LinearKernel()).fit(X, y)
    np.testing.assert_allclose(linear.predict(X), linear.predict(X.toarray()))
    # numbers are given: nothing is standardised and the design stays sparse until the machine needs it
    for loss in ("squared", "epsilon_insensitive"):
        given = RiskRFE(kernel="linear", loss=loss, regularization=0.01).fit(X, y)
        np.testing.assert_allclose(given.predict(X), given.predict(X.toarray()))


def test_paper_leaves_out_what_has_no_effect():
    assert RiskRFE.paper().bandwidth == "paper"
    assert RiskRFE.paper(kernel="linear", loss="epsilon_insensitive").bandwidth == "auto"
    assert RiskRFE.paper(estimator=Ridge(), step=2).get_params(deep=False)["regularization"] == "auto"
    with pytest.raises(TypeError, match="unexpected keyword"):
        RiskRFE.paper(kernels="linear")


@pytest.mark.skipif(not hasattr(Selector, "transform_as"), reason="selectors give their columns only")
def test_the_design_of_the_selected_features_goes_on_in_a_pipeline():
    frame = people()
    pipeline = make_pipeline(RiskRFE(transform_as="design"), Ridge()).fit(frame, frame["spent"])
    assert pipeline.score(frame, frame["spent"]) > 0.9
    selector = RiskRFE(transform_as="design").fit(frame, "spent")
    assert selector.get_feature_names_out().tolist() == ["age", "city=Paris", "city=Rome"]
    np.testing.assert_array_equal(selector.transform(frame), selector.encoder_.transform(frame)[:, :3])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_column_far_from_zero_keeps_the_digits_of_linear_predictions(container):
    rng = np.random.default_rng(4)
    near = rng.standard_normal((40, 2))
    y = near @ [1.0, -2.0] + 0.1 * rng.standard_normal(40)
    # shifted by a power of two, the rounded columns are the same ones
    far = near + 2.0**40
    options = {"kernel": "linear", "stopping": 2}
    expected = RiskRFE(**options).fit(far - 2.0**40, y).predict(far - 2.0**40)
    fit = RiskRFE(**options).fit(container(far), y)
    np.testing.assert_allclose(fit.predict(container(far)), expected, atol=1e-6)
