"""The look before the selection."""

import math
import textwrap
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from rlselect.data import some_rows, unknown_column
from rlselect.preflight._columns import ColumnFacts, Kind, read_column
from rlselect.preflight._features import look_at_features
from rlselect.preflight._findings import Finding, SeenRows
from rlselect.preflight._recommend import LEAKS, QUESTIONS, Question, Recommendation, recommend
from rlselect.preflight._rows import look_at_rows
from rlselect.preflight._suited import suit
from rlselect.preflight._target import find_outcome, look_at_target
from rlselect.report import Summary, how_made, name_some

__all__ = ["DataCheck", "check", "look_over", "tell"]

# what a column holds, for people
_HOLDS: dict[Kind, str] = {
    "number": "numbers",
    "truth": "yes or no",
    "text": "text",
    "category": "categories",
    "date": "dates",
    "text date": "dates as text",
    "text number": "numbers as text",
    "spoilt number": "numbers and stray text",
    "empty": "nothing",
    "other": "neither numbers nor text",
}
_ORDER = {"problem": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, repr=False)
class DataCheck(Summary):
    """What was seen in the data; ``str()`` for text, ``save("x.html")`` for a page.

    Attributes
    ----------
    report : dict
        Plain values.
    findings : list of Finding
        What was seen, problems first.
    recommendation : Recommendation
        What to run.
    """

    findings: list[Finding]
    recommendation: Recommendation

    def for_command_line(self, given: str = "") -> dict[str, Any]:
        """The report with its mends in the words of the command line, and flags that were given already."""
        command = f"{self.recommendation.command} {given}".rstrip()
        sections = _sections(self.findings, replace(self.recommendation, command=command), "command")
        return {**self.report, "sections": [*sections, self.report["sections"][-1]]}

    @property
    def problems(self) -> list[Finding]:
        """What is in the way of a fit."""
        return [finding for finding in self.findings if finding.weight == "problem"]


def check(
    X: Any,
    y: Any = None,
    *,
    question: Question = "everyone",
    most_rows: int = 100_000,
    name: str | Sequence[str] | None = None,
) -> DataCheck:
    """Look at data before anything is selected: what is in the way, and which method suits them.

    Parameters
    ----------
    X : table or source
        What estimators take: an array, a data frame, a path, a folder, a query. Dates and other columns that
        no estimator takes are told, not refused.
    y : array-like or str, optional
        The target, or the name of its column.
    question : {"everyone", "case", "decision", "moment"}, default="everyone"
        Which variables matter for everyone, for each case, for a decision, or from moment to moment?
    most_rows : int, default=100_000
        Rows that are looked at; of a source the first ones of up to 16 parts.
    name : str or sequence of str, optional
        What the data are called in the line of code and the command; several files by their names.

    Returns
    -------
    DataCheck

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> X[3, 1] = np.nan
    >>> found = check(X, X[:, 0] - X[:, 2])
    >>> [finding.what for finding in found.problems], found.recommendation.method
    (['missing values'], 'REVS')
    """
    if question not in QUESTIONS:
        raise ValueError(f"question={question!r} was given; it must be one of {', '.join(QUESTIONS)}.")
    look = _look(X, y, most_rows)
    findings = [*look_at_target(look), *look_at_features(look), *look_at_rows(look)]
    names = name or (fspath(X) if isinstance(X, str | PathLike) else "DATA")
    files = [str(names)] if isinstance(names, str | bytes) else list(names)
    advice = recommend(look, findings, question, files)
    findings = _weighed(suit(findings, advice.method, advice.roles, asked=question != "everyone"))
    return DataCheck(_report(look, findings, advice, " ".join(files)), findings, advice)


def look_over(X: Any, y: str, method: str = "REVS") -> list[Finding]:
    """What is seen in the columns, without the rest of the look.

    Parameters
    ----------
    X : table or source
        As for `check`.
    y : str
        The column of the target.
    method : str
        The class that is to be run.
    """
    look = _look(X, y, 10_000)
    return _weighed(suit([*look_at_target(look), *look_at_features(look)], method))


def _weighed(findings: list[Finding]) -> list[Finding]:
    """Problems first."""
    return sorted(findings, key=lambda finding: _ORDER[finding.weight])


def _look(X: Any, y: Any, most_rows: int) -> SeenRows:
    table, n_rows, neighbours, cells = some_rows(X, most_rows)
    target: ColumnFacts | None = None
    if isinstance(y, str):
        if y not in table.column_names:
            raise unknown_column("y", y, table.column_names)
        target = read_column(y, table.column(y), cells)
        table = table.drop_columns([y])
    elif y is not None:
        if n_rows is None or n_rows > len(table):
            raise ValueError(
                "y is an array, but only some rows of X are looked at; give the name of its column."
            )
        column = some_rows(_as_column(y), most_rows).table
        if len(column) != len(table):
            raise ValueError(
                f"X has {len(table)} rows and y has {len(column)}; they must have the same number."
            )
        label = getattr(y, "name", None)
        target = read_column(str(label) if isinstance(label, Hashable) and label else "y", column.column(0))
    columns = [read_column(str(name), table.column(name), cells) for name in table.column_names]
    return SeenRows(
        columns, target, len(table), n_rows, neighbours, cells, y is not None and not isinstance(y, str)
    )


