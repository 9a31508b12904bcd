"""Two-layer networks on masked columns, one a mask, trained as one stack."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._masked_network import (
    initial_weights,
    network_outputs,
    output_losses,
    softmax,
    train_networks,
)
from rlselect.kernels._subset_least_squares import padded_columns
from rlselect.kernels._torch_network import check_device, train_networks_torch
from rlselect.predictors._masked import Array, MaskedPredictor, Masks, Target

# networks trained together: on the CPU as many as stay in its cache, on a device as many as fit
_CPU_CELLS = 400_000
_DEVICE_CELLS = 100_000_000
_ROUND = 16


class NetworkModel:
    """One trained network."""

    def __init__(self, flat: NDArray[np.float32], hidden: int, q: int) -> None:
        self.flat, self.hidden, self.q = flat, hidden, q

    def decision(self, X: Array) -> Array:
        """Outputs, one column a response."""
        inputs = (len(self.flat) - self.q) // self.hidden - self.q
        design = np.zeros((len(X), inputs), dtype=np.float32)
        design[:, 0], design[:, 1 : 1 + X.shape[1]] = 1.0, X
        return network_outputs(design[None], self.flat, self.hidden, self.q)[0].astype(np.float64)


class NetworkClasses(NetworkModel):
    """One trained network for classes."""

    def proba(self, X: Array) -> Array:
        """Probabilities of the classes."""
        return np.asarray(softmax(self.decision(X)))

    def log_odds(self, X: Array) -> Array:
        """Log odds of the second of two classes, the outputs otherwise."""
        outputs = self.decision(X)
        return np.asarray(outputs[:, 1] - outputs[:, 0]) if self.q == 2 else outputs


class MaskedNetwork(MaskedPredictor):
    """ReLU networks with one hidden layer, Adam on full batches.

    Every mask starts from the same random weights for the same column, so that masks differ by their columns
    and not by luck.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
    seed : int
        Of the first weights.
    hidden, epochs : int
    alpha : float
        Weight decay.
    tolerance : float, optional
        Stop a network whose training loss has not improved by this for ten epochs.
    device : {"cpu", "torch", "cuda", ...}
        "cpu" is NumPy; "torch" is torch on the CPU; anything else is a device of torch.
    n_folds : int
    """

    name = "network"

    def __init__(
        self,
        X: Array,
        target: Target,
        *,
        seed: int = 0,
        hidden: int = 128,
        epochs: int = 200,
        alpha: float = 1e-4,
        tolerance: float | None = None,
        device: str = "cpu",
        n_folds: int = 5,
    ) -> None:
        super().__init__(X, target, n_folds)
        self.seed, self.hidden, self.epochs = seed, hidden, epochs
        self.alpha, self.tolerance, self.device = alpha, tolerance, device
        self.log_loss = target.classifies
        if device != "cpu":
            check_device(self._torch_device)
        codes = target.codes
        one_hot = None if codes is None else codes[:, None] == np.arange(target.n_classes)
        self._response = np.asarray(target.Y if one_hot is None else one_hot, dtype=np.float32)
        self._padded = np.vstack([np.ones(len(X)), X.T, np.zeros(len(X))]).astype(np.float32)
        rng = np.random.default_rng(seed)
        self._uniform_out = rng.uniform(-1.0, 1.0, (hidden, self._response.shape[1]))
        self._uniform_in = rng.uniform(-1.0, 1.0, (X.shape[1] + 2, hidden))

    @property
    def _torch_device(self) -> str:
        return "cpu" if self.device == "torch" else self.device

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Squared errors, or minus the log-probability of each row's class."""
        masks = np.asarray(masks, dtype=bool)
        out = np.empty((len(masks), len(self.X)))
        order = np.argsort(masks.sum(axis=1), kind="stable")
        limit = _CPU_CELLS if self.device == "cpu" else _DEVICE_CELLS
        step = max(1, limit // (len(self.X) * self.hidden))
        for start in range(0, len(order), step):
            part = order[start : start + step]
            outputs = self._train(*self._filled(masks[part], train[part]))[: len(part)]
            out[part] = output_losses(outputs, self._response, self.target.classifies)
        return out

    def _filled(self, masks: Masks, train: NDArray[np.bool_]) -> tuple[Masks, NDArray[np.bool_]]:
        """For a device, stacks of few different sizes: what is recorded for a shape is used again."""
        if self.device == "cpu":
            return masks, train
        more = -len(masks) % _ROUND
        again = np.zeros(more, dtype=np.intp)
        return np.concatenate([masks, masks[again]]), np.concatenate([train, train[again]])

    def _stack(self, masks: Masks, train: NDArray[np.bool_]) -> tuple[NDArray, NDArray, NDArray]:
        columns = padded_columns(masks)
        if self.device != "cpu":
            wide = np.full((len(columns), -columns.shape[1] % 8), masks.shape[1] + 1, dtype=np.intp)
            columns = np.concatenate([columns, wide], axis=1)
        design = np.ascontiguousarray(self._padded[columns].swapaxes(1, 2))
        weight = (train / train.sum(axis=1, keepdims=True)).astype(np.float32)
        flat = initial_weights(self._uniform_in, self._uniform_out, columns, masks.sum(axis=1))
        return design, weight, flat

    def _train(self, masks: Masks, train: NDArray[np.bool_]) -> NDArray:
        design, weight, flat = self._stack(masks, train)
        learnt = self._fit_stack(*self._training_rows(design, weight, train), flat)
        return network_outputs(design, learnt, self.hidden, self._response.shape[1])

    def _training_rows(
        self, design: NDArray, weight: NDArray, train: NDArray[np.bool_]
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Design, response and weights without the rows that no network learns from."""
        counts = train.sum(axis=1)
        if counts.min() < counts.max():
            return design, self._response, weight
        rows = np.nonzero(train)[1].reshape(len(train), -1)
        taken = np.take_along_axis(design, rows[:, :, None], axis=1)
        return taken, self._response[rows], np.take_along_axis(weight, rows, axis=1)

    def _fit_stack(self, design: NDArray, response: NDArray, weight: NDArray, flat: NDArray) -> NDArray:
        options: dict[str, Any] = {
            "hidden": self.hidden,
            "classifies": self.target.classifies,
            "epochs": self.epochs,
            "alpha": self.alpha,
            "tolerance": self.tolerance,
        }
        if self.device == "cpu":
            return train_networks(design, response, weight, flat, **options)
        return train_networks_torch(design, response, weight, flat, device=self._torch_device, **options)

    def on_columns(self, X: Array) -> "MaskedNetwork":
        """Other columns, same folds."""
        other = MaskedNetwork(
            X,
            self.target,
            seed=self.seed,
            hidden=self.hidden,
            epochs=self.epochs,
            alpha=self.alpha,
            tolerance=self.tolerance,
            device=self.device,
            n_folds=self.n_folds,
        )
        other.folds = self.folds
        return other

    def fit(self, mask: NDArray[np.bool_]) -> NetworkModel:
        """One network on all rows."""
        design, weight, flat = self._stack(mask[None], np.ones((1, len(self.X)), dtype=bool))
        flat = self._fit_stack(design, self._response, weight, flat)
        made = NetworkClasses if self.target.classifies else NetworkModel
        return made(flat, self.hidden, self._response.shape[1])
