"""The machine RiskRFE ends with: fitting it on the selected features and predicting with it."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rlselect.machines import (
    AdditiveKernel,
    EstimatorProblem,
    LinearKernel,
    RidgeProblem,
    constant_decision,
    make_loss,
    solve_machine,
)

__all__ = ["FinalMachine"]


def _classifies(self: Any) -> bool:
    return make_loss(self.loss).classifies


def _has_decision(self: Any) -> bool:
    return _classifies(self) and (self.estimator is None or hasattr(self.estimator, "decision_function"))


def _has_proba(self: Any) -> bool:
    if self.estimator is not None:
        return hasattr(self.estimator, "predict_proba")
    return make_loss(self.loss).name == "logistic"


class FinalMachine:
    """What a fitted RiskRFE predicts with; mixed into it."""

    # Set by RiskRFE itself.
    estimator: Any
    loss: Any
    fit_intercept: bool
    support_: np.ndarray
    classes_: np.ndarray
    center_: np.ndarray
    scale_: np.ndarray
    objective_path_: dict[str, np.ndarray]
    _groups: list[np.ndarray]
    _loss: Any
    _kernel: Any
    _kernel_problem: Any
    _machine: Any
    _constant: np.ndarray
    __sklearn_tags__: Any

    def _fit_estimator(self, X, y, targets, weights):
        columns = np.flatnonzero(self.support_)
        self._machine = None
        self._constant = constant_decision(self._loss, targets, weights)
        if not len(columns):
            return
        problem = EstimatorProblem(self.estimator, X, y, targets, weights, self._loss, self._groups, None)
        self.estimator_ = problem.fit(columns, np.arange(len(y)))

    def _fit_machine(self, X, y, targets, weights):
        """Fit on the selected groups, with parameters chosen for them where they are free."""
        final = clone(self).set_params(stopping="loo-2se", feature_groups=None)
        final._loss, final._kernel = self._loss, self._kernel
        columns = np.flatnonzero(self.support_)
        final._groups = [np.array([j]) for j in range(len(columns))]
        problem, tuner = final._kernel_problem(np.ascontiguousarray(X[:, columns]), y, targets, weights)
        if tuner.once:
            # The dissertation chooses once, on all features.
            tuner.lams = np.array([self.objective_path_["regularization"][0]])
            tuner.widths, tuner.relative = np.array([self.objective_path_["bandwidth"][0]]), False
        tuner.tune(problem)
        self.regularization_, self.bandwidth_ = problem.lam, problem.bandwidth
        self._constant = constant_decision(self._loss, targets, weights)
        if isinstance(problem, RidgeProblem):
            problem._restart()
            slopes, centre, level = self._ridge_slopes(problem)
            self._set_linear(slopes[:, None], np.atleast_1d(level - centre @ slopes), columns)
            return
        gram = problem.state.gram()
        fitted = solve_machine(gram, targets, weights, problem.lam, self._loss, self.fit_intercept)
        if isinstance(self._kernel, LinearKernel):
            self._set_linear(problem.state.X.T @ fitted.coefficients, fitted.intercept, columns)
            return
        self._machine = (problem.state, fitted.coefficients, fitted.intercept)

    @staticmethod
    def _ridge_slopes(problem):
        if problem.primal:
            return problem.state["coef"], problem.state["centre"], problem.state["level"]
        slopes = problem.state["pull"]
        fit = problem.block @ slopes
        ridge = problem._ridge(problem.lam)
        level = np.mean(problem.y - fit - ridge * problem.state["coef"]) if problem.fit_intercept else 0.0
        return slopes, np.zeros(len(slopes)), level

    def _set_linear(self, slopes, intercept, columns):
        slopes = slopes / self.scale_[columns][:, None]
        intercept = intercept - self.center_[columns] @ slopes
        self._machine = (None, slopes, intercept)
        self.coef_ = slopes[:, 0] if not self._loss.classifies else slopes.T
        self.intercept_ = intercept[0] if not self._loss.classifies else intercept

    def _decision(self, X):
        """Decision values, one column a machine."""
        columns = np.flatnonzero(self.support_)
        if self._machine is None:
            return np.broadcast_to(self._constant, (X.shape[0], len(self._constant)))
        state, coefficients, intercept = self._machine
        if state is None:
            return np.asarray(X[:, columns] @ coefficients) + intercept
        X = (X[:, columns] - self.center_[columns]) / self.scale_[columns]
        rows = max(1, 4_000_000 // max(len(state.X), 1))
        parts = [state.cross(X[i : i + rows], state.active) @ coefficients for i in range(0, len(X), rows)]
        return np.concatenate(parts) + intercept

    def _check_new(self, X):
        check_is_fitted(self)
        takes_sparse = self.__sklearn_tags__().input_tags.sparse
        X = validate_data(
            self, X, accept_sparse="csr" if takes_sparse else False, dtype=np.float64, reset=False
        )
        if self.estimator is None and isinstance(self._kernel, AdditiveKernel):
            self._kernel.check(X)
        return X

    def predict(self, X):
        """Values, or class labels, from the selected features.

        Parameters
        ----------
        X : (m, d) array with all features

        Returns
        -------
        (m,) array
        """
        X = self._check_new(X)
        if hasattr(self, "estimator_"):
            return self.estimator_.predict(X[:, np.flatnonzero(self.support_)])
        decision = self._decision(X)
        if not self._loss.classifies:
            return np.array(decision[:, 0])
        if decision.shape[1] == 1:
            return self.classes_[(decision[:, 0] > 0).astype(int)]
        return self.classes_[np.argmax(decision, axis=1)]

    @available_if(_has_decision)
    def decision_function(self, X):
        """Decision values: one a row for two classes, one a row and class otherwise."""
        X = self._check_new(X)
        if hasattr(self, "estimator_"):
            return self.estimator_.decision_function(X[:, np.flatnonzero(self.support_)])
        decision = np.array(self._decision(X))
        return decision[:, 0] if decision.shape[1] == 1 else decision

    @available_if(_has_proba)
    def predict_proba(self, X):
        """Class probabilities (logistic loss, or the estimator's own)."""
        X = self._check_new(X)
        if hasattr(self, "estimator_"):
            return self.estimator_.predict_proba(X[:, np.flatnonzero(self.support_)])
        share = expit(np.array(self._decision(X)))
        if share.shape[1] == 1:
            return np.column_stack([1.0 - share[:, 0], share[:, 0]])
        return share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)

    def score(self, X, y, sample_weight=None):
        """R^2 for regressors, accuracy for classifiers."""
        measure = accuracy_score if _classifies(self) else r2_score
        return measure(y, self.predict(X), sample_weight=sample_weight)
