"""Likelihoods of classes and of ordered ones, as an `Outcome`."""

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._families import softplus
from rlselect.kernels._outcomes import Array, OutcomePoint


def class_contrasts(n_classes: int) -> Array:
    """Orthonormal contrasts (C, C - 1) of classes: a prior that is round in them prefers no class."""
    out = np.zeros((n_classes, n_classes - 1))
    for j in range(1, n_classes):
        out[:j, j - 1], out[j, j - 1] = -1.0, j
        out[:, j - 1] /= np.sqrt(j * (j + 1.0))
    return out


class ClassOutcome:
    r"""Multinomial logistic likelihood in the orthonormal contrasts of its classes.

    The C logarithms of the probabilities of a row are Q u up to a constant, with u of C - 1 numbers; the
    coefficients of the classes add up to zero.

    Parameters
    ----------
    codes : array of int of shape (n,)
        Classes 0, ..., C - 1.
    n_classes : int
        C.
    weight : array of shape (n,)
        How often each row counts.
    """

    order: NDArray[np.intp] | None = None

    def __init__(self, codes: NDArray[np.intp], n_classes: int, weight: Array) -> None:
        self.contrasts = class_contrasts(n_classes)
        self.n_predictors = self.n_own = n_classes - 1
        self.precision = np.zeros(self.n_own)
        self._codes, self._weight = codes, weight
        self._rows = np.arange(len(codes))
        # of two contrasts in each class
        self._pairs = np.einsum("ca,cb->abc", self.contrasts, self.contrasts).reshape(-1, n_classes)

    def start(self) -> Array:
        """Logarithms of the shares of the classes; half a row stands in for a class without any."""
        shares = np.bincount(self._codes, self._weight, minlength=len(self.contrasts))
        return self.contrasts.T @ np.log(np.maximum(shares, 0.5))

    def log_probabilities(self, own: Array, eta: Array) -> Array:
        """Of all classes, shape (C, n)."""
        full = self.contrasts @ (eta + own[:, None])
        full -= full.max(axis=0)
        return np.asarray(full - np.log(np.exp(full).sum(axis=0)))

    def at(self, own: Array, eta: Array) -> OutcomePoint:
        """The log likelihood and its derivatives."""
        logs, w, Q = self.log_probabilities(own, eta), self._weight, self.contrasts
        probabilities = np.exp(logs)
        mean = Q.T @ probabilities
        score = w * (Q[self._codes].T - mean)
        weights = (self._pairs @ (probabilities * w)).reshape(*Q.T.shape[:1] * 2, -1)
        weights -= mean[:, None] * mean * w
        value = float(w @ logs[self._codes, self._rows])
        return OutcomePoint(value, score, weights, score.sum(axis=1), weights.sum(axis=2), weights)

    def absorb(self, own: Array, shift: Array) -> Array:
        """Intercepts."""
        return own + shift


class OrdinalOutcome:
    r"""Proportional odds: :math:`P(y \leq c) = F(\theta_c - \eta)` with the logistic F and rising cut points.

    Parameters
    ----------
    codes : array of int of shape (n,)
        Ordered classes 0, ..., C - 1.
    n_classes : int
        C.
    weight, offset : array of shape (n,)
        How often each row counts, and the known part of the predictor.
    """

    order: NDArray[np.intp] | None = None
    n_predictors = 1

    def __init__(self, codes: NDArray[np.intp], n_classes: int, weight: Array, offset: Array) -> None:
        self.n_own = n_classes - 1
        self.precision = np.zeros(self.n_own)
        self._codes, self._weight, self._offset = codes, weight, offset
        self._upper, self._lower = codes < self.n_own, codes > 0

    def start(self) -> Array:
        """Log odds of the cumulative shares, moved by the mean of what is known."""
        shares = np.maximum(np.bincount(self._codes, self._weight, minlength=self.n_own + 1), 0.5)
        below = np.cumsum(shares)
        middle = float(self._weight @ self._offset) / float(self._weight.sum())
        return np.log(below[:-1] / (below[-1] - below[:-1])) + middle

    def at(self, own: Array, eta: Array) -> OutcomePoint:
        """The log likelihood and its derivatives; minus infinity where cut points do not rise."""
        w, n, f = self._weight, len(self._codes), self.n_own
        predictor = eta[0] + self._offset
        edges = np.concatenate([[-np.inf], own, [np.inf]])
        upper, lower = edges[self._codes + 1] - predictor, edges[self._codes] - predictor
        if np.any(np.diff(own) <= 0):
            zero = np.zeros((f, 1, n))
            flat = np.zeros((1, n)), np.zeros((1, 1, n)), np.zeros(f), np.zeros((f, f))
            return OutcomePoint(-np.inf, *flat, zero)
        # F(u) - F(l) = F(u) (1 - F(l)) (1 - exp(l - u)), without cancellation
        width = upper - lower
        inside = self._upper & self._lower
        between = np.where(inside, np.log(-np.expm1(-np.where(inside, width, 1.0))), 0.0)
        high, low = _logistic(upper), _logistic(lower)
        value = float(w @ (between - softplus_at(-upper) - softplus_at(lower)))
        close = np.where(inside, 1.0 / np.expm1(np.where(inside, np.minimum(width, 500.0), 1.0)), 0.0)
        pull = w * close * (1.0 + close)
        f_high, f_low = w * high * (1.0 - high), w * low * (1.0 - low)
        by_upper, by_lower = w * (1.0 - high + close), w * (-low - close)
        # which cut points a row lies between
        at_upper, at_lower = self._codes[self._upper], self._codes[self._lower] - 1
        own_score = np.zeros(f)
        own_score += np.bincount(at_upper, by_upper[self._upper], minlength=f)
        own_score += np.bincount(at_lower, by_lower[self._lower], minlength=f)
        own_curvature = np.zeros((f, f))
        np.add.at(own_curvature, (at_upper, at_upper), (f_high + pull)[self._upper])
        np.add.at(own_curvature, (at_lower, at_lower), (f_low + pull)[self._lower])
        pair = self._codes[inside]
        np.add.at(own_curvature, (pair, pair - 1), -pull[inside])
        np.add.at(own_curvature, (pair - 1, pair), -pull[inside])
        mixed = np.zeros((f, 1, n))
        mixed[at_upper, 0, np.flatnonzero(self._upper)] = -f_high[self._upper]
        mixed[at_lower, 0, np.flatnonzero(self._lower)] = -f_low[self._lower]
        score, weights = (w * (high + low - 1.0))[None], (f_high + f_low)[None, None]
        return OutcomePoint(value, score, weights, own_score, own_curvature, mixed)

    def absorb(self, own: Array, shift: Array) -> Array:
        """Cut points."""
        return own - shift[0]


def _logistic(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def softplus_at(x: Array) -> Array:
    """`softplus`, zero at minus infinity."""
    return np.where(np.isneginf(x), 0.0, softplus(np.where(np.isneginf(x), 0.0, x)))
