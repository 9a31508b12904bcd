"""The command line: a thin mirror of the Python API."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import click

from rlselect import __version__
from rlselect.cli._selectors import make_selector
from rlselect.report import printable, write_whole

# \b keeps click from filling the lines into one paragraph
_EXAMPLES = """\b
Examples:
  rlselect select houses.csv --target price
  rlselect select visits.parquet --target bought --drop id --html visits.html
"""


class BadInput(click.ClickException):
    """Something the user can correct: one sentence, exit code 2."""

    exit_code = 2


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what the library refuses into one sentence, and its warnings into lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except (ValueError, TypeError, OSError) as error:
            raise BadInput(printable(" ".join(str(error).split())) or type(error).__name__) from error
        finally:
            for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
                click.echo(f"Warning: {printable(' '.join(text.split()))}", err=True)


def _file_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every command takes that reads a file and writes a report."""
    path = click.Path(path_type=Path)
    options = [
        click.option("--drop", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated."),
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


def _shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every command takes that explains a target."""
    budget = click.option(
        "--time-budget", type=float, metavar="SECONDS", help="Stop searching after so long."
    )
    weight = click.option("--weight", metavar="COLUMN", help="Column of sample weights.")
    return weight(budget(_file_options(command)))


class _Commands(click.Group):
    """Commands whose complaints about words that were given can be shown: a file name may be one of them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = printable(error.message)  # type: ignore[misc]
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlselect")
def main() -> None:
    """Which variables matter?"""


@main.command(epilog=_EXAMPLES)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="Column to explain.")
@click.option(
    "--method",
    default="revs",
    show_default=True,
    help="revs; acp or risk-rfe for relations that are not linear; thompson, fuse, fstd or cfs to compare.",
)
@click.option(
    "--family",
    default="auto",
    show_default=True,
    help="auto, gaussian, binomial, poisson, negative_binomial, multinomial, ordinal or cox.",
)
@click.option(
    "--event",
    metavar="COLUMN",
    help="Whether the target is the time of an event (1) or of the last look (0); revs only.",
)
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "indicator"]),
    default="error",
    show_default=True,
    help="Missing values: refuse them, leave their rows out, or impute and mark them.",
)
@_shared_options
def select(
    data: Path,
    target: str,
    method: str,
    family: str,
    event: str | None,
    weight: str | None,
    drop: tuple[str, ...],
    missing: str,
    na: tuple[str, ...],
    seed: int,
    time_budget: float | None,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Select the variables of DATA (.csv, .csv.gz or .parquet) that explain the target."""
    with one_sentence():
        _check_outputs(data, json_path, html_path)
        selector = make_selector(
            method, family=family, missing=missing, time_budget=time_budget, random_state=seed
        )
        if weight is not None and "sample_weight" not in signature(selector.fit).parameters:
            raise ValueError(f"--method {method} takes no weights; leave out --weight, or use --method revs.")
        if event is not None and method != "revs":
            raise ValueError(f"--method {method} knows no events; leave out --event, or use --method revs.")
        named = _targets(target, weight) | ({} if event is None else {"--event": event})
        frame = _read(data, named, drop, na)
        given = {} if weight is None else {"sample_weight": weight}
        selector.fit(frame, target if event is None else (target, event), **given)
        report = {"title": f"{target} in {data.name}", **_report(selector)}
        _deliver(report, json_path, html_path)


class _WithDefault(click.Group):
    """Commands of which the first is meant where none is named: `datumwise FILE` learns from the file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@main.group(cls=_WithDefault)
def datumwise() -> None:
    """Which features to buy for each case: `datumwise FILE --target COLUMN` learns it, `ask` uses it."""


_DATUMWISE = """\b
Examples:
  rlselect datumwise patients.csv --target ill --feature-cost 0.02
  rlselect datumwise patients.csv --target ill --cost scan=0.3 --budget 4 --html patients.html
  rlselect datumwise patients.csv --target ill --save ill.model
"""


@datumwise.command(epilog=_DATUMWISE)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="Column of the classes.")
@click.option(
    "--feature-cost",
    type=float,
    default=0.01,
    show_default=True,
    help="Price of a feature; an error costs 1.",
)
@click.option("--cost", multiple=True, metavar="NAME=PRICE", help="Price of one feature; may be repeated.")
@click.option("--budget", type=int, help="Most features per case.")
@click.option("--cost-budget", type=float, metavar="PRICE", help="Most that the features of a case may cost.")
@click.option(
    "--test-share",
    type=float,
    default=0.25,
    show_default=True,
    help="Share of the rows to judge by; 0 for none.",
)
@click.option("--save", "save_path", type=click.Path(path_type=Path), help="Save the model, for `ask`.")
@_shared_options
def learn(
    data: Path,
    target: str,
    feature_cost: float,
    cost: tuple[str, ...],
    budget: int | None,
    cost_budget: float | None,
    test_share: float,
    save_path: Path | None,
    weight: str | None,
    drop: tuple[str, ...],
    na: tuple[str, ...],
    seed: int,
    time_budget: float | None,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Learn which features of DATA to buy for each case, and when to stop and name the target's class."""
    from rlselect.cli._datumwise import parse_costs, run_command

    with one_sentence():
        _check_outputs(data, json_path, html_path, save_path)
        frame = _read(data, _targets(target, weight), drop, na)
        report = run_command(
            frame,
            target,
            weight,
            test_share=test_share,
            random_state=seed,
            save_path=save_path,
            feature_cost=feature_cost,
            costs=parse_costs(cost),
            budget=budget,
            cost_budget=cost_budget,
            time_budget=time_budget,
        )
        report = {**report, "title": f"{target} in {data.name}", "method": "DatumwiseClassifier"}
        _deliver(report, json_path, html_path)


_ASK = """\b
Examples:
  rlselect datumwise ask ill.model
  printf '0.3\\nunknown\\n' | rlselect datumwise ask ill.model --known age=31
"""


@datumwise.command(epilog=_ASK)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--known", multiple=True, metavar="NAME=VALUE", help="What is known from the start; may be repeated."
)
def ask(model: Path, known: tuple[str, ...]) -> None:
    """Ask one question at a time, by a saved MODEL, and answer when enough is known."""
    from rlselect.cli._ask import ask_questions, open_session

    with one_sentence():
        session = open_session(model, known)
        ask_questions(session, iter(sys.stdin), echo=not sys.stdin.isatty())


