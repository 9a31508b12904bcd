"""Commands for studies: selectors side by side, simulated data, and the papers' tables."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rlselect.cli._errors import one_sentence
from rlselect.cli._files import check_outputs, open_data, title_of, with_categories, with_numbers, with_target
from rlselect.cli._help import examples
from rlselect.cli._options import (
    budget_option,
    category_option,
    data_argument,
    expand_option,
    file_options,
    missing_option,
    output_options,
    quiet_option,
    seed_option,
    target_option,
    told_option,
)
from rlselect.cli._progress import say, shown_progress
from rlselect.cli._show import deliver, show_report
from rlselect.report import printable

if TYPE_CHECKING:
    from rlselect.cli._files import DateOrder
    from rlselect.data import CsvCells

__all__ = ["compare", "reproduce", "simulate"]


@click.command(
    epilog=examples(
        "rlselect compare houses.csv --target price",
        "rlselect compare houses.csv --target price --method revs --method acp --folds 3 --html houses.html",
        "rlselect compare made.csv --target y --truth made.truth.json",
    ),
    short_help="several selectors on the same folds, side by side",
)
@data_argument
@target_option
@click.option(
    "--method",
    "methods",
    multiple=True,
    default=("revs", "acp", "cfs"),
    show_default=True,
    help="revs, acp, risk-rfe, thompson, fuse, fstd or cfs; may be repeated.",
)
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    show_default=True,
    help="What the target is.",
)
@click.option("--folds", type=int, default=5, show_default=True, help="Parts that are left out in turn.")
@click.option(
    "--truth",
    "truth_path",
    type=click.Path(path_type=Path),
    help="What matters, as rlselect simulate writes it beside its table.",
)
@missing_option
@told_option
@expand_option
@category_option
@budget_option
@file_options
def compare(
    data: tuple[str, ...],
    target: str,
    methods: tuple[str, ...],
    task: Literal["auto", "classification", "regression"],
    folds: int,
    truth_path: Path | None,
    missing: Literal["error", "drop", "indicator"],
    drop_missing_target: bool,
    expand_dates: "DateOrder | None",
    categories: tuple[str, ...],
    time_budget: float | None,
    drop: tuple[str, ...],
    cells: "CsvCells",
    seed: int,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Compare selectors on DATA: what they find, how well it predicts, how stable it is, how long it takes.

    Each is fitted on the same folds and judged on the rows left out; --time-budget is for one fit.
    """
    with one_sentence():
        check_outputs([*data, *([str(truth_path)] if truth_path else [])], json_path, html_path)
        from rlselect.cli._check import refuse_problems
        from rlselect.cli._compare import read_truth, run_comparison

        truth = read_truth(truth_path)
        with shown_progress("reading"):
            table = open_data(data, {"--target": target}, drop, cells)
            table = with_categories(table, categories, title_of(data))
            table = with_target(table, [target]) if drop_missing_target else table
            table = with_numbers(table, expand_dates, [target])[0] if expand_dates else table
            refuse_problems(table, target, missing=missing)
            report = run_comparison(
                table,
                target,
                methods,
                truth=truth,
                folds=folds,
                task=task,
                missing=missing,
                time_budget=time_budget,
                random_state=seed,
            )
        deliver(
            {"title": f"Ways to find what matters for {target}, in {title_of(data)}", **report},
            json_path,
            html_path,
        )


@click.command(
    epilog=examples(
        "rlselect simulate",
        "rlselect simulate acp-interaction --rows 500 --columns 30 --out made.csv",
        "rlselect simulate regime-2 --seed 3 --out trial.parquet",
    ),
    short_help="a table of a named design, with its truth beside it",
)
@click.argument("design", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write: .csv, .parquet, .feather or .jsonl; the truth goes beside it, as .truth.json.",
)
@click.option("--rows", type=int, help="Rows, or subjects.")
@click.option("--columns", type=int, help="Variables, or covariates per stage.")
@click.option("--family", metavar="NAME", help="gaussian, binomial or poisson, for revs-* and weak-*.")
@seed_option
@quiet_option
def simulate(
    design: str | None, out: Path | None, rows: int | None, columns: int | None, family: str | None, seed: int
) -> None:
    """Simulate a table of a named DESIGN, and write it with the truth behind it.

    Without a DESIGN, all of them are listed.
    """
    from rlselect.cli._designs import list_designs, make_design
    from rlselect.cli._tables import require_table_name, write_tables
    from rlselect.report import to_json, write_whole

    with one_sentence():
        if design is None:
            show_report(list_designs())
            return
        if out is None:
            raise ValueError("--out is missing; it names the file to write, such as made.csv.")
        require_table_name(out)
        beside = out.with_suffix(".truth.json")
        check_outputs([], out, beside)
        with shown_progress("simulating"):
            made = make_design(design, rows=rows, columns=columns, family=family, seed=seed)
            write_tables(out, made.blocks())
        write_whole(beside, to_json(made.truth))
        say(f"Wrote {printable(out)} ({len(made.table):,} rows)\nWrote {printable(beside)}")
        places = {"DATA": shlex.quote(str(out)), "TRUTH": shlex.quote(str(beside))}
        for command in made.commands:
            click.echo(printable(" ".join(places.get(word, word) for word in command.split(" "))))


@click.command(
    epilog=examples(
        "rlselect reproduce",
        "rlselect reproduce acp-table-3 --replicates 2",
        "rlselect reproduce dissertation-table-3.2 --replicates 5 --html table.html",
    ),
    short_help="tables of the papers, at a few replicates, beside their print",
)
@click.argument("table", required=False)
@click.option("--replicates", type=int, default=1, show_default=True, help="Data sets per cell.")
@click.option("--seed", type=int, default=1000, show_default=True, help="Of the first data set.")
@click.option("--time-budget", type=float, metavar="SECONDS", help="Begin no fit after so long.")
@output_options
def reproduce(
    table: str | None,
    replicates: int,
    seed: int,
    time_budget: float | None,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Run a TABLE of the papers again: the paper's own method, ours, and what is printed.

    Without a TABLE, all of them are listed. Designs and methods come with the package; the scripts behind the
    published figures of this project lie in the folder experiments of its source.
    """
    from rlselect.cli._papers import list_tables, run_table

    with one_sentence():
        check_outputs([], json_path, html_path)
        if table is None:
            deliver(list_tables(), json_path, html_path)
            return
        with shown_progress("simulating", time_budget):
            report = run_table(table, replicates=replicates, seed=seed, time_budget=time_budget)
        deliver(report, json_path, html_path)
