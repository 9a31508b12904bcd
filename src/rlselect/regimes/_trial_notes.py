"""What has to be known of a trial to read what is learnt from it, as sentences."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.stats import rankdata

from rlselect.regimes._sample import Sample
from rlselect.regimes._stages import StageData
from rlselect.report import name_some, spell

__all__ = ["Described", "describe_trial", "stand_ins"]

# of ranks: what tells a reward as well as this is hardly known before the action
_TELLS, _FEW = 0.995, 20
# correlation from which a few hundred subjects hardly tell which of two columns decides
_ALIKE = 0.9


class Described(Protocol):
    """What the sentences are about."""

    stages: list[StageData]
    leaving: str
    reward_type: str
    sample: Sample
    horizon: float | None


def describe_trial(trial: Described) -> list[str]:
    """One sentence each of rewards, who left, censoring, weights, clusters, gaps and leaks, if any."""
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
    found += _leavers(trial.stages, trial.leaving)
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
    return found + _gaps(trial.stages) + _leaks(trial.stages)


def _leaks(stages: Sequence[StageData]) -> list[str]:
    """Columns of a history that tell the reward that follows."""
    found = []
    for number, stage in enumerate(stages, start=1):
        rewards = stage.reward[stage.present]
        if len(rewards) < _FEW or np.ptp(rewards) == 0.0:
            continue
        ranks, told = rankdata(rewards), []
        for j, column in enumerate(stage.columns):
            values = stage.history[stage.present, j]
            # places of several labels are in no order
            if len(column.labels) <= 2 and np.ptp(values) > 0.0:
                alike = np.corrcoef(rankdata(values), ranks)[0, 1]
                told += [spell(column.name)] if abs(alike) > _TELLS else []
        if told:
            tell = "tells" if len(told) == 1 else "tell"
            found.append(
                f"{name_some(told)} {tell} the reward of stage {number} nearly without error, whatever the "
                "action: leave out what is not known before the action is."
            )
    return found


def _leavers(stages: Sequence[StageData], leaving: str) -> list[str]:
    """What was made of subjects without an action at a stage, though they had one before."""
    found = []
    for number, (before, stage) in enumerate(pairwise(stages), start=2):
        gone = before.present & ~stage.present
        lost = int((gone & ~stage.known).sum()) if leaving == "weights" else 0
        done = int(gone.sum()) - lost
        told = []
        if done:
            told.append(f"{done} {'was' if done == 1 else 'were'} done, and what they had so far counts")
        if lost:
            was = "was" if lost == 1 else "were"
            told.append(
                f"{lost} {was} lost, and those who stayed stand for them by the inverse probability of "
                "remaining"
            )
        if told:
            found.append(f"Of the subjects without an action at stage {number}, {'; '.join(told)}.")
    return found


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


def stand_ins(stages: Sequence[StageData], tailoring: Sequence[Sequence[str]]) -> list[str]:
    """One sentence for each column that decides at a stage and may stand for others that are much like it."""
    found = []
    for number, (stage, deciding) in enumerate(zip(stages, tailoring, strict=True), start=1):
        # places of many labels are no numbers, and what does not vary is like nothing
        numbers = np.array([len(column.labels) <= 2 for column in stage.columns], dtype=bool)
        spread = stage.history[stage.present].std(axis=0) if len(stage.columns) else np.empty(0)
        usable = np.flatnonzero(numbers & (spread > 0.0))
        names = [stage.columns[j].name for j in usable]
        if len(usable) < 2 or not deciding:
            continue
        alike = np.abs(np.corrcoef(stage.history[stage.present][:, usable], rowvar=False))
        for one in deciding:
            near = alike[names.index(one)] if one in names else np.zeros(len(names))
            others = [
                f"{spell(names[k])} ({near[k]:.2f})"
                for k in np.argsort(-near, kind="stable")
                if near[k] >= _ALIKE and names[k] not in deciding
            ]
            if others:
                found.append(
                    f"At stage {number} {spell(one)} may stand for {name_some(others)}: in brackets the size "
                    "of their correlation, at which the subjects hardly tell which of them decides."
                )
    return found
