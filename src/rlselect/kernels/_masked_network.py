"""Many two-layer ReLU networks trained at once, one for each subset of columns.

The networks of a stack have the same number of inputs (padded by zeros), hidden units and outputs. All rows
go through all networks; rows that a network does not learn from have weight zero. Full batches, Adam, and
the loss ``mean squared error / 2`` or ``cross-entropy`` plus ``alpha |W|^2 / (2 n)``, as in scikit-learn.

Parameters are one flat array, first all input weights, then all output weights, then all output biases, so
that a step of Adam is one operation on it.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

RATE, BETA1, BETA2, EPSILON = 0.01, 0.9, 0.999, 1e-8
# as scikit-learn: a network is done after so many epochs without an improvement of the loss by the tolerance
PATIENCE = 10


def views(flat: NDArray, m: int, s: int, hidden: int, q: int) -> tuple[NDArray, NDArray, NDArray]:
    """Input weights (m, s, hidden), output weights (m, hidden, q) and output biases (m, 1, q) of a stack."""
    first, second = m * s * hidden, m * hidden * q
    return (
        flat[:first].reshape(m, s, hidden),
        flat[first : first + second].reshape(m, hidden, q),
        flat[first + second :].reshape(m, 1, q),
    )


def initial_weights(
    uniform_in: NDArray, uniform_out: NDArray, columns: NDArray[np.intp], sizes: NDArray[np.intp]
) -> Array:
    """Flat Glorot start of a stack; a column starts alike in every network that has it.

    Parameters
    ----------
    uniform_in : array of shape (p + 2, hidden)
        Numbers between -1 and 1 for the constant, the columns and the padding.
    uniform_out : array of shape (hidden, q)
    columns : int array of shape (m, s)
        See `padded_columns`.
    sizes : int array of shape (m,)
        Number of real columns.

    Returns
    -------
    float32 array
    """
    hidden, q = uniform_out.shape
    bound = np.sqrt(6.0 / (np.maximum(sizes, 1) + hidden))[:, None, None]
    real = (columns < len(uniform_in) - 1)[:, :, None]
    first = uniform_in[columns] * bound * real
    second = np.repeat(uniform_out[None] * np.sqrt(6.0 / (hidden + q)), len(columns), axis=0)
    return np.concatenate([first.ravel(), second.ravel(), np.zeros(len(columns) * q)]).astype(np.float32)


def decay_of(m: int, s: int, hidden: int, q: int, alpha: float, counts: NDArray) -> Array:
    """Weight decay of every parameter: alpha over the number of training rows, none for biases."""
    flat = np.zeros(m * (s * hidden + hidden * q + q), dtype=np.float32)
    first, second, _ = views(flat, m, s, hidden, q)
    first[:, 1:] = (alpha / counts)[:, None, None]
    second[:] = (alpha / counts)[:, None, None]
    return flat


def network_outputs(design: Array, flat: Array, hidden: int, q: int) -> Array:
    """Outputs of all networks for all rows.

    Parameters
    ----------
    design : array of shape (m, n, s)
        The constant first.
    flat : array
        Parameters.
    hidden, q : int

    Returns
    -------
    array of shape (m, n, q)
    """
    m, _, s = design.shape
    first, second, bias = views(flat, m, s, hidden, q)
    return np.asarray(np.maximum(design @ first, 0.0) @ second + bias)


def softmax(outputs: NDArray) -> NDArray:
    """Shares over the last axis."""
    shares = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return np.asarray(shares)


def output_losses(outputs: NDArray, response: NDArray, classifies: bool) -> NDArray:
    """Loss of each row: squared error, or minus the log share of its class (response of indicators)."""
    if classifies:
        shares = np.maximum((softmax(outputs) * response).sum(axis=-1), 1e-10)
        return np.asarray(-np.log(shares))
    return np.asarray(np.square(outputs - response).sum(axis=-1))


def train_networks(
    design: Array,
    response: Array,
    weight: Array,
    start: Array,
    *,
    hidden: int,
    classifies: bool,
    epochs: int,
    alpha: float,
    tolerance: float | None = None,
) -> Array:
    """Train a stack of networks.

    Parameters
    ----------
    design : float32 array of shape (m, n, s)
    response : float32 array of shape (n, q) or (m, n, q)
        Numbers, or indicators of classes.
    weight : float32 array of shape (m, n)
        1 / (number of training rows) for these, zero for others.
    start : float32 array
        Flat parameters, see `initial_weights`.
    hidden, epochs : int
    classifies : bool
    alpha : float
    tolerance : float, optional
        Stop a network whose loss has not improved by this for ten epochs.

    Returns
    -------
    float32 array
        Flat parameters.
    """
    m, _, s = design.shape
    q = response.shape[-1]
    flat = start.copy()
    first, second, bias = views(flat, m, s, hidden, q)
    gradient = np.empty_like(flat)
    to_first, to_second, to_bias = views(gradient, m, s, hidden, q)
    mean, square, work = np.zeros_like(flat), np.zeros_like(flat), np.empty_like(flat)
    decay = decay_of(m, s, hidden, q, alpha, 1.0 / weight.max(axis=1))
    columns = design.swapaxes(1, 2)
    weight = weight[:, :, None]
    watch = _Watch(m, tolerance)
    for epoch in range(1, epochs + 1):
        active = np.maximum(design @ first, 0.0)
        outputs = active @ second + bias
        if watch.tolerance is not None:
            losses = output_losses(outputs, response, classifies)[:, :, None] * (1.0 if classifies else 0.5)
            if watch.done((losses * weight).sum(axis=(1, 2))):
                break
        error = (softmax(outputs) if classifies else outputs) - response
        error *= weight
        np.matmul(active.swapaxes(1, 2), error, out=to_second)
        np.sum(error, axis=1, keepdims=True, out=to_bias)
        back = error @ second.swapaxes(1, 2)
        back *= active > 0
        np.matmul(columns, back, out=to_first)
        np.multiply(decay, flat, out=work)
        gradient += work
        _adam(flat, gradient, mean, square, work, epoch, watch.factor(m, s, hidden, q))
    return flat


class _Watch:
    """Counts, for each network, the epochs without an improvement of its training loss."""

    def __init__(self, m: int, tolerance: float | None) -> None:
        self.tolerance = tolerance
        self.best = np.full(m, np.inf)
        self.idle = np.zeros(m, dtype=np.intp)

    def done(self, losses: NDArray) -> bool:
        """Take the losses of an epoch into account; whether every network has stopped."""
        assert self.tolerance is not None
        self.idle = np.where(losses > self.best - self.tolerance, self.idle + 1, 0)
        self.best = np.minimum(self.best, losses)
        self.stopped = self.idle > PATIENCE
        if not hasattr(self, "ever"):
            self.ever = self.stopped
        self.ever = self.ever | self.stopped
        return bool(self.ever.all())

    def factor(self, m: int, s: int, hidden: int, q: int) -> NDArray | None:
        """One for parameters of networks that still learn, zero for others; None when all do."""
        if self.tolerance is None or not self.ever.any():
            return None
        flat = np.ones(m * (s * hidden + hidden * q + q), dtype=np.float32)
        for part in views(flat, m, s, hidden, q):
            part[self.ever] = 0.0
        return flat


def _adam(
    flat: Array, gradient: Array, mean: Array, square: Array, work: Array, epoch: int, factor: NDArray | None
) -> None:
    """One step of Adam in place; `work` is overwritten."""
    mean *= BETA1
    np.multiply(gradient, 1.0 - BETA1, out=work)
    mean += work
    square *= BETA2
    np.square(gradient, out=work)
    work *= 1.0 - BETA2
    square += work
    np.sqrt(square, out=work)
    work += EPSILON * np.sqrt(1.0 - BETA2**epoch)
    np.divide(mean, work, out=work)
    work *= RATE * np.sqrt(1.0 - BETA2**epoch) / (1.0 - BETA1**epoch)
    if factor is not None:
        work *= factor
    flat -= work
