"""Which method suits the data, with the line of code and the command."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rlselect.data import kind_of
from rlselect.preflight._columns import ColumnFacts, common_marks, is_constant
from rlselect.preflight._cost import MANY_ROWS, cost_of
from rlselect.preflight._curves import bends
from rlselect.preflight._features import STRAYS
from rlselect.preflight._findings import Finding, SeenRows, drop_flags, named
from rlselect.preflight._target import Outcome, find_outcome
from rlselect.preflight._visits import Visits, find_visits

__all__ = ["LEAKS", "QUESTIONS", "Question", "Recommendation", "recommend"]

Question = Literal["everyone", "case", "decision", "moment"]
QUESTIONS: tuple[Question, ...] = ("everyone", "case", "decision", "moment")
# findings of what may be known only after the target is
LEAKS = ("leaks", "telling gaps")
# the most covariates of a formula that is proposed
_TERMS = 4
# the most columns in which curves and products are searched for
_BENT_COLUMNS = 300
# the family of REVS, and what is explained how
_FAMILIES: dict[Outcome, tuple[str, str]] = {
    "number": ("gaussian", "Numbers explained by straight lines"),
    "two classes": ("binomial", "Two classes explained by straight lines"),
    "classes": ("multinomial", "Several classes explained by straight lines"),
    "count": ("poisson", "Counts explained by straight lines in their logarithm"),
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
    roles : tuple of str
        Columns that tell subjects and times apart, where the method has such.
    """

    method: str
    why: str
    python: str
    command: str
    seconds: tuple[float, float]
    memory: float
    roles: tuple[str, ...] = ()


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
    seen = _read(look, findings, files)
    if question == "moment" or (question == "everyone" and seen.visits is not None and seen.visits.time):
        return _curves_in_time(seen)
    if question == "decision":
        return _decisions(seen)
    if question == "case":
        return _cases(seen)
    bent = seen.p <= _BENT_COLUMNS and seen.n <= 20 * MANY_ROWS and bends(look)
    return _bent(seen) if bent else _straight(seen)


@dataclass(frozen=True)
class _Situation:
    """What was seen, in the words that lines of code and commands are made of.

    Attributes
    ----------
    look : SeenRows
        The rows.
    data, table, frame, target : str
        The files in a command, the table in a line of code, as it is and with numbers in place of dates and
        without what is to be left out, the column that is explained.
    n, p, width : int
        Rows and columns that are left, and columns of the design that is made of these.
    visits : Visits or None
        Subjects that come several times.
    drop, dates, either, leaks : list of str
        Columns to leave out, those with dates, with dates in no order that a cell tells, those that may be
        known only after the target is.
    gaps, untold : bool
        Whether values are missing, and values of the target.
    cell_flags : list of str
        How the cells of a file are to be read.
    """

    look: SeenRows
    data: str
    table: str
    frame: str
    target: str
    n: int
    p: int
    width: int
    visits: Visits | None
    drop: list[str]
    dates: list[str]
    either: list[str]
    leaks: list[str]
    gaps: bool
    untold: bool
    cell_flags: list[str]

    @property
    def outcome(self) -> Outcome:
        """What kind of target it is."""
        return find_outcome(self.look.target) if self.look.target else "number"

    @property
    def y(self) -> str:
        """The target in a line of code."""
        return "y" if self.look.apart else repr(self.target)

    @property
    def flags(self) -> list[str]:
        """Of a command about one target, but for its gaps."""
        return [
            *self.cell_flags,
            *([drop_flags(self.drop, most=len(self.drop))] if self.drop else []),
            *["--expand-dates"] * bool(self.dates),
            *["--day-first"] * bool(self.either),
            *["--drop-missing-target"] * self.untold,
        ]

    @property
    def order(self) -> str:
        """Nobody can tell whether days stand first: what is taken is said, and how to say otherwise."""
        return f" If the month stands first in {named(self.either)}: day_first=False." if self.either else ""

    def command(self, name: str, *flags: str) -> str:
        """One that explains the target."""
        return " ".join([f"rlselect {name}", self.data, f"--target {shlex.quote(self.target)}", *flags])


def _read(look: SeenRows, findings: list[Finding], files: Sequence[str]) -> _Situation:
    drop = _columns(findings, "ids and free text", "no table cells")
    dates = _columns(findings, "dates")
    either = [c.name for c in look.columns if c.in_either_order and c.name in dates]
    untold = _columns(findings, "missing target")[:1]
    return _Situation(
        look=look,
        data=shlex.join(files),
        table=_frame(files, [], [], [], []),
        frame=_frame(files, drop, dates, either, [] if look.apart else untold),
        target=look.target.name if look.target else "TARGET",
        n=look.n_rows or look.n_seen,
        p=len(look.columns) - len(drop),
        width=sum(_width(c) for c in look.columns if c.name not in drop),
        visits=find_visits(look),
        drop=drop,
        dates=dates,
        either=either,
        leaks=_columns(findings, *LEAKS),
        gaps=any(f.what in ("missing values", "codes for missing") for f in findings),
        untold=bool(untold),
        # other files than CSV say themselves what is a number, and what is missing
        cell_flags=[*_cell_flags(look, findings)] if kind_of(files[0]) in ("csv", None) else [],
    )


