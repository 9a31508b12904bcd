"""Eliminations from the machines of a plan and of its alternatives, and the best of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect.data import FeatureUnits
from rlselect.machines import (
    ChangePoint,
    EliminationPath,
    Threshold,
    eliminate,
    needs_one_curve,
    out_of_sample_price,
)
from rlselect.subset.risk_rfe._choice import choose
from rlselect.subset.risk_rfe._inputs import RiskData, make_cycle
from rlselect.subset.risk_rfe._problem import Halves, MachinePlan

__all__ = ["SizeRule", "best_elimination", "nearest_place"]

# of a time budget, for the first choice of parameters
_FOR_TUNING = 0.25
# so many groups are few enough for parameters of their own at each set
_FEW_GROUPS = 8
# another kernel is tried if there is time for so many eliminations like those before
_TIMES_AS_LONG = 4.0
_TIE = 1e-9


@dataclass(frozen=True)
class SizeRule:
    """How many groups leave at once and how many stay in the end, as users say it."""

    step: float | Callable[[int], int]
    stopping: str | int | Threshold | ChangePoint
    safeguard: float


def nearest_place(sizes: NDArray, size: int) -> int:
    """Which of the sizes comes nearest."""
    return int(np.argmin(np.abs(sizes - size)))


def best_elimination(
    plan: MachinePlan,
    data: RiskData,
    units: FeatureUnits,
    halves: Halves | None,
    rule: SizeRule,
    clock: Clock,
) -> tuple[MachinePlan, EliminationPath]:
    """The plan among the alternatives whose chosen set has the best out-of-sample price, and its path."""
    found: list[tuple[float, MachinePlan, EliminationPath]] = []
    began = time.perf_counter()
    for one in plan.alternatives(data, halves, needs_one_curve(rule.stopping)):
        took = time.perf_counter() - began
        if found and (clock.look() or (clock.left is not None and clock.left < _TIMES_AS_LONG * took)):
            break
        path = _eliminate(one, data, halves, rule, clock)
        if found and path.broken_off:
            # an order that was never finished is none to be compared
            break
        kept = choose(path, rule.stopping, rule.safeguard, data.loss.name, units).kept
        price = out_of_sample_price(path, data.loss.name)[nearest_place(np.array(path.sizes), kept.sum())]
        found.append((float(price), one, path))
    # kernels may be the same machine of a few columns: of prices that differ by rounding the first is taken
    least = min(price for price, *_ in found)
    _, plan, path = next(item for item in found if item[0] <= least + _TIE * max(abs(least), 1.0))
    if clock.reason in ("interrupted", "callback"):
        path.broken_off = clock.reason
    return plan, path


def _eliminate(
    plan: MachinePlan, data: RiskData, halves: Halves | None, rule: SizeRule, clock: Clock
) -> EliminationPath:
    problem, tuner = plan.pose(data, halves)
    with clock.part(_FOR_TUNING):
        tuner.tune(problem)
    retune = None if needs_one_curve(rule.stopping) else tuner.again
    few = _FEW_GROUPS if data.loss.squared and halves is None else 0
    return eliminate(problem, make_cycle(rule.step), retune, hurry=True, each_below=few)
