"""Fitted curves, raw and smoothed: what bands, tests, predictions and reports are made of."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._equations import Equations
from rlselect.temporal._estimate import Estimate, ScoreParts, score_parts
from rlselect.temporal._small import ENOUGH, WildDraws
from rlselect.temporal._smooth import Window, smooth, smooth_values
from rlselect.temporal._splines import SplineCurves, spline_estimate

Array = NDArray[np.float64]


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
        if not smoothed:
            return self.raw
        if self._smoothed is None:
            raise ValueError("smoothed=True needs a smoothed fit; set bandwidth or n_splines and fit again")
        return self._smoothed

    @cached_property
    def _smoothed(self) -> Estimate | None:
        if self.splines is not None:
            return spline_estimate(self.design, self.equations, self.raw, self.splines)
        return None if self.window is None else smooth(self.raw, self.design.clock, self.window)

    @property
    def few(self) -> bool:
        """Whether references of first order are not enough for so few subjects."""
        return self.design.n_independent < ENOUGH

    def score_parts(self) -> ScoreParts | None:
        """Scores and leverages at the sound times.

        None with constant effects, which all times share, and with weights that were estimated: there only
        the influence functions are known.
        """
        if self.equations.constant or self.design.dropout is not None:
            return None
        return score_parts(self.design, self.raw, self.equations.link, self.equations.variance)

    def leave_one_out_psi(self) -> Array:
        """Changes of the sound times without each subject, times n: (times, covariates, subjects).

        Exact for linear models, to first order for others. With many subjects, and where leverage is not
        known, they are the plain ones.
        """
        parts = self.score_parts() if self.few or self.equations.exact_leave_one_out else None
        sound = self.raw.sound
        if parts is not None:
            return self.design.gather_psi(parts.pull * parts.enlarged(1.0)[:, None, :])
        n = self.design.n_independent
        return (self.raw.psi if sound.all() else self.raw.psi[sound]) * (
            n / max(n - 1, 1) if self.few else 1.0
        )

    def wild_draws(self, matrix: Array, where: NDArray[np.intp]) -> WildDraws:
        """Draws of contrasts (rows, covariates) or (times, rows, covariates) at some of the sound times."""
        parts, psi = self.score_parts(), matrix @ self.raw.psi[where]
        if parts is None:
            return WildDraws(None, psi, psi)
        some = np.isin(np.flatnonzero(self.raw.sound), where)
        parts = parts if some.all() else parts.at(some)
        return WildDraws(parts, psi, matrix @ parts.pull, self.design)

    def drawn_psi(self, smoothed: bool) -> Array:
        """Influence functions (all times) for draws with many subjects: leave-one-out where exact."""
        if not self.equations.exact_leave_one_out:
            return self.curves(smoothed).psi
        psi = np.full_like(self.raw.psi, np.nan)
        psi[self.raw.sound] = self.leave_one_out_psi()
        if smoothed and self.window is not None:
            return smooth_values(psi, self.raw.sound, self.design.clock, self.window)
        return psi

    def refitted_curve(self, design: ProcessDesign, smoothed: bool) -> Array:
        """The curves of resampled subjects, (times, covariates)."""
        raw = self.equations.solve(design)
        if smoothed and self.splines is not None:
            return spline_estimate(design, self.equations, raw, self.splines, for_bands=True).beta
        if not smoothed or self.window is None or not raw.sound.any():
            return raw.beta
        return smooth_values(raw.beta, raw.sound, design.clock, self.window)

    def covariance(self, first: int, second: int, smoothed: bool) -> Array:
        """Covariance of the coefficients at two times, (covariates, covariates)."""
        psi = self.curves(smoothed).psi
        return psi[first] @ psi[second].T / psi.shape[2] ** 2

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
