"""Regimes by the words of the command line: how actions were randomised, and what to do for new rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["read_randomized", "recommend_rows"]


def read_randomized(given: tuple[str, ...]) -> Any:
    """The propensity that ``TrialData.from_long`` takes, from ratios for all stages or by stage."""
    if not given:
        return "estimate"
    if len(given) == 1 and "=" not in given[0]:
        return _ratio(given[0])
    alone = [one for one in given if "=" not in one]
    if alone:
        raise ValueError(
            f"--randomized {alone[0]!r} is for all stages, and others are given beside it; write STAGE=RATIO "
            "for each."
        )
    return {stage: _ratio(ratio) for stage, ratio in (one.rsplit("=", 1) for one in given)}


def _ratio(text: str) -> str:
    return "randomized" if text == "frequencies" else text


def recommend_rows(learner: Any, data: pa.Table) -> np.ndarray:
    """What to do in each row of a table with one row per subject and stage, as the fit was given.

    Parameters
    ----------
    learner : QLearning
        With ``long_columns_``, the columns of subjects and stages.
    data : pyarrow.Table
        The rows of the stages before tell what was done then, and what came of it.

    Returns
    -------
    (n,) array
        Actions.
    """
    id_, stage = (learner.long_columns_[key] for key in ("id", "stage"))
    subjects, stages = data.column(id_).to_pylist(), list(map(str, data.column(stage).to_pylist()))
    strange = sorted(set(stages) - set(learner.stage_names_))
    if strange:
        known = ", ".join(map(repr, learner.stage_names_))
        raise ValueError(f"Column {stage!r} holds the stage {strange[0]!r}; the model knows {known}.")
    places = {pair: row for row, pair in enumerate(zip(subjects, stages, strict=True))}
    told = np.empty(len(data), dtype=object)
    for number, name in enumerate(learner.stage_names_):
        rows = [row for row, one in enumerate(stages) if one == name]
        if rows:
            history = _history(learner, number, data, rows, [subjects[row] for row in rows], places)
            told[rows] = learner.predict(history, stage=number + 1)
    return np.array(told.tolist())


def _history(
    learner: Any,
    number: int,
    data: pa.Table,
    rows: list[int],
    subjects: list[Any],
    places: dict[tuple[Any, str], int],
) -> pa.Table:
    """The history of the subjects of some rows: columns of a stage are called after it, as in the fit."""
    found = {}
    for column in learner.history_names_in_[number]:
        base, _, at = column.rpartition("_")
        if column in data.column_names:
            values = data.column(column).take(pa.array(rows))
        elif base in data.column_names and at in learner.stage_names_:
            earlier = pa.array([places.get((subject, at)) for subject in subjects], pa.int64())
            values = data.column(base).take(earlier)
        else:
            continue
        # what is not needed may be missing
        needed = {name.removesuffix("=missing") for name in learner.selected_[number]}
        if column in needed or not pc.any(values.is_null()).as_py():
            found[column] = values
    return pa.table(found)
