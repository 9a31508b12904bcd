r"""A kernel of effects of single features, of pairs, of triples and so on, each order with less weight.

.. math:: k(x, z) = \prod_g \Bigl(1 + s\, e^{-|x_g - z_g|^2 / (d_g \gamma^2)}\Bigr)
          = 1 + s \sum_g k_g + s^2 \sum_{g < h} k_g k_h + \dots

over groups of ``d_g`` columns. With ``s`` one over the number of groups that are left, single features and
pairs weigh most, however many features there are: a Gaussian kernel of many columns sees no wave in one of
them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnovaKernel", "AnovaState"]

Array = NDArray[np.float64]
# numbers of single precision that are kept for bounds rather than computed again
_KEPT = 60_000_000


class AnovaKernel:
    """``prod_g (1 + exp(-|x_g - z_g|^2 / (d_g bandwidth^2)) / G)`` over the G groups of columns that are left
    when the bandwidth is chosen.
    """

    uses_bandwidth = True
    trusted = True


class AnovaState:
    """Product over the active groups on the training rows; groups leave by division, by a number from 1 to 2.

    Parameters
    ----------
    kernel : AnovaKernel
    X : (n, d) array
    groups : sequence of int arrays
        Columns of each group.
    bandwidth : float
        Setting it weighs the orders anew, by the number of groups that are left.
    """

    def __init__(
        self, kernel: AnovaKernel, X: Array, groups: Sequence[NDArray[np.intp]], bandwidth: float
    ) -> None:
        self.kernel, self.X, self.groups = kernel, X, groups
        self.active = list(range(len(groups)))
        self.bandwidth = bandwidth

    @property
    def bandwidth(self) -> float:
        """Width of the factor of one column."""
        return self._bandwidth

    @bandwidth.setter
    def bandwidth(self, value: float) -> None:
        self._bandwidth, self.strength = value, 1.0 / max(len(self.active), 1)
        self._total: Array | None = None
        self._kept: dict[int, NDArray[np.float32]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_total": None, "_kept": {}}

    def _factor(self, Z: Array, group: int) -> Array:
        """The factor of one group between some rows (m, d) and the training rows."""
        columns = self.groups[group]
        distance = np.zeros((len(Z), len(self.X)))
        for j in columns:
            distance += np.square(Z[:, j, None] - self.X[None, :, j])
        np.multiply(distance, -1.0 / (max(len(columns), 1) * self._bandwidth**2), out=distance)
        np.exp(distance, out=distance)
        distance *= self.strength
        distance += 1.0
        return distance

    @property
    def total(self) -> Array:
        """Kernel matrix of the active groups."""
        if self._total is None:
            self._total = self.cross(self.X, self.active)
        return self._total

    def gram(self) -> Array:
        """Kernel matrix of the active groups, a fresh array."""
        return self.total.copy()

    def without(self, group: int) -> Array:
        """Kernel matrix once ``group`` is removed as well."""
        factor = self._factor(self.X, group)
        return np.divide(self.total, factor, out=factor)

    def shortcut(self, gram: Array, candidates: Sequence[int], dtype: Any) -> tuple:
        """In single precision from factors that are kept; see ``best_removals``."""
        build: Callable[[int], NDArray[np.floating]] = self.without
        if dtype == np.float32:
            total = self.total.astype(np.float32)

            def build(group: int) -> NDArray[np.floating]:
                return total / self._rough_factor(group)

        return np.empty(0, dtype=np.intp), None, build

    def _rough_factor(self, group: int) -> NDArray[np.float32]:
        factor = self._kept.get(group)
        if factor is None:
            factor = self._factor(self.X, group).astype(np.float32)
            if (len(self._kept) + 1) * factor.size <= _KEPT:
                self._kept[group] = factor
        return factor

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        for group in groups:
            self._total = self.without(group)
            self.active.remove(group)
            self._kept.pop(group, None)

    def cross(self, Z: Array, groups: Sequence[int]) -> Array:
        """Kernel between new rows and the training rows on some groups."""
        total = np.ones((len(Z), len(self.X)))
        for group in groups:
            total *= self._factor(Z, group)
        return total
