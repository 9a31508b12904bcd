"""Influence functions of curves: held, or worked out anew for some times where they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import HELD, ProcessDesign
from rlselect.temporal._estimate import score_parts, standard_errors, times_at_once

Array = NDArray[np.float64]
Places = NDArray[np.intp]


class Influence(Protocol):
    """Influence functions of curves, whose estimate is off by their mean over subjects, to first order."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Times, covariates, independent units."""
        ...

    def contrast(self, matrix: Array, where: Places) -> Array:
        """Those of contrasts (r, covariates) or (len(where), r, covariates) at some times, all of them sound.

        The answer has the shape (len(where), r, units).
        """
        ...


@dataclass(frozen=True)
class HeldInfluence:
    """In memory, (times, covariates, units)."""

    psi: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Times, covariates, independent units."""
        return self.psi.shape

    def contrast(self, matrix: Array, where: Places) -> Array:
        """Of contrasts at some times."""
        return matrix @ self.psi[where]


@dataclass(frozen=True)
class SolvedInfluence:
    """Worked out from the estimate, some times at a time.

    Attributes
    ----------
    beta : array of shape (times, covariates)
    power : of the leverage by which scores are enlarged; 1 makes influence functions the changes without each
        subject: exact for linear models, to first order for others
    """

    design: ProcessDesign
    beta: Array
    link: str
    variance: str
    power: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Times, covariates, independent units."""
        return (*self.beta.shape, self.design.n_independent)

    def contrast(self, matrix: Array, where: Places) -> Array:
        """Of contrasts at some times."""
        out = np.empty((len(where), matrix.shape[-2], self.design.n_independent))
        some = times_at_once(self.design)
        for first in range(0, len(where), some):
            here = slice(first, first + some)
            design = self.design.at_times(where[here])
            parts = score_parts(design, self.beta[where[here]], self.link, self.variance)
            score = parts.enlarged(self.power)
            own = matrix if matrix.ndim == 2 else matrix[here]
            out[here] = design.gather_psi(own @ (parts.pull * score[:, None, :]))
        return out


@dataclass(frozen=True)
class SmoothedInfluence:
    """Of curves that are weighted means of others over time: `weights` (times, times), 0 where flagged."""

    raw: Influence
    weights: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Times, covariates, independent units."""
        return self.raw.shape

    def contrast(self, matrix: Array, where: Places) -> Array:
        """Of contrasts (r, covariates) at some times."""
        used = np.flatnonzero(self.weights[where].any(axis=0))
        raw = self.raw.contrast(matrix, used)
        smoothed = self.weights[np.ix_(where, used)] @ raw.reshape(len(used), -1)
        return smoothed.reshape(len(where), *raw.shape[1:])


@dataclass(frozen=True)
class SplineInfluence:
    """Of splines: `basis` (times, splines) and influence functions `pull` (covariates, splines, units)."""

    basis: Array
    pull: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Times, covariates, independent units."""
        return len(self.basis), self.pull.shape[0], self.pull.shape[2]

    def contrast(self, matrix: Array, where: Places) -> Array:
        """Of contrasts (r, covariates) at some times."""
        own = np.tensordot(matrix, self.pull, axes=1)
        return np.einsum("tj,rji->tri", self.basis[where], own, optimize=True)


def each_covariate(influence: Influence, where: Places) -> Iterator[tuple[slice, Array]]:
    """Influence functions of some covariates after others at some times, as many at once as may be held."""
    _, p, n = influence.shape
    some = max(1, HELD // max(len(where) * n, 1))
    for first in range(0, p, some):
        here = slice(first, min(first + some, p))
        yield here, influence.contrast(np.eye(p)[here], where)


def errors_of(influence: Influence, where: Places) -> Array:
    """Standard errors, (times, covariates), NaN but at the times `where`."""
    out = np.full(influence.shape[:2], np.nan)
    for here, psi in each_covariate(influence, where):
        out[where, here] = standard_errors(psi)
    return out
