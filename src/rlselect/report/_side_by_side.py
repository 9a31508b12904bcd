"""Two or more fits side by side: what they agree on, what changed, and what was asked of them."""

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect.report._answer import name_some, spell
from rlselect.report._format import fact_rows, show
from rlselect.report._summary import Summary, page_path

__all__ = ["Marked", "Marks", "side_by_side"]

# fits whose columns still stand beside each other on a page
_MOST = 8


class Marked(NamedTuple):
    """What a fit says of one variable.

    Attributes
    ----------
    selected : bool
        Whether it is selected.
    sureness : float, optional
        How sure that is, in the fit's own words.
    """

    selected: bool
    sureness: float | None = None


class Marks(NamedTuple):
    """What a fit says of its variables.

    Attributes
    ----------
    of : dict of str to Marked
        Variables, the best first.
    words : str
        What the numbers are.
    """

    of: dict[str, Marked]
    words: str


def side_by_side(
    fits: Mapping[str, Any] | Sequence[Any],
    path: str | Path | None = None,
    *,
    X: Any = None,
    y: Any = None,
) -> Summary:
    """Put two or more fits side by side: what changed between them.

    Variables that some fits select and others do not, with how sure each is; settings that differ; rows,
    scores, reasons to stop and times. ``rlselect.report([a, b])`` is the same.

    Parameters
    ----------
    fits : dict of str to estimators, or sequence of estimators
        Fitted estimators of one room, such as two `REVS` with different options, or a `REVS` and a `RiskRFE`.
        The names of a dict head the columns; of a sequence, the names of the classes do.
    path : str or Path, optional
        Where to write the page: its name ends in .html, .md or .json.
    X, y : optional
        Rows that judge all fits by their ``score``, best ones that took part in none.

    Returns
    -------
    Summary
        ``str()`` gives text, ``dict`` the values behind it; notebooks show a page, ``save`` writes one.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect import REVS, RiskRFE
    >>> from rlselect.report import side_by_side
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5))
    >>> y = X[:, 0] + 0.3 * rng.standard_normal(100)
    >>> both = side_by_side([REVS(random_state=0).fit(X, y), RiskRFE(random_state=0).fit(X, y)])
    >>> print(both.dict["answer"])
    Both fits select the same variable: x0.
    """
    if path is not None:
        page_path(path)
    named = _read_fits(fits)
    if (X is None) != (y is None):
        raise ValueError(f"{'y' if X is None else 'X'} was given alone; give X and y together.")
    reports = {name: fit.summary().dict for name, fit in named.items()}
    marks = {name: fit._marks() for name, fit in named.items()}
    marked = {name: one.of for name, one in marks.items()}
    found = Summary(
        {
            "title": f"{name_some(list(named))} side by side",
            "answer": _answer(marked),
            "fits": list(named),
            "selected": {name: [v for v, m in marks.items() if m.selected] for name, marks in marked.items()},
            "sections": [
                _variables(marked, list(dict.fromkeys(one.words for one in marks.values()))),
                _facts(named, reports, X, y),
                _settings(named),
                *(
                    {"title": f"What {name} says", "note": report["answer"]}
                    for name, report in reports.items()
                ),
            ],
            "made": _made({name: report["made"] for name, report in reports.items()}),
        }
    )
    if path is not None:
        found.save(path)
    return found


