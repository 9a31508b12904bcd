"""Tables of the papers at a few replicates: the paper's own method, ours, and what is printed."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rlselect import simulate
from rlselect._watch import tell
from rlselect.datumwise import DatumwiseClassifier
from rlselect.regimes import QLearning, TrialData
from rlselect.report import how_made
from rlselect.simulate import Simulation
from rlselect.subset import REVS, ActorCriticPredictor, RiskRFE
from rlselect.temporal import TemporalProcessRegression

__all__ = ["TABLES", "list_tables", "run_table"]

Measures = dict[str, float]
Algorithm = Literal["rfe", "rfe-test"]


@dataclass(frozen=True)
class Cell:
    """One design of a table.

    Attributes
    ----------
    name : str
        The design.
    fits : mapping
        Method -> ``fit(seed)``, which gives its measures on the data set of a seed by their names.
    printed : mapping
        Measure -> what the paper prints for its method.
    """

    name: str
    fits: Mapping[str, Callable[[int], Measures]]
    printed: Mapping[str, float]


@dataclass(frozen=True)
class PaperTable:
    """A table that can be run again.

    Attributes
    ----------
    about : str
        What it shows.
    paper : str
        Where it is printed.
    script : str
        The script of this project that runs all of it, in the folder experiments of the source.
    cells : callable
        Makes its cells.
    note : str
        What the reader should know.
    """

    about: str
    paper: str
    script: str
    cells: Callable[[], list[Cell]]
    note: str = ""


def list_tables() -> dict[str, Any]:
    """The tables there are, as a report."""
    width = max(map(len, TABLES))
    lines = [f"{name:{width}}  {table.about}" for name, table in TABLES.items()]
    where = "Each says which script of the source runs all of its cells, at 10 to 100 replicates."
    section = {"title": "rlselect reproduce TABLE", "text": "\n".join(lines), "note": where}
    return {"title": "Tables of the papers", "sections": [section]}


def run_table(name: str, *, replicates: int, seed: int, time_budget: float | None) -> dict[str, Any]:
    """Run a table, and report it beside its print.

    Parameters
    ----------
    name : str
        One of `TABLES`.
    replicates : int
        Data sets per cell.
    seed : int
        Of the first one.
    time_budget : float, optional
        Seconds after which no fit begins; the first one always does.
    """
    if name not in TABLES:
        raise ValueError(f"{name!r} is no table; rlselect reproduce lists them.")
    if replicates < 1:
        raise ValueError(f"--replicates {replicates} was given; it must be at least 1.")
    table, began = TABLES[name], time.perf_counter()
    cells = table.cells()
    found: dict[tuple[int, str], list[Measures]] = {}
    late = False
    for replicate, (number, cell), method in _plan(cells, replicates):
        late = late or bool(found and time_budget and time.perf_counter() - began > time_budget)
        if late:
            break
        tell(doing=f"{cell.name}, {method}, data set {replicate + 1} of {replicates}")
        found.setdefault((number, method), []).append(cell.fits[method](seed + replicate))
    sections = [_section(cell, {m: found.get((k, m), []) for m in cell.fits}) for k, cell in enumerate(cells)]
    notes = [table.note] if table.note else []
    if late:
        notes.append("The time budget is spent: fits that had not begun by then are left out.")
    return {
        "title": f"{name}: {table.about}",
        "command": "reproduce",
        "facts": {
            "Printed in": table.paper,
            "Seeds": f"{seed} to {seed + replicates - 1}",
            "Whole table": f"experiments/{table.script} in the source of rlselect",
        },
        "sections": sections,
        "notes": notes,
        "made": how_made(f"rlselect reproduce {name} --replicates {replicates} --seed {seed}"),
    }


def _plan(cells: list[Cell], replicates: int) -> Iterator[tuple[int, tuple[int, Cell], str]]:
    """Every cell once before any a second time: a run that is cut short has all of them."""
    for replicate in range(replicates):
        for number, cell in enumerate(cells):
            for method in cell.fits:
                yield replicate, (number, cell), method


def _section(cell: Cell, runs: Mapping[str, list[Measures]]) -> dict[str, Any]:
    """A table of one cell: a row per method with its means, and the print below."""
    names = list(cell.printed)
    rows: list[list[Any]] = [
        [method, *(float(np.mean([one[name] for one in done])) for name in names), len(done)]
        for method, done in runs.items()
        if done
    ]
    rows.append(["printed", *cell.printed.values(), ""])
    heads = ["Method", *names, "Sets"]
    return {"title": cell.name, "columns": heads, "rows": rows}


def _f1(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    return 2.0 * int((found & truth).sum()) / max(int(found.sum() + truth.sum()), 1)


def _recovery(
    draw: Callable[[int], Simulation], makers: Mapping[str, Callable[[int], Any]]
) -> dict[str, Callable[[int], Measures]]:
    """F1 of what selectors find; each gets the data set of a seed, and the seed."""

    def fit(make: Callable[[int], Any]) -> Callable[[int], Measures]:
        def one(seed: int) -> Measures:
            made = draw(seed)
            return {"F1": _f1(make(seed).fit(made.X, made.y).support_, made.support)}

        return one

    return {name: fit(make) for name, make in makers.items()}


def _revs(family: str, n: int, printed: Mapping[str, float]) -> list[Cell]:
    rows = 3 * n // 4
    makers = {
        "REVS.paper()": lambda seed: REVS.paper(n_train=rows, n_valid=rows, random_state=seed),
        'REVS.paper(reading="published")': lambda seed: REVS.paper(
            reading="published", n_train=rows, n_valid=rows, random_state=seed
        ),
        "REVS()": lambda seed: REVS(random_state=seed),
    }

    def draw(structure: str) -> Callable[[int], Simulation]:
        return lambda seed: simulate.make_revs(n, 200, structure=structure, family=family, random_state=seed)

    return [
        Cell(f"{structure}, n = {n}, p = 200", _recovery(draw(structure), makers), {"F1": f1})
        for structure, f1 in printed.items()
    ]


def _acp(function: str, printed: Mapping[tuple[int, int], float]) -> list[Cell]:
    makers = {
        'ActorCriticPredictor.paper(predictor="linear")': lambda seed: ActorCriticPredictor.paper(
            predictor="linear", random_state=seed
        ),
        "ActorCriticPredictor()": lambda seed: ActorCriticPredictor(random_state=seed),
    }

    def draw(n: int, p: int) -> Callable[[int], Simulation]:
        return lambda seed: simulate.make_acp(n, p, function=function, random_state=seed)

    return [
        Cell(f"n = {n}, p = {p}", _recovery(draw(n, p), makers), {"F1": f1}) for (n, p), f1 in printed.items()
    ]


def _ranked_first(machine: str, n: int, d: int, true: int) -> Mapping[str, Callable[[int], Measures]]:
    """Share of data sets in which every feature that matters is ranked before all others."""
    classify = machine == "SVM"
    task = "classification" if classify else "regression"
    loss, kernel = ("hinge", "rbf") if classify else ("epsilon_insensitive", "linear")
    makers = {
        f'RiskRFE.paper(loss="{loss}")': lambda: RiskRFE.paper(loss=loss, kernel=kernel),
        "RiskRFE()": RiskRFE,
    }

    def fit(make: Callable[[], Any]) -> Callable[[int], Measures]:
        def one(seed: int) -> Measures:
            X, y, informative = simulate.make_sparse_linear(n, d, true, task=task, random_state=seed)
            first = np.argsort(make().fit(X, y).ranking_)[:true]
            return {"no error": float(informative[first].all())}

        return one

    return {name: fit(make) for name, make in makers.items()}


def _table_3_1() -> list[Cell]:
    printed = {("SVM", 100, 15, 4): 0.97, ("SVM", 100, 30, 7): 0.62, ("SVR", 100, 15, 4): 1.0}
    return [
        Cell(f"{machine}, n = {n}, {true} of {d}", _ranked_first(machine, n, d, true), {"no error": share})
        for (machine, n, d, true), share in printed.items()
    ]


def _table_3_2() -> list[Cell]:
    makers = {
        "RiskRFE.paper()": RiskRFE.paper,
        'RiskRFE(loss="hinge")': lambda: RiskRFE(loss="hinge"),
        "RiskRFE()": RiskRFE,
    }

    def fit(make: Callable[[], Any], n: int) -> Callable[[int], Measures]:
        def one(seed: int) -> Measures:
            X, y, _ = simulate.make_annulus(n + 2000, random_state=seed)
            return {"test error": 1.0 - make().fit(X[:n], y[:n]).score(X[n:], y[n:])}

        return one

    return [
        Cell(f"n = {n}", {name: fit(make, n) for name, make in makers.items()}, {"test error": 0.051})
        for n in (100, 200)
    ]


def _trial(setting: str, printed: Mapping[Algorithm, list[float]]) -> list[Cell]:
    """Stages of a trial at which no column of the optimal Q-function is missed; n = 200, p = 10."""

    def fit(make: Callable[[int], Any]) -> Callable[[int], Measures]:
        def one(seed: int) -> Measures:
            made = simulate.make_regime_trial(setting, 200, 10, random_state=seed)
            stages = [stage | {"propensity": {-1: 0.5, 1: 0.5}} for stage in made.stages]
            learner = make(seed).fit(TrialData.from_wide(made.columns, stages))
            chosen = enumerate(learner.selected_, start=1)
            return {f"stage {t}": float(made.missed(names, t) == 0) for t, names in chosen}

        return one

    def paper(algorithm: Algorithm) -> Callable[[int], Any]:
        return lambda seed: QLearning.paper(algorithm=algorithm, random_state=seed)

    ours = {"QLearning()": fit(lambda seed: QLearning(random_state=seed))}
    return [
        Cell(
            algorithm,
            {f'QLearning.paper(algorithm="{algorithm}")': fit(paper(algorithm)), **ours},
            {f"stage {t}": share for t, share in enumerate(shares, start=1)},
        )
        for algorithm, shares in printed.items()
    ]


def _adherence() -> list[Cell]:
    def fit(drug: str, table: str, moment: str) -> Callable[[int], Measures]:
        def one(seed: int) -> Measures:
            rows = getattr(simulate.make_adherence(random_state=seed), table)
            model = TemporalProcessRegression(f"svr ~ {drug} + sex + race + ishak", link="logit")
            model.fit(rows, id="id", time=moment)
            return {f"p of {name}": model.test(name).pvalue for name in (drug, "sex", "race", "ishak")}

        return one

    method = "TemporalProcessRegression()"
    return [
        Cell(
            "ribavirin by day",
            {method: fit("ribavirin", "daily", "day")},
            {"p of ribavirin": 8.41e-7, "p of sex": 0.029, "p of race": 4.71e-5, "p of ishak": 0.009},
        ),
        Cell(
            "peginterferon by week",
            {method: fit("peginterferon", "weekly", "week")},
            {"p of peginterferon": 4.73e-4, "p of sex": 0.016, "p of race": 2.81e-5, "p of ishak": 0.009},
        ),
    ]


def _wine() -> list[Cell]:
    def fit(make: Callable[..., Any], **options: Any) -> Callable[[int], Measures]:
        def one(seed: int) -> Measures:
            from sklearn.datasets import load_wine
            from sklearn.model_selection import train_test_split

            X, y = load_wine(return_X_y=True)
            train, test, known, asked = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            model = make(feature_cost=0.1, random_state=seed, **options).fit(train, known)
            bought = model.report(X=test, y=asked).dict["facts"]["Bought per case"]
            return {"accuracy": model.score(test, asked), "sparsity": 1.0 - bought / X.shape[1]}

        return one

    fits = {
        "DatumwiseClassifier.paper()": fit(DatumwiseClassifier.paper),
        'DatumwiseClassifier(scoring="bins")': fit(DatumwiseClassifier, scoring="bins"),
    }
    return [Cell("wine, half of the rows to learn from", fits, {"accuracy": 0.90, "sparsity": 0.80})]


_DISSERTATION = (
    '"Non-parametric and semi-parametric methods for parsimonious statistical learning with complex data"'
)
_REVS = '"Efficient Variable Selection Using Reinforcement Learning for Big Data"'
_ACP = '"Reinforced variable selection"'
_F1_NOTE = "Print is the F1 of the printed number of variables and share of true ones."
_MISS_NOTE = (
    "Measured is whether no column of the optimal Q-function was missed at a stage; print is the share of 20 "
    "data sets, here with 200 subjects and 10 covariates."
)

TABLES: Mapping[str, PaperTable] = {
    "revs-table-2": PaperTable(
        "linear models, 25 true of 200 columns",
        _REVS,
        "revs_readings.py",
        lambda: _revs("gaussian", 200, {"block": 0.98, "banded": 1.00, "sparse": 0.99}),
        _F1_NOTE,
    ),
    "revs-table-3": PaperTable(
        "logistic models, 15 true of 200 columns",
        _REVS,
        "revs_readings.py",
        lambda: _revs("binomial", 500, {"block": 0.93, "banded": 0.96, "sparse": 0.96}),
        _F1_NOTE,
    ),
    "acp-table-2": PaperTable(
        "a sum of eight among correlated columns",
        _ACP,
        "acp_table_2.py",
        lambda: _acp("correlated", {(100, 300): 0.972, (200, 300): 0.993}),
        "Print is the line of ACP with the linear predictor.",
    ),
    "acp-table-3": PaperTable(
        "products that a linear predictor misses",
        _ACP,
        "acp_table_3.py",
        lambda: _acp("interaction", {(200, 50): 0.664}),
        "Print is the line of ACP with the linear predictor; with a network it is .927.",
    ),
    "dissertation-table-2.1": PaperTable(
        "adherence and response, p-values over all times",
        _DISSERTATION,
        "temporal_adherence.py",
        _adherence,
        "The trial itself is not public: data are simulated after its description, so that p-values agree in "
        "what they say, not in their digits.",
    ),
    "dissertation-table-3.1": PaperTable(
        "features that matter ranked first by kernel machines",
        _DISSERTATION,
        "table_3_1.py",
        _table_3_1,
        "Print is the share of 100 data sets.",
    ),
    "dissertation-table-3.2": PaperTable(
        "a square in a square, test error",
        _DISSERTATION,
        "table_3_2.py",
        _table_3_2,
        "The number of rows is not printed: two are shown.",
    ),
    "dissertation-table-4.1": PaperTable(
        "two stages, setting I",
        _DISSERTATION,
        "table_4_1.py",
        lambda: _trial("I", {"rfe": [1.0, 1.0], "rfe-test": [1.0, 1.0]}),
        _MISS_NOTE,
    ),
    "dissertation-table-4.2": PaperTable(
        "two stages, setting II",
        _DISSERTATION,
        "table_4_2.py",
        lambda: _trial("II", {"rfe": [1.0, 0.0], "rfe-test": [1.0, 1.0]}),
        _MISS_NOTE,
    ),
    "dissertation-table-4.3": PaperTable(
        "three stages, setting III",
        _DISSERTATION,
        "table_4_3.py",
        lambda: _trial("III", {"rfe": [1.0, 0.95, 0.7], "rfe-test": [0.95, 0.95, 0.6]}),
        _MISS_NOTE,
    ),
    "datumwise-wine": PaperTable(
        "accuracy and sparsity, features bought case by case",
        '"Sequential approaches for learning datum-wise sparse representations"',
        "datumwise_curves.py",
        _wine,
        "Print is read off a figure at a sparsity of .8; here one price, 0.1, is tried for both.",
    ),
}
