"""Single times: standard errors of contrasts, and their degrees of freedom."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rlselect._compat import user_level
from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._design import HELD, ProcessDesign
from rlselect.temporal._estimate import Estimate, ScoreParts, score_parts, standard_errors
from rlselect.temporal._hypotheses import FlaggedTimeWarning
from rlselect.temporal._influence import Influence, SmoothedInfluence, SplineInfluence, leading
from rlselect.temporal._resample import variance_df
from rlselect.temporal._spread import relative_spread
from rlselect.temporal._visits import name_times

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# numbers of a block of times x rows x covariates x units
_BLOCK = 2_000_000


@dataclass(frozen=True)
class PointErrors:
    """Curves around which intervals and bands lie, with influence functions whose squares are not too small.

    Quantiles are those of Student's t with the degrees of freedom of Bell and McCaffrey. Where the mean is
    bounded, standard errors grow with the estimate, so that there are no heavy tails: quantiles are normal
    there, but for clusters, whose variance no mean tells. Large data, and fits without leverage, have the
    degrees of freedom that the spread of the subjects' shares in a variance tells.
    """

    fitted: FittedCurves
    smoothed: bool
    curves: Estimate
    influence: Influence

    def errors(self, matrix: Array, where: Places) -> tuple[Array, Array]:
        """Standard errors and degrees of freedom of contrasts (rows, covariates) at times, (times, rows)."""
        parts = [(se, df) for _, _, se, df in self.blocks(matrix, where)]
        se, df = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
        return se, df

    def blocks(self, matrix: Array, where: Places) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Of some rows of `matrix` after others, influence functions, standard errors, degrees of freedom."""
        some = max(1, HELD // max(len(where) * self.influence.shape[2], 1))
        for first in range(0, len(matrix), some):
            here = slice(first, first + some)
            psi = self.influence.contrast(matrix[here], where)
            yield here, psi, standard_errors(psi), self._df(matrix[here], where, psi)

    def _df(self, matrix: Array, where: Places, psi: Array) -> Array:
        fitted, n = self.fitted, psi.shape[2]
        if fitted.equations.bounded and not fitted.design.is_grouped:
            return np.full(psi.shape[:2], np.inf)
        if fitted.is_large or not fitted.has_leverage:
            # few subjects with large weights for drop-out leave as little as few subjects do
            told = variance_df(psi**2 / np.maximum((psi**2).sum(axis=2, keepdims=True), 1e-300))
            return told if fitted.is_large else np.clip(told, 1.0, max(n - 1.0, 1.0))
        if not self.smoothed:
            return self._raw_df(matrix, where)
        # a mean over times has about the mean of their degrees of freedom: leverage is that of subjects
        used = np.flatnonzero(fitted.raw.sound)
        shares = self._shares(where, used)
        return (shares / shares.sum(axis=1, keepdims=True)) @ self._raw_df(matrix, used)

    def _shares(self, where: Places, used: Places) -> Array:
        """How much the smoothed curves at some times are made of the raw ones at others."""
        if isinstance(self.influence, SplineInfluence):
            return self.influence.basis[where] @ self.influence.basis[used].T
        assert isinstance(self.influence, SmoothedInfluence)
        return np.abs(self.influence.weights[np.ix_(where, used)])

    def _raw_df(self, matrix: Array, where: Places) -> Array:
        parts, design = self._parts(where)
        pull = leading(matrix, parts.q.shape[1]) @ parts.pull
        return leverage_df(parts, pull, design, self._spread[where])

    def _parts(self, where: Places) -> tuple[ScoreParts, ProcessDesign]:
        fitted = self.fitted.bending or self.fitted
        design, equations = fitted.design.at_times(where), fitted.equations
        return score_parts(design, fitted.raw.beta[where], equations.link, equations.variance), design

    @cached_property
    def _spread(self) -> Array:
        """What covariates tell of variances, from all times, (times, units)."""
        fitted = self.fitted.bending or self.fitted
        where, out = np.flatnonzero(fitted.raw.sound), np.ones_like(fitted.design.w)
        out[where] = relative_spread(*self._parts(where))
        return out


def point_errors(fitted: FittedCurves, smoothed: bool) -> PointErrors:
    """What intervals and bands of the raw, or around the smoothed curves are made of."""
    curves, influence = fitted.corrected() if smoothed else fitted.unbiased()
    known = np.isfinite(curves.beta).all(axis=1)
    lost = fitted.design.times[fitted.raw.sound & ~known]
    if len(lost):
        told = (
            f"no intervals and bands at {len(lost)} time point(s): {name_times(lost)}; too few visits are "
            "near enough to tell how much local estimation flattens there: give a larger bandwidth or "
            "another grid"
        )
        if not known.any():
            raise ValueError(told)
        warnings.warn(told, FlaggedTimeWarning, stacklevel=user_level())
    return PointErrors(fitted, smoothed, curves, influence)


def quantile(level: float, df: Array) -> Array:
    """Two-sided quantile of Student's t, normal where `df` is infinite, and infinite where it is 0."""
    found = student.ppf(0.5 + level / 2.0, np.where(df > 0, df, 1.0))
    return np.where(df > 0, found, np.inf)


def leverage_df(parts: ScoreParts, pull: Array, design: ProcessDesign, relative: Array) -> Array:
    """Degrees of freedom of HC2 variances, (times, rows).

    Responses are taken to have the working variance times `relative` (times, units), see `relative_spread`.

    `pull` (times, rows, units) turns scores into influence functions of the contrasts. The variance is a
    quadratic form of the scores, whose first two moments are those of a multiple of chi-square: few high
    leverages leave few degrees of freedom, however many subjects there are, and so do few large weights,
    which do not make a response more precise. None (0) where one subject alone tells an effect, as the only
    one of an arm: nothing says how far it may be off.
    """
    n_times, rows, n = pull.shape
    out = np.empty((n_times, rows))
    weight = parts.weight[:, None, :]
    spread = (parts.weight * design.w * relative)[:, None, :]
    # scores that are left have the covariance V - W q'b V - V b'q W + W q' (b V b') q W, where b is `back`
    middle = (parts.back * spread) @ parts.back.swapaxes(1, 2)
    some = max(1, _BLOCK // (n_times * parts.q.shape[1] * n))
    for first in range(0, rows, some):
        here = slice(first, first + some)
        a = parts.leverage.pull(pull[:, here], 0.5)
        own = design.gather(a**2 * spread)
        u, v = (
            design.gather((a * scale)[:, :, None, :] * side[:, None])
            for scale, side in ((weight, parts.q), (spread, parts.back))
        )
        left = np.concatenate([u, v], axis=2)
        core = np.zeros((n_times, 1, left.shape[2], left.shape[2]))
        p = u.shape[2]
        core[:, 0, :p, :p], core[:, 0, :p, p:], core[:, 0, p:, :p] = middle, -np.eye(p), -np.eye(p)
        moved = core @ left
        lost = (left * moved).sum(axis=2)
        cross = moved @ left.swapaxes(2, 3)
        trace = (own + lost).sum(axis=2)
        square = (own**2 + 2.0 * own * lost).sum(axis=2) + np.einsum("trkl,trlk->tr", cross, cross)
        out[:, here] = np.where(square > 0, trace**2 / np.where(square > 0, square, 1.0), 1.0)
    return np.where(parts.leverage.alone(pull), 0.0, np.maximum(out, 1.0))
