"""Whether a figure can be read: no text too small, cut off, or on top of another."""

from itertools import combinations

import numpy as np

_SMALLEST = 8.0  # points


def _axes_texts(ax):
    """Texts of axes that are drawn: those of ticks outside the limits are not."""
    texts = [*ax.texts]
    if ax.axison:
        texts += [ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (high - low)
            for tick in axis.get_major_ticks():
                if low - slack <= tick.get_loc() <= high + slack:
                    texts += [label for label in (tick.label1, tick.label2) if label.get_visible()]
    texts += [ax.title, ax._left_title, ax._right_title]
    legend = ax.get_legend()
    if legend is not None:
        texts += [legend.get_title(), *legend.get_texts()]
    return texts


def _texts_of(figure):
    """All texts that a figure shows."""
    found = [*figure.texts]
    for ax in figure.get_axes():
        if ax.figure is figure:
            found += _axes_texts(ax)
    for part in figure.subfigs:
        found += _texts_of(part)
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def assert_readable(figure):
    """No text is too small, cut off, or on top of another."""
    figure.canvas.draw()
    figure.canvas.draw()  # the layout settles after the ticks are known
    texts = list({id(text): text for text in _texts_of(figure)}.values())
    small = {text.get_text(): text.get_fontsize() for text in texts if text.get_fontsize() < _SMALLEST}
    assert not small
    renderer = figure.canvas.get_renderer()
    boxes = [(text.get_text(), np.array(text.get_window_extent(renderer).extents)) for text in texts]
    width, height = figure.get_size_inches() * figure.dpi
    outside = [
        said
        for said, (left, low, right, high) in boxes
        if left < -1 or low < -1 or right > width + 1 or high > height + 1
    ]
    assert not outside, "cut off"
    over = [(a[0], b[0]) for a, b in combinations(boxes, 2) if _overlap(a[1], b[1])]
    assert not over


def _overlap(a, b, slack=1.0):
    return min(a[2], b[2]) - max(a[0], b[0]) > slack and min(a[3], b[3]) - max(a[1], b[1]) > slack
