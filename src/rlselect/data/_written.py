"""How numbers are written in text: the mark before decimals, and the one between thousands."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["NumberMarks", "find_marks", "say_comma"]

# texts that are tried, and the share of them that have to be numbers
_TRIED, _MOSTLY = 1000, 0.95


class NumberMarks(NamedTuple):
    """Marks of numbers such as 1.234,5.

    Attributes
    ----------
    decimal : str
        What stands before decimals, a point or a comma.
    thousands : str
        What stands between groups of three digits: nothing, a point, a comma, an apostrophe, or a space of
        any width.
    """

    decimal: str = "."
    thousands: str = ""

    def read(self, text: str) -> float | None:
        """The number that a text means, None where it is none."""
        text = text.strip()
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
        """An Arrow column of text as numbers, None where it holds a cell that is none."""
        column = pc.utf8_trim_whitespace(column)
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
        fewer = (NumberMarks(), NumberMarks(self.decimal), NumberMarks(thousands=self.thousands))
        return self.read(text) is not None and all(m.read(text) is None for m in fewer if m != self)

    @property
    def flags(self) -> list[str]:
        """How the command line says it."""
        between = {" ": "space"}.get(self.thousands, self.thousands)
        flags = ["--decimal", self.decimal] if self.decimal != "." else []
        return [*flags, "--thousands", between] if between else flags

    @property
    def options(self) -> str:
        """How readers of pandas say it."""
        said = [f'decimal="{self.decimal}"'] if self.decimal != "." else []
        return ", ".join([*said, f'thousands="{self.thousands}"'] if self.thousands else said)

    @property
    def _between(self) -> str:
        return _pattern(self.thousands)

    @property
    def _grouped(self) -> str:
        return rf"[-+]?[1-9]\d{{0,2}}(?:{self._between}\d{{3}})+(?:{re.escape(self.decimal)}\d+)?"


@cache
def _pattern(mark: str) -> str:
    # spaces of Excel do not break, and those of French are narrow
    return {" ": "[ \u00a0\u202f]", "'": "['\u2019]"}.get(mark, re.escape(mark))


_KNOWN = tuple(NumberMarks(*marks) for marks in (".,", (",", ""), ",.", ".'", ", ", ". "))


def find_marks(texts: Sequence[str]) -> NumberMarks | None:
    """Marks by which nearly all texts are numbers, two or more of them only by these; None without any.

    Examples
    --------
    >>> find_marks(["1.234,5", "17"]), find_marks(["1.234,5", "0,5"]), find_marks(["red", "1,5"])
    (None, NumberMarks(decimal=',', thousands='.'), None)
    """
    tried = texts[:_TRIED]
    for marks in _KNOWN:
        read = [text for text in tried if marks.read(text) is not None]
        if len(read) >= _MOSTLY * len(tried) and sum(NumberMarks().read(text) is None for text in read) > 1:
            return marks
    return None


def say_comma(text: Any) -> str:
    """What to do about a number with marks that are not read, for the end of a message about text."""
    fit = [marks for marks in _KNOWN if marks.marks_in(str(text))]
    if not fit:
        return ""
    flags = " or ".join(" ".join(marks.flags) for marks in fit[:2])
    options = " or ".join(marks.options for marks in fit[:2])
    return f", or say how the numbers of its file are written ({flags}; {options} of pandas)"
