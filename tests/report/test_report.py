"""Reports carry what they are given, escaped, in a page that needs nothing else."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from rlselect.report import (
    cited_works,
    section_rows,
    selection_table,
    to_html,
    to_json,
    to_markdown,
    to_notebook,
)
from rlselect.report._format import variable_rows

REPORT = {
    "title": "REVS on <crime>",
    "family": "gaussian",
    "n_rows": 1993,
    "n_rows_read": np.int64(1500),
    "n_features": 100,
    "stop_reason": "the set was stable",
    "seconds": 0.1234,
    "variables": [
        {
            "name": "Pct<script>alert(1)</script>",
            "inclusion": np.float64(0.98),
            "coef": -0.25,
            "error": 0.125,
            "gain": 310.5,
        },
        {
            "name": "a|b*c",
            "inclusion": 0.5,
            "coef": {"x=1": 0.5, "x=2": np.float32(0.25)},
            "error": {"x=1": 0.0625, "x=2": np.nan},
            "gain": np.nan,
        },
    ],
    "path": {"stage": [0, 1, 2, 3], "size": np.array([0, 1, 3, 2]), "score": [-np.inf, -3.0, -2.0, -1.5]},
    "notes": ["Standard errors after selection are optimistic & more."],
}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_html_holds_the_facts():
    page = Page(to_html(REPORT))
    for text in (
        "REVS on <crime>",
        "2 of 100 variables",
        "1,500 of 1,993",
        "0.12 s",
        "the set was stable",
        "0.980",
    ):
        assert text in page.words
    cells = [w for w in page.words if w.strip()][: page.words.index("To keep in mind")]
    start = cells.index("  x=1")
    assert cells[start - 3 : start + 6] == [
        "a|b*c",
        "0.500",
        "-",
        "  x=1",
        "0.500",
        "0.062",
        "  x=2",
        "0.2500",
        "-",
    ]
    assert "Std. error" in page.words
    assert cells.count("-") == 2  # the gain and the error that are not numbers
    assert any("optimistic & more" in w for w in page.words)
    assert page.tags.count("svg") == 4  # a bar per variable, and two curves


@pytest.mark.parametrize("write", [to_html, lambda report: to_html([report, report]), to_notebook])
def test_html_is_self_contained_and_escaped(write):
    text = write(REPORT)
    page = Page(text)
    assert not {"link", "img", "iframe", "object", "image", "use"} & set(page.tags)
    assert page.tags.count("script") == (write is not to_notebook)
    given = dict(page.attributes)
    assert not {"src", "xlink:href", "onclick"} & set(given)
    assert given.get("href", "#").startswith("#")
    assert not re.search(r"https?://|url\(|@import", text)
    assert "<script>alert" not in text


def test_a_part_of_a_notebook_leaves_the_rest_alone():
    text = to_notebook(REPORT)
    style = re.search("<style>(.*?)</style>", text, re.DOTALL).group(1)
    rules = re.findall(r"^ *([^@/}\n][^{}\n]*) \{", re.sub(r"/\*.*?\*/", "", style), re.MULTILINE)
    assert len(rules) > 40
    assert all(
        one.strip().startswith(".rlselect") for rule in rules for one in re.split(r",(?![^(]*\))", rule)
    )
    assert "<h1" not in text


def test_tables_and_pictures_have_names_and_boxes_of_their_own():
    page = Page(to_html({**REPORT, "made": {"code": "model = REVS(<1>)", "Seed": 3}}))
    assert page.tags.count("main") == 1
    boxes = [value for name, value in page.attributes if (name, value) == ("class", "scroll")]
    assert len(boxes) == [name for name, _ in page.attributes].count("tabindex") == 1
    assert page.tags.count("svg") == 4
    assert page.attributes.count(("role", "img")) == page.attributes.count(("aria-hidden", "true")) == 2
    assert page.tags.count("th") == [name for name, _ in page.attributes].count("scope")
    end = page.words.index("How it was made")
    assert "model = REVS(<1>)" in page.words[end:]
    assert page.words[page.words.index("Seed") + 1] == "3"


def test_several_reports_share_a_page():
    page = Page(to_html([REPORT, {**REPORT, "title": "Second", "facts": {"Found": 24, "Missed": []}}]))
    assert page.tags.count("section") == 2
    assert page.words.count("Second") == 2  # a link at the top, and the heading
    assert ("href", "#part-1") in page.attributes
    assert page.tags.count("h1") == 1
    assert page.tags.count("h2") == page.tags.count("h3") + 1
    assert {"Found", "24", "Missed", "none"} <= set(page.words)


def test_empty_selection_and_long_ones():
    page = Page(to_html({"title": "Noise", "variables": [], "n_features": 5}))
    assert "No variable was selected." in page.words
    assert "0 of 5 variables" in page.words
    assert "svg" not in page.tags
    many = [{"name": f"v{k}", "inclusion": 1.0, "coef": 1.0, "gain": 1.0} for k in range(1130)]
    page = Page(to_html({"variables": many, "n_features": 5000}))
    assert "130 more variables are not shown." in page.words
    assert page.attributes.count(("class", "rest")) == 985
    assert "Show all 1,000 rows" in page.words
    assert "1030 more variables are not shown." in to_markdown({"variables": many})
    assert len(json.loads(to_json({"variables": many}))["variables"]) == 1130


def test_json_is_strict():
    back = json.loads(to_json(REPORT), parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))
    assert back["n_rows_read"] == 1500
    assert back["path"]["size"] == [0, 1, 3, 2]
    assert back["path"]["score"][0] is None
    assert back["variables"][1]["gain"] is None
    assert back["variables"][1]["coef"] == {"x=1": 0.5, "x=2": 0.25}
    assert back["variables"][1]["error"] == {"x=1": 0.0625, "x=2": None}


def test_markdown_table():
    text = to_markdown(REPORT)
    lines = text.splitlines()
    assert lines[0] == r"# REVS on \<crime>"
    assert "- Rows read: 1,500 of 1,993" in lines
    head = next(k for k, line in enumerate(lines) if line.startswith("| Variable"))
    table = lines[head : head + 6]
    assert len({len(line) for line in table}) == 1  # the columns are aligned
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]
    assert cells[0] == ["Variable", "Inclusion", "Coefficient", "Std. error", "Gain"]
    assert cells[2] == [r"Pct\<script>alert(1)\</script>", "0.980", "-0.25", "0.12", "310"]
    assert cells[3:] == [
        [r"a\|b\*c", "0.500", "", "", "-"],
        ["x=1", "", "0.500", "0.062", ""],
        ["x=2", "", "0.2500", "-", ""],
    ]
    assert lines[-1].startswith("> Standard errors")
    assert "No variable was selected." in to_markdown({"title": "t"})


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("floor_area_m2", "floor_area_m2"),
        ("_x_", r"\_x\_"),
        ("[a](b)", r"\[a](b)"),
        ("income [usd]", "income [usd]"),
        ("R&amp;D", r"R\&amp;D"),
        ("R&D", "R&D"),
        ("a\n| b", r"a \| b"),
    ],
)
def test_names_are_escaped_only_where_they_are_markup(name, written):
    text = to_markdown({"variables": [{"name": name, "inclusion": 1.0, "coef": 1.0, "gain": 1.0}]})
    assert f"| {written} " in text


def test_numbers_can_be_read_down_a_column():
    coefs, gains = [-1.0, 0.00012345, 42091.7, 2541.9, 3e15], [0.00017392, 4.55e-7, -8.3e-6, np.nan, 1e-9]
    pairs = enumerate(zip(coefs, gains, strict=True))
    variables = [{"name": f"v{k}", "inclusion": 1, "coef": c, "gain": g} for k, (c, g) in pairs]
    rows, _ = variable_rows({"variables": variables})
    assert [row[2] for row in rows] == ["-1.000", "0.0001234", "42,092", "2,542", "3.000e+15"]
    assert [row[3] for row in rows] == ["-"] * 5
    assert [row[4] for row in rows] == ["0.000174", "0.000000", "-0.000008", "-", "0.000000"]
    for variable in variables:
        variable["gain"] = 5.71e9
    assert variable_rows({"variables": variables})[0][0][4] == "5.71e+09"


def test_the_reason_to_stop_is_a_sentence():
    assert "- Stopped: all rows are used" in to_markdown({"stop_reason": "all rows"})
    assert "- Stopped: the moon" in to_markdown({"stop_reason": "the moon"})


def test_columns_of_one_scale_are_aligned():
    def column(*values):
        return [row[0] for row in section_rows({"rows": [[v] for v in values]})[0]]

    assert column(0.5, 0.159, None, 0.0) == ["0.500", "0.159", "-", "0.000"]
    assert column(0.03407, -0.0004, np.nan) == ["0.03407", "-0.00040", "-"]
    assert column(0.002, 0.002) == ["0.002", "0.002"]
    assert column(1.0, 2.0) == ["1", "2"]
    assert column(0.5035, 0.03854, 0.001618, 0.0) == ["0.5035", "0.0385", "0.0016", "0.0000"]
    # what is of different scales, whole, or mixed with text stays as it is
    assert column(19.27, 0.09693) == ["19.27", "0.09693"]
    assert column(1234.5, 0.5) == ["1234", "0.5"]
    assert column(3, 2.5, "a") == ["3", "2.5", "a"]


def test_works_are_read_from_the_documentation():
    def method():
        """One sentence.

        References
        ----------
        .. [1] A. Author (2001), "A paper",
           A Journal 1.
        .. [2] B. Author.

        Examples
        --------
        """

    assert cited_works(method) == ['A. Author (2001), "A paper", A Journal 1.', "B. Author."]
    assert cited_works(lambda: None) == []
    made = {"code": "f()", "works": ["A <b>"], "settings": {"alpha": "0.1"}, "Seed": 1}
    page = Page(to_html({"made": made}))
    for word in ("A <b>", "alpha", "0.1", "Seed"):
        assert word in page.words


SECTIONS = {
    "title": "Cases",
    "facts": {"Accuracy": 0.5},
    "sections": [
        {
            "title": "Use of <x>",
            "columns": ["Name", "Sh|are"],
            "rows": [[f"f{k}", k / 200] for k in range(130)],
            "bars": [("a<b", 0.25), ("c", 2.0)],
            "note": "A *note*.",
        },
        {"title": "Tree", "text": "a?\n  <= 1: -> <b>"},
    ],
    "path": {"stage": [1, 2], "size": [3, 4], "score": [0.0, 1.0], "titles": ["bought", "return"]},
}


def test_sections_stand_in_place_of_variables():
    page = Page(to_html(SECTIONS))
    text = " ".join(page.words)
    assert "Use of <x>" in text
    assert "No variable was selected." not in text
    assert "Show all 130 rows" in text
    assert "a? <= 1: → <b>" in text
    assert page.tags.count("svg") == 4  # two bars that belong to no row of the table, and two curves
    assert "bought" in text
    assert "return" in text


def test_a_tree_is_a_list_of_lists():
    text = "a?\n    1: b?\n        2: -> x\n    3: -> y\nz"
    page = to_html({"sections": [{"title": "T", "text": text}]})
    whole = "<li>a?<ul><li>1: b?<ul><li>2: → x</li></ul></li><li>3: → y</li></ul></li><li>z</li></ul>"
    assert f'<ul class="tree">{whole}' in page
    assert "<pre>x\ny</pre>" in to_html({"sections": [{"title": "T", "text": "x\ny"}]})


def test_findings_stand_for_the_text():
    found = [{"weight": "problem", "text": "a <gap>", "mend": "missing='drop'"}]
    page = Page(to_html({"sections": [{"title": "T", "text": "plain", "findings": found}]}))
    assert "plain" not in page.words
    assert {"Problem:", " a <gap>", "missing='drop'"} <= set(page.words)


def test_sections_in_markdown():
    text = to_markdown(SECTIONS)
    assert "## Use of \\<x>" in text
    assert "| Name | Sh\\|are |" in text
    assert "| f99  |   0.495 |" in text
    assert "f100" not in text
    assert "30 more rows are not shown." in text
    assert "```text\na?\n  <= 1: -> <b>\n```" in text
    assert "A \\*note\\*." in text
    assert "No variable" not in text


@pytest.mark.parametrize(
    ("coef", "error", "told"),
    [
        (0.19497, 0.02701, ("0.195", "0.027")),
        (-995480.4, 24303.0, ("-995,480", "24,303")),
        (3.63e-05, 0.001772, ("0.0000", "0.0018")),
        (1.25, 0.0, ("1.250", "0")),
        (1.25, None, ("1.250", "-")),
        (2e-9, 3e-10, ("2.000e-09", "3e-10")),
        (0.02, 5e7, ("0", "50,000,000")),
        (float("nan"), float("nan"), ("-", "-")),
    ],
)
def test_a_coefficient_has_the_digits_that_its_error_leaves(coef, error, told):
    variable = {"name": "a", "inclusion": 1.0, "coef": coef, "error": error, "gain": 1.0}
    rows, _ = variable_rows({"variables": [variable]})
    assert tuple(rows[0][2:4]) == told


def test_a_long_tree_shows_its_first_steps_and_folds_the_rest():
    lines = ["a?", *(line for k in range(20) for line in (f"  {k}: b?", "    yes: ->  1", "    no: -> 2"))]
    page = to_html({"sections": [{"title": "T", "text": "\n".join(lines)}]})
    first, folded = page.split("<details><summary>All 61 lines</summary>")
    assert "19: b?" in first
    assert "→" not in first
    assert folded.count("→") == 40


def test_pvalues_have_three_decimals():
    rows, _ = section_rows({"columns": ["a", "p (mean)"], "rows": [["x", 9e-62], ["y", 0.0498], ["z", None]]})
    assert [row[1] for row in rows] == ["<0.001", "0.050", "-"]


def test_a_page_shows_the_command_that_made_it():
    made = {"command": "rlselect select '<b>.csv'", "code": "model = REVS()"}
    page = to_html({"title": "t", "made": made})
    assert "rlselect select &#x27;&lt;b&gt;.csv&#x27;" in page
    assert page.index("rlselect select") < page.index("<summary>In Python") < page.index("model = REVS()")


def test_units_flags_and_long_words_stay_whole():
    times = [["a", "0.37 s"], ["b", "12.01 s"]]
    page = to_html(
        {
            "facts": {"Method": "DatumwiseClassifier", "Time": "1 s"},
            "made": {"command": "rlselect check 'a --b.csv' --drop-missing-target", "code": "x"},
            "sections": [{"title": "T", "columns": ["Selector", "Time"], "rows": times}],
        }
    )
    assert '<td class="n">12.01 s</td>' in page
    assert "<span>--drop-missing-target</span>" in page
    assert '<div class="wide-0 word"><dt>Method</dt>' in page
    assert '<div class="wide-0"><dt>Time</dt>' in page


def test_a_text_shows_the_largest_of_many_levels_and_a_page_all():
    coef = {f"shop=s{k}": float((-1) ** k * k) for k in range(60)}
    variable = {
        "name": "shop",
        "inclusion": 1.0,
        "coef": coef,
        "error": dict.fromkeys(coef, 1.0),
        "gain": 1.0,
    }
    report = {"title": "t", "n_features": 1, "variables": [variable]}
    shown = [row[0].strip() for row in selection_table(report)[1]]
    assert shown == ["shop", *(f"s{k}" for k in range(35, 60)), "35 more, nearer to 0"]
    assert len(selection_table(report, 1000)[1]) == 61


def test_levels_of_one_variable_do_not_hide_the_others():
    coef = {f"shop=s{k}": float(k) for k in range(60)}
    of_levels = {"name": "shop", "inclusion": 1.0, "coef": coef, "error": coef, "gain": 2.0}
    others = [{"name": f"x{k}", "inclusion": 1.0, "coef": 1.0, "error": 1.0, "gain": 1.0} for k in range(4)]
    page = to_html({"title": "t", "n_features": 5, "variables": [of_levels, *others]})
    rows = re.findall(r'<tr class="([^"]*)"><th scope="row" class="[^"]*">([^<]*)</th>', page)
    shown = [name.strip() for kind, name in rows if "rest" not in kind]
    assert shown == ["shop", *(f"s{k}" for k in range(10)), "x0", "x1", "x2", "x3"]


def test_a_variable_without_a_name_is_seen():
    variable = {"name": "", "inclusion": 1.0, "coef": 1.0, "error": 1.0, "gain": 1.0}
    assert variable_rows({"variables": [variable]})[0][0][0] == "''"
