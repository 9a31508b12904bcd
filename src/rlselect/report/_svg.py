"""Curves as inline SVG: no script, no font, no link, readable in light and dark, on paper and on a phone."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from rlselect.report._format import plain, show

__all__ = ["BLUE", "FAINT", "INK", "curve_svg", "search_curves", "ticks_between"]

_WIDTH, _LEFT, _RIGHT, _PANEL, _TOP = 640, 76, 14, 150, 24
_END = _WIDTH - _RIGHT
_HEIGHT = _TOP + _PANEL + 26
_MAX_POINTS = 400
_MAX_LABELS = 4
_MAX_TIPS = 60
# with these, pictures can be told apart on white and on black, and by the colour-blind
INK, FAINT, BLUE, _GOLD = "currentColor", "#888", "#2f6fb5", "#c07a13"


def search_curves(steps: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The course of a search as two curves: the size of the subset, which is held in steps, and its score.

    Parameters
    ----------
    steps : mapping
        ``stage``, ``size`` and ``score``, sequences of one length. ``titles``, a pair, may name the two
        curves.

    Returns
    -------
    list of dict
        As `curve_svg` takes them; none if no step was made.

    Examples
    --------
    >>> from rlselect.report import search_curves
    >>> curves = search_curves({"stage": [0, 1, 2], "size": [0, 1, 2], "score": [-9.0, -4.0, -3.5]})
    >>> [curve["title"] for curve in curves]
    ['size of the subset by stage', 'score by stage']
    """
    stage, size, score = (list(steps.get(key, ())) for key in ("stage", "size", "score"))
    if not len(stage) == len(size) == len(score):
        raise ValueError(
            f"stage, size and score must have one length, got {len(stage)}, {len(size)} and {len(score)}."
        )
    if not stage:
        return []
    upper, lower = map(str, steps.get("titles", ("size of the subset", "score")))
    return [
        {"title": f"{upper} by stage", "x": stage, "y": size, "steps": True, "x_name": "stage"},
        {"title": f"{lower} by stage", "x": stage, "y": score, "colour": _GOLD, "x_name": "stage"},
    ]


def curve_svg(curve: Mapping[str, Any]) -> str:
    """Draw a curve, with a band around it and a line to compare it with where these are given.

    Under the mouse it tells its values, without any script.

    Parameters
    ----------
    curve : mapping
        ``title``, and the sequences ``x`` and ``y``; ``lower`` and ``upper``, the sides of the band;
        ``labels``, what to write for x in place of numbers; ``reference``, the height of a dashed line;
        ``steps``, whether a value holds until the next; ``x_name``, what x is; ``colour``. Values that are
        not finite leave gaps; long curves are thinned to a few hundred points.

    Returns
    -------
    str
        An ``<svg>`` element.

    Examples
    --------
    >>> from rlselect.report import curve_svg
    >>> curve = {"title": "Effect", "x": [0, 1, 2], "y": [1, 2, 1], "lower": [0, 1, 0], "upper": [2, 3, 2]}
    >>> curve_svg(curve)[:4]
    '<svg'
    """
    sides = [key for key in ("x", "y", "lower", "upper", "labels") if key in curve]
    given = {key: plain(list(curve[key])) for key in sides}
    lengths = {key: len(values) for key, values in given.items()}
    if len(set(lengths.values())) != 1 or not lengths["x"]:
        told = ", ".join(f"{n} of {key}" for key, n in lengths.items())
        raise ValueError(f"A curve needs points, as many of each kind, got {told}.")
    keep = _thin(lengths["x"], _MAX_POINTS)
    values = {key: [column[k] for k in keep] for key, column in given.items()}
    x, y, colour = [float(v) for v in values["x"]], values["y"], str(curve.get("colour", BLUE))
    reference, is_stepped = curve.get("reference"), bool(curve.get("steps"))
    extra = [] if reference is None else [float(reference)]
    # sizes are counted from zero
    extra += [0.0] if is_stepped and any(v is not None for v in y) else []
    heights = [v for key in ("y", "lower", "upper") for v in values.get(key, ())]
    scale = _Scale.of(x, heights, extra)
    body = _axes(scale, list(zip(x, map(str, values["labels"]), strict=True)) if "labels" in values else None)
    if "lower" in values and "upper" in values:
        body.append(_band(scale, x, values["lower"], values["upper"], colour))
    if reference is not None:
        height = f"{scale.y(float(reference)):.1f}"
        body.append(f'<path d="M{_LEFT} {height}H{_END}" stroke="{INK}" stroke-dasharray="4 4"/>')
    body += _line(scale, x, y, colour, is_stepped=is_stepped)
    body += _tips(scale, values, str(curve.get("x_name", "")))
    return _frame(_about(str(curve.get("title", "Curve")), given), body)


def _about(title: str, given: Mapping[str, list[Any]]) -> str:
    """The curve in words: its length, its ends, and how high it goes."""
    y = [v for v in given["y"] if v is not None]
    if not y:
        return f"{title}: no value can be shown."
    return (
        f"{title}: {show(len(given['x']))} points, from {show(y[0])} to {show(y[-1])}, "
        f"lowest {show(min(y))}, highest {show(max(y))}."
    )


