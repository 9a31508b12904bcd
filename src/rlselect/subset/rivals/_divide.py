"""Divide and conquer: the same selector on many folds of the rows, and a vote."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin

from rlselect._clock import fit_clock, warn_if_interrupted, while_time
from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import rank
from rlselect._options import number, whole, with_methods
from rlselect._parallel import run_tasks
from rlselect._random import RandomState, as_generator
from rlselect.data import read_classes, read_units
from rlselect.report import PathWords
from rlselect.subset.rivals._any_selector import chosen_columns, copy_selector
from rlselect.subset.rivals._rival import RivalSelector

__all__ = ["DivideAndConquer"]


class DivideAndConquer(MetaEstimatorMixin, RivalSelector):
    r"""Fit a selector or a sparse linear model in each fold of the rows; keep what most folds keep.

    The rows are dealt out at random to K folds. A feature is selected when at least the share `vote` of the
    folds selects it:

    .. math:: \hat s = \{j : \frac{1}{K} \sum_k 1[j \in \hat s_k] \geq w\}

    This is the comparator of the REVS paper (K = 400, w = 0.8). Cost: K fits on n / K rows, which joblib runs
    side by side; ``joblib.parallel_config("dask")`` moves them to a cluster. Not meant for weak effects: a
    fold sees an effect only if n / K rows show it.

    Parameters
    ----------
    estimator : estimator
        Anything with `support_` or `get_support` (a selector), or with `coef_` (a sparse linear model: lasso,
        elastic net, SCAD or MCP, ...) after `fit`.
    n_folds : int, default=400
        Number of folds K.
    vote : float, default=0.8
        Share w of the folds, above 0 and at most 1.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values: refuse them, leave out their rows, or impute the mean and add an
        indicator.
    transform_as : {"columns", "design"}, default="columns"
        What `transform` gives: the selected features as they came, or their numeric design columns.
    time_budget : float, optional
        Seconds after which no further fold is begun; those done vote.
    n_jobs : int, optional
        Folds at a time, see joblib. The answer does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Deals out the rows.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        The selected features.
    inclusion_ : array of shape (n_features,)
        Share of the folds that selected each feature.
    ranking_ : int array of shape (n_features,)
        A permutation by inclusion, 1 is best.
    path_ : dict of arrays
        How many features (``size``) each fold has kept.
    n_folds_ : int
        Folds that have voted.
    stop_reason_ : str
        "all folds", "time budget" or "interrupted".
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS), section 5.1.

    Examples
    --------
    >>> from sklearn.linear_model import LassoCV
    >>> from rlselect import DivideAndConquer
    >>> from rlselect.simulate import make_revs
    >>> data = make_revs(n=2000, p=60, random_state=0)
    >>> vote = DivideAndConquer(LassoCV(cv=3), n_folds=5, random_state=0).fit(data.X, data.y)
    >>> bool(vote.support_[data.support].all())
    True
    """

    _path_words = PathWords("fold", {"size": "features that a fold keeps"})
    _options: ClassVar = {
        "estimator": with_methods("a selector or a sparse linear model", "fit"),
        "n_folds": whole(1),
        "vote": number("a number above 0 and at most 1", above=0.0, most=1.0),
        **RivalSelector._options,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_folds: int = 400,
        vote: float = 0.8,
        missing: Literal["error", "drop", "indicator"] = "error",
        transform_as: Literal["columns", "design"] = "columns",
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_folds = n_folds
        self.vote = vote
        self.missing = missing
        self.transform_as = transform_as
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let the folds vote.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Text and categorical columns become indicators; a fold keeps such a feature when it keeps any of
            them.
        y : array-like of shape (n_samples,) or str
            Target, or the name of its column in X.
        sample_weight : array-like of shape (n_samples,) or str, optional
            Passed on to the estimator.

        Returns
        -------
        self
            Fitted, also when it was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y, sample_weight)

    def _fit(self, progress: Progress, X: Any, y: Any, sample_weight: Any) -> None:
        name = type(self).__name__
        table = self._open(X, y, sample_weight)
        if self.n_folds > table.n_rows:
            raise ValueError(
                f"n_folds={self.n_folds} was given with {table.n_rows} rows; it must be at most the number "
                "of rows."
            )
        assert table.y is not None
        if table.y.dtype.kind not in "iuf":
            read_classes(table.y, given="a y of labels", instead="numbers")
        order = as_generator(self.random_state).permutation(table.n_rows)
        tasks = (
            (copy_selector(self.estimator), *table.take(np.sort(fold))[:3])
            for fold in np.array_split(order, self.n_folds)
        )
        progress.begin(1)
        with fit_clock(self.time_budget) as clock:
            columns = np.array(run_tasks(_select, while_time(tasks), n_jobs=self.n_jobs))
        progress.part()
        self.n_folds_ = len(columns)
        self.stop_reason_ = clock.reason or "all folds"
        warn_if_interrupted(self.stop_reason_, name, f"{self.n_folds_} of {self.n_folds} folds")
        self._keep_table(table)
        units = read_units(table.encoder)
        votes = np.column_stack([columns[:, c].any(axis=1) for c in units.units.columns])
        self.path_ = {"size": votes.sum(axis=1)}
        self.inclusion_ = units.to_features(votes.mean(axis=0))
        # a share such as 4 of 5 must not fail a vote of 0.8 by a rounding error
        self.support_ = self.inclusion_ >= self.vote - 1e-12
        self.ranking_ = rank(self.inclusion_)

    def _facts(self) -> dict[str, Any]:
        return {
            "Estimator": type(self.estimator).__name__,
            "Folds": self.n_folds_,
            "Share of votes needed": float(self.vote),
        }


def _select(estimator: Any, X: Any, y: Any, weight: Any) -> NDArray[np.bool_]:
    """Fit one fold; which columns it keeps."""
    try:
        estimator.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    except ValueError as error:
        # what an estimator says of a fold means nothing to those who gave other rows
        values = np.unique(y)
        of = f", in which y is always {values.item()!r}" if len(values) == 1 else ""
        raise ValueError(
            f"{type(estimator).__name__} refuses a fold of {len(y)} rows{of} "
            f"({str(error).rstrip('.')}); use a smaller n_folds, so that folds have more rows."
        ) from error
    return chosen_columns(estimator, X.shape[1])
