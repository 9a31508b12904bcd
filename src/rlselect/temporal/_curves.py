"""Fitted curves, raw and smoothed: what bands, tests, predictions and reports are made of."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._limits import require_memory
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._equations import Equations
from rlselect.temporal._estimate import Estimate, estimate_under, score_parts
from rlselect.temporal._few import is_few
from rlselect.temporal._influence import (
    CarefulInfluence,
    HeldInfluence,
    Influence,
    LeadingInfluence,
    SolvedInfluence,
    errors_of,
)
from rlselect.temporal._small import WildDraws
from rlselect.temporal._smooth import Window, smooth_influence, smooth_values
from rlselect.temporal._splines import SplineCurves, spline_estimate

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# times x covariates x units beyond which many subjects have standard errors of first order
_LARGE = 2_000_000


def contrasted(matrix: Array) -> Places:
    """Covariates that take part in contrasts (..., rows, covariates)."""
    return np.flatnonzero((matrix != 0).any(axis=tuple(range(matrix.ndim - 1))))


@dataclass(frozen=True)
class FittedCurves:
    """A fit, aligned: the design, the equations and their solution.

    Attributes
    ----------
    time_name : what the index of the curves is called
    window, splines : how curves are smoothed, by a kernel or as splines; None without
    """

    design: ProcessDesign
    equations: Equations
    raw: Estimate
    time_name: str
    window: Window | None = None
    splines: SplineCurves | None = None

    @property
    def is_smoothed(self) -> bool:
        """Whether there are smoothed curves beside the raw ones."""
        return self.window is not None or self.splines is not None

    def curves(self, smoothed: bool) -> Estimate:
        """The raw or the smoothed curves."""
        return self._smoothed if smoothed else self.raw

    @cached_property
    def _smoothed(self) -> Estimate:
        if self.splines is not None:
            return spline_estimate(self.design, self.equations, self.raw, self.splines)[0]
        if self.window is None:
            raise ValueError("smoothed=True needs a smoothed fit; set bandwidth or n_splines and fit again")
        beta = smooth_values(self.raw.beta, self.raw.sound, self.design.clock, self.window)
        se = errors_of(self.influence(smoothed=True), np.flatnonzero(self.raw.sound))
        return replace(self.raw, beta=beta, se=se, psi=None)

    def influence(self, smoothed: bool) -> Influence:
        """Influence functions of the raw or the smoothed curves."""
        if smoothed and self.splines is not None:
            return spline_estimate(self.design, self.equations, self.raw, self.splines)[1]
        raw = self._solved() if self.raw.psi is None else HeldInfluence(self.raw.psi)
        return self._by_window(raw) if smoothed else raw

    def _by_window(self, raw: Influence, *, corrected: bool = False) -> Influence:
        if self.window is None:
            return raw
        window = self.window.narrower() if corrected else self.window
        return smooth_influence(raw, self.raw.sound, self.design.clock, window, corrected=corrected)

    def corrected(self, *, small_sample: bool = True) -> tuple[Estimate, Influence]:
        """Smoothed curves without what smoothing has flattened, and influence functions, for inference.

        Splines are those without a penalty; a narrower kernel is applied once more, to what it has left of
        the raw curves. With `small_sample`, a kernel's influence functions are careful ones.
        """
        smoothed = self._smoothed
        if self.splines is not None:
            return spline_estimate(self.design, self.equations, self.raw, self.splines, for_bands=True)
        assert self.window is not None
        raw = self.careful_influence() if small_sample else self.influence(smoothed=False)
        influence = self._by_window(raw, corrected=True)
        sound, clock = self.raw.sound, self.design.clock
        beta = smooth_values(self.raw.beta, sound, clock, self.window.narrower(), corrected=True)
        return replace(smoothed, beta=beta, se=errors_of(influence, np.flatnonzero(sound))), influence

    @cached_property
    def bending(self) -> "FittedCurves | None":
        """Local estimation whose effects may bend within the window; None where visits are not local."""
        design = self.design.bending(self.design.positions(self.equations.constant, "constant"))
        if design is None:
            return None
        return FittedCurves(design, self.equations, self.equations.solve(design), self.time_name)

    def unbiased(self) -> tuple[Estimate, Influence]:
        """The raw curves, and influence functions, for inference.

        Local estimation flattens what bends, by the square of the window's width, and at the ends what rises:
        inference is about effects that are quadratic in time within the window. NaN where these cannot be
        estimated.
        """
        if self.bending is None:
            return self.raw, self.careful_influence()
        p = len(self.design.names)
        beta = np.where(self.raw.sound[:, None], self.bending.raw.beta[:, :p], np.nan)
        return replace(self.raw, beta=beta), LeadingInfluence(self.bending.careful_influence(), p)

    def _solved(self, *, power: float = 0.0) -> SolvedInfluence:
        equations = self.equations
        return SolvedInfluence(self.design, self.raw.beta, equations.link, equations.variance, power)

    def whole_influence(self) -> Array:
        """All influence functions of the raw curves, (times, covariates, subjects), NaN at flagged times."""
        if self.raw.psi is not None:
            return self.raw.psi
        found, p = self.influence(smoothed=False), len(self.design.names)
        size = float(np.prod(found.shape))
        require_memory(16.0 * size, f"{size:.3g} influence functions", "test, bands or covariance")
        out = np.full(found.shape, np.nan)
        where = np.flatnonzero(self.raw.sound)
        out[where] = found.contrast(np.eye(p), where)
        return out

    def few(self, matrix: Array) -> bool:
        """Whether references of first order are not enough for contrasts (..., rows, covariates)."""
        return is_few(self.design, contrasted(matrix))

    @property
    def has_leverage(self) -> bool:
        """Whether leverages are known.

        Not with constant effects, which all times share, and with weights that were estimated.
        """
        return not self.equations.constant and self.design.dropout is None

    def leave_one_out(self, *, few: bool) -> Influence:
        """Changes of the raw curves without each subject, times n.

        Exact for linear models, to first order for others. Without `few`, and where leverage is not known,
        they are the plain ones.
        """
        if few or (self.has_leverage and self.equations.exact_leave_one_out):
            return self.enlarged_influence(1.0)
        return self.influence(smoothed=False)

    def enlarged_influence(self, power: float) -> Influence:
        """Influence functions of the raw curves from enlarged scores; as of a sample without leverage."""
        if self.has_leverage:
            return self._solved(power=power)
        plain, n = self.influence(smoothed=False), self.design.n_independent
        if isinstance(plain, HeldInfluence):
            return HeldInfluence(plain.psi * (n / max(n - 1, 1)) ** power)
        return plain

    @cached_property
    def is_binary(self) -> bool:
        """Whether responses are 0 and 1 with a bounded mean, which then tells their variance."""
        known = self.equations.bounded and self.equations.variance == "binomial"
        return known and bool(np.isin(self.design.y, (0.0, 1.0)).all())

    @cached_property
    def is_large(self) -> bool:
        """Whether there is so much data that standard errors of first order are enough."""
        return self.design.x.size > _LARGE and not self.few(np.eye(len(self.design.names)))

    def careful_influence(self) -> Influence:
        """Influence functions of the raw curves for intervals and bands; the plain ones of large data."""
        if self.is_large:
            return self.influence(smoothed=False)
        if not self.has_leverage:
            return self.enlarged_influence(0.5)
        design, equations = self.design, self.equations
        refit = not (equations.bounded or equations.exact_leave_one_out)
        return CarefulInfluence(
            design, self.raw.beta, equations.link, equations.variance, refit, self.is_binary
        )

    def null_draws(self, matrix: Array, value: Array, where: Places) -> tuple[WildDraws, Places] | None:
        """Draws of contrasts around the curves nearest to the data that have the values, and their times.

        `matrix` (times, rows, covariates) and `value` (times, rows) are of all times. Of the times `where`,
        separated ones count too if the curves that the hypothesis allows can be estimated there: left out,
        tests would not see where an effect is largest. None where leverage is not known, or where these
        curves cannot be estimated at a sound time.
        """
        if not self.has_leverage:
            return None
        link, variance, sound = self.equations.link, self.equations.variance, self.raw.sound
        where = where[sound[where] | self.raw.separated[where]]
        there, beta, free = estimate_under(
            self.design.at_times(where), matrix[where], value[where], link, variance
        )
        if (sound[where] & ~there).any():
            return None
        where = where[there]
        design = self.design.at_times(where)
        whole = score_parts(design, beta, link, variance)
        pull = matrix[where] @ whole.pull
        psi = design.gather_psi(pull * whole.score[:, None, :])
        # where an estimate may be infinite nothing is left at it that could tell a standard error
        parts = free if self.equations.bounded or not sound[where].all() else whole
        return WildDraws(parts, psi, pull, self.design, free), where

    def refitted_curve(self, design: ProcessDesign, smoothed: bool, corrected: bool) -> Array:
        """The curves of resampled subjects, (times, covariates)."""
        raw = self.equations.solve(design)
        if not smoothed or self.window is None or not raw.sound.any():
            return raw.beta
        window = self.window.narrower() if corrected else self.window
        return smooth_values(raw.beta, raw.sound, design.clock, window, corrected=corrected)

    def covariance(self, first: int, second: int, smoothed: bool) -> Array:
        """Covariance of the coefficients at two times, (covariates, covariates)."""
        found, one = self.influence(smoothed), np.eye(len(self.design.names))
        if not (np.isfinite(self.curves(smoothed).beta[[first, second]]).all()):
            return np.full(one.shape, np.nan)
        left, right = (found.contrast(one, np.array([time]))[0] for time in (first, second))
        return left @ right.T / found.shape[2] ** 2

    def frame(self, values: Array) -> Any:
        """Pandas data frame, times x covariates."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                'the curves are pandas data frames: pip install "rlselect[temporal]" brings pandas'
            ) from None
        index = pd.Index(self.design.times, name=self.time_name)
        return pd.DataFrame(values, index=index, columns=self.design.names)
