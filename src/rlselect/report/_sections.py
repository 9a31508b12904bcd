"""Further parts of a report: tables, bars, curves and text under headings of their own."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rlselect.report._cells import RowPictures, bar_pictures, interval_pictures
from rlselect.report._format import MAX_PAGE_ROWS, MAX_ROWS, plain, show_column, show_pvalues
from rlselect.report._svg import curve_svg
from rlselect.report._tables import prose_html, table_html

# lines of a tree that a page shows at once
_TREE_LINES = 40


def section_rows(section: Mapping[str, Any], most: int = MAX_ROWS) -> tuple[list[list[str]], int]:
    """Cells of a section's table as text, and how many rows are left out.

    Parameters
    ----------
    section : mapping
        With ``rows``, if it has a table.
    most : int, default=100
        Rows that are written.

    Returns
    -------
    rows : list of lists of str
        The first ones.
    more : int
        Rows left out.
    """
    rows = list(section.get("rows", ()))
    shown = [list(row) for row in rows[:most]]
    names = section.get("columns", ())
    columns = [
        show_pvalues(column) if k < len(names) and str(names[k]).startswith("p (") else show_column(column)
        for k, column in enumerate(zip(*shown, strict=True))
    ]
    return [list(row) for row in zip(*columns, strict=True)], len(rows) - len(shown)


def sections_html(sections: Sequence[Mapping[str, Any]], level: int) -> str:
    """Sections of a page.

    Parameters
    ----------
    sections : sequence of mappings
        As ``sections`` of `to_html`.
    level : int
        Of their headings.

    Returns
    -------
    str
        HTML.
    """
    parts = []
    for section in sections:
        title = str(section["title"])
        parts.append(f"<h{level}>{escape(title)}</h{level}>")
        if "findings" in section:
            parts.append(findings_html(section["findings"]))
        elif "text" in section:
            parts.append(text_html(str(section["text"])))
        parts += _table_parts(section, title)
        parts += [curve_html(curve) for curve in section.get("curves", ())]
        if section.get("note"):
            parts.append(f'<p class="note">{prose_html(section["note"])}</p>')
    return "\n".join(parts)


def _table_parts(section: Mapping[str, Any], title: str) -> list[str]:
    """The table with a picture in each row; pictures of something else have a table of their own."""
    bars, intervals = (list(section.get(key, ()))[:MAX_PAGE_ROWS] for key in ("bars", "intervals"))
    drawn = intervals or bars
    rows, more = section_rows(section, MAX_PAGE_ROWS)
    fits, parts = len(rows) == len(drawn), []
    if rows:
        pictures = _pictures(bars, intervals, section["rows"]) if fits else None
        parts.append(table_html(section["columns"], rows, title, pictures))
    if more:
        parts.append(f'<p class="note">{more:,} more rows are not shown.</p>')
    if drawn and not fits:
        columns = ("Value of", "Estimate", "From", "To") if intervals else ("Name", "Share")
        cells, _ = section_rows({"rows": drawn}, MAX_PAGE_ROWS)
        parts.append(table_html(columns, cells, title, _pictures(bars, intervals, drawn)))
    return parts


def _pictures(
    bars: Sequence[tuple[str, float]],
    intervals: Sequence[tuple[str, float, float, float]],
    rows: Sequence[Sequence[Any]],
) -> RowPictures | None:
    """Pictures for the rows of a table; bars stand beside the numbers that they show."""
    if intervals:
        return interval_pictures(intervals)
    shares = [plain(share) for _, share in bars]
    columns = range(1, len(rows[0]) if rows else 0)
    same = (
        k for k in columns if all(_shows(row[k], share) for row, share in zip(rows, shares, strict=False))
    )
    return bar_pictures(shares, next(same, None)) if bars else None


def _shows(cell: Any, share: float | None) -> bool:
    """Whether a cell says the same as a share: as a number, or in per cent."""
    value = plain(cell)
    if isinstance(value, str) and value.endswith("%"):
        return share is not None and value in (f"{share:.{k}%}" for k in range(4))
    return value == share


def curve_html(curve: Mapping[str, Any]) -> str:
    """A curve below its title.

    Parameters
    ----------
    curve : mapping
        As `curve_svg` takes it.

    Returns
    -------
    str
        HTML.
    """
    caption = f"<figcaption>{escape(str(curve['title']))}</figcaption>" if curve.get("title") else ""
    return f"<figure>{caption}{curve_svg(curve)}</figure>"


def text_html(text: str) -> str:
    """Lines as they are; indented ones as a tree.

    Parameters
    ----------
    text : str
        The lines.

    Returns
    -------
    str
        HTML.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    if not any(indents) or indents[0]:
        return f"<pre>{prose_html(text)}</pre>"
    whole = _tree_html(lines, indents)
    if len(lines) <= _TREE_LINES:
        return whole
    # of a tree that nobody reads to its end, the first steps; all of it for those who ask
    depths = sorted(set(indents))
    deepest = max([d for d in depths if sum(i <= d for i in indents) <= _TREE_LINES] or depths[:1])
    first = [k for k, indent in enumerate(indents) if indent <= deepest]
    short = _tree_html([lines[k] for k in first], [indents[k] for k in first])
    return f"{short}<details><summary>All {len(lines)} lines</summary>{whole}</details>"


def _tree_html(lines: Sequence[str], indents: Sequence[int]) -> str:
    parts, above = ['<ul class="tree">'], [0]
    for line, indent in zip(lines, indents, strict=True):
        if indent > above[-1]:
            parts.append("<ul>")
            above.append(indent)
        elif parts[-1] != '<ul class="tree">':
            parts.append("</li>")
        while indent < above[-1]:
            parts.append("</ul></li>")
            above.pop()
        parts.append(f"<li>{escape(line.strip()).replace('-&gt;', '→')}")
    return "".join(parts) + "</li></ul>" * len(above)


def findings_html(findings: Sequence[Mapping[str, str]]) -> str:
    """What was found: each with its weight, a sentence, and what mends it."""
    parts = []
    for one in findings:
        mend = f"<code>{prose_html(one['mend'])}</code>" if one.get("mend") else ""
        weight = escape(one["weight"])
        parts.append(
            f'<li class="{weight}"><strong>{weight.capitalize()}:</strong> {escape(one["text"])}{mend}</li>'
        )
    return f'<ul class="findings">{"".join(parts)}</ul>'
