"""Selectable units: one design column each, or several that enter and leave together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data._encoder import TableEncoder
from rlselect.data._groups import read_groups


class Units:
    """Which design columns belong to which unit.

    Parameters
    ----------
    unit_of : array of int of shape (p,)
        Unit of each design column, numbered 0, 1, ... without gaps.
    """

    def __init__(self, unit_of: NDArray[np.intp]) -> None:
        self.unit_of = np.asarray(unit_of, dtype=np.intp)
        self.n_columns = len(self.unit_of)
        self.n_units = int(self.unit_of.max()) + 1 if self.n_columns else 0
        order = np.argsort(self.unit_of, kind="stable")
        self.columns = np.split(order, np.cumsum(np.bincount(self.unit_of, minlength=self.n_units))[:-1])
        self.blocks = [u for u, c in enumerate(self.columns) if len(c) > 1]
        self.is_block = np.array([len(c) > 1 for c in self.columns], dtype=bool)
        # units of one size are priced together: their numbers, and their columns in the rows of an array
        self.by_size = [
            (alike, np.array([self.columns[u] for u in alike], dtype=np.intp))
            for alike in _alike([len(c) for c in self.columns])
        ]
        self._identity = self.n_units == self.n_columns and bool(np.all(order == np.arange(self.n_columns)))
        self._first = np.array([c[0] for c in self.columns], dtype=np.intp)

    def spread(self, column_values: NDArray) -> NDArray:
        """Values of single columns as values of units; entries of larger units are to be overwritten."""
        return column_values if self._identity else column_values[self._first]


def _alike(sizes: list[int]) -> list[NDArray[np.intp]]:
    """Places of equal size, for every size above one."""
    every = np.array(sizes, dtype=np.intp)
    return [np.flatnonzero(every == size) for size in np.unique(every[every > 1])]


@dataclass(frozen=True)
class FeatureUnits:
    """Units of a design with the input features that they stand for.

    Attributes
    ----------
    units : Units
        What enters and leaves together, in the order of their first features.
    unit_of_feature : array of int of shape (n_features,)
        Unit of each feature, -1 for one without a design column (text of a single level).
    """

    units: Units
    unit_of_feature: NDArray[np.intp]

    def to_features(self, values: NDArray, fill: Any = 0) -> NDArray:
        """Values of units as values of features; `fill` for features without columns."""
        return np.append(values, np.full(1, fill, dtype=values.dtype))[self.unit_of_feature]


def read_units(encoder: TableEncoder, feature_groups: Any = None) -> FeatureUnits:
    """Units of an encoded table: the columns of a feature, and the features of a group, stay together.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    feature_groups
        As `read_groups` takes it.

    Examples
    --------
    >>> encoder = TableEncoder().fit(np.array([["a", 1], ["b", 3], ["c", 2]], dtype=object))
    >>> read_units(encoder).units.columns
    [array([0, 1]), array([2])]
    """
    first = read_groups(feature_groups, encoder.feature_names).first_members()
    labels, unit_of = np.unique(first[np.asarray(encoder.column_feature_)], return_inverse=True)
    place = np.full(len(first), -1, dtype=np.intp)
    place[labels] = np.arange(len(labels))
    return FeatureUnits(Units(unit_of), place[first])