_REGIMES = """\b
DATA has one row per subject and stage; columns that are not named are covariates.
Examples:
  rlselect regimes visits.csv --id patient --stage visit --action drug --reward score
  rlselect regimes visits.csv --id patient --stage visit --action drug --reward pain --minimize
  rlselect regimes visits.csv --id patient --stage visit --action drug --reward score --randomized 2:1:1
"""


@main.command(epilog=_REGIMES)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--id", "subject", required=True, metavar="COLUMN", help="Column that tells subjects apart.")
@click.option("--stage", required=True, metavar="COLUMN", help="Column of the stages.")
@click.option("--action", required=True, metavar="COLUMN", help="Column of what was done.")
@click.option("--reward", required=True, metavar="COLUMN", help="Column of what came of it.")
@click.option(
    "--propensity", metavar="COLUMN", help="Column of the known probability of the action; else estimated."
)
@click.option(
    "--randomized",
    multiple=True,
    metavar="[STAGE=]RATIO",
    help="Actions were randomised, such as 2:1 in sorted order, or 'frequencies'; may be repeated by stage.",
)
@click.option("--stage-order", metavar="A,B,...", help="The stages in order of time, where they do not tell.")
@click.option("--minimize", is_flag=True, help="Small rewards are good.")
@click.option("--discount", type=float, default=1.0, show_default=True, help="Weight of the next stage.")
@_file_options
def regimes(
    data: Path,
    subject: str,
    stage: str,
    action: str,
    reward: str,
    propensity: str | None,
    randomized: tuple[str, ...],
    stage_order: str | None,
    minimize: bool,
    discount: float,
    drop: tuple[str, ...],
    na: tuple[str, ...],
    seed: int,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Learn from DATA what to do at each stage, which history that takes, and what it is worth."""
    with one_sentence():
        _check_outputs(data, json_path, html_path)
        from rlselect.cli._regimes import read_randomized

        if propensity is not None and randomized:
            raise ValueError("--propensity and --randomized were both given; give one of them.")
        named = {"--id": subject, "--stage": stage, "--action": action, "--reward": reward}
        if propensity is not None:
            named["--propensity"] = propensity
        frame = _read(data, named, drop, na)
        from rlselect.regimes import QLearning, TrialData

        trial = TrialData.from_long(
            frame,
            id=subject,
            stage=stage,
            action=action,
            reward=reward,
            covariates=[name for name in frame.column_names if name not in named.values()],
            propensity=read_randomized(randomized) if propensity is None else propensity,
            stage_order=None if stage_order is None else stage_order.split(","),
        )
        learner = QLearning(maximize=not minimize, discount=discount, random_state=seed).fit(trial)
        report = {**_report(learner), "title": f"{reward} in {data.name}"}
        _deliver(report, json_path, html_path)


def _report(selector: Any) -> dict[str, Any]:
    report = dict(selector._report())
    report.pop("title", None)
    return {"method": type(selector).__name__, **report}


def _check_outputs(data: Path, *paths: Path | None) -> None:
    """Refuse outputs that cannot be written, or would replace the data, before the search, not after it."""
    given = [path for path in paths if path is not None]
    for k, path in enumerate(given):
        if _same_file(path, data):
            raise ValueError(f"{str(path)!r} is the file of the data; give another name for what is written.")
        if any(_same_file(path, other) for other in given[:k]):
            raise ValueError(f"{str(path)!r} is named for two outputs; give each a name of its own.")
        if path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder; give the name of a file to write.")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"The folder of {str(path)!r} does not exist; make it first.")
        if not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
            raise ValueError(f"The folder of {str(path)!r} may not be written to: permission denied.")


def _same_file(one: Path, other: Path) -> bool:
    """Whether two names, with links of either kind followed, lead to one file."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and os.path.samefile(one, other)


def _targets(target: str, weight: str | None) -> dict[str, str]:
    return {"--target": target} if weight is None else {"--target": target, "--weight": weight}


def _read(path: Path, named: Mapping[str, str], drop: tuple[str, ...], na: tuple[str, ...]) -> Any:
    """A file without the columns to drop, given the options that name columns of it."""
    from rlselect.data import nearest_names, read_file

    frame = read_file(path, missing_marks=na)
    for option, name in [*named.items(), *(("--drop", d) for d in drop)]:
        if name not in frame.column_names:
            close = nearest_names(name, frame.column_names)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise ValueError(f"{option} {name!r} is not a column of {path.name}.{hint}")
    for option, name in named.items():
        if name in drop:
            raise ValueError(
                f"{name!r} is both {option} and --drop; it is never a variable: leave out --drop."
            )
    return frame.drop_columns(list(drop)) if drop else frame


def show_report(report: Mapping[str, Any]) -> None:
    """Print a report: its facts, then the selected variables as a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rlselect.report import COLUMNS, LEGEND, fact_rows, section_rows, variable_rows

    console = Console(highlight=False, emoji=False, markup=False)
    console.print(Text(printable(report["title"]), style="bold"))
    for label, text in fact_rows(report):
        console.print(printable(f"{label}: {text}"))

    def show_table(columns: Sequence[str], rows: list[list[str]]) -> None:
        table = Table(printable(columns[0]), box=box.SIMPLE_HEAD, pad_edge=False)
        table.columns[0].overflow = "fold"
        for name in columns[1:]:
            table.add_column(printable(name), justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        console.print(table)

    if "variables" in report or "sections" not in report:
        rows, more = variable_rows(report)
        if rows:
            show_table(COLUMNS, rows)
            console.print(LEGEND)
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
        for text in (section.get("text"), section.get("note")):
            if text is not None:
                console.print(printable(text, lines=True))
    for note in report.get("notes", ()):
        console.print(printable(f"Note: {note}"))


def _deliver(report: Mapping[str, Any], json_path: Path | None, html_path: Path | None) -> None:
    """Print a report, and write it where that was asked for."""
    from rlselect.report import to_html, to_json

    show_report(report)
    for path, write in ((json_path, to_json), (html_path, to_html)):
        if path is not None:
            write_whole(path, write(report))
            click.echo(f"Wrote {printable(path)}", err=True)


if __name__ == "__main__":
    main()
