r"""How the advantage of an action leans on each tailoring variable, with intervals that survive selection.

The doubly robust scores of two actions differ, on average, by the contrast of the two given the history. The
slope of that difference on one standardised column is the best linear summary of the contrast, whatever its
shape. Intervals are wide enough for all columns of the stage and all pairs of actions at once (Bonferroni):
those of the columns that were selected hold as well, whichever way they were selected.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rlselect.regimes._evaluation import Decide, Evaluation
from rlselect.regimes._grow_trees import action_scores
from rlselect.regimes._sample import Sample
from rlselect.regimes._slopes import contrast_slopes
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stages import StageData

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
    n_compared, slopes = contrast_slopes(stage, stage.history[stage.present], scores, sample, wanted, level)
    return [
        TailoringEffect(one.name, stage.labels[one.action], stage.labels[0], *one[3:], n_compared)
        for one in slopes
    ]
