"""What has to be known of a trial to read what is learnt from it, as sentences."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rlselect.regimes._sample import Sample
from rlselect.regimes._stages import StageData

__all__ = ["Described", "describe_trial"]


class Described(Protocol):
    """What the sentences are about."""

    stages: list[StageData]
    reward_type: str
    sample: Sample
    horizon: float | None


def describe_trial(trial: Described) -> list[str]:
    """One sentence each of rewards, censoring, weights, clusters and gaps, where there are any."""
    found = []
    if trial.reward_type == "binary":
        found.append(
            "Rewards are 0 or 1: Q-functions are logistic, on the columns that squared loss keeps, and stay "
            "within what rewards can add up to."
        )
    elif trial.reward_type == "count":
        found.append(
            "Rewards are counts: Q-functions are exponential, on the columns that squared loss keeps."
        )
    gone = int(np.any([stage.censored for stage in trial.stages], axis=0).sum())
    if gone:
        until = "" if trial.horizon is None else f" Time counts up to {trial.horizon:g}."
        found.append(
            f"The times of {gone} of {len(trial.sample.weights)} subjects are censored: the others stand for "
            "them by the inverse probability of being followed (Kaplan-Meier), which is right if censoring "
            f"does not depend on the history.{until}"
        )
    if trial.sample.weighted:
        size = trial.sample.weights.sum() ** 2 / np.square(trial.sample.weights).sum()
        found.append(f"Subjects are weighted: they count as much as {size:.0f} equal ones.")
    if trial.sample.clusters is not None:
        found.append(
            f"Values are those of {trial.sample.n_units} independent clusters, which folds keep together; "
            "columns are selected as if subjects were independent."
        )
    return found + _gaps(trial.stages)


def _gaps(stages: Sequence[StageData]) -> list[str]:
    last = stages[-1]
    found = []
    for j, column in enumerate(last.columns):
        if column.kind == "gap" or (column.labels and not np.isnan(column.fill)):
            # the stage at which the column comes up has the most of its subjects
            first = next(stage for stage in stages if len(stage.columns) > j)
            values = first.history[first.present, j]
            count = int((values == (1.0 if column.kind == "gap" else column.fill)).sum())
            name = column.of or column.name
            how = "are a category of their own"
            if column.kind == "gap":
                how = f"have the mean of the others and are marked by {column.name!r}"
            found.append(f"Missing values of {name!r} ({count} of {len(values)} subjects) {how}.")
    return found
