"""A stage of Algorithm 28 in torch, on any device: many features leave at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rlselect._devices import find_device
from rlselect.regimes._value_stages import GaussianStage, turn_actions

__all__ = ["TorchStage"]

# Bytes of the kernel matrices of a batch; some five times as many are in use.
_BATCH_BYTES = 1 << 29


class TorchStage(GaussianStage):
    """As :class:`GaussianStage`, with the factorisations of a batch of candidates at once.

    Parameters
    ----------
    machine, history, allowed
        As there.
    device : str
        As `find_device` takes it.
    """

    travels = False

    def __init__(self, machine: Any, history: np.ndarray, allowed: np.ndarray, device: str) -> None:
        self.where = find_device(device)
        super().__init__(machine, history, allowed)

    def _prepare(self, machine, history):
        super()._prepare(machine, history)
        self.fixed = {
            "ridge": self._there(self.ridge),
            "taken": self._there(self.taken),
            "allowed": torch.as_tensor(self.allowed, device=self.where),
            "X": self._there(self.state.X.T),
        }

    def _there(self, values: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float64, device=self.where)

    def refresh(self) -> None:
        """Solve for the present features."""
        self.total = self._there(self.state.total)
        self.gram = torch.exp(-self.total / self.state.bandwidth**2)
        matrix = self.gram.clone()
        matrix.diagonal().add_(self.fixed["ridge"])
        self.inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
        row_sums = self.inverse.sum(dim=1)
        self.inverse -= torch.outer(row_sums, row_sums / row_sums.sum())
        self.sums = matrix.sum(dim=0)

    def values(self, Y: np.ndarray) -> np.ndarray:
        """Values with the present features, one column a response (n, m)."""
        y = self._there(Y)
        coefficients = self.inverse @ y
        intercepts = (y.sum(dim=0) - self.sums @ coefficients) / len(y)
        shares = coefficients[:, :, None] * self.fixed["taken"][:, None]
        parts = (self.gram @ shares.reshape(len(y), -1)).reshape(shares.shape)
        q = self._turned(parts, self.fixed["taken"][:, None]) + intercepts[:, None]
        best = q.masked_fill(~self.fixed["allowed"][:, None], -torch.inf).amax(dim=-1)
        return best.cpu().numpy()

    def values_without(self, y: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Values without each of some features, one column a feature."""
        size = max(1, _BATCH_BYTES // (8 * len(y) ** 2))
        there = self._there(y)
        parts = [
            self._batch_without(there, groups[start : start + size]) for start in range(0, len(groups), size)
        ]
        return torch.cat(parts).T.cpu().numpy()

    def _batch_without(self, y, groups):
        """One row a feature: (m, n)."""
        ridge, taken = self.fixed["ridge"], self.fixed["taken"]
        matrices = self._distances(groups).sub_(self.total).div_(self.state.bandwidth**2).exp_()
        matrices.diagonal(dim1=1, dim2=2).add_(ridge)
        factors = torch.linalg.cholesky(matrices)
        sides = torch.stack([y, torch.ones_like(y)], dim=1).expand(len(groups), -1, -1)
        solved = torch.cholesky_solve(sides, factors)
        intercepts = solved[:, :, 0].sum(dim=1) / solved[:, :, 1].sum(dim=1)
        coefficients = solved[:, :, 0] - intercepts[:, None] * solved[:, :, 1]
        shares = coefficients[:, :, None] * taken
        parts = matrices @ shares - ridge[:, None] * shares
        q = self._turned(parts, taken) + intercepts[:, None, None]
        return q.masked_fill(~self.fixed["allowed"], -torch.inf).amax(dim=-1)

    def _distances(self, groups):
        """Squared distances in the columns of each feature: (m, n, n)."""
        columns = [self.state.groups[group] for group in groups]
        X = self.fixed["X"]
        found = torch.zeros(len(groups), X.shape[1], X.shape[1], dtype=X.dtype, device=X.device)
        for depth in range(max(len(c) for c in columns)):
            some = [place for place, c in enumerate(columns) if len(c) > depth]
            block = X[[int(columns[place][depth]) for place in some]]
            difference = block[:, :, None] - block[:, None, :]
            if len(some) == len(columns):
                found += difference.square_()
            else:
                found[some] += difference.square_()
        return found

    def _turned(self, parts, taken):
        return turn_actions(parts, taken, self.apart / self.state.bandwidth**2)
