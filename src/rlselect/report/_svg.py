"""Small pictures as inline SVG: no script, no font, no link, readable in light and in dark."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from rlselect.report._format import plain, show

_WIDTH, _LEFT, _RIGHT, _PANEL, _GAP, _TOP = 720, 64, 16, 130, 46, 24
_END = _WIDTH - _RIGHT
_MAX_POINTS = 400
_MAX_BARS = 30
_MAX_LABELS = 6
_INK, _FAINT, _BLUE, _GOLD = "currentColor", "#888", "#2f6fb5", "#c07a13"


def search_svg(steps: Mapping[str, Sequence[Any]]) -> str:
    """Draw the course of a search: size of the subset (steps) and its score (line) along the stages.

    Parameters
    ----------
    steps : mapping
        ``stage``, ``size`` and ``score``, sequences of one length. Scores that are not finite leave gaps;
        long searches are thinned to a few hundred points, the first and the last kept. ``titles``, a pair,
        may name the two curves.

    Returns
    -------
    str
        An ``<svg>`` element.

    Examples
    --------
    >>> from rlselect.report import search_svg
    >>> search_svg({"stage": [0, 1, 2], "size": [0, 1, 2], "score": [-9.0, -4.0, -3.5]})[:4]
    '<svg'
    """
    stage = [float(s) for s in plain(list(steps.get("stage", ())))]
    if not stage:
        return _frame(40, "The search made no step.", [_text(_LEFT, 24, "no step was made", anchor="start")])
    size, score = plain(list(steps["size"])), plain(list(steps["score"]))
    if not len(stage) == len(size) == len(score):
        raise ValueError(
            f"stage, size and score must have one length, got {len(stage)}, {len(size)} and {len(score)}."
        )
    n_stages, keep = len(stage), _thin(len(stage))
    stage, size, score = ([v[k] for k in keep] for v in (stage, size, score))
    upper, lower = steps.get("titles", ("size of the subset", "score"))
    body = _panel(stage, size, _TOP, str(upper), _BLUE, steps_line=True)
    body += _panel(stage, score, _TOP + _PANEL + _GAP, str(lower), _GOLD, steps_line=False)
    height = _TOP + 2 * _PANEL + _GAP + 40
    body.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 6, "stage", anchor="middle"))
    last = f"the last subset holds {show(size[-1])} variables"
    if "titles" in steps:
        last = f"{upper} at the end: {show(size[-1])}"
    about = f"Search of {show(n_stages)} stages; {last}."
    return _frame(height, about, body)


def inclusion_svg(variables: Sequence[Mapping[str, Any]]) -> str:
    """Draw how sure the selection is of each variable: horizontal bars of inclusion from 0 to 1.

    Parameters
    ----------
    variables : sequence of mappings
        Each with ``name`` and ``inclusion``; the first 30 are drawn.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    shown = [v for v in variables if plain(v.get("inclusion")) is not None]
    if not shown:
        return _frame(40, "No variable was selected.", [_text(_LEFT, 24, "no variable", anchor="start")])
    bars = [(str(v["name"]), float(plain(v["inclusion"]))) for v in shown]
    return bars_svg(bars, f"Inclusion of {min(len(shown), _MAX_BARS)} variables.")


def bars_svg(bars: Sequence[tuple[str, float]], about: str) -> str:
    """Draw shares as horizontal bars from 0 to 1.

    Parameters
    ----------
    bars : sequence of (str, float)
        Names and shares; the first 30 are drawn.
    about : str
        What the picture shows, for those who cannot see it.

    Returns
    -------
    str
        An ``<svg>`` element.

    Examples
    --------
    >>> from rlselect.report import bars_svg
    >>> bars_svg([("age", 0.9), ("city", 0.25)], "Use of two features.").count("<rect")
    4
    """
    bars = list(bars)[:_MAX_BARS]
    labels = [_shorten(name) for name, _ in bars]
    left, line = _LEFT + 6 * max(map(len, labels), default=0), 20  # about six units a letter
    span = _WIDTH - left - 60
    body = []
    for k, (name, share) in enumerate(bars):
        y, value = 8 + k * line, min(max(float(share), 0.0), 1.0)
        body.append(f"<g><title>{escape(name)}: {show(value)}</title>")
        body.append(_text(left - 8, y + 12, labels[k], anchor="end"))
        body.append(f'<rect x="{left}" y="{y}" width="{span}" height="14" fill="{_FAINT}" opacity=".25"/>')
        body.append(f'<rect x="{left}" y="{y}" width="{span * value:.1f}" height="14" fill="{_BLUE}"/>')
        body.append(_text(left + span + 6, y + 12, f"{value:.2f}", anchor="start") + "</g>")
    return _frame(16 + line * len(bars), about, body)


