"""Predictions of a fitted selector: of the refit, or of the average over subsets."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rlselect._estimator import PredictingSelector
from rlselect._options import AUTO, check_value, flag, number
from rlselect.data import (
    Batch,
    ColumnPairs,
    PairTable,
    RowStream,
    Table,
    as_numbers,
    is_source,
    load_source,
    open_stream,
    open_table,
    read_vectors,
)
from rlselect.kernels import concordance, mean_and_curvature
from rlselect.subset.revs._average import SubsetAverage
from rlselect.subset.revs._outcome_kind import CLASSES, read_events, survival_parts
from rlselect.subset.revs._problem import COUNTS


def together(fitted: list[Any], method: str, X: Any, *args: Any) -> Any:
    """What a method of each selector says of the same rows: an array with a column per response."""
    answers = [getattr(f, method)(X, *args) for f in fitted]
    if hasattr(answers[0], "__next__"):
        return map(_side_by_side, zip(*answers, strict=True))
    return _side_by_side(answers)


def _side_by_side(answers: Any) -> NDArray | list[NDArray]:
    arrays = [np.asarray(a) for a in answers]
    if any(a.ndim > 1 for a in arrays):
        return arrays
    text = {a.dtype.kind in "OUS" for a in arrays}
    return np.column_stack([a.astype(object) for a in arrays] if len(text) > 1 else arrays)


def _of_family(*families: str) -> Any:
    return lambda estimator: getattr(estimator, "family_", estimator.family) in families


class SubsetPredictions(PredictingSelector):
    """A selector with the coefficients of one subset, and of the average over many."""

    family: str
    family_: str
    classes_: NDArray
    coef_: NDArray[np.float64]
    intercept_: Any
    coef_average_: NDArray[np.float64]
    intercept_average_: Any
    average_: bool
    interactions_: list[dict[str, Any]]
    _average: SubsetAverage
    # products of columns that have a coefficient
    _pairs: ColumnPairs | None = None
    event_times_: NDArray[np.float64]
    strata_: NDArray
    _baselines: dict[str, list[tuple]]
    estimators_: list[Any]

    @property
    def _has_several(self) -> bool:
        """Whether several responses were given."""
        return "estimators_" in self.__dict__

    @property
    def _design_columns(self) -> NDArray[np.intp]:
        columns = super()._design_columns
        if self._pairs is None:
            return columns
        made = len(self._pairs.centre) + np.flatnonzero([pair["selected"] for pair in self.interactions_])
        return np.concatenate([columns, made])

    def _open_design(self, X: Any, offset: Any = None) -> Table:
        table = open_table(X, offset=offset, encoder=self.encoder_, owner=type(self).__name__)
        return table if self._pairs is None else PairTable(table, self._pairs)

    def _scan_design(self, rows: RowStream, columns: NDArray[np.intp]) -> Iterator[Batch]:
        return rows.scan(columns) if self._pairs is None else self._pairs.scan(rows, columns)

    def _design_names(self, input_features: Any) -> NDArray:
        names = super()._design_names(input_features)
        return names if self._pairs is None else np.append(names, self._pairs.name(list(names)))

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
            used = np.flatnonzero(np.atleast_2d(coef).any(axis=0)) if cautious is None else cautious.columns
            rows = open_stream(X, self.encoder_, offset=offset, owner=name)
            batches = self._scan_design(rows, used)
            return _predictors(batches, coef[..., used], intercept, cautious)
        table = self._open_design(X, offset)
        eta = np.concatenate([_predictor(batch.X, coef, intercept) for batch in table.scan()])
        eta = _moved(eta, table.offset)
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
        array of shape (n_samples,) or (n_samples, n_responses)
            Labels of classes; the log of the relative hazard for "cox", the larger the sooner; means
            otherwise. An iterator of such arrays for a source.
        """
        check_is_fitted(self)
        if self._has_several:
            return together(self.estimators_, "predict", X, offset, average)
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
        array of shape (n_samples, 2) or (n_samples, n_responses, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        check_value("level", level, number("a number between 0 and 1", above=0.0, below=1.0))
        if self._has_several:
            every = [e.predict_interval(X, offset, level) for e in self.estimators_]
            return np.stack(every, axis=1)
        if self.family_ != "gaussian":
            raise ValueError(
                f"predict_interval is for family='gaussian', and this is {self.family_!r}: a probability "
                "or a mean count says how a response varies; use predict_proba or predict."
            )
        X = load_source(X, f"{type(self).__name__}.predict_interval")
        centre = self._linear_predictor(X, offset, True)
        table = self._open_design(X)
        parts = [self._average.half_width(_dense(b.X), level) for b in table.scan(self._average.columns)]
        half = np.concatenate(parts)
        return np.column_stack([centre - half, centre + half])

    def _mean(self, eta: NDArray[np.float64]) -> NDArray:
        if self.family_ == "binomial":
            return self.classes_[(eta > 0).astype(int)]
        if self.family_ in CLASSES:
            return self.classes_[np.argmax(_probabilities(eta, self.family_), axis=1)]
        return mean_and_curvature("poisson", eta)[0] if self.family_ in COUNTS else eta

    @available_if(_of_family("binomial", "multinomial"))
    def decision_function(self, X: Any, offset: Any = None, average: bool | Literal["auto"] = "auto") -> Any:
        """Log odds of the second class; of several, logs of their probabilities up to a constant per row.

        Parameters
        ----------
        X, offset, average
            As in `predict`.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Of several responses a column for each, or a list of arrays where these have several classes.
        """
        check_is_fitted(self)
        if self._has_several:
            return together(self.estimators_, "decision_function", X, offset, average)
        return self._linear_predictor(X, offset, average)

    @available_if(_of_family(*CLASSES))
    def predict_proba(self, X: Any, offset: Any = None, average: bool | Literal["auto"] = "auto") -> Any:
        """Probabilities of the classes.

        Parameters
        ----------
        X, offset, average
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Of several responses a list of such arrays.
        """
        check_is_fitted(self)
        if self._has_several:
            return together(self.estimators_, "predict_proba", X, offset, average)
        eta = self._linear_predictor(X, offset, average)
        probabilities = partial(_probabilities, family=self.family_)
        return probabilities(eta) if isinstance(eta, np.ndarray) else map(probabilities, eta)

    @available_if(_of_family("cox"))
    def predict_survival_function(
        self,
        X: Any,
        times: Any = None,
        offset: Any = None,
        stratum: Any = None,
        average: bool | Literal["auto"] = "auto",
    ) -> NDArray[np.float64]:
        """Probability that the event has not happened by each of some times.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            New rows; those of a source are loaded.
        times : array-like of shape (n_times,) or float, optional
            The times, by default `event_times_`.
        offset, average
            As in `predict`.
        stratum : array-like of shape (n_samples,), one label or str, optional
            Stratum of each row, where `fit` had strata, or the name of its column in X.

        Returns
        -------
        array of shape (n_samples, n_times)
        """
        check_is_fitted(self)
        X = load_source(X, f"{type(self).__name__}.predict_survival_function")
        eta = self._linear_predictor(X, offset, average)
        averaged = self.average_ if average == "auto" else bool(average)
        wanted = self.event_times_ if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        curves = self._baselines["average" if averaged else "refit"]
        if isinstance(stratum, str) and stratum in getattr(X, "columns", ()) and stratum not in self.strata_:
            stratum = np.asarray(X[stratum])
        number = self._strata_of(stratum, len(eta), len(curves))
        out = np.empty((len(eta), len(wanted)))
        for s, (at, hazard, middle) in enumerate(curves):
            mine = number == s
            reached = np.concatenate([[0.0], hazard])[np.searchsorted(at, wanted, side="right")]
            risk = mean_and_curvature("poisson", eta[mine] - middle)[0]
            out[mine] = np.exp(-np.multiply.outer(risk, reached))
        return out

    def _strata_of(self, stratum: Any, n: int, n_strata: int) -> NDArray[np.intp]:
        if n_strata == 1:
            return np.zeros(n, dtype=np.intp)
        if stratum is None:
            raise ValueError(
                "stratum=None was given, but fit had strata, each with its own baseline; give the stratum "
                "of each row."
            )
        labels = np.broadcast_to(np.asarray(stratum, dtype=self.strata_.dtype), n)
        number = np.minimum(np.searchsorted(self.strata_, labels), n_strata - 1)
        strange = self.strata_[number] != labels
        if strange.any():
            raise ValueError(f"stratum holds {labels[strange][0]!r}, which fit has not seen.")
        return number

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of classes; R squared of numbers, the share of deviance explained of counts.

        For "cox" the concordance (Harrell's C): the share of pairs in which the event of the row with the
        larger risk comes first, among those of a stratum that are at risk together. Of several responses the
        mean over them.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Rows; those of a source are loaded.
        y : array-like of shape (n_samples,) or str
            True target, or the name of its column in X; as in `fit` for "cox".
        sample_weight : array-like of shape (n_samples,) or str, optional
            How often each row counts.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if self.family_ != "cox":
            return super().score(X, y, sample_weight)
        X = load_source(X, f"{type(self).__name__}.score")
        parts = survival_parts(y)
        given = {"y": parts["time"], "sample_weight": sample_weight}
        rows = read_vectors(X, given | {name: parts.get(name) for name in ("event", "entry", "stratum")})
        time, event, entry, stratum = (rows[name] for name in ("y", "event", "entry", "stratum"))
        assert time is not None
        assert event is not None
        return concordance(
            as_numbers(time, "time"),
            read_events(event),
            self.predict(X),
            rows["sample_weight"],
            entry=None if entry is None else as_numbers(entry, "entry"),
            stratum=None if stratum is None else np.unique(stratum, return_inverse=True)[1].ravel(),
        )

    def _score_of(self, response: int, X: Any, y: Any, sample_weight: Any) -> float:
        return self.estimators_[response].score(X, y, sample_weight)

    def _score_words(self) -> str:
        special = {"cox": "Concordance", **dict.fromkeys(COUNTS, "Deviance explained")}
        return special.get(self.family_) or super()._score_words()

    def _measure(self, y: Any, predicted: Any, sample_weight: Any) -> float:
        if self.family_ in COUNTS:
            return d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1)
        return super()._measure(y, predicted, sample_weight)


def _dense(X: Any) -> NDArray[np.float64]:
    return X.toarray() if sparse.issparse(X) else X


def _predictors(
    rows: Iterator[Batch], coef: NDArray[np.float64], intercept: Any, cautious: SubsetAverage | None
) -> Iterator[NDArray[np.float64]]:
    for batch in rows:
        eta = _moved(_predictor(batch.X, coef, intercept), batch.offset)
        yield eta if cautious is None else eta * cautious.caution(_dense(batch.X))


def _predictor(X: Any, coef: NDArray[np.float64], intercept: Any) -> NDArray[np.float64]:
    """Linear predictors of some rows, (n,) or (n, classes or cut points)."""
    eta = X @ coef.T
    return (eta[:, None] if eta.ndim < 1 + np.ndim(intercept) else eta) + intercept


def _moved(eta: NDArray[np.float64], offset: NDArray[np.float64] | None) -> NDArray[np.float64]:
    return eta if offset is None else eta + (offset if eta.ndim == 1 else offset[:, None])


def _probabilities(eta: NDArray[np.float64], family: str) -> NDArray[np.float64]:
    if family == "multinomial":
        return softmax(eta, axis=1)
    above = expit(eta)
    if family == "binomial":
        return np.column_stack([1.0 - above, above])
    return np.column_stack([1.0 - above[:, 0], above[:, :-1] - above[:, 1:], above[:, -1]])
