"""REVS gives one answer for one table, in whatever form it comes."""

from itertools import pairwise

import dask
import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from rlselect import REVS, ActorCriticPredictor
from rlselect.simulate import make_weak

N, P = 12_000, 20


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def rows():
    """Weak signals need every row: then the sums, and with them the answer, are those of memory."""
    data = make_weak(N, P, coefficients=(0.04, 0.08), n_nonzero=6, random_state=2)
    city = np.random.default_rng(1).choice(["Oslo", "Paris", "Rome"], N)
    return pa.table({f"v{j}": data.X[:, j] for j in range(P)} | {"city": city, "target": data.y})


def cuts(rows, pieces=4):
    return [rows.slice(a, b - a) for a, b in pairwise(np.linspace(0, len(rows), pieces + 1).astype(int))]


def written(folder, rows, write, ending):
    for k, part in enumerate(cuts(rows)):
        write(part, folder / f"{k}{ending}")
    return folder


SOURCES = {
    "Parquet": lambda rows, p: written(p, rows, pq.write_table, ".parquet"),
    "Feather": lambda rows, p: str(written(p, rows, pf.write_feather, ".feather") / "*.feather"),
    "CSV": lambda rows, p: written(p, rows, pcsv.write_csv, ".csv"),
    "LazyFrame": lambda rows, p: pl.from_arrow(rows).lazy(),
    "DuckDB": lambda rows, p: duckdb.connect().from_arrow(rows),
    "Dask": lambda rows, p: dd.from_pandas(rows.to_pandas(), npartitions=4),
    "chunks": lambda rows, p: lambda: iter(cuts(rows)),
}


@pytest.fixture(scope="module")
def memory(rows):
    return REVS(random_state=0).fit(rows, "target")


@pytest.mark.parametrize("kind", SOURCES)
def test_the_answer_is_that_of_memory(rows, memory, tmp_path, kind):
    X = SOURCES[kind](rows, tmp_path)
    fit = REVS(random_state=0).fit(X, "target")
    assert fit.stop_reason_ == memory.stop_reason_ == "all rows"
    assert fit.column_names_ == memory.column_names_
    np.testing.assert_array_equal(fit.support_, memory.support_)
    np.testing.assert_allclose(fit.inclusion_, memory.inclusion_, atol=1e-3)
    np.testing.assert_allclose(fit.coef_, memory.coef_, atol=1e-6)
    new = np.concatenate(list(fit.predict(X)))
    np.testing.assert_allclose(new, memory.predict(rows), atol=1e-6)
    y = rows["target"].to_numpy()
    assert fit.score(X, y) == pytest.approx(memory.score(rows, y), abs=1e-6)
    kept = pa.concat_tables(fit.transform(X), promote_options="permissive")
    assert kept.column_names == list(memory.get_feature_names_out())
    assert len(kept) == N


@pytest.mark.parametrize("kind", ["CSV", "LazyFrame", "DuckDB"])
def test_classes_and_their_probabilities(rows, tmp_path, kind):
    y = np.where(rows["v0"].to_numpy() + rows["v1"].to_numpy() + np.sin(np.arange(N)) > 0, "yes", "no")
    table = rows.set_column(rows.schema.get_field_index("target"), "target", pa.array(y))
    X = SOURCES[kind](table, tmp_path)
    fit = REVS(random_state=0).fit(X, "target")
    assert list(fit.classes_) == ["no", "yes"]
    proba, score = fit.predict_proba(table), fit.decision_function(table)
    np.testing.assert_allclose(np.concatenate(list(fit.predict_proba(X))), proba, atol=1e-12)
    np.testing.assert_allclose(np.concatenate(list(fit.decision_function(X))), score, atol=1e-9)
    assert np.mean(np.concatenate(list(fit.predict(X))) == y) > 0.8


def test_a_killed_query_goes_on_where_it_was(rows, tmp_path):
    lazy = pl.from_arrow(rows).lazy()
    options = {"random_state": 0, "checkpoint": tmp_path / "progress"}
    short = REVS(time_budget=1e-6, **options).fit(lazy, "target")
    assert short.stop_reason_ == "time budget"
    assert (tmp_path / "progress").exists()
    fit = REVS(**options).fit(lazy, "target")
    plain = REVS(random_state=0).fit(lazy, "target")
    np.testing.assert_array_equal(fit.coef_, plain.coef_)
    REVS(time_budget=1e-6, **options).fit(lazy, "target")
    with pytest.raises(ValueError, match="belongs to other data"):
        REVS(**options).fit(lazy.reverse(), "target")


def test_rows_with_gaps_are_refused_where_every_row_needs_an_answer(rows, tmp_path):
    """In memory and in parts alike: a prediction per row, or a sentence."""
    gaps = np.where(np.arange(N) % 50 == 0, np.nan, rows["v0"].to_numpy())
    table = rows.set_column(0, "v0", pa.array(gaps))
    X = SOURCES["Parquet"](table, tmp_path)
    fit = REVS(random_state=0, missing="drop", always_select=["v0"]).fit(X, "target")
    for new in (table, X):
        with pytest.raises(ValueError, match="every row needs an answer here"):
            list(fit.predict(new))


@pytest.mark.parametrize("kind", SOURCES)
def test_learners_that_need_all_rows_load_them(rows, tmp_path, kind):
    some = rows.slice(0, 300)
    X = SOURCES[kind](some, tmp_path)
    options = {"random_state": 0, "predictor": "linear", "max_iter": 5}
    fit = ActorCriticPredictor(**options).fit(X, "target")
    want = ActorCriticPredictor(**options).fit(some, "target")
    np.testing.assert_allclose(fit.inclusion_, want.inclusion_)
    np.testing.assert_allclose(fit.predict(X), want.predict(some))
