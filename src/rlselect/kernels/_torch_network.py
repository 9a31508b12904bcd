"""The stack of networks of `_masked_network` on torch: the same start, the same steps, any device."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._masked_network import BETA1, BETA2, EPSILON, PATIENCE, RATE, decay_of

# epochs recorded in one CUDA graph
_RECORDED = 10
_WARM_UP = 3


def import_torch() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "networks on this device need torch; install it with pip install 'rlselect[torch]', or use "
            "device='cpu'."
        ) from error
    return torch


def check_device(device: str) -> None:
    """Refuse a device that torch does not have."""
    torch = import_torch()
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} was given, but torch cannot use it here: {error}") from error


class _Stack:
    """Tensors of a stack, and one epoch on them without any decision on the host."""

    def __init__(self, torch, design, response, weight, start, hidden, classifies, alpha, tolerance):
        m, _, s = design.shape
        q = response.shape[1]
        self.torch, self.classifies, self.tolerance = torch, classifies, tolerance
        self.design, self.response, self.weight = design, response, weight[:, :, None]
        self.shape = (m, s, hidden, q)
        self.flat = start
        self.first, self.second, self.bias = self._views(self.flat)
        self.gradient = torch.zeros_like(start)
        self.to_first, self.to_second, self.to_bias = self._views(self.gradient)
        self.mean, self.square = torch.zeros_like(start), torch.zeros_like(start)
        counts = (1.0 / weight.max(dim=1).values).cpu().numpy()
        self.decay = torch.as_tensor(decay_of(m, s, hidden, q, alpha, counts), device=start.device)
        self.powers = torch.ones(2, device=start.device, dtype=torch.float64)
        self.betas = torch.tensor([BETA1, BETA2], device=start.device, dtype=torch.float64)
        self.best = torch.full((m,), torch.inf, device=start.device)
        self.idle = torch.zeros(m, device=start.device)
        self.alive = torch.ones(m, device=start.device)
        self.factor = torch.ones_like(start)
        self.parts = self._views(self.factor)

    def _views(self, flat):
        m, s, hidden, q = self.shape
        first, second = m * s * hidden, m * hidden * q
        return (
            flat[:first].view(m, s, hidden),
            flat[first : first + second].view(m, hidden, q),
            flat[first + second :].view(m, 1, q),
        )

    def epoch(self):
        torch = self.torch
        active = torch.bmm(self.design, self.first).relu_()
        outputs = torch.baddbmm(self.bias, active, self.second)
        if self.tolerance is not None:
            self._watch(outputs)
        error = torch.softmax(outputs, dim=2) if self.classifies else outputs
        error = (error - self.response) * self.weight
        torch.bmm(active.transpose(1, 2), error, out=self.to_second)
        torch.sum(error, dim=1, keepdim=True, out=self.to_bias)
        back = torch.bmm(error, self.second.transpose(1, 2))
        back = torch.ops.aten.threshold_backward(back, active, 0)
        torch.bmm(self.design.transpose(1, 2), back, out=self.to_first)
        self.gradient.addcmul_(self.decay, self.flat)
        self._adam()

    def _adam(self):
        self.powers.mul_(self.betas)
        root = (1.0 - self.powers[1]).sqrt()
        scale = (RATE * root / (1.0 - self.powers[0])).float()
        self.mean.lerp_(self.gradient, 1.0 - BETA1)
        self.square.mul_(BETA2).addcmul_(self.gradient, self.gradient, value=1.0 - BETA2)
        step = self.mean / self.square.sqrt().add_((EPSILON * root).float())
        if self.tolerance is not None:
            step.mul_(self.factor)
        self.flat.sub_(step.mul_(scale))

    def _watch(self, outputs):
        torch = self.torch
        if self.classifies:
            shares = (torch.softmax(outputs, dim=2) * self.response).sum(dim=2, keepdim=True)
            losses = -shares.clamp_min(1e-10).log()
        else:
            losses = 0.5 * (outputs - self.response).square().sum(dim=2, keepdim=True)
        losses = (losses * self.weight).sum(dim=(1, 2))
        idle = torch.where(losses > self.best - self.tolerance, self.idle + 1, torch.zeros_like(self.idle))
        self.idle.copy_(idle)
        self.best.copy_(torch.minimum(self.best, losses))
        self.alive.mul_((self.idle <= PATIENCE).to(self.alive.dtype))
        for part in self.parts:
            part.copy_(self.alive[:, None, None].expand_as(part))

    def state(self):
        return (self.flat, self.mean, self.square, self.powers, self.best, self.idle, self.alive, self.factor)


def train_networks_torch(
    design: NDArray,
    response: NDArray,
    weight: NDArray,
    start: NDArray,
    *,
    hidden: int,
    classifies: bool,
    epochs: int,
    alpha: float,
    tolerance: float | None = None,
    device: str = "cpu",
) -> NDArray:
    """Train a stack of networks on a device; see `train_networks`.

    On CUDA some epochs are recorded as a graph and replayed, which saves the launch of each operation.

    Parameters
    ----------
    design, response, weight, start, hidden, classifies, epochs, alpha, tolerance
        As for `train_networks`.
    device : str

    Returns
    -------
    array of shape (m, n, q)
        Outputs of the trained networks for all rows.
    """
    torch = import_torch()
    with torch.no_grad():
        X, Y, w, first = (
            torch.as_tensor(np.ascontiguousarray(a, dtype=np.float32)).to(device, copy=True)
            for a in (design, response, weight, start)
        )
        stack = _Stack(torch, X, Y, w, first, hidden, classifies, alpha, tolerance)
        if torch.device(device).type == "cuda":
            _replay(torch, stack, epochs)
        else:
            for _ in range(epochs):
                stack.epoch()
                if tolerance is not None and not bool(stack.alive.any()):
                    break
        active = torch.bmm(stack.design, stack.first).relu_()
        outputs = torch.baddbmm(stack.bias, active, stack.second)
        return np.asarray(outputs.cpu().numpy())


def _replay(torch: Any, stack: _Stack, epochs: int) -> None:
    """Record some epochs once, then replay them; what warming up changed is put back."""
    if epochs < 2 * _RECORDED:
        for _ in range(epochs):
            stack.epoch()
        return
    with torch.cuda.device(stack.flat.device):
        saved = [tensor.clone() for tensor in stack.state()]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                stack.epoch()
        torch.cuda.current_stream().wait_stream(side)
        for tensor, value in zip(stack.state(), saved, strict=True):
            tensor.copy_(value)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(_RECORDED):
                stack.epoch()
        for _ in range(epochs // _RECORDED):
            graph.replay()
        for _ in range(epochs % _RECORDED):
            stack.epoch()
        torch.cuda.synchronize()
