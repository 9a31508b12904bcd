"""A report as HTML, Markdown or JSON."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rlselect.report._files import printable
from rlselect.report._format import COLUMNS, LEGEND, fact_rows, plain, show, variable_rows
from rlselect.report._sections import picture_html, section_rows, sections_html, table_html, text_html
from rlselect.report._svg import inclusion_svg, search_svg

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; overflow-wrap: anywhere; }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.answer { font-size: 1.15rem; border-left: 4px solid #2f6fb5; padding: .25rem 0 .25rem 1rem; margin: 1rem 0; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
th, td { padding: .25rem .9rem .25rem 0; text-align: left; vertical-align: top; }
.variables thead th { border-bottom: 2px solid #8888; }
.variables tbody > tr > * { border-bottom: 1px solid #8883; font-weight: normal; }
.variables th[scope=row] { white-space: pre-wrap; min-width: 8rem; max-width: 24rem; }
.variables .n { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
table.facts th { overflow-wrap: normal; min-width: 6rem; }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible { outline: 2px solid #2f6fb5; outline-offset: 2px; }
svg { display: block; width: 100%; max-width: 720px; min-width: 560px; height: auto; }
pre { margin: .5rem 0 1rem; overflow-wrap: normal; }
section + section { border-top: 1px solid #8885; margin-top: 3rem; padding-top: 1rem; }
.note { opacity: .85; }
@media (max-width: 30rem) { main { margin: 1rem auto; } th, td { padding-right: .6rem; } }
@media print {
  :root { color-scheme: light; } body { font-size: 10.5pt; } main { max-width: none; margin: 0; padding: 0; }
  .scroll { overflow: visible; } svg { min-width: 0; } pre { white-space: pre-wrap; }
  svg, tr, .answer { break-inside: avoid; } h1, h2 { break-after: avoid; }
  section + section { break-before: page; }
}
"""


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
    rows, more = variable_rows(report)
    lines = [*_md_table(COLUMNS, rows), "", *_fill(LEGEND)] if rows else ["No variable was selected."]
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


def to_html(report: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Write one report, or several below each other, as one self-contained page.

    The page needs nothing but itself: styles and pictures are inline, there is no script and no link.

    Parameters
    ----------
    report : mapping or sequence of mappings
        Keys, all optional: ``title``, ``answer`` (a sentence or two that says it all), ``family``,
        ``n_rows``, ``n_rows_read``, ``n_features``, ``seconds``, ``stop_reason``, ``variables`` (list of
        ``name``, ``inclusion``, ``coef``, ``error``, ``gain``; ``coef`` and ``error`` may map several columns
        to their values), ``path`` (``stage``, ``size``, ``score``), ``facts`` (further lines, label to
        value), ``notes`` (list of str). Beside or in place of ``variables`` there may be ``sections``: a list
        of ``title`` and, where wanted, ``columns`` and ``rows`` of a table, ``bars`` (list of name and
        share), ``intervals`` (list of name, estimate and ends), ``curves`` (list, each as `curve_svg` takes
        it), ``text`` with lines of its own, and a ``note``; ``path`` may then say in ``titles`` what its two
        curves are. ``made`` tells at the end of the page how to get the same again: ``code``, and further
        facts by their labels.

    Returns
    -------
    str
        The page.
    """
    reports = [report] if isinstance(report, Mapping) else list(report)
    title = str(reports[0].get("title", "Selection")) if reports else "Selection"
    body = "".join(
        f'<section aria-label="{escape(str(r.get("title", "Selection")))}">{_section(r)}</section>'
        for r in reports
    )
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>{body}</main></body></html>\n"
    )
    return printable(page, lines=True)


def _section(report: Mapping[str, Any]) -> str:
    parts = [f"<h1>{escape(str(report.get('title', 'Selection')))}</h1>"]
    if report.get("answer"):
        parts.append(f'<p class="answer">{escape(str(report["answer"]))}</p>')
    parts.append(_facts_html(fact_rows(report)))
    if "variables" in report or "sections" not in report:
        parts += _selection_html(report)
    parts.append(sections_html(report.get("sections", ())))
    if report.get("path"):
        parts += ["<h2>The search</h2>", picture_html(search_svg(report["path"]))]
    parts += [f'<p class="note">{escape(str(note))}</p>' for note in report.get("notes", ())]
    if report.get("made"):
        made = dict(report["made"])
        parts += ["<h2>How it was made</h2>", text_html(str(made.pop("code", "")), "the code")]
        parts.append(_facts_html([(str(label), show(value)) for label, value in made.items()]))
    return "\n".join(parts)


def _facts_html(facts: Sequence[tuple[str, str]]) -> str:
    if not facts:
        return ""
    rows = (f'<tr><th scope="row">{escape(label)}</th><td>{escape(text)}</td></tr>' for label, text in facts)
    return f'<table class="facts">{"".join(rows)}</table>'


def _selection_html(report: Mapping[str, Any]) -> list[str]:
    parts = []
    rows, more = variable_rows(report)
    parts.append("<h2>Selected variables</h2>")
    if rows:
        parts += [table_html(COLUMNS, rows, "Selected variables"), f'<p class="note">{escape(LEGEND)}</p>']
    else:
        parts.append("<p>No variable was selected.</p>")
    if more:
        parts.append(f'<p class="note">{more} more variables are not shown.</p>')
    if rows:
        parts += ["<h2>How sure</h2>", picture_html(inclusion_svg(report["variables"]))]
    return parts
