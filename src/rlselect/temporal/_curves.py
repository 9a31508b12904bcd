"""Fitted curves, raw and smoothed: what bands, tests, predictions and reports are made of."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._equations import Equations
from rlselect.temporal._estimate import Estimate, jackknife_factor
from rlselect.temporal._smooth import Window, smooth, smooth_values

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FittedCurves:
    """A fit, aligned: the design, the equations and their solution.

    Attributes
    ----------
    time_name : what the index of the curves is called
    window : how curves are smoothed, None without smoothing
    """

    design: ProcessDesign
    equations: Equations
    raw: Estimate
    time_name: str
    window: Window | None = None

    def curves(self, smoothed: bool) -> Estimate:
        """The raw or the smoothed curves."""
        if not smoothed:
            return self.raw
        if self._smoothed is None:
            raise ValueError(
                "smoothed=True needs a smoothed fit; set bandwidth to a number or 'cv' and fit again"
            )
        return self._smoothed

    @cached_property
    def _smoothed(self) -> Estimate | None:
        return None if self.window is None else smooth(self.raw, self.design.clock, self.window)

    @cached_property
    def leave_one_out(self) -> Array | None:
        """Factor (times, subjects) from influence functions to changes without the subject, where exact."""
        if not self.equations.exact_leave_one_out:
            return None
        return jackknife_factor(self.design, self.raw, self.equations.link, self.equations.variance)

    def drawn_psi(self, smoothed: bool) -> Array:
        """Influence functions that draws are made of in small samples: leave-one-out where exact."""
        if self.leave_one_out is None:
            return self.curves(smoothed).psi
        psi = self.raw.psi * self.leave_one_out[:, None, :]
        if smoothed and self.window is not None:
            return smooth_values(psi, self.raw.sound, self.design.clock, self.window)
        return psi

    def refitted_curve(self, design: ProcessDesign, smoothed: bool) -> Array:
        """The curves of resampled subjects, (times, covariates)."""
        raw = self.equations.solve(design)
        if not smoothed or self.window is None or not raw.sound.any():
            return raw.beta
        return smooth_values(raw.beta, raw.sound, design.clock, self.window)

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
