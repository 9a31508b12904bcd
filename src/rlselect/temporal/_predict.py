"""New rows to covariates and times."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Columns
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._formula import complete_rows, variables_of
from rlselect.temporal._formula_safety import CONTEXT

Array = NDArray[np.float64]


def covariates_at(design: ProcessDesign, data: Any, time: Any) -> tuple[Array, Array]:
    """Covariates (rows, p), NaN where incomplete, and the clock of each row."""
    columns = Columns(data, "data")
    clock = columns.clock(time, "time")
    if design.spec is None:
        names = design.names[1:]
        if not columns.has_names and len(columns.names) != len(names):
            raise ValueError(f"the model has {len(names)} covariates, the data {len(columns.names)} columns")
        values = columns.matrix(names if columns.has_names else columns.names, "covariate")
        return np.column_stack([np.ones(len(clock)), values]), clock
    if not columns.has_names:
        raise ValueError("the model was fitted with a formula: predict needs a table with its columns")
    names = variables_of(design.spec.formula, columns)
    rows, text = complete_rows(columns, names, np.ones(len(clock), dtype=bool))
    x = np.full((len(clock), len(design.names)), np.nan)
    if len(rows):
        _refuse_changed_kinds(text, design.text.intersection(names))
        x[rows] = _coded(design.spec, columns.to_pandas(names, rows))
    return x, clock


def _refuse_changed_kinds(now: frozenset[str], then: frozenset[str]) -> None:
    """Refuse text for numbers, and numbers for text, which would pass for all of its levels at once."""
    for name in sorted(now ^ then):
        kinds = ("text", "numbers") if name in now else ("numbers", "text")
        raise TypeError(f"Column {name!r} of data holds {kinds[0]}, but held {kinds[1]} in fit.")


def _coded(spec: Any, found: Any) -> Array:
    from formulaic.errors import DataMismatchWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", DataMismatchWarning)
        try:
            matrix = spec.get_model_matrix(found, context=CONTEXT, na_action="ignore", output="numpy")
            return np.asarray(matrix, dtype=float)
        except DataMismatchWarning as error:
            raise ValueError(f"the data hold categories that were not there in fit: {error}") from None


def curves_at(beta: Array, design: ProcessDesign, clock: Array) -> Array:
    """Curves at the clock of each row: exact on the grid, linear between, refused outside."""
    low, high = design.clock[0], design.clock[-1]
    known = clock[~np.isnan(clock)]
    if ((known < low) | (known > high)).any():
        raise ValueError(
            f"times must lie between {design.times[0]} and {design.times[-1]}, where the curves were "
            f"estimated; {int(((known < low) | (known > high)).sum())} row(s) lie outside"
        )
    safe = np.where(np.isnan(clock), low, clock)
    right = np.searchsorted(design.clock, safe)
    left = np.maximum(right - 1, 0)
    on_grid = design.clock[right] == safe
    left = np.where(on_grid, right, left)
    gap = np.where(on_grid, 1.0, design.clock[right] - design.clock[left])
    share = ((safe - design.clock[left]) / gap)[:, None]
    out = np.where(on_grid[:, None], beta[right], beta[left] * (1.0 - share) + beta[right] * share)
    out[np.isnan(clock)] = np.nan
    return out
