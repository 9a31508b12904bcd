"""Algorithm 31: elimination by the empirical risk of any scikit-learn estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from rlselect._parallel import run_tasks

__all__ = ["EstimatorProblem", "constant_decision", "estimator_losses"]


def constant_decision(loss: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Best constant of each column for a loss: what is left when no feature is."""
    total = weights.sum()
    if loss.name == "squared":
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


def estimator_losses(estimator: Any, X: Any, y: np.ndarray, targets: np.ndarray, loss: Any) -> np.ndarray:
    """Loss of each row under a fitted estimator.

    The logistic loss of an estimator with ``predict_proba`` is minus the log-probability of the row's class;
    other classifiers are judged on their decision values, one column a class (on their labels when they have
    none).
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
    """Empirical risk of an estimator refitted on each set of features; see ``_elimination`` for the verbs.

    With ``train`` and ``test`` rows it is fitted on the first and judged on the second (Algorithm 26).
    """

    lam = float("nan")
    bandwidth = float("nan")

    def __init__(self, estimator, X, y, targets, weights, loss, groups, folds, train=None, test=None):
        self.estimator, self.X, self.y, self.targets, self.weights = estimator, X, y, targets, weights
        self.loss, self.groups, self.folds = loss, groups, folds
        everything = np.arange(len(y))
        self.held_out = train is not None
        self.train = everything if train is None else train
        self.test = everything if test is None else test
        self.active = list(range(len(groups)))
        self.judged_weights = weights[self.test]
        self.reference = max(self._objective([])[0], 1e-300)
        self.uses_weights = has_fit_parameter(estimator, "sample_weight")

    def fit(self, columns: np.ndarray, rows: np.ndarray) -> Any:
        """A clone fitted on some columns and rows (None when no column is left)."""
        if not len(columns):
            return None
        fitted = clone(self.estimator)
        extra = {"sample_weight": self.weights[rows]} if self.uses_weights else {}
        return fitted.fit(self.X[rows][:, columns], self.y[rows], **extra)

    def _losses(self, columns, train, test):
        if not len(columns) or (self.loss.classifies and len(np.unique(self.y[train])) < 2):
            constant = constant_decision(self.loss, self.targets[train], self.weights[train])
            return self.loss.value(
                self.targets[test], np.broadcast_to(constant, self.targets[test].shape)
            ).sum(axis=1)
        fitted = self.fit(columns, train)
        return estimator_losses(fitted, self.X[test][:, columns], self.y[test], self.targets[test], self.loss)

    def _columns(self, groups):
        return (
            np.sort(np.concatenate([self.groups[g] for g in groups]))
            if len(groups)
            else np.empty(0, dtype=int)
        )

    def _objective(self, groups):
        losses = self._losses(self._columns(groups), self.train, self.test)
        return float(self.judged_weights @ losses / self.judged_weights.sum()), losses

    def refresh(self) -> None:
        """Risk of the present set, and its out-of-sample losses (folds, or the judging rows)."""
        self.objective, losses = self._objective(self.active)
        if self.held_out:
            self.losses = losses
            return
        columns = self._columns(self.active)
        self.losses = np.empty(len(self.y))
        tests = [np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)]
        trains = [np.flatnonzero(self.folds != fold) for fold in np.unique(self.folds)]
        tasks = (
            (columns, train if len(train) else test, test) for train, test in zip(trains, tests, strict=True)
        )
        for test, losses in zip(tests, run_tasks(self._losses, tasks), strict=True):
            self.losses[test] = losses

    def removals(self, count: int) -> list[tuple[int, float]]:
        """Refit without each group in turn."""
        without = (([g for g in self.active if g != i],) for i in self.active)
        done = run_tasks(self._objective, without)
        values = [(objective, i) for (objective, _), i in zip(done, self.active, strict=True)]
        # Differences below a solver's accuracy (perfect fits above all) are ties, decided by column number.
        values.sort(key=lambda item: (round(item[0] / self.reference, 9), item[1]))
        return [(candidate, value) for value, candidate in values[:count]]

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.active = [g for g in self.active if g not in set(groups)]


def check_estimator_suits(estimator: Any, loss: Any) -> None:
    """Refuse a classifier under a regression loss and the other way round."""
    if is_classifier(estimator) != loss.classifies:
        kind = "classifier" if is_classifier(estimator) else "regressor"
        allowed = (
            "'hinge' or 'logistic'" if is_classifier(estimator) else "'squared' or 'epsilon_insensitive'"
        )
        raise ValueError(
            f"estimator {type(estimator).__name__} is a {kind} but loss={loss.name!r} is not made for one; "
            f"use "
            f"loss={allowed}"
        )
