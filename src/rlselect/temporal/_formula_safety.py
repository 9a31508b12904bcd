"""What a formula may say. The formula library evaluates Python: it sees nothing but what is listed here."""

import ast
import keyword
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

# functions, and the arguments that may be given by name
_SPLINE = frozenset({"df", "knots", "lower_bound", "upper_bound", "extrapolation"})
_FUNCTIONS: dict[str, frozenset[str]] = {
    "log": frozenset(),
    "log2": frozenset(),
    "log10": frozenset(),
    "log1p": frozenset(),
    "exp": frozenset(),
    "sqrt": frozenset(),
    "abs": frozenset(),
    "I": frozenset(),
    "C": frozenset({"contrasts", "levels"}),
    "Treatment": frozenset({"reference"}),
    "Sum": frozenset(),
    "Helmert": frozenset(),
    "Diff": frozenset(),
    "Poly": frozenset(),
    "center": frozenset(),
    "scale": frozenset({"center", "scale", "ddof"}),
    "poly": frozenset({"degree", "raw"}),
    "bs": _SPLINE | {"degree", "include_intercept"},
    "cr": _SPLINE,
    "cs": _SPLINE,
    "cc": _SPLINE,
}
# those that look at one row at a time: others learn from all rows
_BY_ROWS = ("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "I")
# those that the formula library does not bring
CONTEXT: dict[str, Any] = {"sqrt": np.sqrt, "abs": np.abs, "log1p": np.log1p}
ALLOWED = (
    "allowed are names of columns (in backticks where they hold other signs than letters, digits and _), "
    "+ - : * / ** ( ) 0 1, and the functions " + ", ".join(_FUNCTIONS)
)
_TOKEN = re.compile(r"\s+|`(?P<quoted>[^`\\]+)`|(?P<name>[^\W\d][\w.]*)|(?P<number>\d+)|\*\*|[-+:*/^~()]")
# inside a call: what can be part of numbers, names, plain text and lists
_INSIDE = re.compile(r"""[\w\s.,=+\-*/()'"\[\]]*""")
_QUOTED = re.compile(r"`([^`]*)`")
# text is copied into code by the formula library: no quotes, no brackets, no backslashes
_TEXT = re.compile(r"[\w .,+/-]*")
_SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
# a power makes a term of every choice of its variables
_MOST_POWER = 9
_DEEPEST = 20


def refuse_code(formula: str, names: Collection[str]) -> None:
    """Refuse a formula that says anything else than what is allowed, before anyone else reads it.

    Parameters
    ----------
    formula : str
        As given.
    names : collection of str
        Columns of the data.
    """
    place, before, based, depth = 0, "", "", 0
    while place < len(formula):
        found = _TOKEN.match(formula, place)
        if found is None:
            _refuse(formula, repr(formula[place]))
        text, place = found.group(), found.end()
        if found["name"] is not None and formula[place : place + 1] == "(":
            end = _end_of_call(formula, place)
            text, place = text + formula[place:end], end
            variables_in(text, names, formula)
            if formula[place : place + 1] == "(":
                _refuse(formula, "a call of what a call returns")
        elif found["name"] is not None and "." in text and text not in names:
            _refuse(formula, f"{text!r}, which is no column")
        elif found["number"] is not None:
            most = _MOST_POWER if before in ("**", "^") else 1
            # int() of thousands of digits would be an error of its own
            if len(text) > 1 or int(text) > most:
                _refuse(formula, f"the number {text[:20]}")
            if before in ("**", "^") and based not in (")", ""):
                _refuse_power(formula, based, text)
        depth += (text == "(") - (text == ")")
        if depth > _DEEPEST:
            _refuse(formula, f"more than {_DEEPEST} brackets inside each other")
        if not text.isspace():
            based, before = before, text


def _end_of_call(formula: str, start: int) -> int:
    """Where the bracket closes that opens at `start`."""
    depth, quoted = 0, False
    for place in range(start, len(formula)):
        sign = formula[place]
        quoted ^= sign == "`"
        if not quoted:
            depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place + 1
    return _refuse(formula, "a bracket that is not closed")


def variables_in(call: str, names: Collection[str], formula: str | None = None) -> set[str]:
    """Columns that a call such as ``log(x)`` reads; a call that is not allowed is refused.

    Parameters
    ----------
    call : str
        A factor of a formula.
    names : collection of str
        Columns of the data.
    formula : str, optional
        What it is part of, for messages.

    Returns
    -------
    set of str
    """
    formula = call if formula is None else formula
    quoted: dict[str, str] = {}

    def replaced(found: re.Match) -> str:
        name = found[1]
        if not name or keyword.iskeyword(name) or re.search(r"[\"'\\{}]", name):
            _refuse(formula, f"the name {name!r} inside a function")
        quoted[f"column{len(quoted)}_in_backticks"] = name
        return f" column{len(quoted) - 1}_in_backticks "

    plain = _QUOTED.sub(replaced, call)
    bad = _INSIDE.match(plain)
    if bad is None or bad.end() < len(plain):
        _refuse(formula, repr(plain[0 if bad is None else bad.end()]))
    try:
        tree = ast.parse(plain.strip(), mode="eval").body
        found = set(_walk(tree, formula, names))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ForbiddenFormula):
            raise
        _refuse(formula, f"{call[:60]!r}, which cannot be read")
    if not isinstance(tree, ast.Call):
        _refuse(formula, repr(call[:60]))
    return {quoted.get(name, name) for name in found}


