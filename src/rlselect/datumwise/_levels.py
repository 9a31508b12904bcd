"""Encoders of tables with categories: a bought category shows which of its levels a case has."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._encoding import BinEncoder, LinearEncoder, make_encoder

__all__ = ["LevelBins", "LevelLinear", "table_encoder"]


def table_encoder(scoring: str, n_bins: int, n_levels: Mapping[int, int]) -> Any:
    """The encoder of a table.

    Parameters
    ----------
    scoring : {"bins", "linear"}
        How numbers are scored.
    n_bins : int
        Bins a number, for "bins".
    n_levels : mapping
        Column -> its number of levels, for the columns that are categories, coded 0, 1, ...

    Returns
    -------
    BinEncoder or LinearEncoder
        Not fitted yet.
    """
    if not n_levels:
        return make_encoder(scoring, n_bins)
    return LevelBins(n_bins, n_levels) if scoring == "bins" else LevelLinear(n_levels)


class LevelBins(BinEncoder):
    """Quantile bins for numbers, and for a category one bin a level, however many there are.

    Levels have no order, so what one adds to a score says nothing beforehand about the others.

    Parameters
    ----------
    n_bins : int
        Bins a number at most.
    n_levels : mapping
        Column -> number of levels.
    """

    def __init__(self, n_bins: int, n_levels: Mapping[int, int]) -> None:
        super().__init__(n_bins)
        self.n_levels = dict(n_levels)

    def fit(self, X: Any, weights: NDArray) -> "LevelBins":
        """Cut the numbers into bins of about equal weight."""
        super().fit(X, weights)
        widths = np.diff(np.append(self.offset_, self.width_))
        ends = np.append(self.offset_, self.width_)
        diagonal, beside = [np.zeros(1)], [np.zeros(1)]
        for j, start in enumerate(self.offset_):
            if j in self.n_levels:
                widths[j] = self.n_levels[j]
                self.edges_[j] = np.arange(widths[j] - 1) + 0.5
                diagonal.append(np.ones(widths[j]))
                beside.append(np.zeros(widths[j]))
            else:
                diagonal.append(self.precision_[0][start : ends[j + 1]])
                beside.append(np.append(self.precision_[1], 0.0)[start : ends[j + 1]])
        self.offset_ = 1 + np.concatenate([[0], np.cumsum(widths)[:-1]])
        self.width_ = 1 + int(widths.sum())
        self.precision_ = np.concatenate(diagonal), np.concatenate(beside)[:-1]
        return self


class LevelLinear(LinearEncoder):
    """The paper's representation, with one indicator a level in place of a category's value.

    Parameters
    ----------
    n_levels : mapping
        Column -> number of levels.
    """

    def __init__(self, n_levels: Mapping[int, int]) -> None:
        self.n_levels = dict(n_levels)

    def fit(self, X: Any, weights: NDArray) -> "LevelLinear":
        """Learn the scale of the numbers; the levels' indicators come after all others."""
        super().fit(X, weights)
        self._places = {}
        for j, count in self.n_levels.items():
            self.scale_[j] = 1.0
            self._places[j] = self.width_
            self.width_ += count
        self.precision_ = np.concatenate([[0.0], np.ones(self.width_ - 1)]), np.zeros(self.width_ - 1)
        return self

    def _numbers(self, codes: NDArray) -> NDArray:
        """Codes with the categories' numbers, which mean nothing as such, set to zero."""
        out = codes.copy()
        for j in self.n_levels:
            out[:, j] = np.where(np.isnan(codes[:, j]), np.nan, 0.0)
        return out

    def contributions(self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray) -> NDArray:
        """As `LinearEncoder.contributions`, and what the levels add."""
        out = super().contributions(theta, self._numbers(codes), starts, order)
        for position, j in enumerate(order):
            if j in self._places:
                known = np.flatnonzero(~np.isnan(codes[:, j]))
                unit = int(np.searchsorted(starts, position, side="right")) - 1
                out[known, unit] += theta[self._places[j] + codes[known, j].astype(np.intp)]
        return out

    def design(self, codes: NDArray, shown: NDArray) -> NDArray:
        """As `LinearEncoder.design`, with the indicators of the levels behind."""
        base = super().design(self._numbers(codes), shown)
        out = np.zeros((len(codes), self.width_))
        out[:, : base.shape[1]] = base
        for j, start in self._places.items():
            rows = np.flatnonzero(shown[:, j] & ~np.isnan(codes[:, j]))
            out[rows, start + codes[rows, j].astype(np.intp)] = 1.0
        return out
