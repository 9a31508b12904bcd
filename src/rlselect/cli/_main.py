"""The command line: a thin mirror of the Python API."""

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rlselect import __version__
from rlselect._watch import tell
from rlselect.cli._errors import one_sentence
from rlselect.cli._files import (
    check_outputs,
    columns_of,
    flags_of,
    name_targets,
    names_in,
    open_data,
    split_names,
    title_of,
    with_categories,
    with_numbers,
    with_target,
)
from rlselect.cli._help import Contents, examples
from rlselect.cli._options import (
    category_option,
    cells_option,
    data_argument,
    expand_option,
    missing_option,
    model_argument,
    output_options,
    quiet_option,
    read_options,
    rule_options,
    save_option,
    shared_options,
    target_option,
    told_option,
)
from rlselect.cli._progress import say, shown_progress
from rlselect.cli._questions import datumwise, effects, regimes
from rlselect.cli._selectors import make_selector, read_rules, refuse_others
from rlselect.cli._show import deliver, report_of
from rlselect.cli._studies import compare, reproduce, simulate
from rlselect.report import printable

if TYPE_CHECKING:
    from rlselect.cli._files import DateOrder
    from rlselect.data import CsvCells

_HEADINGS = {
    "Look first": ["check"],
    "Which variables matter": ["select", "datumwise", "regimes", "effects", "compare"],
    "With a model that --save has written": ["predict", "report"],
    "Made data, and the papers": ["simulate", "reproduce"],
    "Comfort": ["completion"],
}
_START = """\b
Start with your own table:
  rlselect check houses.csv --target price
  rlselect select houses.csv --target price --html report.html
rlselect COMMAND --help has examples of each command.
"""


@click.group(
    cls=Contents,
    headings=_HEADINGS,
    epilog=_START,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="rlselect")
def main() -> None:
    """Which variables matter: for everyone, for this case, for this decision, at this moment?"""


@main.command(
    epilog=examples(
        "rlselect select houses.csv --target price",
        "rlselect select visits.parquet --target bought --drop id --html visits.html",
        "rlselect select trial.csv --target weight,pressure",
        'rlselect select "year=*/*.parquet" --target bought --save bought.model',
    ),
    short_help="for everyone: the variables that explain a target",
)
@data_argument
@target_option
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
    "--responses",
    type=click.Choice(["shared", "each"]),
    default="shared",
    show_default=True,
    help="One selection for all targets (--target a,b), or one for each; revs only.",
)
@click.option("--groups", metavar="COLUMN", help="Column that says which rows belong together.")
@click.option("--time-ordered", is_flag=True, help="Rows come in the order of time.")
@rule_options
@click.option(
    "--inference",
    type=click.Choice(["refit", "split"]),
    default="refit",
    show_default=True,
    help="split: standard errors of rows that took no part in the selection; revs only.",
)
@missing_option
@told_option
@expand_option
@category_option
@save_option
@shared_options
def select(
    data: tuple[str, ...],
    target: str,
    method: str,
    family: str,
    event: str | None,
    responses: str,
    max_features: int | None,
    at_most: tuple[str, ...],
    sign: tuple[str, ...],
    order: int,
    weight: str | None,
    drop: tuple[str, ...],
    inference: str,
    missing: str,
    drop_missing_target: bool,
    groups: str | None,
    time_ordered: bool,
    expand_dates: "DateOrder | None",
    categories: tuple[str, ...],
    cells: "CsvCells",
    seed: int,
    time_budget: float | None,
    model_path: Path | None,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Select the variables of DATA that explain the target.

    DATA are files, folders, globs or a URL of CSV, Parquet, Feather or JSON lines.
    """
    from rlselect.cli._check import refuse_problems
    from rlselect.cli._models import save_model

    with one_sentence():
        check_outputs(data, json_path, html_path, model_path)
        selector = make_selector(
            method,
            family=family,
            missing=missing,
            time_budget=time_budget,
            random_state=seed,
            rules=read_rules(max_features, at_most, sign, order),
        )
        if weight is not None and "sample_weight" not in signature(selector.fit).parameters:
            raise ValueError(f"--method {method} takes no weights; leave out --weight, or use --method revs.")
        if method == "revs":
            selector.set_params(time_ordered=time_ordered, responses=responses, inference=inference)
        else:
            refuse_others(method, event, groups, time_ordered, responses, inference)
        named = name_targets(target, weight) | ({} if event is None else {"--event": event})
        named |= {} if groups is None else {"--groups": groups}
        given = {} if weight is None else {"sample_weight": weight}
        given |= {} if groups is None else {"groups": groups}
        with shown_progress("reading", time_budget):
            table = open_data(data, named, drop, cells, several=True)
            targets = split_names(target, names_in(table))
            if len(targets) > 1 and (event is not None or method != "revs"):
                what = f"--method {method}" if event is None else "--event"
                raise ValueError(f"{what} is for one target; --target {target} names {len(targets)}.")
            table = with_categories(table, categories, title_of(data))
            if drop_missing_target:
                table = with_target(table, targets)
            day_first: dict[str, bool] = {}
            if expand_dates:
                table, day_first = with_numbers(table, expand_dates, [*targets, *named.values()])
            looked = [refuse_problems(table, name, missing=missing) for name in targets if event is None]
            tell(doing=method)
            y = target if event is None else (target, event)
            selector.fit(table, targets if len(targets) > 1 else y, **given)
        save_model(selector, model_path, day_first)
        report = {"title": f"What matters for {target}, in {title_of(data)}", **report_of(selector)}
        findings = [one for seen in looked for one in seen]
        report["data"] = {**report.get("data", {}), "findings": findings}
        deliver(report, json_path, html_path)


@main.command(
    epilog=examples(
        "rlselect check houses.csv --target price",
        "rlselect check visits/ --target bought --html visits.html",
    ),
    short_help="what is in the way, what may mislead, which method suits",
)
@data_argument
@click.option("--target", metavar="COLUMN", help="Column to explain.")
@click.option(
    "--question",
    type=click.Choice(["everyone", "case", "decision", "moment"]),
    default="everyone",
    show_default=True,
    help="For whom or when variables matter.",
)
@read_options
def check(
    data: tuple[str, ...],
    target: str | None,
    question: Literal["everyone", "case", "decision", "moment"],
    drop: tuple[str, ...],
    cells: "CsvCells",
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Look at DATA first: what is in the way, what may mislead, and which method suits them."""
    from rlselect.preflight import check as look

    with one_sentence():
        check_outputs(data, json_path, html_path)
        with shown_progress("looking"):
            table = open_data(data, {} if target is None else {"--target": target}, drop, cells, look=True)
            found = look(table, target, question=question, name=data)
        deliver(found.for_command_line(flags_of(drop, cells)), json_path, html_path)


@main.command(
    epilog=examples(
        "rlselect select houses.csv --target price --save price.model",
        "rlselect predict price.model new.csv --out prices.csv",
    ),
    short_help="a line for each of its new rows",
)
@model_argument
@data_argument
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write: .csv, .parquet, .feather or .jsonl.",
)
@click.option("--proba", is_flag=True, help="Probabilities of the classes, too.")
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Lower and upper ends that hold a new number with this probability, such as 0.9; revs only.",
)
@click.option(
    "--no-average",
    is_flag=True,
    help="Predict from the selected variables alone, not from an average over subsets; revs only.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Column to write beside the predictions, such as an id; may be repeated.",
)
@expand_option
@cells_option
@quiet_option
def predict(
    model: Path,
    data: tuple[str, ...],
    out: Path,
    proba: bool,
    interval: float | None,
    no_average: bool,
    keep: tuple[str, ...],
    expand_dates: "DateOrder | None",
    cells: "CsvCells",
) -> None:
    """Predict the rows of DATA with a MODEL that --save has written."""
    from rlselect.cli._models import write_predictions

    with one_sentence():
        check_outputs([str(model), *data], out)
        with shown_progress("predicting"):
            table = open_data(data, {}, (), cells)
            kept = columns_of(table, keep, "--keep", title_of(data)) if keep else None
            n_rows = write_predictions(
                model,
                table,
                out,
                proba=proba,
                interval=interval,
                average=not no_average,
                kept=kept,
                expand_dates=expand_dates,
            )
        say(f"Wrote {printable(out)} ({n_rows:,} rows)")


