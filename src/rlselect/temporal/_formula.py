"""The rows of a model: response and covariates, from a formula or from arrays."""

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FormulaDesign:
    """Response and covariates of the complete rows; `rows` are their positions in the data."""

    rows: NDArray[np.intp]
    y: Array
    x: Array
    names: list[str]
    terms: dict[str, list[int]]
    factors: dict[str, frozenset[str]]
    response: str
    spec: Any = field(default=None, repr=False)


def materialise(
    formula: str | None, frame: Any, data: Any, y: Any, usable: NDArray[np.bool_], taken: set[str]
) -> FormulaDesign:
    """Complete rows of the model; `taken` are columns that are no covariates (id, time, ...)."""
    if formula is not None:
        if y is not None:
            raise ValueError("give either a formula or y, not both; the formula already names the response")
        if frame is None:
            raise ValueError("a formula needs named columns: give a data frame, or arrays without a formula")
        part = _from_formula(formula, frame, usable)
    else:
        part = _from_arrays(frame, data, y, usable, taken)
    if len(part.rows) == 0:
        raise ValueError(
            "no row is available: every row has a missing value, a weight of 0 or is marked unavailable"
        )
    return _finite_rows(part)


def _finite_rows(part: FormulaDesign) -> FormulaDesign:
    """Refuse infinities, and leave out rows where a transformation gave a missing value."""
    for name, column in [(part.response, part.y), *zip(part.names, part.x.T, strict=True)]:
        count = int(np.isinf(column).sum())
        if count:
            raise ValueError(
                f"{name!r} is infinite in {count} row(s); make them missing (those rows then count as "
                "unavailable) or transform the column"
            )
    good = ~(np.isnan(part.y) | np.isnan(part.x).any(axis=1))
    if good.all():
        return part
    return FormulaDesign(
        part.rows[good],
        part.y[good],
        part.x[good],
        part.names,
        part.terms,
        part.factors,
        part.response,
        part.spec,
    )


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError:
        raise ImportError(
            'a formula needs the package formulaic: pip install "rlselect[temporal]", or give arrays: '
            "fit(X, y, id=..., time=...)"
        ) from None
    return formulaic


def complete_rows(frame: Any, variables: list[str], usable: NDArray[np.bool_]) -> NDArray[np.intp]:
    good = usable.copy()
    for name in variables:
        column = frame[name]
        good &= ~column.is_null().to_numpy().astype(bool)
        if column.dtype.is_float():
            good &= ~np.isnan(column.to_numpy().astype(float))
    return np.flatnonzero(good)


def pandas_rows(frame: Any, variables: list[str], rows: NDArray[np.intp]) -> Any:
    """The named columns at some rows as a pandas frame, without unused levels of categories."""
    table = frame.select(variables).to_pandas().iloc[rows].reset_index(drop=True)
    for name in variables:
        if table[name].dtype.name == "category":
            table[name] = table[name].cat.remove_unused_categories()
    return table


def _from_formula(formula: str, frame: Any, usable: NDArray[np.bool_]) -> FormulaDesign:
    lib = _formulaic()
    try:
        parsed = lib.Formula(formula)
    except lib.errors.FormulaSyntaxError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"formula {formula!r} cannot be read: {reason}") from error
    if not hasattr(parsed, "lhs"):
        raise ValueError(f"formula {formula!r} has no response; write it as 'response ~ covariates'")
    variables = variables_of(parsed, [*parsed.lhs, *parsed.rhs], frame)
    rows = complete_rows(frame, variables, usable)
    if len(rows) == 0:
        empty = np.zeros((0, 0))
        return FormulaDesign(rows, np.zeros(0), empty, [], {}, {}, "")
    try:
        parts = parsed.get_model_matrix(
            pandas_rows(frame, variables, rows), na_action="ignore", output="numpy"
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
    terms = {_term_name(t): list(where) for t, where in spec.term_indices.items() if where}
    factors = {
        _term_name(t): frozenset(str(f) for f in t.factors) - {"1"}
        for t, where in spec.term_indices.items()
        if where
    }
    return FormulaDesign(
        rows, left[:, 0], right, names, terms, factors, parts.lhs.model_spec.column_names[0], spec
    )


def variables_of(formula: Any, terms: Any, frame: Any) -> list[str]:
    """Columns a formula reads. Names inside calls such as ``center(x)`` are looked up here, as the formula
    library's own list leaves out the arguments of its stateful transformations.
    """
    wanted = {str(v) for v in formula.required_variables}
    unknown = sorted(v for v in wanted if v not in frame.columns)
    if unknown:
        raise ValueError(
            f"the formula uses {', '.join(unknown)}, not among the columns: {', '.join(frame.columns)}"
        )
    for factor in {factor.expr for term in terms for factor in term.factors}:
        try:
            tree = ast.parse(factor, mode="eval")
        except SyntaxError:
            continue  # a quoted column name, already in the library's list
        wanted |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(frame.columns)
    return sorted(wanted)


def _term_name(term: Any) -> str:
    return "Intercept" if str(term) == "1" else str(term)


def _from_arrays(frame: Any, data: Any, y: Any, usable: NDArray[np.bool_], taken: set[str]) -> FormulaDesign:
    if y is None:
        raise ValueError("without a formula the response is needed: fit(X, y, id=..., time=...)")
    response = "y"
    if frame is None:
        x = np.asarray(data)
        x = x[:, None] if x.ndim == 1 else x
        if x.ndim != 2:
            raise ValueError(f"X must have two dimensions (rows, covariates), given shape {x.shape}")
        names = [f"x{k}" for k in range(x.shape[1])]
    else:
        if isinstance(y, str):
            if y not in frame.columns:
                raise ValueError(f"y={y!r} is not a column of the data; columns: {', '.join(frame.columns)}")
            response, y = y, frame[y].to_numpy()
        names = [c for c in frame.columns if c not in taken | {response}]
        x = frame.select(names).to_numpy() if names else np.zeros((len(frame), 0))
    try:
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            "covariates and response must be numbers when no formula is given; a formula codes categories"
        ) from None
    if y.shape != (len(x),):
        raise ValueError(f"y has shape {y.shape}, X has {len(x)} rows; one response per row is needed")
    rows = np.flatnonzero(usable & ~(np.isnan(y) | np.isnan(x).any(axis=1)))
    names = ["Intercept", *names]
    x = np.column_stack([np.ones(len(rows)), x[rows]])
    return FormulaDesign(
        rows,
        y[rows],
        x,
        names,
        {name: [k] for k, name in enumerate(names)},
        {name: frozenset({name} if k else ()) for k, name in enumerate(names)},
        response,
    )
