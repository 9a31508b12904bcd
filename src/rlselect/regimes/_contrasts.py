r"""How the advantage of an action leans on each tailoring variable, with intervals that survive selection.

The doubly robust scores of two actions differ, on average, by the contrast of the two given the history. The
slope of that difference on one standardised column is the best linear summary of the contrast, whatever its
shape. Intervals are wide enough for all columns of the stage and all pairs of actions at once (Bonferroni):
those of the columns that were selected hold as well, whichever way they were selected.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from rlselect.regimes._evaluation import Decide, Evaluation
from rlselect.regimes._grow_trees import action_scores
from rlselect.regimes._sample import Sample
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stages import HistoryColumn, StageData

__all__ = ["TailoringEffect", "tailoring_effects"]


class TailoringEffect(NamedTuple):
    """Slope of the contrast of two actions on a tailoring variable.

    Attributes
    ----------
    column : str
        Or one of its labels, as "site = north".
    action, reference : object
        What is compared with what.
    slope, standard_error : float
        Change of the contrast per standard deviation of the column, and its standard error.
    interval : tuple of (float, float)
        Of all columns of the stage together.
    n_compared : int
        Columns, or labels of them, times actions that the interval allows for.
    """

    column: str
    action: object
    reference: object
    slope: float
    standard_error: float
    interval: tuple[float, float]
    n_compared: int


def tailoring_effects(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    decide: Decide,
    columns: Sequence[Sequence[str]],
    level: float,
) -> list[list[TailoringEffect]]:
    """Slopes of all tailoring variables by stage; none where actions are doses.

    Parameters
    ----------
    evaluation : Evaluation
    machines : sequence of StageMachine
        Q-functions, to be refitted with their parameters without each fold.
    decide : callable
        The regime at later stages, taken as known.
    columns : sequence of sequences of str
        By stage: tailoring variables.
    level : float
        Of the intervals.
    """
    trial = evaluation.trial
    found: list[list[TailoringEffect]] = []
    parts = [(evaluation.folds == fold) for fold in np.unique(evaluation.folds)]
    fitted = [evaluation.refitted(machines, ~test, decide) for test in parts]
    follows = np.zeros(trial.n_subjects)
    outcomes = evaluation.outcomes()
    for t in reversed(range(trial.n_stages)):
        stage = trial.stages[t]
        here = np.flatnonzero(stage.present)
        q = np.empty((len(here), len(stage.labels)))
        for machine, test in zip(fitted, parts, strict=True):
            mine = test[here]
            if mine.any():
                q[mine] = machine[t].q_values(stage.history[here[mine]])
        scores = action_scores(evaluation, t, stage, q, follows)
        sample = trial.sample.part(here)
        found.append([] if stage.doses is not None else _slopes(stage, scores, sample, columns[t], level))
        follows = outcomes[t].copy()
        follows[here] = scores[np.arange(len(here)), decide(t, stage.history[here])]
    return found[::-1]


def _slopes(
    stage: StageData, scores: np.ndarray, sample: Sample, wanted: Sequence[str], level: float
) -> list[TailoringEffect]:
    """Slopes of the contrasts with the first action on each wanted column, from scores (m, K)."""
    candidates = _numbers(stage.columns, stage.history[stage.present])
    n_compared = len(candidates) * (len(stage.labels) - 1)
    freedom = max(sample.n_units - 2, 1)
    quantile = float(student.ppf(1.0 - 0.5 * (1.0 - level) / max(n_compared, 1), freedom))
    found = []
    for (column, name), values in candidates.items():
        if column not in wanted:
            continue
        for k in range(1, len(stage.labels)):
            slope, error = _slope(values, scores[:, k] - scores[:, 0], sample)
            reach = quantile * error
            label = stage.labels[k], stage.labels[0]
            found.append(
                TailoringEffect(name, *label, slope, error, (slope - reach, slope + reach), n_compared)
            )
    return found


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
