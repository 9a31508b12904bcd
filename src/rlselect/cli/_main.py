"""The command line: a thin mirror of the Python API."""

import sys
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import click

from rlselect import __version__
from rlselect.cli._errors import BadInput, one_sentence
from rlselect.cli._files import check_outputs, name_targets, open_data, read_columns, title_of, with_numbers
from rlselect.cli._options import file_options, report_options, rule_options, shared_options
from rlselect.cli._selectors import make_selector, read_rules
from rlselect.cli._show import deliver, report_of
from rlselect.report import printable

# \b keeps click from filling the lines into one paragraph
_EXAMPLES = """\b
Examples:
  rlselect select houses.csv --target price
  rlselect select visits.parquet --target bought --drop id --html visits.html
  rlselect select "year=*/*.parquet" --target bought --save bought.model
"""
_CHECKS = """\b
Examples:
  rlselect check houses.csv --target price
  rlselect check visits/ --target bought --html visits.html
"""
_PREDICTS = """\b
Examples:
  rlselect select houses.csv --target price --save price.model
  rlselect predict price.model new.csv --out prices.csv
"""


class _Commands(click.Group):
    """Commands whose complaints about words that were given can be shown: a file name may be one of them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if not isinstance(error, BadInput):
                error.message = printable(error.message)  # type: ignore[misc]
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlselect")
def main() -> None:
    """Which variables matter?"""


@main.command(epilog=_EXAMPLES)
@click.argument("data", nargs=-1, required=True)
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
@click.option("--expand-dates", is_flag=True, help="Make days, months and weekdays of dates.")
@click.option(
    "--save", "model_path", type=click.Path(path_type=Path), help="Write the fitted model to a file."
)
@rule_options
@shared_options
def select(
    data: tuple[str, ...],
    target: str,
    method: str,
    family: str,
    event: str | None,
    max_features: int | None,
    at_most: tuple[str, ...],
    sign: tuple[str, ...],
    order: int,
    weight: str | None,
    drop: tuple[str, ...],
    missing: str,
    expand_dates: bool,
    na: tuple[str, ...],
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
        if event is not None and method != "revs":
            raise ValueError(f"--method {method} knows no events; leave out --event, or use --method revs.")
        named = name_targets(target, weight) | ({} if event is None else {"--event": event})
        table = open_data(data, named, drop, na)
        if expand_dates:
            table = with_numbers(table)
        given = {} if weight is None else {"sample_weight": weight}
        if event is None:
            refuse_problems(table, target, missing=missing)
        selector.fit(table, target if event is None else (target, event), **given)
        save_model(selector, model_path)
        report = {"title": f"{target} in {title_of(data)}", **report_of(selector)}
        deliver(report, json_path, html_path)


@main.command(epilog=_CHECKS)
@click.argument("data", nargs=-1, required=True)
@click.option("--target", metavar="COLUMN", help="Column to explain.")
@click.option(
    "--question",
    type=click.Choice(["everyone", "case", "decision", "moment"]),
    default="everyone",
    show_default=True,
    help="For whom or when variables matter.",
)
@click.option("--drop", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated.")
@click.option(
    "--na", multiple=True, metavar="TEXT", help="Cell of a CSV that means missing; may be repeated."
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write what was seen as JSON.")
@click.option("--html", "html_path", type=click.Path(path_type=Path), help="Write it as a web page.")
def check(
    data: tuple[str, ...],
    target: str | None,
    question: Literal["everyone", "case", "decision", "moment"],
    drop: tuple[str, ...],
    na: tuple[str, ...],
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Look at DATA first: what is in the way, what may mislead, and which method suits them."""
    from rlselect.preflight import check as look

    with one_sentence():
        check_outputs(data, json_path, html_path)
        table = open_data(data, {} if target is None else {"--target": target}, drop, na)
        found = look(table, target, question=question, name=" ".join(data))
        deliver(found.for_command_line(), json_path, html_path)


