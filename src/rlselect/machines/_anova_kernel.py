r"""A kernel of effects of single features, of pairs, of triples and so on, each order with less weight.

.. math:: k(x, z) = \prod_g \Bigl(1 + s\, e^{-|x_g - z_g|^2 / (d_g \gamma^2)}\Bigr)
          = 1 + s \sum_g k_g + s^2 \sum_{g < h} k_g k_h + \dots

over groups of ``d_g`` columns. With ``s`` one over the number of groups that are left, single features and
pairs weigh most, however many features there are: a Gaussian kernel of many columns sees no wave in one of
them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnovaKernel", "AnovaState"]

Array = NDArray[np.float64]
# bytes of factors that are kept rather than computed again
_KEPT = 240_000_000


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
        self._kept: dict[tuple[int, Any], NDArray[np.floating]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_total": None, "_kept": {}}

    def _factor(self, Z: Array, group: int, dtype: Any = np.float64) -> NDArray[np.floating]:
        """The factor of one group between some rows (m, d) and the training rows."""
        columns = self.groups[group]
        # one array from first to last: most of the time of a fit with many columns is spent here
        factor = np.zeros((len(Z), len(self.X)), dtype=dtype)
        for place, j in enumerate(columns):
            here, there = Z[:, j, None].astype(dtype), self.X[None, :, j].astype(dtype)
            part = np.subtract(here, there, out=None if place else factor)
            np.multiply(part, part, out=part)
            if place:
                factor += part
        factor *= -1.0 / (max(len(columns), 1) * self._bandwidth**2)
        np.exp(factor, out=factor)
        factor *= self.strength
        factor += 1.0
        return factor

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
        return np.divide(self.total, self._known_factor(group, np.float64))

    def shortcut(self, gram: Array, candidates: Sequence[int], dtype: Any) -> tuple:
        """One matrix after the other, in the precision that is asked for; see ``best_removals``."""
        self._kept = {key: factor for key, factor in self._kept.items() if key[1] == dtype}
        total = self.total.astype(dtype, copy=False)
        reduced = np.empty_like(total)

        def build(group: int) -> NDArray[np.floating]:
            return np.divide(total, self._known_factor(group, dtype), out=reduced)

        return np.empty(0, dtype=np.intp), None, build

    def _known_factor(self, group: int, dtype: Any) -> NDArray[np.floating]:
        """The factor of one group on the training rows, kept while there is room."""
        factor = self._kept.get((group, dtype))
        if factor is None:
            factor = self._factor(self.X, group, dtype)
            if sum(known.nbytes for known in self._kept.values()) + factor.nbytes <= _KEPT:
                self._kept[group, dtype] = factor
        return factor

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        for group in groups:
            self._total = self.without(group)
            self.active.remove(group)
            self._kept = {key: factor for key, factor in self._kept.items() if key[0] != group}

    def cross(self, Z: Array, groups: Sequence[int]) -> Array:
        """Kernel between new rows and the training rows on some groups."""
        total = np.ones((len(Z), len(self.X)))
        for group in groups:
            total *= self._factor(Z, group)
        return total
