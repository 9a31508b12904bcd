"""Curves with bands: what is drawn lies where the values say, with gaps where there are none."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from rlselect.report import curve_svg, intervals_svg, to_html

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
    (line,), (band,) = paths(CURVE, fill="none"), paths(CURVE, opacity=".18")
    assert line.count("M") == band.count("M") == band.count("Z") == 2
    assert len(points(line)) == 5
    assert len(points(band)) == 10


def test_heights_are_in_proportion():
    (band,), (reference,) = paths(CURVE, opacity=".18"), paths(CURVE, **{"stroke-dasharray": "4 4"})
    bottom = points(reference)[0][1]
    heights = [bottom - y for _, y in points(band)[:4]]
    np.testing.assert_allclose(np.array(heights) / heights[1] * 4.0, [1.5, 4.0, 1.5, 0.5], atol=0.01)


def test_labels_take_the_place_of_numbers_and_are_escaped():
    curve = CURVE | {"labels": [f"<{k}>" for k in range(6)]}
    texts = [t.text for t in ElementTree.fromstring(curve_svg(curve)).iter("text")]
    assert texts[0] == "Effect of <age>"
    assert texts[-6:] == [f"<{k}>" for k in range(6)]
    long = {"x": np.arange(1000), "y": np.arange(1000), "labels": [str(k) for k in range(1000)]}
    assert curve_svg(long).count("<text") < 20


def test_one_point_and_no_band():
    assert "<circle" in curve_svg({"x": [3], "y": [1.0]})


def test_unequal_lengths_are_refused():
    for curve in ({"x": [], "y": []}, {"x": [1, 2], "y": [1]}):
        with pytest.raises(ValueError, match="as many of each kind"):
            curve_svg(curve)


def test_a_section_shows_its_curves():
    page = to_html({"sections": [{"title": "Effects", "curves": [CURVE, CURVE]}]})
    assert page.count("<svg") == 2


def test_intervals_stand_on_one_axis():
    svg = intervals_svg([("<a>", 1.0, 0.0, 2.0), ("b", -1.0, -2.0, 0.0), ("c", np.nan, 0.0, 1.0)], "Two <x>.")
    root = ElementTree.fromstring(svg)
    places = [float(circle.get("cx")) for circle in root.iter("circle")]
    lines = [p.get("d") for p in root.iter("path") if p.get("stroke-width") == "3"]
    ends = [[float(x) for x in re.fullmatch(r"M([\d.]+) \d+H([\d.]+)", line).groups()] for line in lines]
    assert len(places) == 2
    assert places == pytest.approx([sum(one) / 2 for one in ends], abs=0.1)
    assert ends[0][0] == ends[1][1]
    assert root.get("aria-label") == "Two <x>."
    assert any(p.get("stroke-dasharray") for p in root.iter("path"))
    ElementTree.fromstring(intervals_svg([], "None."))
