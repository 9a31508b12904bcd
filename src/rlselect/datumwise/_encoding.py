"""What a bought value tells the scores: quantile bins, or the paper's pair of indicator and value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.datumwise._plan import PLAN

__all__ = [
    "BinEncoder",
    "CaseEncoder",
    "LinearEncoder",
    "Precision",
    "Regressors",
    "ValueEncoder",
    "between",
    "column_of",
    "make_encoder",
    "quantile_edges",
]

# diagonal and off-diagonal of the prior precision of weights, which is tridiagonal
Precision: TypeAlias = tuple[NDArray, NDArray]

# Regressors of more columns than this are kept sparse.
_WIDE = 400

# Gathers of weight rows stay under this many numbers, so that a block of rows fits into memory.
_BLOCK = 1 << 24
# No code is further out: scores stay numbers, in single precision too.
_FAR = 1e15


class CaseEncoder(Protocol):
    """Values as the codes that a policy reads."""

    @property
    def edges_(self) -> list[NDArray] | None:
        """Ends of the bins of each feature, where there are bins."""

    def encode(self, X: Any) -> NDArray:
        """Codes of the values, rows x features."""


class ValueEncoder(CaseEncoder, Protocol):
    """What bought values add to the scores; see `BinEncoder` for the shapes."""

    width_: int
    precision_: Precision
    regressors_: list["Regressors"]

    def table(
        self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray, common: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """What purchases add to the scores, and where it stands for each row and unit."""

    def common_table(self, theta: NDArray, starts: NDArray, order: NDArray) -> NDArray | None:
        """The table if it is the same for all rows."""

    def rows_at_a_time(self, most: int, shape: tuple[int, ...], n_units: int) -> int:
        """How many rows keep `table` and a score for each action under so many numbers."""

    def contributions(self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray) -> NDArray:
        """What each unit would add to the scores: rows x units x actions."""

    def design(self, codes: NDArray, shown: NDArray) -> Any:
        """Regressors of states, the constant first."""


def make_encoder(
    scoring: Literal["bins", "linear"], n_bins: int | Sequence[int]
) -> "BinEncoder | LinearEncoder":
    """The encoder of a name, not fitted yet."""
    return BinEncoder(n_bins) if scoring == "bins" else LinearEncoder()


@dataclass
class Regressors:
    """Columns that weights are learned for, and how these weights become those of the encoder.

    Parameters
    ----------
    encoder : ValueEncoder
        Makes the columns.
    places : (width + 1,) int array or None
        Column for each place of the finer encoder, the last for what is missing; None when they are the same.
    """

    encoder: ValueEncoder
    places: NDArray | None = None

    def design(self, codes: NDArray, shown: NDArray) -> Any:
        """Columns of states, from the codes of the finer encoder."""
        return self.encoder.design(codes if self.places is None else self.places[codes], shown)

    def spread(self, theta: NDArray) -> NDArray:
        """Weights (stages, columns, actions) for each place of the finer encoder."""
        return theta if self.places is None else theta[:, self.places[:-1]]


class BinEncoder:
    """Each feature is cut at weighted quantiles; a bought feature shows which of its bins the value is in.

    Features with at most ``n_bins`` distinct values get one bin per value. The score of an action is a
    constant plus one number for each bought feature, looked up by bin.

    Several numbers of bins make as many coarse encoders, each with its own regressors, and bins between all
    their cuts, to look up what their weights are on average. A value near a cut of one is inside a bin of
    another, so that less depends on where the cuts happen to be.

    Parameters
    ----------
    n_bins : int or sequence of int
        Bins per feature at most.
    """

    def __init__(self, n_bins: int | Sequence[int]) -> None:
        self.n_bins = n_bins

    def fit(self, X: Any, weights: NDArray) -> "BinEncoder":
        """Cut the columns of X (NaN is passed over) into bins of about equal weight."""
        coarse: list[BinEncoder] = []
        if isinstance(self.n_bins, Sequence):
            coarse = [BinEncoder(number).fit(X, weights) for number in self.n_bins]
            edges = [np.unique(np.concatenate(own)) for own in zip(*(e.edges_ for e in coarse), strict=True)]
        else:
            edges = [quantile_edges(column_of(X, j), weights, self.n_bins) for j in range(X.shape[1])]
        self.edges_: list[NDArray] = edges
        widths = np.array([len(own) + 1 for own in edges], dtype=np.intp)
        self.offset_ = 1 + np.concatenate([[0], np.cumsum(widths)[:-1]])
        self.width_ = 1 + int(widths.sum())
        self.precision_ = _chain_precision(widths, PLAN.neighbours)
        self.regressors_ = [Regressors(self)]
        if any(encoder.width_ < self.width_ for encoder in coarse):
            self.regressors_ = [Regressors(encoder, self.places_in(encoder)) for encoder in coarse]
        return self

    def places_in(self, coarse: "BinEncoder") -> NDArray:
        """Place of each bin among those of an encoder with fewer cuts."""
        places = [np.zeros(1, dtype=np.intp)]
        for offset, wide, own in zip(coarse.offset_, coarse.edges_, self.edges_, strict=True):
            places.append(offset + np.searchsorted(wide, np.append(own, np.inf), side="left"))
        return np.concatenate([*places, [coarse.width_]])

    def encode(self, X: Any) -> NDArray:
        """Places of the bins among the regressors, rows x features; `width_` where a value is missing."""
        places = np.empty(X.shape, dtype=np.uint16 if self.width_ < 1 << 16 else np.uint32)
        for j, edges in enumerate(self.edges_):
            values = column_of(X, j)
            found = self.offset_[j] + np.searchsorted(edges, values, side="left")
            places[:, j] = np.where(np.isnan(values), self.width_, found)
        return places

    def table(
        self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray, common: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """What purchases add to the scores, and where it stands for each row and unit.

        Without groups the weights themselves are the table, the same for all rows: `common`, if it is
        known. With theta (stages, width + 1, actions) and the rest as for `contributions`, the table is
        (stages, places, actions), minus infinity where a purchase closes an action since its unit is
        bought, and the places are (rows, units).
        """
        table = self.common_table(theta, starts, order) if common is None else common
        if table is None:
            return _table_of_rows(self, theta, codes, starts, order)
        return table, codes[:, order].astype(np.intp)

    def common_table(self, theta: NDArray, starts: NDArray, order: NDArray) -> NDArray | None:
        """The table of `table` if it is the same for all rows, that is without groups."""
        if len(starts) < len(order):
            return None
        table = theta.copy()
        ends = np.append(self.offset_[1:], self.width_)
        for unit, feature in enumerate(order):
            table[:, self.offset_[feature] : ends[feature], unit] = -np.inf
        return table

    def rows_at_a_time(self, most: int, shape: tuple[int, ...], n_units: int) -> int:
        """How many rows keep `table` and a score for each action under so many numbers."""
        n_stages, _, n_actions = shape
        own = n_stages * n_units if n_units < len(self.edges_) else 1
        return max(1, most // (own * n_actions))

    def contributions(self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray) -> NDArray:
        """What each unit would add to the scores, over all its features: rows x units x actions.

        `theta` (width + 1, actions) has the constant first and zeros at the end for what is missing;
        `codes` (rows, features) come from `encode`; `order` has the features by unit, and `starts` where
        each unit starts in it.
        """
        places = codes[:, order]
        if len(starts) == len(order):
            return theta[places]
        parts = []
        block = max(1, _BLOCK // (places.shape[1] * theta.shape[1]))
        for begin in range(0, len(places), block):
            parts.append(np.add.reduceat(theta[places[begin : begin + block]], starts, axis=1))
        return np.concatenate(parts)

    def design(self, codes: NDArray, shown: NDArray) -> Any:
        """Regressors of states (states, width): a constant and the indicators of the bins that are shown.

        `codes` and `shown`, what is bought, are (states, features). Sparse when it is wide, since a state
        shows a few bins only.
        """
        if self.width_ > _WIDE:
            inside = shown & (codes < self.width_)
            ends = np.concatenate([[0], np.cumsum(1 + inside.sum(axis=1))])
            first = np.zeros(ends[-1], dtype=bool)
            first[ends[:-1]] = True
            places = np.zeros(ends[-1], dtype=np.intp)
            places[~first] = codes[inside]
            return sparse.csr_array((np.ones(ends[-1]), places, ends), shape=(len(codes), self.width_))
        out = np.zeros((len(codes), self.width_))
        out[:, 0] = 1.0
        state, feature = np.nonzero(shown & (codes < self.width_))
        out[state, codes[state, feature]] = 1.0
        return out


class LinearEncoder:
    """The paper's representation: for each bought feature the fact that it is bought, and its value.

    Values are moved and scaled to lie between -1 and 1, so that one ridge suits all of them, wherever their
    zero is. The paper takes values as they are; as the fact of a purchase has a weight of its own, the scores
    that can be learned are the same.
    """

    edges_ = None

    def fit(self, X: Any, weights: NDArray) -> "LinearEncoder":
        """Learn middle and half of the range of the columns of X (NaN is passed over)."""
        ends = np.array([_range(column_of(X, j)) for j in range(X.shape[1])]).reshape(-1, 2) / 2
        self.centre_ = ends.sum(axis=1)
        half = ends[:, 1] - ends[:, 0]
        self.scale_ = np.where(half > 0, half, 1.0)
        self.width_ = 1 + 2 * X.shape[1]
        self.precision_ = np.concatenate([[0.0], np.ones(self.width_ - 1)]), np.zeros(self.width_ - 1)
        self.regressors_ = [Regressors(self)]
        return self

    def encode(self, X: Any) -> NDArray:
        """Centred and scaled values, rows x features; NaN where a value is missing."""
        dense = X.toarray() if sparse.issparse(X) else X
        # a new row may hold any number
        with np.errstate(over="ignore"):
            return np.clip((dense - self.centre_) / self.scale_, -_FAR, _FAR)

    def table(
        self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray, common: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """As `BinEncoder.table`."""
        return _table_of_rows(self, theta, codes, starts, order)

    def common_table(self, theta: NDArray, starts: NDArray, order: NDArray) -> NDArray | None:
        """None: each row has its own numbers."""
        return None

    def rows_at_a_time(self, most: int, shape: tuple[int, ...], n_units: int) -> int:
        """As `BinEncoder.rows_at_a_time`."""
        return max(1, most // (shape[0] * n_units * shape[2]))

    def contributions(self, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray) -> NDArray:
        """As `BinEncoder.contributions`."""
        n = len(self.scale_)
        bought, value = theta[1 : 1 + n][order], theta[1 + n : 1 + 2 * n][order]
        parts = []
        block = max(1, _BLOCK // (len(order) * theta.shape[1]))
        for begin in range(0, len(codes), block):
            shown = codes[begin : begin + block][:, order, None].astype(theta.dtype)
            added = np.where(np.isnan(shown), 0, bought + shown * value)
            parts.append(added if len(starts) == len(order) else np.add.reduceat(added, starts, axis=1))
        return np.concatenate(parts)

    def design(self, codes: NDArray, shown: NDArray) -> NDArray:
        """As `BinEncoder.design`: a constant, the indicators of what is shown, and its values."""
        known = shown & ~np.isnan(codes)
        return np.hstack([np.ones((len(codes), 1)), known, np.where(known, codes, 0.0)])


def _table_of_rows(
    encoder: ValueEncoder, theta: NDArray, codes: NDArray, starts: NDArray, order: NDArray
) -> tuple[NDArray, NDArray]:
    """A table with places of its own for each row and unit."""
    n, n_units = len(codes), len(starts)
    table = np.empty((len(theta), n * n_units, theta.shape[2]), dtype=theta.dtype)
    own = np.arange(n_units)
    for number, weights in enumerate(theta):
        added = encoder.contributions(weights, codes, starts, order)
        added[:, own, own] = -np.inf
        table[number] = added.reshape(n * n_units, -1)
    return table, np.arange(n * n_units).reshape(n, n_units)


def column_of(X: Any, j: int) -> NDArray:
    """A column of a dense or sparse matrix."""
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


def _range(values: NDArray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def quantile_edges(values: NDArray, weights: NDArray, n_bins: int) -> NDArray:
    """Upper ends of all bins but the last.

    Counting weights and not rows makes a row of weight two the same as two rows.
    """
    known = ~np.isnan(values)
    levels, place = np.unique(values[known], return_inverse=True)
    if len(levels) <= 1:
        return np.empty(0)
    if len(levels) <= n_bins:
        return between(levels[:-1], levels[1:])
    mass = np.cumsum(np.bincount(place, weights[known], minlength=len(levels)))
    # The small share keeps sums of weights that should be equal from falling on different sides.
    targets = mass[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12)
    last = np.unique(np.minimum(np.searchsorted(mass, targets), len(levels) - 2))
    return between(levels[last], levels[last + 1])


def between(low: NDArray, high: NDArray) -> NDArray:
    """Midpoints, which stay below the upper ends, also where there is no number between the two."""
    middle = (low + high) / 2
    return np.where(middle < high, middle, low)


def _chain_precision(widths: NDArray, correlation: float) -> Precision:
    """Diagonal and off-diagonal of the inverse prior covariance, the constant first and free.

    Within a feature the bins form a chain of variance one in which neighbours have the given correlation.
    """
    rest = 1 - correlation**2
    diagonal, beside = [np.zeros(1)], [np.zeros(1)]
    for width in widths:
        own = np.full(width, (1 + correlation**2) / rest)
        own[[0, -1]] = 1 / rest
        diagonal.append(own if width > 1 else np.ones(1))
        beside.append(np.append(np.full(width - 1, -correlation / rest), 0.0))
    return np.concatenate(diagonal), np.concatenate(beside)[:-1]
