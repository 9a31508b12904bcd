"""Eliminations from Gaussian kernels in torch: every removal is solved, where NumPy goes by bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rlselect.kernels import loo_residuals
from rlselect.machines import HeldOutProblem
from rlselect.regimes._torch_kernels import TorchKernels, invert, solve_machines

__all__ = ["on_device"]


def on_device(problem: Any, device: str) -> Any:
    """A problem with the squared loss and an intercept on a Gaussian state, with its removals on a device."""
    kind = _HeldOutOnDevice if isinstance(problem, HeldOutProblem) else _SquaredOnDevice
    return kind(problem, device)


class _OnDevice:
    """A problem whose kernel matrices live on a device; whatever is not said here is the problem's."""

    def __init__(self, problem: Any, device: str) -> None:
        self.problem = problem
        self.kernels = TorchKernels(problem.state, device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.problem.drop(groups)
        self.kernels.refresh()

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave; equal ones by their number."""
        candidates = list(self.problem.active)
        values = torch.cat([self._judge(some) for some in self.kernels.batches(candidates)]).cpu().numpy()
        best = values.min()
        ties = np.floor((values - best) / max(1e-12 * abs(best), 1e-300))
        order = np.lexsort([candidates, ties])[:count]
        return [(candidates[i], float(values[i])) for i in order]

    def _judge(self, groups):
        raise NotImplementedError


class _SquaredOnDevice(_OnDevice):
    """Regularised risk on all rows, with closed-form leave-one-out."""

    def __init__(self, problem: Any, device: str) -> None:
        super().__init__(problem, device)
        self.ridge = problem.lam * problem.weights.sum() / problem.weights
        self.y, self.ridge_there = (self.kernels.send(a) for a in (problem.targets[:, 0], self.ridge))

    def refresh(self) -> None:
        """Solve on the present set and leave each row out."""
        p = self.problem
        matrix = self.kernels.gram()
        matrix.diagonal().add_(self.ridge_there)
        inverse = invert(matrix)
        coefficients, diagonal = (inverse @ self.y).cpu().numpy(), inverse.diagonal().cpu().numpy()
        p.objective = p.lam * float(coefficients @ p.targets[:, 0])
        p.losses = np.square(loo_residuals(coefficients, diagonal, self.ridge, p.weights))

    def _judge(self, groups):
        coefficients, _ = solve_machines(self.kernels.without(groups), self.ridge_there, self.y)
        return self.problem.lam * (coefficients @ self.y)


class _HeldOutOnDevice(_OnDevice):
    """Algorithm 26: fitted on some rows, judged on the others."""

    def __init__(self, problem: Any, device: str) -> None:
        super().__init__(problem, device)
        p, send = problem, self.kernels.send
        weights = p.weights[p.train]
        self.ridge = send(p.lam * weights.sum() / weights)
        self.y, self.y_test = send(p.targets[p.train, 0]), send(p.targets[p.test, 0])
        self.shares = send(p.judged_weights / p.judged_weights.sum())
        self.train, self.test = (
            torch.as_tensor(rows, device=self.kernels.where) for rows in (p.train, p.test)
        )

    def _judge(self, groups):
        every = self.kernels.without(groups, self.train)
        matrices = every[:, self.train]
        coefficients, intercepts = solve_machines(matrices, self.ridge, self.y)
        smooth = self.y - intercepts[:, None] - self.ridge * coefficients
        norm = self.problem.lam * (coefficients * smooth).sum(dim=1)
        decision = (every[:, self.test] @ coefficients[:, :, None])[:, :, 0] + intercepts[:, None]
        return norm + (self.y_test - decision).square() @ self.shares
