"""Curves with bands: what is drawn lies where the values say, with gaps where there are none."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from rlselect.report import curve_svg, search_curves, to_html

CURVE = {
    "title": "Effect of <age>",
    "x": np.arange(6.0),
    "y": np.array([1.0, 2.0, np.nan, 1.0, 1.5, 1.0]),
    "lower": np.array([0.5, 1.5, np.nan, 0.5, 1.0, 0.5]),
    "upper": np.array([1.5, 4.0, np.nan, 1.5, 2.0, 1.5]),
    "reference": 0.0,
}


def paths(curve, **with_):
    tree = ElementTree.fromstring(curve_svg(curve))
    return [p.get("d") for p in tree.iter("path") if all(p.get(k) == v for k, v in with_.items())]


def points(path):
    return [tuple(map(float, pair)) for pair in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]


def test_line_and_band_have_a_gap():
    (line,), (band,) = paths(CURVE, fill="none"), paths(CURVE, opacity=".22")
    assert line.count("M") == band.count("M") == band.count("Z") == 2
    assert len(points(line)) == 5
    assert len(points(band)) == 10


def test_heights_are_in_proportion():
    (band,), (reference,) = paths(CURVE, opacity=".22"), paths(CURVE, **{"stroke-dasharray": "4 4"})
    bottom = points(reference)[0][1]
    heights = [bottom - y for _, y in points(band)[:4]]
    np.testing.assert_allclose(np.array(heights) / heights[1] * 4.0, [1.5, 4.0, 1.5, 0.5], atol=0.01)


def test_labels_take_the_place_of_numbers_and_are_escaped():
    curve = CURVE | {"labels": [f"<{k}>" for k in range(6)]}
    root = ElementTree.fromstring(curve_svg(curve))
    texts = [t.text for t in root.iter("text")]
    assert [text for text in texts if ":" not in text][-3:] == ["<0>", "<2>", "<4>"]
    assert "<4>: 1.5 (1 to 2)" in texts
    assert root.get("aria-label").startswith("Effect of <age>: 6 points, from 1 to 1, lowest 1, highest 2")
    long = {"x": np.arange(1000), "y": np.arange(1000), "labels": [str(k) for k in range(1000)]}
    assert curve_svg(long).count("<text") < 80


def test_one_point_and_no_band():
    assert "<circle" in curve_svg({"x": [3], "y": [1.0]})


def test_unequal_lengths_are_refused():
    for curve in ({"x": [], "y": []}, {"x": [1, 2], "y": [1]}):
        with pytest.raises(ValueError, match="as many of each kind"):
            curve_svg(curve)


def test_a_section_shows_its_curves():
    page = to_html({"sections": [{"title": "Effects", "curves": [CURVE, CURVE]}]})
    assert page.count("<svg") == 2


def test_strips_for_the_mouse_cover_the_curve_once():
    root = ElementTree.fromstring(curve_svg(CURVE))
    strips = [(float(r.get("x")), float(r.get("width"))) for r in root.iter("rect")]
    assert len(strips) == 5  # the gap has none
    for (left, width), (right, _) in pairwise(strips):
        assert left + width == pytest.approx(right, abs=0.11)
    shown = [g for g in root.iter("g") if g.get("class") == "tip"]
    assert {g.get("opacity") for g in shown} == {"0"}


SEARCH = {"stage": [0, 1, 2, 3], "size": np.array([0, 1, 3, 2]), "score": [-np.inf, -3.0, -2.0, -1.5]}


def test_search_steps_and_gaps():
    size, score = (paths(curve, fill="none")[0] for curve in search_curves(SEARCH))
    # steps go sideways, then up; the highest size is at the top
    assert re.fullmatch(r"M[\d. ]+(H[\d.]+V[\d.]+){3}", size)
    heights = [float(v) for v in re.findall(r"V([\d.]+)", size)]
    assert heights[1] == min(heights) == 24
    assert score.count("M") == 1  # the infinite first score is left out
    assert score.count("L") == 2


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
def test_small_searches_are_well_formed(path):
    for curve in search_curves(path):
        svg = curve_svg(curve)
        ElementTree.fromstring(svg)
        assert "nan" not in svg
        assert "inf" not in svg


def test_long_searches_are_thinned_but_keep_their_ends():
    n = 5000
    _, score = search_curves({"stage": range(n), "size": range(n), "score": np.arange(n) / n})
    svg = curve_svg(score)
    assert len(svg) < 40_000
    assert "5,000 points" in svg
    assert paths(score, fill="none")[0].endswith("626.0 24.0")


def test_a_search_of_ragged_columns_is_refused():
    with pytest.raises(ValueError, match="must have one length, got 2, 1 and 2"):
        search_curves({"stage": [0, 1], "size": [1], "score": [0, 1]})


def cells(section):
    """The pictures in the rows of a section's table."""
    found = re.findall(r'<svg class="cell".*?</svg>', to_html({"sections": [{"title": "T", **section}]}))
    return [ElementTree.fromstring(svg) for svg in found]


