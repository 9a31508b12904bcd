"""Divide and conquer: the same selector on many folds of the rows, and a vote."""

import inspect
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from rlselect.data import open_table, require_target


class DivideAndConquer(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Fit a selector or a sparse linear model in each fold of the rows; keep what most folds keep.

    The rows are dealt out at random to K folds. A feature is selected when at least the share `vote` of the
    folds selects it:

    .. math:: \hat s = \{j : \tfrac{1}{K} \sum_k 1[j \in \hat s_k] \geq w\}

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
    n_jobs : int, optional
        Folds at a time, see joblib. The answer does not depend on it.
    random_state : int, Generator or None, default=None
        Deals out the rows.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        The selected features.
    inclusion_ : array of shape (n_features,)
        Share of the folds that selected each feature.
    ranking_ : int array of shape (n_features,)
        A permutation by inclusion, 1 is best.
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

    def __init__(
        self,
        estimator: Any,
        *,
        n_folds: int = 400,
        vote: float = 0.8,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_folds = n_folds
        self.vote = vote
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let the folds vote.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers.
        y : array-like of shape (n_samples,) or str
            Target, or the name of its column in X.
        sample_weight : array-like of shape (n_samples,) or str, optional
            Passed on to the estimator.

        Returns
        -------
        self
        """
        name = type(self).__name__
        require_target(y, name)
        table = open_table(X, y, sample_weight=sample_weight, owner=name)
        self._check(table.n_rows)
        if table.n_columns != table.encoder.n_features_in_:
            raise ValueError("X has text columns; DivideAndConquer needs numbers: encode them first.")
        rng = np.random.default_rng(self.random_state)
        folds = np.array_split(rng.permutation(table.n_rows), self.n_folds)
        votes = Parallel(n_jobs=self.n_jobs)(
            delayed(_select)(_copy(self.estimator), *table.take(np.sort(fold))[:3]) for fold in folds
        )
        self.n_features_in_ = table.encoder.n_features_in_
        if table.encoder.feature_names_in_ is not None:
            self.feature_names_in_ = table.encoder.feature_names_in_
        self.inclusion_ = np.mean(votes, axis=0)
        # a share such as 4 of 5 must not fail a vote of 0.8 by a rounding error
        self.support_ = self.inclusion_ >= self.vote - 1e-12
        order = np.argsort(-self.inclusion_, kind="stable")
        self.ranking_ = np.empty(len(order), dtype=int)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        return self

    def _check(self, n_rows: int) -> None:
        folds, vote = self.n_folds, self.vote
        if not isinstance(folds, Integral) or isinstance(folds, bool) or not 1 <= int(folds) <= n_rows:
            raise ValueError(
                f"n_folds={folds!r} was given with {n_rows} samples; it must be a whole number from 1 to the "
                "number of samples."
            )
        if not isinstance(vote, Real) or not 0.0 < float(vote) <= 1.0:
            raise ValueError(f"vote={vote!r} was given; it must lie above 0 and be at most 1.")

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_


def _copy(estimator: Any) -> Any:
    names = inspect.signature(type(estimator)).parameters
    if hasattr(estimator, "get_params") and set(estimator.get_params(deep=False)) <= set(names):
        return clone(estimator)
    # skglm's general estimator, the way to SCAD, lists parameters that its constructor does not take
    return type(estimator)(**{name: getattr(estimator, name) for name in names})


def _select(estimator: Any, X: Any, y: Any, weight: Any) -> NDArray[np.bool_]:
    """Fit one fold; which features it keeps."""
    estimator.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    if hasattr(estimator, "get_support"):
        return np.asarray(estimator.get_support(), dtype=bool)
    if hasattr(estimator, "support_") and len(estimator.support_) == X.shape[1]:
        return np.asarray(estimator.support_, dtype=bool)
    if hasattr(estimator, "coef_"):
        return np.any(np.atleast_2d(estimator.coef_) != 0, axis=0)
    raise TypeError(
        f"{type(estimator).__name__} has neither support_ nor coef_ after fit; give a selector or a sparse "
        "linear model."
    )
