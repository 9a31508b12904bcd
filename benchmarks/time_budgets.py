"""Does `time_budget` hold, and is what comes back the best so far? Every estimator, on long problems.

    python benchmarks/time_budgets.py --budgets 1 2 5 --out benchmarks/results/time_budgets.md

A row is one fit: the budget, the seconds it took by the wall and by the processor, the longest time between
two looks at the clock (of the processor: what others do on the machine is not in it), whether it ended within
20 % plus one second, the reason it gives, how good it is, and how good the fit is that nobody hurried. Good
is the F1 of the selected variables, of the decision variables of the first stage, or the accuracy on new
rows. With ``--processor`` budgets are seconds of the processor, for a machine on which others work. With
``--only "RiskRFE, forest"`` these rows are made anew and take their places in the table.

Designs that nobody chose, drawn at random (estimator, mode, outcome, shape, options, budget), go to a table
of their own; one that is refused counts neither way, and what takes five times its budget is ended:

    python benchmarks/time_budgets.py --draws 40 --seed 13 --processor
        --out benchmarks/results/time_budgets_drawn.md

The fits without hurry take long and are kept in a file; this makes them anew, each with at most so many
seconds:

    python benchmarks/time_budgets.py --reference 120
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV

from _budget_draws import draw
from rlselect import (
    FSTD,
    FUSE,
    REVS,
    ActorCriticPredictor,
    AdvantageLearning,
    DatumwiseClassifier,
    DivideAndConquer,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    ThompsonSelector,
    TrialData,
)
from rlselect._clock import Clock
from rlselect._parallel import one_thread
from rlselect.datumwise import DatumwiseRegressor

TRUE = (0, 1, 2)
# multiples of its budget after which a drawn design is ended
_MOST = 5.0
REFERENCE = Path(__file__).parent / "results" / "time_budgets_reference.json"


def numbers(n: int, p: int) -> tuple[Any, np.ndarray]:
    """Three columns matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, X[:, TRUE] @ [2.0, -1.5, 1.0] + rng.standard_normal(n)


def products(n: int, p: int) -> tuple[Any, np.ndarray]:
    """A product and a square: nothing that a straight line sees."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, 2.0 * X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.5 * rng.standard_normal(n)


def many_levels(n: int, p: int) -> tuple[Any, np.ndarray]:
    """Two categories of 600 levels beside the numbers."""
    X, y = numbers(n, p)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    for name in ("a", "b"):
        frame[name] = pd.Categorical([f"{name}{k}" for k in rng.integers(0, 600, n)])
    return frame, y


def signs(n: int, p: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Classes that a switch decides: the first column says which of two others to read."""
    X = np.random.default_rng(seed).integers(0, 4, size=(n, p)).astype(float)
    return X, np.where(X[:, 0] > 1, X[:, 1], X[:, 2]).astype(int) // 2


def classes(n: int, p: int) -> tuple[Any, np.ndarray]:
    """The sign of a product and a square."""
    X, y = products(n, p)
    return X, np.where(y > 1.0, "high", "low")


