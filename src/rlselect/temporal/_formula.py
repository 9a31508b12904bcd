"""The rows of a model: response and covariates, from a formula or from arrays."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Columns, say_comma, unknown_column
from rlselect.temporal._formula_safety import CONTEXT, by_rows, refuse_code, variables_in

Array = NDArray[np.float64]
Places = NDArray[np.intp]
# responses and covariates of rows, given by ascending positions, some of them at a time
Blocks: TypeAlias = Callable[[Places], Iterator[tuple[Array, Array]]]
# squares of larger numbers, or of ones below its inverse, are no numbers any more
_LARGEST = 1e130
# numbers of covariates that are read at a time
_STRETCH = 2**23


@dataclass(frozen=True)
class ModelRows:
    """Complete rows: their positions in the data, responses, and what gives their covariates."""

    rows: Places
    y: Array
    blocks: Blocks = field(repr=False)
    names: list[str]
    terms: dict[str, list[int]]
    factors: dict[str, frozenset[str]]
    response: str
    spec: Any = field(default=None, repr=False)
    text: frozenset[str] = frozenset()

    def only(self, mine: NDArray[np.bool_]) -> "ModelRows":
        """Some of the rows."""
        blocks = partial(_some_of, self.blocks, self.rows, mine)
        return replace(self, rows=self.rows[mine], y=self.y[mine], blocks=blocks)

    def covariates(self) -> Iterator[tuple[slice, Array]]:
        """Covariates (rows, p) of one stretch of `rows` after the other."""
        first = 0
        for _, x in self.blocks(self.rows):
            yield slice(first, first + len(x)), x
            first += len(x)


def model_rows(
    formula: str | None, columns: Columns, y: Any, usable: NDArray[np.bool_], taken: set[str]
) -> ModelRows:
    """Complete rows of the model; `taken` are columns that are no covariates (id, time, ...)."""
    if formula is None:
        return _from_columns(columns, y, usable, taken)
    if y is not None:
        raise ValueError("give either a formula or y, not both; the formula already names the response")
    return _from_formula(formula, columns, usable)


def _require_rows(n_rows: int) -> None:
    if n_rows == 0:
        raise ValueError(
            "no row is available: every row has a missing value, a weight of 0 or is marked unavailable"
        )


def _checked(part: ModelRows) -> ModelRows:
    """Refuse infinities, and leave out rows with a missing value, or where a transformation gave one."""
    names = [part.response, *part.names]
    infinite, largest = np.zeros(len(names), dtype=np.intp), np.zeros(len(names))
    good, response = [], []
    whole: tuple[Array, Array] | None = None
    for number, (y, x) in enumerate(part.blocks(part.rows)):
        kept = ~(np.isnan(y) | np.isnan(x).any(axis=1))
        good.append(kept)
        y, x = (y, x) if kept.all() else (y[kept], x[kept])
        response.append(y)
        for k, values in enumerate((y, *x.T)):
            infinite[k] += np.isinf(values).sum()
            largest[k] = max(largest[k], np.abs(values).max(initial=0.0))
        whole = (y, x) if number == 0 else None
    for name, count, most in zip(names, infinite, largest, strict=True):
        if count:
            raise ValueError(
                f"{name!r} is infinite in {count} row(s); make them missing (those rows then count as "
                "unavailable) or transform the column"
            )
        if most > _LARGEST or 0.0 < most < 1.0 / _LARGEST:
            raise ValueError(f"{name!r} is as large as {most:.3g}; use another unit")
    rows = part.rows[np.concatenate(good)]
    _require_rows(len(rows))
    # what came in one block need not be worked out again
    blocks = part.blocks if whole is None else partial(_again, whole)
    return replace(part, rows=rows, y=np.concatenate(response), blocks=blocks)


def _again(block: tuple[Array, Array], rows: Places) -> Iterator[tuple[Array, Array]]:
    yield block


def _some_of(
    blocks: Blocks, every: Places, mine: NDArray[np.bool_], rows: Places
) -> Iterator[tuple[Array, Array]]:
    """Of blocks of every row those of some."""
    first = 0
    for y, x in blocks(every):
        here = mine[first : first + len(y)]
        yield y[here], x[here]
        first += len(y)


def _of_stretch(rows: Places, first: int, size: int) -> Places:
    """Those of the ascending rows that lie in a stretch, counted from its first."""
    return rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + size)] - first


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError:
        raise ImportError(
            'a formula needs the package formulaic: pip install "rlselect[temporal]", or give arrays: '
            "fit(X, y, id=..., time=...)"
        ) from None
    return formulaic


def complete_rows(
    columns: Columns, variables: list[str], usable: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], frozenset[str]]:
    """Usable rows in which no variable is missing, and the variables that hold text or categories."""
    text = set()
    for name in variables:
        values, labels = columns.covariate(name, "variable of the formula")
        usable = usable & ~np.isnan(values)
        if labels:
            text.add(name)
    return np.flatnonzero(usable), frozenset(text)


def _from_formula(formula: str, columns: Columns, usable: NDArray[np.bool_]) -> ModelRows:
    if not columns.has_names:
        raise ValueError("a formula needs named columns: give a data frame, or arrays without a formula")
    lib = _formulaic()
    refuse_code(formula, columns.names)
    try:
        parsed = lib.Formula(formula)
    except lib.errors.FormulaSyntaxError as error:
        reason = str(error).splitlines()[0]
        odd = [name for name in columns.names if not name.isidentifier() and name in formula]
        hint = f" Write a name that is no single word between backticks: `{odd[0]}`." if odd else ""
        raise ValueError(f"formula {formula!r} cannot be read: {reason}{hint}") from error
    if not hasattr(parsed, "lhs"):
        raise ValueError(f"formula {formula!r} has no response; write it as 'response ~ covariates'")
    variables = variables_of([*parsed.lhs, *parsed.rhs], columns)
    rows, text = complete_rows(columns, variables, usable)
    _require_rows(len(rows))
    factors = [factor for term in (*parsed.lhs, *parsed.rhs) for factor in term.factors]
    calls = [factor.expr for factor in factors if factor.eval_method.value == "python"]
    some = _STRETCH if by_rows(calls) else len(variables) * (columns.n_rows or 0)
    kinds = {}
    if some < len(variables) * (columns.n_rows or 0):
        kinds = {name: kind for name in variables if (kind := _category(columns, name, rows)) is not None}
    first = next(_frames(columns, variables, some, kinds, rows))
    try:
        parts = parsed.get_model_matrix(first, context=CONTEXT, na_action="ignore", output="numpy")
    except lib.errors.FormulaicError as error:
        raise ValueError(f"formula {formula!r} cannot be evaluated: {error}") from error
    sides = (np.asarray(parts.lhs, dtype=float), np.asarray(parts.rhs, dtype=float))
    if sides[0].shape[1] != 1:
        made = parts.lhs.model_spec.column_names
        level = made[0].partition("[")[2].rstrip("]")
        raise ValueError(
            f"the response of {formula!r} has {len(made)} columns "
            f"({', '.join(made[:4])}{', ...' if len(made) > 4 else ''}); "
            f"code it as one column of numbers, a two-valued response as 0 and 1{say_comma(level)}"
        )
    spec = parts.rhs.model_spec
    names = list(spec.column_names)
    if not names:
        raise ValueError(f"formula {formula!r} has no covariate and no intercept; nothing can be estimated")
    blocks: Blocks = partial(_again, (sides[0][:, 0], sides[1]))
    if len(first) < len(rows):
        blocks = partial(_coded_blocks, parts.model_spec, columns, variables, some, kinds)
    terms = {term_name(t): list(where) for t, where in spec.term_indices.items() if where}
    return _checked(
        ModelRows(
            rows,
            np.zeros(0),
            blocks,
            names,
            terms,
            {
                term_name(t): frozenset(str(f) for f in t.factors) - {"1"}
                for t, where in spec.term_indices.items()
                if where
            },
            parts.lhs.model_spec.column_names[0],
            spec,
            text,
        )
    )


def _category(columns: Columns, name: str, rows: Places) -> Any:
    """The levels of a variable that is no number, as the kind of a pandas column; else None."""
    values = columns.to_pandas([name], rows)[name]
    return None if values.dtype.kind in "iuf" else values.astype("category").dtype


def _frames(
    columns: Columns, variables: list[str], numbers: int, kinds: dict[str, Any], rows: Places
) -> Iterator[Any]:
    """The variables of some rows, a stretch of them at a time, with the levels of all of them."""
    for first, stretch in columns.stretches(variables, numbers):
        mine = _of_stretch(rows, first, stretch.n_rows or 0)
        if len(mine):
            frame = stretch.to_pandas(variables, mine)
            yield frame.astype(kinds) if kinds else frame


def _coded_blocks(
    specs: Any, columns: Columns, variables: list[str], numbers: int, kinds: dict[str, Any], rows: Places
) -> Iterator[tuple[Array, Array]]:
    """Both sides of a formula of which it is known how they are coded."""
    for frame in _frames(columns, variables, numbers, kinds, rows):
        parts = specs.get_model_matrix(frame, context=CONTEXT, na_action="ignore", output="numpy")
        yield np.asarray(parts.lhs, dtype=float)[:, 0], np.asarray(parts.rhs, dtype=float)


def variables_of(terms: Any, columns: Columns) -> list[str]:
    """Columns that the terms of a formula read; whatever else they would evaluate is refused."""
    wanted = set()
    for factor in {factor for term in terms for factor in term.factors}:
        if factor.eval_method.value == "python":
            wanted |= variables_in(factor.expr, columns.names)
        elif factor.eval_method.value == "lookup":
            wanted.add(factor.expr)
    for name in sorted(wanted.difference(columns.names)):
        raise unknown_column("variable of the formula", name, columns.names, columns.called)
    return sorted(wanted)


def term_text(term: Any) -> str:
    """A term as a formula has it: names that are more than a word in backticks."""
    factors = (
        f"`{f.expr}`" if f.eval_method.value == "lookup" and not f.expr.isidentifier() else f.expr
        for f in term.factors
    )
    return ":".join(factors)


def term_name(term: Any) -> str:
    return "Intercept" if str(term) == "1" else str(term)


def _from_columns(columns: Columns, y: Any, usable: NDArray[np.bool_], taken: set[str]) -> ModelRows:
    """Without a formula: an intercept and all columns that have no role."""
    if y is None:
        raise ValueError("without a formula the response is needed: fit(X, y, id=..., time=...)")
    response = y if isinstance(y, str) else "y"
    target = columns.numbers(y, "y")
    names = [name for name in columns.names if name not in taken | {response}]
    rows = np.flatnonzero(usable & ~np.isnan(target))
    _require_rows(len(rows))
    blocks = partial(_plain_blocks, columns, target, names)
    names = ["Intercept", *names]
    terms = {name: [k] for k, name in enumerate(names)}
    factors = {name: frozenset({name} if k else ()) for k, name in enumerate(names)}
    return _checked(ModelRows(rows, np.zeros(0), blocks, names, terms, factors, response))


def _plain_blocks(
    columns: Columns, target: Array, names: list[str], rows: Places
) -> Iterator[tuple[Array, Array]]:
    """Responses, and an intercept beside the columns as they are."""
    for first, stretch in columns.stretches(names, _STRETCH):
        mine = _of_stretch(rows, first, stretch.n_rows or 0)
        try:
            x = stretch.matrix(names, "covariate")[mine]
        except TypeError as error:
            raise TypeError(f"{error} Or give a formula, which codes categories.") from None
        yield target[first + mine], np.column_stack([np.ones(len(mine)), x])
