"""Single times: standard errors of contrasts, and their degrees of freedom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._design import HELD, ProcessDesign
from rlselect.temporal._estimate import Estimate, ScoreParts, score_parts, standard_errors
from rlselect.temporal._influence import Influence
from rlselect.temporal._resample import variance_df

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# numbers of a block of times x rows x covariates x units
_BLOCK = 2_000_000
# times x covariates x units beyond which many subjects have standard errors of first order
_LARGE = 2_000_000
# leverage of a row that is fitted whatever it says
_ALONE = 1.0 - 1e-6


@dataclass(frozen=True)
class PointErrors:
    """Curves around which intervals lie, with influence functions whose squares are not too small.

    But for large data, scores are enlarged by the square root of their leverage (HC2), and quantiles are
    those of Student's t with the degrees of freedom of Bell and McCaffrey. Where the mean is bounded,
    standard errors grow with the estimate, so that there are no heavy tails: quantiles are normal there, as
    in bands.
    """

    fitted: FittedCurves
    smoothed: bool
    curves: Estimate
    influence: Influence
    large: bool

    def errors(self, matrix: Array, where: Places) -> tuple[Array, Array]:
        """Standard errors and degrees of freedom of contrasts (rows, covariates) at times, (times, rows)."""
        some = max(1, HELD // max(len(where) * self.influence.shape[2], 1))
        parts = [self._some(matrix[k : k + some], where) for k in range(0, len(matrix), some)]
        se, df = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
        return se, df

    def _some(self, matrix: Array, where: Places) -> tuple[Array, Array]:
        fitted, psi = self.fitted, self.influence.contrast(matrix, where)
        se = standard_errors(psi)
        if fitted.equations.bounded or (self.large and not self.smoothed):
            return se, np.full(se.shape, np.inf)
        if self.smoothed:
            return se, variance_df(psi**2 / np.maximum((psi**2).sum(axis=2, keepdims=True), 1e-300))
        if not fitted.has_leverage:
            return se, np.full(se.shape, max(psi.shape[2] - 1.0, 1.0))
        design, equations = fitted.design.at_times(where), fitted.equations
        parts = score_parts(design, fitted.raw.beta[where], equations.link, equations.variance)
        return se, leverage_df(parts, matrix @ parts.pull, design)


def point_errors(fitted: FittedCurves, smoothed: bool) -> PointErrors:
    """What pointwise intervals of the raw, or around the smoothed curves are made of."""
    large = fitted.design.x.size > _LARGE and not fitted.few(np.eye(len(fitted.design.names)))
    if smoothed:
        return PointErrors(fitted, True, *fitted.corrected(), large)
    influence = fitted.influence(smoothed=False) if large else fitted.enlarged_influence(0.5)
    return PointErrors(fitted, False, fitted.raw, influence, large)


def quantile(level: float, df: Array) -> Array:
    """Two-sided quantile of Student's t, normal where `df` is infinite, and infinite where it is 0."""
    found = student.ppf(0.5 + level / 2.0, np.where(df > 0, df, 1.0))
    return np.where(df > 0, found, np.inf)


def leverage_df(parts: ScoreParts, pull: Array, design: ProcessDesign) -> Array:
    """Degrees of freedom of HC2 variances, (times, rows), as if scores had the working variance.

    `pull` (times, rows, units) turns scores into influence functions of the contrasts. The variance is a
    quadratic form of the scores, whose first two moments are those of a multiple of chi-square: few high
    leverages leave few degrees of freedom, however many subjects there are. None (0) where one subject alone
    tells an effect, as the only one of an arm: nothing says how far it may be off.
    """
    n_times, rows, n = pull.shape
    out = np.empty((n_times, rows))
    some = max(1, _BLOCK // (n_times * parts.q.shape[1] * n))
    for first in range(0, rows, some):
        here = slice(first, first + some)
        a = pull[:, here] / np.sqrt(np.maximum(1.0 - parts.leverage, 1e-8))[:, None, :]
        own = design.gather(a**2 * parts.weight[:, None, :])
        weighted = (a * parts.weight[:, None, :])[:, :, None, :]
        u, v = (design.gather(weighted * side[:, None]) for side in (parts.q, parts.back))
        lost = (u * v).sum(axis=2)
        cross = u @ v.swapaxes(2, 3)
        trace = (own - lost).sum(axis=2)
        square = (own**2 - 2.0 * own * lost).sum(axis=2) + np.einsum("trkl,trlk->tr", cross, cross)
        out[:, here] = np.where(square > 0, trace**2 / np.where(square > 0, square, 1.0), 1.0)
    alone = (parts.leverage > _ALONE)[:, None, :] & (
        np.abs(pull) > 1e-6 * np.abs(pull).max(axis=2, keepdims=True)
    )
    return np.where(alone.any(axis=2), 0.0, np.maximum(out, 1.0))