def _made(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The code of all fits, the versions, which are those of now, and the works of all methods."""
    code = "\n\n".join(f"# {name}\n{made['code']}" for name, made in parts.items())
    works = dict.fromkeys(work for made in parts.values() for work in made["works"])
    return {"code": code, "Versions": next(iter(parts.values()))["Versions"], "works": list(works)}


def _read_fits(fits: Any) -> dict[str, Any]:
    """The fits by their names, all fitted and of one room."""
    several = isinstance(fits, Mapping | Sequence) and not isinstance(fits, str)
    if not several or not 2 <= len(fits) <= _MOST:
        given = f"{len(fits)} fits were" if several else f"a {type(fits).__name__} was"
        raise ValueError(
            f"{given} given; give two to {_MOST} fitted estimators, in a list or a dict of names. "
            "One fit has summary()."
        )
    named = dict(fits) if isinstance(fits, Mapping) else _numbered(list(fits))
    named = {str(name): fit for name, fit in named.items()}
    for name, fit in named.items():
        if not hasattr(fit, "_marks"):
            raise ValueError(f"{name!r} is a {type(fit).__name__}; give estimators of rlselect.")
        check_is_fitted(fit)
    rooms = {name: _room(fit) for name, fit in named.items()}
    first, *others = rooms
    for name in others:
        if rooms[name] != rooms[first]:
            raise ValueError(
                f"{first!r} is of rlselect.{rooms[first]} and {name!r} of rlselect.{rooms[name]}: they "
                "answer different questions; give fits of one room."
            )
    return named


def _numbered(fits: list[Any]) -> dict[str, Any]:
    kinds = [type(fit).__name__ for fit in fits]
    numbers = dict.fromkeys(kinds, 0)
    named = {}
    for kind, fit in zip(kinds, fits, strict=True):
        numbers[kind] += 1
        named[f"{kind} {numbers[kind]}" if kinds.count(kind) > 1 else kind] = fit
    return named


def _room(fit: Any) -> str:
    """The package that a class, or the one it was made from, lives in."""
    homes = [kind.__module__.split(".") for kind in type(fit).__mro__]
    return next(home[1] for home in homes if home[0] == "rlselect" and not home[1].startswith("_"))


def _answer(marked: Mapping[str, Mapping[str, Marked]]) -> str:
    """What all agree on, and who else selects what."""
    chosen = {
        name: [spell(v) for v, mark in marks.items() if mark.selected] for name, marks in marked.items()
    }
    every = list(dict.fromkeys(v for names in chosen.values() for v in names))
    shared = [v for v in every if all(v in names for names in chosen.values())]
    who = "Both" if len(chosen) == 2 else f"All {len(chosen)}"
    if not every:
        return f"{who} fits select nothing."
    if len(shared) == len(every):
        noun = "the same variable" if len(shared) == 1 else f"the same {len(shared)} variables"
        return f"{who} fits select {noun}: {name_some(shared)}."
    parts = [f"{who} fits select {name_some(shared)}." if shared else "No variable is selected by all fits."]
    for name, names in chosen.items():
        own = [v for v in names if v not in shared]
        more = "in addition " if shared else ""
        parts.append(f"{name} selects {more}{name_some(own)}." if own else f"{name} selects nothing else.")
    return " ".join(parts)


def _variables(marked: Mapping[str, Mapping[str, Marked]], words: Sequence[str]) -> dict[str, Any]:
    """A row for each variable that any fit selects, those that all select first."""
    every = list(dict.fromkeys(v for marks in marked.values() for v, mark in marks.items() if mark.selected))

    def count(variable: str) -> int:
        return sum(marks.get(variable, Marked(False)).selected for marks in marked.values())

    rows = [
        [variable, *(_cell(marks.get(variable)) for marks in marked.values()), _change(variable, marked)]
        for variable in sorted(every, key=lambda v: -count(v))
    ]
    return {
        "title": "What was selected",
        "columns": ["Variable", *marked, "Change"],
        "rows": rows,
        "note": f"In brackets how sure a fit is: {'; or '.join(words)}."
        if rows
        else "No variable was selected.",
    }


def _cell(mark: Marked | None) -> str:
    if mark is None:
        return "not in its data"
    said = "yes" if mark.selected else "no"
    if mark.sureness is None or not np.isfinite(mark.sureness):
        return said
    small = 0.0 <= mark.sureness < 0.01
    return f"{said} (<0.01)" if small else f"{said} ({mark.sureness:.2f})"


def _change(variable: str, marked: Mapping[str, Mapping[str, Marked]]) -> str:
    """From the first fit to the others."""
    first, *others = (marks.get(variable, Marked(False)).selected for marks in marked.values())
    if first and all(others):
        return "-"
    if first:
        return "lost" if not any(others) else "lost in some"
    return "gained" if all(others) else "gained in some"


def _facts(
    named: Mapping[str, Any], reports: Mapping[str, Mapping[str, Any]], X: Any, y: Any
) -> dict[str, Any]:
    """How the fits went: whatever their reports say of themselves, and scores where there are rows."""
    told = {name: dict(fact_rows(report)) for name, report in reports.items()}
    for name, fit in named.items():
        told[name].setdefault("Stopped", _in_words(fit.stop_reason_))
        told[name].setdefault("Time", f"{fit._seconds:.2f} s")
    labels = list(dict.fromkeys(label for facts in told.values() for label in facts))
    rows = [[label, *(facts.get(label, "-") for facts in told.values())] for label in labels]
    section = {"title": "How they went", "columns": ["Of the fit", *named], "rows": rows}
    if X is not None:
        scores = [float(fit.score(X, y)) if hasattr(fit, "score") else None for fit in named.values()]
        rows.insert(0, ["Score on the rows given", *map(show, scores)])
        section["note"] = (
            "Score: accuracy of classes, R squared of numbers, share of deviance explained of counts."
        )
    return section


def _in_words(reason: str | list[str]) -> str:
    return reason if isinstance(reason, str) else "; ".join(dict.fromkeys(reason))


def _settings(named: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ, and those of some fits only that are not their defaults."""
    options = {name: fit.get_params(deep=False) for name, fit in named.items()}
    rows = []
    for option in dict.fromkeys(option for values in options.values() for option in values):
        has = [name for name in named if option in options[name]]
        differs = len({repr(options[name][option]) for name in has}) > 1
        usual = all(_is_default(named[name], option, options[name][option]) for name in has)
        if differs or (len(has) < len(named) and not usual):
            rows.append([option, *(repr(options[name][option]) if name in has else "-" for name in named)])
    return {
        "title": "Settings that differ",
        "columns": ["Option", *named],
        "rows": rows,
        "note": _note_on_settings(rows, alike=len({type(fit) for fit in named.values()}) == 1),
    }


def _note_on_settings(rows: list[list[str]], *, alike: bool) -> str:
    if not rows:
        return "All fits have the same settings." if alike else "What they have in common is set alike."
    return "A dash: the estimator has no such option." if any("-" in row for row in rows) else ""


def _is_default(fit: Any, option: str, value: Any) -> bool:
    default = signature(type(fit).__init__).parameters[option].default
    return repr(value) == repr(default)
