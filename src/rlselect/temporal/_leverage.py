"""Leverage: how far independent units, subjects or clusters of them, fit themselves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import ProcessDesign

Array = NDArray[np.float64]

# what is left of a score that is fitted whatever it says
_LEAST_LEFT = 1e-8
# leverage of a unit that is fitted whatever it says
_ALONE = 1.0 - 1e-6


@dataclass(frozen=True)
class Leverage:
    """Enlarges scores by what their own independent unit has taken of them.

    In coordinates in which the information is the identity, a unit with the rows ``u_i`` and
    weights ``w_i`` has the information ``C = sum_i w_i u_i u_i'``, and its scores are those of all others
    times ``1 - C``. Powers of that matrix undo it: 1 is leave-one-unit-out (HC3, CR3), 1/2 makes squares of
    scores right if their variance is the working one (HC2, CR2). In a cluster the rows share what they
    take, so that few clusters fit themselves much further than the leverage of single rows says.

    Attributes
    ----------
    q, back : arrays of shape (times, covariates, units), rows, and the inverse information times them
    weight : array of shape (times, units)
    design : says which units are one cluster
    """

    q: Array
    back: Array
    weight: Array
    design: ProcessDesign

    def scores(self, score: Array, power: float) -> Array:
        """Scores (times, units), enlarged."""
        if self.design.clusters is None:
            return score * self._growth(power)
        added = self._within(score[:, None, :], power)[:, 0, :]
        return score + self.weight * added

    def pull(self, pull: Array, power: float) -> Array:
        """What turns scores into influence functions (times, rows, units), as if scores were enlarged."""
        if self.design.clusters is None:
            return pull * self._growth(power)[:, None, :]
        return pull + self._within(pull * self.weight[:, None, :], power)

    def alone(self, pull: Array) -> NDArray[np.bool_]:
        """Whether one unit alone tells a contrast, (times, rows): it is fitted whatever that unit says."""
        if self.design.clusters is None:
            far = np.abs(pull) > 1e-6 * np.abs(pull).max(axis=2, keepdims=True)
            return np.asarray(((self._own > _ALONE)[:, None, :] & far).any(axis=2))
        values, vectors = self._shared
        along = np.abs(np.einsum("trkg,tgkl->trgl", self._summed(pull * self.weight[:, None, :]), vectors))
        far = along > 1e-6 * along.max(axis=(2, 3), keepdims=True)
        return np.asarray(((values > _ALONE)[:, None] & far).any(axis=(2, 3)))

    @cached_property
    def _own(self) -> Array:
        """Leverage of single units, (times, units)."""
        return self.weight * np.einsum("tki,tki->ti", self.back, self.q)

    def _growth(self, power: float) -> Array:
        return np.asarray(np.maximum(1.0 - self._own, _LEAST_LEFT) ** -power)

    @cached_property
    def _root(self) -> Array:
        """Rows in coordinates in which the information is the identity, (times, covariates, units)."""
        each = (self.q * self.weight[:, None, :]) @ self.q.swapaxes(1, 2)
        values, vectors = np.linalg.eigh(each)
        known = values > _LEAST_LEFT * values[:, -1:]
        scale = np.where(known, 1.0 / np.sqrt(np.where(known, values, 1.0)), 0.0)
        return np.asarray((vectors * scale[:, None, :]).swapaxes(1, 2) @ self.q)

    @cached_property
    def _shared(self) -> tuple[Array, Array]:
        """Eigenvalues (times, clusters, covariates) and eigenvectors of the information of clusters."""
        n_times, p, _ = self.q.shape
        own = np.empty((n_times, self.design.n_independent, p, p))
        for k in range(p):
            rows = self.design.gather(self._root[:, k : k + 1] * self._root * self.weight[:, None, :])
            own[:, :, k] = rows.swapaxes(1, 2)
        values, vectors = np.linalg.eigh(own)
        return np.clip(values, 0.0, 1.0), vectors

    def _summed(self, values: Array) -> Array:
        """Sums over clusters of values (times, rows, units) times their rows: (times, rows, p, clusters)."""
        return self.design.gather(values[:, :, None, :] * self._root[:, None])

    def _within(self, values: Array, power: float) -> Array:
        """``u_i' h(C) sum_j u_j v_j`` over the units of a cluster, ``h(c) = ((1 - c)^-power - 1) / c``."""
        share, vectors = self._shared
        some = share > _LEAST_LEFT
        left = np.maximum(1.0 - share, _LEAST_LEFT)
        grown = np.where(some, (left**-power - 1.0) / np.where(some, share, 1.0), power)
        turned = np.einsum("trkg,tgkl->trgl", self._summed(values), vectors) * grown[:, None]
        back = np.einsum("trgl,tgkl->trkg", turned, vectors)
        return np.einsum("trki,tki->tri", back[..., self.design.clusters], self._root)