def _thin(n: int, most: int) -> list[int]:
    if n <= most:
        return list(range(n))
    return sorted({round(k * (n - 1) / (most - 1)) for k in range(most)})


def ticks_between(low: float, high: float, count: int = 4) -> list[float]:
    """Return round numbers that cover the range."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw)
    first = math.ceil(low / step - 1e-9)
    # zero is zero, not minus zero
    return [k * step or 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]


class _Scale(NamedTuple):
    """From values to places in the picture."""

    left: float
    right: float
    low: float
    high: float

    @classmethod
    def of(cls, x: list[float], y: list[Any], extra: Sequence[float] = ()) -> "_Scale":
        """Large enough for the finite values, and for some more of y."""
        finite = [float(v) for v in y if v is not None] + [float(v) for v in extra]
        return cls(x[0], x[-1], min(finite, default=0.0), max(finite, default=1.0))

    def x(self, value: float) -> float:
        return _LEFT + (value - self.left) / ((self.right - self.left) or 1.0) * (_END - _LEFT)

    def y(self, value: float) -> float:
        return _TOP + _PANEL - (value - self.low) / ((self.high - self.low) or 1.0) * _PANEL


def _axes(scale: _Scale, labels: list[tuple[float, str]] | None) -> list[str]:
    """Grid and numbers; some of the `labels`, places and texts, in place of the numbers of x."""
    body = []
    for tick in ticks_between(scale.low, scale.high):
        body.append(f'<path d="M{_LEFT} {scale.y(tick):.1f}H{_END}" stroke="{FAINT}" opacity=".4"/>')
        body.append(_text(_LEFT - 8, scale.y(tick) + 4, f"{tick:,.6g}", anchor="end"))
    if labels is None:
        labels = [(tick, f"{tick:,.6g}") for tick in ticks_between(scale.left, scale.right, 6)]
    else:
        labels = labels[:: -(-len(labels) // _MAX_LABELS)]
    return body + [_text(scale.x(place), _HEIGHT - 6, text, anchor="middle") for place, text in labels]


def _line(scale: _Scale, x: list[float], y: list[Any], colour: str, *, is_stepped: bool) -> list[str]:
    """The curve, with gaps where a value is missing, and a dot at its end."""
    path, last = "", None
    for place, value in zip(x, y, strict=True):
        if value is not None:
            across, up = f"{scale.x(place):.1f}", f"{scale.y(value):.1f}"
            if last is None:
                path += f"M{across} {up}"
            else:
                path += f"H{across}V{up}" if is_stepped else f"L{across} {up}"
        last = value
    body = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>']
    if last is not None:
        body.append(f'<circle cx="{scale.x(x[-1]):.1f}" cy="{scale.y(last):.1f}" r="3.5" fill="{colour}"/>')
    return body


def _band(scale: _Scale, x: list[float], lower: list[Any], upper: list[Any], colour: str) -> str:
    """The area between two curves; each run without gaps is a polygon."""
    path, run = "", list[tuple[float, float, float]]()
    for place, low, high in [*zip(x, lower, upper, strict=True), (0.0, None, None)]:
        if low is not None and high is not None:
            run.append((scale.x(place), scale.y(low), scale.y(high)))
        elif run:
            there = [f"{across:.1f} {high:.1f}" for across, _, high in run]
            back = [f"{across:.1f} {low:.1f}" for across, low, _ in reversed(run)]
            path, run = path + "M" + "L".join(there + back) + "Z", []
    return f'<path d="{path}" fill="{colour}" opacity=".22"/>'


def _tips(scale: _Scale, values: Mapping[str, list[Any]], x_name: str) -> list[str]:
    """Strips that show the values of their point, above the picture, while the mouse is on them."""
    keep = [k for k in _thin(len(values["x"]), _MAX_TIPS) if values["y"][k] is not None]
    places = [scale.x(float(values["x"][k])) for k in keep]
    edges = [_LEFT, *((a + b) / 2 for a, b in pairwise(places)), _END]
    body = []
    for n, (k, across) in enumerate(zip(keep, places, strict=True)):
        y = values["y"][k]
        where = values["labels"][k] if "labels" in values else show(values["x"][k])
        told = f"{f'{x_name} ' if x_name else ''}{where}: {show(y)}"
        if "lower" in values and "upper" in values:
            told += f" ({show(values['lower'][k])} to {show(values['upper'][k])})"
        body.append(
            f'<g class="at"><rect x="{edges[n]:.1f}" y="{_TOP}" width="{edges[n + 1] - edges[n]:.1f}" '
            f'height="{_PANEL}" fill="transparent"/><g class="tip" opacity="0" pointer-events="none">'
            f'<path d="M{across:.1f} {_TOP}v{_PANEL}" stroke="{INK}" opacity=".5"/>'
            f'<circle cx="{across:.1f}" cy="{scale.y(y):.1f}" r="4" fill="{INK}"/>'
            f"{_text(_END, _TOP - 8, told, anchor='end')}</g></g>"
        )
    return body


def _text(x: float, y: float, text: str, *, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _frame(about: str, body: list[str]) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" font-size="13" '
        f'font-family="system-ui, sans-serif" aria-label="{escape(about)}">{"".join(body)}</svg>'
    )