def test_bars_have_the_length_of_their_shares():
    bars = [("a", 0.98), ("b", 0.5), ("c", 2.0), ("d", -1.0)]
    widths = [[r.get("width") for r in svg.iter("rect")] for svg in cells({"bars": bars})]
    assert widths == [["100%", "98.0%"], ["100%", "50.0%"], ["100%", "100.0%"], ["100%", "0.0%"]]
    table = {"columns": ["Name", "Price", "Share"], "rows": [[n, 3, s] for n, s in bars], "bars": bars}
    page = to_html({"sections": [{"title": "T", **table}]})
    # beside its number, wherever that stands
    assert re.search(r'<td class="n">3</td><td class="picture"><div><span>0.98</span><svg', page)
    assert page.count("<svg") == 4
    for cells_of in (lambda s: f"{s:.1%}", lambda s: f"{s:.0%}", lambda s: np.float64(s)):
        table = {"columns": ["Name", "Share"], "rows": [[n, cells_of(s)] for n, s in bars], "bars": bars}
        assert "</span><svg" in to_html({"sections": [{"title": "T", **table}]})
    # bars of something that the table does not say have a column of their own
    table["rows"] = [[n, 0.123] for n, _ in bars]
    page = to_html({"sections": [{"title": "T", **table}]})
    assert '<td class="picture"><svg' in page
    assert "</span><svg" not in page


def test_intervals_stand_on_one_axis():
    intervals = [("<a>", 1.0, 0.0, 2.0), ("b", -1.0, -2.0, 0.0), ("c", np.nan, 0.0, 1.0)]
    *pictures, axis = cells({"intervals": intervals})

    def places(svg, tag, *keys, **with_):
        marks = [m for m in svg.iter(tag) if all(m.get(k) == v for k, v in with_.items())]
        return [[float(mark.get(key).rstrip("%")) for key in keys] for mark in marks]

    assert len(pictures) == 2
    ends = [places(svg, "line", "x1", "x2", **{"stroke-width": "3"})[0] for svg in pictures]
    points = [places(svg, "circle", "cx")[0][0] for svg in pictures]
    assert points == pytest.approx([sum(one) / 2 for one in ends])
    assert ends[0][0] == ends[1][1] == 50.0
    assert places(pictures[0], "line", "x1", **{"stroke-dasharray": "4 3"}) == [[50.0]]
    assert dict(zip([t.text for t in axis.iter("text")], places(axis, "text", "x"), strict=True))["0"] == [
        50.0
    ]
    assert cells({"intervals": [("c", np.nan, 0.0, 1.0)]}) == []
    (one, _) = cells({"intervals": [("c", 1.0, 1.0, 1.0)]})
    assert places(one, "circle", "cx") == [[50.0]]
