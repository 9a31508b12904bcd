"""Long names in little room."""

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["short_name", "short_names"]

_LETTERS = 28


def short_name(name: Any, letters: int = _LETTERS) -> str:
    """A name of at most so many letters: its beginning and its end, which often tells it from others.

    Parameters
    ----------
    name : object
    letters : int, default=28

    Returns
    -------
    str
        For Matplotlib: a dollar does not begin a formula.

    Examples
    --------
    >>> short_name("share of households without a car, 1990", 20)
    'share of ho…ar, 1990'
    """
    return _literal(_shortened(_in_one_line(name), letters))


def short_names(names: Iterable[Any], letters: int = _LETTERS) -> list[str]:
    """Names of at most so many letters, and no two of them alike where the whole names are not.

    Parameters
    ----------
    names : iterable
    letters : int, default=28

    Returns
    -------
    list of str
        For Matplotlib, as from `short_name`.

    Examples
    --------
    >>> short_names([f"cars in household {k} of the census of 1990" for k in (1, 2)], 20)
    ['cars i…ld 1 of the …', 'cars i…ld 2 of the …']
    """
    whole = [_in_one_line(name) for name in names]
    short = [_shortened(name, letters) for name in whole]
    for places in _alike(short, whole):
        # what they share from the start on says nothing; three letters of it lead to where they differ
        head = letters // 3
        start = max(head, _n_shared([whole[k] for k in places]) - 3)
        for k in places:
            text = f"{whole[k][:head]}…{whole[k][start:]}"
            short[k] = text if len(text) <= letters else f"{text[: letters - 1]}…"
    for places in _alike(short, whole):
        for number, k in enumerate(places, start=1):
            short[k] = f"{short[k]} [{number}]"
    return [_literal(text) for text in short]


def _in_one_line(name: Any) -> str:
    return " ".join(str(name).split())


def _literal(text: str) -> str:
    return text.replace("$", r"\$")


def _shortened(text: str, letters: int) -> str:
    end = letters * 2 // 5
    return text if len(text) <= letters else f"{text[: letters - end - 1]}…{text[-end:]}"


def _alike(short: Sequence[str], whole: Sequence[str]) -> list[list[int]]:
    """Places of names that were different and are not any more."""
    places: dict[str, list[int]] = {}
    for k, text in enumerate(short):
        places.setdefault(text, []).append(k)
    return [some for some in places.values() if len({whole[k] for k in some}) > 1]


def _n_shared(names: Sequence[str]) -> int:
    """How many letters all names begin with."""
    for k, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            return k
    return min(map(len, names))
