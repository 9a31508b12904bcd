"""New rows to covariates and times."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rlselect.temporal._design import ProcessDesign, _as_frame, _column, _plain, to_clock
from rlselect.temporal._formula import complete_rows, pandas_rows, variables_of

Array = NDArray[np.float64]


def covariates_at(design: ProcessDesign, data: Any, time: Any) -> tuple[Array, Array]:
    """Covariates (rows, p), NaN where incomplete, and the clock of each row."""
    if isinstance(data, dict):
        data = pa.table({key: pa.array(np.asarray(column)) for key, column in data.items()})
    table = _as_frame(data)
    length = len(table) if table is not None else len(np.asarray(data))
    clock = to_clock(_plain(_column(table, time, "time", length)[0]))
    x = np.full((length, len(design.names)), np.nan)
    if design.spec is None:
        names = design.names[1:]
        if table is None:
            values = np.asarray(data, dtype=float).reshape(length, -1)
        else:
            _refuse_missing(names, table)
            values = table.select(names).to_numpy().astype(float)
        if values.shape[1] != len(names):
            raise ValueError(f"the model has {len(names)} covariates, the data {values.shape[1]} columns")
        x[:, 0], x[:, 1:] = 1.0, values
        return x, clock
    if table is None:
        raise ValueError("the model was fitted with a formula: predict needs a table with its columns")
    names = variables_of(design.spec, design.spec.formula, table)
    rows = complete_rows(table, names, np.ones(length, dtype=bool))
    if len(rows):
        found = pandas_rows(table, names, rows) if names else table.to_pandas().iloc[rows]
        x[rows] = _coded(design.spec, found)
    return x, clock


def _coded(spec: Any, found: Any) -> Array:
    from formulaic.errors import DataMismatchWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", DataMismatchWarning)
        try:
            return np.asarray(spec.get_model_matrix(found, na_action="ignore", output="numpy"), dtype=float)
        except DataMismatchWarning as error:
            raise ValueError(f"the data hold categories that were not there in fit: {error}") from None


def _refuse_missing(names: list[str], table: Any) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"the data lack {', '.join(missing)}; columns: {', '.join(table.columns)}")


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