def clusters(n: int, p: int, times: bool = False) -> dict[str, Any]:
    """Five rows to a cluster; numbers, or times until an event that one in five does not have."""
    X, y = numbers(n, p)
    target = {"time": np.exp(0.3 * y), "event": np.arange(n) % 5 > 0} if times else y
    return {"X": X, "y": target, "groups": np.arange(n) // 5}


def many_classes(n: int, p: int, count: int = 20) -> tuple[Any, np.ndarray]:
    """Many classes, equally many of each, in the order of what three columns add up to."""
    X, y = numbers(n, p)
    return X, np.array([f"c{k}" for k in range(count)])[np.argsort(np.argsort(y)) * count // n]


def trial(n: int, p: int, n_stages: int = 2, arms: int = 2, doses: bool = False) -> TrialData:
    """Stages with some arms, or doses from -1 to 1; the third column decides at all of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    table = {f"x{j}": X[:, j] for j in range(p)}
    stages = []
    for stage in range(1, n_stages + 1):
        action = rng.uniform(-1, 1, n) if doses else rng.integers(0, arms, n)
        pull = action if doses else 2 * action / (arms - 1) - 1
        table |= {f"A{stage}": action, f"R{stage}": X[:, 0] + pull * X[:, 2] + rng.standard_normal(n)}
        stages.append(
            {
                "history": [f"x{j}" for j in range(p)] if stage == 1 else [],
                "action": f"A{stage}",
                "reward": f"R{stage}",
            }
            | ({"action_type": "dose"} if doses else {})
        )
    return TrialData.from_wide(table, stages)


def visits(n: int, times: int, p: int, apart: float = 0.0) -> dict[str, Any]:
    """Subjects that are seen at all times, or so far around them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n * times, p))
    y = rng.random(n * times) < 1 / (1 + np.exp(-X[:, 0]))
    return {
        "data": X,
        "y": y.astype(float),
        "id": np.repeat(np.arange(n), times),
        "time": np.tile(np.arange(times), n) + apart * rng.uniform(-1.0, 1.0, n * times),
    }


Problem = tuple[str, str, Callable[[float | None], Any], Callable[[], Any]]


