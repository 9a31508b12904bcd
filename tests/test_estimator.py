"""What all selectors share: `transform` as columns or as design, of tables and of sources."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from rlselect import REVS, ActorCriticPredictor, RiskRFE

SELECTORS = [
    REVS(random_state=0, transform_as="design"),
    ActorCriticPredictor(random_state=0, predictor="linear", max_iter=30, transform_as="design"),
]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "city": rng.choice(["Oslo", "Paris", "Rome"], n),
            "shoe": rng.normal(size=n),
            "member": rng.random(n) < 0.5,
        }
    )
    frame["spent"] = frame["age"] / 5 + 4 * (frame["city"] == "Rome") + rng.normal(size=n)
    return frame


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: type(s).__name__)
def test_the_design_of_the_selected_features(people, selector):
    fit = clone(selector).fit(people, "spent")
    assert list(fit.get_feature_names_out()) == ["age", "city=Paris", "city=Rome"]
    found = fit.transform(people)
    want = np.column_stack([people["age"], people["city"] == "Paris", people["city"] == "Rome"])
    np.testing.assert_array_equal(found, want)
    columns = clone(selector).set_params(transform_as="columns").fit(people, "spent")
    assert list(columns.get_feature_names_out()) == ["age", "city"]
    assert columns.transform(people)[0].tolist() == people[["age", "city"]].iloc[0].tolist()
    with pytest.raises(ValueError, match='transform_as="design" was given: a table cannot be put together'):
        fit.inverse_transform(found)
    with pytest.raises(ValueError, match=r"transform_as='numbers' was given; it must be"):
        clone(selector).set_params(transform_as="numbers").fit(people, "spent")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("transform_as", ["columns", "design"])
def test_frames_on_request(people, tmp_path, kind, transform_as):
    selector = REVS(random_state=0, transform_as=transform_as).set_output(transform=kind)
    found = selector.fit_transform(people, "spent") if transform_as == "design" else None
    fit = selector.fit(people, "spent")
    table = fit.transform(people)
    assert type(table).__module__.startswith(kind)
    assert list(table.columns) == list(fit.get_feature_names_out())
    if found is not None:
        assert found.equals(table)
    if kind == "pandas":
        assert table.index.equals(people.index)
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_pandas(people, preserve_index=False), path, row_group_size=100)
    parts = list(fit.transform(path))
    assert len(parts) == 3
    assert all(type(part).__module__.startswith(kind) for part in parts)
    joined = pd.concat(parts, ignore_index=True) if kind == "pandas" else pl.concat(parts)
    assert list(joined.columns) == list(table.columns)
    assert joined["age"].to_list() == people["age"].to_list()
    streamed = list(selector.fit_transform(path, "spent"))
    assert [part.equals(other) for part, other in zip(parts, streamed, strict=True)] == [True] * 3


def test_a_source_gives_arrays_of_the_design(people):
    lazy = pl.from_pandas(people).lazy()
    fit = REVS(random_state=0, transform_as="design").fit(lazy, "spent")
    np.testing.assert_allclose(np.concatenate(list(fit.transform(lazy))), fit.transform(people))


def test_gaps_have_their_columns(people):
    gaps = people.assign(age=people["age"].where(np.arange(len(people)) % 7 > 0))
    fit = REVS(random_state=0, transform_as="design", missing="indicator").fit(gaps, "spent")
    assert list(fit.get_feature_names_out()) == ["age", "city=Paris", "city=Rome", "age=missing"]
    found = fit.transform(gaps)
    np.testing.assert_array_equal(found[:, 3], gaps["age"].isna())
    assert np.isfinite(found).all()


def test_unnamed_and_sparse_tables():
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 6), density=0.3, rng=rng, format="csr")
    y = X[:, [1, 4]].sum(axis=1) + 0.1 * rng.normal(size=200)
    fit = REVS(random_state=0, transform_as="design").fit(X, y)
    assert list(fit.get_feature_names_out()) == ["x1", "x4"]
    assert list(fit.get_feature_names_out(list("abcdef"))) == ["b", "e"]
    assert sparse.issparse(fit.transform(X))
    np.testing.assert_array_equal(fit.transform(X).toarray(), X[:, [1, 4]].toarray())
    assert fit.transform(X.toarray()).shape == (200, 2)


def test_nothing_selected():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    fit = REVS(random_state=0, transform_as="design", never_select=[0, 1, 2]).fit(X, y)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert fit.transform(X).shape == (100, 0)
    assert fit.get_feature_names_out().shape == (0,)


def test_a_pipeline_on_a_frame_with_text(people):
    late = (people["spent"] > people["spent"].median()).to_numpy()
    pipeline = make_pipeline(REVS(random_state=0, transform_as="design"), LogisticRegression())
    pipeline.fit(people.drop(columns="spent"), late)
    assert pipeline.score(people.drop(columns="spent"), late) > 0.8
    numbers = make_pipeline(REVS(random_state=0, transform_as="design"), LinearRegression())
    numbers.fit(people.drop(columns="spent"), people["spent"])
    assert numbers.score(people.drop(columns="spent"), people["spent"]) > 0.6


def test_broken_tables_are_refused_before_columns_are_taken():
    X = np.random.default_rng(0).standard_normal((40, 3))
    fit = REVS(random_state=0).fit(X, X[:, 0])
    broken = sparse.csr_array(X)
    broken.indices = broken.indices + 10**6
    for method in (fit.transform, fit.inverse_transform):
        with pytest.raises(ValueError, match="indices do not fit its shape"):
            method(broken)
    frame = pd.DataFrame(X, columns=list("abc"))
    named = REVS(random_state=0).fit(frame, X[:, 0])
    with pytest.raises(TypeError, match="Column 'c' of X holds dates or times"):
        named.transform(frame.assign(c=pd.Timestamp("2020-01-01")))
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column 'c' \(40 rows\)"):
        named.transform(frame.assign(c=pd.array([None] * 40, dtype="Int64")))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        named.transform(frame[:0])
    with pytest.raises(ValueError, match="names of X must differ"):
        named.transform(frame.set_axis(["a"] * 3, axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        np.testing.assert_array_equal(fit.transform(np.matrix(X)), fit.transform(X))


def test_raw_columns_are_refused_where_text_and_numbers_changed_places(people):
    fit = REVS(random_state=0).fit(people, "spent")
    with pytest.raises(TypeError, match=r"'age' of X holds text .* but was a number in fit"):
        fit.transform(people.assign(age="old"))
    with pytest.raises(ValueError, match="'age' of X mixes numbers"):
        fit.transform(people.assign(age=[*people["age"].astype(object)[1:], "old"]))
    with pytest.raises(TypeError, match="'city' of X holds numbers, but was text in fit"):
        fit.transform(people.assign(city=1.0))
    # a column as it is may hold a city that is new
    assert fit.transform(people.assign(city="Bergen"))[0, 1] == "Bergen"


@pytest.mark.parametrize("selector", [REVS(), ActorCriticPredictor(random_state=0), RiskRFE()])
def test_a_row_that_rules_the_target_is_told_of(selector):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + rng.standard_normal(60)
    told = "One row alone, where the target is 100000, has"
    assert told not in " ".join(selector.fit(X, y).summary().dict.get("notes", []))
    y[5] = 1e5
    fitted = selector.fit(X, y)
    assert told in " ".join(fitted.summary().dict["notes"])
    assert told in str(fitted.summary()).replace("\n> ", " ")
    assert told not in " ".join(selector.fit(X, y > 0).summary().dict.get("notes", []))


def test_a_count_that_rules_the_others_is_told_of_by_its_response():
    """One count of 5,000 among ones made two variables near certain."""
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal((80, 3)), rng.poisson(1.0, 80)
    counts[3] = 5000
    notes = REVS(family="poisson", random_state=0).fit(X, counts).summary().dict["notes"]
    assert any(note.startswith("One row alone, where the target is 5000") for note in notes)
    unweighted = REVS(family="poisson", random_state=0).fit(X, counts, (counts < 100).astype(float))
    assert not any(note.startswith("One row alone") for note in unweighted.summary().dict["notes"])
    both = REVS(random_state=0).fit(X, np.column_stack([X[:, 0] + rng.standard_normal(80), counts]))
    told = [note for note in both.summary().dict["notes"] if note.startswith("One row")]
    assert len(told) == 1
    assert "where y1 is 5000" in told[0]