@main.command(epilog=_PREDICTS)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", nargs=-1, required=True)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="File to write: .csv, .parquet or .feather."
)
@click.option("--proba", is_flag=True, help="Probabilities of the classes, too.")
@click.option("--expand-dates", is_flag=True, help="Make days, months and weekdays of dates, as for select.")
def predict(model: Path, data: tuple[str, ...], out: Path, proba: bool, expand_dates: bool) -> None:
    """Predict the rows of DATA with a MODEL that --save has written."""
    from rlselect.cli._models import write_predictions

    with one_sentence():
        check_outputs([str(model), *data], out)
        table = open_data(data, {}, (), ())
        write_predictions(model, with_numbers(table) if expand_dates else table, out, proba=proba)


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the report as JSON.")
@click.option("--html", "html_path", type=click.Path(path_type=Path), help="Write it as a web page.")
def report(model: Path, json_path: Path | None, html_path: Path | None) -> None:
    """Show again what a MODEL found that --save has written."""
    from rlselect.cli._models import load_model

    with one_sentence():
        check_outputs(str(model), json_path, html_path)
        fitted = load_model(model)
        deliver({"title": model.name, **report_of(fitted)}, json_path, html_path)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what lets a SHELL complete the words of rlselect: eval "$(rlselect completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "rlselect", "_RLSELECT_COMPLETE").source())


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
@click.option("--target", required=True, metavar="COLUMN", help="Column of the classes, or numbers.")
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    show_default=True,
    help="What the target is; auto takes text and whole numbers as classes.",
)
@click.option(
    "--feature-cost",
    type=float,
    default=0.01,
    show_default=True,
    help="Price of a feature; an error costs 1, and so does the variance of numbers.",
)
@click.option("--cost", multiple=True, metavar="NAME=PRICE", help="Price of one feature; may be repeated.")
@click.option("--budget", type=int, help="Most features per case.")
@click.option("--cost-budget", type=float, metavar="PRICE", help="Most that the features of a case may cost.")
@click.option(
    "--scoring",
    type=click.Choice(["auto", "bins", "linear", "network"]),
    default="auto",
    show_default=True,
    help="How values make scores; bins take seconds, networks about a minute.",
)
@click.option(
    "--test-share",
    type=float,
    default=0.25,
    show_default=True,
    help="Share of the rows to judge by; 0 for none.",
)
@click.option("--save", "save_path", type=click.Path(path_type=Path), help="Save the model, for `ask`.")
@shared_options
def learn(
    data: Path,
    target: str,
    task: str,
    feature_cost: float,
    cost: tuple[str, ...],
    budget: int | None,
    cost_budget: float | None,
    scoring: str,
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
    """Learn which features of DATA to buy for each case, and when to stop and name the target."""
    from rlselect.cli._datumwise import parse_costs, run_command

    with one_sentence():
        check_outputs(data, json_path, html_path, save_path)
        frame = read_columns(data, name_targets(target, weight), drop, na)
        report = run_command(
            frame,
            target,
            weight,
            test_share=test_share,
            random_state=seed,
            save_path=save_path,
            task=task,
            feature_cost=feature_cost,
            costs=parse_costs(cost),
            budget=budget,
            cost_budget=cost_budget,
            scoring=scoring,
            time_budget=time_budget,
        )
        report = {**report, "title": f"{target} in {data.name}"}
        deliver(report, json_path, html_path)


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
@click.option("--dose", is_flag=True, help="Actions are doses, not labels.")
@click.option(
    "--reward-type",
    type=click.Choice(["auto", "number", "binary", "count"]),
    default="auto",
    show_default=True,
    help="What rewards are; 'auto' sees 0 and 1.",
)
@click.option("--censored", metavar="COLUMN", help="Column that is 1 where a reward is a censored time.")
@click.option("--horizon", type=float, help="With --censored: the time up to which rewards count.")
@click.option("--weight", metavar="COLUMN", help="Column of how much subjects count.")
@click.option("--cluster", metavar="COLUMN", help="Column of what subjects have in common, such as a site.")
@click.option(
    "--missing",
    type=click.Choice(["error", "indicator"]),
    default="error",
    show_default=True,
    help="Missing covariates are refused, or filled and marked.",
)
@click.option("--minimize", is_flag=True, help="Small rewards are good.")
@click.option("--discount", type=float, default=1.0, show_default=True, help="Weight of the next stage.")
@file_options
def regimes(
    data: Path,
    subject: str,
    stage: str,
    action: str,
    reward: str,
    propensity: str | None,
    randomized: tuple[str, ...],
    stage_order: str | None,
    dose: bool,
    reward_type: Literal["auto", "number", "binary", "count"],
    censored: str | None,
    horizon: float | None,
    weight: str | None,
    cluster: str | None,
    missing: Literal["error", "indicator"],
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
        check_outputs(data, json_path, html_path)
        from rlselect.cli._regimes import read_randomized

        if propensity is not None and randomized:
            raise ValueError("--propensity and --randomized were both given; give one of them.")
        named = {"--id": subject, "--stage": stage, "--action": action, "--reward": reward}
        optional = {
            "--propensity": propensity,
            "--censored": censored,
            "--weight": weight,
            "--cluster": cluster,
        }
        named |= {option: column for option, column in optional.items() if column is not None}
        frame = read_columns(data, named, drop, na)
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
            action_type="dose" if dose else "label",
            reward_type=reward_type,
            censored=censored,
            horizon=horizon,
            sample_weight=weight,
            cluster=cluster,
            missing=missing,
        )
        learner = QLearning(maximize=not minimize, discount=discount, random_state=seed).fit(trial)
        report = {**report_of(learner), "title": f"{reward} in {data.name}"}
        deliver(report, json_path, html_path)


_EFFECTS = """\b
DATA has one row per subject and time.
Examples:
  rlselect effects visits.csv --formula "score ~ arm + age" --id patient --time week
  rlselect effects visits.csv --formula "score ~ arm" --id patient --time day --visits bin --grid 12
  rlselect effects visits.csv --formula "well ~ arm" --link logit --id patient --time week --dropout score
"""


@main.command(epilog=_EFFECTS)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--formula", required=True, metavar="TEXT", help="Such as 'score ~ arm + age'.")
@click.option("--id", "subject", required=True, metavar="COLUMN", help="Column that tells subjects apart.")
@click.option("--time", required=True, metavar="COLUMN", help="Column of the times, numbers or dates.")
@click.option(
    "--link", default="identity", show_default=True, help="identity, logit, probit, cloglog or log."
)
@click.option(
    "--visits",
    default="exact",
    show_default=True,
    help="Which rows count at a time: exact, carry (the last before it), bin, or local (those near it).",
)
@click.option("--grid", metavar="N|A,B,...", help="Times of the curves, edges of bins, or how many of them.")
@click.option("--several", default="mean", help="Of several visits in a bin: mean, first, last or nearest.")
@click.option("--bandwidth", metavar="WIDTH|cv", help="Smooth by a kernel of this width; cv: by five folds.")
@click.option("--splines", type=int, metavar="N", help="Smooth by N penalised splines per curve.")
@click.option("--constant", multiple=True, metavar="NAME", help="Effect that is one number for all times.")
@click.option("--weight", metavar="COLUMN", help="Column of sample weights.")
@click.option("--offset", metavar="COLUMN", help="Column of a known part of the linear predictor.")
@click.option("--cluster", metavar="COLUMN", help="Column of groups of dependent subjects.")
@click.option(
    "--dropout", multiple=True, metavar="COLUMN", help="Column on which staying may depend; may be repeated."
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the bands.")
@report_options
def effects(
    data: Path,
    formula: str,
    subject: str,
    time: str,
    link: str,
    visits: str,
    grid: str | None,
    several: str,
    bandwidth: str | None,
    splines: int | None,
    constant: tuple[str, ...],
    weight: str | None,
    offset: str | None,
    cluster: str | None,
    dropout: tuple[str, ...],
    level: float,
    na: tuple[str, ...],
    seed: int,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Estimate how the effects in a formula change over time, with bands and tests."""
    with one_sentence():
        check_outputs(data, json_path, html_path)
        from rlselect.cli._effects import read_grid, read_width, run_effects

        model = run_effects(
            data,
            na,
            {
                "id": subject,
                "time": time,
                "sample_weight": weight,
                "offset": offset,
                "cluster": cluster,
                "dropout": dropout,
            },
            formula=formula,
            link=link,
            visits=visits,
            grid=read_grid(grid),
            several=several,
            bandwidth=read_width(bandwidth),
            n_splines=splines,
            constant=list(constant) or None,
        )
        report = dict(model.report(level=level, random_state=seed).dict)
        report |= {"method": type(model).__name__, "title": f"{formula} in {data.name}"}
        deliver(report, json_path, html_path)


if __name__ == "__main__":
    main()
