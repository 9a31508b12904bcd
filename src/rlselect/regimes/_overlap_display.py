"""A picture of who could have taken which action, and of the balance that weights bring."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rlselect.regimes._overlap import OverlapReport
from rlselect.regimes._trial import TrialData
from rlselect.report import PanelDisplay

__all__ = ["OverlapDisplay"]

# history columns in a panel of balance, the most unequal ones
_COLUMNS = 12


class OverlapDisplay(PanelDisplay):
    """Probabilities of the actions of each stage, and the balance of its history before and after weighting.

    Use :meth:`from_trial`; ``axes_`` holds two axes per stage after :meth:`plot`. The first shows, for each
    action, its probability for the subjects who took it and for those who did not: where the two do not
    meet, actions cannot be compared. The second shows how far apart the means of a history column are
    between actions, in standard deviations.

    Parameters
    ----------
    reports : sequence of OverlapReport
    """

    def __init__(self, reports: Sequence[OverlapReport]) -> None:
        self.reports = list(reports)

    @classmethod
    def from_trial(cls, trial: TrialData, *, axes: Any = None) -> Self:
        """Draw the stages of a trial.

        Parameters
        ----------
        trial : TrialData
        axes : sequence of matplotlib axes, optional
            Two per stage.
        """
        return cls(trial.overlap()).plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return 2 * len(self.reports), 2

    def _panel_size(self) -> tuple[float, float]:
        return (4.5, 3.5)

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
                ax.plot(shown, heights, marker, markersize=3, color=f"C{place}")
        ax.set_yticks(range(len(report.counts)), [str(label) for label in report.counts])
        ax.set(title=f"stage {report.stage}", xlabel="probability (o took it, x did not)", xlim=(-0.02, 1.02))

    @staticmethod
    def _draw_balance(report: OverlapReport, ax: Any) -> None:
        largest = sorted(report.balance.items(), key=lambda item: item[1][0])[-_COLUMNS:]
        for moment, (what, marker) in enumerate((("before", "o"), ("after", "x"))):
            gaps = [both[moment] for _, both in largest]
            ax.plot(gaps, range(len(gaps)), marker, label=f"{what} weighting")
        ax.set_yticks(range(len(largest)), [name for name, _ in largest])
        ax.axvline(0.0, color="0.8")
        ax.set(xlabel="largest difference of means (sd)")
        ax.legend()
