"""Words for the sentence or two that a report opens with."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["SELECTION", "answer_selection", "name_some", "name_target", "spell", "stopped_early"]

# what a page about a selection is called
SELECTION = "Which variables matter"
_ENDED = "The search was ended before it was done"
_NAMES = 6
_TARGET = "for the target"


def name_some(names: Sequence[object], most: int = _NAMES) -> str:
    """Names in a row, and how many more there are.

    Parameters
    ----------
    names : sequence
        The most important first.
    most : int, default=6
        Names that are written out.

    Returns
    -------
    str

    Examples
    --------
    >>> name_some(["age", "city", "sex"]), name_some(["age", "city", "sex"], 1)
    ('age, city and sex', 'age and 2 more')
    """
    shown = [str(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def spell(name: object) -> str:
    """A name for a sentence: one with a comma in quotes, lest it read as two, and one of no letters, too.

    Examples
    --------
    >>> spell("age"), spell("pressure, mean of three"), spell("")
    ('age', "'pressure, mean of three'", "''")
    """
    return f"'{name}'" if "," in str(name) or not str(name).strip() else str(name)


def stopped_early(*reasons: str) -> list[str]:
    """A sentence, if a search was ended from outside.

    Parameters
    ----------
    *reasons : str
        As ``stop_reason_``.

    Returns
    -------
    list of str
        One, or none.
    """
    for word in ("time budget", "interrupted", "callback"):
        if any(word in reason for reason in reasons):
            return [f"{_ENDED} ({word}): with more time the answer may differ."]
    return []


def answer_selection(n_features: int, kinds: Mapping[str, Sequence[object]], *further: str) -> str:
    """How many were selected, and which.

    Parameters
    ----------
    n_features : int
        Number of those that there are.
    kinds : mapping of str to sequences
        The selected by how sure they are, the surest first, such as ``{"near certain": ["age"]}``; ``""`` is
        for those of which nothing is known but that they are selected.
    *further : str
        Sentences that follow.

    Returns
    -------
    str

    Examples
    --------
    >>> print(answer_selection(100, {"near certain": ["age", "sex"], "likely": ["city"]}))
    3 of 100 variables matter for the target: 2 are near certain (age and sex), 1 is likely (city).
    """
    chosen = {kind: list(map(spell, names)) for kind, names in kinds.items() if len(names)}
    total = sum(map(len, chosen.values()))
    if not total:
        # a search that was ended has not seen what the data show
        ended = any(sentence.startswith(_ENDED) for sentence in further)
        shown = "" if ended else ": the data do not show that any one matters"
        return " ".join([f"None of the {n_features:,} variables was selected{shown}.", *further])
    verb = "matters" if total == 1 else "matter"
    nouns = "variable" if n_features == 1 else "variables"
    if list(chosen) == [""]:
        parts = [name_some(chosen[""])]
    elif len(chosen) == 1:
        every = {1: "which is", 2: "both"}.get(total, "all")
        parts = [f"{name_some(names)}, {every} {kind}" for kind, names in chosen.items()]
    else:
        parts = [
            f"{len(names):,} {'is' if len(names) == 1 else 'are'} {kind} ({name_some(names)})"
            for kind, names in chosen.items()
        ]
    told = f"{total:,} of {n_features:,} {nouns} {verb} {_TARGET}: {', '.join(parts)}."
    return " ".join([told, *further])


def name_target(report: Mapping[str, Any], target: str) -> dict[str, str]:
    """Title and opening sentence of a report with the name of the target, for who knows it.

    Parameters
    ----------
    report : mapping
        With ``title`` and ``answer``, which may be that of `answer_selection`.
    target : str
        The name, or names in a row.

    Returns
    -------
    dict
        Both.

    Examples
    --------
    >>> name_target({"title": SELECTION, "answer": answer_selection(9, {"": ["age"]})}, "price")
    {'title': 'Which variables matter for price', 'answer': '1 of 9 variables matters for price: age.'}
    """
    title, answer = report["title"], report["answer"]
    # a column of that name says no more than the word
    if target != "target":
        title = f"{title} for {target}" if title == SELECTION else title
        answer = answer.replace(f"{_TARGET}:", f"for {target}:", 1)
    return {"title": title, "answer": answer}
