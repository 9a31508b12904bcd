"""The commands of the other three questions: for each case, for a decision, from moment to moment."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rlselect.cli._errors import one_sentence
from rlselect.cli._files import (
    check_outputs,
    load_data,
    name_targets,
    open_data,
    title_of,
    with_categories,
    with_moments,
    with_numbers,
    with_target,
)
from rlselect.cli._help import FirstByDefault, examples
from rlselect.cli._options import (
    budget_option,
    category_option,
    data_argument,
    day_first_option,
    expand_option,
    file_options,
    model_argument,
    report_options,
    save_option,
    shared_options,
    subject_option,
    told_option,
)
from rlselect.cli._progress import shown_progress
from rlselect.cli._show import deliver, report_of

if TYPE_CHECKING:
    from rlselect.cli._files import DateOrder
    from rlselect.data import CsvCells

__all__ = ["datumwise", "effects", "regimes"]


@click.group(cls=FirstByDefault, short_help="for each case: features are bought one by one")
def datumwise() -> None:
    """Which features to buy for each case: `datumwise FILE --target COLUMN` learns it, `ask` uses it."""


_DATUMWISE = examples(
    "rlselect datumwise patients.csv --target ill --feature-cost 0.02",
    "rlselect datumwise patients.csv --target ill --cost scan=0.3 --budget 4 --html patients.html",
    "rlselect datumwise patients.csv --target ill --save ill.model",
)


@datumwise.command(epilog=_DATUMWISE, short_help="from a table; learn --help has the options")
@data_argument
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
@told_option
@expand_option
@category_option
@save_option
@shared_options
def learn(
    data: tuple[str, ...],
    target: str,
    task: str,
    feature_cost: float,
    cost: tuple[str, ...],
    budget: int | None,
    cost_budget: float | None,
    scoring: str,
    test_share: float,
    drop_missing_target: bool,
    expand_dates: "DateOrder | None",
    categories: tuple[str, ...],
    model_path: Path | None,
    weight: str | None,
    drop: tuple[str, ...],
    cells: "CsvCells",
    seed: int,
    time_budget: float | None,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Learn which features of DATA to buy for each case, and when to stop and name the target."""
    from rlselect.cli._check import refuse_problems
    from rlselect.cli._datumwise import parse_costs, run_command
    from rlselect.cli._models import save_model

    with one_sentence():
        check_outputs(data, json_path, html_path, model_path)
        with shown_progress("reading", time_budget):
            named = name_targets(target, weight)
            frame = load_data(data, named, drop, cells, "rlselect datumwise")
            frame = with_categories(frame, categories, title_of(data))
            frame = with_target(frame, [target]) if drop_missing_target else frame
            day_first: dict[str, bool] = {}
            if expand_dates:
                frame, day_first = with_numbers(frame, expand_dates, [*named.values()])
            seen = refuse_problems(frame, target, method="DatumwiseClassifier")
            model, report = run_command(
                frame,
                target,
                weight,
                test_share=test_share,
                random_state=seed,
                task=task,
                feature_cost=feature_cost,
                costs=parse_costs(cost),
                budget=budget,
                cost_budget=cost_budget,
                scoring=scoring,
                time_budget=time_budget,
            )
        save_model(model, model_path, day_first)
        deliver(
            {
                **report,
                "data": {"findings": seen},
                "title": f"What to ask of each case to tell {target}, in {title_of(data)}",
            },
            json_path,
            html_path,
        )


_ASK = examples(
    "rlselect datumwise ask ill.model",
    "printf '0.3\\nunknown\\n' | rlselect datumwise ask ill.model --known age=31",
)


@datumwise.command(epilog=_ASK, short_help="one question at a time, by a model that --save has written")
@model_argument
@click.option(
    "--known", multiple=True, metavar="NAME=VALUE", help="What is known from the start; may be repeated."
)
def ask(model: Path, known: tuple[str, ...]) -> None:
    """Ask one question at a time, by a saved MODEL, and answer when enough is known."""
    from rlselect.cli._ask import ask_questions, open_session

    with one_sentence():
        session = open_session(model, known)
        ask_questions(session, iter(sys.stdin), echo=not sys.stdin.isatty())


