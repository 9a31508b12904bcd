"""Least squares on masked columns, from one set of Gram matrices for all masks."""

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import fold_products, padded_columns, subset_heldout, subset_ridge
from rlselect.subset.acp.masked._predictor import (
    LEAST_RISK,
    Array,
    ClassModel,
    MaskedPredictor,
    Masks,
    Target,
    balanced_folds,
)

# Of long data, folds are put together from this many blocks of rows whose Gram matrices are made once.
_BLOCKS = 20
_LONG = 5000
# cells of the stacked systems that are solved at once
_CELLS = 2_000_000


class LinearModel:
    """Coefficients for some columns, in the units of the target."""

    def __init__(self, coef: Array, intercept: Array) -> None:
        self.coef = coef
        self.intercept = intercept

    def decision(self, X: Array) -> Array:
        """One column a response."""
        return np.asarray(X @ self.coef + self.intercept)


class MaskedLinear(MaskedPredictor):
    """Ridge or least squares regression of the target's columns; k-fold error by down-dating Gram matrices.

    Classes are regressed as indicators, which orders subsets as well as a logistic model does and costs a
    tenth.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
    n_folds : int
    ridge : float
        Added to the diagonal of the Gram matrix; 0 is least squares.
    """

    name = "linear"
    additive = True

    def __init__(self, X: Array, target: Target, *, n_folds: int = 5, ridge: float = 0.0) -> None:
        super().__init__(X, target, n_folds)
        self.ridge = ridge
        self._blocks: tuple[Array, Array, Array] | None = None
        self._products: tuple[Array, Array, Array] | None = None

    def redraw(self, rng: np.random.Generator) -> bool:
        """Draw folds."""
        if len(self.X) <= _LONG:
            self._products = None
            return super().redraw(rng)
        if self._blocks is None:
            self._block_of = balanced_folds(self.target, _BLOCKS, rng)
            self._blocks = fold_products(self.X, self.target.Y, self._block_of, _BLOCKS)
        fold_of_block = rng.permutation(np.arange(_BLOCKS) % self.n_folds)
        self.folds = fold_of_block[self._block_of]
        parts = (
            np.stack([b[fold_of_block == k].sum(axis=0) for k in range(self.n_folds)]) for b in self._blocks
        )
        gram, cross, square = parts
        self._products = gram, cross, square
        return True

    @property
    def products(self) -> tuple[Array, Array, Array]:
        """Gram matrices of the present folds."""
        if self._products is None:
            self._products = fold_products(self.X, self.target.Y, self.folds, self.n_folds)
        return self._products

    def criterion(self, masks: Masks) -> Array:
        """Log of the k-fold mean squared error."""
        masks = np.asarray(masks, dtype=bool)
        out = np.empty(len(masks))
        order = np.argsort(masks.sum(axis=1), kind="stable")
        start = 0
        while start < len(order):
            # masks of like size share a stack, so that little of it is padding
            size = masks[order[min(start + 63, len(order) - 1)]].sum() + 1
            stop = start + max(1, min(64, _CELLS // int(size) ** 2))
            part = order[start:stop]
            errors = subset_heldout(*self.products, padded_columns(masks[part]), self.ridge).sum(axis=1)
            out[part] = np.log(np.maximum(errors / len(self.X), LEAST_RISK))
            start = stop
        return out

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Squared errors of all rows."""
        columns = padded_columns(masks)
        padded = np.column_stack([np.ones(len(self.X)), self.X, np.zeros(len(self.X))])
        design = padded.T[columns]
        seen = design * train[:, None, :]
        gram = seen @ design.swapaxes(1, 2)
        diagonal = np.where(columns == padded.shape[1] - 1, 1.0, self.ridge + 1e-9 * len(self.X))
        diagonal[:, 0] = 0.0
        gram[:, np.arange(columns.shape[1]), np.arange(columns.shape[1])] += diagonal
        coef = np.linalg.solve(gram, seen @ self.target.Y)
        return np.square(self.target.Y - design.swapaxes(1, 2) @ coef).sum(axis=2)

    def row_losses(self, mask: NDArray[np.bool_]) -> Array:
        """Leave-one-out squared errors, in closed form."""
        Z = np.column_stack([np.ones(len(self.X)), self.X[:, mask]])
        gram = Z.T @ Z
        jitter = np.full(len(gram), self.ridge + 1e-9 * len(Z))
        jitter[0] = 0.0
        gram[np.diag_indices(len(gram))] += jitter
        half = np.linalg.solve(gram, Z.T)
        leverage = np.einsum("ij,ji->i", Z, half)
        residual = self.target.Y - Z @ (half @ self.target.Y)
        return np.square(residual / np.maximum(1.0 - leverage, 1e-6)[:, None]).sum(axis=1)

    def on_columns(self, X: Array) -> "MaskedLinear":
        """Other columns, same folds."""
        other = MaskedLinear(X, self.target, n_folds=self.n_folds, ridge=self.ridge)
        other.folds = self.folds
        return other

    def fit(self, mask: NDArray[np.bool_]) -> LinearModel | ClassModel:
        """Least squares, or a logistic model, on all rows."""
        X = np.ascontiguousarray(self.X[:, mask])
        if self.target.codes is not None:
            return ClassModel(X, self.target.codes)
        gram, cross, _ = fold_products(X, self.target.Y, np.zeros(len(X), dtype=np.intp), 1)
        every = padded_columns(np.ones((1, X.shape[1]), dtype=bool))
        coef = subset_ridge(gram[0], cross[0], every, self.ridge)[0]
        return LinearModel(coef[1:], coef[0])
