"""Simulated tables by name, each with the truth behind it and the commands that look for it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect import simulate
from rlselect.simulate import SimulatedTrial, Simulation

__all__ = ["DESIGNS", "MadeTable", "NamedDesign", "list_designs", "make_design"]

# rows that are written at once
_BLOCK = 65_536


@dataclass(frozen=True)
class MadeTable:
    """A simulated table.

    Attributes
    ----------
    table : pyarrow.Table
        The data.
    truth : dict
        What is known about them; ``matters`` names the columns that matter.
    commands : list of str
        What to run, with DATA and TRUTH for the files.
    """

    table: pa.Table
    truth: dict[str, Any]
    commands: list[str]

    def blocks(self) -> Iterator[pa.Table]:
        """The table some rows at a time."""
        return (self.table.slice(start, _BLOCK) for start in range(0, len(self.table), _BLOCK))


@dataclass(frozen=True)
class NamedDesign:
    """A way to simulate a table.

    Attributes
    ----------
    question : str
        For whom, or when, variables matter in it.
    about : str
        What it is, in a line.
    rows, columns : int
        Unless others are asked for: rows or subjects, and features; 0 columns are those of the study.
    make : callable
        ``make(rows, columns, seed, **family)``.
    families : tuple of str
        Distributions of y that it can have, the usual one first; empty where that is fixed.
    """

    question: str
    about: str
    rows: int
    columns: int
    make: Callable[..., MadeTable]
    families: tuple[str, ...] = ()

    @property
    def size(self) -> str:
        """Rows and columns in words."""
        return f"{self.rows} x {self.columns}" if self.columns else str(self.rows)


def list_designs() -> dict[str, Any]:
    """The designs there are, by the question they are made for, as a report."""
    sections = []
    for question in dict.fromkeys(design.question for design in DESIGNS.values()):
        lines = [
            f"{name:17} {design.size:11}  {design.about}"
            for name, design in DESIGNS.items()
            if design.question == question
        ]
        sections.append({"title": question.capitalize(), "text": "\n".join(lines)})
    return {"title": "rlselect simulate DESIGN --out FILE", "sections": sections}


def make_design(
    name: str, *, rows: int | None, columns: int | None, family: str | None, seed: int
) -> MadeTable:
    """Simulate a table.

    Parameters
    ----------
    name : str
        One of `DESIGNS`.
    rows, columns : int, optional
        As many as are usual for the design where they are not given.
    family : str, optional
        Distribution of y, of designs that have a choice.
    seed : int
        The same seed gives the same table.
    """
    if name not in DESIGNS:
        raise ValueError(f"{name!r} is no design; rlselect simulate lists them.")
    design = DESIGNS[name]
    for option, value in (("--rows", rows), ("--columns", columns)):
        if value is not None and value < 1:
            raise ValueError(f"{option} {value} was given; it must be at least 1.")
    if columns is not None and not design.columns:
        raise ValueError(f"{name} has the columns of its study; leave out --columns.")
    if family is not None and family not in design.families:
        known = f"use one of {', '.join(design.families)}" if design.families else "leave out --family"
        raise ValueError(f"--family {family} is not known to {name}; {known}.")
    chosen = {} if not design.families else {"family": family or design.families[0]}
    made = design.make(
        design.rows if rows is None else rows, design.columns if columns is None else columns, seed, **chosen
    )
    size = {"rows": len(made.table), "columns": made.table.num_columns}
    return MadeTable(
        made.table, {"design": name, "seed": seed, **size, **chosen, **made.truth}, made.commands
    )


_SELECT = ["rlselect select DATA --target y", "rlselect compare DATA --target y --truth TRUTH"]
_CASES = ["rlselect datumwise DATA --target y", "rlselect compare DATA --target y --truth TRUTH"]


def _with_truth(made: Simulation, commands: list[str] = _SELECT) -> MadeTable:
    names = [f"x{j + 1}" for j in range(made.X.shape[1])]
    table = pa.table({**{name: made.X[:, j] for j, name in enumerate(names)}, "y": made.y})
    chosen = np.flatnonzero(made.support)
    coef = {names[j]: float(made.coef[j]) for j in chosen if np.isfinite(made.coef[j])}
    truth = {
        "target": "y",
        "matters": [names[j] for j in chosen],
        "coefficients": coef,
        "intercept": made.intercept,
    }
    return MadeTable(table, truth, commands)


def _of_arrays(X: np.ndarray, y: np.ndarray, informative: np.ndarray) -> MadeTable:
    return _with_truth(Simulation(X, y, np.where(informative, np.nan, 0.0), 0.0, informative))


def _revs(structure: str) -> Callable[..., MadeTable]:
    def make(rows: int, columns: int, seed: int, family: str) -> MadeTable:
        return _with_truth(
            simulate.make_revs(rows, columns, structure=structure, family=family, random_state=seed)
        )

    return make


def _weak(design: str) -> Callable[..., MadeTable]:
    def make(rows: int, columns: int, seed: int, family: str) -> MadeTable:
        return _with_truth(simulate.make_weak(rows, columns, design=design, family=family, random_state=seed))

    return make


def _acp(function: str) -> Callable[..., MadeTable]:
    def make(rows: int, columns: int, seed: int) -> MadeTable:
        return _with_truth(simulate.make_acp(rows, columns, function=function, random_state=seed))

    return make


def _sparse(task: str) -> Callable[..., MadeTable]:
    def make(rows: int, columns: int, seed: int) -> MadeTable:
        return _of_arrays(*simulate.make_sparse_linear(rows, columns, task=task, random_state=seed))

    return make


def _annulus(rows: int, columns: int, seed: int) -> MadeTable:
    return _of_arrays(*simulate.make_annulus(rows, columns, random_state=seed))


def _rational(rows: int, columns: int, seed: int) -> MadeTable:
    return _of_arrays(*simulate.make_rational(rows, columns, random_state=seed))


def _routes(rows: int, columns: int, seed: int) -> MadeTable:
    return _with_truth(simulate.make_routes(rows, columns, random_state=seed), _CASES)


def _trial(setting: str) -> Callable[..., MadeTable]:
    def make(rows: int, columns: int, seed: int) -> MadeTable:
        return _in_rows(simulate.make_regime_trial(setting, rows, columns, random_state=seed), rows, columns)

    return make


def _in_rows(made: SimulatedTrial, n: int, p: int) -> MadeTable:
    """A row per subject and stage, with the histories called as `TrialData.from_long` calls them."""
    stages = []
    for t, stage in enumerate(made.stages, start=1):
        # a stage that measures nothing anew has empty cells
        cells = {
            f"X{j}": pa.array(made.columns.get(f"X{t}_{j}", np.full(n, np.nan)), from_pandas=True)
            for j in range(1, p + 1)
        }
        roles = {"action": made.columns[stage["action"]], "reward": made.columns[stage["reward"]]}
        number = {"subject": np.arange(1, n + 1), "stage": np.full(n, t)}
        stages.append(pa.table({**number, **cells, **roles}))
    truth = {
        "matters by stage": [_renamed(names) for names in made.outcome_features],
        "decides by stage": [_renamed(names) for names in made.decision_features],
        "optimal value": made.optimal_value,
    }
    command = (
        "rlselect regimes DATA --id subject --stage stage --action action --reward reward --randomized 1:1"
    )
    return MadeTable(pa.concat_tables(stages).sort_by([("subject", "ascending")]), truth, [command])


def _renamed(names: set[str]) -> list[str]:
    """``X1_3`` (stage 1, third covariate) is ``X3_1`` in a table with a row per stage."""
    words = {"A": "action", "R": "reward"}
    found = []
    for name in sorted(names):
        mark, stage, number = re.fullmatch(r"([AXR])(\d+)(?:_(\d+))?", name).groups()  # type: ignore[union-attr]
        found.append(f"{words.get(mark, f'X{number}')}_{stage}")
    return found


def _adherence(which: str) -> Callable[..., MadeTable]:
    def make(rows: int, columns: int, seed: int) -> MadeTable:
        study = simulate.make_adherence(rows, random_state=seed)
        return _study(which, getattr(study, which))

    return make


def _study(which: str, frame: Any) -> MadeTable:
    matters = {
        "weekly": ["peginterferon", "ribavirin", "sex", "race", "ishak"],
        "daily": ["ribavirin", "sex", "race", "ishak"],
        "visits": [],
    }[which]
    time = {"weekly": "week", "daily": "day", "visits": "visit"}[which]
    formula, link = ("viral_load ~ wbc", "") if which == "visits" else (f"svr ~ {matters[0]} + race", "logit")
    command = f'rlselect effects DATA --formula "{formula}" --id id --time {time}'
    about = (
        "Symptoms and laboratory values by visit; none depends on another."
        if which == "visits"
        else "The chance of svr rises with adherence, early weeks most (weights halve every four weeks); it "
        "is higher for caucasian race, lower for men and with ishak. Who skips the injection of week 3 and "
        "is not fully adherent to ribavirin in it never responds."
    )
    truth = {"matters": matters, "about": about}
    return MadeTable(
        pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None),
        truth,
        [command + (f" --link {link}" if link else "")],
    )


_EVERYONE, _CASE, _DECISION, _MOMENT = (
    "for everyone",
    "for each case",
    "for a decision",
    "from moment to moment",
)
_FAMILIES = ("gaussian", "binomial", "poisson")

DESIGNS: Mapping[str, NamedDesign] = {
    "revs-block": NamedDesign(
        _EVERYONE, "runs of five true columns, blocks of one factor", 200, 200, _revs("block"), _FAMILIES
    ),
    "revs-banded": NamedDesign(
        _EVERYONE, "runs of five true columns, neighbours correlated", 200, 200, _revs("banded"), _FAMILIES
    ),
    "revs-sparse": NamedDesign(
        _EVERYONE, "runs of five true columns, sparse precision matrix", 200, 200, _revs("sparse"), _FAMILIES
    ),
    "weak-levels": NamedDesign(
        _EVERYONE, "25 effects of .05 to .3 among correlated columns", 20_000, 100, _weak("levels"), _FAMILIES
    ),
    "weak-gap": NamedDesign(
        _EVERYONE,
        "15 effects of .3 and ten of .03: stopping early loses ten",
        20_000,
        100,
        _weak("gap"),
        _FAMILIES,
    ),
    "acp-linear": NamedDesign(_EVERYONE, "a sum of eight columns", 200, 50, _acp("linear")),
    "acp-correlated": NamedDesign(
        _EVERYONE, "a sum of eight, neighbours correlated .9", 200, 50, _acp("correlated")
    ),
    "acp-interaction": NamedDesign(_EVERYONE, "four columns and two products", 200, 50, _acp("interaction")),
    "acp-network": NamedDesign(_EVERYONE, "a network of eight columns", 200, 50, _acp("network")),
    "acp-logistic": NamedDesign(_EVERYONE, "two classes by a sum of eight", 200, 50, _acp("logistic")),
    "acp-multiclass": NamedDesign(
        _EVERYONE, "five classes, clouds in eight columns", 200, 50, _acp("multiclass")
    ),
    "sparse-classes": NamedDesign(
        _EVERYONE, "two classes by four of fifteen columns", 100, 15, _sparse("classification")
    ),
    "sparse-numbers": NamedDesign(
        _EVERYONE, "numbers by four of fifteen columns", 100, 15, _sparse("regression")
    ),
    "annulus": NamedDesign(_EVERYONE, "classes inside and outside of a square", 200, 10, _annulus),
    "rational": NamedDesign(_EVERYONE, "a curved surface of two columns, no noise", 200, 10, _rational),
    "routes": NamedDesign(_CASE, "one column tells which of four others counts", 2000, 20, _routes),
    "regime-1": NamedDesign(_DECISION, "two stages, setting I of the dissertation", 200, 10, _trial("I")),
    "regime-2": NamedDesign(_DECISION, "two stages, setting II", 200, 10, _trial("II")),
    "regime-3": NamedDesign(_DECISION, "three stages, setting III", 200, 10, _trial("III")),
    "adherence-weekly": NamedDesign(
        _MOMENT, "two drugs, 24 weeks, a response in the end", 401, 0, _adherence("weekly")
    ),
    "adherence-daily": NamedDesign(_MOMENT, "the daily drug alone, 168 days", 401, 0, _adherence("daily")),
    "adherence-visits": NamedDesign(
        _MOMENT, "symptoms and laboratory values at six visits", 401, 0, _adherence("visits")
    ),
}
