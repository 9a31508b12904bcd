"""A picture of what is known about each feature: its probability, and the sets that features form."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect.report import PanelDisplay

__all__ = ["InclusionDisplay"]


class InclusionDisplay(PanelDisplay):
    """Probabilities of the most probable features, and of the credible groups.

    Use :meth:`from_estimator`. After :meth:`plot`, ``axes_`` holds the matplotlib axes: features on the left,
    each credible group of several features in a colour of its own, and groups on the right.

    Parameters
    ----------
    names : list of str
        Features, the most probable first.
    inclusion : array of shape (n_features,)
        Their probabilities.
    selected : bool array of shape (n_features,)
        Which are selected.
    groups : list of dicts
        As `REVS.credible_groups_`.
    """

    def __init__(
        self, names: list[str], inclusion: NDArray[np.float64], selected: NDArray[np.bool_], groups: list[Any]
    ) -> None:
        self.names, self.inclusion, self.selected, self.groups = names, inclusion, selected, groups

    @classmethod
    def from_estimator(cls, estimator: Any, *, most: int = 25, axes: Any = None) -> Self:
        """Draw a fitted :class:`~rlselect.REVS`.

        Parameters
        ----------
        estimator : REVS
        most : int, default=25
            Number of features, and of groups.
        axes : pair of matplotlib axes, optional
        """
        check_is_fitted(estimator)
        first = np.argsort(-estimator.inclusion_, kind="stable")[:most]
        names = [str(estimator.encoder_.feature_names[j]) for j in first]
        groups = estimator.credible_groups_[:most]
        return cls(names, estimator.inclusion_[first], estimator.support_[first], groups).plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return 2, 2

    def _draw(self, axes: list[Any]) -> None:
        several = [g["features"] for g in self.groups if len(g["features"]) > 1]
        colours = [
            next((f"C{1 + k % 9}" for k, members in enumerate(several) if name in members), "C0")
            for name in self.names
        ]
        left, right = axes
        bars = left.barh(range(len(self.names)), self.inclusion, color=colours)
        for bar, chosen in zip(bars, self.selected, strict=True):
            bar.set_alpha(1.0 if chosen else 0.4)
        left.set_yticks(range(len(self.names)), self.names)
        left.set_title("features (pale: not selected)")
        words = [_one_of(g["features"]) for g in self.groups]
        numbers = {id(members): k for k, members in enumerate(several)}
        tones = [
            f"C{1 + numbers[id(g['features'])] % 9}" if len(g["features"]) > 1 else "C0" for g in self.groups
        ]
        right.barh(range(len(words)), [g["inclusion"] for g in self.groups], color=tones)
        right.set_yticks(range(len(words)), words)
        right.set_title("credible groups")
        for ax in axes:
            ax.invert_yaxis()
            ax.set_xlim(0.0, 1.0)
            ax.set_xlabel("probability")


def _one_of(names: list[str]) -> str:
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return shown if len(names) == 1 else f"one of {shown}"
