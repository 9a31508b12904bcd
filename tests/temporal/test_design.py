import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rlselect import TemporalProcessRegression

DAY = pd.Timestamp("2024-01-01")


def fitted(data, formula="y ~ x + z + g", link="logit", **options):
    return TemporalProcessRegression(formula, link=link).fit(data, id="id", time="t", **options)


def identical(a, b):
    np.testing.assert_array_equal(a.coef_.to_numpy(), b.coef_.to_numpy())
    np.testing.assert_array_equal(a.se_.to_numpy(), b.se_.to_numpy())
    np.testing.assert_array_equal(a.influence_, b.influence_)


FORMS = {
    "shuffled": lambda d: d.sample(frac=1, random_state=0),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "dict": lambda d: {key: d[key].to_numpy() for key in d},
    "string ids": lambda d: d.assign(id=[f"s{i:04d}" for i in d["id"]]),
    "categorical ids": lambda d: d.assign(id=pd.Categorical([f"s{i:04d}" for i in d["id"]])),
    "timestamps": lambda d: d.assign(t=DAY + pd.to_timedelta(d["t"], unit="D")),
    "timestamps with a zone": lambda d: d.assign(
        t=DAY.tz_localize("UTC") + pd.to_timedelta(d["t"], unit="D")
    ),
    "dates": lambda d: d.assign(t=[datetime.date(2024, 1, 1 + t) for t in d["t"]]),
    "polars dates": lambda d: pl.from_pandas(
        d.assign(t=DAY + pd.to_timedelta(d["t"], unit="D"))
    ).with_columns(pl.col("t").cast(pl.Date)),
    "durations": lambda d: d.assign(t=pd.to_timedelta(d["t"], unit="D")),
    "bool response": lambda d: d.assign(y=d["y"] == 1),
    "lazy": lambda d: pl.from_pandas(d).lazy(),
    "lists": lambda d: {key: d[key].tolist() for key in d},
    "unused categories": lambda d: d.assign(g=pd.Categorical(d["g"], categories=list("abcd"))),
}


@pytest.mark.parametrize("form", FORMS)
def test_same_answer_from_every_container(data, form):
    plain, other = fitted(data), fitted(FORMS[form](data))
    identical(plain, other)
    assert plain.test("x").pvalue == pytest.approx(other.test("x").pvalue, rel=1e-12)


def test_a_file_is_a_table(data, tmp_path):
    data.to_csv(tmp_path / "long.csv", index=False)
    from_file, plain = fitted(tmp_path / "long.csv"), fitted(data)
    np.testing.assert_allclose(from_file.coef_, plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(from_file.predict(tmp_path / "long.csv"), plain.predict(data), rtol=1e-10)


def test_new_rows_without_a_time_or_with_numbers_for_a_category(data):
    model = fitted(data.assign(t=DAY + pd.to_timedelta(data["t"], unit="D")))
    new = data.assign(t=(DAY + pd.to_timedelta(data["t"], unit="D")).where(data.index > 0))
    found = model.predict(new)
    assert np.isnan(found[0])
    assert np.isfinite(found[1:]).all()
    with pytest.raises(TypeError, match="'g' of data holds numbers, but held text in fit"):
        fitted(data).predict(data.assign(g=1.0))
    with pytest.raises(TypeError, match="'x' of data holds text, but held numbers in fit"):
        fitted(data).predict(data.assign(x="much"))
    assert np.isnan(fitted(data).predict(data.assign(g=None))).all()


def test_dates_index_the_curves_and_bound_intervals(data):
    dated = fitted(data.assign(t=DAY + pd.to_timedelta(data["t"], unit="D")))
    assert isinstance(dated.coef_.index, pd.DatetimeIndex)
    inner = dated.test("x", interval=("2024-01-02", "2024-01-04"))
    assert inner.pvalue == pytest.approx(fitted(data).test("x", interval=(1, 3)).pvalue, rel=1e-12)


def test_arrays_need_no_formula(data):
    x, y = data[["x", "z"]].to_numpy(), data["v"].to_numpy()
    ids, times = data["id"].to_numpy(), data["t"].to_numpy()
    named = fitted(data, "v ~ x + z", "identity")
    model = TemporalProcessRegression()
    identical(named, model.fit(x, y, id=ids, time=times))
    assert list(model.coef_.columns) == ["Intercept", "x0", "x1"]
    identical(named, model.fit((x, y), id=data["id"], time=list(times)))
    identical(named, model.fit(data[["id", "t", "x", "z", "v"]], "v", id="id", time="t"))
    assert list(model.coef_.columns) == ["Intercept", "x", "z"]
    np.testing.assert_allclose(model.predict(data), named.predict(data))


def test_unavailable_in_four_ways_is_the_same(data):
    gone = (data["id"] % 7 == 0) & (data["t"] == 2)
    absent = fitted(data[~gone])
    assert absent.n_available_[2] == (~gone & (data["t"] == 2)).sum()
    identical(absent, fitted(data.assign(y=data["y"].astype(float).mask(gone))))
    identical(absent, fitted(data.assign(x=data["x"].mask(gone))))
    identical(absent, fitted(data.assign(g=data["g"].mask(gone))))
    identical(absent, fitted(data.assign(ok=~gone), available="ok"))
    identical(absent, fitted(data.assign(w=np.where(gone, 0.0, 1.0)), sample_weight="w"))
    nulls = pl.from_pandas(data).with_columns(
        pl.when(pl.Series(gone.to_numpy())).then(None).otherwise(pl.col("y")).alias("y")
    )
    identical(absent, fitted(nulls))


def test_stateful_transformations_ignore_incomplete_rows(data):
    holes = data.assign(x=data["x"].where(data.index % 11 != 0))
    model = fitted(holes, "v ~ center(x)", "identity")
    by_hand = fitted(holes.assign(x=holes["x"] - holes["x"].mean()), "v ~ x", "identity")
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(holes)[1:5], by_hand.predict(by_hand_rows(holes))[1:5])


