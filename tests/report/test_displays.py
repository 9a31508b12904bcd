"""What all pictures have in common: names, colours, axes."""

from itertools import combinations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from rlselect.report import (
    PALETTE,
    GainDisplay,
    PathDisplay,
    PerformanceDisplay,
    SelectionDisplay,
    Sureness,
    TreeBox,
    draw_tree,
    line_style,
    short_names,
    tree_size,
)

matplotlib.use("Agg")

LONG = [f"share of all households of size {j} that have neither a car nor a telephone" for j in range(500)]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


# ---- colours ----

# colours as they are seen without one kind of cone (Machado, Oliveira and Fernandes 2009), in linear RGB
SEEN = {
    "all cones": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
TO_XYZ = np.array([[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.95030]])


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def cielab(rgb):
    x, y, z = np.cbrt(np.maximum(TO_XYZ @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883], 1e-6))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
def test_colours_are_told_apart(eyes):
    seen = [cielab(np.array(SEEN[eyes]) @ linear(colour)) for colour in PALETTE]
    # a distance of 2.3 is just noticed; red and green of the usual cycle come as close as 9
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 15


def test_colours_stand_out_from_white():
    contrast = [1.05 / (TO_XYZ[1] @ linear(colour) + 0.05) for colour in PALETTE]
    assert min(contrast) >= 3.0


def test_twenty_lines_are_told_apart():
    assert len({tuple(line_style(k).items()) for k in range(20)}) == 20


# ---- names ----


def test_short_names_stay_different():
    short = short_names([*LONG, "age", "age", "x" * 90 + "a" + "y" * 90, "x" * 90 + "b" + "y" * 90])
    assert len(set(short)) == 503
    assert short[500:502] == ["age", "age"]
    assert max(map(len, short)) <= 28
    assert all(str(j) in short[j] for j in range(500))
    assert short_names(["a" * 50 + "b" * 50] * 2) == short_names(["a" * 50 + "b" * 50]) * 2
    hopeless = [f"{'a' * 30}{'b' * 200}{j}{'c' * 200}" for j in range(2)]
    assert len(set(short_names([*hopeless, "a" * 30 + "d" * 400 + "c" * 20]))) == 3
    assert short_names(["$x$", "a\nb"]) == [r"\$x\$", "a b"]


def many(kind):
    rng = np.random.default_rng(0)
    values, chosen = np.sort(rng.random(500))[::-1], np.arange(500) < 40
    if kind is SelectionDisplay:
        groups = [{"features": LONG[:3], "inclusion": 0.98}, {"features": LONG[30:32], "inclusion": 0.97}]
        return kind(LONG[:25], Sureness(values[:25]), chosen[:25], 40, 500, groups)
    words = [f"{value:.3g} ± 0.12" for value in values[:25]]
    return kind(LONG[:25], values[:25], np.tile([1, -1, 1, 0, -1], 5), words, 40)


@pytest.mark.parametrize("kind", [SelectionDisplay, GainDisplay])
def test_many_long_names_are_readable(kind, assert_readable):
    assert_readable(many(kind).plot().figure_)


def test_what_is_worth_nothing_is_readable_too(assert_readable):
    words = ["0.1 ± 0.2", "-0.3 ± 0.2"]
    sign = np.array([1, -1])
    for gain in (np.array([-1.0, np.nan]), np.zeros(2)):
        assert_readable(GainDisplay(["a", "b"], gain, sign, words).plot().figure_)


def test_in_a_small_place_fewer_names_are_shown_and_told(assert_readable):
    figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
    for kind, ax in zip((SelectionDisplay, GainDisplay), axes, strict=True):
        display = many(kind).plot(ax=ax)
        assert display.ax_ is ax
        assert 5 <= len(ax.get_yticks()) < 15
        assert str(len(ax.get_yticks())) in ax.get_title()
    assert_readable(figure)


def test_a_tree_with_long_names_is_readable(assert_readable):
    leaf = TreeBox([LONG[3], "mostly", "12%"])
    some = [(f"{LONG[5]}, {LONG[6]}", leaf), ("> 3.14159", leaf), ("not available", TreeBox(["yes"], "open"))]
    root = TreeBox([LONG[1], "100%"], "question", [("<= 5", TreeBox([LONG[2]], "question", some)), *some])
    figure, ax = plt.subplots(figsize=tree_size(root), layout="constrained")
    draw_tree(ax, root)
    assert len(ax.lines) == 7
    assert_readable(figure)


# ---- axes ----


def path():
    return PathDisplay({"size": [1, 2, 3], "score": [0.1, 0.4, 0.5], "rows used": [9, 9, 9]}, "stage", "done")


def test_what_does_not_change_is_told_and_not_drawn():
    display = path().plot()
    assert [ax.get_title() for ax in display.axes_] == ["size", "score"]
    assert display.axes_[1].get_xlabel().splitlines() == ["stage", "rows used: 9", "ended: done"]
    np.testing.assert_array_equal(display.axes_[1].lines[0].get_ydata(), [0.1, 0.4, 0.5])


def test_panels_are_drawn_on_what_is_given():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    display = path().plot(ax=left)
    assert not left.axison
    assert all(
        ax.get_subplotspec().get_topmost_subplotspec() == left.get_subplotspec() for ax in display.axes_
    )
    assert len(path().plot(ax=plt.figure().add_axes([0, 0, 1, 1])).axes_) == 2
    pair = plt.subplots(2)[1]
    assert path().plot(ax=pair).axes_ == list(pair)
    assert path().plot(ax=figure.add_subfigure(right.get_subplotspec())).axes_[0].figure in figure.subfigs
    with pytest.raises(ValueError, match="ax holds 1 axes; this picture has 2 panels"):
        path().plot(ax=[right])


def test_performance_is_drawn_from_few_to_many():
    display = PerformanceDisplay(
        np.array([3, 1, 2]), np.array([0.3, 0.1, 0.2]), np.zeros(3), 2, "risk"
    ).plot()
    np.testing.assert_array_equal(display.ax_.lines[0].get_xydata(), [[1, 0.1], [2, 0.2], [3, 0.3]])
