"""Which method suits the data, with the line of code and the command."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rlselect.data import kind_of
from rlselect.preflight._columns import common_marks, is_constant
from rlselect.preflight._cost import MANY_ROWS, cost_of
from rlselect.preflight._curves import bends
from rlselect.preflight._features import STRAYS
from rlselect.preflight._findings import Finding, SeenRows, drop_flags, named
from rlselect.preflight._target import Outcome, find_outcome
from rlselect.preflight._visits import find_visits

__all__ = ["LEAKS", "QUESTIONS", "Question", "Recommendation", "recommend"]

Question = Literal["everyone", "case", "decision", "moment"]
QUESTIONS: tuple[Question, ...] = ("everyone", "case", "decision", "moment")
# findings of what may be known only after the target is
LEAKS = ("leaks", "telling gaps")
# the most covariates of a formula that is proposed
_TERMS = 4
# the most columns in which curves and products are searched for
_BENT_COLUMNS = 300
_FAMILIES: dict[Outcome, str] = {
    "number": "gaussian",
    "two classes": "binomial",
    "classes": "multinomial",
    "count": "poisson",
}


@dataclass(frozen=True)
class Recommendation:
    """What to run.

    Attributes
    ----------
    method : str
        The class.
    why : str
        A sentence.
    python, command : str
        The line of code, and the command.
    seconds : tuple of float
        About how long it takes on this machine, at least and at most.
    memory : float
        About how many bytes it takes beside the table.
    """

    method: str
    why: str
    python: str
    command: str
    seconds: tuple[float, float]
    memory: float


def recommend(
    look: SeenRows, findings: list[Finding], question: Question, files: Sequence[str]
) -> Recommendation:
    """Choose a method for a question and the data.

    Parameters
    ----------
    look : SeenRows
        The rows.
    findings : list of Finding
        What was seen in them: columns to leave out, gaps to fill.
    question : {"everyone", "case", "decision", "moment"}
        For whom, or when, variables matter.
    files : sequence of str
        What the data are called in the code and the command.
    """
    data = shlex.join(files)
    drop = [name for f in findings if f.what in ("ids and free text", "no table cells") for name in f.columns]
    dates = [name for f in findings if f.what == "dates" for name in f.columns]
    gaps = any(f.what in ("missing values", "codes for missing") for f in findings)
    untold = [f.columns[0] for f in findings if f.what == "missing target"]
    visits = find_visits(look)
    if question == "everyone" and visits is not None and visits.time:
        question = "moment"
    n = look.n_rows or look.n_seen
    p = len(look.columns) - len(drop)
    target = look.target.name if look.target else "TARGET"
    column = shlex.quote(target)
    # other files than CSV say themselves what is a number, and what is missing
    cell_flags = [*_cell_flags(look, findings)] if kind_of(files[0]) in ("csv", None) else []
    flags = [*cell_flags]
    flags += [drop_flags(drop, most=len(drop))] if drop else []
    either = [c.name for c in look.columns if c.in_either_order and c.name in dates]
    frame = _frame(files, drop, dates, either, untold)
    if question == "moment":
        id_, time = (visits.subject, visits.time or "TIME") if visits else ("ID", "TIME")
        taken = {
            id_,
            time,
            *drop,
            *dates,
            *(name for f in findings if f.what in LEAKS for name in f.columns),
        }
        others = [c.name for c in look.columns if c.name not in taken and not is_constant(c)]
        right = " + ".join(map(_term, others[:_TERMS])) or "..."
        formula = f"{_term(target)} ~ {right}"
        words = ["--formula", formula, "--id", id_, "--time", time]
        command = " ".join(["rlselect effects", data, shlex.join(words), *cell_flags])
        return Recommendation(
            "TemporalProcessRegression",
            "The same subjects come several times: their effects are curves in time.",
            f"TemporalProcessRegression({formula!r}).fit({frame}, id={id_!r}, time={time!r})",
            command,
            *cost_of("TemporalProcessRegression", "number", n, p),
        )
    if question == "decision":
        id_, stage = (visits.subject, visits.time or "STAGE") if visits else ("ID", "STAGE")
        left_out = [name for name in (*drop, *dates) if name not in (id_, stage)]
        words = ["--id", id_, "--stage", stage, "--action", "ACTION", "--reward", target]
        words += [word for name in left_out for word in ("--drop", name)]
        return Recommendation(
            "QLearning",
            "What to do at each stage is learnt from what was done, and what came of it.",
            f"QLearning().fit(TrialData.from_long({frame}, id=..., stage=..., action=..., "
            f"reward={target!r}))",
            " ".join(
                ["rlselect regimes", data, shlex.join(words), *cell_flags, *(["--missing indicator"] * gaps)]
            ),
            *cost_of("QLearning", "number", n, p),
        )
    flags += ["--expand-dates"] if dates else []
    flags += ["--day-first"] if either else []
    # nobody can tell: what is taken is said, and how to say otherwise
    order = f" If the month stands first in {named(either)}: day_first=False." if either else ""
    flags += ["--drop-missing-target"] if untold else []
    outcome = find_outcome(look.target) if look.target else "number"
    if question == "case":
        method = "DatumwiseRegressor" if outcome in ("number", "count") else "DatumwiseClassifier"
        return Recommendation(
            method,
            "Features are bought one by one for each case, until the answer is sure enough for their price."
            + order,
            f"{method}(feature_cost=0.01).fit({frame}, {target!r})",
            " ".join(["rlselect datumwise", data, f"--target {column}", "--feature-cost 0.01", *flags]),
            *cost_of(method, outcome, n, p),
        )
    missing = ', missing="indicator"' if gaps else ""
    flags += ["--missing indicator"] if gaps else []
    bent = bends(look) if p <= _BENT_COLUMNS and n <= 20 * MANY_ROWS else None
    if bent:
        return Recommendation(
            "ActorCriticPredictor",
            f"A forest predicts better than straight lines do: curves and products are searched for.{order}",
            f"ActorCriticPredictor({missing.removeprefix(', ')}).fit({frame}, {target!r})",
            " ".join(["rlselect select", data, f"--target {column}", "--method acp", *flags]),
            *cost_of("ActorCriticPredictor", outcome, n, p),
        )
    family = _FAMILIES[outcome]
    why = {
        "number": "Numbers explained by straight lines",
        "two classes": "Two classes explained by straight lines",
        "classes": "Several classes explained by straight lines",
        "count": "Counts explained by straight lines in their logarithm",
    }[outcome]
    many = n > MANY_ROWS
    return Recommendation(
        "REVS",
        f"{why}: subsets are priced by their evidence"
        + (", on as many rows as it takes." if many else ", and averaged over.")
        + order,
        f'REVS(family="{family}"{missing}).fit({frame}, {target!r})',
        " ".join(["rlselect select", data, f"--target {column}", f"--family {family}", *flags]),
        *cost_of("REVS", outcome, n, p),
    )


def _term(name: str) -> str:
    """A column in a formula."""
    return name if name.isidentifier() else f"`{name}`"


def _cell_flags(look: SeenRows, findings: list[Finding]) -> Iterator[str]:
    """How the cells of a file are to be read: decimal commas, and codes for missing."""
    columns = [*look.columns, *([look.target] if look.target else [])]
    marks = common_marks(columns)
    if marks is not None:
        yield shlex.join(marks.flags)
    codes = [f.command for f in findings if f.what in ("codes for missing", STRAYS)]
    yield from dict.fromkeys(code.partition(" --missing")[0] for code in codes if code.startswith("--na"))


def _frame(
    files: Sequence[str], drop: list[str], dates: list[str], either: list[str], untold: list[str]
) -> str:
    """The table in a line of code, without what is to be left out."""
    data = " ".join(files)
    if data.startswith("DATA"):
        name = "X"
    else:
        name = f"pd.read_{'parquet' if data.endswith(('.parquet', '.pq')) else 'csv'}({data!r})"
    if untold:
        name += f".dropna(subset={untold!r})"
    if drop:
        name += f".drop(columns={drop[:8]!r})"
    order = ", day_first=True" if either else ""
    return f"rlselect.expand_dates({name}{order})" if dates else name