@main.command(
    epilog=examples(
        "rlselect report price.model --html price.html",
        "rlselect report price.model --data new.csv --html price.html",
        "rlselect report before.model after.model --html changed.html",
    ),
    short_help="what it found, once more, or what changed",
)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--data",
    multiple=True,
    metavar="FILE",
    help="Rows that it did not learn from, to judge it by; may be repeated.",
)
@click.option(
    "--target", metavar="COLUMN", help="Column of --data to tell, if it is not called as in the fit."
)
@click.option("--weight", metavar="COLUMN", help="Column of --data with sample weights.")
@click.option("--event", metavar="COLUMN", help="Column of --data as in the fit, for times of events.")
@told_option
@expand_option
@cells_option
@output_options
def report(
    models: tuple[Path, ...],
    data: tuple[str, ...],
    target: str | None,
    weight: str | None,
    event: str | None,
    drop_missing_target: bool,
    expand_dates: "DateOrder | None",
    cells: "CsvCells",
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Show again what a MODEL found that --save has written; of several, what changed between them."""
    from rlselect.cli._models import load_model, report_again

    with one_sentence():
        check_outputs([*map(str, models), *data], json_path, html_path)
        short = len({model.name for model in models}) == len(models)
        fits = {model.name if short else str(model): load_model(model) for model in models}
        rows = None
        if data:
            named = {"--weight": weight, "--event": event}
            rows = open_data(data, {flag: name for flag, name in named.items() if name}, (), cells)
        elif target or weight or event:
            flag = "--target" if target else "--weight" if weight else "--event"
            raise ValueError(f"{flag} names a column of --data; give both.")
        with shown_progress("judging"):
            told = report_again(
                fits, rows, target, weight, event, expand_dates, drop_missing_target=drop_missing_target
            )
        deliver(told, json_path, html_path)


@main.command(
    epilog=examples('eval "$(rlselect completion bash)"', "rlselect completion fish | source"),
    short_help="lets the shell complete commands and options",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what lets a SHELL complete the words of rlselect."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "rlselect", "_RLSELECT_COMPLETE").source())


for command in (datumwise, regimes, effects, compare, simulate, reproduce):
    main.add_command(command)


if __name__ == "__main__":
    main()
