r"""Losses of kernel machines: value, and the part of the dual that does not depend on the kernel.

For ``min lambda |f|^2 + sum_i w_i L(y_i, f(x_i) + b) / W`` with ``f = sum_i beta_i k(x_i, .)`` every
feasible ``beta`` bounds the minimum from below by ``conjugate(beta) - lambda beta'K beta``. Feasibility does
not involve ``K``, so the solution on one set of features bounds the objective on every other set.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rlselect.kernels import mean_and_curvature, softplus

__all__ = [
    "LOSSES",
    "EpsilonInsensitiveLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "SquaredLabelLoss",
    "SquaredLoss",
    "make_loss",
]

Array = NDArray[np.float64]


class Loss(Protocol):
    """What a machine is fitted and judged by; targets, decision values and betas are (n, c) arrays.

    Attributes
    ----------
    name : str
        As users give it.
    classifies : bool
        Whether targets are labels -1 and 1.
    squared : bool
        Whether machines have closed forms.
    shrinkable : bool
        Whether the conjugate part is linear in beta, so that a feasible beta may be shrunk.
    """

    name: str
    classifies: bool
    squared: bool
    shrinkable: bool

    def value(self, y: Array, f: Array) -> Array:
        """Loss of each row and column."""
        ...

    def conjugate(self, beta: Array, y: Array, weights: Array, lam: float) -> float:
        """Kernel-free part of the dual."""
        ...


class SquaredLoss:
    """``(y - f)^2``."""

    name = "squared"
    classifies = False
    squared = True
    shrinkable = True

    def value(self, y: Array, f: Array) -> Array:
        """Loss of each row and column."""
        return np.square(y - f)

    def conjugate(self, beta: Array, y: Array, weights: Array, lam: float) -> float:
        """Kernel-free part of the dual."""
        total = weights.sum()
        return float(
            2.0 * lam * np.sum(beta * y) - lam**2 * total * np.sum(np.square(beta) / weights[:, None])
        )


class SquaredLabelLoss(SquaredLoss):
    """``(y - f)^2`` for labels -1 and 1: least-squares support vector machines."""

    name = "squared_label"
    classifies = True


class HingeLoss:
    """``max(0, 1 - y f)`` for labels -1 and 1."""

    name = "hinge"
    classifies = True
    squared = False
    shrinkable = True

    def value(self, y: Array, f: Array) -> Array:
        """Loss of each row and column."""
        return np.maximum(0.0, 1.0 - y * f)

    def conjugate(self, beta: Array, y: Array, weights: Array, lam: float) -> float:
        """Kernel-free part of the dual."""
        return float(2.0 * lam * np.sum(beta * y))


class EpsilonInsensitiveLoss:
    """``max(0, |y - f| - epsilon)``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half-width of the tube without loss.
    """

    name = "epsilon_insensitive"
    classifies = False
    squared = False
    shrinkable = True

    def __init__(self, epsilon: float = 0.1) -> None:
        if not epsilon >= 0:
            raise ValueError(f"epsilon={epsilon!r} was given; it must be a number of at least 0.")
        self.epsilon = float(epsilon)

    def __repr__(self) -> str:
        return f"EpsilonInsensitiveLoss(epsilon={self.epsilon!r})"

    def value(self, y: Array, f: Array) -> Array:
        """Loss of each row and column."""
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def conjugate(self, beta: Array, y: Array, weights: Array, lam: float) -> float:
        """Kernel-free part of the dual."""
        return float(2.0 * lam * (np.sum(beta * y) - self.epsilon * np.abs(beta).sum()))


class LogisticLoss:
    """``log(1 + exp(-y f))`` for labels -1 and 1."""

    name = "logistic"
    classifies = True
    squared = False
    shrinkable = False

    def value(self, y: Array, f: Array) -> Array:
        """Loss of each row and column."""
        return softplus(-y * f)

    def conjugate(self, beta: Array, y: Array, weights: Array, lam: float) -> float:
        """Kernel-free part of the dual (an entropy)."""
        share = (weights / weights.sum())[:, None]
        s = np.clip(2.0 * lam * beta * y / share, 0.0, 1.0)
        return float(-np.sum(share * (xlogy(s, s) + xlogy(1.0 - s, 1.0 - s))))

    @staticmethod
    def dual_point(y: Array, f: Array, weights: Array, lam: float, fit_intercept: bool) -> Array:
        """A dual feasible ``beta`` from decision values: the two classes' masses are made equal."""
        share = (weights / weights.sum())[:, None]
        s = mean_and_curvature("binomial", -y * f)[0]
        if fit_intercept:
            plus = np.sum(share * s * (y > 0), axis=0)
            minus = np.sum(share * s * (y < 0), axis=0)
            least = np.minimum(plus, minus)
            s = s * np.where(y > 0, least / np.maximum(plus, 1e-300), least / np.maximum(minus, 1e-300))
        return y * s * share / (2.0 * lam)


LOSSES: dict[str, type[Any]] = {
    "squared": SquaredLoss,
    "squared_label": SquaredLabelLoss,
    "hinge": HingeLoss,
    "epsilon_insensitive": EpsilonInsensitiveLoss,
    "logistic": LogisticLoss,
}


def make_loss(loss: str | Loss) -> Loss:
    """Loss object from one of the names of `LOSSES`, or the object itself."""
    return LOSSES[loss]() if isinstance(loss, str) else loss
