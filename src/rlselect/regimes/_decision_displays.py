"""Pictures of what a regime does and is worth: where decisions change, its value beside that of others."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect._random import RandomState
from rlselect.regimes._estimates import RegimeComparison, RegimeValue
from rlselect.regimes._stage_names import find_stage
from rlselect.regimes._stages import StageData
from rlselect.regimes._trial import TrialData
from rlselect.regimes._value import compare_regimes
from rlselect.report import (
    PALETTE,
    Display,
    NotDrawnError,
    below_axes,
    colour,
    draw_names,
    label_axes,
    names_height,
    short_name,
)

__all__ = ["DecisionMapDisplay", "RegimeValueDisplay"]

# actions whose use for all is drawn beside a regime
_ALTERNATIVES = 4


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
        estimator: Any,
        X: TrialData | None = None,
        y: Any = None,
        *,
        ax: Any = None,
        stage: int | str = 1,
        features: tuple[str, str] | None = None,
        resolution: int = 60,
    ) -> Self:
        """Draw a stage of a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted.
        X : TrialData, optional
            Gives the range of the two columns and the medians of the others; the trial of `fit` by default,
            which a learner that was loaded from a file does not hold.
        y : ignored
            Rewards are part of the trial.
        ax : matplotlib axes or figure, optional
            Where to draw.
        stage : int or str, default=1
            Counted from 1, or its name.
        features : pair of str, optional
            By default the first two decision features (filled up with other selected columns).
        resolution : int, default=60
            Points along each side.

        Returns
        -------
        DecisionMapDisplay
        """
        check_is_fitted(estimator)
        trial = getattr(estimator, "_trial", None) if X is None else X
        if trial is None:
            raise NotDrawnError("A learner that was loaded from a file holds no trial; give it as X.")
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

    def _draw(self, axes: list[Any]) -> None:
        from matplotlib.patches import Patch

        (ax,) = axes
        levels, tones = np.arange(len(self.labels) + 1) - 0.5, [colour(k) for k in range(len(self.labels))]
        hatches = [None if k < len(PALETTE) else "//" for k in range(len(self.labels))]
        ax.contourf(self.x, self.y, self.decision, levels=levels, colors=tones, hatches=hatches, alpha=0.6)
        label_axes(ax, short_name(self.names[0]), short_name(self.names[1]))
        shown = sorted(set(self.decision.ravel().tolist()))
        handles = [
            Patch(facecolor=tones[k], alpha=0.6, hatch=hatches[k], label=short_name(self.labels[k]))
            for k in shown
        ]
        below_axes(ax, 0.45, handles=handles, title="recommended action", ncols=4)


def _two_columns(
    data: StageData, stage: int, features: Sequence[str] | None, wanted: Sequence[str]
) -> list[int]:
    """Places of two columns of numbers in a history: those asked for, or the first ones that are wanted."""
    names = data.names
    if features is None:
        coded = {column.name for column in data.columns if column.labels}
        features = [name for name in dict.fromkeys(wanted) if name not in coded][:2]
        if len(features) < 2:
            raise NotDrawnError(
                f"A map takes two columns of numbers; the history of stage {stage} has {len(features)}."
            )
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
        The first is the one that the others are compared with.
    """

    def __init__(self, values: Mapping[str, RegimeValue]) -> None:
        self.values = dict(values)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: TrialData | None = None,
        y: Any = None,
        *,
        ax: Any = None,
        random_state: RandomState = 0,
    ) -> Self:
        """Draw what a fitted learner says its regime is worth, beside its alternatives.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted.
        X : TrialData, optional
            Subjects by whom the regime, its trees, each action for all and what was done are judged; without
            them the estimates of `fit` are drawn, which has not looked at single actions.
        y : ignored
            Rewards are part of the trial.
        ax : matplotlib axes or figure, optional
            Where to draw.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the folds, with X.

        Returns
        -------
        RegimeValueDisplay
        """
        check_is_fitted(estimator)
        if X is None:
            values = {"the regime": estimator.value_, "its trees": estimator.regime_.value_}
            return cls({**values, "what was done": estimator.observed_}).plot(ax=ax)
        regimes: dict[str, Any] = {"the regime": estimator, "its trees": estimator.regime_}
        everywhere = [a for a in X.stages[0].labels if all(a in stage.labels for stage in X.stages)]
        if all(stage.doses is None for stage in X.stages):
            regimes |= {f"{a} for all": [a] * X.n_stages for a in everywhere[:_ALTERNATIVES]}
        regimes["what was done"] = "observed"
        options = {"discount": estimator.discount, "level": estimator.level, "random_state": random_state}
        return cls.from_comparison(compare_regimes(X, regimes, **options), ax=ax)

    @classmethod
    def from_comparison(cls, comparison: RegimeComparison, *, ax: Any = None) -> Self:
        """Draw what :func:`compare_regimes` returned.

        Parameters
        ----------
        comparison : RegimeComparison
        ax : matplotlib axes or figure, optional
            Where to draw.

        Returns
        -------
        RegimeValueDisplay
        """
        return cls(comparison.values).plot(ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        return (5.0, names_height(len(self.values) + 1))

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        for place, value in enumerate(self.values.values()):
            low, high = value.interval
            tone = colour(0) if place == 0 else "0.35"
            ax.plot([low, high], [place, place], color=tone, linewidth=2.0)
            ax.plot(value.value, place, "o", color=tone)
        draw_names(ax, list(self.values))
        level = next(iter(self.values.values())).level
        label_axes(ax, f"value, with {100 * level:.4g} % intervals")
