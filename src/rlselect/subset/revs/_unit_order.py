"""The order in which a walk looks at the units: the same one however the columns and rows are given."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import DataSource, Units
from rlselect.kernels import steps_of
from rlselect.subset.revs._found import as_floats
from rlselect.subset.revs.evidence import common_scale

Floats = NDArray[Any]

# of rewards, which are logs of odds
_ROUNDING = 1e-9


def order_units(rewards: Floats, marks: Callable[[], Floats] | None = None) -> NDArray[np.intp]:
    """Units by falling reward; of those whose rewards are equal up to rounding, by their marks.

    Parameters
    ----------
    rewards : array of shape (n_units,)
        What toggling each unit gains; -inf where that is not allowed.
    marks : callable, optional
        Gives a number per unit that tells equals apart. It is asked only where there are some.

    Returns
    -------
    array of int of shape (n_units,)
    """
    order = np.argsort(-rewards, kind="stable")
    if marks is None:
        return order
    rising = -rewards[order]
    steps = steps_of(rising, _ROUNDING)
    if np.all(np.diff(steps[np.isfinite(rising)])):
        return order
    return order[np.lexsort((marks()[order], steps))]


def marks_of_units(table: DataSource, units: Units, columns: NDArray[np.intp] | None = None) -> Floats:
    """A number per unit that depends on its values beside those of the others, and on no order or scale.

    It is how far the columns of a unit go with the rows that lie far out in all columns.
    """
    X, _, weight, _ = as_floats(table, table.take(slice(0, table.n_rows), columns))
    w = np.ones(len(X)) if weight is None else weight
    X, w = X[w > 0], w[w > 0]
    shift, scale, constant = common_scale(X, w)
    standard = np.where(constant, 0.0, (X - shift) / scale)
    far = np.einsum("ij,ij->i", standard, standard)
    along = (w * (far - np.average(far, weights=w))) @ standard
    return np.bincount(units.unit_of, along**2, minlength=units.n_units)
