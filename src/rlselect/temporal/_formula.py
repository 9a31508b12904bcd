"""The rows of a model: response and covariates, from a formula or from arrays."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Columns, unknown_column
from rlselect.temporal._formula_safety import CONTEXT, refuse_code, variables_in

Array = NDArray[np.float64]
# squares of larger numbers, or of ones below its inverse, are no numbers any more
_LARGEST = 1e130


@dataclass(frozen=True)
class ModelRows:
    """Response and covariates of the complete rows; `rows` are their positions in the data."""

    rows: NDArray[np.intp]
    y: Array
    x: Array
    names: list[str]
    terms: dict[str, list[int]]
    factors: dict[str, frozenset[str]]
    response: str
    spec: Any = field(default=None, repr=False)
    text: frozenset[str] = frozenset()


def model_rows(
    formula: str | None, columns: Columns, y: Any, usable: NDArray[np.bool_], taken: set[str]
) -> ModelRows:
    """Complete rows of the model; `taken` are columns that are no covariates (id, time, ...)."""
    if formula is None:
        part = _from_columns(columns, y, usable, taken)
    elif y is not None:
        raise ValueError("give either a formula or y, not both; the formula already names the response")
    else:
        part = _from_formula(formula, columns, usable)
    if len(part.rows) == 0:
        raise ValueError(
            "no row is available: every row has a missing value, a weight of 0 or is marked unavailable"
        )
    return _finite_rows(part)


def _finite_rows(part: ModelRows) -> ModelRows:
    """Refuse infinities, and leave out rows where a transformation gave a missing value."""
    for name, column in [(part.response, part.y), *zip(part.names, part.x.T, strict=True)]:
        count = int(np.isinf(column).sum())
        if count:
            raise ValueError(
                f"{name!r} is infinite in {count} row(s); make them missing (those rows then count as "
                "unavailable) or transform the column"
            )
        largest = np.abs(column).max(initial=0.0, where=~np.isnan(column))
        if largest > _LARGEST or 0.0 < largest < 1.0 / _LARGEST:
            raise ValueError(f"{name!r} is as large as {largest:.3g}; use another unit")
    good = ~(np.isnan(part.y) | np.isnan(part.x).any(axis=1))
    if good.all():
        return part
    return replace(part, rows=part.rows[good], y=part.y[good], x=part.x[good])


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
        raise ValueError(f"formula {formula!r} cannot be read: {reason}") from error
    if not hasattr(parsed, "lhs"):
        raise ValueError(f"formula {formula!r} has no response; write it as 'response ~ covariates'")
    variables = variables_of([*parsed.lhs, *parsed.rhs], columns)
    rows, text = complete_rows(columns, variables, usable)
    if len(rows) == 0:
        empty = np.zeros((0, 0))
        return ModelRows(rows, np.zeros(0), empty, [], {}, {}, "")
    try:
        parts = parsed.get_model_matrix(
            columns.to_pandas(variables, rows), context=CONTEXT, na_action="ignore", output="numpy"
        )
    except lib.errors.FormulaicError as error:
        raise ValueError(f"formula {formula!r} cannot be evaluated: {error}") from error
    left, right = np.asarray(parts.lhs, dtype=float), np.asarray(parts.rhs, dtype=float)
    if left.shape[1] != 1:
        raise ValueError(
            f"the response of {formula!r} has {left.shape[1]} columns "
            f"({', '.join(parts.lhs.model_spec.column_names)}); "
            "code it as one column of numbers, a two-valued response as 0 and 1"
        )
    spec = parts.rhs.model_spec
    names = list(spec.column_names)
    if not names:
        raise ValueError(f"formula {formula!r} has no covariate and no intercept; nothing can be estimated")
    terms = {term_name(t): list(where) for t, where in spec.term_indices.items() if where}
    factors = {
        term_name(t): frozenset(str(f) for f in t.factors) - {"1"}
        for t, where in spec.term_indices.items()
        if where
    }
    return ModelRows(
        rows, left[:, 0], right, names, terms, factors, parts.lhs.model_spec.column_names[0], spec, text
    )


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
    try:
        x = columns.matrix(names, "covariate")
    except TypeError as error:
        raise TypeError(f"{error} Or give a formula, which codes categories.") from None
    rows = np.flatnonzero(usable & ~(np.isnan(target) | np.isnan(x).any(axis=1)))
    names = ["Intercept", *names]
    return ModelRows(
        rows,
        target[rows],
        np.column_stack([np.ones(len(rows)), x[rows]]),
        names,
        {name: [k] for k, name in enumerate(names)},
        {name: frozenset({name} if k else ()) for k, name in enumerate(names)},
        response,
    )