def intervals_svg(intervals: Sequence[tuple[str, float, float, float]], about: str) -> str:
    """Draw estimates as points with their intervals, one below the other, on one axis.

    Parameters
    ----------
    intervals : sequence of (str, float, float, float)
        Name, estimate, and the ends of its interval; the first 30 with finite numbers are drawn.
    about : str
        What the picture shows, for those who cannot see it.

    Returns
    -------
    str
        An ``<svg>`` element. A dashed line marks zero, where it is inside.

    Examples
    --------
    >>> from rlselect.report import intervals_svg
    >>> intervals_svg([("new", 2.0, 1.0, 3.0), ("old", 1.0, 0.5, 1.5)], "Two values.").count("<circle")
    2
    """
    shown = [(str(name), *plain(numbers)) for name, *numbers in intervals]
    shown = [one for one in shown if None not in one][:_MAX_BARS]
    if not shown:
        return _frame(40, about, [_text(_LEFT, 24, "no interval", anchor="start")])
    labels = [_shorten(one[0]) for one in shown]
    left, line = _LEFT + 6 * max(map(len, labels)), 22
    low, high = min(one[2] for one in shown), max(one[3] for one in shown)
    span, bottom = _WIDTH - left - 80, 10 + line * len(shown)

    def across(value: float) -> float:
        return left + (value - low) / ((high - low) or 1.0) * span

    body = []
    for tick in _ticks(low, high):
        body.append(f'<path d="M{across(tick):.1f} 4V{bottom}" stroke="{_FAINT}" opacity=".4"/>')
        body.append(_text(across(tick), bottom + 16, f"{tick:.6g}", anchor="middle"))
    if low < 0.0 < high:
        body.append(f'<path d="M{across(0.0):.1f} 4V{bottom}" stroke="{_INK}" stroke-dasharray="4 4"/>')
    for k, (name, middle, start, end) in enumerate(shown):
        y, ends = 16 + k * line, f"{show(start)} to {show(end)}"
        body.append(f"<g><title>{escape(name)}: {show(middle)} ({ends})</title>")
        body.append(_text(left - 12, y + 4, labels[k], anchor="end"))
        body.append(
            f'<path d="M{across(start):.1f} {y}H{across(end):.1f}" stroke="{_BLUE}" stroke-width="3"/>'
        )
        body.append(f'<circle cx="{across(middle):.1f}" cy="{y}" r="5" fill="{_BLUE}"/>')
        body.append(_text(left + span + 12, y + 4, show(middle), anchor="start") + "</g>")
    return _frame(bottom + 24, about, body)


