"""Pictures of learnt regimes: eliminations, where decisions change, what regimes are worth."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["DecisionMapDisplay", "RegimeValueDisplay", "StageObjectiveDisplay"]


class StageObjectiveDisplay:
    """Objective of the elimination at each stage (Figures 4.3 to 4.11).

    Use :meth:`from_estimator`; ``axes_`` holds one axis a stage after :meth:`plot`.

    Parameters
    ----------
    removed, objective : lists of arrays, one a stage
    n_removed : list of int
        How many columns the learner removed.
    label : str
    """

    def __init__(self, removed, objective, n_removed, label="regularised risk"):
        self.removed, self.objective, self.n_removed, self.label = removed, objective, n_removed, label

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> "StageObjectiveDisplay":
        """Draw a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted with a selection.
        axes : sequence of matplotlib axes, optional
        """
        check_is_fitted(estimator)
        if any(path is None for path in estimator.path_):
            raise ValueError("the learner was fitted with selection=None: there is no elimination to draw")
        sizes = [path["n_features"] for path in estimator.path_]
        label = "fitted stage-1 value" if estimator.selection == "rfe-vpred" else "regularised risk"
        kept = [len(names) for names in estimator.selected_]
        display = cls(
            [size[0] - size for size in sizes],
            [path["objective"] for path in estimator.path_],
            [int(size[0] - k) for size, k in zip(sizes, kept, strict=True)],
            label,
        )
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> "StageObjectiveDisplay":
        """Draw into one axis a stage, new ones by default.

        Parameters
        ----------
        axes : sequence of matplotlib axes, optional
        """
        if axes is None:
            from matplotlib import pyplot as plt

            count = len(self.removed)
            _, axes = plt.subplots(1, count, figsize=(4 * count, 3.5), layout="constrained", squeeze=False)
            axes = axes[0]
        for stage, ax in enumerate(axes):
            ax.plot(self.removed[stage], self.objective[stage], "o-", markersize=3)
            ax.axvline(self.n_removed[stage], color="0.5", linestyle="--", label="selected")
            ax.set(title=f"stage {stage + 1}", xlabel="columns removed", ylabel=self.label)
            ax.legend()
        self.axes_ = list(axes)
        self.figure_ = self.axes_[0].figure
        return self


class DecisionMapDisplay:
    """Recommended action over two history columns, the others held at given values.

    Parameters
    ----------
    x, y : arrays
        Grid of the two columns.
    decision : (len(y), len(x)) int array
        Position of the recommended action.
    names : pair of str
    labels : sequence
        Actions.
    """

    def __init__(self, x, y, decision, names, labels):
        self.x, self.y, self.decision, self.names, self.labels = x, y, decision, names, labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        trial: Any,
        stage: int = 1,
        *,
        features: Any = None,
        resolution: int = 60,
        ax: Any = None,
    ) -> "DecisionMapDisplay":
        """Draw a stage of a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
        trial : TrialData
            Gives the range of the two columns and the medians of the others.
        stage : int, default=1
        features : pair of str, optional
            By default the first two decision features (filled up with other selected columns).
        resolution : int, default=60
        ax : matplotlib axis, optional
        """
        check_is_fitted(estimator)
        data = trial.stage(stage)
        columns = {column.name: j for j, column in enumerate(data.columns)}
        if features is None:
            ranked = [*estimator.tailoring_[stage - 1], *estimator.selected_[stage - 1], *columns]
            numeric = [name for name in dict.fromkeys(ranked) if not data.columns[columns[name]].labels]
            features = numeric[:2]
        if len(features) != 2 or any(name not in columns for name in features):
            raise ValueError(f"features={features!r} must be two history columns of stage {stage}")
        coded = [name for name in features if data.columns[columns[name]].labels]
        if coded:
            raise ValueError(f"{coded[0]!r} holds labels; a map takes two columns of numbers")
        seen = data.history[data.present]
        middle = np.array([
            np.bincount(v.astype(int)).argmax() if c.labels else np.median(v)
            for c, v in zip(data.columns, seen.T, strict=True)
        ])  # fmt: skip
        grids = [
            np.linspace(seen[:, columns[f]].min(), seen[:, columns[f]].max(), resolution) for f in features
        ]
        mesh = np.meshgrid(*grids)
        rows = np.tile(middle, (resolution**2, 1))
        for name, values in zip(features, mesh, strict=True):
            rows[:, columns[name]] = values.ravel()
        decision = estimator._decide(stage - 1, rows).reshape(resolution, resolution)
        return cls(grids[0], grids[1], decision, tuple(features), data.labels).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> "DecisionMapDisplay":
        """Draw into an axis, a new one by default.

        Parameters
        ----------
        ax : matplotlib axis, optional
        """
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(5, 4), layout="constrained")
        levels = np.arange(len(self.labels) + 1) - 0.5
        drawn = ax.contourf(self.x, self.y, self.decision, levels=levels, alpha=0.6)
        bar = ax.figure.colorbar(drawn, ax=ax, ticks=range(len(self.labels)), label="recommended action")
        bar.ax.set_yticklabels([str(label) for label in self.labels])
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self


class RegimeValueDisplay:
    """Estimated values of several regimes with their intervals.

    Parameters
    ----------
    values : dict of RegimeValue
    """

    def __init__(self, values):
        self.values = dict(values)

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Any = None) -> "RegimeValueDisplay":
        """Draw what :func:`compare_regimes` returned.

        Parameters
        ----------
        comparison : RegimeComparison
        ax : matplotlib axis, optional
        """
        return cls(comparison.values).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> "RegimeValueDisplay":
        """Draw into an axis, a new one by default.

        Parameters
        ----------
        ax : matplotlib axis, optional
        """
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(5, 0.6 * len(self.values) + 1.2), layout="constrained")
        for place, (name, value) in enumerate(self.values.items()):
            low, high = value.interval
            error = [[value.value - low], [high - value.value]]
            ax.errorbar(value.value, place, xerr=error, fmt="o", capsize=3, label=name)
        ax.set_yticks(range(len(self.values)), list(self.values))
        ax.set(xlabel="value", ylim=(-0.5, len(self.values) - 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self
