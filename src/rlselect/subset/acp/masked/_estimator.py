"""Any scikit-learn estimator on masked columns."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from rlselect.subset.acp.masked._predictor import Array, MaskedPredictor, Masks, Target


def _constant_losses(target: Target, train: NDArray[np.bool_]) -> Array:
    """Losses of the mean, or of the class shares (one row added to each class)."""
    if target.codes is None:
        return np.square(target.Y - target.Y[train].mean(axis=0)).sum(axis=1)
    shares = np.bincount(target.codes[train], minlength=target.n_classes) + 1.0
    return np.asarray(-np.log(shares / shares.sum())[target.codes])


def _estimator_losses(
    estimator: Any, X: Array, target: Target, mask: NDArray[np.bool_], train: NDArray[np.bool_]
) -> Array:
    codes = target.codes
    if not mask.any() or (codes is not None and len(np.unique(codes[train])) < 2):
        return _constant_losses(target, train)
    columns = np.ascontiguousarray(X[:, mask])
    if codes is None:
        fitted = clone(estimator).fit(columns[train], target.Y[train, 0])
        return np.asarray(np.square(target.Y[:, 0] - fitted.predict(columns)))
    fitted = clone(estimator).fit(columns[train], codes[train])
    floor = 1.0 / (2.0 * train.sum())
    if hasattr(fitted, "predict_proba"):
        share = np.zeros((len(X), target.n_classes))
        share[:, fitted.classes_] = fitted.predict_proba(columns)
    else:
        # labels only: as sure as they are right on the training rows
        labels = fitted.predict(columns)
        right = np.clip(np.mean(labels[train] == codes[train]), 1.0 / target.n_classes, 1.0 - floor)
        rest = (1.0 - right) / (target.n_classes - 1)
        share = np.where(labels[:, None] == np.arange(target.n_classes), right, rest)
    return np.asarray(-np.log(np.maximum(share[np.arange(len(X)), codes], floor)))


class EstimatorModel:
    """A fitted estimator with the verbs of a model."""

    def __init__(self, estimator: Any, n_classes: int) -> None:
        self.estimator = estimator
        self.n_classes = n_classes

    def decision(self, X: Array) -> Array:
        """Predicted numbers, one column."""
        return np.asarray(self.estimator.predict(X), dtype=np.float64)[:, None]

    def proba(self, X: Array) -> Array:
        """Probabilities of the classes; zeros and ones from an estimator without any."""
        if hasattr(self.estimator, "predict_proba"):
            return np.asarray(self.estimator.predict_proba(X))
        return np.asarray(self.estimator.predict(X)[:, None] == np.arange(self.n_classes), dtype=np.float64)

    def log_odds(self, X: Array) -> Array:
        """The estimator's decisions, or the log of its probabilities."""
        if hasattr(self.estimator, "decision_function"):
            return np.asarray(self.estimator.decision_function(X))
        logs = np.log(np.clip(self.proba(X), 1e-12, 1.0))
        return np.asarray(logs[:, 1] - logs[:, 0]) if logs.shape[1] == 2 else np.asarray(logs)


class MaskedEstimator(MaskedPredictor):
    """A clone of an estimator fitted for each mask and fold, by joblib.

    Parameters
    ----------
    X : array of shape (n, p)
    target : Target
    estimator : estimator
        A regressor for numbers, a classifier for classes.
    n_folds : int
    n_jobs : int, optional
    """

    slow = True

    def __init__(
        self, X: Array, target: Target, *, estimator: Any, n_folds: int = 5, n_jobs: int | None = None
    ) -> None:
        super().__init__(X, target, n_folds)
        if is_classifier(estimator) != target.classifies:
            has, needs = ("classes", "classifier") if target.classifies else ("numbers", "regressor")
            raise ValueError(
                f"predictor={type(estimator).__name__}() does not suit y, which holds {has}; give a {needs}, "
                "or set task."
            )
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.name = type(estimator).__name__
        self.log_loss = target.classifies

    def losses(self, masks: Masks, train: NDArray[np.bool_]) -> Array:
        """Squared errors, or minus the log-probability of each row's class."""
        rows = Parallel(n_jobs=self.n_jobs)(
            delayed(_estimator_losses)(self.estimator, self.X, self.target, mask, part)
            for mask, part in zip(masks, train, strict=True)
        )
        return np.stack(rows)

    def on_columns(self, X: Array) -> "MaskedEstimator":
        """Other columns, same folds."""
        other = MaskedEstimator(
            X, self.target, estimator=self.estimator, n_folds=self.n_folds, n_jobs=self.n_jobs
        )
        other.folds = self.folds
        return other

    def fit(self, mask: NDArray[np.bool_]) -> EstimatorModel:
        """The estimator on all rows."""
        response = self.target.Y[:, 0] if self.target.codes is None else self.target.codes
        columns = np.ascontiguousarray(self.X[:, mask])
        return EstimatorModel(clone(self.estimator).fit(columns, response), self.target.n_classes)
