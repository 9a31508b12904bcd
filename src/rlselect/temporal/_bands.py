"""Pointwise intervals and simultaneous bands around effect curves."""

import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rlselect._compat import user_level
from rlselect._options import check_value, number, one_of, whole
from rlselect.temporal._curves import FittedCurves, contrasted
from rlselect.temporal._estimate import Estimate, standard_errors
from rlselect.temporal._few import warn_of_few
from rlselect.temporal._hypotheses import FlaggedTimeWarning
from rlselect.temporal._influence import Influence, each_covariate
from rlselect.temporal._points import PointErrors, point_errors, quantile
from rlselect.temporal._resample import sup_normal, sup_refit

Array = NDArray[np.float64]

BandMethod: TypeAlias = Literal["sup", "dissertation"]
Resampling: TypeAlias = Literal["multiplier", "refit"]

_LEVEL = number("a number between 0 and 1", above=0.0, below=1.0)
# share of (draw, time) pairs that may be lost in refits before it is worth a word
_LOST = 0.05


@dataclass(frozen=True)
class Band:
    """Lower and upper curves around estimated effects.

    Attributes
    ----------
    estimate, lower, upper : data frames, times x covariates; NaN at flagged times
    level : float
    critical : dict
        Multiple of the standard error used, per covariate; the largest where it differs between times.
    kind : str
        ``"pointwise"``, or the method of the simultaneous band.
    se, df : data frames, times x covariates, or None
        Of pointwise intervals: their standard errors, corrected for few subjects, and the degrees of freedom
        of their quantiles; infinite where these are normal.

    Notes
    -----
    ``lower, upper = band`` unpacks, ``band["age"]`` gives one covariate's curves side by side.
    """

    estimate: Any
    lower: Any
    upper: Any
    level: float
    critical: dict[str, float]
    kind: str
    se: Any = None
    df: Any = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.lower, self.upper))

    def __getitem__(self, covariate: str) -> Any:
        if covariate not in self.lower.columns:
            raise KeyError(f"{covariate!r} is not a covariate; covariates: {', '.join(self.lower.columns)}")
        import pandas as pd

        sides = {"estimate": self.estimate, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame({side: curves[covariate] for side, curves in sides.items()})

    def excludes(self, value: float = 0.0) -> Any:
        """Where the band lies wholly on one side of a value: data frame of bool, times x covariates."""
        return (self.lower > value) | (self.upper < value)


def pointwise_band(fitted: FittedCurves, level: float, *, smoothed: bool) -> Band:
    """See `TemporalProcessRegression.conf_int`."""
    check_value("level", level, _LEVEL)
    every = np.eye(len(fitted.design.names))
    warn_of_few(fitted.design, contrasted(every))
    points = point_errors(fitted, smoothed)
    where = np.flatnonzero(np.isfinite(points.curves.beta).all(axis=1))
    se, df = (np.full(points.curves.beta.shape, np.nan) for _ in range(2))
    se[where], df[where] = points.errors(every, where)
    critical = np.where(np.isfinite(se), quantile(level, df), np.nan)
    band = _around(fitted, smoothed, points.curves.beta, critical * se, critical, level, "pointwise")
    return replace(band, se=fitted.frame(se), df=fitted.frame(df))


def simultaneous_band(
    fitted: FittedCurves,
    level: float,
    *,
    method: BandMethod = "sup",
    smoothed: bool = False,
    resample: Resampling = "multiplier",
    n_draws: int,
    rng: np.random.Generator,
    small_sample: bool = True,
) -> Band:
    """See `TemporalProcessRegression.bands`."""
    check_value("level", level, _LEVEL)
    check_value("method", method, one_of(*get_args(BandMethod)))
    check_value("resample", resample, one_of(*get_args(Resampling)))
    check_value("n_draws", n_draws, whole(1))
    small_sample = small_sample and method == "sup"
    if small_sample:
        warn_of_few(fitted.design, np.arange(len(fitted.design.names)))
    splines = smoothed and fitted.splines is not None
    if splines and (method, resample) != ("sup", "multiplier"):
        raise ValueError("bands of splines are those of method='sup' with resample='multiplier'")
    kind = "spline" if splines else method
    if small_sample and resample == "multiplier":
        points = point_errors(fitted, smoothed)
        reach, critical = _reach(points, np.eye(len(fitted.design.names)), level, n_draws, rng)
        return _around(fitted, smoothed, points.curves.beta, reach, critical, level, kind)
    curves, influence = fitted.curves(smoothed), fitted.influence(smoothed)
    if smoothed and method == "sup":
        curves, influence = fitted.corrected(small_sample=small_sample)
    if resample == "refit":
        draws = _refit_draws(fitted, curves, smoothed, n_draws, rng, corrected=method == "sup")
    else:
        draws = _sup_draws(influence, np.flatnonzero(np.isfinite(curves.beta).all(axis=1)), n_draws, rng)
    critical = np.quantile(draws, level if method == "sup" else 1.0 - (1.0 - level) / 2.0, axis=0)
    return _around(fitted, smoothed, curves.beta, critical * curves.se, critical, level, kind)


def contrast_band(
    fitted: FittedCurves,
    contrast: Array,
    level: float,
    *,
    smoothed: bool,
    n_draws: int,
    rng: np.random.Generator,
    small_sample: bool,
) -> tuple[Array, Array, Array]:
    """Estimate, lower and upper curve of one contrast of the coefficients, NaN at flagged times."""
    check_value("level", level, _LEVEL)
    check_value("n_draws", n_draws, whole(1))
    shown, row = fitted.curves(smoothed), contrast[None, :]
    if small_sample:
        warn_of_few(fitted.design, contrasted(row))
        points = point_errors(fitted, smoothed)
        value, reach = points.curves.beta @ contrast, _reach(points, row, level, n_draws, rng)[0][:, 0]
    else:
        curves, influence = shown, fitted.influence(smoothed=False)
        if smoothed:
            curves, influence = fitted.corrected(small_sample=False)
        where = np.flatnonzero(np.isfinite(curves.beta).all(axis=1))
        psi = influence.contrast(row, where)
        value, reach = curves.beta @ contrast, np.full(len(curves.beta), np.nan)
        reach[where] = (
            np.quantile(sup_normal(psi, n_draws, rng, shrink=False), level) * standard_errors(psi)[:, 0]
        )
    return shown.beta @ contrast, value - reach, value + reach


def _reach(
    points: PointErrors, matrix: Array, level: float, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """How far bands of contrasts (rows, covariates) reach, and in standard errors, (times, rows).

    A band is the pointwise interval of a higher level: of that which a normal process with the correlations
    of the curve keeps at all times together with probability `level`. So each time has the quantile of its
    own degrees of freedom.
    """
    where = np.flatnonzero(np.isfinite(points.curves.beta).all(axis=1))
    reach, critical = (np.full((len(points.curves.beta), len(matrix)), np.nan) for _ in range(2))
    for rows, psi, se, df in points.blocks(matrix, where):
        # all rows have the same multipliers
        draws = sup_normal(psi, n_draws, deepcopy(rng), shrink=not points.fitted.is_large)
        out = norm.sf(np.quantile(draws, level, axis=0))
        critical[where, rows] = quantile(1.0 - 2.0 * out, df)
        reach[where, rows] = critical[where, rows] * se
    return reach, critical


def _sup_draws(
    influence: Influence, where: NDArray[np.intp], n_draws: int, rng: np.random.Generator
) -> Array:
    """Draws of the supremum of each covariate, all from the same multipliers: (draws, covariates)."""
    found = each_covariate(influence, where)
    return np.concatenate([sup_normal(psi, n_draws, deepcopy(rng), shrink=False) for _, psi in found], axis=1)


def _refit_draws(
    fitted: FittedCurves,
    curves: Estimate,
    smoothed: bool,
    n_draws: int,
    rng: np.random.Generator,
    *,
    corrected: bool,
) -> Array:
    refit = partial(fitted.refitted_curve, smoothed=smoothed, corrected=corrected)
    draws, lost = sup_refit(refit, fitted.design, curves.beta, curves.se, n_draws, rng)
    if len(draws) == 0:
        raise ValueError("no resample could be estimated; use resample='multiplier'")
    if lost > _LOST:
        warnings.warn(
            f"{lost:.0%} of the resampled time points could not be estimated and were left out; "
            "resample='multiplier' does not need them",
            FlaggedTimeWarning,
            stacklevel=user_level(),
        )
    return draws


def _around(
    fitted: FittedCurves,
    smoothed: bool,
    middle: Array,
    reach: Array,
    critical: Array,
    level: float,
    kind: str,
) -> Band:
    """A band that goes `reach` to both sides of `middle`; `critical` may be one number per covariate."""
    largest = np.nanmax(np.atleast_2d(critical), axis=0)
    return Band(
        fitted.frame(fitted.curves(smoothed).beta),
        fitted.frame(middle - reach),
        fitted.frame(middle + reach),
        level,
        {name: float(c) for name, c in zip(fitted.design.names, largest, strict=True)},
        kind,
    )
