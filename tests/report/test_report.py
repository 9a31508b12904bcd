"""Reports carry what they are given, escaped, in a page that needs nothing else."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from rlselect.report import inclusion_svg, search_svg, to_html, to_json, to_markdown

REPORT = {
    "title": "REVS on <crime>",
    "family": "gaussian",
    "n_rows": 1993,
    "n_rows_read": np.int64(1500),
    "n_features": 100,
    "stop_reason": "the set was stable",
    "seconds": 0.1234,
    "variables": [
        {"name": "Pct<script>alert(1)</script>", "inclusion": np.float64(0.98), "coef": -0.25, "gain": 310.5},
        {"name": "a|b*c", "inclusion": 0.5, "coef": {"x=1": 0.5, "x=2": np.float32(0.25)}, "gain": np.nan},
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
    assert "x=1 0.5, x=2 0.25" in page.words
    assert page.words.count("-") == 1  # the gain that is not a number
    assert any("optimistic & more" in w for w in page.words)
    assert page.tags.count("svg") == 2


def test_html_is_self_contained_and_escaped():
    text = to_html(REPORT)
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "image", "use"} & set(page.tags)
    assert not {"src", "href", "xlink:href"} & {name for name, _ in page.attributes}
    assert not re.search(r"https?://|url\(|@import", text)
    assert "<script" not in text


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


def test_markdown_table():
    text = to_markdown(REPORT)
    lines = text.splitlines()
    assert lines[0] == r"# REVS on \<crime\>"
    assert "- Rows read: 1,500 of 1,993" in lines
    row = next(line for line in lines if "b" in line and line.startswith(r"| a"))
    assert row.startswith(r"| a\|b\*c | 0.500 |")
    assert lines[-1].startswith("> Standard errors")
    assert "No variable was selected." in to_markdown({"title": "t"})


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
