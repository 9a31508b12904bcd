"""Dates as numbers, in every library of frames."""

from datetime import date, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rlselect import expand_dates

DAYS = {"seen": [date(2000, 1, 1), date(2024, 2, 3)], "x": [1.0, 2.0]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_days_months_and_weekdays(make):
    data = DAYS if make is not pd.DataFrame else DAYS | {"seen": pd.to_datetime(DAYS["seen"])}
    out = expand_dates(make(data))
    assert type(out) is type(make(DAYS))
    values = {
        name: list(out[name].to_pylist() if make is pa.table else out[name])
        for name in ("seen.days", "seen.month", "seen.weekday", "x")
    }
    assert values == {
        "seen.days": [0.0, 8799.0],
        "seen.month": [1, 2],
        "seen.weekday": [6, 6],
        "x": [1.0, 2.0],
    }


def test_hours_where_there_are_any():
    out = expand_dates(pl.DataFrame({"at": [datetime(2024, 1, 1, 6), datetime(2024, 1, 2, 18)]}))
    assert out["at.hour"].to_list() == [6, 18]
    assert out["at.days"].to_list() == [8766.25, 8767.75]


def test_a_row_means_the_same_beside_other_rows():
    frame = pl.DataFrame(DAYS)
    assert expand_dates(frame[1:]).equals(expand_dates(frame)[1:])


def test_text_and_gaps():
    frame = pl.DataFrame({"seen": ["03.02.2024", None, "01.01.2000"], "name": ["a", "b", "c"]})
    out = expand_dates(frame)
    assert out["seen.days"].to_list() == [8799.0, None, 0.0]
    assert out["name"].to_list() == ["a", "b", "c"]


def test_what_is_no_date_is_named():
    with pytest.raises(ValueError, match="'x' holds no dates"):
        expand_dates(pl.DataFrame(DAYS), ["x"])
    with pytest.raises(ValueError, match="seem"):
        expand_dates(pl.DataFrame(DAYS), ["seem"])


def test_columns_that_stay_and_cells_that_are_no_dates():
    table = pa.table({"when": ["2024-01-01", "2024-02-03"], "seen": ["2024-01-01", "2024-02-03"]})
    assert expand_dates(table, but=["when"]).column_names[0] == "when"
    spoilt = pa.table(
        {
            "when": ["2024-01-01"] * 40
            + ["2024-02-03"] * 40
            + [f"2024-03-{k:02d}" for k in range(1, 29)]
            + ["-9"]
        }
    )
    with pytest.raises(ValueError, match=r"Column 'when' holds dates but for '-9'; .*--na '-9'"):
        expand_dates(spoilt)
