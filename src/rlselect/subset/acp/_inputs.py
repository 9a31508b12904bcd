"""From a user's table to standardised columns, units and a target, and the options' checks."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.data import (
    FeatureUnits,
    Table,
    Units,
    read_numbers_or_classes,
    read_units,
    selectable_units,
    spread_rows,
)
from rlselect.kernels import standardise
from rlselect.subset.acp.masked import Target, make_target, row_seconds

Array = NDArray[np.float64]

# of a time budget, for one network of all columns; rows that it learns from in any case
_FOR_ONE, _FEWEST = 0.02, 1000


@dataclass
class Inputs:
    """What a search works on.

    Attributes
    ----------
    X : array of shape (n, p)
        Standardised design columns; constant ones are zero.
    center, scale : arrays of shape (p,)
        What was subtracted and divided.
    target : Target
    classes : array or None
    groups : FeatureUnits
        All units of the design.
    allowed : int array
        Units that can be selected: not constant, and not the copy of an earlier one.
    """

    X: Array
    center: Array
    scale: Array
    target: Target
    classes: NDArray | None
    groups: FeatureUnits
    allowed: NDArray[np.intp]

    @property
    def units(self) -> Units:
        """All units of the design."""
        return self.groups.units

    def to_features(self, values: NDArray, fill: Any = 0) -> NDArray:
        """Values of units as values of features."""
        return self.groups.to_features(values, fill)

    def in_time(self, seconds: float | None) -> "Inputs":
        """The inputs, or as many of their rows as networks have time for, where there are so many seconds."""
        n, p = self.X.shape
        if seconds is None:
            return self
        count = max(int(_FOR_ONE * seconds / row_seconds(p)), _FEWEST)
        if count >= n:
            return self
        codes = self.target.codes
        rows = spread_rows(self.target.Y[:, 0] if codes is None else codes, count, codes is not None)
        return replace(self, X=self.X[rows], target=self.target.rows(rows))

    def columns_of(self, kept: NDArray[np.intp]) -> tuple[NDArray[np.intp], Units]:
        """Design columns of some units, and those units among them."""
        columns = [self.units.columns[u] for u in kept]
        which = np.concatenate(columns) if columns else np.empty(0, dtype=np.intp)
        return which, Units(np.repeat(np.arange(len(kept)), [len(c) for c in columns]))


def read_inputs(table: Table, task: str, responses: NDArray | None = None) -> Inputs:
    """Standardise the columns and number what may be selected; `responses` (n, q) take the place of y."""
    assert table.y is not None
    if responses is None:
        values, classes = read_numbers_or_classes(table.y, task)
    else:
        values, classes = responses, None
    target = make_target(values, classes is not None)
    raw = table.take().X
    X, center, scale, constant = standardise(raw.toarray() if sparse.issparse(raw) else raw)
    groups = read_units(table.encoder)
    allowed = selectable_units(table, groups.units, constant)
    return Inputs(X, center, scale, target, classes, groups, allowed)