def curve_svg(curve: Mapping[str, Any]) -> str:
    """Draw a curve, with a band around it and a line to compare it with where these are given.

    Parameters
    ----------
    curve : mapping
        ``title``, and the sequences ``x`` and ``y``; ``lower`` and ``upper``, the sides of the band;
        ``labels``, what to write for x in place of numbers; ``reference``, the height of a dashed line.
        Values that are not finite leave gaps; long curves are thinned to a few hundred points.

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
    values = {key: plain(list(curve[key])) for key in sides}
    lengths = {key: len(value) for key, value in values.items()}
    if not values["x"] or len(set(lengths.values())) > 1:
        raise ValueError(f"a curve needs points, as many of each kind; got {show(lengths)}.")
    values = {key: [value[k] for k in _thin(len(value))] for key, value in values.items()}
    title, x, labels = str(curve.get("title", "")), values["x"], values.get("labels")
    heights = [*values["y"], *values.get("lower", ()), *values.get("upper", ())]
    scale = _Scale.of(x, heights, _TOP, [curve["reference"]] if "reference" in curve else ())
    body = _axes(scale, title, None if labels is None else list(zip(x, labels, strict=True)))
    if "lower" in values and "upper" in values:
        body.append(_band(scale, x, values["lower"], values["upper"]))
    if "reference" in curve:
        height = f"{scale.y(curve['reference']):.1f}"
        body.append(f'<path d="M{_LEFT} {height}H{_END}" stroke="{_INK}" stroke-dasharray="4 4"/>')
    body += _line(scale, x, values["y"], _BLUE, steps_line=False)
    return _frame(_TOP + _PANEL + 28, f"{title}: {show(lengths['x'])} points.", body)


def _shorten(name: str) -> str:
    return name if len(name) <= 34 else name[:33] + "…"


def _thin(n: int) -> list[int]:
    if n <= _MAX_POINTS:
        return list(range(n))
    return sorted({round(k * (n - 1) / (_MAX_POINTS - 1)) for k in range(_MAX_POINTS)})


def _ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return round numbers that cover the range."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class _Scale(NamedTuple):
    """From values to places in a panel."""

    left: float
    right: float
    low: float
    high: float
    top: float

    @classmethod
    def of(cls, x: list[Any], y: list[Any], top: float, extra: Sequence[float] = ()) -> "_Scale":
        """Large enough for the finite values, and for some more of y."""
        finite = [float(v) for v in y if v is not None] + [float(v) for v in extra]
        return cls(float(x[0]), float(x[-1]), min(finite, default=0.0), max(finite, default=1.0), top)

    def x(self, value: float) -> float:
        return _LEFT + (value - self.left) / ((self.right - self.left) or 1.0) * (_END - _LEFT)

    def y(self, value: float) -> float:
        return self.top + _PANEL - (value - self.low) / ((self.high - self.low) or 1.0) * _PANEL


def _panel(
    stage: list[float], values: list[Any], top: float, title: str, colour: str, *, steps_line: bool
) -> list[str]:
    """Draw one curve with its axes; `steps_line` holds a value until the next stage."""
    scale = _Scale.of(stage, values, top, (0.0,) if steps_line and any(v is not None for v in values) else ())
    return _axes(scale, title) + _line(scale, stage, values, colour, steps_line=steps_line)


def _axes(scale: _Scale, title: str, labels: list[tuple[float, str]] | None = None) -> list[str]:
    """Title, grid and numbers; some of the `labels`, places and texts, in place of the numbers of x."""
    body = [_text(_LEFT, scale.top - 8, title, anchor="start", weight=True)]
    for tick in _ticks(scale.low, scale.high):
        body.append(f'<path d="M{_LEFT} {scale.y(tick):.1f}H{_END}" stroke="{_FAINT}" opacity=".4"/>')
        body.append(_text(_LEFT - 8, scale.y(tick) + 4, f"{tick:.6g}", anchor="end"))
    if labels is None:
        labels = [(tick, f"{tick:.6g}") for tick in _ticks(scale.left, scale.right, 8)]
    else:
        labels = labels[:: -(-len(labels) // _MAX_LABELS)]
    below = scale.top + _PANEL + 16
    return body + [_text(scale.x(place), below, text, anchor="middle") for place, text in labels]


def _line(scale: _Scale, x: list[float], y: list[Any], colour: str, *, steps_line: bool) -> list[str]:
    """The curve, with gaps where a value is missing, and a dot at its end."""
    path, last = "", None
    for place, value in zip(x, y, strict=True):
        if value is not None:
            across, up = f"{scale.x(place):.1f}", f"{scale.y(value):.1f}"
            if last is None:
                path += f"M{across} {up}"
            else:
                path += f"H{across}V{up}" if steps_line else f"L{across} {up}"
        last = value
    body = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>']
    if last is not None:
        body.append(f'<circle cx="{scale.x(x[-1]):.1f}" cy="{scale.y(last):.1f}" r="3.5" fill="{colour}"/>')
    return body


def _band(scale: _Scale, x: list[float], lower: list[Any], upper: list[Any]) -> str:
    """The area between two curves; each run without gaps is a polygon."""
    path, run = "", list[tuple[float, float, float]]()
    for place, low, high in [*zip(x, lower, upper, strict=True), (0.0, None, None)]:
        if low is not None and high is not None:
            run.append((scale.x(place), scale.y(low), scale.y(high)))
        elif run:
            there = [f"{across:.1f} {high:.1f}" for across, _, high in run]
            back = [f"{across:.1f} {low:.1f}" for across, low, _ in reversed(run)]
            path, run = path + "M" + "L".join(there + back) + "Z", []
    return f'<path d="{path}" fill="{_BLUE}" opacity=".18"/>'


def _text(x: float, y: float, text: str, *, anchor: str, weight: bool = False) -> str:
    bold = ' font-weight="600"' if weight else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}"{bold}>{escape(text)}</text>'


def _frame(height: float, about: str, body: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" role="img" font-size="12" '
        f'font-family="system-ui, sans-serif" aria-label="{escape(about)}">'
        f"<title>{escape(about)}</title>{''.join(body)}</svg>"
    )
