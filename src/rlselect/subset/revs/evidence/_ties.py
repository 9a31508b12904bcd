"""Prior ties between the effects of columns that are correlated."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Ties:
    r"""Rows of the prior correlation :math:`K = \rho R + (1 - \rho) I` of the coefficients.

    R are the correlations of the columns: those that say much the same are taken to have much the same effect.
    Columns of larger units are tied to none.

    Parameters
    ----------
    correlations : callable
        ``correlations(columns)`` returns the rows of R of some columns, shape (m, p).
    alone : bool array of shape (p,)
        Columns without ties.
    """

    def __init__(self, correlations: Callable[[list[int]], Floats], alone: NDArray[np.bool_]) -> None:
        self._correlations = correlations
        self._alone = alone
        self._known: dict[int, Floats] = {}

    def rows(self, subset: list[int], share: float) -> Floats:
        """K of some columns with all, (k, p), for :math:`\rho` = `share`."""
        ties = np.zeros((len(subset), len(self._alone)))
        if share:
            new = [j for j in subset if j not in self._known and not self._alone[j]]
            if new:
                rows = self._correlations(new)
                rows[:, self._alone] = 0.0
                self._known.update(zip(new, rows, strict=True))
            for i, j in enumerate(subset):
                if not self._alone[j]:
                    np.multiply(self._known[j], share, out=ties[i])
        ties[np.arange(len(subset)), subset] = 1.0
        return ties

    def forget(self) -> None:
        """Start anew, on other rows."""
        self._known.clear()
