"""Predictions of a fitted selector: of the refit, or of the average over subsets."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rlselect._estimator import PredictingSelector
from rlselect._options import AUTO, check_value, flag, number
from rlselect.data import RowStream, is_source, load_source, open_stream, open_table
from rlselect.subset.revs._average import SubsetAverage
from rlselect.subset.revs._problem import COUNTS


def _is_binomial(estimator: Any) -> bool:
    return getattr(estimator, "family_", estimator.family) == "binomial"


class SubsetPredictions(PredictingSelector):
    """A selector with the coefficients of one subset, and of the average over many."""

    family: str
    family_: str
    classes_: NDArray
    coef_: NDArray[np.float64]
    intercept_: float
    coef_average_: NDArray[np.float64]
    intercept_average_: float
    average_: bool
    _average: SubsetAverage

    def _linear_predictor(self, X: Any, offset: Any, average: bool | Literal["auto"]) -> Any:
        check_is_fitted(self)
        check_value("average", average, AUTO | flag())
        name = type(self).__name__
        averaged = self.average_ if average == "auto" else bool(average)
        coef, intercept = (
            (self.coef_average_, self.intercept_average_) if averaged else (self.coef_, self.intercept_)
        )
        cautious = self._average if averaged and self.family_ == "binomial" else None
        if is_source(X):
            rows = open_stream(X, self.encoder_, offset=offset, owner=name)
            return _predictors(rows, coef, intercept, cautious)
        table = open_table(X, offset=offset, encoder=self.encoder_, owner=name)
        eta = np.empty(table.n_rows)
        done = 0
        for batch in table.scan():
            stop = done + batch.X.shape[0]
            eta[done:stop] = batch.X @ coef + intercept
            done = stop
        eta = eta if table.offset is None else eta + table.offset
        if cautious is not None:
            eta *= np.concatenate([cautious.caution(_dense(b.X)) for b in table.scan(cautious.columns)])
        return eta

    def predict(self, X: Any, offset: Any = None, average: bool | Literal["auto"] = "auto") -> Any:
        """Predict from the variables.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            New rows. Of a source (see `fit`) only the columns with a coefficient are read, a part at a time.
        offset : array-like of shape (n_samples,) or str, optional
            Known part of the linear predictor.
        average : "auto" or bool, default="auto"
            Whether coefficients are `coef_average_`, the posterior mean over all subsets that were visited,
            or `coef_`, those of the selected variables alone. "auto" lets rows that were left out decide,
            see `average_`. Averaged probabilities are nearer to one half the less sure the log odds are.

        Returns
        -------
        array of shape (n_samples,)
            Labels for "binomial", means otherwise. An iterator of such arrays for a source.
        """
        eta = self._linear_predictor(X, offset, average)
        return self._mean(eta) if isinstance(eta, np.ndarray) else map(self._mean, eta)

    def predict_interval(self, X: Any, offset: Any = None, level: float = 0.95) -> NDArray[np.float64]:
        """Intervals that hold a new response with a given probability ("gaussian" only).

        They stand about the averaged prediction, and are as wide as the noise, the coefficients in each
        subset and the choice among the subsets ask for (their variances add up; quantiles are Student's).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            New rows; those of a source are loaded.
        offset : array-like of shape (n_samples,) or str, optional
            Known part of the linear predictor.
        level : float, default=0.95
            The probability.

        Returns
        -------
        array of shape (n_samples, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        check_value("level", level, number("a number between 0 and 1", above=0.0, below=1.0))
        if self.family_ != "gaussian":
            raise ValueError(
                f"predict_interval is for family='gaussian', and this is {self.family_!r}: a probability "
                "or a mean count says how a response varies; use predict_proba or predict."
            )
        X = load_source(X, f"{type(self).__name__}.predict_interval")
        centre = self._linear_predictor(X, offset, True)
        table = open_table(X, encoder=self.encoder_, owner=type(self).__name__)
        parts = [self._average.half_width(_dense(b.X), level) for b in table.scan(self._average.columns)]
        half = np.concatenate(parts)
        return np.column_stack([centre - half, centre + half])

    def _mean(self, eta: NDArray[np.float64]) -> NDArray:
        if self.family_ == "binomial":
            return self.classes_[(eta > 0).astype(int)]
        return np.exp(eta) if self.family_ in COUNTS else eta

    @available_if(_is_binomial)
    def decision_function(self, X: Any, offset: Any = None, average: bool | Literal["auto"] = "auto") -> Any:
        """Log odds of the second class.

        Parameters
        ----------
        X, offset, average
            As in `predict`.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._linear_predictor(X, offset, average)

    @available_if(_is_binomial)
    def predict_proba(self, X: Any, offset: Any = None, average: bool | Literal["auto"] = "auto") -> Any:
        """Probabilities of the two classes.

        Parameters
        ----------
        X, offset, average
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, 2)
        """
        eta = self._linear_predictor(X, offset, average)
        return _probabilities(eta) if isinstance(eta, np.ndarray) else map(_probabilities, eta)

    def _measure(self, y: Any, predicted: Any, sample_weight: Any) -> float:
        if self.family_ in COUNTS:
            return d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1)
        return super()._measure(y, predicted, sample_weight)


def _dense(X: Any) -> NDArray[np.float64]:
    return X.toarray() if sparse.issparse(X) else X


def _predictors(
    rows: RowStream, coef: NDArray[np.float64], intercept: float, cautious: SubsetAverage | None
) -> Iterator[NDArray[np.float64]]:
    used = np.flatnonzero(coef) if cautious is None else cautious.columns
    for batch in rows.scan(used):
        eta = batch.X @ coef[used] + intercept
        eta = eta if batch.offset is None else eta + batch.offset
        yield eta if cautious is None else eta * cautious.caution(_dense(batch.X))


def _probabilities(eta: NDArray[np.float64]) -> NDArray[np.float64]:
    second = expit(eta)
    return np.column_stack([1.0 - second, second])