def by_hand_rows(holes):
    return holes.assign(x=holes["x"] - holes["x"].mean())


def test_irregular_grid_with_few_shared_times(data):
    odd = data[(data["t"] % 2 == 0) | (data["id"] < 60)]
    model = fitted(odd, "v ~ x", "identity")
    full = fitted(data, "v ~ x", "identity")
    np.testing.assert_allclose(model.coef_.loc[[0, 2, 4]], full.coef_.loc[[0, 2, 4]], rtol=1e-10)
    assert model.n_available_[1] < full.n_available_[1]


ERRORS = {
    "infinite": (lambda d: d.assign(x=d["x"].where(d.index != 3, np.inf)), "'x' is infinite in 1 row"),
    "twice": (lambda d: pd.concat([d, d.iloc[:2]]), "2 rows at time"),
    "no rows": (lambda d: d.iloc[:0], r"0 sample\(s\)"),
    "all missing": (lambda d: d.assign(y=np.nan), "no row is available"),
    "one subject": (lambda d: d[d["id"] == 5], "no time has more than 1 available for 3"),
    "constant": (lambda d: d.assign(x=1.0), "'x' is the same for every available subject"),
    "missing id": (lambda d: d.assign(id=d["id"].where(d.index > 0)), "'id'. is missing in 1 row"),
    "missing time": (lambda d: d.assign(t=d["t"].where(d.index > 0)), "'t'. is missing in 1 row"),
    "infinite time": (lambda d: d.assign(t=d["t"].where(d.index > 0, np.inf)), "infinite"),
    "mixed ids": (lambda d: d.assign(id=[i if i % 2 else str(i) for i in d["id"]]), "mixes numbers"),
    "range": (lambda d: d.assign(y=2 * d["y"]), "between 0 and 1"),
    "text response": (lambda d: d.assign(y=np.where(d["y"] == 1, "yes", "no")), "2 columns"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_data_say_what_is_wrong(data, case):
    change, message = ERRORS[case]
    with pytest.raises(ValueError, match=message):
        fitted(change(data))


def test_bad_arguments_say_what_is_allowed(data):
    with pytest.raises(TypeError, match="must be numbers or dates, but holds '0'"):
        fitted(data.assign(t=data["t"].astype(str)))
    with pytest.raises(ValueError, match=r"id='idd' is not a column of data\. Did you mean 'id'"):
        TemporalProcessRegression("y ~ x").fit(data, id="idd", time="t")
    with pytest.raises(ValueError, match="'who' is not a column"):
        TemporalProcessRegression("y ~ x").fit(data, id="who", time="t")
    with pytest.raises(ValueError, match="id has 3 values, but data has 660 rows"):
        TemporalProcessRegression("y ~ x").fit(data, id=[1, 2, 3], time="t")
    with pytest.raises(ValueError, match="variable of the formula='nothing' is not a column of data"):
        fitted(data, "y ~ nothing")
    with pytest.raises(ValueError, match="no response"):
        fitted(data, "x + z")
    with pytest.raises(ValueError, match="cannot be read"):
        fitted(data, "y ~ x +* z")
    with pytest.raises(ValueError, match="sample_weight is negative in 660 of 660 rows"):
        fitted(data.assign(w=-1.0), sample_weight="w")
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        fitted(data.assign(w=np.nan), sample_weight="w")
    with pytest.raises(ValueError, match=r"must hold True and False \(or 1 and 0\), but holds 'maybe'"):
        fitted(data.assign(ok="maybe"), available="ok")
    with pytest.raises(ValueError, match="response is needed"):
        TemporalProcessRegression().fit(data[["x"]].to_numpy(), id=data["id"], time=data["t"])
    with pytest.raises(TypeError, match=r"'g'.* holds text .*Or give a formula, which codes categories"):
        TemporalProcessRegression().fit(data, "v", id="id", time="t")
    with pytest.raises(ValueError, match="not negative"):
        fitted(data, "v ~ x", "log")
    with pytest.raises(TypeError, match="data is of type int"):
        fitted(5)
