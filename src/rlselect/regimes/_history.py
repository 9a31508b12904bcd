"""Histories of new subjects, as users give them to a learner."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlselect.data import Columns
from rlselect.regimes._stages import HistoryColumn, StageFrame

__all__ = ["read_history"]


def read_history(history: Any, stage: StageFrame, needed: Sequence[str]) -> np.ndarray:
    """A history as an array (m, c); columns that are neither given nor needed are 0."""
    names = stage.names
    table = Columns(history, "history", names)
    limits = names if stage.feasible is not None else [] if stage.doses is None else stage.doses.needed
    wanted = {*table.names, *needed, *limits}
    found = np.zeros((table.n_rows or 0, len(names)))
    for j, column in enumerate(stage.columns):
        if column.name in wanted:
            found[:, j] = _read_column(table, column)
    return found


def _read_column(table: Columns, column: HistoryColumn) -> np.ndarray:
    """Numbers, or positions among the labels of the trial; gaps are filled as they were there."""
    if column.kind == "gap" and column.name not in table.names:
        return _is_missing(table, column.of)
    if not column.labels:
        values = table.numbers(column.name, "needed column")
        if not np.isnan(column.fill):
            values = np.where(np.isnan(values), column.fill, values)
        if not np.isfinite(values).all():
            raise ValueError(f"the history column {column.name!r} holds NaN or infinite values; impute them")
        return values
    place = {label: position for position, label in enumerate(column.labels)}
    labels = table.labels(column.name, "needed column")
    if not np.isnan(column.fill):
        labels[[label is None for label in labels]] = column.labels[int(column.fill)]
    # labels of categories are text, which numbers may stand for
    found = [place.get(label, place.get(str(label), -1)) for label in labels]
    unknown = sorted({str(label) for label, position in zip(labels, found, strict=True) if position < 0})
    if unknown:
        what = "past action" if column.kind == "action" else "category"
        raise ValueError(
            f"the {what} {column.name!r} holds {unknown}; it was one of {list(column.labels)} in the trial"
        )
    return np.array(found, dtype=float)


def _is_missing(table: Columns, name: str) -> np.ndarray:
    return np.isnan(table.numbers(name, "needed column")).astype(float)