def problems() -> Iterator[Problem]:
    """Estimator, design, how it is made for a budget, and its data."""

    def seeded(kind: Any, **options: Any) -> Callable[[float | None], Any]:
        return lambda budget: kind(time_budget=budget, random_state=0, **options)

    yield "REVS", "tall 200000 x 200", seeded(REVS), lambda: numbers(200_000, 200)
    yield "REVS", "wide 300 x 20000", seeded(REVS), lambda: numbers(300, 20_000)
    yield "REVS", "levels 20000, 2 x 600", seeded(REVS), lambda: many_levels(20_000, 8)
    yield "REVS, clusters", "20000 x 50", seeded(REVS), lambda: clusters(20_000, 50)
    yield "REVS, twenty classes", "5000 x 100", seeded(REVS), lambda: many_classes(5000, 100)
    yield "REVS, clusters of times", "4000 x 500", seeded(REVS), lambda: clusters(4000, 500, times=True)
    yield (
        "REVS, series of fifteen classes",
        "696 x 1429",
        seeded(REVS, time_ordered=True),
        lambda: many_classes(696, 1429, 15),
    )
    yield "REVS.paper", "tall 20000 x 200", seeded(REVS.paper), lambda: numbers(20_000, 200)
    acp = ActorCriticPredictor
    yield "ACP", "tall 50000 x 100", seeded(acp), lambda: numbers(50_000, 100)
    yield "ACP", "wide 300 x 20000", seeded(acp), lambda: numbers(300, 20_000)
    yield "ACP", "levels 3000, 2 x 600", seeded(acp), lambda: many_levels(3000, 8)
    yield "ACP", "classes, tall 50000 x 15", seeded(acp), lambda: classes(50_000, 15)
    forest = RandomForestRegressor(20, random_state=0)
    yield "ACP, forest", "1000 x 30", seeded(acp, predictor=forest), lambda: products(1000, 30)
    yield "ACP, kernel", "2000 x 60", seeded(acp, predictor="kernel"), lambda: products(2000, 60)
    yield "ACP, network", "classes, 20000 x 15", seeded(acp, predictor="network"), lambda: classes(20_000, 15)
    yield "ACP, network", "tall 73508 x 27", seeded(acp, predictor="network"), lambda: products(73_508, 27)
    yield "ACP.paper", "2000 x 60", seeded(acp.paper, predictor="network"), lambda: products(2000, 60)
    yield "RiskRFE", "2000 x 30", seeded(RiskRFE), lambda: products(2000, 30)
    yield "RiskRFE", "wide 300 x 2000", seeded(RiskRFE), lambda: numbers(300, 2000)
    yield "RiskRFE", "tall 50000 x 20", seeded(RiskRFE), lambda: products(50_000, 20)
    yield (
        "RiskRFE, support vectors",
        "1000 x 30",
        seeded(RiskRFE, loss="epsilon_insensitive"),
        lambda: products(1000, 30),
    )
    logistic = seeded(RiskRFE, loss="logistic")
    yield "RiskRFE, logistic", "2000 x 30", logistic, lambda: classes(2000, 30)
    yield "RiskRFE, logistic", "tall 20000 x 30", logistic, lambda: classes(20_000, 30)
    yield "RiskRFE, hinge", "3000 x 40", seeded(RiskRFE, loss="hinge"), lambda: classes(3000, 40)
    yield "RiskRFE, rbf", "very wide 200 x 20000", seeded(RiskRFE, kernel="rbf"), lambda: numbers(200, 20_000)
    yield "RiskRFE, forest", "3000 x 120", seeded(RiskRFE, estimator=forest), lambda: products(3000, 120)
    yield "RiskRFE, forest", "1000 x 30", seeded(RiskRFE, estimator=forest), lambda: products(1000, 30)
    yield "Datumwise", "5000 x 40", seeded(DatumwiseClassifier), lambda: signs(5000, 40)
    yield "Datumwise", "wide 1000 x 2000", seeded(DatumwiseClassifier), lambda: signs(1000, 2000)
    yield "Datumwise", "very wide 300 x 20000", seeded(DatumwiseClassifier), lambda: signs(300, 20_000)
    yield "Datumwise", "tall 50000 x 15", seeded(DatumwiseClassifier), lambda: signs(50_000, 15)
    yield "Datumwise.paper", "1400 x 180", seeded(DatumwiseClassifier.paper), lambda: signs(1400, 180)
    yield "DatumwiseRegressor", "25000 x 200", seeded(DatumwiseRegressor), lambda: products(25_000, 200)
    yield "DatumwiseRegressor", "5000 x 40", seeded(DatumwiseRegressor), lambda: products(5000, 40)
    yield "DatumwiseRegressor", "tall 50000 x 15", seeded(DatumwiseRegressor), lambda: products(50_000, 15)
    for rival in (ThompsonSelector, FSTD, FUSE):
        yield rival.__name__, "classes, tall 50000 x 15", seeded(rival), lambda: classes(50_000, 15)
    yield (
        "DivideAndConquer",
        "20000 x 100",
        seeded(DivideAndConquer, estimator=LassoCV(cv=3)),
        lambda: numbers(20_000, 100),
    )
    for kind in (QLearning, AdvantageLearning):
        yield kind.__name__, "300 x 20, two stages", seeded(kind), lambda: (trial(300, 20),)
        yield kind.__name__, "1000 x 40, two stages", seeded(kind), lambda: (trial(1000, 40),)
        yield kind.__name__, "7000 x 50, two stages", seeded(kind), lambda: (trial(7000, 50),)
    yield "QLearning", "50000 x 50, two stages", seeded(QLearning), lambda: (trial(50_000, 50),)
    yield (
        "AdvantageLearning, rfe-test",
        "127 x 162, three stages of five arms",
        seeded(AdvantageLearning, model="anova", selection="rfe-test"),
        lambda: (trial(127, 162, 3, 5),),
    )
    yield (
        "QLearning, doses",
        "25440 x 15, two stages",
        seeded(QLearning, model="anova", selection="rfe-vpred"),
        lambda: (trial(25_440, 15, doses=True),),
    )
    yield (
        "QLearning, doses",
        "695 x 56, three stages",
        seeded(QLearning, model="anova", selection="rfe-vpred"),
        lambda: (trial(695, 56, 3, doses=True),),
    )
    trees = seeded(QLearning, model="trees")
    yield "QLearning, trees", "20000 x 15, two stages", trees, lambda: (trial(20_000, 15),)
    yield "QLearning", "20000 x 15, two stages", seeded(QLearning), lambda: (trial(20_000, 15),)
    yield (
        "TemporalProcessRegression",
        "1000 subjects, 40 times, 10 columns",
        lambda budget: TemporalProcessRegression(link="logit", bandwidth="cv", time_budget=budget),
        lambda: visits(1000, 40, 10),
    )
    for n, times, p in ((5561, 210, 4), (2801, 119, 15)):
        yield (
            "TemporalProcessRegression, local visits",
            f"{n} subjects, {times} times, {p} columns",
            lambda budget, width=0.1 * times: TemporalProcessRegression(
                link="logit", visits="local", grid=40, bandwidth=width, time_budget=budget
            ),
            lambda n=n, times=times, p=p: visits(n, times, p, 0.4),
        )


