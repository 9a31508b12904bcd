"""A stage of Algorithm 28 in torch, on any device: many features leave at once."""

from collections.abc import Sequence

import numpy as np
import torch

from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._torch_kernels import TorchKernels, invert, solve_machines
from rlselect.regimes._value_stages import GaussianStage, turn_actions

__all__ = ["TorchStage"]


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

    def __init__(self, machine: StageMachine, history: np.ndarray, allowed: np.ndarray, device: str) -> None:
        self.device = device
        super().__init__(machine, history, allowed)

    def _prepare(self, machine: StageMachine, history: np.ndarray) -> None:
        super()._prepare(machine, history)
        self.kernels = TorchKernels(self.state, self.device)
        self.ridge_there = self.kernels.send(self.ridge)
        self.taken_there = self.kernels.send(self.taken)
        self.forbidden = torch.as_tensor(~self.allowed, device=self.kernels.where)

    def refresh(self) -> None:
        """Solve for the present features."""
        self.kernels.refresh()
        self.gram = self.kernels.gram()
        matrix = self.gram.clone()
        matrix.diagonal().add_(self.ridge_there)
        self.inverse = invert(matrix)
        self.sums = matrix.sum(dim=0)

    def values(self, Y: np.ndarray) -> np.ndarray:
        """Values with the present features, one column per response (n, m)."""
        y = self.kernels.send(Y)
        coefficients = self.inverse @ y
        intercepts = (y.sum(dim=0) - self.sums @ coefficients) / len(y)
        shares = coefficients[:, :, None] * self.taken_there[:, None]
        parts = (self.gram @ shares.reshape(len(y), -1)).reshape(shares.shape)
        q = self._turned(parts, self.taken_there[:, None]) + intercepts[:, None]
        return q.masked_fill(self.forbidden[:, None], -torch.inf).amax(dim=-1).cpu().numpy()

    def values_without(self, y: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Values without each of some features, one column per feature."""
        there = self.kernels.send(y)
        found = [self._batch_without(there, some) for some in self.kernels.batches(groups)]
        return torch.cat(found).T.cpu().numpy()

    def _batch_without(self, y: torch.Tensor, groups: Sequence[int]) -> torch.Tensor:
        """One row per feature: (m, n)."""
        matrices = self.kernels.without(groups)
        coefficients, intercepts = solve_machines(matrices, self.ridge_there, y)
        shares = coefficients[:, :, None] * self.taken_there
        # The ridge is on the diagonals by now.
        parts = matrices @ shares - self.ridge_there[:, None] * shares
        q = self._turned(parts, self.taken_there) + intercepts[:, None, None]
        return q.masked_fill(self.forbidden, -torch.inf).amax(dim=-1)

    def _turned(self, parts: torch.Tensor, taken: torch.Tensor) -> torch.Tensor:
        return turn_actions(parts, taken, self.apart / self.state.bandwidth**2)
