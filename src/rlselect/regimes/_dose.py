r"""Doses: actions that are numbers, compared through a polynomial and valued by a kernel.

Q-functions see a dose through orthogonal polynomials, times whatever the history says; what may be
recommended is a grid of doses. With :math:`r(a \mid h)` the density of the dose given the history (the
generalised propensity), a subject counts for the dose d by :math:`K_b(A - d) / r(A \mid H)`, in place of
:math:`1\{A = d\} / \pi`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.stats import norm

from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._stages import HistoryColumn

__all__ = ["ACTION_TYPES", "ActionType", "DoseRange", "learn_doses"]

ActionType = Literal["label", "dose"]
ACTION_TYPES = ("label", "dose")
# candidates, degree of the polynomial, fewest different doses
_GRID, _DEGREE, _FEWEST = 21, 3, 10
# share of the doses that is left out at either end of what may be recommended, and residual standard
# deviations from what subjects of such a history were given
_TAIL, _REACH = 0.025, 2.0
# penalties of the model of the dose, per subject; infinity leaves the history out
_PENALTIES = (np.inf, 1.0, 0.1, 0.01)
# smallest density of a dose, as a share of that of doses that are spread evenly
_FLOOR = 0.05
# pairs of doses up to which densities are added up one by one; of more, knots per bandwidth, so many at most,
# and bandwidths from the last residual to nothing
_MANY_PAIRS, _KNOTS, _MOST_KNOTS, _FAR = 4_000_000, 16.0, 20_000, 8.0


@dataclass(frozen=True)
class DoseRange:
    """What was given at a stage, as candidates for what to give.

    Attributes
    ----------
    grid : (K,) array
        Candidate doses; doses in between are mixtures of their neighbours.
    codes : (K, 3) array
        Their polynomials, orthogonal over the doses that were given.
    low, high : float
        What may be recommended.
    encoder : HistoryEncoder
    coefficients : array
        Of the expected dose: an intercept, then the encoded history.
    residuals : array
        Of the doses that were given, each left out in turn.
    bandwidth : float
        Of the kernel of doses.
    """

    grid: np.ndarray
    codes: np.ndarray
    low: float
    high: float
    encoder: HistoryEncoder
    coefficients: np.ndarray
    residuals: np.ndarray
    bandwidth: float

    @property
    def needed(self) -> list[str]:
        """History columns that say what may be recommended."""
        return self.encoder.names if self.coefficients[1:].any() else []

    def expected(self, history: np.ndarray) -> np.ndarray:
        """Expected dose of rows of a history: (m,)."""
        return self.coefficients[0] + self.encoder.encode_history(history) @ self.coefficients[1:]

    def allowed(self, history: np.ndarray) -> np.ndarray:
        """Doses that such subjects were given, the nearest at least: (m, K) bool array."""
        inside = (self.grid >= self.low) & (self.grid <= self.high)
        away = np.where(inside, np.abs(self.grid - self.expected(history)[:, None]), np.inf)
        return away <= np.maximum(_REACH * self.residuals.std(), away.min(axis=1))[:, None]

    def mixture(self, doses: np.ndarray) -> np.ndarray:
        """Shares of the two neighbouring candidates in each dose: (m, K)."""
        right = np.clip(np.searchsorted(self.grid, doses), 1, len(self.grid) - 1)
        gap = self.grid[right] - self.grid[right - 1]
        share = np.clip((doses - self.grid[right - 1]) / gap, 0.0, 1.0)
        found = np.zeros((len(doses), len(self.grid)))
        rows = np.arange(len(doses))
        found[rows, right], found[rows, right - 1] = share, 1.0 - share
        return found

    def kernel(self, doses: np.ndarray) -> np.ndarray:
        """Kernel of doses and candidates, of unit mass within the range of doses: (m, K)."""
        b = self.bandwidth
        mass = norm.cdf((self.grid[-1] - self.grid) / b) - norm.cdf((self.grid[0] - self.grid) / b)
        return norm.pdf((doses[:, None] - self.grid) / b) / (b * mass)

    def densities(self, history: np.ndarray, doses: np.ndarray) -> np.ndarray:
        """Density of the dose that each of the subjects learnt from was given, without itself: (m,)."""
        found = self._density(doses - self.expected(history), without_itself=True)
        return np.maximum(found, _FLOOR / (self.grid[-1] - self.grid[0]))

    def masses(self, history: np.ndarray) -> np.ndarray:
        """Probability of the neighbourhood of each candidate: (m, K)."""
        edges = np.concatenate([self.grid[:1], 0.5 * (self.grid[1:] + self.grid[:-1]), self.grid[-1:]])
        away = self.grid - self.expected(history)[:, None]
        found = self._density(away.ravel()).reshape(away.shape) * np.diff(edges) + 1e-12
        return found / found.sum(axis=1, keepdims=True)

    def _density(self, residuals: np.ndarray, *, without_itself: bool = False) -> np.ndarray:
        n, b = len(self.residuals), _rule_of_thumb(self.residuals)
        if len(residuals) * n > _MANY_PAIRS:
            return self._by_spline(residuals, b, without_itself)
        kernel = norm.pdf((residuals[:, None] - self.residuals) / b) / b
        if without_itself:
            np.fill_diagonal(kernel, 0.0)
            return kernel.sum(axis=1) / (n - 1)
        return kernel.mean(axis=1)

    def _by_spline(self, residuals: np.ndarray, b: float, without_itself: bool) -> np.ndarray:
        """The density of many by that of knots, whose spline is right to 1e-6 of the highest density."""
        n, reach = len(self.residuals), _FAR * b
        low, high = self.residuals.min() - reach, self.residuals.max() + reach
        knots = np.linspace(low, high, int(min(_KNOTS * (high - low) / b, _MOST_KNOTS)) + 2)
        parts = np.array_split(knots, -(-len(knots) * n // _MANY_PAIRS))
        heights = [norm.pdf((part[:, None] - self.residuals) / b).sum(axis=1) / b for part in parts]
        inside = np.clip(residuals, low, high)
        found = np.maximum(CubicSpline(knots, np.concatenate(heights))(inside), 0.0)
        if not without_itself:
            return found / n
        return np.maximum(found - norm.pdf((residuals - self.residuals) / b) / b, 0.0) / (n - 1)

    def part(self, rows: np.ndarray) -> "DoseRange":
        """What is known of doses, with the density that some of the subjects speak for."""
        return replace(self, residuals=self.residuals[rows])

    def place(self, doses: np.ndarray) -> np.ndarray:
        """Number of the candidate next to each dose."""
        return np.abs(doses[:, None] - self.grid).argmin(axis=1)


def _rule_of_thumb(values: np.ndarray) -> float:
    return 1.06 * max(float(values.std()), 1e-12) * len(values) ** -0.2


def learn_doses(
    columns: Sequence[HistoryColumn],
    history: np.ndarray,
    doses: np.ndarray,
    limits: Any,
    randomised: bool,
    number: int,
) -> DoseRange:
    """The doses of a stage and how they depend on the history.

    Parameters
    ----------
    columns, history
        Of the subjects who were given one: (m, c).
    doses : (m,) array
    limits : pair of float or None
        Smallest and largest dose that may be recommended.
    randomised : bool
        Whether doses do not depend on the history.
    number : int
        Of the stage.
    """
    if len(np.unique(doses)) < _FEWEST:
        raise ValueError(
            f"stage {number} has action_type='dose' and {len(np.unique(doses))} different doses; below "
            f"{_FEWEST} they are labels: leave action_type out"
        )
    low, high = np.quantile(doses, [_TAIL, 1.0 - _TAIL])
    if limits is not None:
        low, high = _read_limits(limits, float(low), float(high), number)
    grid = _written(np.quantile(doses, np.linspace(0.0, 1.0, _GRID)))
    encoder = HistoryEncoder(columns, history, (0.0, 1.0))
    X = encoder.encode_history(history)
    penalties = _PENALTIES[:1] if randomised or not X.shape[1] else _PENALTIES
    fits = [_ridge(X, doses, penalty) for penalty in penalties]
    coefficients, residuals = min(fits, key=lambda fit: float(np.square(fit[1]).sum()))
    codes = _polynomials(doses, grid)
    return DoseRange(
        grid, codes, float(low), float(high), encoder, coefficients, residuals, _rule_of_thumb(doses)
    )


def _read_limits(limits: Any, low: float, high: float, number: int) -> tuple[float, float]:
    try:
        least, most = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise ValueError(
            f"feasible={limits!r} of stage {number} must be the smallest and the largest dose that may be "
            "recommended"
        ) from None
    found = max(low, least), min(high, most)
    if not found[0] < found[1]:
        raise ValueError(
            f"feasible={limits!r} of stage {number} has no dose in common with those that were given, "
            f"{low:.4g} to {high:.4g}"
        )
    return found


def _written(values: np.ndarray) -> np.ndarray:
    """Numbers as they are read: so many digits as tell a thousandth of their range."""
    step = 10.0 ** np.floor(np.log10(np.ptp(values) / 1000.0))
    return np.unique(np.round(np.round(values / step) * step, 12))


def _ridge(X: np.ndarray, doses: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the expected dose, and residuals of doses that are left out in turn."""
    n = len(doses)
    if np.isinf(penalty):
        coefficients = np.zeros(1 + X.shape[1])
        coefficients[0] = doses.mean()
        return coefficients, (doses - doses.mean()) * n / (n - 1.0)
    design = np.column_stack([np.ones(n), X])
    ridge = np.full(design.shape[1], penalty * n)
    ridge[0] = 0.0
    inverse = np.linalg.inv(design.T @ design + np.diag(ridge))
    coefficients = inverse @ design.T @ doses
    leverage = np.einsum("ij,ij->i", design @ inverse, design)
    return coefficients, (doses - design @ coefficients) / np.maximum(1.0 - leverage, 1e-6)


def _polynomials(doses: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Polynomials of the candidates that are orthogonal over the doses given, of unit mean square."""
    centre, scale = doses.mean(), doses.std()
    powers = [np.vander((values - centre) / scale, _DEGREE + 1, increasing=True) for values in (doses, grid)]
    upper = np.linalg.qr(powers[0] / np.sqrt(len(doses)), mode="r")
    upper *= np.sign(np.diag(upper))[:, None]
    return np.linalg.solve(upper.T, powers[1].T).T[:, 1:]
