r"""Likelihoods whose variable has several coefficients, or whose rows are not independent terms.

Rows have q linear predictors each, :math:`\eta_i = B'x_i + o_i` with a row of q coefficients in B for every
column, and the likelihood has f parameters of its own without a column (intercepts, cut points, effects of
clusters). An `Outcome` gives the log likelihood with its derivatives by both at one point; Newton's method
and the price of every column follow from these alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OutcomePoint:
    r"""A log likelihood at one point.

    Two vectors u and v over the rows, added to the predictors a and b, meet in the curvature
    :math:`\sum_i w_{abi} u_i v_i - (Ru)'(Rv)`.

    Attributes
    ----------
    value : float
        The log likelihood.
    score : array of shape (q, n)
        Its derivatives by the predictors.
    weights : array of shape (q, q, n)
        Minus the second derivatives, row by row.
    own_score, own_curvature : array of shape (f,) and (f, f)
        Derivatives by the parameters of the likelihood, and minus the second ones.
    mixed : array of shape (f, q, n)
        Minus the second derivatives by a parameter and a predictor.
    means, unmeans : callable, optional
        R on vectors (m, n), giving (m, E), and its transpose on (m, E): what rows have in common, for q = 1.
    volume : float
        What the log evidence is less by, twice: the log determinant of what was integrated out beforehand.
    """

    value: float
    score: Array
    weights: Array
    own_score: Array
    own_curvature: Array
    mixed: Array
    means: Callable[[Array], Array] | None = None
    unmeans: Callable[[Array], Array] | None = None
    volume: float = 0.0

    def times(self, vectors: Array) -> Array:
        """The curvature times vectors (q, m, n) that lie in all predictors at once."""
        out = np.einsum("abn,bmn->amn", self.weights, vectors)
        if self.means is not None and self.unmeans is not None:
            out[0] -= self.unmeans(self.means(vectors[0]))
        return np.asarray(out)

    def bend(self, vectors: Array) -> Array:
        """The curvature times vectors (m, n) that lie in one predictor each (second axis), (q, q, m, n)."""
        bent = self.weights[:, :, None, :] * vectors
        if self.means is not None and self.unmeans is not None:
            bent -= self.unmeans(self.means(vectors))
        return bent

    def squares(self, vectors: Array, squared: Array | None = None) -> Array:
        """The curvature of each of some vectors (m, n) with itself, shape (m, q, q)."""
        squared = vectors * vectors if squared is None else squared
        q, _, n = self.weights.shape
        own = (squared @ self.weights.reshape(q * q, n).T).reshape(-1, q, q)
        if self.means is not None:
            shared = self.means(vectors)
            own -= np.einsum("me,me->m", shared, shared)[:, None, None]
        return own

    def hessian(self, columns: Array) -> Array:
        """Minus the second derivatives by own parameters, then by the coefficients of columns (k, n)."""
        (f, q, n), k = self.mixed.shape, len(columns)
        out = np.empty((f + k * q, f + k * q))
        out[:f, :f] = self.own_curvature
        mixed = (self.mixed.reshape(f * q, n) @ columns.T).reshape(f, q, k)
        out[:f, f:] = mixed.transpose(0, 2, 1).reshape(f, k * q)
        out[f:, :f] = out[:f, f:].T
        bent = self.bend(columns).reshape(q * q * k, n) @ columns.T
        out[f:, f:] = bent.reshape(q, q, k, k).transpose(2, 1, 3, 0).reshape(k * q, k * q)
        return out


class Outcome(Protocol):
    """A likelihood of rows, as the module says.

    Attributes
    ----------
    n_predictors, n_own : int
        q and f.
    order : array of int or None
        Rows in the order in which the likelihood takes vectors; None for that of the table.
    precision : array of shape (f,)
        Prior precision of the own parameters, zero for those that are free.
    """

    n_predictors: int
    n_own: int
    order: NDArray[np.intp] | None
    precision: Array

    def start(self) -> Array:
        """Own parameters of the model without columns, or near them."""
        ...

    def at(self, own: Array, eta: Array) -> OutcomePoint:
        """The log likelihood at own parameters (f,) and the columns' part of the predictors (q, n)."""
        ...

    def absorb(self, own: Array, shift: Array) -> Array:
        """Own parameters of the same model when `shift` (q,) is taken out of the columns' predictors."""
        ...
