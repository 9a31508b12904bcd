"""Findings for the method that is to be run: what it takes care of, and what its command knows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rlselect.preflight._findings import Finding, drop_flags, named

__all__ = ["CASES", "DECISIONS", "MOMENTS", "suit"]

CASES = ("DatumwiseClassifier", "DatumwiseRegressor")
DECISIONS = ("QLearning", "AdvantageLearning")
MOMENTS = ("TemporalProcessRegression",)


@dataclass(frozen=True)
class _Ways:
    """How a kind of methods meets what is seen.

    Attributes
    ----------
    taken : dict of str to str
        What is in the way of others, and what becomes of it here.
    moot : tuple of str
        What says nothing here.
    mends : dict of str to (str, str)
        Other mends, in Python and on the command line; {columns} is put in, and {flags} that leave them out.
    named_only : bool
        Whether a fit meets only columns that are named to it.
    """

    taken: dict[str, str]
    moot: tuple[str, ...]
    mends: dict[str, tuple[str, str]]
    named_only: bool = False


_TEXT = "make {columns} text where these are names"
_OUT = "leave {columns} out of the formula"
_LEFT_OUT = ("dates", "ids and free text", "no table cells", "constants", "repeated columns")
_UNAVAILABLE = "such a row counts as unavailable at its time"
_WAYS = {
    CASES: _Ways(
        taken={"missing values": "what is missing cannot be bought, and costs nothing"},
        moot=(),
        mends={
            "target: amounts or classes": ("make it text where they are classes", "--task says what it is")
        },
    ),
    DECISIONS: _Ways(
        taken={"missing target": "a reward may be missing where one of a later stage follows"},
        moot=("repeated measures", "target: amounts or classes"),
        mends={
            "missing values": (
                'missing="indicator" imputes and marks covariates; without an action a subject was done',
                "--missing indicator for covariates; without an action a subject was done",
            ),
            "dates": ("leave out {columns}", "{flags}"),
            "numbers that may be categories": (_TEXT, _TEXT),
        },
    ),
    MOMENTS: _Ways(
        taken={"missing values": _UNAVAILABLE, "missing target": _UNAVAILABLE},
        moot=("target: amounts or classes",),
        mends={
            **dict.fromkeys((*_LEFT_OUT, "leaks", "telling gaps"), (_OUT, _OUT)),
            "numbers that may be categories": ("C(...) in the formula where they are names",) * 2,
            "repeated measures": ("", ""),
        },
        named_only=True,
    ),
}


def suit(
    findings: list[Finding], method: str, roles: tuple[str, ...] = (), *, asked: bool = True
) -> list[Finding]:
    """What was seen, for the method that is to be run.

    Parameters
    ----------
    findings : list of Finding
        What was seen.
    method : str
        The class that is to be run.
    roles : tuple of str
        Columns that tell subjects and times apart: these are no covariates.
    asked : bool
        Whether the method was asked for, and was not chosen for what was seen.

    Examples
    --------
    >>> gaps = Finding("missing values", "problem", ["a"], "'a' has gaps.", command="--missing indicator")
    >>> suit([gaps], "REVS") == [gaps], suit([gaps], "DatumwiseClassifier")[0].text
    (True, "'a' has gaps: what is missing cannot be bought, and costs nothing.")
    """
    ways = next((ways for methods, ways in _WAYS.items() if method in methods), None)
    return findings if ways is None else [*_suited(findings, ways, set(roles), asked)]


def _suited(findings: list[Finding], ways: _Ways, roles: set[str], asked: bool) -> Iterator[Finding]:
    for one in findings:
        others = [name for name in one.columns if name not in roles]
        again = one.what == "repeated measures"
        if one.what in ways.moot or (again and asked and ways.named_only):
            continue
        if one.columns and not others and one.what in ("dates", "numbers that may be categories"):
            continue  # a time may be a date, and is no category
        if one.what in ways.taken:
            text = f"{one.text.removesuffix('.')}: {ways.taken[one.what]}."
            yield replace(one, weight="note", text=text, python="", command="")
        elif one.what in ways.mends:
            words = {"columns": named(others or one.columns), "flags": drop_flags(others)}
            python, command = (mend.format(**words) for mend in ways.mends[one.what])
            eased = ways.named_only and (one.what in _LEFT_OUT or again)
            yield replace(one, weight="note" if eased else one.weight, python=python, command=command)
        else:
            yield one if "missing values" not in ways.taken else _not_imputed(one)


def _not_imputed(finding: Finding) -> Finding:
    """Codes for missing are marked as such, and nothing more has to be done about them."""
    python = finding.python.removesuffix(" and set missing").removesuffix(",")
    return replace(finding, python=python, command=finding.command.removesuffix(" --missing indicator"))
