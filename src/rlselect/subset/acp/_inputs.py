"""From a user's table to standardised columns, units and a target, and the options' checks."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect._compat import user_level
from rlselect.data import (
    FeatureUnits,
    Table,
    Units,
    as_numbers,
    doubtful_classes,
    find_task,
    find_twins,
    read_classes,
    read_units,
)
from rlselect.kernels import standardise
from rlselect.subset.acp.masked import Target, make_target

Array = NDArray[np.float64]
TASKS = ("auto", "regression", "classification")


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

    def columns_of(self, kept: NDArray[np.intp]) -> tuple[NDArray[np.intp], Units]:
        """Design columns of some units, and those units among them."""
        columns = [self.units.columns[u] for u in kept]
        which = np.concatenate(columns) if columns else np.empty(0, dtype=np.intp)
        return which, Units(np.repeat(np.arange(len(kept)), [len(c) for c in columns]))


def read_task(y: NDArray, task: str) -> str:
    """The task that was asked for, or the one that y looks like."""
    if task != "auto":
        return task
    found = find_task(y, labels="whole numbers")
    doubt = doubtful_classes(y) if found == "classification" else None
    if doubt is not None:
        warnings.warn(
            f"{doubt}, which are taken as classes; set task='regression' if they are quantities, or "
            "task='classification' if they are labels.",
            UserWarning,
            stacklevel=user_level(),
        )
    return found


def read_target(y: NDArray, task: str) -> tuple[Target, NDArray | None]:
    """Numbers, and the class labels of a classification."""
    if task == "regression":
        return make_target(as_numbers(y, "y"), False), None
    classes, codes = read_classes(y, given="task='classification'", instead="task='regression'")
    return make_target(codes, True), classes


def read_inputs(table: Table, task: str) -> Inputs:
    """Standardise the columns and number what may be selected."""
    assert table.y is not None
    target, classes = read_target(table.y, task)
    raw = table.take().X
    X, center, scale, constant = standardise(raw.toarray() if sparse.issparse(raw) else raw)
    groups = read_units(table.encoder)
    units = groups.units
    some = np.array([not constant[c].all() for c in units.columns], dtype=bool)
    twin_of = find_twins(table, units)
    allowed = np.flatnonzero(some & (twin_of == np.arange(units.n_units)))
    return Inputs(X, center, scale, target, classes, groups, allowed)
