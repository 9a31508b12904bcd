"""What the class of a row is on average: labels with less chance in them, from a forest of other rows."""

import time
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from rlselect._clock import OutOfTime, present_clock, stop_if_late
from rlselect.datumwise._folds import left_out
from rlselect.datumwise._plan import PLAN, PurchasePlan
from rlselect.datumwise._problem import PurchaseProblem

__all__ = ["soft_labels"]

# the smallest forest, whose time is a forecast
_TIMED_TREES = 4


def soft_labels(
    problem: PurchaseProblem,
    folds: NDArray,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    plan: PurchasePlan = PLAN,
) -> NDArray:
    """Shares of the classes as far as other rows tell, for every policy: (policies, rows, classes).

    A label is one draw from what a row like this can be; trees that were grown without the row say what
    other draws would have been. Nothing but their leaf size, which all rows choose, knows of the fold
    (rows,) that a policy leaves out, so that what a policy does there stays honest. Rows that a policy
    leaves out have their labels.
    """
    labels = np.eye(problem.rules.n_classes)[problem.labels]
    missing = left_out(int(folds.max()) + 1)
    out = np.repeat(labels[None], len(missing), axis=0)
    seed = int(rng.integers(2**31))
    every = folds != missing[-1]
    forests, began = len(plan.leaves) + len(missing) - 1, time.perf_counter()
    if present_clock().left is not None:
        # a few trees tell how long all would take
        _out_of_bag(problem, every, plan.leaves[0], seed, n_jobs, replace(plan, trees=_TIMED_TREES))
        took, left = time.perf_counter() - began, present_clock().left
        if left is not None and forests * took * plan.trees / _TIMED_TREES > left:
            raise OutOfTime
    tried = [_out_of_bag(problem, every, leaf, seed, n_jobs, plan) for leaf in plan.leaves]
    errors = [np.average(((found - labels) ** 2).sum(axis=1), weights=problem.weights) for found in tried]
    leaf = int(np.argmin(errors))
    for own, fold in zip(out, missing, strict=True):
        rows = folds != fold
        found = tried[leaf]
        if fold < missing[-1]:
            found = _out_of_bag(problem, rows, plan.leaves[leaf], seed, n_jobs, plan)
        # classes are as frequent as among the labels
        found += np.average(labels[rows] - found, axis=0, weights=problem.weights[rows])
        own[rows] = found
    return out


def _out_of_bag(
    problem: PurchaseProblem, rows: NDArray, leaf: int, seed: int, n_jobs: int | None, plan: PurchasePlan
) -> NDArray:
    """Shares of the classes for some rows, each by the trees that were grown without it."""
    stop_if_late()
    n_rows = int(rows.sum())
    forest = RandomForestClassifier(
        plan.trees,
        min_samples_leaf=leaf,
        max_features=None,
        max_samples=max(1, min(int(plan.bag * n_rows), plan.bag_rows)),
        oob_score=True,
        n_jobs=n_jobs,
        random_state=seed,
    )
    labels, weights = problem.labels[rows], problem.weights[rows]
    with warnings.catch_warnings():
        # about rows that are in every bag, which keep their labels
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        forest.fit(problem.codes[rows].astype(np.float32), labels, weights)
    out = np.eye(problem.rules.n_classes)[labels]
    found = forest.oob_decision_function_
    known = np.flatnonzero(np.isfinite(found).all(axis=1))
    out[known] = 0.0
    out[np.ix_(known, forest.classes_)] = found[known]
    return out
