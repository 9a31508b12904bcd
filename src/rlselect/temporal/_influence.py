"""Influence functions of curves: held, or worked out anew for some times where they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import HELD, ProcessDesign
from rlselect.temporal._estimate import ScoreParts, estimate, score_parts, standard_errors, times_at_once

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Share of a unit in a squared standard error from which on the curves are estimated without it: there are at
# most twenty such units at a time.
_INFLUENTIAL = 0.05


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
class _FromEstimate:
    """Worked out from the estimate `beta` (times, covariates), some times at a time."""

    design: ProcessDesign
    beta: Array
    link: str
    variance: str

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
            design, beta = self.design.at_times(where[here]), self.beta[where[here]]
            parts = score_parts(design, beta, self.link, self.variance)
            out[here] = self._at_once(matrix if matrix.ndim == 2 else matrix[here], design, beta, parts)
        return out

    def _at_once(self, matrix: Array, design: ProcessDesign, beta: Array, parts: ScoreParts) -> Array:
        """Of contrasts at the times of a design."""
        raise NotImplementedError


@dataclass(frozen=True)
class SolvedInfluence(_FromEstimate):
    """Worked out from the estimate, some times at a time.

    Attributes
    ----------
    beta : array of shape (times, covariates)
    power : of the leverage by which scores are enlarged; 1 makes influence functions the changes without each
        subject: exact for linear models, to first order for others
    """

    power: float = 0.0

    def _at_once(self, matrix: Array, design: ProcessDesign, beta: Array, parts: ScoreParts) -> Array:
        score = parts.enlarged(self.power)
        return design.gather_psi(matrix @ (parts.pull * score[:, None, :]))


@dataclass(frozen=True)
class CarefulInfluence(_FromEstimate):
    """Worked out from the estimate, with squares that are not too small where subjects or events are few.

    Scores are enlarged by the square root of their leverage (HC2). Where the mean is not bounded and not
    linear, as with counts, the units that matter most are left out one by one and the curves estimated
    without them, because a change of first order is too small: a subject with most of the events counts more
    than its leverage at the estimate says. Where responses are `binary`, the variance that their fitted means
    have is the least: with few events squared residuals may be small by chance.

    Attributes
    ----------
    beta : array of shape (times, covariates)
    refit : whether influential units are left out and curves estimated anew
    binary : whether responses are 0 and 1 and the variance is binomial
    """

    refit: bool
    binary: bool

    def _at_once(self, matrix: Array, design: ProcessDesign, beta: Array, parts: ScoreParts) -> Array:
        if self.refit:
            out = matrix @ self._left_out(design, beta, parts)
        else:
            out = design.gather_psi((matrix @ parts.pull) * parts.enlarged(0.5)[:, None, :])
        if self.binary:
            variance = ((matrix @ parts.pull) ** 2 @ (design.w * parts.weight)[:, :, None])[:, :, 0]
            least = np.sqrt(variance) / parts.pull.shape[2]
            told = standard_errors(out)
            out = out * np.maximum(least / np.maximum(told, np.finfo(float).tiny), 1.0)[:, :, None]
        return out

    def _left_out(self, design: ProcessDesign, beta: Array, parts: ScoreParts) -> Array:
        """Influence functions of all covariates, those of influential units from curves without them."""
        half, one = (
            design.gather_psi(parts.pull * parts.enlarged(power)[:, None, :]) for power in (0.5, 1.0)
        )
        total = np.maximum((one**2).sum(axis=2, keepdims=True), np.finfo(float).tiny)
        time, unit = np.nonzero((one**2 / total).max(axis=1) > _INFLUENTIAL)
        # what HC2 takes back of the change without a unit
        kept = np.clip(np.divide(half, one, out=np.ones_like(one), where=one != 0), 0.0, 1.0)
        some = times_at_once(design)
        for first in range(0, len(time), some):
            t, i = time[first : first + some], unit[first : first + some]
            others = np.arange(design.x.shape[2]) if design.clusters is None else design.clusters
            without = design.at_times(t)
            found = estimate(replace(without, w=without.w * (others != i[:, None])), self.link, self.variance)
            t, i, change = t[found.sound], i[found.sound], (beta[t] - found.beta)[found.sound]
            # where nothing can be estimated without a unit, its change of first order stays
            half[t, :, i] = self.design.n_independent * change * kept[t, :, i]
        return half


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
class LeadingInfluence:
    """Of the first `count` covariates of a model that has more."""

    whole: Influence
    count: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Times, covariates, independent units."""
        n_times, _, n = self.whole.shape
        return n_times, self.count, n

    def contrast(self, matrix: Array, where: Places) -> Array:
        """Of contrasts at some times."""
        return self.whole.contrast(leading(matrix, self.whole.shape[1]), where)


def leading(matrix: Array, p: int) -> Array:
    """Contrasts (..., covariates) of the first covariates among `p`."""
    return np.concatenate([matrix, np.zeros((*matrix.shape[:-1], p - matrix.shape[-1]))], axis=-1)


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
