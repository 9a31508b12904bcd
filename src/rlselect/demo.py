"""A demonstration: the four questions on small data that come along, on one page."""

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from rlselect.cli import one_sentence, show_report
from rlselect.report import printable, to_html, write_whole

_PEER = "scikit-learn's LassoCV"
_CRIME = "violent crime"


def crime_report(seed: int = 0, *, compare: bool = True) -> dict[str, Any]:
    """For everyone: the variables behind violent crime in 1993 US communities, tried on a held-out quarter.

    Parameters
    ----------
    seed : int
        Random state of the split and of the search.
    compare : bool
        Whether to fit the peer on the same rows.

    Returns
    -------
    dict
        Report of the selection.
    """
    from rlselect import REVS
    from rlselect.datasets import load_crime

    crime = load_crime()
    test, train = _split(len(crime.target), seed)
    names = [_CRIME if name == "target" else name for name in crime.frame.column_names]
    frame = crime.frame.rename_columns(names)
    selector, seconds = _timed(REVS(random_state=seed), frame.take(train), _CRIME)
    score = selector.score(frame.take(test), _CRIME)
    facts = {f"R² on the other {len(test)} communities": f"{score:.2f}"}
    if compare:
        lasso, slow = _timed(_peer(), crime.data[train], crime.target[train])
        score = lasso.score(crime.data[test], crime.target[test])
        n_chosen = int(np.count_nonzero(lasso.coef_))
        facts[_PEER] = f"{n_chosen} of {len(lasso.coef_)} variables, R² {score:.2f}, {slow:.1f} s"
    title = f"For everyone: violent crime in {len(train):,} US communities, {crime.data.shape[1]} variables"
    return {**selector.summary().dict, "title": title, "seconds": seconds, "facts": facts}


def biopsy_report(seed: int = 0, **options: Any) -> dict[str, Any]:
    """For this case: which measurements of a biopsy to ask for, tried on a held-out quarter.

    Parameters
    ----------
    seed : int
        Random state of the split and of the learner.
    **options
        Further options of the learner.

    Returns
    -------
    dict
        Report on the cases held out.
    """
    from sklearn.datasets import load_breast_cancer

    from rlselect import DatumwiseClassifier

    data = load_breast_cancer()
    frame = pa.table(
        {str(name): values for name, values in zip(data.feature_names, data.data.T, strict=True)}
        | {"diagnosis": data.target_names[data.target]}
    )
    test, train = _split(len(frame), seed)
    learner = DatumwiseClassifier(feature_cost=0.002, scoring="bins", random_state=seed, **options)
    learner.fit(frame.take(train), "diagnosis")
    report = learner.report(X=frame.take(test), y="diagnosis").dict
    return {**report, "title": f"For this case: biopsies of {len(train)} patients, 30 measurements to buy"}


def trial_report(seed: int = 0) -> dict[str, Any]:
    """For this decision: what a simulated trial of two stages says about drug and therapy.

    Parameters
    ----------
    seed : int
        Seed of the data and of the learner.

    Returns
    -------
    dict
        Report of the regime, with the rules that made the data among its facts.
    """
    from rlselect import QLearning, TrialData

    columns, stages = _simulate_trial(np.random.default_rng(seed), 300)
    learner = QLearning(model="linear", random_state=seed).fit(TrialData.from_wide(columns, stages))
    report = learner.report().dict
    truth = "severity above 0 calls for the drug first; a response above 0 for going on"
    return {
        **report,
        "title": "For this decision: drug or therapy, for 300 simulated patients at two stages",
        "facts": {**report["facts"], "The truth": truth},
        "sections": [*report["sections"], _drug_by_severity(learner, columns, stages[0]["history"])],
    }


def visits_report(seed: int = 0) -> dict[str, Any]:
    """At this moment: when the drug of a simulated trial begins to help.

    Parameters
    ----------
    seed : int
        Seed of the bands.

    Returns
    -------
    dict
        Report of the curves.
    """
    from rlselect import TemporalProcessRegression
    from rlselect.datasets import load_simulated_visits

    model = TemporalProcessRegression("score ~ arm + age")
    model.fit(load_simulated_visits().path, id="patient", time="visit")
    report = model.report(random_state=seed).dict
    return {**report, "title": "At this moment: symptoms of 160 simulated patients at eight visits"}


