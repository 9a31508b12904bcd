"""A demonstration: selection on a small real dataset, and on a large simulated one."""

import time
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from rlselect.cli import one_sentence, show_report
from rlselect.report import printable, to_html, write_whole

_PEER = "scikit-learn's LassoCV"


def crime_report(seed: int = 0, *, compare: bool = True) -> dict[str, Any]:
    """Select the variables behind violent crime in 1993 US communities, and try them on a held-out quarter.

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
    order = np.random.default_rng(seed).permutation(len(crime.target))
    test, train = np.sort(order[: len(order) // 4]), np.sort(order[len(order) // 4 :])
    selector, seconds = _timed(REVS(random_state=seed), crime.frame.take(train), "target")
    score = selector.score(crime.frame.take(test), crime.target[test])
    facts = {f"R² on the other {len(test)} communities": f"{score:.2f}"}
    if compare:
        lasso, slow = _timed(_peer(), crime.data[train], crime.target[train])
        score = lasso.score(crime.data[test], crime.target[test])
        n_chosen = int(np.count_nonzero(lasso.coef_))
        facts[_PEER] = f"{n_chosen} of {len(lasso.coef_)} variables, R² {score:.2f}, {slow:.1f} s"
    title = f"Violent crime in {len(train):,} US communities, {crime.data.shape[1]} variables"
    return {**selector.summary().dict, "title": title, "seconds": seconds, "facts": facts}


def simulated_report(rows: int, columns: int, seed: int = 0, *, compare: bool = True) -> dict[str, Any]:
    """Select on a simulated problem with correlated columns, and compare with the truth.

    Parameters
    ----------
    rows, columns : int
        Size of the problem; 25 of the columns carry the signal.
    seed : int
        Seed of the data and of the search.
    compare : bool
        Whether to fit the peer on the same data.

    Returns
    -------
    dict
        Report of the selection, with the found, missed and false variables among its facts.
    """
    from rlselect import REVS
    from rlselect.simulate import make_revs

    data = make_revs(n=rows, p=columns, structure="banded", dtype=np.float32, random_state=seed)
    selector, seconds = _timed(REVS(random_state=seed), data.X, data.y)
    chosen, truth = np.asarray(selector.support_), data.support
    facts = {
        "Found": f"{np.count_nonzero(chosen & truth)} of {np.count_nonzero(truth)} true variables",
        "Missed": _names(truth & ~chosen),
        "False": _names(chosen & ~truth),
    }
    if compare:
        lasso, slow = _timed(_peer(), data.X, data.y)
        kept = lasso.coef_ != 0
        facts[_PEER] = (
            f"found {np.count_nonzero(kept & truth)}, false {np.count_nonzero(kept & ~truth)}, {slow:.1f} s"
        )
    title = f"Simulated problem, {rows:,} rows, {columns} correlated variables"
    # here the truth is known, and the warning about standard errors stands beside the real data
    return {**selector.summary().dict, "title": title, "seconds": seconds, "facts": facts, "notes": []}


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


def _names(mask: np.ndarray) -> list[str]:
    return [f"x{j}" for j in np.flatnonzero(mask)]


@click.command()
@click.option("--html", type=click.Path(path_type=Path), default=Path("demo.html"), show_default=True)
@click.option("--rows", type=click.IntRange(min=50), default=200_000, show_default=True)
@click.option("--columns", type=click.IntRange(min=45), default=400, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--compare/--no-compare", default=True, show_default=True, help=f"Run {_PEER} too.")
def main(html: Path, rows: int, columns: int, seed: int, compare: bool) -> None:
    """Run the demonstration, print its tables, and write them as a web page with pictures of the search."""
    with one_sentence():
        click.echo("REVS selects variables, twice. All times are on one thread.\n")
        click.echo("1. Real data that come with the package: which variables go with violent crime?\n")
        crime = crime_report(seed, compare=compare)
        show_report(crime)
        click.echo(f"\n2. {rows:,} x {columns} made on the spot: 25 variables are true, does it find them?\n")
        simulated = simulated_report(rows, columns, seed, compare=compare)
        show_report(simulated)
        write_whole(html, to_html([crime, simulated]))
        click.echo(f"\nWrote {printable(html)}: the same tables, with pictures of the two searches.")


if __name__ == "__main__":
    main()
