"""Gaussian kernel matrices from which each of many groups has left, and machines on all of them, in torch."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from rlselect._devices import find_device

__all__ = ["TorchKernels", "invert", "solve_machines"]

# Bytes of the kernel matrices of a batch; some five times as many are in use.
_BATCH_BYTES = 1 << 29


class TorchKernels:
    """The kernel of a Gaussian state on a device.

    Parameters
    ----------
    state : AdditiveState
        Of a Gaussian kernel; :meth:`refresh` after groups have left it.
    device : str
        As `find_device` takes it.
    """

    def __init__(self, state: Any, device: str) -> None:
        self.state, self.where = state, find_device(device)
        self.X = self.send(state.X.T)
        self.refresh()

    def send(self, values: np.ndarray) -> torch.Tensor:
        """An array on the device, in double precision."""
        return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float64, device=self.where)

    def refresh(self) -> None:
        """Take over what the state has become."""
        self.total = self.send(self.state.total)

    def gram(self) -> torch.Tensor:
        """Kernel matrix of the active groups."""
        return torch.exp(-self.total / self.state.bandwidth**2)

    def without(self, groups: Sequence[int], rows: Any = slice(None)) -> torch.Tensor:
        """Kernel between all rows and some, once each of some groups is removed as well: (m, n, k)."""
        found = self._distances(groups, rows)
        return found.sub_(self.total[:, rows]).div_(self.state.bandwidth**2).exp_()

    def batches(self, groups: Sequence[int]) -> Iterator[Sequence[int]]:
        """Groups, as many at a time as there is room for."""
        size = max(1, _BATCH_BYTES // (8 * self.X.shape[1] ** 2))
        return (groups[start : start + size] for start in range(0, len(groups), size))

    def _distances(self, groups, rows):
        """Squared distances in the columns of each group."""
        columns = [self.state.groups[group] for group in groups]
        n, k = self.X.shape[1], self.X[0, rows].shape[0]
        found = torch.zeros(len(groups), n, k, dtype=self.X.dtype, device=self.where)
        for depth in range(max(len(c) for c in columns)):
            some = [place for place, c in enumerate(columns) if len(c) > depth]
            block = self.X[[int(columns[place][depth]) for place in some]]
            difference = (block[:, :, None] - block[:, None, rows]).square_()
            if len(some) == len(columns):
                found += difference
            else:
                found[some] += difference
        return found


def solve_machines(
    matrices: torch.Tensor, ridge: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Squared-loss machines with an intercept on many kernel matrices: coefficients (m, n), intercepts (m,).

    The ridge is added to the diagonals for good.
    """
    matrices.diagonal(dim1=1, dim2=2).add_(ridge)
    factors = torch.linalg.cholesky(matrices)
    sides = torch.stack([y, torch.ones_like(y)], dim=1).expand(len(matrices), -1, -1)
    solved = torch.cholesky_solve(sides, factors)
    intercepts = solved[:, :, 0].sum(dim=1) / solved[:, :, 1].sum(dim=1)
    return solved[:, :, 0] - intercepts[:, None] * solved[:, :, 1], intercepts


def invert(matrix: torch.Tensor) -> torch.Tensor:
    """Inverse of a kernel matrix with its ridge on the vectors that sum to zero."""
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
    row_sums = inverse.sum(dim=1)
    return inverse.sub_(torch.outer(row_sums, row_sums / row_sums.sum()))
