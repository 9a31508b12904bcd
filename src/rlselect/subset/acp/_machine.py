"""What a fitted ActorCriticPredictor predicts with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rlselect.data import open_table
from rlselect.subset.acp.masked import MaskedPredictor, Target

Array = NDArray[np.float64]


class ConstantModel:
    """Predicts the mean, when nothing is selected."""

    def __init__(self, q: int) -> None:
        self.q = q

    def decision(self, X: Array) -> Array:
        """Zeros: the target is centred."""
        return np.zeros((len(X), self.q))


class ConstantClasses:
    """Class shares, when nothing is selected."""

    def __init__(self, codes: NDArray[np.intp]) -> None:
        self.shares = np.bincount(codes) / len(codes)

    def log_odds(self, X: Array) -> Array:
        """The same for every row."""
        if len(self.shares) == 2:
            return np.full(len(X), np.log(self.shares[1] / self.shares[0]))
        return np.tile(np.log(self.shares), (len(X), 1))

    def proba(self, X: Array) -> Array:
        """The same for every row."""
        return np.tile(self.shares, (len(X), 1))


def final_model(predictor: MaskedPredictor, mask: NDArray[np.bool_], target: Target) -> Any:
    """Model on the selected columns; for classes with probabilities."""
    if not mask.any():
        return ConstantModel(target.Y.shape[1]) if target.codes is None else ConstantClasses(target.codes)
    return predictor.fit(mask)


def _classifies(model: Any) -> bool:
    return getattr(model, "task_", model.task) == "classification"


class FittedMachine:
    """Predictions of a selector; mixed into it."""

    # Set by the selector.
    encoder_: Any
    task_: str
    classes_: NDArray
    _columns: NDArray[np.intp]
    _center: Array
    _scale: Array
    _model: Any
    _target_center: Array
    _target_scale: float
    _response_center: Array
    _response_scale: Array

    def _selected(self, X: Any) -> Array:
        check_is_fitted(self)
        table = open_table(X, encoder=self.encoder_, owner=type(self).__name__)
        # all columns are read, so that a gap in any of them is refused, as in fit
        taken = table.take().X[:, self._columns]
        taken = np.asarray(taken.toarray() if table.is_sparse else taken, dtype=np.float64)
        return np.asarray((taken - self._center[self._columns]) / self._scale[self._columns])

    def predict(self, X: Any) -> NDArray:
        """Predict from the selected variables.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New rows, with all features.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_responses)
            Class labels, or numbers.
        """
        columns = self._selected(X)
        if self.task_ == "classification":
            return np.asarray(self.classes_[np.argmax(self._model.proba(columns), axis=1)])
        decision = self._model.decision(columns) * self._target_scale + self._target_center
        if hasattr(self, "response_names_"):
            return np.asarray(decision * self._response_scale + self._response_center)
        return np.asarray(decision[:, 0])

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        columns = self._selected(X)
        return np.asarray(self._model.proba(columns))

    @available_if(_classifies)
    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class, or one score for each of several classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        columns = self._selected(X)
        return np.asarray(self._model.log_odds(columns))
