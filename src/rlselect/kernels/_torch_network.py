"""The stack of networks of `_masked_network` on torch: the same start, the same steps, any device."""

from collections import OrderedDict
from functools import partial
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
    """Tensors of stacks of one shape, and one epoch on them without any decision on the host.

    On CUDA some epochs are recorded as a graph once and replayed, for every stack of this shape: that saves
    the launch of each operation, which is most of the time of small networks.
    """

    def __init__(
        self, torch: Any, shape: tuple[int, ...], classifies: bool, tolerance: float | None, device: str
    ) -> None:
        m, n, s, hidden, q = shape
        self.torch, self.classifies, self.tolerance = torch, classifies, tolerance
        self.shape = (m, s, hidden, q)
        self.graph: Any = None
        zeros = partial(torch.zeros, device=device)
        self.design, self.response, self.weight = zeros(m, n, s), zeros(m, n, q), zeros(m, n, 1)
        size = m * (s * hidden + hidden * q + q)
        self.flat, self.gradient, self.decay = zeros(size), zeros(size), zeros(size)
        self.mean, self.square, self.factor = zeros(size), zeros(size), zeros(size)
        self.powers = zeros(2, dtype=torch.float64)
        self.betas = torch.tensor([BETA1, BETA2], device=device, dtype=torch.float64)
        self.best, self.idle, self.alive = zeros(m), zeros(m), zeros(m)
        self.first, self.second, self.bias = self._views(self.flat)
        self.to_first, self.to_second, self.to_bias = self._views(self.gradient)
        self.parts = self._views(self.factor)

    def _views(self, flat: Any) -> tuple[Any, Any, Any]:
        m, s, hidden, q = self.shape
        first, second = m * s * hidden, m * hidden * q
        return (
            flat[:first].view(m, s, hidden),
            flat[first : first + second].view(m, hidden, q),
            flat[first + second :].view(m, 1, q),
        )

    def load(self, design: NDArray, response: NDArray, weight: NDArray, alpha: float) -> None:
        """Put in the data of new networks."""
        counts = 1.0 / weight.max(axis=1)
        for tensor, values in (
            (self.design, design),
            (self.response, np.broadcast_to(response, tuple(self.response.shape))),
            (self.weight, weight[:, :, None]),
            (self.decay, decay_of(*self.shape, alpha, counts)),
        ):
            tensor.copy_(self.torch.from_numpy(np.array(values, dtype=np.float32)))

    def reset(self, start: NDArray) -> None:
        """Start again from given weights."""
        self.flat.copy_(self.torch.from_numpy(np.array(start, dtype=np.float32)))
        for tensor, value in (
            (self.mean, 0.0),
            (self.square, 0.0),
            (self.powers, 1.0),
            (self.best, float("inf")),
            (self.idle, 0.0),
            (self.alive, 1.0),
            (self.factor, 1.0),
        ):
            tensor.fill_(value)

    def train(self, start: NDArray, epochs: int) -> None:
        """Run all epochs from given weights."""
        torch = self.torch
        self.reset(start)
        if self.flat.device.type != "cuda" or epochs < 2 * _RECORDED:
            for _ in range(epochs):
                self.epoch()
                if self.tolerance is not None and not bool(self.alive.any()):
                    return
            return
        with torch.cuda.device(self.flat.device):
            if self.graph is None:
                self._record()
                self.reset(start)
            for _ in range(epochs // _RECORDED):
                self.graph.replay()
            for _ in range(epochs % _RECORDED):
                self.epoch()

    def _record(self) -> None:
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                self.epoch()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(_RECORDED):
                self.epoch()
        self.graph = graph

    def epoch(self) -> None:
        """One forward and backward pass and one step of Adam."""
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

    def _adam(self) -> None:
        self.powers.mul_(self.betas)
        root = (1.0 - self.powers[1]).sqrt()
        scale = (RATE * root / (1.0 - self.powers[0])).float()
        self.mean.lerp_(self.gradient, 1.0 - BETA1)
        self.square.mul_(BETA2).addcmul_(self.gradient, self.gradient, value=1.0 - BETA2)
        step = self.mean / self.square.sqrt().add_((EPSILON * root).float())
        if self.tolerance is not None:
            step.mul_(self.factor)
        self.flat.sub_(step.mul_(scale))

    def _watch(self, outputs: Any) -> None:
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


# stacks of the last few shapes: their memory and graphs are used again
_STACKS: OrderedDict[tuple, _Stack] = OrderedDict()
_KEPT = 4


def _stack_of(torch: Any, key: tuple) -> _Stack:
    if key in _STACKS:
        _STACKS.move_to_end(key)
        return _STACKS[key]
    while len(_STACKS) >= _KEPT:
        _STACKS.popitem(last=False)
    _STACKS[key] = _Stack(torch, *key)
    return _STACKS[key]


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

    Parameters
    ----------
    design, response, weight, start, hidden, classifies, epochs, alpha, tolerance
        As for `train_networks`.
    device : str

    Returns
    -------
    float32 array
        Flat parameters.
    """
    torch = import_torch()
    with torch.no_grad():
        shape = (*design.shape, hidden, response.shape[-1])
        stack = _stack_of(torch, (shape, classifies, tolerance, device))
        stack.load(design, response, weight, alpha)
        stack.train(start, epochs)
        return np.asarray(stack.flat.cpu().numpy().copy())
