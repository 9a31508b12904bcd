"""The skeleton that every estimator stands on: options, a fit that publishes once, names, ranks, accounts."""

import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from rlselect._capabilities import Takes, refuse_outcome
from rlselect._clock import BEGAN, BUDGET, PRESENT
from rlselect._compat import CallbackSupportMixin, Progress, in_container, output_kind, user_level
from rlselect._options import Allowed, check_options
from rlselect.data import (
    Batch,
    RowStream,
    Table,
    TableEncoder,
    check_pointers,
    is_source,
    load_source,
    name_of,
    open_stream,
    open_table,
    read_responses,
    read_vectors,
    require_target,
)
from rlselect.report import (
    Display,
    FitDisplay,
    Marked,
    Marks,
    PathWords,
    Summary,
    Sureness,
    cited_works,
    how_made,
    name_some,
    name_target,
    page_path,
    spell,
)

__all__ = ["Estimator", "PredictingSelector", "Selector", "rank"]


class Estimator(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators; a new one adds its table of options, its `_fit` and its `_report`.

    ``fit`` is public and documented by each estimator and ends in ``return self._learn_aside(...)``.
    """

    # option -> what it may be; options that need the data are checked in `_fit`
    _options: ClassVar[Mapping[str, Allowed]] = {}
    # its three pictures: what was selected and how sure, how it was found, what it means
    displays: ClassVar[tuple[type[Display], ...]] = ()
    # what `path_` holds, for `PathDisplay`
    _path_words: ClassVar[PathWords]
    # outcomes and other data that it takes; `rlselect.capabilities` makes a table of them
    _takes: ClassVar[Takes] = Takes((), ())
    # what the data call the target, where they do
    _target_name: str | None = None
    # of a target of numbers, the one that has most of the squares, and its share
    _lone: tuple[float, float] | None = None

    def _learn_aside(self, *data: Any) -> Self:
        """Learn on an unfitted twin, then take over what it has learnt: an error leaves the old fit."""
        start = time.perf_counter()
        check_options(self, self._options)
        twin = self._unfitted_twin()
        progress = Progress(self)
        handler, clock = signal.getsignal(signal.SIGINT), PRESENT.get()
        outer, budget = BEGAN.set(start), BUDGET.set(getattr(self, "time_budget", None))
        try:
            twin._fit(progress, *data)
        finally:
            # a second Ctrl-C can strike while a clock is being put away: neither it nor its handler may stay
            PRESENT.set(clock)
            BEGAN.reset(outer)
            BUDGET.reset(budget)
            if handler is not None and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)
        twin._seconds = time.perf_counter() - start
        self._take_over(twin)
        progress.finish()
        return self

    def _fit(self, progress: Progress, *data: Any) -> None:
        """Learn; called on an estimator that holds its options and no earlier fit."""
        raise NotImplementedError

    def _require_target(self, y: Any) -> None:
        """Refuse a fit without a target, and one of a shape that others take; keep the name of any other."""
        require_target(y, type(self).__name__)
        refuse_outcome(self._takes, y, type(self).__name__)
        name = name_of(y)
        if name is not None:
            self._target_name = name

    @property
    def _target_words(self) -> str:
        """The target in a sentence; a column of that very name says no more than the word."""
        return "the target" if self._target_name in (None, "target") else spell(self._target_name)

    def _lone_rows(self) -> list[str]:
        """What one row has to do with errors and selections, of several responses where each has its fit."""
        names = getattr(self, "response_names_", [])
        fits = getattr(self, "estimators_", []) if names else [self]
        words = [spell(name) for name in names] or [self._target_words]
        return [
            f"One row alone, where {target} is {fit._lone[0]:.6g}, has {fit._lone[1]:.0%} of all squared "
            "deviations from the mean: errors are those of this row, and what it has by chance may be "
            "selected, or hide what others show. Correct it if it is wrong; in logarithms it counts for less."
            for target, fit in zip(words, fits, strict=False)
            if fit._lone is not None
        ]

    def _unfitted_twin(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self._not_learnt())
        return twin

    def _take_over(self, twin: Self) -> None:
        own = self._not_learnt()
        learnt = {name: value for name, value in twin.__dict__.items() if name not in own}
        # one assignment: an interrupt finds the old fit or the new one
        self.__dict__ = {**own, **learnt, "_learnt": frozenset(learnt)}

    def _not_learnt(self) -> dict[str, Any]:
        learnt = self.__dict__.get("_learnt", frozenset())
        return {name: value for name, value in self.__dict__.items() if name not in learnt | {"_learnt"}}

    def _keep_names(self, n_features: int, names: NDArray | None) -> None:
        """Keep what the table of `fit` was made of, for later ones to be compared with."""
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = names
            if self._target_name in names.tolist():
                # a series that was computed from a column has its name
                self._target_name = None

    def summary(self) -> Summary:
        """Readable account of the fit.

        Returns
        -------
        Summary
            ``str()`` gives text, ``dict`` the values behind it; notebooks show a page, ``save`` writes one.
        """
        check_is_fitted(self)
        return self._tell(self._report())

    def report(self, path: str | PathLike[str] | None = None) -> Summary:
        """Account of the fit, written as a page where a path is given.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it, whole or not at all: the name ends in .html (one page that loads nothing), .md
            (text) or .json (the values).

        Returns
        -------
        Summary
            As `summary` gives it.
        """
        return self._written(path, self._report)

    def plot(self, X: Any = None, y: Any = None, *, columns: int = 3) -> FitDisplay:
        """Draw the pictures of the fit: what was selected and how sure, how it was found, what it means.

        Parameters
        ----------
        X, y : optional
            Rows and their target, best others than those of `fit`: some pictures need them, and say so.
        columns : int, default=3
            Pictures in a row; 1 stacks them, for a narrow page.

        Returns
        -------
        FitDisplay
            ``figure_`` is the figure, ``displays_`` are the pictures; ``displays`` of the estimator are their
            classes, to draw one alone.
        """
        return FitDisplay.from_estimator(self, X, y, columns=columns)

    def _written(self, path: str | PathLike[str] | None, tell: Callable[[], dict[str, Any]]) -> Summary:
        """A report, and its page where one is wanted: a name that will not do is refused before the work."""
        check_is_fitted(self)
        place = None if path is None else page_path(path)
        account = self._tell(tell())
        if place is not None:
            account.save(place)
        return account

    def _tell(self, report: dict[str, Any]) -> Summary:
        """A report with what it takes to make the fit again, as far as the estimator knows."""
        name, module = type(self).__name__, type(self).__module__
        home = ".".join(module.split(".")[:2]) if module.startswith("rlselect.") else module
        written = _without_addresses(BaseEstimator.__repr__(self, N_CHAR_MAX=4000))
        code = f"from {home} import {name}\n\nmodel = {written}\nmodel.fit(...)"
        options, facts = self.get_params(deep=False), {}
        if "random_state" in options:
            seed = options["random_state"]
            facts["Seed"] = "none was given: another fit may differ" if seed is None else str(seed)
        made = {
            **how_made(code, **facts),
            "settings": {key: _without_addresses(repr(value))[:200] for key, value in options.items()},
            "works": cited_works(type(self)),
        }
        if lone := self._lone_rows():
            report = {**report, "notes": [*report.get("notes", []), *lone]}
        targets = getattr(self, "response_names_", [self._target_name] if self._target_name else [])
        if "answer" in report and targets:
            report = {**report, **name_target(report, name_some([spell(name) for name in targets]))}
        return Summary({**report, "data": self._data_facts(), "method": name, "made": made})

    def _data_facts(self) -> dict[str, Any]:
        """What the fit knows of its data beside what its report tells, for the page."""
        return {}

    def _report(self) -> dict[str, Any]:
        """Plain values about the fit, see `rlselect.report.to_html`."""
        raise NotImplementedError


def _without_addresses(text: str) -> str:
    """Where a function lives in memory says nothing, and differs in every run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


# `transform` is not wrapped by scikit-learn, which would put the iterator of a source into a frame
class Selector(SelectorMixin, Estimator, auto_wrap_output_keys=()):  # type: ignore[call-arg]
    """An estimator that selects features of a table once for all rows.

    `_fit` sets ``encoder_``, ``support_`` and ``ranking_``. Those that offer ``transform_as`` take it in
    their constructor.
    """

    support_: NDArray[np.bool_]
    inclusion_: NDArray[np.float64]
    encoder_: TableEncoder
    transform_as: Literal["columns", "design"] = "columns"

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _sureness(self) -> Sureness:
        """How sure the selection is of each feature; those without `inclusion_` say it otherwise."""
        return Sureness(self.inclusion_)

    def _data_facts(self) -> dict[str, Any]:
        names, levels = self.encoder_.feature_names, self.encoder_.levels_
        filled = {c.removesuffix("=missing") for c in self.encoder_.column_names_ if c.endswith("=missing")}
        facts: dict[str, Any] = {"Numbers": f"{len(names) - len(levels):,} columns"}
        if levels:
            told = [f"{spell(names[j])} ({len(of)})" for j, of in sorted(levels.items())]
            facts["Text or categories, with their levels"] = name_some(told)
        gaps = [spell(name) for name in map(str, names) if name in filled]
        if gaps:
            facts["With gaps, which are filled and marked"] = name_some(gaps)
        return {"facts": facts}

    def _marks(self) -> Marks:
        """What the fit says of each feature, for `rlselect.report.side_by_side`."""
        sure, names = self._sureness(), self.encoder_.feature_names
        order = np.argsort(self.ranking_)
        marked = {str(names[j]): Marked(bool(self.support_[j]), float(sure.values[j])) for j in order}
        return Marks(marked, sure.words)

    @property
    def _design_columns(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._get_support_mask()[self.encoder_.column_feature_])

    def transform(self, X: Any) -> Any:
        """Keep the selected features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            A frame may still carry the columns that `fit` took for other roles, such as the target. A source
            is a path, a query or another table that is read in parts, as in `REVS.fit`.

        Returns
        -------
        array, sparse matrix or data frame of shape (n_samples, n_selected)
            The columns of X, or with ``transform_as="design"`` the design columns of the selected features:
            numbers, and an indicator for each level of a text column but the first. Of a source an iterator
            of Arrow tables (of arrays for the design), or of what `set_output` asks for.
        """
        check_is_fitted(self)
        if is_source(X):
            return self._transform_parts(X)
        if self.transform_as == "design":
            table, columns = self._open_design(X), self._design_columns
            if not len(columns):
                # as scikit-learn says it of raw columns
                warnings.warn("No features were selected.", UserWarning, stacklevel=user_level())
            return in_container(table.take(columns=columns).X, X, self)
        try:
            return super().transform(self.encoder_.features_of(X))
        except (ValueError, TypeError) as error:
            # what predictions would refuse is refused in the same words
            self._open_design(X).take()
            raise ValueError(f"X cannot be reduced to the selected features: {error}") from None

    def _open_design(self, X: Any) -> Table:
        """New rows in memory as the design that `coef_` and the like speak of."""
        return open_table(X, encoder=self.encoder_, owner=type(self).__name__)

    def _scan_design(self, rows: RowStream, columns: NDArray[np.intp]) -> Iterator[Batch]:
        """Some columns of that design, of rows that are read in parts."""
        return rows.scan(columns)

    def _design_names(self, input_features: Any) -> NDArray:
        return self.encoder_.get_feature_names_out(input_features)

    def _transform_parts(self, X: Any) -> Iterator[Any]:
        rows = open_stream(X, self.encoder_, owner=type(self).__name__)
        if self.transform_as == "design":
            batches = self._scan_design(rows, self._design_columns)
            return (in_container(batch.X, None, self) for batch in batches)
        names = self.encoder_.feature_names
        tables = rows.frames([names[j] for j in np.flatnonzero(self.support_)])
        kind = output_kind(self)
        if kind == "default":
            return tables
        return (getattr(nw.from_native(table), f"to_{kind}")() for table in tables)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then keep the selected features.

        Parameters
        ----------
        X, y, **fit_params
            As in `fit`.

        Returns
        -------
        array, sparse matrix, data frame or iterator
            As `transform` returns it.
        """
        if is_source(X):
            return self.fit(X, y, **fit_params).transform(X)
        return super().fit_transform(X, y, **fit_params)

    def inverse_transform(self, X: Any) -> Any:
        """Put zeros into the places of the features that were not selected.

        Parameters
        ----------
        X : array of shape (n_samples, n_selected)
            What `transform` returned.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        if self.transform_as == "design":
            raise ValueError(
                'transform_as="design" was given: a table cannot be put together again from design columns; '
                'use transform_as="columns".'
            )
        check_pointers(X)
        return super().inverse_transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features, for a table without names; checked against those of `fit` otherwise.

        Returns
        -------
        array of str
        """
        if self.transform_as == "design":
            return self._design_names(input_features)[self._design_columns]
        return super().get_feature_names_out(input_features)


class PredictingSelector(Selector):
    """A selector that also predicts, classes or numbers, from what it has selected.

    It adds `_classifies` and ``predict``, and takes ``missing`` in its constructor.
    """

    missing: str
    # where several responses were given
    response_names_: list[str]

    def _classifies(self) -> bool | None:
        """Whether it predicts classes; None while only the target can tell."""
        raise NotImplementedError

    def _takes_several(self) -> bool:
        """Whether several responses, as numbers, can be given with these options."""
        return "several responses" in self._takes and not self._classifies()

    def predict(self, X: Any) -> Any:
        """Predict from the selected features."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "indicator"
        tags.target_tags.required = True
        tags.target_tags.multi_output = self._takes_several()
        classifies = self._classifies()
        if classifies is not None:
            tags.estimator_type = "classifier" if classifies else "regressor"
        if classifies is False:
            tags.regressor_tags = RegressorTags()
        else:
            # not known before fit, but classes may come
            tags.classifier_tags = ClassifierTags()
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of classes; R squared of numbers, the share of deviance explained of counts.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Rows; those of a source are loaded.
        y : array-like of shape (n_samples,) or str
            True target, or the name of its column in X.
        sample_weight : array-like of shape (n_samples,) or str, optional
            How often each row counts.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        X = load_source(X, f"{type(self).__name__}.score")
        if hasattr(self, "response_names_"):
            return self._mean_score(X, y, sample_weight)
        rows = read_vectors(X, {"y": y, "sample_weight": sample_weight})
        return float(self._measure(rows["y"], self.predict(X), sample_weight=rows["sample_weight"]))

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Summary:
        """Account of the fit and, where rows are given, of how well they are predicted.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it, whole or not at all: the name ends in .html (one page that loads nothing), .md
            (text) or .json (the values).
        X, y, sample_weight : optional
            Rows, best ones that took no part in `fit`, their target and weights, as in `score`.

        Returns
        -------
        Summary
            As `summary` gives it, with the score as one more fact.
        """
        given = {"X": X, "y": y, "sample_weight": sample_weight}
        named = [name for name, value in given.items() if value is not None]
        if named and (X is None or y is None):
            raise ValueError(f"{' and '.join(named)} given alone; give X and y together.")

        def tell() -> dict[str, Any]:
            report = self._report()
            if X is not None:
                judged = {f"{self._score_words()} on the rows given": self.score(X, y, sample_weight)}
                report["facts"] = {**report.get("facts", {}), **judged}
            return report

        return self._written(path, tell)

    def _score_words(self) -> str:
        """What `score` gives."""
        if hasattr(self, "response_names_"):
            return "Mean score of the responses"
        return "Accuracy" if self._classifies() else "R squared"

    def _mean_score(self, X: Any, y: Any, sample_weight: Any) -> float:
        """The mean over several responses."""
        given = read_responses(X, y)
        if given is None or len(given) != len(self.response_names_):
            raise ValueError(f"y must have {len(self.response_names_)} columns, one per response, as in fit.")
        return float(
            np.mean([self._score_of(r, given.X, v, sample_weight) for r, v in enumerate(given.values)])
        )

    def _score_of(self, response: int, X: Any, y: Any, sample_weight: Any) -> float:
        """Score of one response, by its number."""
        rows = read_vectors(X, {"y": y, "sample_weight": sample_weight})
        return self._measure(rows["y"], self.predict(X)[:, response], sample_weight=rows["sample_weight"])

    def _measure(self, y: Any, predicted: Any, sample_weight: Any) -> float:
        classifies = self._classifies()
        if classifies and hasattr(self, "classes_"):
            _warn_of_unseen(np.asarray(y), np.asarray(self.classes_), type(self).__name__)
        measure = accuracy_score if classifies else r2_score
        return measure(y, predicted, sample_weight=sample_weight)


def _warn_of_unseen(y: NDArray, classes: NDArray, owner: str) -> None:
    """Tell of classes that took no part in the fit: no row of them can be predicted."""
    text = classes.dtype.kind in "OUS" or y.dtype.kind in "OUS"
    unseen = ~(np.isin(y.astype(str), classes.astype(str)) if text else np.isin(y, classes))
    if unseen.any():
        warnings.warn(
            f"y holds {y[unseen][0]!r}, a class that no row of the fit had, so that its rows cannot be "
            "predicted. Folds of sorted rows look like this: shuffle them, or say beforehand that y holds "
            f"classes ({owner} has an option for it), for scikit-learn to give every fold all classes.",
            UserWarning,
            stacklevel=user_level(),
        )


def rank(*keys: NDArray, support: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """Ranks from 1, the best, by the largest first key; later keys break ties, then the position.

    Selected features come first, if `support` is given.

    Examples
    --------
    >>> rank(np.array([0.2, 0.9, 0.9]), np.array([0, 1, 2]))
    array([3, 2, 1])
    """
    first = [] if support is None else [~support]
    order = np.lexsort((np.arange(len(keys[0])), *(-key for key in reversed(keys)), *first))
    ranking = np.empty(len(order), dtype=np.intp)
    ranking[order] = np.arange(1, len(order) + 1)
    return ranking
