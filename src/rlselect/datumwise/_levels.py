"""Encoders of tables with categories: a bought category shows which of its levels a case has."""

import copy
import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._encoding import BinEncoder, LinearEncoder, Regressors, ValueEncoder

__all__ = ["LevelLinear", "with_levels"]


def with_levels(encoder: BinEncoder | LinearEncoder, n_levels: Mapping[int, int]) -> ValueEncoder:
    """A fitted encoder that tells the levels of categories apart; `n_levels` are theirs by column.

    What it has made of their codes as numbers is dropped.
    """
    if not n_levels:
        return encoder
    if isinstance(encoder, LinearEncoder):
        return LevelLinear(encoder, n_levels)
    return _level_bins(encoder, n_levels)


def _level_bins(encoder: BinEncoder, n_levels: Mapping[int, int]) -> BinEncoder:
    """One bin per level, however many there are.

    Levels have no order, so what one adds to a score says nothing beforehand about the others.
    """
    out = copy.copy(encoder)
    out.edges_ = list(encoder.edges_)
    ends = np.append(encoder.offset_, encoder.width_)
    widths = np.diff(ends)
    diagonal, beside = [np.zeros(1)], [np.zeros(1)]
    for j, (start, end) in enumerate(itertools.pairwise(ends)):
        if j in n_levels:
            widths[j] = n_levels[j]
            out.edges_[j] = np.arange(widths[j] - 1) + 0.5
            diagonal.append(np.ones(widths[j]))
            beside.append(np.zeros(widths[j]))
        else:
            diagonal.append(encoder.precision_[0][start:end])
            beside.append(np.append(encoder.precision_[1], 0.0)[start:end])
    out.offset_ = 1 + np.concatenate([[0], np.cumsum(widths)[:-1]])
    out.width_ = 1 + int(widths.sum())
    out.precision_ = np.concatenate(diagonal), np.concatenate(beside)[:-1]
    coarser = [one.encoder for one in encoder.regressors_ if one.encoder is not encoder]
    coarse = [_level_bins(one, n_levels) for one in coarser if isinstance(one, BinEncoder)]
    out.regressors_ = [Regressors(out)]
    if any(one.width_ < out.width_ for one in coarse):
        out.regressors_ = [Regressors(one, out.places_in(one)) for one in coarse]
    return out


class LevelLinear(LinearEncoder):
    """The paper's representation, with one indicator per level in place of a category's value.

    Parameters
    ----------
    encoder : LinearEncoder
        Fitted.
    n_levels : mapping
        Column -> number of levels.
    """

    def __init__(self, encoder: LinearEncoder, n_levels: Mapping[int, int]) -> None:
        self.centre_, self.scale_ = encoder.centre_.copy(), encoder.scale_.copy()
        self.width_ = encoder.width_
        # the levels' indicators come after all others
        self._places = {}
        for j, count in n_levels.items():
            self.centre_[j], self.scale_[j] = 0.0, 1.0
            self._places[j] = self.width_
            self.width_ += count
        self.precision_ = np.concatenate([[0.0], np.ones(self.width_ - 1)]), np.zeros(self.width_ - 1)
        self.regressors_ = [Regressors(self)]

    def _numbers(self, codes: NDArray) -> NDArray:
        """Codes with the categories' numbers, which mean nothing as such, set to zero."""
        out = codes.copy()
        for j in self._places:
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