def _simulate_trial(rng: np.random.Generator, n: int) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Columns of (n,) values and the stages of a randomised trial, in which one column decides at each."""
    names = ["severity", "age", "sleep", "weight", "income", "distance"]
    columns = {name: rng.standard_normal(n) for name in names}
    first = rng.choice(["drug", "therapy"], n)
    drug = np.where(first == "drug", 1.0, -1.0)
    relief = columns["severity"] * drug - 0.5 * columns["age"] + 0.5 * rng.standard_normal(n)
    response = 0.5 * relief + rng.standard_normal(n)
    second = rng.choice(["go on", "change"], n)
    later = response * np.where(second == "go on", 1.0, -1.0) + 0.5 * rng.standard_normal(n)
    columns |= {"first": first, "relief": relief, "response": response, "second": second, "later": later}
    return columns, [
        {"history": names, "action": "first", "reward": "relief", "propensity": "1:1"},
        {"history": ["response"], "action": "second", "reward": "later", "propensity": "1:1"},
    ]


def _drug_by_severity(learner: Any, columns: dict[str, np.ndarray], names: list[str]) -> dict[str, Any]:
    """A section with the advantage of the drug along severity, all other columns at their means."""
    severity = np.linspace(-2.0, 2.0, 41)
    history = {name: np.full(len(severity), columns[name].mean()) for name in names}
    q = learner.q_values({**history, "severity": severity})
    of = {action: q[:, k] for k, action in enumerate(learner.actions_[0])}
    curve = {
        "title": "advantage of the drug over the therapy, by severity",
        "x": severity,
        "y": of["drug"] - of["therapy"],
        "reference": 0.0,
    }
    note = "Above the dashed line the drug is better: the decision turns where the curve crosses it."
    return {"title": "Where the first decision turns", "curves": [curve], "note": note}


def _split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers, sorted: a quarter to judge by, and the rest."""
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: n // 4]), np.sort(order[n // 4 :])


def _timed(estimator: Any, X: Any, y: Any) -> tuple[Any, float]:
    """Fit on one thread: times that do not depend on how many cores are there, and how busy they are."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with threadpool_limits(limits=1), warnings.catch_warnings():
        # the peer's path may end with a warning about a tolerance that changes no variable
        warnings.filterwarnings("ignore", message="Objective did not converge")
        start = time.perf_counter()
        estimator.fit(X, y)
        return estimator, time.perf_counter() - start


def _peer() -> Any:
    from sklearn.linear_model import LassoCV

    return LassoCV()


_QUESTIONS: dict[str, tuple[str, Callable[[int, bool], dict[str, Any]]]] = {
    "for everyone": (
        "Which of 100 variables go with violent crime? REVS walks over subsets of them, and says how sure it "
        "is of each.",
        lambda seed, compare: crime_report(seed, compare=compare),
    ),
    "for this case": (
        "Which measurements does this biopsy need? DatumwiseClassifier buys one after the other, until the "
        "answer is worth no further price.",
        lambda seed, compare: biopsy_report(seed),
    ),
    "for this decision": (
        "Drug or therapy for this patient, and then? QLearning finds the history that each decision needs, "
        "and what deciding by it is worth.",
        lambda seed, compare: trial_report(seed),
    ),
    "at this moment": (
        "When does a drug begin to help? TemporalProcessRegression draws effects as curves in time, with "
        "bands that hold a whole curve.",
        lambda seed, compare: visits_report(seed),
    ),
}


@click.command()
@click.option("--html", type=click.Path(path_type=Path), default=Path("demo.html"), show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--compare/--no-compare", default=True, show_default=True, help=f"Run {_PEER} too.")
def main(html: Path, seed: int, compare: bool) -> None:
    """Answer the four questions on small data, print the answers, and write them as a page with pictures."""
    with one_sentence():
        click.echo("Which variables matter? Four questions; the whole takes less than a minute.\n")
        asked = dict(_QUESTIONS)
        if find_spec("formulaic") is None or find_spec("pandas") is None:
            asked.pop("at this moment")
            click.echo("Curves in time are left out: they need pip install 'rlselect[temporal]'.\n")
        reports = []
        for number, (when, (sentence, answer)) in enumerate(asked.items(), 1):
            click.secho(f"{number}. {when.capitalize()}", bold=True)
            click.echo(f"{click.wrap_text(sentence, 80)}\n")
            reports.append({**answer(seed, compare), "question": sentence})
            show_report(_short(reports[-1]))
            click.echo()
        write_whole(html, to_html([_opening(len(asked)), *reports]))
        click.echo(f"Wrote {printable(html)}: the whole answers, with pictures; open it in a browser.")


def _short(report: dict[str, Any]) -> dict[str, Any]:
    """What fits a screen: the first table; all others are on the page."""
    return {**report, "notes": [], **({"sections": report["sections"][:1]} if "sections" in report else {})}


def _opening(n_questions: int) -> dict[str, Any]:
    """The top of the page."""
    answer = f"{n_questions} questions, asked of small data that come with rlselect, and their answers:"
    return {"title": "Which variables matter?", "answer": answer, "sections": []}


if __name__ == "__main__":
    main()
