"""Reports on the terminal and in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rlselect.cli._help import COMMAND
from rlselect.cli._progress import say
from rlselect.cli._words import report_in_flags
from rlselect.report import printable, write_whole

__all__ = ["deliver", "report_of", "show_report"]


def report_of(selector: Any, **given: Any) -> dict[str, Any]:
    """What a fit says, also of rows that are given; the command has a title of its own."""
    told = selector.report(**given) if given else selector.summary()
    report = {"method": type(selector).__name__, **told.dict}
    report.pop("title", None)
    return report


def show_report(report: Mapping[str, Any]) -> None:
    """Print a report: its facts, then the selected variables as a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rlselect.report import fact_rows, section_rows, selection_table

    console = Console(highlight=False, emoji=False, markup=False)
    console.print(Text(printable(report["title"]), style="bold"))
    if report.get("answer"):
        console.print(Text(printable(report["answer"]), style="italic"))
    for label, text in fact_rows(report):
        console.print(printable(f"{label}: {text}"))

    def show_table(columns: Sequence[str], rows: list[list[str]]) -> None:
        for shown in _fitting(columns, rows, console.width):
            table = Table(printable(columns[0]), box=box.SIMPLE_HEAD, pad_edge=False)
            table.columns[0].overflow = "fold"
            for k in shown:
                long = max(len(row[k]) for row in rows) > console.width // 2
                table.add_column(printable(columns[k]), justify="left" if long else "right", no_wrap=not long)
            for row in rows:
                table.add_row(*(Text(printable(row[k])) for k in (0, *shown)))
            console.print(table)

    if "variables" in report or "sections" not in report:
        columns, rows, legend, more = selection_table(report)
        if rows:
            show_table(columns, rows)
            console.print(printable(legend))
        else:
            console.print("No variable was selected.")
        if more:
            console.print(f"{more} more variables are not shown; --json holds all of them.")
    for section in report.get("sections", ()):
        console.print(Text(f"\n{printable(section['title'])}", style="bold"))
        rows, more = section_rows(section)
        if rows:
            show_table(section["columns"], rows)
        if more:
            console.print(f"{more} more rows are not shown; --json holds all of them.")
        # a command that is copied from the terminal must have no line ends of ours
        if "text" in section:
            console.print(printable(section["text"], lines=True), soft_wrap=True)
        if "note" in section:
            console.print(printable(section["note"], lines=True))
    for note in report.get("notes", ()):
        console.print(printable(f"Note: {note}"))


def _fitting(columns: Sequence[str], rows: list[list[str]], width: int) -> list[list[int]]:
    """Columns but the first, in as many tables as a narrow terminal needs to show them uncut."""
    widths = [max(len(printable(cell)) for cell in cells) + 3 for cells in zip(columns, *rows, strict=True)]
    tables: list[list[int]] = [[]]
    for k in range(1, len(columns)):
        if tables[-1] and widths[0] + sum(widths[j] for j in tables[-1]) + widths[k] > width:
            tables.append([])
        tables[-1].append(k)
    return tables


def _with_command(report: dict[str, Any]) -> dict[str, Any]:
    """A report that says by which command it was made."""
    context = click.get_current_context(silent=True)
    command = context.meta.get(COMMAND) if context is not None else None
    return (
        {**report, "made": {"command": command, **report["made"]}} if command and "made" in report else report
    )


def deliver(report: Mapping[str, Any], json_path: Path | None, html_path: Path | None) -> None:
    """Print a report, and write it where that was asked for."""
    from rlselect.report import to_html, to_json

    report = _with_command(report_in_flags(report))
    show_report(report)
    for path, write in ((json_path, to_json), (html_path, to_html)):
        if path is not None:
            write_whole(path, write(report))
            say(f"Wrote {printable(path)}")
