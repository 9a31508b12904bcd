"""The reverse scree graph of an elimination."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect.kernels import change_point
from rlselect.machines import ChangePoint, Threshold
from rlselect.report import PanelDisplay

__all__ = ["ReverseScreeDisplay"]

Array = NDArray[np.float64]


class ReverseScreeDisplay(PanelDisplay):
    """Objective and out-of-sample risk against the number of features removed (Figures 3.1 to 3.4).

    Use :meth:`from_estimator`. After :meth:`plot`, ``axes_`` holds the matplotlib axes: the objective with
    the fitted change point above, the risk with its two-standard-error band below.

    Parameters
    ----------
    removed, objective, risk, standard_error : arrays of shape (m,)
        One entry per visited set.
    n_removed : int
        How many features the fitted selector removed.
    change : tuple of (int, array)
        Position of the change point and fitted curve.
    envelope : array of shape (m - 1,), optional
        Largest rise a threshold rule allows after each set.
    """

    def __init__(
        self,
        removed: NDArray[np.intp],
        objective: Array,
        risk: Array,
        standard_error: Array,
        n_removed: int,
        change: tuple[int, Array],
        envelope: Array | None = None,
    ) -> None:
        self.removed = removed
        self.objective = objective
        self.risk = risk
        self.standard_error = standard_error
        self.n_removed = n_removed
        self.change = change
        self.envelope = envelope

    @classmethod
    def from_estimator(cls, estimator: Any, *, degree: int = 2, axes: Any = None) -> Self:
        """Draw a fitted :class:`~rlselect.RiskRFE`.

        Parameters
        ----------
        estimator : RiskRFE
        degree : {1, 2, 3}, default=2
            Degree of the change-point curve; that of a ChangePoint the estimator was stopped by goes first.
        axes : pair of matplotlib axes, optional
        """
        check_is_fitted(estimator)
        path = estimator.path_
        rule = estimator.stopping
        degree = rule.degree if isinstance(rule, ChangePoint) else degree
        some = path["n_features"] >= 1
        envelope = None
        if isinstance(rule, Threshold):
            envelope = np.array([rule(int(size)) for size in path["n_features"][:-1]])
        display = cls(
            path["n_features"][0] - path["n_features"],
            path["objective"],
            path["risk"],
            path["standard_error"],
            int(path["n_features"][0] - estimator.n_features_),
            change_point(path["objective"][some], degree),
            envelope,
        )
        return display.plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return 2, 1

    def _panel_size(self) -> tuple[float, float]:
        return (6.0, 3.0)

    def _draw(self, axes: list[Any]) -> None:
        top, bottom = axes
        index, fitted = self.change
        top.plot(self.removed, self.objective, "o", markersize=3, label="objective")
        top.plot(self.removed[: len(fitted)], fitted, label="change-point fit")
        top.plot(
            self.removed[index], fitted[index], "D", label=f"change point ({self.removed[index]} removed)"
        )
        if self.envelope is not None:
            top.plot(self.removed[1:], self.objective[:-1] + self.envelope, ":", label="threshold")
        top.set_ylabel("regularised risk")
        bottom.plot(self.removed, self.risk, "o-", markersize=3, label="out-of-sample risk")
        low, high = self.risk - 2 * self.standard_error, self.risk + 2 * self.standard_error
        bottom.fill_between(self.removed, low, high, alpha=0.2, label="two standard errors")
        bottom.set_ylabel("risk")
        bottom.set_xlabel("features removed")
        for ax in axes:
            ax.axvline(self.n_removed, color="0.5", linestyle="--", label="selected")
            ax.legend()
