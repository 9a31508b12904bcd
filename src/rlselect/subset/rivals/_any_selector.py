"""Selectors and sparse models of any library: copied, fitted, and asked what they chose."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

# where estimators keep a number per column, large for good ones
_SCORES = ("inclusion_", "scores_", "feature_importances_", "coef_")


def copy_selector(estimator: Any) -> Any:
    """An unfitted copy."""
    names = inspect.signature(type(estimator)).parameters
    if hasattr(estimator, "get_params") and set(estimator.get_params(deep=False)) <= set(names):
        return clone(estimator)
    # skglm's general estimator, the way to SCAD, lists parameters that its constructor does not take
    return type(estimator)(**{name: getattr(estimator, name) for name in names})


def who_chose(estimator: Any, n_columns: int) -> Any:
    """The fitted estimator itself, or of a pipeline the first step that selects among all columns."""
    if not isinstance(estimator, Pipeline):
        return estimator
    for _, step in estimator.steps:
        if hasattr(step, "get_support") and getattr(step, "n_features_in_", n_columns) == n_columns:
            return step
    # steps before the last may have scaled the columns, but not mixed or added some
    last = estimator.steps[-1][1]
    return last if getattr(last, "n_features_in_", -1) == n_columns else estimator


def chosen_columns(estimator: Any, n_columns: int) -> NDArray[np.bool_]:
    """Which columns a fitted selector keeps, or a sparse linear model has coefficients for."""
    if hasattr(estimator, "get_support"):
        return np.asarray(estimator.get_support(), dtype=bool)
    if hasattr(estimator, "support_") and len(estimator.support_) == n_columns:
        return np.asarray(estimator.support_, dtype=bool)
    if hasattr(estimator, "coef_"):
        return np.any(np.atleast_2d(estimator.coef_) != 0, axis=0)
    raise TypeError(
        f"{type(estimator).__name__} has neither support_ nor coef_ after fit; give a selector, a sparse "
        "linear model, or a model with feature_importances_ inside of scikit-learn's SelectFromModel."
    )


def column_order(estimator: Any, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
    """All columns, best first: chosen ones before others, then by rank or by the size of what is kept.

    Where a selector keeps none, as SelectFromModel, that of the model inside of it counts.
    """
    score = np.zeros(len(chosen))
    ranking = getattr(estimator, "ranking_", None)
    if ranking is not None and len(ranking) == len(chosen):
        score = -np.asarray(ranking, dtype=np.float64)
    inside = getattr(estimator, "estimator_", None)
    for known in (getattr(owner, name, None) for owner in (estimator, inside) for name in _SCORES):
        if known is not None and np.shape(known)[-1] == len(chosen) and not score.any():
            score = np.nan_to_num(np.abs(np.atleast_2d(known)).max(axis=0))
    return np.lexsort((np.arange(len(chosen)), -score, ~chosen))