def quality(fitted: Any) -> float | None:
    """F1 of what was selected, or accuracy on new rows; nothing of a curve."""
    if isinstance(fitted, DatumwiseClassifier):
        return float(fitted.score(*signs(1000, fitted.n_features_in_, seed=1)))
    if not hasattr(fitted, "support_"):
        return None
    if isinstance(fitted.support_, list):
        chosen, true = set(fitted.tailoring_[0]), {"x2"}
    else:
        chosen, true = set(np.flatnonzero(fitted.support_).tolist()), set(TRUE)
    return 2.0 * len(chosen & true) / (len(chosen) + len(true))


class Looks:
    """The longest time of the processor between two looks at a clock, from a fit's beginning to its end."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = time.process_time()

    def note(self) -> None:
        """A look, or the end."""
        now = time.process_time()
        self.longest, self._last = max(self.longest, now - self._last), now

    def __enter__(self) -> "Looks":
        self._look = look = Clock.look

        def noted(clock: Clock) -> str | None:
            self.note()
            return look(clock)

        Clock.look = noted  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        Clock.look = self._look  # type: ignore[method-assign]
        self.note()


def run(make: Callable[[float | None], Any], given: Any, budget: float | None) -> tuple[Any, list[float]]:
    """A fit, with its seconds by the wall and by the processor and the longest time without a look."""
    start, work = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), one_thread(), Looks() as looks:
        warnings.simplefilter("ignore")
        fitted = make(budget).fit(**given) if isinstance(given, dict) else make(budget).fit(*given)
    return fitted, [time.perf_counter() - start, time.process_time() - work, looks.longest]


def shown(value: float | None) -> str:
    """A quality, if there is one."""
    return "" if value is None else f"{value:.2f}"


def rows(budgets: list[float], only: str) -> Iterator[list[str]]:
    """One row per problem and budget."""
    known = json.loads(REFERENCE.read_text(encoding="utf-8")) if REFERENCE.exists() else {}
    for name, design, make, data in problems():
        if only not in f"{name} {design}":
            continue
        given = data()
        reference = known.get(f"{name} {design}", {})
        for budget in [*budgets, *([10.0] if "levels" in design and name == "ACP" else [])]:
            try:
                fitted, (took, work, longest) = run(make, given, budget)
            except Exception as error:  # the table goes on, and shows it
                row = [name, design, f"{budget:g}", "", "", "", "NO", repr(error).replace("|", "/"), "", ""]
            else:
                reason = fitted.stop_reason_
                reason = reason if isinstance(reason, str) else reason[0]
                holds = "yes" if took <= 1.2 * budget + 1.0 else "NO"
                row = [name, design, f"{budget:g}", f"{took:.2f}", f"{work:.2f}", f"{longest:.2f}", holds]
                unhurried = (
                    f"{shown(reference['quality'])} ({reference['seconds']:.0f} s)" if reference else ""
                )
                row += [reason.split(";")[0], shown(quality(fitted)), unhurried]
            print(" | ".join(row), flush=True)
            yield row


def drawn_rows(count: int, seed: int) -> Iterator[list[str]]:
    """One row per draw, each in a process of its own."""
    for number in range(count):
        drawn, budget = draw(seed, number)
        start = [drawn.name, drawn.design, f"{budget:g}"]
        with ProcessPoolExecutor(1, get_context("fork")) as pool:
            try:
                took, work, longest, reason = pool.submit(_run_drawn, seed, number).result()
                holds = "yes" if took <= 1.2 * budget + 1.0 else "NO"
            except (ValueError, TypeError, MemoryError) as error:
                row = [*start, "", "", "", "refused", str(error).replace("|", "/").replace("\n", " ")[:160]]
            except BrokenProcessPool:
                row = [*start, "", "", "", "NO", f"ended after {_MOST} times its budget"]
            else:
                row = [*start, f"{took:.2f}", f"{work:.2f}", f"{longest:.2f}", holds, reason.split(";")[0]]
        print(" | ".join(row), flush=True)
        yield [*row, "", ""]


def _run_drawn(seed: int, number: int) -> tuple[float, float, float, str]:
    """Seconds by the clock in use and by the processor, the longest without a look, and the reason."""
    drawn, budget = draw(seed, number)
    args, more = drawn.data()
    end = time.process_time() + _MOST * budget + 1.0

    def watch() -> None:
        while time.process_time() < end:
            time.sleep(0.1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
    given = SimpleNamespace(fit=lambda *_: drawn.make(budget).fit(*args, **more))
    fitted, seconds = run(lambda _: given, (), budget)
    reason = fitted.stop_reason_ if isinstance(fitted.stop_reason_, str) else fitted.stop_reason_[0]
    return *seconds, reason


def refer(most: float, only: str) -> None:
    """Fits that nobody hurries, or at most so many seconds, and how good they are."""
    known = json.loads(REFERENCE.read_text(encoding="utf-8")) if REFERENCE.exists() else {}
    for name, design, make, data in problems():
        if only in f"{name} {design}":
            fitted, (took, *_) = run(make, data(), most)
            known[f"{name} {design}"] = {"seconds": round(took, 1), "quality": quality(fitted)}
            print(name, design, known[f"{name} {design}"], flush=True)
            REFERENCE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def in_their_places(made: list[list[str]], path: Path) -> list[list[str]]:
    """All rows of a table, some of them made anew, in the order of the problems."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    known = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]
    every = {tuple(row[:3]): row for row in [*known, *made]}
    place = {(name, design): k for k, (name, design, *_) in enumerate(problems())}
    return sorted(every.values(), key=lambda row: (place[row[0], row[1]], float(row[2])))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=float, nargs="+", default=[1.0, 2.0, 5.0])
    parser.add_argument("--only", default="", help="a part of an estimator's name and design")
    parser.add_argument("--draws", type=int, default=0, help="so many designs at random instead")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--reference", type=float, help="seconds for each of the fits to compare with")
    parser.add_argument("--processor", action="store_true", help="budgets in seconds of the processor")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.processor:
        time.perf_counter = time.process_time
    if options.reference is not None:
        refer(options.reference, options.only)
        return
    head = ["estimator", "design", "budget (s)", "took (s)", "processor (s)", "longest without a look (s)"]
    head += ["within 20 % + 1 s", "reason", "quality", "unhurried"]
    done = list(
        drawn_rows(options.draws, options.seed) if options.draws else rows(options.budgets, options.only)
    )
    if options.only and options.out is not None:
        done = in_their_places(done, options.out)
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *done]]
    late = sum(row[6] == "NO" for row in done)
    # ten seconds are for one of the designs, and others than those of a whole run are of rows made anew
    every = sorted({float(row[2]) for row in done} - {10.0})
    given = " ".join(f"{budget:g}" for budget in every)
    command = (
        f"    python benchmarks/time_budgets.py --budgets {given} --out benchmarks/results/time_budgets.md"
    )
    if options.draws:
        command = (
            f"    python benchmarks/time_budgets.py --draws {options.draws} --seed {options.seed} "
            "--out benchmarks/results/time_budgets_drawn.md"
        )
    about = "The seed is 0, each fit was made once; `--only` makes some rows anew, so that ages differ."
    if options.draws:
        refused = sum(row[6] == "refused" for row in done)
        about = f"{refused} were refused; each fit was made once."
    if options.processor:
        command, about = command + " --processor", f"{about} Budgets are seconds of the processor."
    text = "\n".join(
        [f"# Time budgets\n\n{command}\n\n{len(done)} fits, {late} of them too late. {about}\n", *lines, ""]
    )
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
