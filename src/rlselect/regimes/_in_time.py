"""How many subjects of a trial a time budget has room for, and which of them."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone

from rlselect._limits import count_in_time, seconds_for
from rlselect.regimes._column_machine import columns_pay, seconds_of_columns
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._selection import FEWEST_TREES, forest
from rlselect.regimes._stage_rfe import Selection, StageRFE
from rlselect.regimes._trial import TrialData

__all__ = ["stage_encoders", "subjects_in_time", "takes_kernels"]

# Of a stage that is learnt in haste, with its value and its rules: how often its columns are made, n^3
# operations on its kernel matrices, operations per cell and group of these, fits of a regressor.
_PASSES, _CUBES, _CELLS, _FITS = 50.0, 100.0, 6000.0, 15.0
_FEWEST = 200
# predictions under so many actions take as long as the rest
_MANY_ACTIONS = 6
# a regressor is timed on so many, and takes more than twice as long for twice as many
_TIMED, _GROWTH = 300, 1.2
# of every action at a stage, if there are so many
_EACH = 20


def stage_encoders(trial: TrialData) -> list[tuple[HistoryEncoder, int]]:
    """What each stage knows of histories, and how many subjects it has."""
    found = []
    for stage in trial.stages:
        rows = stage.present
        encoder = HistoryEncoder(stage.columns, stage.history[rows], stage.labels, stage.codes)
        found.append((encoder, int(rows.sum())))
    return found


def subjects_in_time(
    trial: TrialData,
    model: Any,
    selection: Selection,
    explicit: bool,
    seconds: float,
    rng: np.random.Generator,
) -> TrialData:
    """The trial, or that of some of its subjects, of which something is learnt within so many seconds.

    Parameters
    ----------
    trial : TrialData
    model, selection
        As the learner has them.
    explicit : bool
        Whether machines may be made of columns.
    seconds : float
        The time budget.
    rng : Generator
        Draws the subjects.
    """
    encoders, n = stage_encoders(trial), trial.n_subjects
    paper = selection if isinstance(selection, StageRFE) else None
    # the last of the kernels does in haste
    kinds = [model]
    if isinstance(model, str) and model == "auto":
        kinds = ["anova", "linear"] if paper is None else ["rbf"]
    pilot = None if takes_kernels(model) else _time_a_fit(trial, encoders[0][0], model)

    def takes(count: float) -> float:
        total = 0.0
        for encoder, present in encoders:
            rows, each = max(count / n * present, 1.0), 1.0 + len(encoder.labels) / _MANY_ACTIONS
            if pilot is not None:
                total += _FITS * pilot * (rows / min(_TIMED, n)) ** _GROWTH
            elif explicit and columns_pay(encoder, int(rows), kinds[0], paper):
                total += each * _PASSES * seconds_of_columns(encoder, int(rows), kinds[-1])
            else:
                total += each * seconds_for(_CUBES * rows**3 + _CELLS * len(encoder.groups) * rows**2)
        return total

    count = count_in_time(n, _FEWEST, takes, seconds)
    return trial if count == n else trial.part(_spread(trial, count, rng))


def takes_kernels(model: Any) -> bool:
    """Whether a model is made of kernel machines, not of a regressor."""
    return isinstance(model, str) and model != "trees"


def _time_a_fit(trial: TrialData, encoder: HistoryEncoder, model: Any) -> float:
    """Seconds of a fit to some subjects of the first stage."""
    regressor = forest(0, FEWEST_TREES) if isinstance(model, str) else clone(model)
    stage = trial.stages[0]
    rows = np.flatnonzero(stage.present)[:_TIMED]
    X = encoder.encode(stage.history[rows], stage.shares(rows))
    began = time.perf_counter()
    regressor.fit(X, stage.reward[rows])
    return time.perf_counter() - began


def _spread(trial: TrialData, count: int, rng: np.random.Generator) -> np.ndarray:
    """About so many subjects at random, clusters whole, spread evenly over what was done with them."""
    n, clusters = trial.n_subjects, trial.sample.clusters
    if clusters is not None:
        size = max(round(trial.sample.n_units * count / n), 2)
        return np.flatnonzero(np.isin(clusters, rng.permutation(trial.sample.n_units)[:size]))
    turned = rng.permutation(n)
    done = np.array([stage.action[turned] for stage in trial.stages])
    order = turned[np.lexsort(done)]
    kept = [order[np.linspace(0, n - 1, count).round().astype(np.intp)]]
    for stage, actions in zip(trial.stages, done, strict=True):
        if stage.doses is None:
            kept += [turned[actions == action][:_EACH] for action in np.unique(actions)]
    return np.unique(np.concatenate(kept))
