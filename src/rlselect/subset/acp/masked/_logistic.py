"""Logistic and multinomial regression on masked columns, all masks in one Newton iteration."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import (
    deviance_changes,
    log_evidence,
    log_probabilities,
    padded_columns,
    subset_logistic,
)
from rlselect.subset.acp.masked._predictor import Array, ClassModel, MaskedPredictor, Masks, Target

# numbers of the stacked designs that are held at once
_CELLS = 4_000_000
# of the priors of coefficients, which are thought most of at 0.7 log odds for a standard deviation
_PRECISION = 4.0


class MaskedLogistic(MaskedPredictor):
    """Held-out log loss of logistic (two classes) or multinomial regression.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
        Of a classification.
    n_folds : int
    ridge : float
        On standardised columns, per model; small, so that separated classes stay finite.
    """

    name = "logistic"
    log_loss = True
    additive = True

    def __init__(self, X: Array, target: Target, *, n_folds: int = 5, ridge: float = 0.1) -> None:
        super().__init__(X, target, n_folds)
        if target.codes is None:
            raise ValueError("predictor='logistic' needs classes; use 'linear' for numbers.")
        self.ridge = ridge
        self._padded = np.vstack([np.ones(len(X)), X.T, np.zeros(len(X))])

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Minus the log-probability of each row's class."""
        codes = self.target.codes
        assert codes is not None
        out = np.empty((len(masks), len(self.X)))
        for part, design, penalty in self._designs(np.asarray(masks, dtype=bool), self.ridge):
            weight = np.asarray(train[part], dtype=np.float64)
            coef = subset_logistic(design, codes, weight, penalty, n_classes=self.target.n_classes)
            logs = log_probabilities(design.swapaxes(1, 2) @ coef)
            out[part] = -logs[:, np.arange(len(codes)), codes]
        return out

    def log_evidence(self, masks: Masks, units: Units) -> Array:
        """Log probability of the classes for each subset of units, but for a term that all share.

        The prior of the coefficients of a unit of standardised columns is normal around zero, times the mean
        of their squares: effects near zero are none, and a unit that might have one costs the more, the
        better the rows know it.
        """
        codes = self.target.codes
        assert codes is not None
        masks = np.asarray(masks, dtype=bool)
        out, sizes = np.empty(len(masks)), np.array([len(columns) for columns in units.columns])
        for part, design, penalty in self._designs(masks[:, units.unit_of], _PRECISION):
            every = np.ones((len(part), len(codes)))
            coef = subset_logistic(design, codes, every, penalty, n_classes=self.target.n_classes, tol=1e-5)
            evidence, squares = log_evidence(design, codes, penalty, coef)
            effects = np.zeros((len(part), self.X.shape[1]))
            inside = masks[part][:, units.unit_of]
            # the constant comes first, then the columns of the subset in order, then padding
            effects[inside] = squares[:, 1:][np.arange(squares.shape[1] - 1) < inside.sum(axis=1)[:, None]]
            totals = np.stack([np.bincount(units.unit_of, row, units.n_units) for row in effects])
            scaled = np.where(masks[part], _PRECISION * totals / sizes, 1.0)
            out[part] = evidence + np.log(scaled).sum(axis=1)
        return out

    def _designs(self, masks: Masks, ridge: float) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
        """Some subsets of about one size, their columns (m, s, n) with the constant, and their ridges."""
        order = np.argsort(masks.sum(axis=1), kind="stable")
        start = 0
        while start < len(order):
            largest = int(masks[order[min(start + 63, len(order) - 1)]].sum()) + 1
            stop = start + max(1, min(64, _CELLS // (largest * len(self.X))))
            part = order[start:stop]
            columns = padded_columns(masks[part])
            penalty = np.where(columns == len(self._padded) - 1, 1.0, ridge)
            penalty[:, 0] = 0.0
            yield part, self._padded[columns], penalty
            start = stop

    def deviance_changes(self, mask: NDArray[np.bool_], groups: Sequence[NDArray[np.intp]]) -> Array:
        """Forecast of the change of the deviance when groups of columns leave or join a subset.

        Parameters
        ----------
        mask : bool array of shape (p,)
            The subset.
        groups : sequence of int arrays
            Columns that change together, all of them in the subset or none.

        Returns
        -------
        array of shape (n_groups,)
        """
        codes = self.target.codes
        assert codes is not None
        asked = np.concatenate([np.flatnonzero(mask), *groups])
        used = np.unique(np.concatenate([[0], asked + 1]))
        inside = np.concatenate([[True], mask])[used]
        design, penalty = self._padded[used], np.full(len(used), self.ridge)
        penalty[0] = 0.0
        every = np.ones((1, len(codes)))
        coef = np.zeros((len(used), self.target.n_classes - 1))
        coef[inside] = subset_logistic(
            design[inside][None], codes, every, penalty[inside][None], n_classes=self.target.n_classes
        )[0]
        places = [np.searchsorted(used, group + 1) for group in groups]
        return deviance_changes(design, codes, penalty, coef, inside, places)

    def on_columns(self, X: Array) -> "MaskedLogistic":
        """Other columns, same folds."""
        other = MaskedLogistic(X, self.target, n_folds=self.n_folds, ridge=self.ridge)
        other.folds = self.folds
        return other

    def fit(self, mask: NDArray[np.bool_]) -> ClassModel:
        """Logistic model on all rows."""
        codes = self.target.codes
        assert codes is not None
        return ClassModel(np.ascontiguousarray(self.X[:, mask]), codes)
