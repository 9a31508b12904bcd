"""Plots of effect curves and of distribution functions."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect._random import RandomState
from rlselect.report import (
    GREY,
    PALETTE,
    TEXT,
    Display,
    colour,
    draw_names,
    label_axes,
    line_style,
    name_room,
    names_height,
    short_name,
    shown_of,
)
from rlselect.temporal._bands import Band
from rlselect.temporal._cvm import CvMTest
from rlselect.temporal._few import SmallSampleWarning
from rlselect.temporal._hypotheses import FlaggedTimeWarning
from rlselect.temporal._points import quantile
from rlselect.temporal._report import plain_name

__all__ = [
    "AvailabilityDisplay",
    "ECDFDisplay",
    "EffectCurveDisplay",
    "EffectCurvesDisplay",
    "MeanEffectDisplay",
]

# curves of a picture that was not told which, and letters of a name that stands in one line with other words
_PANELS, _BESIDE = 12, 16

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
    >>> EffectCurveDisplay.from_estimator(model, covariate="x0").ax_.get_ylabel()
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
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        covariate: str | None = None,
        band: Band | bool = True,
        interval: bool = True,
        counts: bool = True,
        smoothed: bool | None = None,
        level: float = 0.95,
        random_state: RandomState = 0,
    ) -> Self:
        """Draw a covariate of a fitted model.

        Parameters
        ----------
        estimator : TemporalProcessRegression
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.
        covariate : str, optional
            A column of ``coef_``; by default the first that is not the intercept.
        band : Band or bool, default=True
            A band from ``estimator.bands(...)``, True to compute the default one, False for none.
        interval, counts : bool, default=True
            Draw the pointwise interval, and the number of available subjects.
        smoothed : bool, optional
            Draw the smoothed curve; by default where the model was smoothed.
        level : float, default=0.95
            Of the interval, and of the default band.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the default band.

        Returns
        -------
        EffectCurveDisplay
        """
        check_is_fitted(estimator)
        names = list(estimator.coef_.columns)
        covariate = (_covariates(names) or names)[0] if covariate is None else covariate
        _check_names([covariate], names)
        smoothed = hasattr(estimator, "smoothed_coef_") if smoothed is None else smoothed
        pointwise = estimator.conf_int(level, smoothed=smoothed)
        sides = None
        if band is True:
            band = estimator.bands(level, smoothed=smoothed, random_state=random_state)
        if isinstance(band, Band):
            sides = _sides(band, covariate)
        return cls(
            times=estimator.times_,
            estimate=pointwise.estimate[covariate].to_numpy(),
            band=sides,
            interval=_sides(pointwise, covariate) if interval else None,
            n_available=estimator.n_available_ if counts else None,
            covariate=covariate,
            flagged=_flagged_times(estimator),
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None, color: str = PALETTE[0], label: str = "estimate") -> Self:
        """Draw, on a new figure by default.

        Parameters
        ----------
        ax : matplotlib axes or figure, optional
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

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        shade = {"color": self._style["color"], "lw": 0}
        if self.band is not None:
            ax.fill_between(self.times, *self.band, alpha=0.18, label="simultaneous band", **shade)
        if self.interval is not None:
            ax.fill_between(self.times, *self.interval, alpha=0.3, label="pointwise interval", **shade)
        (self.line_,) = ax.plot(self.times, self.estimate, lw=1.5, **self._style)
        ax.axhline(0.0, color="0.3", lw=0.8, ls=":")
        if len(self.flagged):
            _mark_flagged(ax, self.flagged)
        name = short_name(plain_name(self.covariate))
        label_axes(ax, "time", f"effect of{' ' if len(name) <= _BESIDE else chr(10)}{name}")
        _write_dates(ax, self.times)
        if self.n_available is not None:
            self._draw_counts(ax, self.n_available)

    def _draw_counts(self, ax: Any, counts: NDArray[np.intp]) -> None:
        below, most = ax.twinx(), int(np.max(counts))
        below.fill_between(self.times, 0, counts, step="mid", color="0.5", alpha=0.2, lw=0)
        # five times as high as the counts: the strip stays in the lowest fifth
        below.set_ylim(0, max(1, most) * 5)
        below.set_yticks([0, most])
        below.tick_params(labelsize=TEXT)
        below.set_ylabel("n", loc="bottom", rotation=0, fontsize=TEXT + 1)
        below.spines["top"].set_visible(False)
        self.count_ax_ = below


