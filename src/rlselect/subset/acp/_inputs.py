"""From a user's table to standardised columns, units and a target, and the options' checks."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from rlselect._compat import user_level
from rlselect.data import Table, Units, as_numbers, find_twins
from rlselect.subset.acp.masked import Target, make_target, unit_power

Array = NDArray[np.float64]
TASKS = ("auto", "regression", "classification")
# more classes than this, with fewer rows each than that, are doubted
_MANY_CLASSES, _FEW_ROWS = 20, 5


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
    units : Units
        All units of the design.
    unit_of_feature : int array
        Unit of each feature, -1 for one without columns.
    allowed : int array
        Units that can be selected: not constant, and not the copy of an earlier one.
    """

    X: Array
    center: Array
    scale: Array
    target: Target
    classes: NDArray | None
    units: Units
    unit_of_feature: NDArray[np.intp]
    allowed: NDArray[np.intp]

    def to_features(self, values: NDArray, fill: Any = 0) -> NDArray:
        """Values of units as values of features."""
        padded = np.append(values, np.full(1, fill, dtype=values.dtype))
        return padded[self.unit_of_feature]

    def columns_of(self, kept: NDArray[np.intp]) -> tuple[NDArray[np.intp], Units]:
        """Design columns of some units, and those units among them."""
        columns = [self.units.columns[u] for u in kept]
        which = np.concatenate(columns) if columns else np.empty(0, dtype=np.intp)
        return which, Units(np.repeat(np.arange(len(kept)), [len(c) for c in columns]))


def read_task(y: NDArray, task: str) -> str:
    """Say which task it is, by scikit-learn's `type_of_target` when asked to find out."""
    if task != "auto":
        return task
    with warnings.catch_warnings():
        # many distinct integers: the task is said in the summary, and can be given
        warnings.simplefilter("ignore", UserWarning)
        # numbers beyond any integer
        warnings.simplefilter("ignore", RuntimeWarning)
        kind = type_of_target(y)
    if kind.startswith("continuous"):
        return "regression"
    if kind in ("binary", "multiclass"):
        _warn_of_many_classes(y)
        return "classification"
    raise ValueError(f"y is of type {kind!r}; one column of numbers or class labels is needed.")


def _warn_of_many_classes(y: NDArray) -> None:
    """Prices in whole units look like labels; too many for their rows are hardly meant to be."""
    if y.dtype.kind not in "iuf":
        return
    count = len(np.unique(y))
    if count > _MANY_CLASSES and count * _FEW_ROWS > len(y):
        warnings.warn(
            f"y holds {count} different whole numbers in {len(y)} rows, which are taken as classes; set "
            "task='regression' if they are quantities, or task='classification' if they are labels.",
            UserWarning,
            stacklevel=user_level(),
        )


def read_target(y: NDArray, task: str) -> tuple[Target, NDArray | None]:
    """Numbers, and the class labels of a classification."""
    if task == "regression":
        return make_target(as_numbers(y, "y"), False), None
    if y.dtype.kind == "f" and np.any(y != np.round(y)):
        raise ValueError(
            "task='classification' was given, but y holds continuous values (Unknown label type: "
            "continuous); use task='regression' or class labels."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}); at least two classes are needed to tell apart."
        )
    return make_target(codes.ravel(), True), classes


def read_inputs(table: Table, task: str) -> Inputs:
    """Standardise the columns and number what may be selected."""
    assert table.y is not None
    target, classes = read_target(table.y, task)
    raw = table.take().X
    X = np.array(raw.toarray() if sparse.issparse(raw) else raw, dtype=np.float64)
    power = unit_power(X)
    np.ldexp(X, -power, out=X)
    center = X.mean(axis=0)
    X -= center
    scale = np.sqrt(np.einsum("ij,ij->j", X, X) / len(X))
    constant = scale <= 1e-10 * np.maximum(np.abs(center), 1e-300)
    scale[constant] = 1.0
    X /= scale
    X[:, constant] = 0.0
    center, scale = np.ldexp(center, power), np.ldexp(scale, power)
    column_feature = np.asarray(table.encoder.column_feature_)
    features, unit_of = np.unique(column_feature, return_inverse=True)
    units = Units(unit_of)
    unit_of_feature = np.full(table.encoder.n_features_in_, -1, dtype=np.intp)
    unit_of_feature[features] = np.arange(len(features))
    some = np.array([not constant[c].all() for c in units.columns], dtype=bool)
    twin_of = find_twins(table, units)
    allowed = np.flatnonzero(some & (twin_of == np.arange(units.n_units)))
    return Inputs(X, center, scale, target, classes, units, unit_of_feature, allowed)
