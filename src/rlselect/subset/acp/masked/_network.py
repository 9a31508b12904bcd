"""Two-layer networks on masked columns, those of a whole batch of masks trained at once."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import present_clock, undisturbed, while_time
from rlselect._limits import seconds_for
from rlselect.kernels import (
    Networks,
    Singles,
    Training,
    network_outputs,
    padded_columns,
    row_losses,
    start_networks,
    train_networks,
)
from rlselect.subset.acp.masked._predictor import Array, MaskedPredictor, Masks, Target, balanced_folds

# one split judges the subsets of a batch: this share of the rows is held out
_HELD = 0.3
# units of the hidden layer
_HIDDEN = 128
# weights of the squared weights in the loss that `tune` tries, and the share of the time for it
DECAYS = (0.001, 0.003, 0.01, 0.03)
_FOR_TUNING = 0.3
# networks of the final model, from different starts; their outputs are averaged
_FINAL = 8


class NetworkModel:
    """The mean of some networks on the same columns.

    Parameters
    ----------
    networks : Networks
    n_classes : int
        0 for regression.
    """

    def __init__(self, networks: Networks, n_classes: int) -> None:
        self.networks = networks
        self.n_classes = n_classes

    def decision(self, X: Array) -> Array:
        """One column a response."""
        A = np.column_stack([X, np.ones(len(X))]).astype(np.float32)
        every = np.broadcast_to(A, (len(self.networks.first), *A.shape))
        return network_outputs(every, self.networks).mean(axis=0, dtype=np.float64)

    def log_odds(self, X: Array) -> Array:
        """One value per row for two classes, one per class otherwise."""
        decision = self.decision(X)
        return decision[:, 0] if self.n_classes == 2 else decision

    def proba(self, X: Array) -> Array:
        """Probabilities of the classes."""
        decision = self.decision(X)
        if self.n_classes == 2:
            decision = np.concatenate([np.zeros_like(decision), decision], axis=1)
        odds = np.exp(decision - decision.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


class MaskedNetwork(MaskedPredictor):
    """A ReLU network of one hidden layer for each mask, judged on rows that were held out.

    All networks of a batch start from one draw of weights and see the same rows, so that they differ by
    their columns only. Squared error for numbers, log loss for classes.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
    hidden : int
    training : Training, optional
        Its decay is where `tune` starts from.
    device : str
        "cpu" is NumPy; "torch" is torch on the CPU; other names are torch's devices.
    random_state : int
        Seed of the first split and the first weights.
    """

    name = "network"
    slow = True

    def __init__(
        self,
        X: Array,
        target: Target,
        *,
        hidden: int = _HIDDEN,
        training: Training | None = None,
        device: str = "cpu",
        random_state: int = 0,
    ) -> None:
        super().__init__(X, target)
        self.log_loss = target.classifies
        self.hidden = hidden
        self.training = replace(training or Training(decay=0.01), log_loss=self.log_loss)
        self.device = device
        self._train = train_networks
        if device != "cpu":
            from rlselect.subset.acp.masked._torch import TorchTrainer

            self._train = TorchTrainer(device).train
        self._Y = _responses(target)
        self._X = np.column_stack([X, np.ones(len(X)), np.zeros(len(X))]).astype(np.float32)
        self.redraw(np.random.default_rng(random_state))

    def redraw(self, rng: np.random.Generator) -> bool:
        """Draw folds, the split of a batch, and the weights that all networks start from."""
        super().redraw(rng)
        parts = balanced_folds(self.target, 10, rng)
        self._held = parts < round(10 * _HELD) if len(parts) >= 10 else parts == 0
        self._start = self._uniform(self.X.shape[1], rng)
        return True

    def _uniform(self, p: int, rng: np.random.Generator) -> tuple[Singles, Singles]:
        """Numbers from [-1, 1] for the weights of a network on p columns."""
        shapes = ((p + 1, self.hidden), (self.hidden + 1, self._Y.shape[1]))
        first, second = (rng.uniform(-1.0, 1.0, size=shape).astype(np.float32) for shape in shapes)
        return first, second

    def tune(self, mask: NDArray[np.bool_]) -> bool:
        """Choose the decay with the smallest held-out loss for a subset."""
        before, errors = self.training, []
        with present_clock().part(_FOR_TUNING):
            for decay in while_time(DECAYS):
                self.training = replace(before, decay=decay)
                errors.append(self.row_losses(mask).mean())
        self.training = replace(before, decay=DECAYS[int(np.argmin(errors))])
        return self.training != before

    def _trained(self, masks: Masks, train: NDArray[np.bool_]) -> tuple[Singles, Networks]:
        """Columns of each network, a column of ones last, and the networks."""
        masks = np.asarray(masks, dtype=bool)
        p = self.X.shape[1]
        # padded_columns counts the intercept as column 0 and what only pads as p + 1
        columns = padded_columns(masks)[:, 1:] - 1
        start = start_networks(self._start, columns, masks.sum(axis=1))
        ones = np.full((len(masks), 1), p)
        picked = np.concatenate([np.where(columns == p, p + 1, columns), ones], axis=1)
        A = self._X[:, picked].transpose(1, 0, 2)
        weight = train / np.maximum(train.sum(axis=1, keepdims=True), 1)
        # rows that no network learns from are left out, all others weighted
        used = train.any(axis=0)
        rows = (A[:, used], self._Y[used], weight[:, used].astype(np.float32))
        networks, _ = self._train(*rows, start, self.training)
        return A, networks

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Squared errors or log losses of all rows."""
        A, networks = self._trained(masks, train)
        loss, _ = row_losses(network_outputs(A, networks), self._Y, self.log_loss)
        return loss.astype(np.float64) * (1.0 if self.log_loss else 2.0)

    def criterion(self, masks: Masks) -> Array:
        """Log of the mean squared error, or twice the log loss, on the rows that are held out."""
        train = np.broadcast_to(~self._held, (len(masks), len(self._held)))
        mean = self.losses(masks, train)[:, self._held].mean(axis=1)
        return 2.0 * mean if self.log_loss else np.log(np.maximum(mean, 1e-300))

    def on_columns(self, X: Array) -> "MaskedNetwork":
        """Other columns, same split; the weights are drawn for the new columns."""
        other = MaskedNetwork(X, self.target, hidden=self.hidden, training=self.training, device=self.device)
        other.folds, other._held, other._train = self.folds, self._held, self._train
        return other

    def fit(self, mask: NDArray[np.bool_]) -> NetworkModel:
        """Several networks on the subset and all rows."""
        p = int(mask.sum())
        A = np.concatenate([self._X[:, :-2][:, mask], self._X[:, -2:-1]], axis=1)
        rng = np.random.default_rng(0)
        weight = np.full((1, len(A)), 1.0 / len(A), dtype=np.float32)
        trained = []
        for _ in while_time(range(_FINAL)):
            start = start_networks(self._uniform(p, rng), np.arange(p)[None], np.array([p]))
            # a little more time is for what stays
            clock = present_clock()
            with undisturbed(), clock.afterwards():
                trained.append(self._train(A[None], self._Y, weight, start, self.training)[0])
        networks = Networks(
            np.concatenate([one.first for one in trained]), np.concatenate([one.second for one in trained])
        )
        return NetworkModel(networks, self.target.n_classes)


def row_seconds(p: int) -> float:
    """About how long one row takes in the whole training of a network on p columns."""
    # products forward and, for both layers of numbers they come from, back
    return seconds_for(6.0 * Training.epochs * _HIDDEN * (p + 1))


def _responses(target: Target) -> Singles:
    """Numbers as they are; 0/1 for two classes; indicators for more."""
    if target.codes is None:
        return target.Y.astype(np.float32)
    if target.n_classes == 2:
        return target.codes[:, None].astype(np.float32)
    return (target.codes[:, None] == np.arange(target.n_classes)).astype(np.float32)
