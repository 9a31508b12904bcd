r"""Losses of kernel machines: value, and the part of the dual that does not depend on the kernel.

For ``min lambda |f|^2 + sum_i w_i L(y_i, f(x_i) + b) / W`` with ``f = sum_i beta_i k(x_i, .)`` every
feasible ``beta`` bounds the minimum from below by ``conjugate(beta) - lambda beta'K beta``. Feasibility does
not involve ``K``, so the solution on one set of features bounds the objective on every other set.
"""

from typing import Any

import numpy as np
from scipy.special import xlogy

from rlselect.kernels import mean_and_curvature, softplus

__all__ = ["EpsilonInsensitiveLoss", "HingeLoss", "LogisticLoss", "SquaredLoss", "make_loss"]


class SquaredLoss:
    """``(y - f)^2``."""

    name = "squared"
    classifies = False
    # Whether the conjugate part is linear in beta, so that a feasible beta may be shrunk.
    shrinkable = True

    def value(self, y, f):
        """Loss of each row and column."""
        return np.square(y - f)

    def conjugate(self, beta, y, weights, lam):
        """Kernel-free part of the dual."""
        total = weights.sum()
        return float(
            2.0 * lam * np.sum(beta * y) - lam**2 * total * np.sum(np.square(beta) / weights[:, None])
        )


class HingeLoss:
    """``max(0, 1 - y f)`` for labels -1 and 1."""

    name = "hinge"
    classifies = True
    shrinkable = True

    def value(self, y, f):
        """Loss of each row and column."""
        return np.maximum(0.0, 1.0 - y * f)

    def conjugate(self, beta, y, weights, lam):
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
    shrinkable = True

    def __init__(self, epsilon: float = 0.1) -> None:
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be >= 0, got {epsilon!r}")
        self.epsilon = float(epsilon)

    def __repr__(self) -> str:
        return f"EpsilonInsensitiveLoss(epsilon={self.epsilon!r})"

    def value(self, y, f):
        """Loss of each row and column."""
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def conjugate(self, beta, y, weights, lam):
        """Kernel-free part of the dual."""
        return float(2.0 * lam * (np.sum(beta * y) - self.epsilon * np.abs(beta).sum()))


class LogisticLoss:
    """``log(1 + exp(-y f))`` for labels -1 and 1."""

    name = "logistic"
    classifies = True
    shrinkable = False

    def value(self, y, f):
        """Loss of each row and column."""
        return softplus(-y * f)

    def conjugate(self, beta, y, weights, lam):
        """Kernel-free part of the dual (an entropy)."""
        share = (weights / weights.sum())[:, None]
        s = np.clip(2.0 * lam * beta * y / share, 0.0, 1.0)
        return float(-np.sum(share * (xlogy(s, s) + xlogy(1.0 - s, 1.0 - s))))

    @staticmethod
    def dual_point(y, f, weights, lam, fit_intercept):
        """A dual feasible ``beta`` from decision values: the two classes' masses are made equal."""
        share = (weights / weights.sum())[:, None]
        s = mean_and_curvature("binomial", -y * f)[0]
        if fit_intercept:
            plus = np.sum(share * s * (y > 0), axis=0)
            minus = np.sum(share * s * (y < 0), axis=0)
            least = np.minimum(plus, minus)
            s = s * np.where(y > 0, least / np.maximum(plus, 1e-300), least / np.maximum(minus, 1e-300))
        return y * s * share / (2.0 * lam)


_NAMED = {
    "squared": SquaredLoss,
    "hinge": HingeLoss,
    "epsilon_insensitive": EpsilonInsensitiveLoss,
    "logistic": LogisticLoss,
}


def make_loss(loss: Any) -> Any:
    """Loss object from a name or an object."""
    if isinstance(loss, str):
        if loss not in _NAMED:
            raise ValueError(f"loss={loss!r} is not known; use one of {sorted(_NAMED)}")
        return _NAMED[loss]()
    if isinstance(loss, tuple(_NAMED.values())):
        return loss
    raise TypeError(f"loss must be one of {sorted(_NAMED)} or a loss object, got {type(loss).__name__}")
