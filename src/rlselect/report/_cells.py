"""Pictures that stand in the rows of a table, all on one scale: bars of shares, points with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

from rlselect.report._format import plain
from rlselect.report._svg import BLUE, FAINT, INK, ticks_between

__all__ = ["RowPictures", "bar_pictures", "interval_pictures"]

_MARGIN = 4.0  # per cent of the width, for the half of a point or of a number that hangs over


class RowPictures(NamedTuple):
    """One picture for each row, all of them SVG.

    They stand in a column beside its numbers, or in one of their own behind all others, with an axis below.
    """

    rows: list[str]
    column: int | None = None
    axis: str = ""


def bar_pictures(shares: Sequence[float | None], column: int | None) -> RowPictures:
    """Draw shares as bars from 0 to 1; none has no bar.

    Parameters
    ----------
    shares : sequence of float
        By row.
    column : int, optional
        Where their numbers stand.
    """
    rows = []
    for share in shares:
        width = 100 * min(max(share or 0.0, 0.0), 1.0)
        behind = f'<rect width="100%" height="14" rx="2" fill="{FAINT}" opacity=".2"/>'
        bar = f'<rect width="{width:.1f}%" height="14" rx="2" fill="{BLUE}"/>'
        rows.append("" if share is None else _cell(14, behind + bar))
    return RowPictures(rows, column)


def interval_pictures(intervals: Sequence[tuple[str, float, float, float]]) -> RowPictures:
    """Draw estimates as points with their intervals; a dashed line marks zero, where it is inside.

    Parameters
    ----------
    intervals : sequence of (str, float, float, float)
        Name, estimate, and the ends of its interval; those without finite numbers stay empty.
    """
    numbers = [plain(list(one[1:])) for one in intervals]
    finite = [one for one in numbers if None not in one]
    if not finite:
        return RowPictures(["" for _ in numbers])
    low, high = min(one[1] for one in finite), max(one[2] for one in finite)

    def across(value: float) -> str:
        share = (value - low) / (high - low) if high > low else 0.5
        return f"{_MARGIN + (100 - 2 * _MARGIN) * share:.2f}%"

    def upright(value: float, style: str) -> str:
        return f'<line x1="{across(value)}" x2="{across(value)}" y1="0" y2="20" stroke="{style}/>'

    ticks = ticks_between(low, high)
    behind = "".join(upright(tick, f'{FAINT}" opacity=".4"') for tick in ticks)
    if low < 0.0 < high:
        behind += upright(0.0, f'{INK}" stroke-dasharray="4 3"')
    rows = []
    for one in numbers:
        if None in one:
            rows.append("")
            continue
        middle, start, end = map(across, one)
        line = f'<line x1="{start}" x2="{end}" y1="10" y2="10" stroke="{BLUE}" stroke-width="3"/>'
        rows.append(_cell(20, f'{behind}{line}<circle cx="{middle}" cy="10" r="5" fill="{BLUE}"/>'))
    texts = (
        f'<text x="{across(tick)}" y="12" text-anchor="middle" fill="{INK}">{tick:.6g}</text>'
        for tick in ticks
    )
    return RowPictures(rows, axis=_cell(16, "".join(texts)))


def _cell(height: int, body: str) -> str:
    # the numbers stand beside the picture: those who cannot see it miss nothing
    size = f'width="100%" height="{height}" font-size="12"'
    return f'<svg class="cell" {size} aria-hidden="true">{body}</svg>'
