"""Pictures of a policy that learns: its probabilities, its rewards, and what more variables are worth."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from rlselect.data import open_table
from rlselect.report import Display

__all__ = ["PerformanceDisplay", "RewardDisplay", "ThetaDisplay"]


class ThetaDisplay(Display):
    """Probability of each variable, iteration by iteration.

    Use :meth:`from_estimator`. After :meth:`plot`, ``ax_`` holds the matplotlib axes.

    Parameters
    ----------
    theta : array of shape (n_iterations, n_features)
    selected : bool array of shape (n_features,)
    names : list of str
    threshold : float
    """

    def __init__(self, theta, selected, names, threshold):
        self.theta, self.selected, self.names, self.threshold = theta, selected, names, threshold

    @classmethod
    def from_estimator(cls, estimator: Any, *, predictor: str | None = None, ax: Any = None) -> Self:
        """Draw a fitted :class:`~rlselect.ActorCriticPredictor`.

        Parameters
        ----------
        estimator : ActorCriticPredictor
        predictor : str, optional
            Draw the actor led by this predictor; the one behind the answer by default.
        ax : matplotlib axes, optional
        """
        check_is_fitted(estimator)
        history = estimator.path_
        name = estimator.predictor_.name if predictor is None else predictor
        rows = history["predictor"] == name
        if not np.any(rows):
            known = sorted(set(history["predictor"].tolist())) or ["none: there was nothing to search"]
            raise ValueError(f"predictor={name!r} led no actor of this fit; it had {', '.join(known)}.")
        names = estimator.encoder_.feature_names
        display = cls(history["theta"][rows], estimator.support_, names, estimator.threshold)
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        steps = np.arange(1, len(self.theta) + 1)
        others = np.flatnonzero(~self.selected)
        if len(others):
            ax.plot(steps, self.theta[:, others], color="0.75", linewidth=0.7)
            ax.plot([], [], color="0.75", label=f"{len(others)} others")
        for feature in np.flatnonzero(self.selected):
            ax.plot(steps, self.theta[:, feature], label=self.names[feature])
        ax.axhline(self.threshold, color="0.3", linestyle="--", linewidth=0.8)
        ax.set(xlabel="iteration", ylabel="probability", ylim=(0.0, 1.0))
        if self.selected.sum() <= 15:
            ax.legend(fontsize="small")


class RewardDisplay(Display):
    """Mean and best reward of each batch, and the critic's baseline.

    Use :meth:`from_estimator`. After :meth:`plot`, ``ax_`` holds the matplotlib axes.

    Parameters
    ----------
    reward, best, baseline : arrays of shape (n_iterations,)
    predictor : array of str of shape (n_iterations,)
        Who led; a change is marked.
    """

    def __init__(self, reward, best, baseline, predictor):
        self.reward, self.best, self.baseline, self.predictor = reward, best, baseline, predictor

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw a fitted :class:`~rlselect.ActorCriticPredictor`.

        Parameters
        ----------
        estimator : ActorCriticPredictor
        ax : matplotlib axes, optional
        """
        check_is_fitted(estimator)
        history = estimator.path_
        display = cls(history["reward"], history["best"], history["baseline"], history["predictor"])
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        steps = np.arange(1, len(self.reward) + 1)
        ax.plot(steps, self.reward, ".", markersize=4, label="mean reward of a batch")
        ax.plot(steps, self.best, ".", markersize=3, color="0.6", label="best reward of a batch")
        ax.plot(steps, self.baseline, label="baseline")
        for change in np.flatnonzero(self.predictor[1:] != self.predictor[:-1]):
            ax.axvline(change + 1.5, color="0.5", linestyle=":")
            ax.annotate(str(self.predictor[change + 1]), (change + 2, float(np.max(self.best))))
        ax.set(xlabel="iteration", ylabel="reward")
        ax.legend(fontsize="small")


class PerformanceDisplay(Display):
    """Cross-validated performance of a learner against the number of variables, best ranks first (Figure 4).

    The rows that chose the variables also judge them unless ``X`` and ``y`` are other rows: then the picture
    is honest.

    Parameters
    ----------
    sizes : int array
    mean, spread : arrays
        Mean and standard deviation over folds.
    n_selected : int
    metric : str
    """

    def __init__(self, sizes, mean, spread, n_selected, metric):
        self.sizes, self.mean, self.spread = sizes, mean, spread
        self.n_selected, self.metric = n_selected, metric

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sizes: Sequence[int] | None = None,
        learner: Any = None,
        cv: Any = 5,
        ax: Any = None,
    ) -> Self:
        """Judge the first ranks of any fitted selector.

        Parameters
        ----------
        estimator : selector
            With ``ranking_`` and ``encoder_``.
        X, y
            Rows as for ``fit``.
        sizes : sequence of int, optional
            Numbers of variables; up to twelve between 1 and twice the selected ones by default.
        learner : estimator, optional
            A Gaussian support vector machine on standardised columns by default.
        cv : int or splitter, default=5
        ax : matplotlib axes, optional
        """
        check_is_fitted(estimator)
        table = open_table(X, y, encoder=estimator.encoder_)
        design = table.take().X
        design = np.asarray(design.toarray() if table.is_sparse else design, dtype=np.float64)
        classifies = getattr(estimator, "task_", "regression") == "classification"
        if learner is None:
            learner = make_pipeline(StandardScaler(), SVC(gamma="auto") if classifies else SVR(gamma="auto"))
        order = np.argsort(estimator.ranking_)
        n_selected = int(estimator.support_.sum())
        if sizes is None:
            last = min(max(2 * n_selected, 5), len(order))
            sizes = np.unique(np.linspace(1, last, 12).round().astype(int)).tolist()
        column_feature = np.asarray(estimator.encoder_.column_feature_)
        scores = [
            cross_val_score(clone(learner), design[:, np.isin(column_feature, order[:size])], table.y, cv=cv)
            for size in sizes
        ]
        metric = "accuracy" if is_classifier(learner) else "R squared"
        mean, spread = np.mean(scores, axis=1), np.std(scores, axis=1)
        return cls(np.asarray(sizes), mean, spread, n_selected, metric).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.errorbar(self.sizes, self.mean, yerr=self.spread, marker="o", markersize=3, capsize=2)
        ax.axvline(self.n_selected, color="0.5", linestyle="--", label=f"selected ({self.n_selected})")
        ax.set(xlabel="number of variables", ylabel=self.metric)
        ax.legend(fontsize="small")
