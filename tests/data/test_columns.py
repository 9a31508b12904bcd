"""Columns read in their roles: whatever the table is made of, the values and the sentences are the same."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from rlselect.data import Columns, Distinct, read_labels, refuse_repeated_pairs, to_clock

DAYS = [datetime.date(2024, 1, 3), None, datetime.date(2024, 1, 1), datetime.date(2024, 1, 3)]
TABLE = {
    "who": ["b", "a", "b", "c"],
    "gain": [1, None, 3, 2],
    "share": [0.5, float("nan"), 2.0, 1.5],
    "ok": [True, None, False, True],
    "city": ["Rome", "Oslo", None, "Oslo"],
    "day": DAYS,
}


def pandas_nullable():
    frame = pd.DataFrame(TABLE)
    return frame.astype({"who": "string", "gain": "Int64", "ok": "boolean", "city": "category"})


FORMS = {
    "dict of lists": lambda path: TABLE,
    "dict of arrays": lambda path: {name: np.array(values, dtype=object) for name, values in TABLE.items()},
    "dict of series": lambda path: {name: pl.Series(values) for name, values in TABLE.items()},
    "pandas objects": lambda path: pd.DataFrame(TABLE, dtype=object),
    "pandas nullable": lambda path: pandas_nullable(),
    "polars": lambda path: pl.DataFrame(TABLE),
    "polars categories": lambda path: pl.DataFrame(TABLE).with_columns(pl.col("city").cast(pl.Categorical)),
    "polars lazy": lambda path: pl.LazyFrame(TABLE),
    "arrow": lambda path: pa.table(TABLE),
    "arrow in chunks": lambda path: pa.concat_tables([pa.table(TABLE)[:2], pa.table(TABLE)[2:]]),
    "parquet": lambda path: parquet.write_table(pa.table(TABLE), path / "t.parquet") or path / "t.parquet",
    "csv": lambda path: csv.write_csv(pa.table(TABLE), path / "t.csv") or str(path / "t.csv"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_table_reads_the_same(form, tmp_path):
    columns = Columns(FORMS[form](tmp_path), "data")
    assert (columns.names, columns.n_rows) == (list(TABLE), 4)
    np.testing.assert_array_equal(columns.numbers("gain", "reward"), [1, np.nan, 3, 2])
    np.testing.assert_array_equal(columns.matrix(["share", "gain"], "x")[:, 0], [0.5, np.nan, 2.0, 1.5])
    assert columns.labels("gain", "action").tolist() == [1, None, 3, 2]
    assert columns.labels("city", "action").tolist() == TABLE["city"]
    assert columns.flags("ok", "available").tolist() == [True, False, False, True]
    city = columns.covariate("city", "history")
    assert city.labels == ("Oslo", "Rome")
    np.testing.assert_array_equal(city.values, [1, 0, np.nan, 0])
    assert columns.covariate("share", "history").labels == ()
    who = columns.distinct("who", "id")
    assert (who.positions.tolist(), who.values.tolist()) == ([1, 0, 1, 2], ["a", "b", "c"])
    start = datetime.date(1970, 1, 1)
    np.testing.assert_array_equal(
        columns.clock("day", "time"), [np.nan if day is None else (day - start).days for day in DAYS]
    )
    frame = columns.to_pandas(["share", "city"], np.array([0, 3]))
    assert (frame["share"].tolist(), frame["city"].tolist()) == ([0.5, 1.5], ["Rome", "Oslo"])


def test_arrays_stand_in_for_names():
    columns = Columns(np.arange(6.0).reshape(3, 2), "data")
    np.testing.assert_array_equal(columns.matrix(columns.names, "covariate"), [[0, 1], [2, 3], [4, 5]])
    assert columns.labels(pd.Series(["u", None, "v"]), "group").tolist() == ["u", None, "v"]
    assert columns.covariate(pl.Series(["u", None, "v"]), "group").labels == ("u", "v")
    with pytest.raises(TypeError, match=r"id='who' names a column, but data has no column names"):
        columns.numbers("who", "id")
    named = Columns([[1, "u"], [2, "v"]], "history", ["dose", "site"])
    assert (named.numbers("dose", "x").tolist(), named.labels("site", "x").tolist()) == ([1, 2], ["u", "v"])
    alone = Columns(None, "data")
    with pytest.raises(TypeError, match="id='who' names a column, but there is no data"):
        alone.distinct("who", "id")
    alone.numbers([1.0, 2.0], "values")
    with pytest.raises(ValueError, match="id has 3 values, but values has 2 rows; they must agree"):
        alone.distinct([1, 2, 3], "id")


def test_declared_levels_keep_their_order_and_numbers_of_a_category_are_labels():
    frame = pd.DataFrame(
        {"size": pd.Categorical(["s", "l", "s"], categories=["s", "m", "l"]), "year": [1, 2, 1]}
    )
    columns = Columns(frame.assign(year=frame["year"].astype("category")), "data")
    assert columns.covariate("size", "history").labels == ("s", "l")
    assert columns.covariate("year", "history").labels == ("1", "2")
    assert columns.labels("year", "action").tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("times", "days"),
    [
        ([1, 2.5], [1.0, 2.5]),
        (np.array(["2024-01", "NaT"], "M8[M]"), [19723.0, np.nan]),
        (np.array([12, 36], "m8[h]"), [0.5, 1.5]),
        ([datetime.datetime(1970, 1, 2, 12), None], [1.5, np.nan]),
        (pd.Series(["1970-01-02", "1970-01-03"], dtype="datetime64[ns, UTC]"), [1.0, 2.0]),
        (pl.Series([datetime.timedelta(days=3), None]), [3.0, np.nan]),
    ],
)
def test_dates_are_days_and_numbers_stay(times, days):
    np.testing.assert_array_equal(Columns(None, "data").clock(times, "time"), days)


def test_the_clock_and_distinct_times_agree():
    when = np.array(["2024-02", "2024-01", "2024-02"], "M8[M]")
    found = Columns(None, "data").times(when, "time")
    assert found.positions.tolist() == [1, 0, 1]
    assert np.diff(to_clock(found.values)) == [31.0]


FRAME = pd.DataFrame({"who": ["u", "v"], "gain": [1.0, 2.0]})
YEARS = np.array(["2024", "2025"], "M8[Y]")


@pytest.mark.parametrize(
    ("method", "given", "error", "match"),
    [
        ("numbers", "gian", ValueError, r"role='gian' is not a column of data\. Did you mean 'gain'"),
        ("numbers", None, ValueError, "role is needed: the name of a column"),
        ("numbers", "who", TypeError, r"role \(column 'who'\) holds text \('u'\), but numbers"),
        ("numbers", [1.0], ValueError, "role has 1 values, but data has 2 rows"),
        ("covariate", pl.Series([1.0]), ValueError, "role has 1 values, but data has 2 rows"),
        ("numbers", np.ones((2, 2)), ValueError, "role should be a 1d array"),
        ("numbers", [1j, 2j], ValueError, "Complex data not supported: role"),
        ("numbers", YEARS, TypeError, "role holds dates or times"),
        ("covariate", pl.Series(YEARS.astype("M8[D]")), TypeError, "role holds dates or times"),
        ("labels", [1, "u"], ValueError, r"role mixes numbers \(1\) and text \('u'\)"),
        ("distinct", [1, "u"], ValueError, r"role mixes numbers \(1\) and text \('u'\)"),
        ("distinct", ["u", None], ValueError, r"role is missing in 1 row\(s\), the first is row 1"),
        ("times", [1.0, np.inf], ValueError, "role holds infinite values"),
        ("times", [1.0, 1e300], ValueError, "role holds 1e.300; numbers beyond"),
        ("times", ["a", "b"], TypeError, "role must be numbers or dates, but holds 'a'"),
        ("times", [DAYS[0], None], ValueError, "role is missing in 1 row"),
        ("flags", [1, 2], ValueError, r"role must hold True and False .* holds 2 too"),
        ("flags", ["yes", "no"], ValueError, "holds 'yes' too"),
    ],
)
def test_bad_columns(method, given, error, match):
    with pytest.raises(error, match=match):
        getattr(Columns(FRAME, "data"), method)(given, "role")


def test_bad_weights():
    with pytest.raises(ValueError, match="sample_weight is negative in 1 of 2 rows"):
        Columns(FRAME, "data").weights([1, -1])


@pytest.mark.parametrize(
    ("table", "error", "match"),
    [
        ({"a": [1, 2], "b": [1]}, ValueError, r"columns of data differ in length: \{'a': 2, 'b': 1\}"),
        ({"a": 1.0}, TypeError, r"Column 'a' of data is 1\.0; one value per row"),
        ({}, ValueError, r"0 sample\(s\)"),
        (FRAME[:0], ValueError, r"0 sample\(s\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "column names of data must differ"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "column names of data must differ"),
        (7, TypeError, "data is of type int; give a data frame"),
        (np.ones(3), ValueError, "Expected a 2D table for data"),
        ([[1, 2], [3]], ValueError, "data cannot be read as a table: its rows differ"),
        ("none.csv", FileNotFoundError, r"There is no file or folder 'none\.csv'"),
    ],
)
def test_bad_tables(table, error, match):
    with pytest.raises(error, match=match):
        Columns(table, "data")


def test_labels_are_python_values():
    assert [type(label) for label in read_labels(np.array([1.0, 2.5, np.nan]), "a")] == [
        int,
        float,
        type(None),
    ]
    assert read_labels(np.array([True, False]), "a").tolist() == [True, False]
    assert read_labels(np.array(["u", "v"]), "a").tolist() == ["u", "v"]


def test_one_row_per_subject_and_moment():
    subjects = Distinct(np.array([0, 1, 0, 1]), np.array(["ann", "bob"]))
    moments = Distinct(np.array([0, 1, 1, 1]), np.array([10, 20]))
    refuse_repeated_pairs(subjects, moments, [0, 1, 2], "time")
    with pytest.raises(ValueError, match=r"Subject bob has 2 rows at time 20 \(1 such pair"):
        refuse_repeated_pairs(subjects, moments, slice(None), "time")


def test_text_with_points_is_a_date_where_all_of_it_is():
    part, never = ["1.2.3", "1.2.4", "2.0.1"], ["31.02.2024", "01.03.2024", "02.03.2024"]
    columns = Columns({"day": ["24.12.2024", None, "01.01.2025"], "part": part, "never": never}, "data")
    days = np.array(["2024-12-24", "NaT", "2025-01-01"], dtype="datetime64[D]")
    np.testing.assert_array_equal(columns.clock("day", "time"), to_clock(days))
    for wrong in ("part", "never"):
        with pytest.raises(TypeError, match="must be numbers or dates"):
            columns.clock(wrong, "time")


@pytest.mark.parametrize(
    ("written", "moments"),
    [
        (["2024-12-24", None, " 2025-01-01"], ["2024-12-24", "NaT", "2025-01-01"]),
        (["2024-12-24 18:30", "2024-12-24T06:00:01.5"], ["2024-12-24T18:30", "2024-12-24T06:00:01.500"]),
    ],
)
def test_text_is_a_date_as_messages_ask_for_it(written, moments):
    """It was refused with the advice to write dates as 2024-12-31."""
    clock = Columns({"day": np.array(written, dtype=object)}, "data").clock("day", "time")
    np.testing.assert_array_equal(clock, to_clock(np.array(moments, dtype="datetime64[us]")))
    for wrong in ("2024-02-30", "24.12.2024", "2024-12-24 10:00+02:00"):
        with pytest.raises(TypeError, match="must be numbers or dates"):
            Columns({"day": np.array([*written, wrong], dtype=object)}, "data").clock("day", "time")


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "objects", "parquet"])
def test_times_of_a_zone_are_told_to_be_universal(form, tmp_path):
    """A visit of 1 March in Rome stood as one of 28 February, and nothing said so."""
    frame = pd.DataFrame({"day": pd.date_range("2021-03-01", periods=3, tz="Europe/Rome")})
    if form == "parquet":
        frame.to_parquet(tmp_path / "days.parquet")
    objects = np.array([day.to_pydatetime() for day in frame.day], dtype=object)
    table = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "objects": {"day": objects},
        "parquet": str(tmp_path / "days.parquet"),
    }[form]
    with pytest.warns(UserWarning, match="time zone Europe/Rome; its times are told in UTC"):
        times = Columns(table, "data").times("day", "time").values
    assert str(times[0].astype("datetime64[h]")) == "2021-02-28T23"
    # where nothing is moved nothing is said
    Columns(frame.assign(day=frame.day.dt.tz_convert("UTC")), "data").times("day", "time")
    Columns(frame.assign(day=frame.day.dt.tz_localize(None)), "data").times("day", "time")