class EffectCurvesDisplay(Display):
    """What it means: all effects of a model over time with their bands, one panel per covariate.

    Made by `from_estimator`; the constructor takes what is drawn.

    Parameters
    ----------
    curves : list of EffectCurveDisplay
        One per panel.

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
    >>> len(EffectCurvesDisplay.from_estimator(model).axes_)
    3
    """

    def __init__(self, curves: list[EffectCurveDisplay]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        covariates: Sequence[str] | None = None,
        smoothed: bool | None = None,
        level: float = 0.95,
        random_state: RandomState = 0,
    ) -> Self:
        """Draw the covariates of a fitted model.

        Parameters
        ----------
        estimator : TemporalProcessRegression
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : sequence of matplotlib axes, one per covariate, or a figure, optional
            Where to draw.
        covariates : sequence of str, optional
            Columns of ``coef_``; all by default, or the first twelve where there are more.
        smoothed : bool, optional
            Draw the smoothed curves; by default where the model was smoothed.
        level : float, default=0.95
            Of intervals and bands.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the bands.

        Returns
        -------
        EffectCurvesDisplay
        """
        check_is_fitted(estimator)
        names = list(estimator.coef_.columns)
        chosen = names[:_PANELS] if covariates is None else list(covariates)
        _check_names(chosen, names)
        smoothed = hasattr(estimator, "smoothed_coef_") if smoothed is None else smoothed
        pointwise = estimator.conf_int(level, smoothed=smoothed)
        band = estimator.bands(level, smoothed=smoothed, random_state=random_state)
        curves = [
            EffectCurveDisplay(
                times=estimator.times_,
                estimate=pointwise.estimate[name].to_numpy(),
                band=_sides(band, name),
                interval=_sides(pointwise, name),
                covariate=name,
                flagged=_flagged_times(estimator),
            )
            for name in chosen
        ]
        return cls(curves).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return len(self.curves), min(len(self.curves), 2 if len(self.curves) <= 4 else 3)

    def _panel_size(self) -> tuple[float, float]:
        return (3.3, 2.6)

    def _draw(self, axes: list[Any]) -> None:
        for curve, ax in zip(self.curves, axes, strict=True):
            curve.plot(ax=ax)


