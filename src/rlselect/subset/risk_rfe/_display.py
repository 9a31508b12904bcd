"""The reverse scree graph of an elimination."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect.kernels import change_point
from rlselect.machines import ChangePoint, Threshold
from rlselect.report import Display, NotDrawnError, below_axes, colour, label_axes

__all__ = ["ReverseScreeDisplay"]

Array = NDArray[np.float64]


class ReverseScreeDisplay(Display):
    """How it was found: objective and risk against the number of features removed (Figures 3.1 to 3.4).

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
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, degree: int = 2
    ) -> Self:
        """Draw a fitted :class:`~rlselect.RiskRFE`.

        Parameters
        ----------
        estimator : RiskRFE
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes, a pair of them, or a figure, optional
            Where to draw.
        degree : {1, 2, 3}, default=2
            Degree of the change-point curve; that of a ChangePoint the estimator was stopped by goes first.

        Returns
        -------
        ReverseScreeDisplay
        """
        check_is_fitted(estimator)
        path = estimator.path_
        if (path["n_features"] >= 1).sum() < 2:
            raise NotDrawnError(f"There was nothing to eliminate ({estimator.stop_reason_}).")
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
        return display.plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return 2, 1

    def _panel_size(self) -> tuple[float, float]:
        return (5.4, 2.7)

    def _draw(self, axes: list[Any]) -> None:
        top, bottom = axes
        index, fitted = self.change
        dot = {"marker": "o", "markersize": 3, "color": colour(0)}
        top.plot(self.removed, self.objective, linestyle="none", label="objective", **dot)
        top.plot(self.removed[: len(fitted)], fitted, color=colour(1), label="change-point fit")
        where = f"change point ({self.removed[index]} removed)"
        top.plot(self.removed[index], fitted[index], "D", color=colour(2), label=where)
        if self.envelope is not None:
            allowed = self.objective[:-1] + self.envelope
            top.plot(self.removed[1:], allowed, ":", color="0.3", label="threshold")
        label_axes(top, "", "regularised risk")
        bottom.plot(self.removed, self.risk, label="risk", **dot)
        low, high = self.risk - 2 * self.standard_error, self.risk + 2 * self.standard_error
        band = {"color": colour(0), "alpha": 0.2, "lw": 0}
        bottom.fill_between(self.removed, low, high, label="two standard errors", **band)
        label_axes(bottom, "features removed", "out-of-sample risk")
        for ax in axes:
            ax.axvline(self.n_removed, color="0.3", linestyle="--", label="selected")
        below_axes(top, 0.25, ncols=2)
        below_axes(bottom, 0.45, ncols=3)
