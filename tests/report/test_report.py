"""Reports carry what they are given, escaped, in a page that needs nothing else."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from rlselect.report import inclusion_svg, search_svg, to_html, to_json, to_markdown, variable_rows

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
        if tag not in ("meta", "path", "rect", "circle"):
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
    cells = [w for w in page.words if w.strip()]
    start = cells.index("  x=1")
    assert cells[start - 3 : start + 6] == [
        "a|b*c",
        "0.500",
        "-",
        "  x=1",
        "0.5000",
        "0.06250",
        "  x=2",
        "0.2500",
        "-",
    ]
    assert "Std. error" in page.words
    assert page.words.count("-") == 2  # the gain and the error that are not numbers
    assert any("optimistic & more" in w for w in page.words)
    assert page.tags.count("svg") == 2


def test_html_is_self_contained_and_escaped():
    text = to_html(REPORT)
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "image", "use"} & set(page.tags)
    assert not {"src", "href", "xlink:href"} & {name for name, _ in page.attributes}
    assert not re.search(r"https?://|url\(|@import", text)
    assert "<script" not in text


def test_tables_and_pictures_have_names_and_boxes_of_their_own():
    page = Page(to_html({**REPORT, "made": {"code": "model = REVS(<1>)", "Seed": 3}}))
    assert page.tags.count("main") == 1
    boxes = [value for name, value in page.attributes if (name, value) == ("class", "scroll")]
    # one table, two pictures and the code
    assert len(boxes) == [name for name, _ in page.attributes].count("tabindex") == 4
    assert page.tags.count("svg") == page.attributes.count(("role", "img"))
    assert page.tags.count("th") == [name for name, _ in page.attributes].count("scope")
    end = page.words.index("How it was made")
    assert "model = REVS(<1>)" in page.words[end:]
    assert page.words[page.words.index("Seed") + 1] == "3"


def test_several_reports_share_a_page():
    page = Page(to_html([REPORT, {**REPORT, "title": "Second", "facts": {"Found": 24, "Missed": []}}]))
    assert page.tags.count("section") == 2
    assert "Second" in page.words
    assert {"Found", "24", "Missed", "none"} <= set(page.words)


def test_empty_selection_and_long_ones():
    page = Page(to_html({"title": "Noise", "variables": [], "n_features": 5}))
    assert "No variable was selected." in page.words
    assert "0 of 5 variables" in page.words
    assert "svg" not in page.tags
    many = [{"name": f"v{k}", "inclusion": 1.0, "coef": 1.0, "gain": 1.0} for k in range(130)]
    page = Page(to_html({"variables": many, "n_features": 500}))
    assert "30 more variables are not shown." in page.words
    assert len(json.loads(to_json({"variables": many}))["variables"]) == 130


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
    assert cells[2] == [r"Pct\<script>alert(1)\</script>", "0.980", "-0.2500", "0.1250", "310"]
    assert cells[3:] == [
        [r"a\|b\*c", "0.500", "", "", "-"],
        ["x=1", "", "0.5000", "0.06250", ""],
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


def points(svg, colour):
    path = next(p for p in ElementTree.fromstring(svg).iter("path") if p.get("stroke") == colour)
    return path.get("d")


def test_search_picture_steps_and_gaps():
    svg = search_svg(REPORT["path"])
    size, score = points(svg, "#2f6fb5"), points(svg, "#c07a13")
    # steps go sideways, then up; the highest size is at the top of its panel
    assert re.fullmatch(r"M[\d. ]+(H[\d.]+V[\d.]+){3}", size)
    heights = [float(v) for v in re.findall(r"V([\d.]+)", size)]
    assert heights[1] == min(heights) == 24
    assert score.count("M") == 1  # the infinite first score is left out
    assert score.count("L") == 2
    assert "last subset holds 2 variables" in svg


@pytest.mark.parametrize(
    "path",
    [
        {"stage": [], "size": [], "score": []},
        {},
        {"stage": [0], "size": [0], "score": [1.0]},
        {"stage": [0, 1], "size": [2, 2], "score": [1.0, 1.0]},
        {"stage": [0, 1], "size": [2, 2], "score": [np.nan, np.nan]},
        {"stage": [0, 1, 2], "size": [2, 2, 1], "score": [1e-12, np.nan, 1e9]},
    ],
)
def test_search_picture_of_small_searches_is_well_formed(path):
    svg = search_svg(path)
    ElementTree.fromstring(svg)
    assert "nan" not in svg
    assert "inf" not in svg


def test_long_searches_are_thinned_but_keep_their_ends():
    n = 5000
    svg = search_svg({"stage": range(n), "size": range(n), "score": np.arange(n) / n})
    assert len(svg) < 60_000
    assert "Search of 5,000 stages" in svg
    assert points(svg, "#c07a13").endswith("704.0 200.0")


def test_search_picture_refuses_ragged_columns():
    with pytest.raises(ValueError, match="must have one length, got 2, 1 and 2"):
        search_svg({"stage": [0, 1], "size": [1], "score": [0, 1]})


def test_bars_have_the_length_of_inclusion():
    svg = inclusion_svg(REPORT["variables"])
    bars = [r for r in ElementTree.fromstring(svg).iter("rect") if r.get("fill") == "#2f6fb5"]
    full = float(next(r for r in ElementTree.fromstring(svg).iter("rect")).get("width"))
    assert [round(float(b.get("width")) / full, 2) for b in bars] == [0.98, 0.5]
    long = inclusion_svg([{"name": "n" * 80, "inclusion": 2.0}] * 50)
    assert long.count("<g>") == 30
    assert "n" * 80 in long  # whole in the tooltip
    ElementTree.fromstring(inclusion_svg([]))


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
        {"title": "Tree", "text": "a?\n  <= 1: b"},
    ],
    "path": {"stage": [1, 2], "size": [3, 4], "score": [0.0, 1.0], "titles": ["bought", "return"]},
}


def test_sections_stand_in_place_of_variables():
    page = Page(to_html(SECTIONS))
    text = " ".join(page.words)
    assert "Use of <x>" in text
    assert "No variable was selected." not in text
    assert "30 more rows are not shown." in text
    assert "a?\n  <= 1: b" in text
    assert page.tags.count("svg") == 2
    assert "bought" in text
    assert "return" in text


def test_sections_in_markdown():
    text = to_markdown(SECTIONS)
    assert "## Use of \\<x>" in text
    assert "| Name | Sh\\|are |" in text
    assert "| f99  |   0.495 |" in text
    assert "f100" not in text
    assert "30 more rows are not shown." in text
    assert "```text\na?\n  <= 1: b\n```" in text
    assert "A \\*note\\*." in text
    assert "No variable" not in text
