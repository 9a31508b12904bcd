"""A report as a page, or as a part of a notebook."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from rlselect.report._cells import bar_pictures
from rlselect.report._files import printable
from rlselect.report._format import MAX_PAGE_ROWS, fact_rows, plain, selection_table, show
from rlselect.report._sections import curve_html, findings_html, sections_html
from rlselect.report._svg import search_curves
from rlselect.report._tables import prose_html, table_html

__all__ = ["to_html", "to_notebook"]


def to_html(report: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Write one report, or several below each other, as one self-contained page.

    The page needs nothing but itself: style and pictures are inline, and no link leads out of it. A small
    script lets readers sort tables; without it the page says the same.

    Parameters
    ----------
    report : mapping or sequence of mappings
        Keys, all optional: ``title``, ``answer`` (a sentence or two that says it all), ``family``,
        ``n_rows``, ``n_rows_read``, ``n_features``, ``seconds``, ``stop_reason``, ``variables`` (list of
        ``name``, ``inclusion``, ``coef``, ``error``, ``gain``; ``coef`` and ``error`` may map several columns
        to their values), ``path`` (``stage``, ``size``, ``score``), ``facts`` (further lines, label to
        value), ``notes`` (list of str). Beside or in place of ``variables`` there may be ``sections``: a list
        of ``title`` and, where wanted, ``columns`` and ``rows`` of a table, ``bars`` (list of name and
        share) or ``intervals`` (list of name, estimate and ends), one for each row of the table if there is
        one, ``curves`` (list, each as
        `curve_svg` takes it), ``text`` with lines of its own, ``findings`` (list of ``weight``, ``text`` and
        ``mend``, which a page shows in place of the text), and a ``note``; ``path`` may then say in
        ``titles`` what its two curves are. ``made`` tells at the end of the page how to get the same again:
        ``code`` or ``command``, ``settings`` by their names, ``works`` to be cited, and further facts by
        their labels.
        ``question`` says before the answer what was asked, ``data`` what the data were like: ``facts`` and
        ``findings``.

    Returns
    -------
    str
        The page.
    """
    reports = [report] if isinstance(report, Mapping) else list(report)
    title = escape(_title(reports[0])) if reports else "Selection"
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_PAGE_STYLE}{_asset('page.css')}</style></head>\n"
        f'<body><main class="rlselect">{_body(reports)}</main>'
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )
    return printable(page, lines=True)


