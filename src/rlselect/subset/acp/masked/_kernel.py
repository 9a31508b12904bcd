"""Kernel ridge regression on masked columns with the kernel of an infinitely wide network."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rlselect._clock import time_is_up
from rlselect._limits import require_memory
from rlselect.kernels import network_kernel, network_loo_residuals
from rlselect.subset.acp.masked._predictor import (
    LEAST_RISK,
    Array,
    ClassModel,
    MaskedPredictor,
    Masks,
    Target,
)

RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0)
# a matrix of this many rows is judged; of longer data other rows are drawn for each batch
ROWS = 500
# rows of the final machine, and of one that is made when the time is up
_FINAL_ROWS, _HASTY_ROWS = 4000, 2000
# n x n matrices that are there at one time, where all rows are judged
_MATRICES = 5


class KernelModel:
    """Weights of rows; decisions by the kernel between them and new rows."""

    def __init__(self, X: Array, weights: Array) -> None:
        self.X = X
        self.weights = weights

    def decision(self, X: Array) -> Array:
        """One column a response."""
        step = max(1, 4_000_000 // len(self.X))
        parts = [network_kernel(X[i : i + step], self.X) @ self.weights for i in range(0, len(X), step)]
        return np.concatenate(parts) if parts else np.empty((0, self.weights.shape[1]))


class MaskedKernel(MaskedPredictor):
    """Kernel ridge regression of the target's columns; exact leave-one-out error.

    The kernel is the limit of wide two-layer ReLU networks, so a subset is judged as such a network would
    judge it, without training one. Single precision: the ridge keeps the systems well conditioned.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
    ridge : float
        Noise variance relative to the response; see `tune`.
    rows : int
        Rows that are used at once.
    """

    name = "kernel"

    def __init__(self, X: Array, target: Target, *, ridge: float = 1.0, rows: int = ROWS) -> None:
        super().__init__(X, target)
        self.ridge = ridge
        self.n_rows = min(rows, len(X))
        self._use(np.arange(self.n_rows))

    def _use(self, rows: NDArray[np.intp]) -> None:
        self._rows = rows
        self._X = np.asfortranarray(self.X[rows], dtype=np.float32)
        self._Y = self.target.Y[rows].astype(np.float32)

    def redraw(self, rng: np.random.Generator) -> bool:
        """Draw rows, if there are more than are used at once."""
        if self.n_rows == len(self.X):
            return False
        self._use(rng.choice(len(self.X), size=self.n_rows, replace=False))
        return True

    def tune(self, mask: NDArray[np.bool_]) -> bool:
        """Choose the ridge with the smallest leave-one-out error for a subset."""
        best = RIDGES[int(np.argmin(self._errors(mask, RIDGES)))]
        changed = best != self.ridge
        self.ridge = best
        return changed

    def _row_losses(self, mask: NDArray[np.bool_], ridges: Sequence[float]) -> Array:
        """Leave-one-out squared errors of the rows in use, one line a ridge: the kernel is computed once."""
        K = network_kernel(np.ascontiguousarray(self._X[:, mask]))
        copies = [K.copy() for _ in ridges[1:]]
        residuals = [
            network_loo_residuals(C, self._Y, ridge) for C, ridge in zip([*copies, K], ridges, strict=True)
        ]
        return np.stack([np.square(r, dtype=np.float64).sum(axis=1) for r in residuals])

    def _errors(self, mask: NDArray[np.bool_], ridges: Sequence[float]) -> Array:
        means = self._row_losses(mask, ridges).sum(axis=1) / self.n_rows
        return np.asarray(np.log(np.maximum(means, LEAST_RISK)))

    def criterion(self, masks: Masks) -> Array:
        """Log of the leave-one-out mean squared error."""
        return np.array([self._errors(mask, [self.ridge])[0] for mask in masks])

    def tuned_criterion(self, masks: Masks) -> Array:
        """Smallest criterion over the ridge, a third and three times of it.

        Otherwise the ridge that suits the present subset favours it over its neighbours.
        """
        trials = [self.ridge / 3.0, self.ridge, self.ridge * 3.0]
        return np.array([self._errors(mask, trials).min() for mask in masks])

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Squared errors of all rows, each machine on its own rows."""
        n = len(self.X)
        require_memory(
            8.0 * _MATRICES * float(n) ** 2,
            f"the kernel matrices of {n} rows",
            "predictor='linear' or 'network', ActorCriticPredictor without search=PolicyGradient(...), whose "
            "kernel takes some of the rows at a time, or a sample of the rows",
        )
        out = np.empty((len(masks), n))
        for i, (mask, rows) in enumerate(zip(masks, train, strict=True)):
            K = network_kernel(np.ascontiguousarray(self.X[:, mask]))
            inner = K[np.ix_(rows, rows)]
            inner[np.diag_indices(len(inner))] += self.ridge
            weights = cho_solve(cho_factor(inner, lower=True), self.target.Y[rows])
            out[i] = np.square(self.target.Y - K[:, rows] @ weights).sum(axis=1)
        return out

    def row_losses(self, mask: NDArray[np.bool_]) -> Array:
        """Leave-one-out squared errors of the rows in use (NaN for the others)."""
        out = np.full(len(self.X), np.nan)
        out[self._rows] = self._row_losses(mask, [self.ridge])[0]
        return out

    def on_columns(self, X: Array) -> "MaskedKernel":
        """Other columns, same ridge and rows."""
        other = MaskedKernel(X, self.target, ridge=self.ridge, rows=self.n_rows)
        other._use(self._rows)
        return other

    def fit(self, mask: NDArray[np.bool_]) -> KernelModel | ClassModel:
        """Machine on all rows (at most some thousand)."""
        rows = slice(0, _HASTY_ROWS if time_is_up() else _FINAL_ROWS)
        X = np.ascontiguousarray(self.X[rows][:, mask])
        K = network_kernel(X)
        K[np.diag_indices(len(K))] += self.ridge
        Y = self.target.Y[rows]
        model = KernelModel(X, cho_solve(cho_factor(K, lower=True), Y))
        if self.target.codes is None:
            return model
        scores = Y - network_loo_residuals(network_kernel(X), Y, self.ridge)
        return ClassModel(scores, self.target.codes[rows], model.decision)