def _width(column: ColumnFacts) -> int:
    """Columns of a design: one for each level of text but the first, one that marks gaps."""
    return max(column.n_distinct - 1 if column.is_text else 1, 1) + bool(column.n_missing)


def _columns(findings: list[Finding], *what: str) -> list[str]:
    return [name for f in findings if f.what in what for name in f.columns]


def _curves_in_time(seen: _Situation) -> Recommendation:
    id_, time = (seen.visits.subject, seen.visits.time or "TIME") if seen.visits else ("ID", "TIME")
    taken = {id_, time, *seen.drop, *seen.dates, *seen.leaks}
    others = [c.name for c in seen.look.columns if c.name not in taken and not is_constant(c)]
    right = " + ".join(map(_term, others[:_TERMS])) or "..."
    formula = f"{_term(seen.target)} ~ {right}"
    words = shlex.join(["--formula", formula, "--id", id_, "--time", time])
    return Recommendation(
        "TemporalProcessRegression",
        "The same subjects come several times: their effects are curves in time.",
        f"TemporalProcessRegression({formula!r}).fit({seen.table}, id={id_!r}, time={time!r})",
        " ".join(["rlselect effects", seen.data, words, *seen.cell_flags]),
        *cost_of("TemporalProcessRegression", "number", seen.n, seen.p),
        (id_, time),
    )


def _decisions(seen: _Situation) -> Recommendation:
    id_, stage = (seen.visits.subject, seen.visits.time or "STAGE") if seen.visits else ("ID", "STAGE")
    words = ["--id", id_, "--stage", stage, "--action", "ACTION", "--reward", seen.target]
    left_out = [name for name in (*seen.drop, *seen.dates) if name not in (id_, stage)]
    words += [word for name in left_out for word in ("--drop", name)]
    flags = [*seen.cell_flags, *["--missing indicator"] * seen.gaps]
    known = seen.visits._asdict() if seen.visits else {}
    id_code, stage_code = (repr(known[key]) if known.get(key) else "..." for key in ("subject", "time"))
    option = ', missing="indicator"' if seen.gaps else ""
    return Recommendation(
        "QLearning",
        "What to do at each stage is learnt from what was done, and what came of it.",
        f"QLearning().fit(TrialData.from_long({seen.table}, id={id_code}, stage={stage_code}, action=..., "
        f"reward={seen.target!r}, covariates=[...]{option}))",
        " ".join(["rlselect regimes", seen.data, shlex.join(words), *flags]),
        *cost_of("QLearning", "number", seen.n, seen.p),
        (id_, stage),
    )


def _cases(seen: _Situation) -> Recommendation:
    method = "DatumwiseRegressor" if seen.outcome in ("number", "count") else "DatumwiseClassifier"
    return Recommendation(
        method,
        "Features are bought one by one for each case, until the answer is sure enough for their price."
        + seen.order,
        f"{method}(feature_cost=0.01).fit({seen.frame}, {seen.y})",
        seen.command("datumwise", "--feature-cost 0.01", *seen.flags),
        *cost_of(method, seen.outcome, seen.n, seen.p),
    )


def _bent(seen: _Situation) -> Recommendation:
    option = 'missing="indicator"' if seen.gaps else ""
    return Recommendation(
        "ActorCriticPredictor",
        f"A forest predicts better than straight lines do: curves and products are searched for.{seen.order}",
        f"ActorCriticPredictor({option}).fit({seen.frame}, {seen.y})",
        seen.command("select", "--method acp", *seen.flags, *["--missing indicator"] * seen.gaps),
        *cost_of("ActorCriticPredictor", seen.outcome, seen.n, seen.width),
    )


def _straight(seen: _Situation) -> Recommendation:
    family, explained = _FAMILIES[seen.outcome]
    option = ', missing="indicator"' if seen.gaps else ""
    how = "on as many rows as it takes" if seen.n > MANY_ROWS else "and averaged over"
    return Recommendation(
        "REVS",
        f"{explained}: subsets are priced by their evidence, {how}.{seen.order}",
        f'REVS(family="{family}"{option}).fit({seen.frame}, {seen.y})',
        seen.command("select", f"--family {family}", *seen.flags, *["--missing indicator"] * seen.gaps),
        *cost_of("REVS", seen.outcome, seen.n, seen.width),
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
