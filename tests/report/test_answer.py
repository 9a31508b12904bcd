"""The sentence that a report opens with says what was found, and what was not."""

import pytest

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
