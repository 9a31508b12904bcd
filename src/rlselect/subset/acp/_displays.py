"""Pictures of a policy that learns: its probabilities and its rewards."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect.report import (
    FAINT,
    TEXT,
    Display,
    NotDrawnError,
    below_axes,
    colour,
    label_axes,
    line_style,
    short_names,
    whole_ticks,
)

__all__ = ["RewardDisplay", "ThetaDisplay"]

Array = NDArray[np.float64]
# lines that have names of their own
_NAMED = 10


class ThetaDisplay(Display):
    """How it was found: the probability of each variable, iteration by iteration.

    Use :meth:`from_estimator`. After :meth:`plot`, ``ax_`` holds the matplotlib axes.

    Parameters
    ----------
    theta : array of shape (n_iterations, n_features)
    selected : bool array of shape (n_features,)
    names : list of str
    threshold : float
    """

    def __init__(self, theta: Array, selected: NDArray[np.bool_], names: Any, threshold: float) -> None:
        self.theta, self.selected, self.names, self.threshold = theta, selected, names, threshold

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, predictor: str | None = None
    ) -> Self:
        """Draw a fitted :class:`~rlselect.ActorCriticPredictor`.

        Parameters
        ----------
        estimator : ActorCriticPredictor
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.
        predictor : str, optional
            Draw the actor led by this predictor; the one behind the answer by default.

        Returns
        -------
        ThetaDisplay
        """
        check_is_fitted(estimator)
        path = _path(estimator)
        name = estimator.predictor_.name if predictor is None else predictor
        rows = path["predictor"] == name
        if not np.any(rows):
            known = ", ".join(sorted(set(path["predictor"].tolist())))
            raise ValueError(f"predictor={name!r} led no actor of this fit; it had {known}.")
        names = estimator.encoder_.feature_names
        return cls(path["theta"][rows], estimator.support_, names, estimator.threshold).plot(ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        # the names stand below, two in a line
        return (5.0, 3.4 + 0.1 * min(int(self.selected.sum()) + 1, _NAMED + 2))

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        steps = np.arange(1, len(self.theta) + 1)
        others = np.flatnonzero(~self.selected)
        if len(others):
            ax.plot(steps, self.theta[:, others], color=FAINT, linewidth=0.7)
            ax.plot([], [], color=FAINT, label=f"{len(others):,} not selected")
        chosen = np.flatnonzero(self.selected)
        chosen = chosen[np.argsort(-self.theta[-1, chosen], kind="stable")]
        labels = short_names(self.names[feature] for feature in chosen[:_NAMED])
        for k, feature in enumerate(chosen):
            label = labels[k] if k < _NAMED else "_nolegend_"
            ax.plot(steps, self.theta[:, feature], linewidth=1.6, label=label, **line_style(k))
        if len(chosen) > _NAMED:
            ax.plot([], [], alpha=0.0, label=f"{len(chosen) - _NAMED:,} more selected")
        ax.axhline(self.threshold, color="0.3", linestyle="--", linewidth=0.8)
        ax.set(ylim=(0.0, 1.02))
        whole_ticks(ax.xaxis)
        label_axes(ax, "iteration", "probability")
        below_axes(ax, 0.45, ncols=2)


class RewardDisplay(Display):
    """Mean and best reward of each batch, and the critic's baseline.

    Use :meth:`from_estimator`. After :meth:`plot`, ``ax_`` holds the matplotlib axes.

    Parameters
    ----------
    reward, best, baseline : arrays of shape (n_iterations,)
    predictor : array of str of shape (n_iterations,)
        Who led; a change is marked.
    """

    def __init__(self, reward: Array, best: Array, baseline: Array, predictor: NDArray[np.str_]) -> None:
        self.reward, self.best, self.baseline, self.predictor = reward, best, baseline, predictor

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted :class:`~rlselect.ActorCriticPredictor`.

        Parameters
        ----------
        estimator : ActorCriticPredictor
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.

        Returns
        -------
        RewardDisplay
        """
        check_is_fitted(estimator)
        path = _path(estimator)
        return cls(path["reward"], path["best"], path["baseline"], path["predictor"]).plot(ax=ax)

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        steps = np.arange(1, len(self.reward) + 1)
        ax.plot(steps, self.best, ".", markersize=4, color=FAINT, label="best reward of a batch")
        ax.plot(steps, self.reward, ".", markersize=5, color=colour(0), label="mean reward of a batch")
        ax.plot(steps, self.baseline, color=colour(1), label="baseline")
        for change in np.flatnonzero(self.predictor[1:] != self.predictor[:-1]):
            ax.axvline(change + 1.5, color="0.5", linestyle=":")
            ax.annotate(
                str(self.predictor[change + 1]), (change + 2, float(np.nanmax(self.best))), fontsize=TEXT
            )
        whole_ticks(ax.xaxis)
        label_axes(ax, "iteration", "reward")
        below_axes(ax, 0.45, ncols=3)


def _path(estimator: Any) -> dict[str, NDArray]:
    """What an actor went through, or a sentence where there was none."""
    if not len(estimator.path_["predictor"]):
        raise NotDrawnError(f"There was nothing to search ({estimator.stop_reason_}): no policy was learnt.")
    return estimator.path_
