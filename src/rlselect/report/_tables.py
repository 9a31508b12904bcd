"""Tables of a page: numbers to the right, long ones folded, pictures in their rows."""

import re
from collections.abc import Sequence
from html import escape

from rlselect.report._cells import RowPictures

__all__ = ["prose_html", "table_html"]

# more rows than the first number are folded, down to the second
_LONG, _SHOWN = 20, 15
# rows that belong to one above them, such as levels; further ones are folded before the rows of others
_LEVELS = 5
_NAME = 24
_NUMBER = re.compile(r"[<>]?[-+]?[\d.,]+(e[-+]?\d+)?( ?%| s)?")


def prose_html(text: object) -> str:
    """A text in which a line ends before a flag of the command line, not within its hyphens.

    Examples
    --------
    >>> prose_html("with --no-average & more")
    'with <span>--no-average</span> &amp; more'
    """
    return re.sub(r"(?<!\S)(--[a-z-]+)", r"<span>\1</span>", escape(str(text)))


def table_html(
    columns: Sequence[str], rows: Sequence[Sequence[str]], about: str, pictures: RowPictures | None = None
) -> str:
    """A table in a box that scrolls; a long one shows its first rows, until all are asked for.

    Parameters
    ----------
    columns : sequence of str
        Heads.
    rows : sequence of sequences of str
        Cells; a row whose first cell is indented belongs to the one above it.
    about : str
        What the table shows, for those who cannot see it.
    pictures : RowPictures, optional
        A picture for each row.

    Returns
    -------
    str
        HTML.
    """
    columns, kinds = list(map(str, columns)), [_kind([row[k] for row in rows]) for k in range(len(columns))]
    beside = pictures.column if pictures is not None else None
    if beside is not None:
        kinds[beside] = "picture"
    # names are broken only where they are longer than this
    wide = min(max(len(row[0]) for row in rows), _NAME)
    heads = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>' if name else f'<td class="{kind}"></td>'
        for name, kind in zip(columns, kinds, strict=True)
    )
    places = _places_below(rows)
    # many levels of one variable must not hide the other variables
    far = [place > _LEVELS for place in places]
    shown = sorted(range(len(rows)), key=far.__getitem__)[: _SHOWN if len(rows) > _LONG else None]
    lines = []
    for k, row in enumerate(rows):
        marks = [name for name, has in (("sub", places[k]), ("far", far[k]), ("rest", k not in shown)) if has]
        cells = [escape(cell) for cell in row]
        if pictures is not None and beside is not None:
            cells[beside] = f"<div><span>{cells[beside]}</span>{pictures.rows[k]}</div>"
        line = f'<th scope="row" class="{kinds[0]}">{cells[0]}</th>'
        line += "".join(
            f'<td class="{kind}">{cell}</td>' for cell, kind in zip(cells[1:], kinds[1:], strict=True)
        )
        if pictures is not None and beside is None:
            line += f'<td class="picture">{pictures.rows[k]}</td>'
        lines.append(f'<tr class="{" ".join(marks)}">{line}</tr>')
    foot = ""
    if pictures is not None and beside is None:
        heads += '<td class="picture"></td>'
        below = f'<td colspan="{len(columns)}"></td><td class="picture">{pictures.axis}</td>'
        foot = f"<tfoot><tr>{below}</tr></tfoot>" if pictures.axis else ""
    # one row cannot be sorted
    kind = f'class="{"sorts" * (places.count(0) > 1)}" style="--name: {wide}ch"'
    table = (
        f"<table {kind}><thead><tr>{heads}</tr></thead><tbody>" + "\n".join(lines) + f"</tbody>{foot}</table>"
    )
    table = f"{_box(f'Table: {about}')}{table}</div>"
    if len(rows) <= _LONG:
        return table
    # a box to tick folds without any script, and keeps all rows in one table
    more = f'<label class="more"><input type="checkbox">Show all {len(rows):,} rows</label>'
    return f'<div class="fold">{table}{more}</div>'


def _places_below(rows: Sequence[Sequence[str]]) -> list[int]:
    """How many rows below the one that it belongs to each row stands; 0 for one that belongs to none."""
    places: list[int] = []
    for row in rows:
        belongs = bool(places) and row[0].startswith("  ") and len(row) > 1 and not row[1]
        places.append(places[-1] + 1 if belongs else 0)
    return places


def _kind(cells: Sequence[str]) -> str:
    """The class of a column: numbers are set to the right, and sentences need room."""
    filled = [cell for cell in cells if cell.strip() not in ("", "-")]
    if filled and all(_NUMBER.fullmatch(cell) for cell in filled):
        return "n"
    return "long" if max(map(len, filled), default=0) > 28 else "text"


def _box(about: str) -> str:
    """The start of a box that scrolls: it must be reachable by the keyboard, and then needs a name."""
    return f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(about)}">'
