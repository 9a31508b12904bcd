"""The sentence that a report opens with says what was found, and what was not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rlselect import REVS, CorrelationFeatureSelection
from rlselect.report import answer_selection, name_some, stopped_early, to_html, to_markdown


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ({}, "None of the 9 variables was selected: the data do not show that any one"),
        (
            {"near certain": ["a"], "likely": []},
            "1 of 9 variables matters for the target: a, which is near certain.",
        ),
        ({"likely": ["a", "b"]}, ": a and b, both likely."),
        ({"likely": ["a", "b", "c"]}, ": a, b and c, all likely."),
        ({"": ["a", "b"]}, "2 of 9 variables matter for the target: a and b."),
        ({"near certain": ["a", "b"], "likely": ["c"]}, ": 2 are near certain (a and b), 1 is likely (c)."),
    ],
)
def test_how_sure_the_selected_are(kinds, told):
    assert told in answer_selection(9, kinds)
    assert answer_selection(9, kinds, "More.").endswith(". More.")


def test_many_names_are_counted():
    assert name_some("abcdefgh") == "a, b, c, d, e, f and 2 more"
    assert name_some(["a"]) == "a"


def test_an_early_end_is_told():
    assert stopped_early("converged", "all rows") == []
    (told,) = stopped_early("largest gap", "time budget, several columns left at once")
    assert "(time budget)" in told


def test_the_answer_comes_first_and_stays_text():
    report = {"title": "T", "answer": "It is <b>x*y</b>.", "n_rows": 3, "notes": ["n"]}
    page, text = to_html(report), to_markdown(report)
    assert page.index("</h1>") < page.index("It is &lt;b&gt;x*y") < page.index("Rows read")
    assert text.index("# T") < text.index(r"It is \<b>x\*y\</b>.") < text.index("Rows read")


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (lambda y: pd.Series(y, name="price, net"), "'price, net'"),
        (lambda y: pl.Series("price", y), "price"),
        (lambda y: pd.Series(y, name=3), "the target"),
        (lambda y: pd.Series(y, name="target"), "the target"),
        (lambda y: y, "the target"),
    ],
)
def test_a_page_says_what_the_target_is_called(y, name):
    X = np.arange(24.0).reshape(12, 2) % 7
    fit = CorrelationFeatureSelection().fit(X, y(X[:, 0]))
    title, answer = (fit.summary().dict[key] for key in ("title", "answer"))
    assert f"matters for {name}: x0." in answer
    assert title == ("Which variables matter" + (f" for {name}" if name != "the target" else ""))


def test_rows_below_a_variable_say_what_they_are_about():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(90), "mended": rng.choice(["yes", "no"], 90)})
    frame["a"] = frame["a"].where(frame.index % 9 > 0)
    y = pd.Series(3.0 * frame["a"].fillna(2.0) + 4.0 * (frame["mended"] == "yes"), name="price")
    told = str(REVS(missing="indicator", random_state=0).fit(frame, y).summary())
    rows = [line.split("|")[1].strip() for line in told.splitlines() if line.startswith("| ")][1:]
    # of two levels, the one that has the coefficient
    assert sorted(rows) == sorted(["a", "per unit", "missing", "mended", "yes"])
    assert (
        "adds to price in a refit on the selected ones; levels are compared with no of mended."
        in " ".join(told.split())
    )


def test_a_search_that_was_ended_does_not_say_what_the_data_show():
    told = answer_selection(9, {}, "A fact.", *stopped_early("time budget"))
    assert told.startswith("None of the 9 variables was selected. A fact. The search was ended")
    assert "do not show" not in told
