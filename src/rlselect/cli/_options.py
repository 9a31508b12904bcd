"""Options that commands share."""

import codecs
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from rlselect.cli._progress import be_quiet

__all__ = [
    "budget_option",
    "category_option",
    "cells_option",
    "data_argument",
    "day_first_option",
    "expand_option",
    "file_options",
    "missing_option",
    "model_argument",
    "output_options",
    "quiet_option",
    "read_options",
    "report_options",
    "rule_options",
    "save_option",
    "seed_option",
    "shared_options",
    "subject_option",
    "target_option",
    "told_option",
]

Command = Callable[..., None]

_PATH = click.Path(path_type=Path)

data_argument = click.argument("data", nargs=-1, required=True)
model_argument = click.argument("model", type=_PATH)
subject_option = click.option(
    "--id", "subject", required=True, metavar="COLUMN", help="Column that tells subjects apart."
)
target_option = click.option("--target", required=True, metavar="COLUMN", help="Column to explain.")
missing_option = click.option(
    "--missing",
    type=click.Choice(["error", "drop", "indicator"]),
    default="error",
    show_default=True,
    help="Missing values: refuse them, leave their rows out, or impute and mark them.",
)
told_option = click.option(
    "--drop-missing-target", is_flag=True, help="Leave out rows in which the target is missing."
)
save_option = click.option("--save", "model_path", type=_PATH, help="Write the fitted model to a file.")


def _all(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _known_encoding(_: Any, __: Any, name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        raise click.BadParameter(
            f"{name!r} is not known; give one such as utf-8, cp1252 or utf-16."
        ) from None
    return name


_marks = click.option(
    "--na",
    multiple=True,
    metavar="TEXT",
    help="Cell of a CSV that means missing, such as '?'; may be repeated.",
)
_decimal = click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    show_default=True,
    help="What stands before the decimals of a CSV's numbers.",
)


_encoding = click.option(
    "--encoding",
    default="utf-8",
    show_default=True,
    metavar="NAME",
    callback=_known_encoding,
    help="How letters of a CSV are written: cp1252 for many files of Excel.",
)


_thousands = click.option(
    "--thousands",
    type=click.Choice([",", ".", "'", "space"]),
    help="What stands between the thousands of a CSV's numbers, such as 1,234.5.",
)


def _known_unit(_: Any, __: Any, units: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what is no unit, with which numbers would be read as other numbers."""
    for unit in units:
        if not unit.strip() or any(sign.isdigit() or sign in ".,+-" for sign in unit):
            raise click.BadParameter(
                f"{unit!r} is none; give what stands beside the numbers, such as % or €."
            )
    return tuple(unit.strip() for unit in units)


_unit = click.option(
    "--unit",
    multiple=True,
    metavar="TEXT",
    callback=_known_unit,
    help="What stands beside a CSV's numbers, such as % or €; may be repeated.",
)


def cells_option(command: Command) -> Command:
    """What a command takes as `cells`: how those of CSV files are written."""

    @wraps(command)
    def read(
        *args: Any,
        na: tuple[str, ...],
        decimal: str,
        thousands: str | None,
        unit: tuple[str, ...],
        encoding: str,
        **given: Any,
    ) -> None:
        from rlselect.data import CsvCells

        if thousands == decimal:
            raise click.UsageError(
                f"--thousands {thousands} and --decimal {decimal} were given; one mark cannot be both."
            )
        between = {"space": " "}.get(thousands or "", thousands or "")
        command(*args, cells=CsvCells(na, decimal, encoding, between, units=unit), **given)

    return _marks(_decimal(_thousands(_unit(_encoding(read)))))


def expand_option(command: Command) -> Command:
    """What a command takes as `expand_dates`: what stands first in 01/02/2024, None to leave dates alone."""

    @wraps(command)
    def read(*args: Any, expand_dates: bool, day_first: bool | None, **given: Any) -> None:
        if day_first is not None and not expand_dates:
            flag = "--day-first" if day_first else "--month-first"
            raise click.UsageError(f"{flag} says how to read the dates of --expand-dates; give both.")
        order = {None: "told", True: "day", False: "month"}[day_first]
        command(*args, expand_dates=order if expand_dates else None, **given)

    return _expand(day_first_option(read))


category_option = click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="COLUMN",
    help="Column whose numbers are names of categories; may be repeated.",
)
_expand = click.option("--expand-dates", is_flag=True, help="Make days, months and weekdays of dates.")
day_first_option = click.option(
    "--day-first/--month-first",
    default=None,
    help="What stands first in dates such as 01/02/2024, where no cell tells.",
)
_drop = click.option("--drop", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer.")
_weight = click.option("--weight", metavar="COLUMN", help="Column of sample weights.")
budget_option = click.option(
    "--time-budget",
    type=float,
    metavar="SECONDS",
    help="Stop searching after so long; reading a CSV file is not counted.",
)
quiet_option = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=be_quiet,
    help="Say nothing beside the result: no progress, no names of files.",
)
# what every command takes that answers with a report
output_options = _all(
    click.option("--json", "json_path", type=_PATH, help="Write the result as JSON."),
    click.option("--html", "--report", "html_path", type=_PATH, help="Write the result as a web page."),
    quiet_option,
)
# what a subset has to follow
rule_options = _all(
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
)
# what a look takes
read_options = _all(_drop, cells_option, output_options)
# what a fit takes of a file whose columns it names
report_options = _all(cells_option, seed_option, output_options)
# what a fit takes that reads all columns of a file
file_options = _all(_drop, report_options)
# what a fit takes that explains a target
shared_options = _all(_weight, budget_option, file_options)
