"""How many rows a time budget has room for, where machines need all of them at once."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rlselect._limits import count_in_time, seconds_for
from rlselect.machines import fit_clone
from rlselect.subset.risk_rfe._inputs import RiskData
from rlselect.subset.risk_rfe._problem import (
    BEGINNING,
    BEGINNING_BY_STEPS,
    PASSES,
    VALUE,
    Halves,
    MachinePlan,
    is_ridge,
    pass_seconds,
    takes_landmarks,
)

__all__ = ["fits_in_time", "rows_in_time", "some_rows"]

_FEWEST = 100
# an estimator is timed on so many rows, takes more than twice as long for twice as many, and is fitted so
# often at least: in a fold of all features and of few, and in the end
_TIMED, _GROWTH, _FITS = 200, 1.2, 4.0


def rows_in_time(
    plan: MachinePlan,
    data: RiskData,
    halves: Halves | None,
    n_landmarks: int | str | None,
    seconds: float | None,
) -> tuple[RiskData, Halves | None]:
    """The rows that there is time for, and how they are divided; parameters are those of `plan_size`."""
    if seconds is None or is_ridge(plan, data, halves):
        return data, halves
    cubes = BEGINNING if data.loss.squared else BEGINNING_BY_STEPS * data.targets.shape[1]

    def exactly(rows: float) -> float:
        return seconds_for(cubes * rows**3 + len(data.groups) * VALUE * rows**2)

    def by_landmarks(rows: float) -> float:
        assert isinstance(n_landmarks, int)
        if rows <= n_landmarks:
            return exactly(rows)
        return PASSES * data.targets.shape[1] * pass_seconds(int(rows), data.X.shape[1], n_landmarks)

    if not takes_landmarks(plan, data, halves) or n_landmarks is None:
        return _fewer(data, halves, exactly, seconds)
    # where landmarks are not asked for, there are as many as there is time for
    return _fewer(data, halves, by_landmarks, seconds) if isinstance(n_landmarks, int) else (data, halves)


def fits_in_time(
    estimator: Any, data: RiskData, halves: Halves | None, seconds: float | None
) -> tuple[RiskData, Halves | None]:
    """The rows on which there is time for some fits of an estimator."""
    if seconds is None or len(data.y) <= _TIMED:
        return data, halves
    few = data.on_rows(data.spread_rows(_TIMED))
    began = time.perf_counter()
    fit_clone(estimator, few.X, few.y, few.weights)
    took = _FITS * (time.perf_counter() - began)
    return _fewer(data, halves, lambda rows: took * (rows / len(few.y)) ** _GROWTH, seconds)


def some_rows(data: RiskData, n: int) -> str:
    """For the reason of an end: how many of n rows there was time for, nothing where it was all."""
    return f", {len(data.y)} of {n} rows" if len(data.y) < n else ""


def _fewer(
    data: RiskData, halves: Halves | None, takes: Callable[[float], float], seconds: float
) -> tuple[RiskData, Halves | None]:
    count = count_in_time(len(data.y), _FEWEST, takes, seconds)
    if count == len(data.y):
        return data, halves
    kept = data.spread_rows(count)
    if halves is not None:
        fit, judge = (np.flatnonzero(np.isin(kept, half)) for half in halves)
        halves = fit, judge
    return data.on_rows(kept), halves
