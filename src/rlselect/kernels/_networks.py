"""Many two-layer networks trained at once, one on each subset of columns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import time_is_up

Singles = NDArray[np.float32]

# numbers of hidden units x rows that are worked on at once: about what a cache holds
_CELLS = 2**17
# steps that are taken however late it is
_LEAST_STEPS = 10
MEAN_DECAY, SQUARE_DECAY, LEAST_SCALE = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Training:
    """How the networks learn: Adam on all rows at once.

    Attributes
    ----------
    epochs : int
        Steps at most.
    step : float
        Learning rate.
    decay : float
        Weight of half the squared weights in the loss; biases are free.
    tolerance, patience : float, int
        A network is ready when its loss has not fallen by `tolerance` below the best one for more than
        `patience` steps.
    log_loss : bool
        Whether the loss is the log loss of classes rather than half the squared error.
    """

    epochs: int = 300
    step: float = 0.01
    decay: float = 1e-4
    tolerance: float = 1e-4
    patience: int = 10
    log_loss: bool = False

    def sizes(self) -> Singles:
        """Learning rate of every step, Adam's corrections for its start included."""
        return adam_sizes(np.full(self.epochs, self.step))


@dataclass
class Networks:
    """Weights of m networks; the last row of each matrix is a bias.

    Attributes
    ----------
    first : array of shape (m, k + 1, h)
    second : array of shape (m, h + 1, q)
    """

    first: Singles
    second: Singles

    def part(self, which: slice) -> "Networks":
        """Copies of some of them."""
        return Networks(self.first[which].copy(), self.second[which].copy())


def start_networks(
    uniform: tuple[Singles, Singles], columns: NDArray[np.intp], sizes: NDArray[np.intp]
) -> Networks:
    """First weights of networks on subsets, all from one draw, so that subsets are compared on equal terms.

    Parameters
    ----------
    uniform : arrays of shape (p + 1, h) and (h + 1, q)
        Drawn from [-1, 1]; the last rows are for biases.
    columns : int array of shape (m, k)
        Columns of each subset; p where there are fewer than k.
    sizes : int array of shape (m,)
        How many there are.

    Returns
    -------
    Networks
        Scaled by Glorot's rule for the number of inputs that each has.
    """
    first, second = uniform
    p, (h, q) = len(first) - 1, (first.shape[1], second.shape[1])
    bound = np.sqrt(6.0 / (np.maximum(sizes, 1) + h)).astype(np.float32)
    rows = np.concatenate([columns, np.full((len(columns), 1), p)], axis=1)
    weights = first[rows] * bound[:, None, None]
    weights[:, :-1][columns == p] = 0.0
    scaled = second * np.float32(np.sqrt(6.0 / (h + q)))
    return Networks(weights, np.repeat(scaled[None], len(columns), axis=0))


def train_networks(
    A: Singles, Y: Singles, weight: Singles, networks: Networks, training: Training
) -> tuple[Networks, NDArray[np.intp]]:
    """Train every network on its own columns and rows.

    Parameters
    ----------
    A : array of shape (m, n, k + 1)
        Columns of each network, a column of ones last.
    Y : array of shape (n, q)
        Response: numbers, 0/1 for two classes (q = 1), or indicators of classes.
    weight : array of shape (m, n)
        Weight of each row for each network; 0 leaves it out. Sums to 1 over the rows.
    networks : Networks
        Where they start; left as they are.
    training : Training

    Returns
    -------
    Networks
        Trained ones.
    int array of shape (m,)
        Steps each of them took.
    """
    m, n, _ = A.shape
    h = networks.first.shape[2]
    chunk = max(1, _CELLS // (n * h))
    out = Networks(np.empty_like(networks.first), np.empty_like(networks.second))
    steps = np.empty(m, dtype=np.intp)
    for start in range(0, m, chunk):
        part = slice(start, start + chunk)
        trained, steps[part] = _train(A[part], Y, weight[part], networks.part(part), training)
        out.first[part], out.second[part] = trained.first, trained.second
    return out, steps


def _train(
    A: Singles, Y: Singles, weight: Singles, networks: Networks, training: Training
) -> tuple[Networks, NDArray[np.intp]]:
    first, second = networks.first, networks.second
    At = np.ascontiguousarray(A.transpose(0, 2, 1))
    hidden, back = np.empty((2, len(A), A.shape[1], first.shape[2]), dtype=np.float32)
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in (first, second)]
    best = np.full(len(A), np.inf, dtype=np.float32)
    waited = np.zeros(len(A), dtype=np.intp)
    steps = np.zeros(len(A), dtype=np.intp)
    for number, size in enumerate(training.sizes()):
        active = waited <= training.patience
        if not active.any() or (number >= _LEAST_STEPS and time_is_up()):
            break
        np.matmul(A, first, out=hidden)
        np.maximum(hidden, 0.0, out=hidden)
        output = _output(hidden, second)
        loss, slope = loss_and_slope(output, Y, weight, training.log_loss)
        gradient = np.concatenate(
            [np.matmul(hidden.transpose(0, 2, 1), slope), slope.sum(axis=1, keepdims=True)], axis=1
        )
        if slope.shape[2] == 1:
            np.multiply(slope, second[:, None, :-1, 0], out=back)
        else:
            np.matmul(slope, np.ascontiguousarray(second[:, :-1].transpose(0, 2, 1)), out=back)
        np.multiply(back, hidden > 0.0, out=back)
        rates = (size * active).astype(np.float32)[:, None, None]
        gradients = (np.matmul(At, back), gradient)
        for weights, slopes, pair in zip((first, second), gradients, moments, strict=True):
            slopes[:, :-1] += np.float32(training.decay) * weights[:, :-1]
            adam_step(weights, slopes, *pair, rates)
        steps += active
        # a network that is ready stays ready
        waited = np.where(active, np.where(loss > best - training.tolerance, waited + 1, 0), waited)
        best = np.minimum(best, loss)
    return networks, steps


