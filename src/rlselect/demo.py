"""A demonstration: selection on a small real dataset, and on a large simulated one."""

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from rlselect.cli import one_sentence, show_report
from rlselect.report import to_html


def crime_report(seed: int = 0) -> dict[str, Any]:
    """Select the variables behind violent crime in 1993 US communities.

    Parameters
    ----------
    seed : int
        Random state of the search.

    Returns
    -------
    dict
        Report of the selection.
    """
    from rlselect import REVS
    from rlselect.datasets import load_crime

    frame = load_crime().frame
    start = time.perf_counter()
    selector = REVS(random_state=seed).fit(frame, "target")
    seconds = time.perf_counter() - start
    return {
        **selector._report(),
        "title": "Violent crime in US communities (1,993 x 100)",
        "seconds": seconds,
    }


def simulated_report(rows: int, columns: int, seed: int = 0) -> dict[str, Any]:
    """Select on a simulated problem with correlated columns, and compare with the truth.

    Parameters
    ----------
    rows, columns : int
        Size of the problem; 25 of the columns carry the signal.
    seed : int
        Seed of the data and of the search.

    Returns
    -------
    dict
        Report of the selection, with the found, missed and false variables among its facts.
    """
    from rlselect import REVS
    from rlselect.simulate import make_revs

    data = make_revs(n=rows, p=columns, structure="banded", dtype=np.float32, random_state=seed)
    start = time.perf_counter()
    selector = REVS(random_state=seed).fit(data.X, data.y)
    seconds = time.perf_counter() - start
    chosen, truth = np.asarray(selector.support_), data.support
    outcome = {
        "Found": f"{int((chosen & truth).sum())} of {int(truth.sum())} true variables",
        "Missed": _names(truth & ~chosen),
        "False": _names(chosen & ~truth),
    }
    title = f"Simulated problem, banded correlation ({rows:,} x {columns})"
    return {**selector._report(), "title": title, "seconds": seconds, "facts": outcome}


def _names(mask: np.ndarray) -> list[str]:
    return [f"x{j}" for j in np.flatnonzero(mask)]


@click.command()
@click.option("--html", type=click.Path(path_type=Path), default=Path("demo.html"), show_default=True)
@click.option("--rows", type=click.IntRange(min=50), default=200_000, show_default=True)
@click.option("--columns", type=click.IntRange(min=45), default=400, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def main(html: Path, rows: int, columns: int, seed: int) -> None:
    """Run the demonstration, print its tables, and write them as a web page with pictures of the search."""
    with one_sentence():
        crime = crime_report(seed)
        show_report(crime)
        click.echo()
        simulated = simulated_report(rows, columns, seed)
        show_report(simulated)
        html.write_text(to_html([crime, simulated]), encoding="utf-8")
        click.echo(f"\nWrote {html}")


if __name__ == "__main__":
    main()
