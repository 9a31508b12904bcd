"""Options that commands share."""

from collections.abc import Callable
from pathlib import Path

import click

__all__ = ["file_options", "report_options", "rule_options", "shared_options"]


def report_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every command takes that reads a file and writes a report."""
    path = click.Path(path_type=Path)
    options = [
        click.option(
            "--na",
            multiple=True,
            metavar="TEXT",
            help="Cell of a CSV that means missing, such as '?'; may be repeated.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer."),
        click.option("--json", "json_path", type=path, help="Write the result as JSON."),
        click.option("--html", "html_path", type=path, help="Write the result as a web page."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def rule_options(command: Callable[..., None]) -> Callable[..., None]:
    """What a subset has to follow; for revs."""
    options = [
        click.option("--max-features", type=int, metavar="N", help="Select no more than N; revs only."),
        click.option(
            "--at-most",
            multiple=True,
            metavar="N:COLUMNS",
            help="Select no more than N of some columns, as 1:a,b,c; may be repeated; revs only.",
        ),
        click.option(
            "--sign",
            multiple=True,
            metavar="COLUMN=+",
            help="Sign (+ or -) of a coefficient, or of all without a column; may be repeated; revs only.",
        ),
        click.option(
            "--order",
            type=click.IntRange(1, 2),
            default=1,
            show_default=True,
            help="2: products of two columns too, beside both of them; revs only.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def file_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every command takes that reads all columns of a file."""
    words = "Column to leave out; may be repeated."
    return click.option("--drop", multiple=True, metavar="COLUMN", help=words)(report_options(command))


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every command takes that explains a target."""
    budget = click.option(
        "--time-budget", type=float, metavar="SECONDS", help="Stop searching after so long."
    )
    weight = click.option("--weight", metavar="COLUMN", help="Column of sample weights.")
    return weight(budget(file_options(command)))
