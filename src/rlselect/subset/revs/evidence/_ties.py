"""Shapes of the prior of the coefficients: alike or not, tied or not."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import Ties, invert_positive

Floats = NDArray[Any]


class Shape(NamedTuple):
    r"""A prior of the coefficients, its scale apart.

    Attributes
    ----------
    alike : int
        How often the density is multiplied by :math:`\beta^2`: effects are alike, not spread to zero.
    share : float
        How far the effects of correlated columns are tied, see `tied_rows`.
    """

    alike: int
    share: float

    @property
    def additions(self) -> int:
        """By how many things it differs from the plain prior."""
        return (self.alike > 0) + (self.share > 0)


# nearly all: the rest keeps the prior of columns that repeat each other regular
_SHARE = 0.9
SHAPES = (Shape(0, 0.0), Shape(1, 0.0), Shape(0, _SHARE), Shape(1, _SHARE))
# densities that integrate to one; with both, the factors of tied effects grow together, and the evidence with
# the number of correlated columns
PROPER_SHAPES = SHAPES[:3]
# of an `OutcomeSubset`, which ties no effects: the more alike they are, the deeper the hole at zero
OUTCOME_SHAPES = tuple(Shape(alike, 0.0) for alike in (0, 1, 2, 4, 8))


def tied_rows(correlations: Floats, subset: list[int], share: float, alone: NDArray[np.bool_]) -> Floats:
    r"""Rows of the prior correlation :math:`\rho R + (1 - \rho) I` of the coefficients.

    Columns that say much the same are taken to have much the same effect [1]_.

    Parameters
    ----------
    correlations : array of shape (k, p)
        Rows of R, the correlations of the columns.
    subset : list of int
        The k columns.
    share : float
        :math:`\rho`.
    alone : bool array of shape (p,)
        Columns that are tied to none, as those of larger units.

    Returns
    -------
    array of shape (k, p)

    References
    ----------
    .. [1] Krishna, Bondell, Ghosh (2009), Bayesian variable selection using an adaptive powered correlation
       prior, Journal of Statistical Planning and Inference 139.
    """
    ties = share * correlations
    ties[:, alone] = 0.0
    ties[alone[subset]] = 0.0
    ties[np.arange(len(subset)), subset] = 1.0
    return ties


def tie(rows: Floats, subset: list[int]) -> Ties:
    """What ties the effects of a subset, from its rows of the prior correlation, shape (k, p)."""
    return Ties(rows, *invert_positive(rows[:, subset]))
