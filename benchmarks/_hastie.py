"""Designs of Hastie, Tibshirani and Tibshirani (2020), "Best subset, forward stepwise or lasso?".

Rows are normal with correlation rho^|i - j| between columns; the first s coefficients are one (their second
type) and the noise gives the signal-to-noise ratio.
"""

from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

SIZES = {"n50-p1000": (50, 1000, 5), "n100-p1000": (100, 1000, 10), "n500-p100": (500, 100, 5)}
CORRELATIONS = (0.0, 0.35, 0.7)
# their ten ratios, and every second of them with the last
ALL_RATIOS = (0.05, 0.09, 0.14, 0.25, 0.42, 0.71, 1.22, 2.07, 3.52, 6.0)
RATIOS = (0.05, 0.14, 0.42, 1.22, 6.0)


class Design(NamedTuple):
    """Rows, response, coefficients, noise variance and correlation."""

    X: np.ndarray
    y: np.ndarray
    coef: np.ndarray
    noise: float
    correlation: float

    def rows(self, n, rng):
        """More rows of the same kind."""
        X = _rows(n, len(self.coef), self.correlation, rng)
        return X, X @ self.coef + np.sqrt(self.noise) * rng.standard_normal(n)

    def relative_error(self, coef, intercept):
        """Test error in units of the noise variance: one is the truth, 1 + SNR is no model."""
        off = coef - self.coef
        # the quadratic form of rho^|i - j| in O(p)
        before = lfilter([0.0, 1.0], [1.0, -self.correlation], self.correlation * off)
        return 1.0 + (off @ off + 2.0 * off @ before + intercept**2) / self.noise

    def covariance(self):
        """Of the columns."""
        places = np.arange(len(self.coef))
        return self.correlation ** np.abs(np.subtract.outer(places, places))


def design(size, correlation, ratio, seed):
    """One data set."""
    n, p, s = SIZES[size]
    rng = np.random.default_rng([seed, n, p, round(100 * correlation), round(100 * ratio)])
    X = _rows(n, p, correlation, rng)
    coef = np.zeros(p)
    coef[:s] = 1.0
    places = np.arange(s)
    signal = (correlation ** np.abs(np.subtract.outer(places, places))).sum()
    noise = signal / ratio
    return Design(X, X @ coef + np.sqrt(noise) * rng.standard_normal(n), coef, noise, correlation)


def _rows(n, p, correlation, rng):
    fresh = rng.standard_normal((n, p))
    fresh[:, 1:] *= np.sqrt(1.0 - correlation**2)
    return lfilter([1.0], [1.0, -correlation], fresh, axis=1)
