"""What a network sees of a bought value: its normal score, ramps between quantiles, and that it is known."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rlselect.datumwise._encoding import between, column_of
from rlselect.datumwise._plan import NETWORK

__all__ = ["InputColumns", "ScoreEncoder"]


@dataclass(frozen=True)
class InputColumns:
    """Input columns of a network: a clipped line of the code of one feature each, zero while it is not known.

    Parameters
    ----------
    owner : (columns,) int array
        Feature of each column.
    low, slope, least, most : (columns,) float32 arrays
        A code v gives ``clip(slope * (v - low), least, most)``.
    noise : (features,) float32 array
        Standard deviation of what is added to the codes in training.
    dropout : float
        Share of the units of the second hidden layer that are left out in training.
    """

    owner: NDArray
    low: NDArray
    slope: NDArray
    least: NDArray
    most: NDArray
    noise: NDArray
    dropout: float

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.owner)

    def make(self, codes: NDArray) -> NDArray:
        """Columns (..., columns) of codes (..., features) without gaps, all taken as known."""
        out = np.take(codes, self.owner, axis=-1)
        out -= self.low
        out *= self.slope
        return np.clip(out, self.least, self.most, out=out)


class ScoreEncoder:
    """Numbers become normal scores of their ranks among the training rows; categories stay level numbers."""

    def fit(self, X: Any, weights: NDArray, n_levels: Mapping[int, int]) -> "ScoreEncoder":
        """Learn the ranks of the columns of X (NaN is passed over); `n_levels` are those of categories."""
        self.levels_: list[NDArray] = []
        self.scores_: list[NDArray] = []
        self.edges_: list[NDArray] = []
        knots: list[NDArray] = []
        n_features = X.shape[1]
        for j in range(n_features):
            values = column_of(X, j)
            known = ~np.isnan(values)
            levels, place = np.unique(values[known], return_inverse=True)
            if j in n_levels:
                levels = np.arange(n_levels[j], dtype=float)
                scores, cuts = levels, levels
            elif len(levels) == 0:
                levels, scores, cuts = np.zeros(1), np.zeros(1), np.zeros(1)
            else:
                mass = np.bincount(place, weights[known], minlength=len(levels))
                share = (np.cumsum(mass) - mass / 2) / mass.sum()
                scores = np.clip(special.ndtri(share), -NETWORK.clip, NETWORK.clip)
                cuts = _knots(scores, share)
            self.levels_.append(levels)
            self.scores_.append(scores)
            knots.append(cuts)
            inner = np.interp(cuts, scores, levels)
            few = len(cuts) == len(levels)
            self.edges_.append(between(inner[:-1], inner[1:]) if few else inner[1:-1])
        quiet = np.array([len(levels) <= NETWORK.few_values for levels in self.levels_])
        quiet[list(n_levels)] = True
        self.kinds = [
            _columns(knots, set(n_levels), quiet, kind, ramps=ramps)
            for kind, ramps in zip(NETWORK.kinds, (True, False), strict=True)
        ]
        return self

    def encode(self, X: Any) -> NDArray:
        """Codes, rows x features; NaN where a value is missing."""
        out = np.empty(X.shape)
        for j, (levels, scores) in enumerate(zip(self.levels_, self.scores_, strict=True)):
            out[:, j] = _interpolate(column_of(X, j), levels, scores)
        return out


def _interpolate(values: NDArray, levels: NDArray, scores: NDArray) -> NDArray:
    """Scores of values, between those of the levels; NaN stays NaN."""
    out = np.interp(values, levels, scores)
    # a slope between levels that are very close is too steep for a number
    (steep,) = np.nonzero(np.isinf(out))
    if len(steep):
        after = np.searchsorted(levels, values[steep], side="right")
        low, high = levels[after - 1], levels[after]
        share = (values[steep] - low) / (high - low)
        out[steep] = (1 - share) * scores[after - 1] + share * scores[after]
    return out


def _knots(scores: NDArray, share: NDArray) -> NDArray:
    """Ends of the ramps: quantiles, or all scores where they are few."""
    if len(scores) > NETWORK.ramps + 1:
        wanted = np.linspace(share[0], share[-1], NETWORK.ramps + 1)
        scores = np.interp(wanted, share, scores)
    # scores at the clip are equal, and a ramp needs a length
    apart = np.diff(scores, prepend=-np.inf) > 1e-6
    return scores[apart]


def _columns(
    knots: list[NDArray], categories: set[int], quiet: NDArray, kind: tuple[float, float], *, ramps: bool
) -> InputColumns:
    """Columns of one kind; a category has ramps in both, one between every two levels, which can tell all."""
    noise, dropout = kind
    owner, lines = [], []
    for j, ends in enumerate(knots):
        rows = [(0.0, 0.0, 1.0, 1.0)]  # known
        if j not in categories:
            rows.append((0.0, 1.0, -np.inf, np.inf))
        if ramps or j in categories:
            rows += [(a, 1.0 / (b - a), 0.0, 1.0) for a, b in itertools.pairwise(ends)]
        lines += rows
        owner += [j] * len(rows)
    low, slope, least, most = np.array(lines, dtype=np.float32).T.copy()
    sigma = np.where(quiet, 0.0, noise).astype(np.float32)
    return InputColumns(np.array(owner), low, slope, least, most, sigma, dropout)