# what only a page of its own may say of the window it is in
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; }
main { max-width: 66rem; margin: 2.5rem auto; padding: 0 1.25rem; }
@media (max-width: 34rem) { main { margin: 1.25rem auto; padding: 0 1rem; } }
@media print {
  :root { color-scheme: light; font-size: 13px; }
  main { max-width: none; margin: 0; padding: 0; }
}
"""


@cache
def _asset(name: str) -> str:
    return files("rlselect.report").joinpath(name).read_text(encoding="utf-8")


def to_notebook(report: Mapping[str, Any]) -> str:
    """Write a report as a part of another page: no script, and a style that touches nothing around it.

    Parameters
    ----------
    report : mapping
        As for `to_html`.

    Returns
    -------
    str
        HTML.
    """
    part = f'<div class="rlselect"><style>{_asset("page.css")}</style>{_body([report], level=2)}</div>'
    return printable(part, lines=True)


def _body(reports: Sequence[Mapping[str, Any]], level: int = 1) -> str:
    """Reports below each other: the first has the heading of the page, the others stand one level below."""
    parts = []
    for k, report in enumerate(reports):
        about = escape(_title(report))
        inside = _section(report, level + (k > 0))
        if k == 0 and len(reports) > 1:
            links = "".join(
                f'<li><a href="#part-{n}">{escape(_title(one))}</a></li>'
                for n, one in enumerate(reports[1:], 1)
            )
            inside += f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav>'
        parts.append(f'<section id="part-{k}" aria-label="{about}">{inside}</section>')
    return "".join(parts)


def _title(report: Mapping[str, Any]) -> str:
    return str(report.get("title", "Selection"))


def _section(report: Mapping[str, Any], level: int) -> str:
    def heading(text: str, below: int = 1) -> str:
        return f"<h{level + below}>{escape(text)}</h{level + below}>"

    parts = [heading(_title(report), 0)]
    if report.get("question"):
        parts.append(f"<p>{escape(str(report['question']))}</p>")
    if report.get("answer"):
        parts.append(f'<p class="answer">{escape(str(report["answer"]))}</p>')
    parts.append(_facts_html(fact_rows(report)))
    if "variables" in report or "sections" not in report:
        parts += [heading("Selected variables"), *_selection_html(report)]
    parts.append(sections_html(report.get("sections", ()), level + 1))
    if report.get("notes"):
        parts.append(heading("To keep in mind"))
        parts += [f"<p>{prose_html(note)}</p>" for note in report["notes"]]
    curves = search_curves(report["path"]) if report.get("path") else []
    if curves:
        # for those who ask how it was found; others want to know what was found
        drawn = "".join(map(curve_html, curves))
        parts.append(f"<details><summary>The search, step by step</summary>{drawn}</details>")
    parts += _data_html(report.get("data") or {}, heading)
    if report.get("made"):
        parts += [heading("How it was made"), *_made_html(report["made"])]
    return "\n".join(parts)


def _long_word(text: str) -> str:
    """Marks what a narrow column would break in the middle."""
    return " word" if max(map(len, text.split()), default=0) > 16 else ""


def _facts_html(facts: Sequence[tuple[str, str]]) -> str:
    if not facts:
        return ""
    # a text that is too long for a column of its own takes two, or the whole line
    rows = (
        f'<div class="wide-{(len(text) > 22) + (len(text) > 60)}{_long_word(text)}"><dt>{escape(label)}</dt>'
        f"<dd>{escape(text)}</dd></div>"
        for label, text in facts
    )
    return f"<dl>{''.join(rows)}</dl>"


def _selection_html(report: Mapping[str, Any]) -> list[str]:
    columns, rows, legend, more = selection_table(report, MAX_PAGE_ROWS)
    if not rows:
        return ["<p>No variable was selected.</p>"]
    shares: list[float | None] = []
    for variable in report["variables"][:MAX_PAGE_ROWS]:
        coef = variable.get("coef")
        shares.append(plain(variable.get("inclusion")))
        shares += [None] * (len(coef) if isinstance(coef, Mapping) else 0)
    bars = bar_pictures(shares, columns.index("Inclusion")) if "Inclusion" in columns else None
    parts = [table_html(columns, rows, "Selected variables", bars)]
    if more:
        parts.append(f'<p class="note">{more:,} more variables are not shown.</p>')
    return [*parts, f'<p class="note">{escape(legend)}</p>']


def _data_html(data: Mapping[str, Any], heading: Callable[[str], str]) -> list[str]:
    """What the data were like, as far as somebody looked."""
    parts = [_facts_html([(str(label), show(value)) for label, value in data.get("facts", {}).items()])]
    if data.get("findings"):
        parts.append(findings_html(data["findings"]))
    return [heading("The data"), *parts] if any(parts) else []


def _made_html(made: Mapping[str, Any]) -> list[str]:
    further = dict(made)
    command, code = further.pop("command", None), f"<pre>{escape(str(further.pop('code', '')))}</pre>"
    parts = [code]
    if command is not None:
        parts = [
            f"<pre>{prose_html(command)}</pre>",
            f"<details><summary>In Python</summary>{code}</details>",
        ]
    settings, works = further.pop("settings", {}), further.pop("works", ())
    parts.append(_facts_html([(str(label), show(value)) for label, value in further.items()]))
    if settings:
        rows = [[str(name), show(value)] for name, value in settings.items()]
        table = table_html(("Setting", "Value"), rows, "All settings")
        parts.append(f"<details><summary>All settings</summary>{table}</details>")
    if works:
        listed = "".join(f"<li>{escape(str(work))}</li>" for work in works)
        parts.append(f"<p>The work behind the method, to be cited with it:</p><ul>{listed}</ul>")
    return parts
