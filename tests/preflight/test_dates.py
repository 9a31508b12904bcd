"""Dates as numbers, in every library of frames."""

from datetime import date, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rlselect import check, expand_dates
from rlselect.preflight import find_dates

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


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_day_or_month_first_is_told_and_never_guessed(make):
    told = find_dates(make({"seen": ["01/02/2024"] * 30 + ["31/12/2024"]}))
    new = make({"seen": ["01/02/2024"]})
    assert [int(str(m)) for m in told.make(new)["seen.month"]] == [2]
    assert told.day_first == {"seen": True}
    with pytest.raises(
        ValueError, match=r"'seen' .* such as '01/02/2024', .*give day_first=True or day_first=False"
    ):
        expand_dates(new, ["seen"])
    for first, month in ((True, 2), (False, 1)):
        out = expand_dates(new, ["seen"], day_first=first)
        assert [int(str(m)) for m in out["seen.month"]] == [month]
    with pytest.raises(ValueError, match="'seen' holds dates, day first, but for '02/13/2024'"):
        told.make(make({"seen": ["02/13/2024", "01/02/2024"]}))


def test_late_rows_tell_the_order():
    frame = pl.DataFrame({"seen": ["01/02/2024", "02/02/2024"] * 1500 + ["31/12/2024"]})
    assert expand_dates(frame)["seen.month"][0] == 2


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_years_of_two_digits_are_not_taken_for_antiquity(make):
    frame = make({"seen": ["01/02/24", "03/04/24"]})
    assert find_dates(frame).written == {}
    mixed = make({"seen": [f"{k:02d}.01.2024" for k in range(1, 29)] + ["05.01.24"]})
    with pytest.raises(ValueError, match=r"but for '05\.01\.24'"):
        expand_dates(mixed)


def test_a_look_says_where_no_cell_tells_the_order():
    firsts = [f"01/{month:02d}/2024" for month in range(1, 13)]
    for last, asks in (("01/01/2025", True), ("31/12/2024", False)):
        said = " ".join(str(check(pa.table({"seen": [*firsts, last], "y": range(13)}), "y")).split())
        assert ("No cell of 'seen' tells" in said, "day_first=..." in said) == (asks, asks)
        found = check(pa.table({"seen": [*firsts, last], "y": range(13)}), "y").recommendation
        assert ("--day-first" in found.command, "day_first=True" in found.python) == (asks, asks)