def _output(hidden: Singles, second: Singles) -> Singles:
    return np.matmul(hidden, second[:, :-1]) + second[:, -1:]


def adam_sizes(rates: NDArray) -> Singles:
    """Learning rates of Adam's steps from the first on, with its corrections for its start: (steps,)."""
    t = np.arange(1, len(rates) + 1, dtype=np.float64)
    return (rates * np.sqrt(1.0 - SQUARE_DECAY**t) / (1.0 - MEAN_DECAY**t)).astype(np.float32)


def adam_step(
    weights: Singles, slopes: Singles, mean: Singles, square: Singles, rates: Singles | np.float32
) -> None:
    """One step in place; `slopes` is used up."""
    mean *= np.float32(MEAN_DECAY)
    mean += np.float32(1.0 - MEAN_DECAY) * slopes
    np.multiply(slopes, slopes, out=slopes)
    slopes *= np.float32(1.0 - SQUARE_DECAY)
    square *= np.float32(SQUARE_DECAY)
    square += slopes
    np.sqrt(square, out=slopes)
    slopes += np.float32(LEAST_SCALE)
    np.divide(mean, slopes, out=slopes)
    slopes *= rates
    weights -= slopes


def loss_and_slope(output: Singles, Y: Singles, weight: Singles, log_loss: bool) -> tuple[Singles, Singles]:
    """Weighted mean loss of each network and its slope in the outputs.

    Parameters
    ----------
    output : array of shape (m, n, q)
    Y : array of shape (n, q)
    weight : array of shape (m, n)
    log_loss : bool

    Returns
    -------
    array of shape (m,)
    array of shape (m, n, q)
    """
    rows, slope = row_losses(output, Y, log_loss)
    return np.einsum("mn,mn->m", rows, weight), slope * weight[:, :, None]


def row_losses(output: Singles, Y: Singles, log_loss: bool) -> tuple[Singles, Singles]:
    """Half the squared error, or the log loss, of each row, and its slope in the outputs.

    Parameters
    ----------
    output : array of shape (m, n, q)
    Y : array of shape (n, q)
    log_loss : bool

    Returns
    -------
    array of shape (m, n)
    array of shape (m, n, q)
    """
    if not log_loss:
        slope = output - Y
        return 0.5 * np.square(slope).sum(axis=2), slope
    if Y.shape[1] == 1:
        loss = np.logaddexp(0.0, output) - Y * output
        return loss[..., 0], 0.5 * (1.0 + np.tanh(0.5 * output)) - Y
    shifted = output - output.max(axis=2, keepdims=True)
    exponent = np.exp(shifted)
    total = exponent.sum(axis=2, keepdims=True)
    loss = np.log(total[..., 0]) - (shifted * Y).sum(axis=2)
    return loss, exponent / total - Y


def network_outputs(A: Singles, networks: Networks) -> Singles:
    """Outputs of every network on rows of its columns.

    Parameters
    ----------
    A : array of shape (m, n, k + 1)
        A column of ones last.
    networks : Networks

    Returns
    -------
    array of shape (m, n, q)
    """
    m, n, _ = A.shape
    out = np.empty((m, n, networks.second.shape[2]), dtype=np.float32)
    step = max(1, _CELLS // (n * networks.first.shape[2]))
    for start in range(0, m, step):
        part = slice(start, start + step)
        out[part] = _output(np.maximum(A[part] @ networks.first[part], 0.0), networks.second[part])
    return out