class MeanEffectDisplay(Display):
    """What was selected, and how sure: the mean effect of each covariate over time, with its interval.

    Filled points have an effect by the test of the mean (``test(name)``); others are open.
    Made by `from_estimator`; the constructor takes what is drawn.

    Parameters
    ----------
    names : list of str
        Covariates, the smallest p-value first.
    mean, error, pvalue : arrays
        Time averages, their standard errors, and p-values.
    level : float, default=0.95
        Of the intervals.
    total : int, optional
        How many covariates there are.
    df : array or float, default=inf
        Degrees of freedom of the intervals.
    """

    def __init__(
        self,
        names: list[str],
        mean: Array,
        error: Array,
        pvalue: Array,
        level: float = 0.95,
        total: int | None = None,
        df: Array | float = np.inf,
    ) -> None:
        self.names, self.mean, self.error, self.pvalue, self.level = names, mean, error, pvalue, level
        self.df = df
        self.total = len(names) if total is None else total

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Any = None,
        level: float = 0.95,
        most: int = 25,
    ) -> Self:
        """Draw the covariates of a fitted model.

        Parameters
        ----------
        estimator : TemporalProcessRegression
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes or figure, optional
            Where to draw.
        level : float, default=0.95
            Of the intervals; one less this is the size of the tests.
        most : int, default=25
            Covariates that are drawn at most.

        Returns
        -------
        MeanEffectDisplay
        """
        check_is_fitted(estimator)
        names = _covariates(list(estimator.coef_.columns)) or list(estimator.coef_.columns)
        with warnings.catch_warnings():
            # the fit has said so, and other pictures show it
            warnings.simplefilter("ignore", FlaggedTimeWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            tests = [estimator.test(name) for name in names]
        mean, error = (np.array([float(getattr(t, key)[0]) for t in tests]) for key in ("estimate", "se"))
        pvalue = np.array([t.pvalue for t in tests])
        order = np.argsort(pvalue, kind="stable")[:most]
        shown = [names[k] for k in order]
        df = np.array([t.denominator_df for t in tests])[order]
        return cls(shown, mean[order], error[order], pvalue[order], level, len(names), df).plot(ax=ax)

    def _panel_size(self) -> tuple[float, float]:
        return (5.2, names_height(len(self.names) + 1))

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        count = min(len(self.names), name_room(ax))
        half = quantile(self.level, np.asarray(self.df)) * self.error
        for k in range(count):
            seen = self.pvalue[k] < 1.0 - self.level
            tone = colour(0) if seen else GREY
            ax.plot([self.mean[k] - half[k], self.mean[k] + half[k]], [k, k], color=tone, linewidth=2.0)
            ax.plot(self.mean[k], k, "o", color=tone, markerfacecolor=tone if seen else "white")
        draw_names(ax, [plain_name(name) for name in self.names[:count]])
        ax.axvline(0.0, color="0.3", linewidth=0.8, zorder=0)
        found = int((self.pvalue < 1.0 - self.level).sum())
        label_axes(
            ax,
            f"mean effect over time, with {100 * self.level:.4g} % intervals\n(open: none was seen)",
            title=f"{found} with an effect{shown_of(count, self.total)}",
        )


class AvailabilityDisplay(Display):
    """How it was found: subjects at each time, the times left out and, if one was searched, the bandwidth.

    Made by `from_estimator`; the constructor takes what is drawn.

    Parameters
    ----------
    times, n_available : arrays
        Subjects with a row at each time.
    flagged : array of times
        Where nothing could be estimated.
    path : dict of arrays, optional
        ``bandwidth`` and ``score`` of the search.
    bandwidth : float, optional
        The one chosen.
    """

    def __init__(
        self,
        times: NDArray[Any],
        n_available: NDArray[np.intp],
        flagged: Any = (),
        path: Mapping[str, Array] | None = None,
        bandwidth: float | None = None,
    ) -> None:
        self.times, self.n_available, self.flagged = times, n_available, flagged
        self.path, self.bandwidth = path, bandwidth

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw what a fitted model had to learn from.

        Parameters
        ----------
        estimator : TemporalProcessRegression
            Fitted.
        X, y : ignored
            The fit tells all.
        ax : matplotlib axes, a pair of them, or a figure, optional
            Where to draw.

        Returns
        -------
        AvailabilityDisplay
        """
        check_is_fitted(estimator)
        path = estimator.path_ if len(estimator.path_.get("score", ())) else None
        return cls(
            estimator.times_,
            estimator.n_available_,
            _flagged_times(estimator),
            path,
            getattr(estimator, "bandwidth_", None),
        ).plot(ax=ax)

    def _panels(self) -> tuple[int, int]:
        return (1 if self.path is None else 2), 1

    def _panel_size(self) -> tuple[float, float]:
        return (4.8, 2.6)

    def _draw(self, axes: list[Any]) -> None:
        ax = axes[0]
        ax.fill_between(self.times, 0, self.n_available, step="mid", color=colour(0), alpha=0.4, lw=0)
        ax.plot(self.times, self.n_available, drawstyle="steps-mid", color=colour(0), marker=".")
        ax.set_ylim(bottom=0)
        title = f"{len(self.times) - len(self.flagged):,} of {len(self.times):,} times are estimated"
        label_axes(ax, "time", "subjects", title)
        _write_dates(ax, self.times)
        if len(self.flagged):
            _mark_flagged(ax, self.flagged)
            ax.legend(fontsize=TEXT)
        if self.path is not None:
            self._draw_search(axes[1])

    def _draw_search(self, ax: Any) -> None:
        assert self.path is not None
        order = np.argsort(self.path["bandwidth"])
        values = (self.path[key][order] for key in ("bandwidth", "score"))
        ax.plot(*values, marker="o", markersize=4, color=colour(0))
        if self.bandwidth is not None:
            ax.axvline(self.bandwidth, color=colour(1), linestyle="--", label="chosen")
            ax.legend(fontsize=TEXT)
        label_axes(ax, "bandwidth", "held-out error", "search of the bandwidth")


def _covariates(names: list[str]) -> list[str]:
    return [name for name in names if name != "Intercept"]


def _check_names(wanted: Sequence[str], names: list[str]) -> None:
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a covariate; covariates: {', '.join(names)}")


def _flagged_times(estimator: Any) -> NDArray[Any]:
    return estimator.times_[[reason is not None for reason in estimator.flags_]]


def _mark_flagged(ax: Any, flagged: Any) -> None:
    marks = {"color": PALETTE[1], "clip_on": False, "label": "flagged time"}
    ax.plot(flagged, np.zeros(len(flagged)), "x", transform=ax.get_xaxis_transform(), **marks)


def _write_dates(ax: Any, times: NDArray[Any]) -> None:
    """Few and short dates, which do not run into each other."""
    if np.asarray(times).dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=5)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


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

    def _draw(self, axes: list[Any]) -> None:
        (ax,) = axes
        self.lines_ = []
        for k, (label, (levels, shares)) in enumerate(self.ecdf.items()):
            x, y = np.concatenate([levels[:1], levels]), np.concatenate([[0.0], shares])
            (line,) = ax.step(x, y, where="post", label=short_name(label), **line_style(k))
            self.lines_.append(line)
        label_axes(ax, "value", "share of readings")
        ax.legend(title="group", fontsize=TEXT, title_fontsize=TEXT)
