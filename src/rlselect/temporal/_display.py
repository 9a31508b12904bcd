"""Plots of effect curves and of distribution functions."""

from typing import Any

import numpy as np

from rlselect.temporal._results import Band


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plots need matplotlib: pip install "rlselect[plot]"') from None
    return plt


class EffectCurveDisplay:
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
        times: Any,
        estimate: Any,
        band: Any = None,
        interval: Any = None,
        n_available: Any = None,
        covariate: str = "",
        flagged: Any = (),
    ):
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
        model: Any,
        covariate: str,
        *,
        band: Band | bool = True,
        interval: bool = True,
        counts: bool = True,
        smoothed: bool = False,
        level: float = 0.95,
        random_state: Any = None,
        ax: Any = None,
    ) -> "EffectCurveDisplay":
        """Draw a covariate of a fitted `TemporalProcessRegression`.

        Parameters
        ----------
        model : TemporalProcessRegression
        covariate : str
        band : Band or bool, default=True
            A band from ``model.bands(...)``, True to compute the default one, False for none.
        interval, counts : bool, default=True
            Draw the pointwise interval, and the number of available subjects.
        smoothed : bool, default=False
        level : float, default=0.95
        random_state : int, Generator or None
        ax : matplotlib axes, optional
        """
        if covariate not in model.coef_.columns:
            raise ValueError(
                f"{covariate!r} is not a covariate; covariates: {', '.join(model.coef_.columns)}"
            )
        pointwise = model.conf_int(level, smoothed=smoothed)
        if isinstance(band, bool):
            drawn = model.bands(level, smoothed=smoothed, random_state=random_state) if band else None
        else:
            drawn = band
        pair = (drawn.lower[covariate].to_numpy(), drawn.upper[covariate].to_numpy()) if drawn else None
        thin = (pointwise.lower[covariate].to_numpy(), pointwise.upper[covariate].to_numpy())
        display = cls(
            times=model.times_,
            estimate=pointwise.estimate[covariate].to_numpy(),
            band=pair,
            interval=thin if interval else None,
            n_available=model.n_available_ if counts else None,
            covariate=covariate,
            flagged=model.times_[[reason is not None for reason in model.flags_]],
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None, *, color: str = "C0", label: str | None = None) -> "EffectCurveDisplay":
        """Draw on `ax`, or on a new figure."""
        if ax is None:
            _, ax = _pyplot().subplots()
        if self.band is not None:
            ax.fill_between(self.times, *self.band, color=color, alpha=0.18, lw=0, label="simultaneous band")
        if self.interval is not None:
            ax.fill_between(
                self.times, *self.interval, color=color, alpha=0.3, lw=0, label="pointwise interval"
            )
        (self.line_,) = ax.plot(self.times, self.estimate, color=color, lw=1.5, label=label or "estimate")
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
            self._draw_counts(ax)
        ax.set_xlabel("time")
        ax.set_ylabel(f"effect of {self.covariate}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_counts(self, ax: Any) -> None:
        below = ax.twinx()
        below.fill_between(self.times, 0, self.n_available, step="mid", color="0.5", alpha=0.2, lw=0)
        # five times as high as the counts: the strip stays in the lowest fifth
        below.set_ylim(0, max(1, int(np.max(self.n_available))) * 5)
        below.set_yticks([0, int(np.max(self.n_available))])
        below.set_ylabel("n", loc="bottom")
        self.count_ax_ = below


class ECDFDisplay:
    """Empirical distribution functions of groups, as in a two-sample test.

    Parameters
    ----------
    ecdf : dict
        Label -> (sorted values, cumulative shares).
    """

    def __init__(self, ecdf: dict[Any, Any]):
        self.ecdf = ecdf

    def plot(self, ax: Any = None) -> "ECDFDisplay":
        """Draw on `ax`, or on a new figure."""
        if ax is None:
            _, ax = _pyplot().subplots()
        self.lines_ = []
        for label, (levels, shares) in self.ecdf.items():
            x, y = np.concatenate([levels[:1], levels]), np.concatenate([[0.0], shares])
            (line,) = ax.step(x, y, where="post", label=str(label))
            self.lines_.append(line)
        ax.set_ylabel("share of readings")
        ax.set_xlabel("value")
        ax.legend(title="group")
        self.ax_, self.figure_ = ax, ax.figure
        return self
