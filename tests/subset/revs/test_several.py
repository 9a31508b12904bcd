"""Several responses: what REVS makes of them, as users see it."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import rlselect
from rlselect import REVS
from rlselect.subset import Cutoff, Sarsa
from rlselect.subset.revs._several import _named


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 7))
    a = X[:, 0] + X[:, 1] + rng.standard_normal(90)
    b = X[:, 0] - X[:, 1] + rng.standard_normal(90)
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(7)])
    return frame.assign(a=a, b=b, label=np.where(a - b > 0, "up", "down"))


FEATURES = [f"v{j}" for j in range(7)]


@pytest.fixture(scope="module")
def shared(table):
    return REVS(random_state=0).fit(table[[*FEATURES, "a", "b"]], ["a", "b"])


@pytest.fixture(scope="module")
def each(table):
    return REVS(responses="each", random_state=0).fit(table[FEATURES], table[["a", "label"]])


def test_one_selection_serves_all_responses(table, shared):
    assert shared.support_.tolist() == [True, True, *[False] * 5]
    assert shared.response_names_ == ["a", "b"]
    assert shared.coef_.shape == shared.coef_average_.shape == shared.gain_.shape == (2, 7)
    assert shared.intercept_.shape == (2,)
    np.testing.assert_array_equal(shared.support_by_response_, [shared.support_] * 2)
    A = np.column_stack([np.ones(90), table[["v0", "v1"]]])
    expected = np.linalg.lstsq(A, table[["a", "b"]].to_numpy(), rcond=None)[0]
    np.testing.assert_allclose(shared.coef_[:, :2], expected[1:].T, atol=1e-8)
    predicted = shared.predict(table[[*FEATURES, "a", "b"]], average=False)
    np.testing.assert_allclose(predicted, A @ expected, atol=1e-8)
    np.testing.assert_array_equal(shared.predict(table[FEATURES], average=False), predicted)
    assert shared.get_feature_names_out().tolist() == ["v0", "v1"]
    np.testing.assert_array_equal(shared.transform(table[[*FEATURES, "a", "b"]]), table[["v0", "v1"]])


def test_predictions_scores_and_intervals_have_a_column_per_response(table, shared):
    X = table[FEATURES]
    assert shared.predict(X).shape == (90, 2)
    low, high = np.moveaxis(shared.predict_interval(X), 2, 0)
    inside = (low < table[["a", "b"]]) & (table[["a", "b"]] < high)
    assert inside.shape == (90, 2)
    assert inside.to_numpy().mean() > 0.85
    scores = [s.score(X, table[n]) for n, s in zip("ab", shared.estimators_, strict=True)]
    assert shared.score(X, table[["a", "b"]]) == pytest.approx(np.mean(scores))
    assert shared.score(table[[*FEATURES, "a", "b"]], ["a", "b"]) == pytest.approx(np.mean(scores))
    with pytest.raises(ValueError, match="2 columns, one per response"):
        shared.score(X, table["a"])


def test_each_is_a_fit_of_each(table, each):
    assert each.family_ == "mixed"
    for name, single in zip(["a", "label"], each.estimators_, strict=True):
        alone = REVS(random_state=0).fit(table[FEATURES], table[name])
        np.testing.assert_array_equal(alone.inclusion_, single.inclusion_)
        np.testing.assert_array_equal(alone.coef_, single.coef_)
        np.testing.assert_array_equal(alone.predict(table[FEATURES]), single.predict(table[FEATURES]))
    by = each.inclusion_by_response_
    np.testing.assert_allclose(each.inclusion_, 1 - (1 - by[0]) * (1 - by[1]))
    np.testing.assert_array_equal(each.support_, each.support_by_response_.any(axis=0))
    assert len(each.path_["response"]) == len(each.path_["size"])
    first = each.predict(table[FEATURES])[0]
    assert isinstance(first[0], float)
    assert first[1] in ("up", "down")
    assert each.select(k=1).sum(axis=1).tolist() == [1, 1]
    assert not hasattr(each, "predict_proba")


def test_classes_have_probabilities_by_response(table):
    Y = np.column_stack([table["a"] > 0, table["b"] > 0])
    fitted = REVS(random_state=0, family="binomial").fit(table[FEATURES], Y)
    assert fitted.family_ == "binomial"
    assert [c.tolist() for c in fitted.classes_] == [[False, True]] * 2
    first, second = fitted.predict_proba(table[FEATURES])
    np.testing.assert_allclose(first.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(table[FEATURES])[:, 1], second[:, 1] > 0.5)
    assert fitted.decision_function(table[FEATURES]).shape == (90, 2)


def test_ordered_categories_keep_their_order_in_one_selection(table):
    levels = ["low", "mid", "high"]
    graded = pd.DataFrame({c: pd.cut(table[c], [-9.0, -1.0, 1.0, 9.0], labels=levels) for c in "ab"})
    model = REVS(random_state=0, time_budget=0.1).fit(table[FEATURES], graded)
    assert model.family_ == "ordinal"
    assert [classes.tolist() for classes in model.classes_] == [levels, levels]


def test_counts_with_more_spread_than_poissons_are_noticed():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 5))
    mean = np.exp(1.0 + 0.7 * X[:, 0])
    Y = np.column_stack([rng.poisson(mean), rng.poisson(mean * rng.gamma(1.0, 1.0, 150))])
    fitted = REVS(family="poisson", random_state=0).fit(X, Y)
    assert [s.family_ for s in fitted.estimators_] == ["poisson", "negative_binomial"]
    assert np.flatnonzero(fitted.support_).tolist() == [0]


@pytest.mark.parametrize("kind", [np.asarray, pl.from_pandas, lambda y: y.to_numpy().tolist()])
def test_any_container_will_do(table, shared, kind):
    fitted = REVS(random_state=0).fit(table[FEATURES], kind(table[["a", "b"]]))
    np.testing.assert_array_equal(fitted.coef_, shared.coef_)


def test_summary_tells_of_every_response(shared, each):
    text = str(shared.summary())
    assert "# Which variables matter for a and b" in text
    assert "Method: REVS, for numbers (family gaussian)" in text
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
    assert rows[2:8] == ["v0", "a", "b", "v1", "a", "b"]
    assert "One selection serves all responses" in text
    told = each.summary()
    rows = next(s for s in told.dict["sections"] if s["title"] == "Responses")["rows"]
    assert [row[:2] for row in rows] == [["a", "gaussian"], ["label", "binomial"]]


def test_a_time_and_an_event_given_as_two_responses_are_noted(each):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])
    frame["months"], frame["died"] = rng.exponential(size=60), rng.random(60) < 0.5
    noted = "months and died were taken as two responses. Of a time, and whether its event has happened, say"
    several = REVS(random_state=0).fit(frame, ["months", "died"]).summary()
    assert any(note.startswith(noted) for note in several.dict["notes"])
    assert "for responses of several kinds (family mixed)" in str(several)
    assert REVS(family="cox", random_state=0).fit(frame, ["months", "died"]).family_ == "cox"
    # of two classes with names neither is a time's event
    assert not any("event" in note for note in each.summary().dict["notes"])


def test_fits_are_saved_copied_and_cloned(tmp_path, table, shared):
    rlselect.save(shared, tmp_path / "fit.rls")
    for twin in (rlselect.load(tmp_path / "fit.rls"), pickle.loads(pickle.dumps(shared))):
        np.testing.assert_array_equal(twin.predict(table[FEATURES]), shared.predict(table[FEATURES]))
        assert twin.summary() == shared.summary()
    assert clone(shared).get_params() == shared.get_params()
    # the fit of one response is one like any other
    alone = shared.estimators_[0]
    refitted = clone(alone).fit(table[FEATURES], table["a"])
    assert refitted.coef_.shape == (7,)


def test_weights_are_copies(table):
    X, Y = table[FEATURES].to_numpy(), table[["a", "b"]].to_numpy()
    weight = np.random.default_rng(0).integers(0, 3, 90)
    one = REVS(random_state=0).fit(X, Y, sample_weight=weight)
    other = REVS(random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(one.inclusion_, other.inclusion_, atol=0.02)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-8)


def test_rules_splits_and_gaps_work_as_for_one(table):
    X, Y = table[FEATURES].copy(), table[["a", "b"]].copy()
    strict = REVS(random_state=0, rule=Cutoff(0.99)).fit(X, Y)
    assert strict.support_.sum() == 2
    split = REVS(random_state=0, inference="split").fit(X, Y)
    assert "Standard errors are honest" in str(split.summary())
    X.iloc[0, 0], Y.iloc[1, 1] = np.nan, np.nan
    with pytest.raises(ValueError, match=r"y column 'b' has missing values .* missing=.drop"):
        REVS().fit(X.fillna(0.0), Y)
    dropped = REVS(random_state=0, missing="drop").fit(X, Y)
    again = REVS(random_state=0).fit(X.iloc[2:], Y.iloc[2:])
    np.testing.assert_array_equal(dropped.coef_, again.coef_)


def test_a_source_is_read_without_the_other_responses(tmp_path, table):
    path = tmp_path / "rows.parquet"
    table[[*FEATURES, "a", "b"]].to_parquet(path)
    for how in ("shared", "each"):
        from_disk = REVS(responses=how, random_state=0).fit(path, ["a", "b"])
        in_memory = REVS(responses=how, random_state=0).fit(table[FEATURES], table[["a", "b"]])
        assert from_disk.feature_names_in_.tolist() == FEATURES
        np.testing.assert_allclose(from_disk.coef_, in_memory.coef_)
        parts = list(from_disk.predict(path))
        np.testing.assert_allclose(np.concatenate(parts), in_memory.predict(table[FEATURES]))


def test_constant_and_repeated_responses_are_no_trouble(table):
    X, a = table[FEATURES].to_numpy(), table["a"].to_numpy()
    fitted = REVS(random_state=0).fit(X, np.column_stack([a, np.full(90, 3.0), a]))
    assert np.flatnonzero(fitted.support_).tolist() == [0, 1]
    np.testing.assert_allclose(fitted.predict(X)[:, 1], 3.0)
    nothing = REVS(random_state=0).fit(X, np.ones((90, 2)))
    assert not nothing.support_.any()
    assert nothing.stop_reason_ == "nothing to choose from"


def test_time_ends_the_fits_of_all_responses(table):
    for how in ("shared", "each"):
        fitted = REVS(responses=how, random_state=0, time_budget=1e-6).fit(table[FEATURES], table[["a", "b"]])
        assert fitted.stop_reason_ == "time budget"
        assert fitted.predict(table[FEATURES]).shape == (90, 2)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"responses": "each"}, "a", "no effect with a single response"),
        ({"responses": "both"}, "a", "it must be 'shared' or 'each'"),
        ({"search": Sarsa()}, ["a", "b"], "use responses='each', or search='auto'"),
        ({"checkpoint": "x"}, ["a", "b"], "no effect with several responses"),
        ({"min_effect": 0.1}, ["a", "b"], "no effect with several responses"),
        ({"family": "poisson"}, ["a", "b"], "Response 'a': family='poisson' needs counts"),
        ({}, ["a", "bb"], "'bb' is not a column of X"),
        ({}, ["a", "a"], "names the column 'a' twice"),
        ({"family": "multinomial"}, np.eye(3)[np.arange(90) % 3], "a class in parts"),
    ],
)
def test_what_makes_no_sense_is_refused(table, options, y, message):
    with pytest.raises(ValueError, match=message):
        REVS(**options).fit(table[[*FEATURES, "a", "b"]], y)


def test_only_errors_about_y_name_the_response():
    with pytest.raises(ValueError, match=r"^Response 'a': y has only one class"), _named("a"):
        raise ValueError("y has only one class (3)")
    for other in ("Only try any column", "'y' is not a column", "sample_weight is heavy (y)"):
        with pytest.raises(ValueError, match="^" + re.escape(other)), _named("a"):
            raise ValueError(other)
