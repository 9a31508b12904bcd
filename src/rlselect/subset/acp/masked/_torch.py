"""The training of `kernels` in torch, on any device; on CUDA the steps are recorded once and replayed."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._devices import find_device
from rlselect.kernels import LEAST_SCALE, MEAN_DECAY, SQUARE_DECAY, Networks, Singles, Training

# steps between two looks at whether all networks are ready; a recorded graph holds as many
_BLOCK = 10
# shapes are rounded up to these, so that few graphs are recorded
_ROUND_NETWORKS, _ROUND_COLUMNS = 32, 8
_GRAPHS_KEPT = 8


class TorchTrainer:
    """Trains networks as `kernels.train_networks` does.

    Parameters
    ----------
    device : str
        As `find_device` takes it.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._where = find_device(device)
        self._plans: dict[tuple, _Plan] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["device"])  # type: ignore[misc]

    def train(
        self, A: Singles, Y: Singles, weight: Singles, networks: Networks, training: Training
    ) -> tuple[Networks, NDArray[np.intp]]:
        """Train every network on its own columns and rows; arguments and results as in `train_networks`."""
        m, n, columns = A.shape
        wide = -(-columns // _ROUND_COLUMNS) * _ROUND_COLUMNS
        many = -(-m // _ROUND_NETWORKS) * _ROUND_NETWORKS if self._where.type == "cuda" else m
        h, q = networks.second.shape[1] - 1, networks.second.shape[2]
        key = (many, n, wide, h, q, training)
        if key not in self._plans:
            while len(self._plans) >= _GRAPHS_KEPT:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = _Plan(self._where, *key)
        plan = self._plans[key]
        plan.load(A, Y, weight, networks)
        plan.run()
        return plan.result(m, columns)


class _Plan:
    """Buffers of one shape, and the steps on them."""

    def __init__(self, device: Any, m: int, n: int, columns: int, h: int, q: int, training: Training) -> None:
        import torch

        self.torch, self.device, self.training = torch, device, training
        self._shape = (m, n, columns, h, q)
        zeros = partial(torch.zeros, device=device)
        length = columns * h + (h + 1) * q
        self.A, self.Y, self.weight = zeros(m, n, columns), zeros(n, q), zeros(m, n, 1)
        # all weights of a network in one row, so that a step of Adam is a step on one matrix
        self.weights, self.slopes, self.mean, self.square = zeros(4, m, length)
        self.first, self.second = self._views(self.weights)
        self.first_slope, self.second_slope = self._views(self.slopes)
        decay = zeros(1, length)
        first, second = self._views(decay)
        # the bias of the first layer is the last column that is not padding: where that is, `load` knows
        first[:], second[:, :-1] = training.decay, training.decay
        self.decay, self.first_decay = decay, first
        self.best, self.waited, self.steps = zeros(m), zeros(m), zeros(m)
        self.size = zeros(_BLOCK)
        self.graph: Any = None

    def _views(self, flat: Any) -> tuple[Any, Any]:
        _, _, columns, h, q = self._shape
        cut = columns * h
        return flat[:, :cut].view(-1, columns, h), flat[:, cut:].view(-1, h + 1, q)

    def load(self, A: Singles, Y: Singles, weight: Singles, networks: Networks) -> None:
        """Fill the buffers for new networks."""
        m, _, columns = A.shape
        send = self.torch.from_numpy
        for buffer in (self.A, self.weight, self.weights, self.mean, self.square, self.waited, self.steps):
            buffer.zero_()
        self.best.fill_(float("inf"))
        self.A[:m, :, :columns] = send(np.ascontiguousarray(A)).to(self.device)
        self.Y.copy_(send(np.ascontiguousarray(Y)))
        self.weight[:m, :, 0] = send(np.ascontiguousarray(weight)).to(self.device)
        self.first[:m, :columns] = send(np.ascontiguousarray(networks.first)).to(self.device)
        self.second[:m] = send(np.ascontiguousarray(networks.second)).to(self.device)
        self.first_decay.fill_(self.training.decay)
        self.first_decay[:, columns - 1] = 0.0
        # networks that only fill the shape up are ready from the start
        self.waited[m:] = self.training.patience + 1.0

    def run(self) -> None:
        """Train until all are ready or the epochs are over."""
        sizes = self.torch.from_numpy(self.training.sizes()).to(self.device)
        for start in range(0, self.training.epochs, _BLOCK):
            part = sizes[start : start + _BLOCK]
            self.size[: len(part)] = part
            if len(part) < _BLOCK or self.device.type != "cuda":
                self._block(len(part))
            else:
                self._replay()
            if not bool((self.waited <= self.training.patience).any()):
                return

    def _replay(self) -> None:
        cuda = self.torch.cuda
        if self.graph is None:
            state = (self.weights, self.mean, self.square, self.best, self.waited, self.steps)
            kept = [tensor.clone() for tensor in state]
            # libraries set themselves up in a first run, which must not be recorded
            side = cuda.Stream(self.device)
            side.wait_stream(cuda.current_stream(self.device))
            with cuda.stream(side):
                self._block(2)
            cuda.current_stream(self.device).wait_stream(side)
            self.graph = cuda.CUDAGraph()
            with cuda.graph(self.graph):
                self._block(_BLOCK)
            for tensor, value in zip(state, kept, strict=True):
                tensor.copy_(value)
        self.graph.replay()

    def _block(self, steps: int) -> None:
        for i in range(steps):
            self._step(self.size[i])

    def _step(self, size: Any) -> None:
        torch, training = self.torch, self.training
        active = self.waited <= training.patience
        hidden = torch.bmm(self.A, self.first).relu_()
        outer = self.second[:, :-1]
        output = torch.baddbmm(self.second[:, -1:], hidden, outer)
        loss, slope = _loss_and_slope(torch, output, self.Y, self.weight, training.log_loss)
        self.second_slope[:, :-1] = torch.bmm(hidden.mT, slope)
        self.second_slope[:, -1:] = slope.sum(dim=1, keepdim=True)
        back = slope * outer.mT if slope.shape[2] == 1 else torch.bmm(slope, outer.mT)
        back = torch.ops.aten.threshold_backward(back, hidden, 0.0)
        self.first_slope.copy_(torch.bmm(self.A.mT, back))
        self.slopes.addcmul_(self.weights, self.decay)
        self.mean.lerp_(self.slopes, 1.0 - MEAN_DECAY)
        self.square.mul_(SQUARE_DECAY).addcmul_(self.slopes, self.slopes, value=1.0 - SQUARE_DECAY)
        move = self.mean / self.square.sqrt().add_(LEAST_SCALE)
        self.weights.addcmul_(move, (active * size)[:, None], value=-1.0)
        self.steps += active
        stuck = loss > self.best - training.tolerance
        self.waited.copy_(torch.where(active, torch.where(stuck, self.waited + 1.0, 0.0), self.waited))
        self.best.copy_(torch.minimum(self.best, loss))

    def result(self, m: int, columns: int) -> tuple[Networks, NDArray[np.intp]]:
        """Weights of the first m networks and their steps, as arrays."""
        first = self.first[:m, :columns].cpu().numpy().copy()
        second = self.second[:m].cpu().numpy().copy()
        return Networks(first, second), self.steps[:m].cpu().numpy().astype(np.intp)


def _loss_and_slope(torch: Any, output: Any, Y: Any, weight: Any, log_loss: bool) -> tuple[Any, Any]:
    if not log_loss:
        slope = output - Y
        weighted = slope * weight
        return 0.5 * (slope * weighted).sum(dim=(1, 2)), weighted
    if Y.shape[1] == 1:
        loss = torch.nn.functional.softplus(output) - Y * output
        return (loss * weight).sum(dim=(1, 2)), (torch.sigmoid(output) - Y) * weight
    logs = torch.log_softmax(output, dim=2)
    loss = -(logs * Y).sum(dim=2, keepdim=True)
    return (loss * weight).sum(dim=(1, 2)), (logs.exp() - Y) * weight
