"""A picture of who could have taken which action, and of the balance that weights bring."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rlselect.regimes._overlap import OverlapReport
from rlselect.regimes._trial import TrialData
from rlselect.report import Display, below_axes, colour, draw_names, label_axes, names_height

__all__ = ["OverlapDisplay"]

# history columns in a panel of balance, the most unequal ones
_COLUMNS = 12


class OverlapDisplay(Display):
    """Probabilities of the actions of each stage, and the balance of its history before and after weighting.

    Use :meth:`from_estimator` or :meth:`from_trial`; ``axes_`` holds two axes per stage after :meth:`plot`.
    The first shows, for each action, its probability for the subjects who took it and for those who did not:
    where the two do not meet, actions cannot be compared. The second shows how far apart the means of a
    history column are between actions, in standard deviations.

    Parameters
    ----------
    reports : sequence of OverlapReport
    """

    def __init__(self, reports: Sequence[OverlapReport]) -> None:
        self.reports = list(reports)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: TrialData | None = None, y: Any = None, *, ax: Any = None
    ) -> Self:
        """Draw the stages of the trial of a fitted learner.

        Parameters
        ----------
        estimator : QLearning or AdvantageLearning
            Fitted.
        X : TrialData, optional
            Another trial.
        y : ignored
            Rewards are part of the trial.
        ax : sequence of matplotlib axes, two per stage, or a figure, optional
            Where to draw.

        Returns
        -------
        OverlapDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator.overlap_ if X is None else X.overlap()).plot(ax=ax)

    @classmethod
    def from_trial(cls, trial: TrialData, *, ax: Any = None) -> Self:
        """Draw the stages of a trial.

        Parameters
        ----------
        trial : TrialData
        ax : sequence of matplotlib axes, two per stage, or a figure, optional
            Where to draw.

        Returns
        -------
        OverlapDisplay
        """
        return cls(trial.overlap()).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return 2 * len(self.reports), 2

    def _panel_size(self) -> tuple[float, float]:
        most = max(min(len(report.balance), _COLUMNS) for report in self.reports)
        return (4.6, names_height(most + 2))

    def _draw(self, axes: list[Any]) -> None:
        for report, left, right in zip(self.reports, axes[::2], axes[1::2], strict=True):
            self._draw_probabilities(report, left)
            self._draw_balance(report, right)

    @staticmethod
    def _draw_probabilities(report: OverlapReport, ax: Any) -> None:
        for place in range(len(report.counts)):
            chances = report.probabilities[:, place]
            for took, shift, marker in ((True, 0.12, "o"), (False, -0.12, "x")):
                shown = np.sort(chances[(report.taken == place) == took])
                heights = place + shift + 0.1 * np.linspace(-1.0, 1.0, len(shown))
                ax.plot(shown, heights, marker, markersize=3, color=colour(place))
        draw_names(ax, list(report.counts))
        ax.set(xlim=(-0.02, 1.02), ylim=(len(report.counts) - 0.5, -0.5))
        label_axes(ax, "probability of the action (o took it, x did not)", title=f"stage {report.stage}")

    @staticmethod
    def _draw_balance(report: OverlapReport, ax: Any) -> None:
        largest = sorted(report.balance.items(), key=lambda item: -item[1][0])[:_COLUMNS]
        for moment, (what, marker) in enumerate((("before", "o"), ("after", "x"))):
            gaps = [both[moment] for _, both in largest]
            ax.plot(gaps, range(len(gaps)), marker, color=colour(moment), label=f"{what} weighting")
        draw_names(ax, [name for name, _ in largest])
        ax.axvline(0.0, color="0.8", zorder=0)
        label_axes(ax, "largest difference of means (sd)")
        below_axes(ax, 0.45, ncols=2)
