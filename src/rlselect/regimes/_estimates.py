"""Estimated values of regimes: the mean of one score per subject, with its standard error and interval."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

from rlselect.regimes._sample import Sample

__all__ = ["RegimeComparison", "RegimeValue", "from_scores"]

# limits of rewards that may be any number
_EVERYTHING = (-math.inf, math.inf)


@dataclass(frozen=True)
class RegimeValue:
    """Estimated value of a regime.

    Attributes
    ----------
    value, standard_error : float
    interval : tuple of (float, float)
    level : float
        Of the interval.
    method : {"dr", "ipw", "plug-in", "observed"}
    scores : (n,) array
        One per subject, or per cluster of subjects, weights included; their mean is ``value``, cut off with
        the interval at what rewards of 0 or 1 and counts can be, and their spread gives ``standard_error``.
        Where they were averaged over several splits into folds, the standard
        error is that of a single split.
    split_scores : (k, n) array or None
        The same of each split.
    learning_variance : float
        What the chance of learning adds to the square of the standard error, 0 for regimes that are given:
        where actions are equally good, other subjects would have taught another regime.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    method: str
    scores: np.ndarray = field(repr=False, compare=False)
    split_scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    learning_variance: float = 0.0

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        # two digits of the error, and as many decimals of the others
        error = self.standard_error
        places = 1 - math.floor(math.log10(error)) if 1e-6 < error < 1e6 else None
        value, low, high = (
            f"{v:.4g}" if places is None else f"{v:.{max(places, 0)}f}" for v in (self.value, *self.interval)
        )
        told = f"standard error {error:.2g}, {100 * self.level:.4g} % interval {low} to {high}"
        return f"{value} ({told})"

    def less(self, other: "RegimeValue") -> "RegimeValue":
        """What is left after another value of the same subjects, with the paired standard error.

        Split by split: averages over splits vary less between subjects than a regime learnt once does.
        """
        mine, others = self._by_split(), other._by_split()
        if len(mine) != len(others) and min(len(mine), len(others)) > 1:
            mine, others = self.scores[None], other.scores[None]
        learning = self.learning_variance + other.learning_variance
        return _summed_up(mine - others, self.method, self.level, learning)

    def _by_split(self) -> np.ndarray:
        """Scores (k, n), k = 1 where there were no splits."""
        return self.scores[None] if self.split_scores is None else self.split_scores


def from_scores(
    scores: np.ndarray,
    method: str,
    level: float,
    sample: Sample | None = None,
    apart: np.ndarray | None = None,
    limits: tuple[float, float] = _EVERYTHING,
) -> RegimeValue:
    """Mean, standard error and interval of influence-function scores: (n,), or (splits, n).

    Scores of a ``sample`` are weighted and added up within its clusters first.

    Few subjects follow a regime through many stages, and their weights are large: the standard error is then
    uncertain itself. The quantile is Student's with the degrees of freedom that the kurtosis of the scores
    leaves to their variance, about n for normal ones. The mean of skewed scores is skewed, too, and its error
    goes with it: the interval reaches further to the side of the long tail. Several splits are averaged, but
    the standard error stays that of one: what an average varies less between splits is left for the regime
    that all subjects teach, which is worth more or less than those of the folds. To its square is added what
    the chance of learning does, see `_evaluation`: half the mean square of how far regimes from two halves of
    the subjects are ``apart``, (splits, divisions, stages, n). No value is beyond its ``limits``: doubly
    robust scores of few events may be on the mean.
    """
    splits = np.atleast_2d(scores if sample is None else sample.units(scores))
    learning = 0.0
    if apart is not None:
        units = apart if sample is None else sample.influences(apart)
        learning = float(0.5 * np.square(units).mean(axis=-1).sum(axis=-1).mean() / splits.shape[1])
    return _summed_up(splits, method, level, learning, limits)


def _summed_up(
    splits: np.ndarray,
    method: str,
    level: float,
    learning: float,
    limits: tuple[float, float] = _EVERYTHING,
) -> RegimeValue:
    """The value of independent units with scores (splits, n)."""
    mean, n = splits.mean(axis=0), splits.shape[1]
    value, chance = float(mean.mean()), float(splits.var(axis=1, ddof=1).mean() / n)
    error = math.sqrt(chance + learning)
    # what learning adds to the error is of either sign alike
    skewness = _skewness(mean) * (chance / (chance + learning)) ** 1.5 if chance > 0.0 else 0.0
    quantile = float(student.ppf(0.5 + 0.5 * level, _degrees_of_freedom(mean)))
    below, above = (error * reach for reach in _reaches(quantile, skewness / math.sqrt(n)))
    value, *ends = (float(np.clip(v, *limits)) for v in (value, value - below, value + above))
    interval = (ends[0], ends[1])
    return RegimeValue(value, error, interval, level, method, mean, splits, learning)


def _degrees_of_freedom(scores: np.ndarray) -> float:
    """Of the chi-square variable that varies as much, for its mean, as the variance of the scores."""
    n, square = len(scores), np.square(scores - scores.mean())
    if not square.any():
        return n - 1.0
    kurtosis = float(np.mean(square**2) / np.mean(square) ** 2)
    return min(n - 1.0, max(1.0, 2.0 * n / max(kurtosis - 1.0, 1e-12)))


def _skewness(scores: np.ndarray) -> float:
    """Third central moment in units of the standard deviation, 0 of scores that do not vary."""
    away = scores - scores.mean()
    spread = float(np.mean(away**2))
    return float(np.mean(away**3)) / spread**1.5 if spread > 0.0 else 0.0


def _reaches(quantile: float, skewness: float) -> tuple[float, float]:
    """How far an interval reaches below and above a mean of this skewness, in standard errors.

    Hall's transformation of the studentized mean (Journal of the Royal Statistical Society B, 1992):
    t + k t^2 / 3 + k^2 t^3 / 27 + k / 6 has no skewness of first order, and rises everywhere.
    """
    if abs(skewness) < 1e-6:
        return quantile, quantile
    high, low = (
        3.0 / skewness * (np.cbrt(1.0 + skewness * (end - skewness / 6.0)) - 1.0)
        for end in (quantile, -quantile)
    )
    return max(float(high), 0.0), max(-float(low), 0.0)


@dataclass(frozen=True, repr=False)
class RegimeComparison:
    """Values of several regimes on the same subjects.

    Attributes
    ----------
    values : dict of RegimeValue
    """

    values: dict[str, RegimeValue]

    def difference(self, first: str, second: str) -> RegimeValue:
        """Value of one regime less that of another, with the paired standard error."""
        for name in (first, second):
            if name not in self.values:
                raise ValueError(f"no regime is called {name!r}; the names are {list(self.values)}")
        return self.values[first].less(self.values[second])

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.values.items())

    __repr__ = __str__
