"""How numbers are written in text: marks before decimals and between thousands, and units beside them."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["NumberMarks", "find_marks", "say_comma"]

# texts that are tried, and the share of them that have to be numbers
_TRIED, _MOSTLY = 1000, 0.95
# spaces of Excel do not break, and those of French are narrow
_SPACE = "[ \u00a0\u202f]"
# a number with up to four letters or signs before or after it
_BESIDE = re.compile(
    rf"[-+]?(?P<before>[^\d\s.,'\u2019+-]{{0,4}}{_SPACE}?)[-+]?\d(?:[\d.,'\u2019]|{_SPACE}(?=\d))*"
    rf"(?P<after>{_SPACE}?[^\d\s.,'\u2019+-]{{0,4}})"
)


class NumberMarks(NamedTuple):
    """Marks of numbers such as 1.234,5 and € 7.

    Attributes
    ----------
    decimal : str
        What stands before decimals, a point or a comma.
    thousands : str
        What stands between groups of three digits: nothing, a point, a comma, an apostrophe, or a space of
        any width.
    units : tuple of str
        What may stand before or after numbers, such as % or €; those of one column share a unit.
    """

    decimal: str = "."
    thousands: str = ""
    units: tuple[str, ...] = ()

    def read(self, text: str) -> float | None:
        """The number that a text means, None where it is none."""
        text = text.strip()
        for pattern, kept in map(_around, self.units):
            text = re.sub(pattern, kept, text, count=1)
        if self.thousands and re.fullmatch(self._grouped, text):
            text = re.sub(self._between, "", text)
        if self.decimal != ".":
            # a point has no place in it
            text = text.replace(".", "?").replace(self.decimal, ".")
        try:
            return float(text)
        except ValueError:
            return None

    def read_column(self, column: Any) -> Any:
        """An Arrow column of text as numbers, None where it holds a cell that is none, or a second unit."""
        column = pc.utf8_trim_whitespace(column)
        for pattern, kept in map(_around, self.units):
            bare = pc.replace_substring_regex(column, pattern, kept)
            numbers = self._replace(units=()).read_column(bare)
            if numbers is not None:
                return numbers
        if self.thousands:
            grouped = pc.match_substring_regex(column, f"^(?:{self._grouped})$")
            bare = pc.replace_substring_regex(column, self._between, "")
            column = pc.if_else(grouped, bare, column)
        if self.decimal != ".":
            column = pc.replace_substring(pc.replace_substring(column, ".", "?"), self.decimal, ".")
        try:
            return pc.cast(column, pa.float64())
        except pa.ArrowInvalid:
            return None

    def marks_in(self, text: str) -> bool:
        """Whether a text is a number that is not one without these marks."""
        fewer = [self._replace(decimal="."), self._replace(thousands=""), self._replace(units=())]
        return self.read(text) is not None and all(m.read(text) is None for m in fewer if m != self)

    @property
    def in_text(self) -> bool:
        """Whether columns of such numbers are read as text first: their marks are more than a comma."""
        return bool(self.thousands or self.units)

    @property
    def flags(self) -> list[str]:
        """How the command line says it."""
        between = {" ": "space"}.get(self.thousands, self.thousands)
        flags = ["--decimal", self.decimal] if self.decimal != "." else []
        flags += ["--thousands", between] if between else []
        return flags + [word for unit in self.units for word in ("--unit", unit)]

    @property
    def options(self) -> str:
        """How pandas is told."""
        said = [f'decimal="{self.decimal}"'] if self.decimal != "." else []
        said += [f'thousands="{self.thousands}"'] if self.thousands else []
        converters = f"converters that take {' and '.join(map(repr, self.units))} off"
        return ", ".join([*said, converters] if self.units else said)

    @property
    def _between(self) -> str:
        return {" ": _SPACE, "'": "['\u2019]"}.get(self.thousands, re.escape(self.thousands))

    @property
    def _grouped(self) -> str:
        return rf"[-+]?[1-9]\d{{0,2}}(?:{self._between}\d{{3}})+(?:{re.escape(self.decimal)}\d+)?"


@cache
def _around(unit: str) -> tuple[str, str]:
    """What a number with a unit looks like, and what to keep of it."""
    name = re.escape(unit)
    before = rf"^([-+]?)(?:{name}){_SPACE}?([-+]?\d.*)$"
    after = rf"^([-+]?\d.*?){_SPACE}?(?:{name})$"
    return f"{before}|{after}", r"\1\2\3"


_KNOWN = tuple(NumberMarks(*marks) for marks in (".,", (",", ""), ",.", ".'", ", ", ". "))


def find_marks(texts: Sequence[str], units: Sequence[str] = ()) -> NumberMarks | None:
    """Marks by which nearly all texts are numbers, two or more of them only by these; None without any.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    units : sequence of str
        What is known to stand beside numbers; without, the unit that the texts share.

    Examples
    --------
    >>> find_marks(["1.234,5", "17"]), find_marks(["1.234,5", "0,5"]), find_marks(["red", "1,5"])
    (None, NumberMarks(decimal=',', thousands='.', units=()), None)
    >>> find_marks(["7 %", "12.5 %"])
    NumberMarks(decimal='.', thousands='', units=('%',))
    """
    tried = texts[:_TRIED]
    units = tuple(units) or _find_unit(tried)
    with_units = [NumberMarks(units=units), *(m._replace(units=units) for m in _KNOWN)] if units else []
    for marks in (*_KNOWN, *with_units):
        read = [text for text in tried if marks.read(text) is not None]
        if len(read) >= _MOSTLY * len(tried) and sum(NumberMarks().read(text) is None for text in read) > 1:
            return marks
    return None


def _find_unit(texts: Sequence[str]) -> tuple[str, ...]:
    """The one unit beside most of the numbers; with two, 5 kg and 300 g, they are not comparable."""
    found: dict[str, int] = {}
    for match in map(_BESIDE.fullmatch, (text.strip() for text in texts)):
        sides = match.groups() if match else ()
        for unit in {side.strip() for k, side in enumerate(sides) if _is_unit(side, before=k == 0)}:
            found[unit] = found.get(unit, 0) + 1
    return tuple(found) if len(found) == 1 and sum(found.values()) > len(texts) / 2 else ()


def _is_unit(side: str, before: bool) -> bool:
    """Whether what stands beside a number is a sign (%, €) or a word apart (km, USD); s17 is a name."""
    name = side.strip()
    if any(sign in "%‰" or unicodedata.category(sign) == "Sc" for sign in name):
        return True
    # before a number only a currency: "Level 3" is a name
    return side != name and name.isalpha() and (not before or (name.isupper() and len(name) == 3))


def say_comma(text: Any) -> str:
    """What to do about a number with marks that are not read, for the end of a message about text."""
    units = _find_unit([str(text)])
    known = (
        [*_KNOWN, NumberMarks(units=units), *(m._replace(units=units) for m in _KNOWN)] if units else _KNOWN
    )
    fit = [marks for marks in known if marks.marks_in(str(text))]
    if not fit:
        return ""
    flags = " or ".join(" ".join(marks.flags) for marks in fit[:2])
    options = " or ".join(marks.options for marks in fit[:2])
    return f", or say how the numbers of its file are written ({flags}; {options} of pandas)"