def by_rows(calls: Iterable[str]) -> bool:
    """Whether calls such as ``log(x)`` give the same for a row whatever the other rows are."""
    return all(name in _BY_ROWS for call in calls for name in re.findall(r"(\w+)\s*\(", call))


class ForbiddenFormula(ValueError):
    """A formula that says more than formulas may."""


def _refuse_power(formula: str, column: str, power: str) -> NoReturn:
    """A power makes products of the terms in brackets; of one column it would make that very column."""
    shown = formula if len(formula) <= 200 else formula[:200] + "..."
    raise ForbiddenFormula(
        f"formula {shown!r} holds {column}**{power}, which in a formula is {column} itself: write "
        f"I({column}**{power}) for its power, or (a + b)**{power} for products of columns"
    )


def _refuse(formula: str, what: str) -> NoReturn:
    shown = formula if len(formula) <= 200 else formula[:200] + "..."
    raise ForbiddenFormula(f"formula {shown!r} holds {what}; {ALLOWED}")


def _walk(node: ast.AST, formula: str, names: Collection[str]) -> Iterator[str]:
    """Check an expression part by part; yields the names of columns in it."""
    if isinstance(node, ast.Name):
        if node.id.startswith("__"):
            _refuse(formula, repr(node.id))
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        yield from _walk(node.operand, formula, names)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _SIGNS):
        yield from _walk(node.left, formula, names)
        yield from _walk(node.right, formula, names)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base = list(_walk(node.left, formula, names))
        # a power of numbers alone could take all memory
        if not base or not _is_small(node.right):
            _refuse(formula, "a power other than of a column to a number up to 100")
        yield from base
    elif isinstance(node, ast.Call):
        yield from _walk_call(node, formula, names)
    else:
        _refuse(formula, repr(ast.unparse(node)[:60]))


def _walk_call(node: ast.Call, formula: str, names: Collection[str]) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)[:60]
    if name not in _FUNCTIONS or not isinstance(node.func, ast.Name):
        _refuse(formula, f"a call of {name!r}")
    if name in names:
        raise ForbiddenFormula(
            f"formula {formula!r} calls {name!r}, which is also a column of the data; rename the column"
        )
    for argument in node.keywords:
        if argument.arg not in _FUNCTIONS[name]:
            known = ", ".join(sorted(_FUNCTIONS[name])) or "none"
            given = "**" if argument.arg is None else repr(argument.arg)
            _refuse(formula, f"the argument {given} of {name} (by name it takes {known})")
    for value in (*node.args, *(argument.value for argument in node.keywords)):
        if not _is_plain(value, formula):
            yield from _walk(value, formula, names)


def _is_plain(node: ast.AST, formula: str) -> bool:
    """Whether an argument is text, or a list of texts and numbers; text that could be code is refused."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    if not isinstance(node, ast.List) and not _is_text(node):
        return False
    for part in parts:
        if _is_text(part) and not _TEXT.fullmatch(part.value):  # type: ignore[attr-defined]
            _refuse(formula, f"the text {part.value!r}")  # type: ignore[attr-defined]
        if not _is_text(part) and list(_walk(part, formula, ())):
            _refuse(formula, "a list of other things than texts and numbers")
    return True


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_small(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value <= 100
