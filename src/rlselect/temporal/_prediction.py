"""What fitted curves say about new rows: means with intervals, and profiles."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rlselect._estimator import Estimator
from rlselect._options import check_value, number, one_of
from rlselect._random import RandomState, as_generator
from rlselect.data import Columns
from rlselect.kernels import mean_function
from rlselect.temporal._bands import contrast_band
from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._few import warn_of_few
from rlselect.temporal._points import point_errors, quantile
from rlselect.temporal._predict import (
    covariates_at,
    curves_at,
    predictor_errors,
    profile_row,
    residual_variance,
)

Array = NDArray[np.float64]


class CurvePrediction(Estimator):
    """Predictions of an estimator that keeps its `FittedCurves`."""

    _fitted: FittedCurves
    link: str

    def predict(self, data: Any, *, time: Any = None, smoothed: bool = False, offset: Any = None) -> Array:
        """Mean of the response for rows of new data.

        Parameters
        ----------
        data : table or array, as in `fit`
            New rows.
        time : str or array, optional
            Times of the rows; by default the column used in `fit`. Between observed times curves are
            interpolated linearly; times outside the observed range are refused. Of bins, that is the range of
            all bins, and rows before the first middle and after the last have the curves of their bin.
        smoothed : bool, default=False
            From the smoothed curves.
        offset : str or array, optional
            Known part of the linear predictor of the rows; 0 without.

        Returns
        -------
        array of shape (rows,)
            NaN where a covariate is missing or the time is flagged.
        """
        check_is_fitted(self)
        _, _, eta = self._predictors(data, time, smoothed, offset)
        return mean_function(self.link, eta)[0]

    def predict_interval(
        self,
        data: Any,
        *,
        time: Any = None,
        level: float = 0.95,
        of: Literal["mean", "response"] = "mean",
        smoothed: bool = False,
        offset: Any = None,
    ) -> Any:
        """Mean of the response for rows of new data, with an interval for each row by itself.

        Parameters
        ----------
        data, time, smoothed, offset
            As in `predict`.
        level : float, default=0.95
            Probability that an interval covers; made as those of `conf_int`.
        of : {"mean", "response"}
            What it covers: the mean at the row's covariates, or a new subject's response, the latter for the
            identity link, with normal residuals whose variance is that of the time (Student's t with the
            degrees of freedom that coefficients leave).

        Returns
        -------
        data frame
            Columns ``mean``, ``lower`` and ``upper``, one row per row of `data`. Of smoothed curves, and of
            local estimation, the interval lies around what smoothing has not flattened, not around the mean.
        """
        import pandas as pd

        check_is_fitted(self)
        check_value("level", level, number("a number between 0 and 1", above=0.0, below=1.0))
        check_value("of", of, one_of("mean", "response"))
        x, clock, eta = self._predictors(data, time, smoothed, offset)
        fitted = self._fitted
        warn_of_few(fitted.design, np.arange(len(fitted.design.names)))
        points = point_errors(fitted, smoothed)
        variance, df = predictor_errors(points, x, clock)
        away = points.curves.beta - fitted.curves(smoothed).beta
        middle = eta + np.einsum("rk,rk->r", x, curves_at(away, fitted.design, clock))
        if of == "response":
            if self.link != "identity":
                raise ValueError(f"of='response' was given; it needs link='identity', not {self.link!r}.")
            residual, df = residual_variance(fitted, clock, smoothed)
            variance = variance + residual
        reach = quantile(level, df) * np.sqrt(variance)
        sides = {"mean": eta, "lower": middle - reach, "upper": middle + reach}
        return pd.DataFrame({name: mean_function(self.link, value)[0] for name, value in sides.items()})

    def _predictors(self, data: Any, time: Any, smoothed: bool, offset: Any) -> tuple[Array, Array, Array]:
        """Covariates, clock and linear predictor of new rows."""
        fitted = self._fitted
        x, clock = covariates_at(fitted.design, data, fitted.time_name if time is None else time)
        eta = np.einsum("rk,rk->r", x, curves_at(fitted.curves(smoothed).beta, fitted.design, clock))
        if offset is not None:
            eta = eta + Columns(data, "data").numbers(offset, "offset")
        return x, clock, eta

    def compare_profiles(
        self,
        first: Any,
        second: Any,
        *,
        level: float = 0.95,
        smoothed: bool = False,
        n_draws: int = 1000,
        random_state: RandomState = None,
        small_sample: bool = True,
    ) -> Any:
        """Difference of the linear predictors of two profiles over time, with a band for the whole curve.

        Parameters
        ----------
        first, second : dict, or table of one row
            A value for every column that the model reads.
        level : float, default=0.95
            Probability that the band covers the whole difference.
        smoothed : bool, default=False
            From the smoothed curves.
        n_draws : int, default=1000
            Draws of the process.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        small_sample : bool, default=True
            As in `bands`.

        Returns
        -------
        data frame
            Columns ``estimate``, ``lower`` and ``upper`` by time, on the scale of the link.
        """
        import pandas as pd

        check_is_fitted(self)
        fitted = self._fitted
        rows = (profile_row(fitted.design, p, name) for p, name in ((first, "first"), (second, "second")))
        one, other = rows
        sides = contrast_band(
            fitted,
            one - other,
            level,
            smoothed=smoothed,
            n_draws=n_draws,
            rng=as_generator(random_state),
            small_sample=small_sample,
        )
        index = pd.Index(fitted.design.times, name=fitted.time_name)
        return pd.DataFrame(dict(zip(("estimate", "lower", "upper"), sides, strict=True)), index=index)

    def covariance(self, first: Any, second: Any = None, *, smoothed: bool = False) -> Any:
        """Covariance of the coefficients at two times.

        Parameters
        ----------
        first, second : times
            Two of ``times_``; the same one twice by default, for the covariance matrix at that time.
        smoothed : bool, default=False
            Of the smoothed curves.

        Returns
        -------
        data frame, covariates x covariates
            Rows belong to the first time, columns to the second.
        """
        import pandas as pd

        check_is_fitted(self)
        known = list(self._fitted.design.times)
        times = (first, first if second is None else second)
        for time in times:
            if time not in known:
                raise ValueError(f"{time!r} is not one of the times of the fit; times_ holds them.")
        names = self._fitted.design.names
        found = self._fitted.covariance(known.index(times[0]), known.index(times[1]), smoothed)
        return pd.DataFrame(found, index=names, columns=names)
