"""Further parts of a report: tables, bars, curves and text under headings of their own."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rlselect.report._format import MAX_ROWS, show
from rlselect.report._svg import bars_svg, curve_svg


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
            parts.append(table_html(section["columns"], rows))
        if more:
            parts.append(f'<p class="note">{more} more rows are not shown.</p>')
        if section.get("bars"):
            parts.append(bars_svg(section["bars"], str(section["title"])))
        parts += [curve_svg(curve) for curve in section.get("curves", ())]
        if "text" in section:
            parts.append(f"<pre>{escape(str(section['text']))}</pre>")
        if "note" in section:
            parts.append(f'<p class="note">{escape(str(section["note"]))}</p>')
    return "\n".join(parts)


def table_html(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with numbers to the right of its first column.

    Parameters
    ----------
    columns : sequence of str
        Heads.
    rows : sequence of sequences of str
        Cells.

    Returns
    -------
    str
        HTML.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        written = (f"<{tag}{' class=n' if k else ''}>{escape(c)}</{tag}>" for k, c in enumerate(cells))
        return f"<tr>{''.join(written)}</tr>"

    lines = [line(row, "td") for row in rows]
    return f'<table class="variables">{line(columns, "th")}' + "\n".join(lines) + "</table>"
