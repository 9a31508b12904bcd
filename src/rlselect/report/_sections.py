"""Further parts of a report: tables, bars, curves and text under headings of their own."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rlselect.report._format import MAX_ROWS, show
from rlselect.report._svg import bars_svg, curve_svg, intervals_svg


def section_rows(section: Mapping[str, Any]) -> tuple[list[list[str]], int]:
    """Cells of a section's table as text, and how many rows are left out.

    Parameters
    ----------
    section : mapping
        With ``rows``, if it has a table.

    Returns
    -------
    rows : list of lists of str
        The first hundred.
    more : int
        Rows left out.
    """
    rows = list(section.get("rows", ()))
    return [[show(cell) for cell in row] for row in rows[:MAX_ROWS]], max(0, len(rows) - MAX_ROWS)


def sections_html(sections: Sequence[Mapping[str, Any]]) -> str:
    """Sections of a page.

    Parameters
    ----------
    sections : sequence of mappings
        As ``sections`` of `to_html`.

    Returns
    -------
    str
        HTML.
    """
    parts = []
    for section in sections:
        parts.append(f"<h2>{escape(str(section['title']))}</h2>")
        rows, more = section_rows(section)
        if rows:
            parts.append(table_html(section["columns"], rows, str(section["title"])))
        if more:
            parts.append(f'<p class="note">{more} more rows are not shown.</p>')
        if section.get("bars"):
            parts.append(picture_html(bars_svg(section["bars"], str(section["title"]))))
        if section.get("intervals"):
            parts.append(picture_html(intervals_svg(section["intervals"], str(section["title"]))))
        parts += [picture_html(curve_svg(curve)) for curve in section.get("curves", ())]
        if "text" in section:
            parts.append(text_html(str(section["text"]), str(section["title"])))
        if "note" in section:
            parts.append(f'<p class="note">{escape(str(section["note"]))}</p>')
    return "\n".join(parts)


def table_html(columns: Sequence[str], rows: Sequence[Sequence[str]], about: str) -> str:
    """A table with numbers to the right of its first column, in a box that scrolls where it is too wide.

    Parameters
    ----------
    columns : sequence of str
        Heads.
    rows : sequence of sequences of str
        Cells.
    about : str
        What the table shows, for those who cannot see it.

    Returns
    -------
    str
        HTML.
    """
    heads = "".join(
        f'<th scope="col"{" class=n" if k else ""}>{escape(str(c))}</th>' for k, c in enumerate(columns)
    )
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td class=n>{escape(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    table = f'<table class="variables"><thead><tr>{heads}</tr></thead><tbody>' + "\n".join(lines)
    return f"{_box(f'Table: {about}')}{table}</tbody></table></div>"


def text_html(text: str, about: str) -> str:
    """Lines as they are, in a box that scrolls.

    Parameters
    ----------
    text : str
        The lines.
    about : str
        What they are, for those who cannot see it.

    Returns
    -------
    str
        HTML.
    """
    return f"{_box(f'Text: {about}')}<pre>{escape(text)}</pre></div>"


def picture_html(svg: str) -> str:
    """A picture in a box that scrolls where it would become too small to read.

    Parameters
    ----------
    svg : str
        The picture, which says itself what it shows.

    Returns
    -------
    str
        HTML.
    """
    return f"{_box('Picture')}{svg}</div>"


def _box(about: str) -> str:
    # what scrolls must be reachable by the keyboard, and then needs a name
    return f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(about)}">'