def _as_column(y: Any) -> Any:
    if isinstance(y, pa.Array | pa.ChunkedArray):
        return pa.table({"y": y})
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    return values.reshape(len(values), -1)[:, :1]


def _report(look: SeenRows, findings: list[Finding], advice: Recommendation, called: str) -> dict[str, Any]:
    counts = {weight: sum(f.weight == weight for f in findings) for weight in _ORDER}
    told = ", ".join(f"{k} {weight}{'' if k == 1 else 's'}" for weight, k in counts.items() if k)
    facts: dict[str, Any] = {
        "Rows": f"{look.n_rows:,}" if look.n_rows is not None else f"{look.n_seen:,} or more",
        "Looked at": f"{look.n_seen:,} rows",
        "Columns": _kinds(look.columns),
    }
    if look.target is not None:
        facts["Target"] = f"{look.target.name}: {_told(look.target)}"
    data = "X" if called == "DATA" else repr(called)
    target = "None" if look.target is None else "y" if look.apart else repr(look.target.name)
    facts["Found"] = told or "nothing that is in the way"
    columns = {
        "title": "The columns",
        "columns": ("Column", "Holds", "Missing", "Different values"),
        "rows": [[c.name or "''", _HOLDS[c.kind], c.n_missing, c.n_distinct] for c in look.columns],
    }
    return {
        "title": "The data" if called == "DATA" else called,
        "answer": _answer(findings, advice),
        "command": "check",
        "facts": facts,
        "sections": [*_sections(findings, advice, "python"), columns],
        "findings": [asdict(f) for f in findings],
        "recommendation": asdict(advice),
        "made": how_made(f"from rlselect import check\n\ncheck({data}, {target})"),
    }


def _answer(findings: list[Finding], advice: Recommendation) -> str:
    """What is in the way, or what to run."""
    problems, warned = (
        list(dict.fromkeys(f.what for f in findings if f.weight == weight))
        for weight in ("problem", "warning")
    )
    run = f"{advice.method} suits these data; it takes {_seconds(advice.seconds)}."
    leaks = [name for f in findings if f.what in LEAKS for name in f.columns]
    if problems and leaks:
        run += f" Beware of {name_some(leaks)}: it may be known only after the target is."
    if problems:
        return f"Before a fit something is to be mended: {name_some(problems)}. Then {run}"
    if warned:
        return f"Nothing is in the way of a fit, but the answer may be spoilt by: {name_some(warned)}. {run}"
    return f"Nothing is in the way of a fit. {run}"


def _sections(
    findings: list[Finding], advice: Recommendation, words: Literal["python", "command"]
) -> list[dict[str, Any]]:
    """What was seen and what to run, in the words of one interface."""
    sections = []
    if findings:
        told = "\n".join(tell(finding, words) for finding in findings)
        found = [{"weight": f.weight, "text": f.text, "mend": getattr(f, words)} for f in findings]
        sections.append({"title": "What was seen", "text": told, "findings": found})
    note = f"{advice.why} It takes {_seconds(advice.seconds)} and {_size(advice.memory)} of memory."
    return [
        *sections,
        {"title": f"What to run: {advice.method}", "text": getattr(advice, words), "note": note},
    ]


def tell(finding: Finding, words: Literal["python", "command"]) -> str:
    """A finding as lines of text: its weight, what was seen, and the mend in the words of an interface.

    Parameters
    ----------
    finding : Finding
        The finding.
    words : {"python", "command"}
        The interface.
    """
    mend = getattr(finding, words)
    # with the weight before it, a line fits a terminal of 80 columns
    lines = textwrap.wrap(finding.text, 71) + ([f"-> {mend}"] if mend else [])
    return "\n".join(f"{finding.weight if k == 0 else '':8} {line}" for k, line in enumerate(lines))


def _kinds(columns: list[ColumnFacts]) -> str:
    kinds = Counter(_HOLDS[column.kind] for column in columns)
    told = ", ".join(f"{count:,} of {kind}" for kind, count in kinds.items())
    return f"{len(columns):,} ({told})" if told else "0"


def _told(y: ColumnFacts) -> str:
    if y.n_distinct < 2 or not (y.is_number or y.is_text):
        return y.kind
    outcome = find_outcome(y)
    return f"{y.n_distinct} classes" if outcome == "classes" else outcome


def _seconds(seconds: tuple[float, float]) -> str:
    if seconds[1] < 1:
        return "less than 1 s"
    low, high = (math.ceil(s) if s >= 1 else round(s, 1) for s in seconds)
    return f"about {low:g} s to {high:g} s" if high < 120 else f"{math.ceil(high / 60)} minutes at most"


def _size(memory: float) -> str:
    return f"{memory / 2**30:.1f} GB" if memory >= 2**30 else f"{max(memory / 2**20, 1):.0f} MB"
