"""Pictures of learnt regimes: eliminations, where decisions change, what regimes are worth."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect.regimes._estimates import RegimeComparison, RegimeValue
from rlselect.regimes._learner import BackwardLearner
from rlselect.regimes._stage_names import find_stage
from rlselect.regimes._stages import StageData
from rlselect.regimes._trial import TrialData
from rlselect.report import Display, PanelDisplay

__all__ = ["DecisionMapDisplay", "RegimeValueDisplay", "StageObjectiveDisplay"]


class StageObjectiveDisplay(PanelDisplay):
    """Objective of the elimination at each stage (Figures 4.3 to 4.11).

    Use :meth:`from_estimator`; ``axes_`` holds one axis per stage after :meth:`plot`.

    Parameters
    ----------
    removed, objective : lists of arrays, one per stage
    n_removed : list of int
        How many columns the learner removed.
    label : str
    """

    def __init__(
        self,
        removed: list[np.ndarray],
        objective: list[np.ndarray],
        n_removed: list[int],
        label: str = "regularised risk",
    ) -> None:
        self.removed, self.objective, self.n_removed, self.label = removed, objective, n_removed, label

    @classmethod
    def from_estimator(cls, estimator: BackwardLearner, *, axes: Any = None) -> Self:
        """Draw a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted with a selection.
        axes : sequence of matplotlib axes, optional
        """
        check_is_fitted(estimator)
        paths = [path for path in estimator.path_ if path is not None]
        if len(paths) < estimator.n_stages_:
            raise ValueError(
                "the learner has eliminated nothing at some stage (selection=None, or rewards that are all "
                "the same): there is no elimination to draw"
            )
        sizes = [path["n_features"] for path in paths]
        # Algorithm 28 judges no set out of sample
        label = "regularised risk" if "risk" in paths[0] else "fitted stage-1 value"
        kept = [len(names) for names in estimator.selected_]
        display = cls(
            [size[0] - size for size in sizes],
            [path["objective"] for path in paths],
            [int(size[0] - k) for size, k in zip(sizes, kept, strict=True)],
            label,
        )
        return display.plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return len(self.removed), len(self.removed)

    def _panel_size(self) -> tuple[float, float]:
        return (4.0, 3.5)

    def _draw(self, axes: list[Any]) -> None:
        for stage, ax in enumerate(axes):
            ax.plot(self.removed[stage], self.objective[stage], "o-", markersize=3)
            ax.axvline(self.n_removed[stage], color="0.5", linestyle="--", label="selected")
            ax.set(title=f"stage {stage + 1}", xlabel="columns removed", ylabel=self.label)
            ax.legend()


class DecisionMapDisplay(Display):
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

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        decision: np.ndarray,
        names: tuple[str, str],
        labels: Sequence[Any],
    ) -> None:
        self.x, self.y, self.decision, self.names, self.labels = x, y, decision, names, labels

    @classmethod
    def from_estimator(
        cls,
        estimator: BackwardLearner,
        trial: TrialData,
        stage: int | str = 1,
        *,
        features: tuple[str, str] | None = None,
        resolution: int = 60,
        ax: Any = None,
    ) -> Self:
        """Draw a stage of a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
        trial : TrialData
            Gives the range of the two columns and the medians of the others.
        stage : int or str, default=1
        features : pair of str, optional
            By default the first two decision features (filled up with other selected columns).
        resolution : int, default=60
        ax : matplotlib axis, optional
        """
        check_is_fitted(estimator)
        stage = find_stage(stage, estimator.stage_names_)
        data = trial.stage(stage)
        wanted = [*estimator.tailoring_[stage - 1], *estimator.selected_[stage - 1], *data.names]
        places = _two_columns(data, stage, features, wanted)
        seen = data.history[data.present]
        grids = [np.linspace(seen[:, j].min(), seen[:, j].max(), resolution) for j in places]
        rows = np.tile(_middle(data, seen), (resolution**2, 1))
        for j, values in zip(places, np.meshgrid(*grids), strict=True):
            rows[:, j] = values.ravel()
        decision = estimator._decide(stage - 1, rows).reshape(resolution, resolution)
        names = (data.names[places[0]], data.names[places[1]])
        return cls(grids[0], grids[1], decision, names, data.labels).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return (5.0, 4.0)

    def _draw(self, ax: Any) -> None:
        levels = np.arange(len(self.labels) + 1) - 0.5
        drawn = ax.contourf(self.x, self.y, self.decision, levels=levels, alpha=0.6)
        bar = ax.figure.colorbar(drawn, ax=ax, ticks=range(len(self.labels)), label="recommended action")
        bar.ax.set_yticklabels([str(label) for label in self.labels])
        ax.set(xlabel=self.names[0], ylabel=self.names[1])


def _two_columns(
    data: StageData, stage: int, features: Sequence[str] | None, wanted: Sequence[str]
) -> list[int]:
    """Places of two columns of numbers in a history: those asked for, or the first ones that are wanted."""
    names = data.names
    if features is None:
        coded = {column.name for column in data.columns if column.labels}
        features = [name for name in dict.fromkeys(wanted) if name not in coded][:2]
    if len(features) != 2 or any(name not in names for name in features):
        raise ValueError(f"features={features!r} was given; it must be two history columns of stage {stage}.")
    places = [names.index(name) for name in features]
    labelled = [names[j] for j in places if data.columns[j].labels]
    if labelled:
        raise ValueError(f"{labelled[0]!r} holds labels; a map takes two columns of numbers")
    return places


def _middle(data: StageData, seen: np.ndarray) -> np.ndarray:
    """Medians of the columns of a history, of labels the most frequent one."""
    return np.array(
        [
            np.bincount(values.astype(int)).argmax() if column.labels else np.median(values)
            for column, values in zip(data.columns, seen.T, strict=True)
        ]
    )


class RegimeValueDisplay(Display):
    """Estimated values of several regimes with their intervals.

    Parameters
    ----------
    values : dict of RegimeValue
    """

    def __init__(self, values: Mapping[str, RegimeValue]) -> None:
        self.values = dict(values)

    @classmethod
    def from_estimator(cls, estimator: BackwardLearner, *, ax: Any = None) -> Self:
        """Draw what a fitted learner says its regime is worth, beside what was done.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
        ax : matplotlib axis, optional
        """
        check_is_fitted(estimator)
        return cls({"the regime": estimator.value_, "what was done": estimator.observed_}).plot(ax=ax)

    @classmethod
    def from_comparison(cls, comparison: RegimeComparison, *, ax: Any = None) -> Self:
        """Draw what :func:`compare_regimes` returned.

        Parameters
        ----------
        comparison : RegimeComparison
        ax : matplotlib axis, optional
        """
        return cls(comparison.values).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return (5.0, 0.6 * len(self.values) + 1.2)

    def _draw(self, ax: Any) -> None:
        for place, (name, value) in enumerate(self.values.items()):
            low, high = value.interval
            error = [[value.value - low], [high - value.value]]
            ax.errorbar(value.value, place, xerr=error, fmt="o", capsize=3, label=name)
        ax.set_yticks(range(len(self.values)), list(self.values))
        ax.set(xlabel="value", ylim=(-0.5, len(self.values) - 0.5))
