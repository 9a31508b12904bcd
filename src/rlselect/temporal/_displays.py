"""Plots of effect curves and of distribution functions."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect._random import RandomState
from rlselect.report import Display, PanelDisplay
from rlselect.temporal._bands import Band
from rlselect.temporal._cvm import CvMTest
from rlselect.temporal._model import TemporalProcessRegression

__all__ = ["ECDFDisplay", "EffectCurveDisplay", "EffectCurvesDisplay"]

Array = NDArray[np.float64]


class EffectCurveDisplay(Display):
    """Effect of one covariate over time: simultaneous band, pointwise interval, and how many are observed.

    Made by `from_estimator`; the constructor takes what is drawn.

    Parameters
    ----------
    times : array
    estimate : array
    band, interval : pairs of arrays (lower, upper), optional
    n_available : array, optional
        Drawn as a grey strip at the bottom.
    covariate : str
    flagged : array of times, optional
        Marked on the time axis, as the curve is missing there.

    Attributes
    ----------
    ax_ : the axes drawn on
    figure_ : their figure
    line_ : the curve
    count_ax_ : the axes of the number of subjects, where it is drawn

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from rlselect.temporal import EffectCurveDisplay, TemporalProcessRegression
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((300, 1)), rng.standard_normal(300)
    >>> ids, times = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
    >>> model = TemporalProcessRegression().fit(x, y, id=ids, time=times)
    >>> EffectCurveDisplay.from_estimator(model, "x0", random_state=0).ax_.get_ylabel()
    'effect of x0'
    """

    def __init__(
        self,
        *,
        times: NDArray[Any],
        estimate: Array,
        band: tuple[Array, Array] | None = None,
        interval: tuple[Array, Array] | None = None,
        n_available: NDArray[np.intp] | None = None,
        covariate: str = "",
        flagged: Any = (),
    ) -> None:
        self.times = times
        self.estimate = estimate
        self.band = band
        self.interval = interval
        self.n_available = n_available
        self.covariate = covariate
        self.flagged = flagged

    @classmethod
    def from_estimator(
        cls,
        estimator: TemporalProcessRegression,
        covariate: str,
        *,
        band: Band | bool = True,
        interval: bool = True,
        counts: bool = True,
        smoothed: bool | None = None,
        level: float = 0.95,
        random_state: RandomState = None,
        ax: Any = None,
    ) -> Self:
        """Draw a covariate of a fitted model.

        Parameters
        ----------
        estimator : TemporalProcessRegression
            Fitted.
        covariate : str
            A column of ``coef_``.
        band : Band or bool, default=True
            A band from ``estimator.bands(...)``, True to compute the default one, False for none.
        interval, counts : bool, default=True
            Draw the pointwise interval, and the number of available subjects.
        smoothed : bool, optional
            Draw the smoothed curve; by default where the model was smoothed.
        level : float, default=0.95
            Of the interval, and of the default band.
        random_state : int, Generator, RandomState or None
            Seed of the default band.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        EffectCurveDisplay
        """
        check_is_fitted(estimator)
        if covariate not in estimator.coef_.columns:
            raise ValueError(
                f"{covariate!r} is not a covariate; covariates: {', '.join(estimator.coef_.columns)}"
            )
        smoothed = hasattr(estimator, "smoothed_coef_") if smoothed is None else smoothed
        pointwise = estimator.conf_int(level, smoothed=smoothed)
        if band is True:
            band = estimator.bands(level, smoothed=smoothed, random_state=random_state)
        display = cls(
            times=estimator.times_,
            estimate=pointwise.estimate[covariate].to_numpy(),
            band=_sides(band, covariate) if band else None,
            interval=_sides(pointwise, covariate) if interval else None,
            n_available=estimator.n_available_ if counts else None,
            covariate=covariate,
            flagged=estimator.times_[[reason is not None for reason in estimator.flags_]],
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None, color: str = "C0", label: str = "estimate") -> Self:
        """Draw into axes, new ones by default.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        color, label : str
            Of the curve.

        Returns
        -------
        EffectCurveDisplay
            This one.
        """
        self._style = {"color": color, "label": label}
        return super().plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        color = self._style["color"]
        if self.band is not None:
            ax.fill_between(self.times, *self.band, color=color, alpha=0.18, lw=0, label="simultaneous band")
        if self.interval is not None:
            ax.fill_between(
                self.times, *self.interval, color=color, alpha=0.3, lw=0, label="pointwise interval"
            )
        (self.line_,) = ax.plot(self.times, self.estimate, lw=1.5, **self._style)
        ax.axhline(0.0, color="0.4", lw=0.8, ls=":")
        if len(self.flagged):
            ax.plot(
                self.flagged,
                np.zeros(len(self.flagged)),
                "x",
                color="C3",
                transform=ax.get_xaxis_transform(),
                clip_on=False,
                label="flagged time",
            )
        if self.n_available is not None:
            self._draw_counts(ax, self.n_available)
        ax.set_xlabel("time")
        ax.set_ylabel(f"effect of {self.covariate}")

    def _draw_counts(self, ax: Any, counts: NDArray[np.intp]) -> None:
        below, most = ax.twinx(), int(np.max(counts))
        below.fill_between(self.times, 0, counts, step="mid", color="0.5", alpha=0.2, lw=0)
        # five times as high as the counts: the strip stays in the lowest fifth
        below.set_ylim(0, max(1, most) * 5)
        below.set_yticks([0, most])
        below.set_ylabel("n", loc="bottom")
        self.count_ax_ = below


class EffectCurvesDisplay(PanelDisplay):
    """All effects of a model over time, one panel per covariate.

    Made by `from_estimator`; the constructor takes what is drawn.

    Parameters
    ----------
    curves : list of EffectCurveDisplay
        One per panel.

    Attributes
    ----------
    axes_ : the axes, row by row
    figure_ : their figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from rlselect.temporal import EffectCurvesDisplay, TemporalProcessRegression
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((300, 2)), rng.standard_normal(300)
    >>> ids, times = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
    >>> model = TemporalProcessRegression().fit(x, y, id=ids, time=times)
    >>> len(EffectCurvesDisplay.from_estimator(model, random_state=0).axes_)
    3
    """

    def __init__(self, curves: list[EffectCurveDisplay]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator: TemporalProcessRegression,
        *,
        smoothed: bool | None = None,
        level: float = 0.95,
        random_state: RandomState = None,
        axes: Any = None,
    ) -> Self:
        """Draw every covariate of a fitted model.

        Parameters
        ----------
        estimator : TemporalProcessRegression
            Fitted.
        smoothed : bool, optional
            Draw the smoothed curves; by default where the model was smoothed.
        level : float, default=0.95
            Of intervals and bands.
        random_state : int, Generator, RandomState or None
            Seed of the bands.
        axes : sequence of matplotlib axes, optional
            One per covariate.

        Returns
        -------
        EffectCurvesDisplay
        """
        check_is_fitted(estimator)
        smoothed = hasattr(estimator, "smoothed_coef_") if smoothed is None else smoothed
        pointwise = estimator.conf_int(level, smoothed=smoothed)
        band = estimator.bands(level, smoothed=smoothed, random_state=random_state)
        flagged = estimator.times_[[reason is not None for reason in estimator.flags_]]
        curves = [
            EffectCurveDisplay(
                times=estimator.times_,
                estimate=pointwise.estimate[name].to_numpy(),
                band=_sides(band, name),
                interval=_sides(pointwise, name),
                covariate=name,
                flagged=flagged,
            )
            for name in estimator.coef_.columns
        ]
        return cls(curves).plot(axes=axes)

    def _panels(self) -> tuple[int, int]:
        return len(self.curves), min(len(self.curves), 3)

    def _draw(self, axes: list[Any]) -> None:
        for curve, ax in zip(self.curves, axes, strict=True):
            curve.plot(ax=ax)


def _sides(band: Band, covariate: str) -> tuple[Array, Array]:
    return band.lower[covariate].to_numpy(), band.upper[covariate].to_numpy()


class ECDFDisplay(Display):
    """Empirical distribution functions of groups, as in a two-sample test.

    Made by `from_test`; the constructor takes what is drawn.

    Parameters
    ----------
    ecdf : dict
        Label -> (sorted values, cumulative shares).

    Attributes
    ----------
    ax_ : the axes drawn on
    figure_ : their figure
    lines_ : one line per group

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from rlselect.temporal import ECDFDisplay, two_sample_cvm
    >>> ids = np.repeat(np.arange(20), 3)
    >>> test = two_sample_cvm(np.arange(60.0), ids < 10, ids, n_draws=10, random_state=0)
    >>> len(ECDFDisplay.from_test(test).lines_)
    2
    """

    def __init__(self, ecdf: dict[Any, tuple[Array, Array]]) -> None:
        self.ecdf = ecdf

    @classmethod
    def from_test(cls, test: CvMTest, *, ax: Any = None) -> Self:
        """Draw the groups of a test.

        Parameters
        ----------
        test : CvMTest
            From `two_sample_cvm`.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        ECDFDisplay
        """
        return cls(test.ecdf).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        self.lines_ = []
        for label, (levels, shares) in self.ecdf.items():
            x, y = np.concatenate([levels[:1], levels]), np.concatenate([[0.0], shares])
            (line,) = ax.step(x, y, where="post", label=str(label))
            self.lines_.append(line)
        ax.set_ylabel("share of readings")
        ax.set_xlabel("value")
        ax.legend(title="group")