_REGIMES = examples(
    "rlselect regimes visits.csv --id patient --stage visit --action drug --reward score",
    "rlselect regimes visits.csv --id patient --stage visit --action drug --reward pain --minimize",
    "rlselect regimes visits.csv --id patient --stage visit --action drug --reward score --randomized 2:1:1",
    about="DATA has one row per subject and stage; columns that are not named are covariates.",
)


@click.command(epilog=_REGIMES, short_help="for a decision: what to do at each stage, by which history")
@data_argument
@subject_option
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
@click.option(
    "--leaving",
    type=click.Choice(["ends", "weights"]),
    default="ends",
    show_default=True,
    help="Who has no further action was done (ends), or was lost where no reward follows (weights).",
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
@save_option
@budget_option
@file_options
def regimes(
    data: tuple[str, ...],
    subject: str,
    stage: str,
    action: str,
    reward: str,
    propensity: str | None,
    randomized: tuple[str, ...],
    stage_order: str | None,
    dose: bool,
    reward_type: Literal["auto", "number", "binary", "count"],
    leaving: Literal["ends", "weights"],
    censored: str | None,
    horizon: float | None,
    weight: str | None,
    cluster: str | None,
    missing: Literal["error", "indicator"],
    minimize: bool,
    discount: float,
    model_path: Path | None,
    time_budget: float | None,
    drop: tuple[str, ...],
    cells: "CsvCells",
    seed: int,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Learn from DATA what to do at each stage, which history that takes, and what it is worth."""
    with one_sentence():
        check_outputs(data, json_path, html_path, model_path)
        from rlselect.cli._models import save_model
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
        with shown_progress("reading"):
            frame = load_data(data, named, drop, cells, "rlselect regimes")
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
            leaving=leaving,
            censored=censored,
            horizon=horizon,
            sample_weight=weight,
            cluster=cluster,
            missing=missing,
        )
        learner = QLearning(
            maximize=not minimize, discount=discount, time_budget=time_budget, random_state=seed
        )
        with shown_progress("learning", time_budget):
            learner.fit(trial)
        learner.long_columns_ = {"id": subject, "stage": stage}
        save_model(learner, model_path)
        report = {**report_of(learner), "title": f"What to do for whom to gain {reward}, in {title_of(data)}"}
        deliver(report, json_path, html_path)


_EFFECTS = examples(
    'rlselect effects visits.csv --formula "score ~ arm + age" --id patient --time week',
    'rlselect effects visits.csv --formula "score ~ arm" --id patient --time day --visits bin --grid 12',
    'rlselect effects visits.csv --formula "well ~ arm" --link logit --id patient --time week --dropout age',
    about="DATA has one row per subject and time.",
)


@click.command(epilog=_EFFECTS, short_help="from moment to moment: effects as curves in time")
@data_argument
@click.option("--formula", required=True, metavar="TEXT", help="Such as 'score ~ arm + age'.")
@subject_option
@click.option("--time", required=True, metavar="COLUMN", help="Column of the times, numbers or dates.")
@day_first_option
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
@save_option
@budget_option
@report_options
def effects(
    data: tuple[str, ...],
    formula: str,
    subject: str,
    time: str,
    day_first: bool | None,
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
    model_path: Path | None,
    time_budget: float | None,
    cells: "CsvCells",
    seed: int,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Estimate how the effects in a formula change over time, with bands and tests."""
    with one_sentence():
        check_outputs(data, json_path, html_path, model_path)
        from rlselect.cli._effects import read_grid, read_width, run_effects
        from rlselect.cli._models import save_model

        with shown_progress("estimating", time_budget):
            rows, order = with_moments(open_data(data, {}, (), cells), time, day_first)
            model = run_effects(
                rows,
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
                grid=read_grid(grid, order.get(time)),
                several=several,
                bandwidth=read_width(bandwidth),
                n_splines=splines,
                constant=list(constant) or None,
                time_budget=time_budget,
            )
            save_model(model, model_path, order)
            report = dict(model.report(level=level, random_state=seed).dict)
        report["title"] += f", in {title_of(data)}"
        deliver(report, json_path, html_path)
