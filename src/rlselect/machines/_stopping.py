"""Where to stop an elimination: deterministic rules on its path."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import change_point
from rlselect.machines._elimination import EliminationPath

__all__ = [
    "STOPPING_RULES",
    "ChangePoint",
    "Threshold",
    "choose_size",
    "needs_one_curve",
    "out_of_sample_price",
    "paired_comparison",
]

Array = NDArray[np.float64]
STOPPING_RULES = ("loo-2se", "loo-ric", "change-point", "held-out")
# Four times the squared t of n normal rows is at most about 2 n, however strong an effect is. A charge of
# more than this share of n is a question that even strong effects would hardly answer.
_ANSWERABLE = 0.5
# losses whose unit is that of the labels -1 and 1, and not that of a response
_OF_MARGINS = ("hinge", "logistic")


class Threshold:
    """Stop when the cheapest removal raises the objective by more than ``delta`` (Algorithms 2 and 21).

    Parameters
    ----------
    delta : float or callable
        A number, or a function of the number of features (groups) still in.

    Examples
    --------
    >>> from rlselect.subset import Threshold
    >>> Threshold(0.01)(5), Threshold(lambda size: 1 / size)(5)
    (0.01, 0.2)
    """

    def __init__(self, delta: float | Callable[[int], float]) -> None:
        if not callable(delta) and not float(delta) >= 0:
            raise ValueError(
                f"delta={delta!r} was given; it must be a number of at least 0, or a function of the number "
                "of features still in."
            )
        self.delta = delta

    def __call__(self, size: int) -> float:
        """Largest rise allowed at this size."""
        return float(self.delta(size)) if callable(self.delta) else float(self.delta)

    def __repr__(self) -> str:
        return f"Threshold({self.delta!r})"


class ChangePoint:
    """Stop where the reverse scree graph leaves its straight line.

    Parameters
    ----------
    degree : {1, 2, 3}, default=2
        Degree of the polynomial after the change.
    """

    def __init__(self, degree: int = 2) -> None:
        if degree not in (1, 2, 3):
            raise ValueError(f"degree={degree!r} was given; it must be 1, 2 or 3.")
        self.degree = degree

    def __repr__(self) -> str:
        return f"ChangePoint(degree={self.degree})"


StoppingRule: TypeAlias = str | Threshold | ChangePoint


def paired_comparison(path: EliminationPath) -> dict[str, Array]:
    """Risk at each visited set with its standard error, and the paired difference from the best set with
    its own.
    """
    losses = np.array(path.losses)
    weights, total = path.weights, path.weights.sum()
    risk = losses @ weights / total
    error = np.sqrt(np.square(losses - risk[:, None]) @ weights / total / total)
    gap = losses - losses[int(np.argmin(risk))]
    difference = gap @ weights / total
    gap_error = np.sqrt(np.square(gap - difference[:, None]) @ weights / total / total)
    return {
        "risk": risk,
        "standard_error": error,
        "difference": difference,
        "difference_standard_error": gap_error,
    }


def needs_one_curve(rule: StoppingRule | int) -> bool:
    """Whether the rule compares objectives across sizes, so that parameters must not change on the way."""
    return isinstance(rule, (Threshold, ChangePoint)) or rule == "change-point"


def choose_size(rule: StoppingRule, path: EliminationPath, loss_name: str) -> tuple[int, str]:
    """Number of groups to keep and the reason."""
    sizes = np.array(path.sizes)
    if isinstance(rule, Threshold):
        return _by_threshold(rule, path)
    if rule == "change-point" or isinstance(rule, ChangePoint):
        rule = rule if isinstance(rule, ChangePoint) else ChangePoint()
        curve = np.array(path.objective)[sizes >= 1]
        index, _ = change_point(curve, rule.degree)
        shape = {1: "linear", 2: "quadratic", 3: "cubic"}[rule.degree]
        reason = f"after {index} rounds the objective leaves its straight line (linear-{shape} change point)"
        return int(sizes[sizes >= 1][index]), reason
    if rule == "held-out":
        index = _last_minimum(np.array(path.objective))
        return int(sizes[index]), "smallest held-out regularised risk"
    if rule == "loo-ric":
        price = out_of_sample_price(path, loss_name)
        index = _unless_luck(path, price, loss_name)
        reason = (
            "smallest error on rows left out, every feature charged what the best of "
            f"{int(sizes[0])} useless ones would gain by luck"
        )
        if index != _last_minimum(price):
            reason += ", as far as the gain is not that of a few rows"
        return int(sizes[index]), reason
    compared = paired_comparison(path)
    inside = compared["difference"] <= 2.0 * compared["difference_standard_error"]
    index = int(np.flatnonzero(inside)[-1])
    reason = "smallest set whose error on rows left out is within two standard errors of the least"
    return int(sizes[index]), reason


def out_of_sample_price(path: EliminationPath, loss_name: str) -> Array:
    """Out-of-sample risk of each visited set as a log likelihood, with what the choice among sets costs.

    ``n log(risk) + 2 (k + 1) log(d)`` for k of d groups and no penalty for none: of d groups of noise the
    best gains about ``2 log d`` by luck, and once more because its machine was chosen too. Hinge and
    logistic losses have a unit of their own and count as they are, ``n risk``: twice that, which a deviance
    would be, lets useless features pay too often on the rows of five folds.
    """
    n = path.weights.sum()
    risk = np.maximum(np.array(path.losses) @ path.weights / n, 1e-300)
    fit = n * risk if loss_name in _OF_MARGINS else n * np.log(risk)
    return np.asarray(fit + _charges(path))


def _charges(path: EliminationPath) -> Array:
    sizes = np.array(path.sizes)
    return np.asarray(2.0 * np.where(sizes > 0, sizes + 1, 0) * np.log(max(int(sizes[0]), 2)))


def _unless_luck(path: EliminationPath, price: Array, loss_name: str) -> int:
    """Position of the smallest set that the rows do not clearly prefer the best price to.

    A log of a mean takes all rows for equally sure. Where a few far rows have most of the loss, one of them
    decides, so what features save also has to stand out from its own spread over the rows. In a model with
    normal errors the squared t of what a feature saves is a quarter of its gain in log likelihood. The
    lengths of errors may stand out instead of their squares: where features reach as far as the errors do,
    the rows that they save most of are few as well.
    """
    best, charged = _last_minimum(price), _charges(path)
    weights = path.weights
    kinds = [np.array(path.losses)]
    if loss_name == "squared":
        kinds.append(np.sqrt(kinds[0]))
    for place in range(len(path.sizes) - 1, best, -1):
        charge = charged[best] - charged[place]
        if charge > _ANSWERABLE * weights.sum():
            continue
        if not any(_stands_out(losses[place] - losses[best], weights, charge) for losses in kinds):
            return place
    return best


def _stands_out(saved: Array, weights: Array, charge: float) -> bool:
    """Whether what rows save is worth a charge, going by how it differs from row to row."""
    total = saved @ weights
    spread = np.square(saved - total / weights.sum()) @ weights
    return bool(total > 0.0 and 4.0 * np.square(total) > charge * spread)


def _last_minimum(values: Array) -> int:
    """Position of the minimum; among equals (to rounding) the smallest set."""
    return int(np.flatnonzero(values <= values.min() + 1e-12 * abs(values.min()))[-1])


def _by_threshold(rule: Threshold, path: EliminationPath) -> tuple[int, str]:
    for place, size in enumerate(path.sizes[:-1]):
        rise = path.objective[place + 1] - path.objective[place]
        if rise > rule(size):
            reason = f"the next removal would raise the objective by {rise:.4g}, more than {rule(size):.4g}"
            return size, reason
    return 0, "no removal raised the objective by more than the threshold"
