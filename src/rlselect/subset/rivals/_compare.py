"""Selectors side by side: what they find, how well it predicts, how stable it is, how long it takes."""

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import check_cv

from rlselect._compat import user_level
from rlselect._options import check_value, one_of
from rlselect._watch import tell
from rlselect.data import TASKS, open_table, read_numbers_or_classes, read_task, require_target
from rlselect.report import (
    TEXT,
    Display,
    below_axes,
    draw_names,
    judging_machine,
    label_axes,
    line_style,
    names_height,
    short_name,
    whole_ticks,
)
from rlselect.subset.rivals._any_selector import chosen_columns, column_order, copy_selector, who_chose

__all__ = ["Comparison", "ComparisonDisplay", "compare"]

_SIZES = (1, 2, 5, 10, 20)


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `compare` measured, a row per selector.

    Attributes
    ----------
    rows : list of dict
        ``selector``, ``selected`` (features, a mean over the folds as all that follows), ``score`` of a
        learner on the selected features of left-out rows, ``score at k`` on the k first ones, ``stability``
        of the selection over the folds, ``seconds`` of a fit; ``precision``, ``recall`` and ``f1`` if the
        truth is known; ``failures``, the folds in which a selector raised.
    metric : str
        "accuracy" or "R squared".
    sizes : tuple of int
        The numbers k.
    """

    rows: list[dict[str, Any]]
    metric: str
    sizes: tuple[int, ...]

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table, which ``to_pandas`` or polars take over."""
        return pa.Table.from_pylist(self.rows)

    def __str__(self) -> str:
        columns = list(self.rows[0])
        cells = [[_cell(row[name]) for name in columns] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        lines = [
            "  ".join(
                c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in [columns, *cells]
        ]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__


def compare(
    selectors: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    truth: Any = None,
    cv: Any = 5,
    sizes: Sequence[int] | int = _SIZES,
    learner: Any = None,
    task: Literal["auto", "regression", "classification"] = "auto",
    missing: Literal["error", "drop", "indicator"] = "error",
) -> Comparison:
    """Fit several selectors on the same folds and judge them on the rows left out.

    Parameters
    ----------
    selectors : dict of selectors, a sequence of them, or one
        Ours, and anything with `support_`, `get_support` or `coef_` after `fit`, also as a step of a pipeline
        whose earlier steps keep the columns. Each fold has its copy.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Text columns become indicators; such a feature is selected if one of them is.
    y : array-like of shape (n_samples,) or str
        Target, or the name of its column in X.
    truth : bool array of shape (n_features,), or names or numbers of features, optional
        Which features matter, if that is known.
    cv : int, splitter or pairs of row numbers, default=5
        Folds, see scikit-learn's `check_cv`. Where rows belong together, they may come from
        ``GroupKFold().split(X, y, groups)``.
    sizes : sequence of int, or one
        How many of the first features a learner is given besides the selected ones.
    learner : estimator, optional
        Judges features on left-out rows; a support vector machine on standardised columns by default. No
        features at all are judged by a constant.
    task : {"auto", "regression", "classification"}, default="auto"
        What y is.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values, before the folds are made: refuse them, leave their rows out, or put
        the mean in their place and mark them.

    Returns
    -------
    Comparison
        ``print`` shows it, ``to_arrow`` gives a table; see `ComparisonDisplay`.

    Notes
    -----
    Stability is 1 for the same selection in each fold and 0 on average for random ones of the same sizes
    (Nogueira, Sechidis and Brown 2018, "On the stability of feature selection algorithms", JMLR 18).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LassoCV
    >>> from rlselect import REVS, compare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 12))
    >>> y = X[:, 0] - X[:, 5] + rng.standard_normal(150)
    >>> found = compare({"REVS": REVS(random_state=0), "lasso": LassoCV()}, X, y, truth=[0, 5], cv=3)
    >>> [(row["selector"], row["recall"]) for row in found.rows]
    [('REVS', 1.0), ('lasso', 1.0)]
    """
    check_value("task", task, one_of(*TASKS))
    require_target(y, "compare")
    named = _named(selectors)
    table = open_table(X, y, missing=missing, owner="compare")
    assert table.y is not None
    target, classes = read_numbers_or_classes(table.y, read_task(table.y, task))
    design = table.take().X
    design = np.asarray(design.toarray() if sparse.issparse(design) else design, dtype=np.float64)
    of_column = np.asarray(table.encoder.column_feature_)
    names = table.encoder.feature_names
    true = None if truth is None else _read_truth(truth, names)
    sizes = tuple(k for k in sorted({int(k) for k in np.atleast_1d(sizes)}) if 1 <= k <= len(names))
    if learner is None:
        learner = judging_machine(classes is not None)
    folds = _folds(cv, design, target, classes is not None)
    judge = _Judge(learner, design, target, of_column, classes is not None)
    rows = []
    for name, selector in named.items():
        fits = []
        for k, (train, _) in enumerate(folds):
            tell(doing=f"{name}, fold {k + 1} of {len(folds)}")
            fits.append(_fit_fold(selector, design, target, train, of_column, len(names)))
        if all(isinstance(fit, Exception) for fit in fits):
            warnings.warn(
                f"{name} has no figures, since it fitted no fold: {str(fits[0]).splitlines()[0]}",
                UserWarning,
                stacklevel=user_level(),
            )
        rows.append({"selector": name, **_measure(fits, folds, judge, sizes, true)})
    return Comparison(rows, "accuracy" if classes is not None else "R squared", sizes)


@dataclass(frozen=True)
class _Fit:
    """One selector on one fold: features kept, all of them best first, seconds."""

    kept: NDArray[np.bool_]
    order: NDArray[np.intp]
    seconds: float


def _named(selectors: Any) -> dict[str, Any]:
    # a pipeline would give its steps one after the other
    if _can_fit(selectors) or isinstance(selectors, str) or not isinstance(selectors, Iterable):
        selectors = [selectors]
    if isinstance(selectors, Mapping):
        named = {str(name): selector for name, selector in selectors.items()}
    else:
        kinds = [type(selector).__name__ for selector in selectors]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {kinds[:k].count(kind) + 1}": selector
            for k, (kind, selector) in enumerate(zip(kinds, selectors, strict=True))
        }
    if not named:
        raise ValueError("selectors is empty; give at least one selector.")
    for selector in named.values():
        if not _can_fit(selector):
            shown = f"the class {selector.__name__}" if isinstance(selector, type) else repr(selector)
            raise TypeError(
                f"{shown} was given among the selectors; each must be an object with a method fit, such as "
                "REVS() or SelectKBest()."
            )
    return named


def _can_fit(selector: Any) -> bool:
    return hasattr(selector, "fit") and not isinstance(selector, type)


def _folds(cv: Any, X: NDArray, y: NDArray, classifies: bool) -> list[Any]:
    """Rows to learn from and rows left out, of each fold."""
    if isinstance(cv, int | np.integer) and not 2 <= cv <= len(y):
        raise ValueError(f"cv={cv!r} was given for {len(y)} rows; it must be from 2 to the number of rows.")
    return list(check_cv(cv, y, classifier=classifies).split(X, y))


def _read_truth(truth: Any, names: list[str]) -> NDArray[np.bool_]:
    given = np.asarray(truth)
    if given.dtype == bool and given.shape == (len(names),):
        return given
    if given.dtype.kind in "US" and set(given.tolist()) <= set(names):
        return np.isin(names, given)
    if given.dtype.kind in "iu" and given.ndim == 1 and np.all((given >= 0) & (given < len(names))):
        return np.isin(np.arange(len(names)), given)
    raise ValueError(
        f"truth={truth!r} was given; it must be True or False for each of the {len(names)} features, or the "
        "names or numbers of those that matter."
    )


def _fit_fold(
    selector: Any, X: NDArray, y: NDArray, train: NDArray, of_column: NDArray, n_features: int
) -> _Fit | Exception:
    """What a selector finds on a fold, or what it raised."""
    mine = copy_selector(selector)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine.fit(X[train], y[train])
        seconds = time.perf_counter() - start
        mine = who_chose(mine, X.shape[1])
        columns = chosen_columns(mine, X.shape[1])
    except (TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return error
    kept = np.zeros(n_features, dtype=bool)
    kept[of_column[columns]] = True
    ordered = of_column[column_order(mine, columns)]
    first = np.sort(np.unique(ordered, return_index=True)[1])
    return _Fit(kept, ordered[first], seconds)


class _Judge:
    """Scores a learner on left-out rows, given features."""

    def __init__(self, learner: Any, X: NDArray, y: NDArray, of_column: NDArray, classifies: bool) -> None:
        self._learner, self._X, self._y = learner, X, y
        self._of_column, self._classifies = of_column, classifies

    def score(self, features: NDArray[np.intp], train: NDArray, test: NDArray) -> float:
        columns = np.flatnonzero(np.isin(self._of_column, features))
        y = self._y[train]
        if len(columns):
            machine = clone(self._learner).fit(self._X[np.ix_(train, columns)], y)
            predicted = machine.predict(self._X[np.ix_(test, columns)])
        else:
            constant = np.bincount(y).argmax() if self._classifies else y.mean()
            predicted = np.full(len(test), constant)
        measure = accuracy_score if self._classifies else r2_score
        return float(measure(self._y[test], predicted))


def _measure(
    fits: list[_Fit | Exception],
    folds: list[Any],
    judge: _Judge,
    sizes: tuple[int, ...],
    true: NDArray | None,
) -> dict[str, Any]:
    done = [(fit, *fold) for fit, fold in zip(fits, folds, strict=True) if isinstance(fit, _Fit)]
    kept = np.array([fit.kept for fit, _, _ in done])
    row: dict[str, Any] = {"selected": _mean([fit.kept.sum() for fit, _, _ in done])}
    row["score"] = _mean([judge.score(np.flatnonzero(fit.kept), *fold) for fit, *fold in done])
    for k in sizes:
        row[f"score at {k}"] = _mean([judge.score(fit.order[:k], *fold) for fit, *fold in done])
    row["stability"] = stability(kept) if len(done) > 1 else float("nan")
    if true is not None:
        hits = [int((fit.kept & true).sum()) for fit, _, _ in done]
        counts = [int(fit.kept.sum()) for fit, _, _ in done]
        n_true = int(true.sum())
        row["precision"] = _mean([h / c if c else 1.0 for h, c in zip(hits, counts, strict=True)])
        row["recall"] = _mean([h / n_true if n_true else 1.0 for h in hits])
        row["f1"] = _mean(
            [2 * h / (c + n_true) if c + n_true else 1.0 for h, c in zip(hits, counts, strict=True)]
        )
    row["seconds"] = _mean([fit.seconds for fit, _, _ in done])
    row["failures"] = len(fits) - len(done)
    return row


def stability(kept: NDArray[np.bool_]) -> float:
    """One less the variance of the selections over that of random ones; NaN if all or nothing is selected.

    Examples
    --------
    >>> stability(np.array([[True, False, False], [True, False, False]]))
    1.0
    """
    share = float(kept.mean())
    if share in (0.0, 1.0):
        return float("nan")
    return float(1.0 - kept.var(axis=0, ddof=1).mean() / (share * (1.0 - share)))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


class ComparisonDisplay(Display):
    """Scores by the number of features, and recovery or stability, of several selectors.

    Use :meth:`from_comparison`. After :meth:`plot`, ``axes_`` holds the matplotlib axes.

    Parameters
    ----------
    comparison : Comparison
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None) -> Self:
        """Draw what `compare` returned.

        Parameters
        ----------
        comparison : Comparison
        ax : matplotlib axes, a pair of them, or a figure, optional
            Where to draw.

        Returns
        -------
        ComparisonDisplay
        """
        return cls(comparison).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return 2, 2

    def _panel_size(self) -> tuple[float, float]:
        return (5.0, names_height(len(self.comparison.rows) + 8))

    def _draw(self, axes: list[Any]) -> None:
        left, right = axes
        known = self.comparison
        marks = "osD^vP*X<>"
        for k, row in enumerate(known.rows):
            scores = [row[f"score at {size}"] for size in known.sizes]
            name, mark = short_name(row["selector"]), marks[k % len(marks)]
            left.plot(known.sizes, scores, marker=mark, label=name, **line_style(k))
        label_axes(left, "number of features", f"{known.metric} on left-out rows")
        whole_ticks(left.xaxis)
        below_axes(left, 0.5, ncols=2)
        measure = "f1" if "f1" in known.rows[0] else "stability"
        places = np.arange(len(known.rows))
        right.barh(places, [row[measure] for row in known.rows], color="0.6")
        for place, row in zip(places, known.rows, strict=True):
            told = f"{row['selected']:.3g} features, {row['seconds']:.2g} s"
            right.text(0.01, place, told, va="center", fontsize=TEXT)
        draw_names(right, [row["selector"] for row in known.rows])
        right.set_xlim(0.0, 1.0)
        label_axes(right, "F1 against the truth" if measure == "f1" else "stability")
