"""A report as Markdown or JSON."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rlselect.report._files import printable
from rlselect.report._format import fact_rows, plain, selection_table
from rlselect.report._sections import section_rows


def to_json(report: Mapping[str, Any]) -> str:
    """Write a report as JSON: NumPy values become plain ones, NaN and infinity null.

    Parameters
    ----------
    report : mapping
        Any keys; see `to_html` for those of a selection.

    Returns
    -------
    str
        Indented JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.report import to_json
    >>> print(to_json({"title": "T", "score": np.float64("nan")}))
    {
      "title": "T",
      "score": null
    }
    """
    text = json.dumps(plain(report), indent=2, ensure_ascii=False, allow_nan=False)
    # the same values, in a file that can be shown: JSON has its own way to write what is not printable
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def to_markdown(report: Mapping[str, Any]) -> str:
    """Write a report as Markdown that also reads well as it is: facts, aligned table of variables, notes.

    Parameters
    ----------
    report : mapping
        As for `to_html`.

    Returns
    -------
    str
        Markdown with pipe tables.
    """
    lines = [f"# {_md(report.get('title', 'Selection'))}", ""]
    if report.get("answer"):
        lines += [*_fill(_md(report["answer"])), ""]
    lines += [f"- {_md(label)}: {_md(text)}" for label, text in fact_rows(report)]
    lines.append("")
    if "variables" in report or "sections" not in report:
        lines += [*_md_selection(report), *([""] if report.get("sections") else [])]
    lines += [line for section in report.get("sections", ()) for line in _md_section(section)]
    for note in report.get("notes", ()):
        lines += ["", *(f"> {line}" for line in _fill(_md(note)))]
    return printable("\n".join(lines).rstrip("\n") + "\n", lines=True)


def _md_selection(report: Mapping[str, Any]) -> list[str]:
    columns, rows, legend, more = selection_table(report)
    lines = [*_md_table(columns, rows), "", *_fill(_md(legend))] if rows else ["No variable was selected."]
    return [*lines, "", f"{more} more variables are not shown."] if more else lines


def _md_section(section: Mapping[str, Any]) -> list[str]:
    lines = [f"## {_md(section['title'])}", ""]
    rows, more = section_rows(section)
    if rows:
        lines += [*_md_table([_md(name) for name in section["columns"]], rows), ""]
    if more:
        lines += [f"{more} more rows are not shown.", ""]
    if "text" in section:
        lines += ["```text", str(section["text"]), "```", ""]
    if "note" in section:
        lines += [*_fill(_md(section["note"])), ""]
    return lines


def _md_table(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    # a space that Markdown keeps sets the rows of a variable's coefficients apart
    cells = [[_md(cell) for cell in row] for row in rows]
    for row, written in zip(rows, cells, strict=True):
        if row[0].startswith(" "):
            written[0] = "\u00a0\u00a0" + written[0]
    widths = [max(len(name), *(len(row[k]) for row in cells)) for k, name in enumerate(columns)]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = (
        "|" + "|".join("-" * (w + 1) + ":" if k else ":" + "-" * (w + 1) for k, w in enumerate(widths)) + "|"
    )
    return [line(columns), rule, *map(line, cells)]


def _fill(text: str) -> list[str]:
    return textwrap.wrap(text, width=96, break_long_words=False, break_on_hyphens=False)


# underscores inside a word are no markup, and names are full of them
_MARKUP = re.compile(r"[\\`*|<]|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|\[(?=[^]]*\][(\[])")


def _md(text: Any) -> str:
    """Escape what would break a table, or turn a name into markup."""
    return _MARKUP.sub(r"\\\g<0>", printable(" ".join(str(text).split())))
