"""Algorithm 31: elimination by the empirical risk of any scikit-learn estimator."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from rlselect._clock import OutOfTime, present_clock, stop_if_late, while_time
from rlselect._parallel import run_tasks
from rlselect.machines._losses import Loss

__all__ = ["EstimatorProblem", "constant_decision", "fit_clone"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
# with time for fewer fits, sets are judged by one fold
_FITS = 100


def fit_clone(estimator: Any, X: Any, y: NDArray, weights: Array) -> Any:
    """A clone of an estimator fitted on some rows, with weights if it takes them."""
    extra = {"sample_weight": weights} if has_fit_parameter(estimator, "sample_weight") else {}
    return clone(estimator).fit(X, y, **extra)


def constant_decision(loss: Loss, targets: Array, weights: Array) -> Array:
    """Best constant of each column for a loss: what is left when no feature is."""
    total = weights.sum()
    if loss.squared:
        return weights @ targets / total
    if loss.name == "epsilon_insensitive":
        values = []
        for y in targets.T:
            order = np.argsort(y, kind="stable")
            middle = np.searchsorted(np.cumsum(weights[order]), 0.5 * total)
            values.append(y[order][min(middle, len(y) - 1)])
        return np.array(values)
    share = weights @ (targets > 0) / total
    if loss.name == "hinge":
        return np.where(share >= 0.5, 1.0, -1.0)
    share = np.clip(share, 1e-12, 1 - 1e-12)
    return np.log(share / (1.0 - share))


def _estimator_losses(estimator: Any, X: Any, y: NDArray, targets: Array, loss: Loss) -> Array:
    """Loss of each row under a fitted estimator.

    The logistic loss of an estimator with ``predict_proba`` is minus the log-probability of the row's class;
    other classifiers are judged on their decision values, one column per class, or on their labels when
    they have none.
    """
    if not loss.classifies:
        return loss.value(targets, np.asarray(estimator.predict(X), dtype=float).reshape(len(y), -1)).sum(
            axis=1
        )
    if loss.name == "logistic" and hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        place = np.searchsorted(estimator.classes_, y)
        place = np.clip(place, 0, len(estimator.classes_) - 1)
        chosen = np.where(estimator.classes_[place] == y, proba[np.arange(len(y)), place], 0.0)
        return -np.log(np.clip(chosen, 1e-15, 1.0))
    if hasattr(estimator, "decision_function"):
        decision = np.asarray(estimator.decision_function(X), dtype=float).reshape(len(y), -1)
        if decision.shape[1] == targets.shape[1]:
            return loss.value(targets, decision).sum(axis=1)
    hit = np.where(np.asarray(estimator.predict(X)) == y, 1.0, -1.0)
    return loss.value(np.ones(len(y)), hit)


class EstimatorProblem:
    """Empirical risk of an estimator refitted on each set of features.

    With ``train`` and ``test`` rows it is fitted on the first and judged on the second (Algorithm 26).

    Parameters
    ----------
    estimator : estimator
    X : (n, d) array or sparse matrix
    y : (n,) array
        What the estimator is given: numbers or class labels.
    targets : (n, c) array
        What the loss is given.
    weights : (n,) array
    loss : Loss
    groups : sequence of int arrays
        Columns of each group.
    folds : (n,) int array or None
        Folds for the out-of-sample losses; not looked at with ``train`` and ``test``.
    train, test : int arrays, optional
    """

    lam = float("nan")
    bandwidth = float("nan")

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: NDArray,
        targets: Array,
        weights: Array,
        loss: Loss,
        groups: Sequence[NDArray[np.intp]],
        folds: Rows | None,
        train: Rows | None = None,
        test: Rows | None = None,
    ) -> None:
        self.estimator, self.X, self.y, self.targets, self.weights = estimator, X, y, targets, weights
        self.loss, self.groups, self.folds = loss, groups, folds
        everything = np.arange(len(y))
        self.held_out = train is not None
        self.train = everything if train is None else train
        self.test = everything if test is None else test
        self.active = list(range(len(groups)))
        self.objective: float = np.nan
        self.losses: Array = np.empty(0)
        self.judged_weights = weights[self.test]
        self._judged = self.hasty = False
        # asked for what is left also where nothing may be broken off
        self._clock = present_clock()
        self._fitted: Any = None
        self.reference = max(self._objective([])[0], 1e-300)

    def fit(self, columns: Rows, rows: Rows) -> Any:
        """A clone fitted on some columns and rows (None when no column is left)."""
        if not len(columns):
            return None
        return fit_clone(self.estimator, self.X[rows][:, columns], self.y[rows], self.weights[rows])

    def _losses(self, columns: Rows, train: Rows, test: Rows) -> Array:
        """Losses of some rows under a fit on others, which is kept."""
        if not len(columns) or (self.loss.classifies and len(np.unique(self.y[train])) < 2):
            constant = constant_decision(self.loss, self.targets[train], self.weights[train])
            return self.loss.value(
                self.targets[test], np.broadcast_to(constant, self.targets[test].shape)
            ).sum(axis=1)
        self._fitted = self.fit(columns, train)
        return self._judge(self._fitted, self.X[test][:, columns], test)

    def _judge(self, fitted: Any, X: Any, test: Rows) -> Array:
        """Losses of some rows, whose columns may have been changed."""
        return _estimator_losses(fitted, X, self.y[test], self.targets[test], self.loss)

    def columns_of(self, groups: Sequence[int]) -> Rows:
        """Columns of some groups, sorted."""
        some = [self.groups[g] for g in groups]
        return np.sort(np.concatenate([np.empty(0, dtype=np.intp), *some]))

    def _objective(self, groups: Sequence[int]) -> tuple[float, Array]:
        losses = self._losses(self.columns_of(groups), self.train, self.test)
        return float(self.judged_weights @ losses / self.judged_weights.sum()), losses

    def refresh(self) -> None:
        """Risk of the present set, and its out-of-sample losses (folds, or the judging rows)."""
        hurried = None if self.held_out or self._judged else self._by_one_fold()
        self.objective, losses = hurried or self._objective(self.active)
        if self.held_out:
            self.losses = losses
            return
        assert self.folds is not None
        columns = self.columns_of(self.active)
        tests = [np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)]
        trains = [np.flatnonzero(self.folds != fold) for fold in np.unique(self.folds)]
        tasks = (
            (columns, train if len(train) else test, test) for train, test in zip(trains, tests, strict=True)
        )
        done = run_tasks(self._losses, while_time(tasks))
        if len(done) < len(tests) and self._judged:
            raise OutOfTime
        self._judged = True
        # of the first set there is something at least: rows that nobody judged are as good as the others
        self.losses = np.full(len(self.y), np.mean(np.concatenate(done)))
        for test, losses in zip(tests, done, strict=False):
            self.losses[test] = losses

    def _by_one_fold(self) -> tuple[float, Array] | None:
        """Risk and losses of the present set by one fit, as of all later ones, where there is no time for one
        fit per fold; None where there is, or where nothing is left to learn from.
        """
        assert self.folds is not None
        left, began, apart = self._clock.left, time.perf_counter(), self.folds == 0
        if left is None or apart.all():
            return None
        before = self.train, self.test, self.judged_weights
        self.train, self.test = np.flatnonzero(~apart), np.flatnonzero(apart)
        self.judged_weights = self.weights[self.test]
        found = self._objective(self.active)
        self.held_out = left < _FITS * (time.perf_counter() - began)
        if self.held_out:
            return found
        self.train, self.test, self.judged_weights = before
        return None

    def removals(self, count: int) -> list[tuple[int, float]]:
        """Refit without each group in turn; in haste shuffle each in turn, which needs no fit."""
        stop_if_late()
        if self.hasty and count > 1 and self._fitted is not None:
            return self._shuffled()[:count]
        without = (([g for g in self.active if g != i],) for i in self.active)
        done = run_tasks(self._objective, while_time(without))
        if len(done) < len(self.active):
            raise OutOfTime
        values = [(objective, i) for (objective, _), i in zip(done, self.active, strict=True)]
        # Differences below a solver's accuracy (perfect fits above all) are ties, decided by column number.
        values.sort(key=lambda item: (round(item[0] / self.reference, 9), item[1]))
        return [(candidate, value) for value, candidate in values[:count]]

    def _shuffled(self) -> list[tuple[int, float]]:
        """Groups with the risk under the last fit once their rows are shuffled, smallest first."""
        assert self._fitted is not None
        columns, shares = self.columns_of(self.active), self.judged_weights / self.judged_weights.sum()
        order = np.random.default_rng(0).permutation(len(self.test))
        X, values = self.X[self.test][:, columns], []
        for group in self.active:
            stop_if_late()
            mine, changed = np.flatnonzero(np.isin(columns, self.groups[group])), X.copy()
            changed[:, mine] = X[order][:, mine]
            values.append((float(shares @ self._judge(self._fitted, changed, self.test)), group))
        return [(group, value) for value, group in sorted(values)]

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.active = [g for g in self.active if g not in set(groups)]
