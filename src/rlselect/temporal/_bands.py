"""Pointwise intervals and simultaneous bands around effect curves."""

import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rlselect._compat import user_level
from rlselect._options import check_value, number, one_of, whole
from rlselect.temporal._curves import FittedCurves, contrasted
from rlselect.temporal._estimate import Estimate, standard_errors
from rlselect.temporal._few import warn_of_few
from rlselect.temporal._hypotheses import FlaggedTimeWarning
from rlselect.temporal._influence import Influence, each_covariate
from rlselect.temporal._points import point_errors, quantile
from rlselect.temporal._resample import sup_multiplier, sup_refit, variance_df
from rlselect.temporal._small import sup_wild

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
    se, df = points.errors(every, where)
    critical = np.full(points.curves.beta.shape, np.nan)
    critical[where] = quantile(level, df)
    curves = replace(points.curves, se=np.full(critical.shape, np.nan))
    curves.se[where] = se
    return _around(fitted, fitted.curves(smoothed).beta, curves, critical, level, "pointwise")


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
    every = np.eye(len(fitted.design.names))
    if small_sample:
        warn_of_few(fitted.design, contrasted(every))
    if smoothed and fitted.splines is not None and (method, resample) != ("sup", "multiplier"):
        raise ValueError("bands of splines are those of method='sup' with resample='multiplier'")
    if smoothed and method == "sup":
        return _corrected_band(fitted, level, resample, n_draws, rng, small_sample=small_sample)
    curves = fitted.curves(smoothed)
    if resample == "refit":
        draws = _refit_draws(fitted, curves, smoothed, n_draws, rng, corrected=False)
    elif small_sample and fitted.few(every):
        draws = _wild_draws(fitted, n_draws, rng)
    else:
        draws = _multiplier_draws(fitted, smoothed, n_draws, rng, small_sample=small_sample)
    critical = np.quantile(draws, level if method == "sup" else 1.0 - (1.0 - level) / 2.0, axis=0)
    return _around(fitted, curves.beta, curves, critical, level, method)


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
    curves, influence = shown, fitted.influence(smoothed=False)
    if smoothed:
        curves, influence = fitted.corrected(small_sample=small_sample)
    where = np.flatnonzero(np.isfinite(curves.beta).all(axis=1))
    psi = influence.contrast(row, where)
    se = standard_errors(psi)
    if small_sample:
        warn_of_few(fitted.design, contrasted(row))
    if small_sample and not smoothed and fitted.few(row):
        draws = sup_wild(fitted.wild_draws(row, where), se, n_draws, rng, bounded=fitted.equations.bounded)
    else:
        df = np.full(se.shape, np.inf)
        if small_sample and fitted.equations.heavy_tails:
            df = variance_df((psi / se[:, :, None] / psi.shape[2]) ** 2)
        draws = sup_multiplier(psi, se, df, n_draws, rng)
    value = curves.beta @ contrast
    reach = np.full(len(value), np.nan)
    reach[where] = np.quantile(draws[:, 0], level) * se[:, 0]
    return shown.beta @ contrast, value - reach, value + reach


def _corrected_band(
    fitted: FittedCurves,
    level: float,
    resample: Resampling,
    n_draws: int,
    rng: np.random.Generator,
    *,
    small_sample: bool,
) -> Band:
    """Around smoothed curves without what smoothing has flattened."""
    shown = fitted.curves(smoothed=True)
    curves, influence = fitted.corrected(small_sample=small_sample)
    where = np.flatnonzero(np.isfinite(curves.beta).all(axis=1))
    if resample == "refit":
        draws = _refit_draws(fitted, curves, True, n_draws, rng, corrected=True)
    else:
        student = fitted.splines is not None or (small_sample and fitted.equations.heavy_tails)
        draws = _sup_draws(influence, influence, where, curves.se[where], n_draws, rng, student=student)
    kind = "sup" if fitted.splines is None else "spline"
    return _around(fitted, shown.beta, curves, np.quantile(draws, level, axis=0), level, kind)


def _wild_draws(fitted: FittedCurves, n_draws: int, rng: np.random.Generator) -> Array:
    where = np.flatnonzero(fitted.raw.sound)
    wild = fitted.wild_draws(np.eye(len(fitted.design.names)), where)
    return sup_wild(wild, fitted.raw.se[where], n_draws, rng, bounded=fitted.equations.bounded)


def _multiplier_draws(
    fitted: FittedCurves, smoothed: bool, n_draws: int, rng: np.random.Generator, *, small_sample: bool
) -> Array:
    where, se = np.flatnonzero(fitted.raw.sound), fitted.curves(smoothed).se
    plain = fitted.influence(smoothed)
    exact = small_sample and fitted.equations.exact_leave_one_out
    drawn = fitted.leave_one_out(few=False) if exact else plain
    student = small_sample and fitted.equations.heavy_tails
    return _sup_draws(plain, drawn, where, se[where], n_draws, rng, student=student)


def _sup_draws(
    plain: Influence,
    drawn: Influence,
    where: NDArray[np.intp],
    se: Array,
    n_draws: int,
    rng: np.random.Generator,
    *,
    student: bool,
) -> Array:
    """Draws of the supremum of each covariate, all from the same multipliers: (draws, covariates).

    `student`: with the tails that standard errors made from the `plain` influence functions give.
    """
    out = []
    for here, psi in each_covariate(plain, where):
        df = np.full(psi.shape[:2], np.inf)
        if student:
            df = variance_df((psi / se[:, here, None] / psi.shape[2]) ** 2)
        if drawn is not plain:
            psi = drawn.contrast(np.eye(plain.shape[1])[here], where)
        out.append(sup_multiplier(psi, se[:, here], df, n_draws, deepcopy(rng)))
    return np.concatenate(out, axis=1)


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
    fitted: FittedCurves, shown: Array, curves: Estimate, critical: Array, level: float, kind: str
) -> Band:
    """`critical` is (covariates,) or (times, covariates)."""
    reach = critical * curves.se
    largest = np.nanmax(np.atleast_2d(critical), axis=0)
    return Band(
        fitted.frame(shown),
        fitted.frame(curves.beta - reach),
        fitted.frame(curves.beta + reach),
        level,
        {name: float(c) for name, c in zip(fitted.design.names, largest, strict=True)},
        kind,
    )
