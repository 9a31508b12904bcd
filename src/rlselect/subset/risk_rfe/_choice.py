"""From an elimination to a ranking, a size and the features that stay."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.data import FeatureUnits
from rlselect.machines import ChangePoint, EliminationPath, Threshold, choose_size, paired_comparison

__all__ = ["Choice", "choose", "choose_nothing"]

Array = NDArray[np.float64]
# Below this many rows the size is chosen by next to nothing, and the reason says so.
_FEW_ROWS = 10


@dataclass(frozen=True)
class Choice:
    """What an elimination says about features.

    Attributes
    ----------
    kept : bool array over groups
    support : bool array over features
    ranking : int array over features
        1 is kept longest.
    path : dict of arrays
        One entry per visited set.
    reason : str
    """

    kept: NDArray[np.bool_]
    support: NDArray[np.bool_]
    ranking: NDArray[np.intp]
    path: dict[str, NDArray]
    reason: str


def choose(
    path: EliminationPath,
    stopping: str | int | Threshold | ChangePoint,
    safeguard: float,
    loss_name: str,
    units: FeatureUnits,
) -> Choice:
    """Choose a size by a rule on the way that was taken.

    Parameters
    ----------
    path : EliminationPath
        Over the units.
    stopping, safeguard
        As users give them.
    loss_name : str
    units : FeatureUnits
    """
    members = [np.flatnonzero(units.unit_of_feature == g) for g in range(units.units.n_units)]
    # number of features in the last so many groups of the order
    left = np.concatenate([[0], np.cumsum([len(members[g]) for g in path.order[::-1]])])
    if isinstance(stopping, str | Threshold | ChangePoint):
        size, reason = choose_size(stopping, path, loss_name)
    else:
        size = int(np.flatnonzero(left <= stopping)[-1])
        reason = f"{stopping} features were asked for"
        if left[size] != stopping:
            reason += f"; the sets on the path allow {left[size]}"
    extra = min(int(np.floor(safeguard * len(path.order))), len(path.order) - size)
    if extra:
        size, reason = size + extra, f"{reason}, and {extra} more as a safeguard"
    if size == 0:
        reason += "; no feature is needed"
    if len(path.weights) < _FEW_ROWS and isinstance(stopping, str):
        reason += f"; only {len(path.weights)} rows judge the size, which is hardly more than noise"
    kept = np.zeros(len(members), dtype=bool)
    kept[path.order[len(path.order) - size :]] = True
    return Choice(
        kept,
        units.to_features(kept),
        _ranking(path.order, members, units.unit_of_feature),
        {
            "n_features": left[np.array(path.sizes)],
            "objective": np.array(path.objective),
            **paired_comparison(path),
            "regularization": np.array(path.lam),
            "bandwidth": np.array(path.bandwidth),
        },
        f"{path.broken_off}; {reason}" if path.broken_off else reason,
    )


def _ranking(
    order: list[int], members: list[NDArray[np.intp]], unit_of_feature: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Features by when they left; those without a design column have never been in."""
    without = np.flatnonzero(unit_of_feature < 0)[::-1]
    features = np.concatenate([without, *(members[g] for g in order)])
    ranking = np.empty(len(features), dtype=np.intp)
    ranking[features] = np.arange(len(features), 0, -1)
    return ranking


def choose_nothing(units: FeatureUnits) -> Choice:
    """The choice for a constant y: no feature can matter, whatever the loss."""
    d = len(units.unit_of_feature)
    zero, unknown = np.zeros(d + 1), np.full(d + 1, np.nan)
    known = ("objective", "risk", "standard_error", "difference", "difference_standard_error")
    return Choice(
        np.zeros(units.units.n_units, dtype=bool),
        np.zeros(d, dtype=bool),
        np.arange(1, d + 1),
        {
            "n_features": np.arange(d, -1, -1),
            **dict.fromkeys(known, zero),
            "regularization": unknown,
            "bandwidth": unknown,
        },
        "y is constant: there is nothing to explain and no feature is needed",
    )
