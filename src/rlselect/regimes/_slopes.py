"""Slopes of contrasts on single columns, with intervals for all columns of a stage at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from rlselect.regimes._sample import Sample
from rlselect.regimes._stages import HistoryColumn, StageData

__all__ = ["ContrastSlope", "contrast_slopes"]


class ContrastSlope(NamedTuple):
    """Slope of the contrast of an action with the first one.

    Attributes
    ----------
    column, name : str
        The column, and what of it the slope is on: the column itself, or a label as "site = north".
    action : int
        Position of the action.
    slope, standard_error : float
        Per standard deviation.
    interval : tuple of (float, float)
        Wide enough for all columns of the stage and all actions together (Bonferroni).
    """

    column: str
    name: str
    action: int
    slope: float
    standard_error: float
    interval: tuple[float, float]


def contrast_slopes(
    stage: StageData,
    history: np.ndarray,
    scores: np.ndarray,
    sample: Sample,
    wanted: Sequence[str],
    level: float,
) -> tuple[int, list[ContrastSlope]]:
    """How many slopes the intervals allow for, and those of the wanted columns.

    Parameters
    ----------
    stage : StageData
    history, scores : (m, c) and (m, K) arrays
        Of some subjects; scores of each action.
    sample : Sample
        Of the same subjects.
    wanted : sequence of str
    level : float
    """
    candidates, n_actions = _numbers(stage.columns, history), scores.shape[1]
    n_compared = len(candidates) * (n_actions - 1)
    freedom = max(sample.n_units - 2, 1)
    quantile = float(student.ppf(1.0 - 0.5 * (1.0 - level) / max(n_compared, 1), freedom))
    found = []
    for (column, name), values in candidates.items():
        if column not in wanted:
            continue
        for k in range(1, n_actions):
            slope, error = _slope(values, scores[:, k] - scores[:, 0], sample)
            reach = quantile * error
            found.append(ContrastSlope(column, name, k, slope, error, (slope - reach, slope + reach)))
    return n_compared, found


def _numbers(columns: Sequence[HistoryColumn], history: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Columns that vary, and the labels of others as 0 and 1, of unit standard deviation."""
    found = {}
    for column, values in zip(columns, history.T, strict=True):
        parts = {column.name: values}
        if column.labels:
            # two labels are one question
            asked = range(1, 2) if len(column.labels) == 2 else range(len(column.labels))
            parts = {f"{column.name} = {column.labels[k]}": (values == k).astype(float) for k in asked}
        for name, part in parts.items():
            spread = part.std()
            if spread > 1e-10 * abs(part.mean()):
                found[column.name, name] = (part - part.mean()) / spread
    return found


def _slope(x: np.ndarray, y: np.ndarray, sample: Sample) -> tuple[float, float]:
    """Weighted least squares slope and its robust (HC3) standard error, of clusters where there are any."""
    weights = sample.weights
    mean = weights @ x / weights.sum()
    centred = x - mean
    size = float(weights @ np.square(centred))
    slope = float(weights @ (centred * y)) / size
    residuals = y - weights @ y / weights.sum() - slope * centred
    leverage = weights / weights.sum() + weights * np.square(centred) / size
    residuals = residuals / np.maximum(1.0 - leverage, 1e-6)
    parts = sample.totals(weights * centred * residuals)
    return slope, float(np.sqrt(np.square(parts).sum())) / size
