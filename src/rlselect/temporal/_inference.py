"""What is concluded from fitted curves: intervals, bands and tests."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rlselect._estimator import Estimator
from rlselect._parallel import jobs
from rlselect._random import RandomState, as_generator
from rlselect.temporal._bands import Band, BandMethod, Resampling, pointwise_band, simultaneous_band
from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._hypotheses import (
    Contrast,
    Convention,
    Integral,
    ProcessTest,
    Statistic,
    run_test,
)


class CurveInference(Estimator):
    """Intervals, bands and tests of an estimator that keeps its `FittedCurves`."""

    _fitted: FittedCurves
    coef_: Any
    times_: Any
    link: str
    n_jobs: int | None

    def conf_int(self, level: float = 0.95, *, smoothed: bool = False) -> Band:
        """Pointwise confidence intervals: right at each time, not for a whole curve.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval covers.
        smoothed : bool, default=False
            Of the smoothed curves. As those of `bands`, these intervals lie around curves without what
            smoothing has flattened, and need not have the shown curve in their middle.

        Returns
        -------
        Band
            Standard errors are corrected for leverage (HC2) and multiples are those of Student's t with the
            degrees of freedom of Bell and McCaffrey, for variances that may differ with the covariates.
            Where the mean is bounded (logit, probit, cloglog), standard errors grow with the estimate and
            multiples stay normal, but for clusters; of responses 0 and 1 standard errors are at least those
            that the fitted means give, as residuals of few events may be small by chance. With other links
            that are not linear (log), the subjects that matter most at a time are left out one by one and
            the curve estimated without them. Large data, beyond two million numbers of times x covariates x
            subjects, have ``se_``.
        """
        check_is_fitted(self)
        return pointwise_band(self._fitted, level, smoothed=smoothed)

    def bands(
        self,
        level: float = 0.95,
        method: BandMethod = "sup",
        smoothed: bool = False,
        resample: Resampling = "multiplier",
        n_draws: int = 1000,
        random_state: RandomState = None,
        small_sample: bool = True,
    ) -> Band:
        """Simultaneous bands: each covers its covariate's whole curve with probability `level`.

        Parameters
        ----------
        level : float, default=0.95
            Probability that a band covers the whole curve.
        method : {"sup", "dissertation"}
            Quantile of the supremum of the standardised process used as critical value: `level`, or the
            conservative ``1 - (1 - level) / 2``, the latter always without `small_sample`.
        smoothed : bool, default=False
            Bands of the smoothed curves, around what smoothing has not flattened: splines without penalty, or
            a kernel of .7 times the width that is applied once more to what it has left of the raw curves.
            They need not have the shown curve in their middle. ``method="dissertation"`` has a kernel's band
            around the smoothed curve, for the smoothed truth.
        resample : {"multiplier", "refit"}
            Gaussian multipliers on the influence functions, or estimation on subjects drawn with replacement
            (slower by the cost of `n_draws` fits).
        n_draws : int, default=1000
            Draws of the process.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        small_sample : bool, default=True
            The band is that of `conf_int` for a higher level: the one which a normal process, correlated over
            time as the influence functions are, keeps at all times together with probability `level`. The
            correlations are shrunk by as much as so few subjects leave them unknown. Where one subject alone
            tells an effect, as the only one of an arm, the band is infinite. False: normal multipliers on
            influence functions, with ``se_``.

        Returns
        -------
        Band
        """
        check_is_fitted(self)
        with jobs(self.n_jobs):
            return simultaneous_band(
                self._fitted,
                level,
                method=method,
                smoothed=smoothed,
                resample=resample,
                n_draws=n_draws,
                rng=as_generator(random_state),
                small_sample=small_sample,
            )

    def test(
        self,
        contrast: Contrast,
        value: ArrayLike = 0,
        kind: Statistic = "ids",
        time_weight: Any = None,
        interval: tuple[Any, Any] | None = None,
        convention: Convention = "n",
        integral: Integral = "left",
        n_draws: int = 5000,
        random_state: RandomState = None,
        small_sample: bool = True,
    ) -> ProcessTest:
        r"""Test ``C(t) beta(t) = c(t)`` over time, on the raw estimates.

        With the difference :math:`M(t) = C(t)\hat\beta(t) - c(t)` the statistics are

        - ``"ids"``: :math:`T'\hat\Sigma^{-1}T` with :math:`T = \int M(t)W(t)\,dt`, chi-square with one degree
          of freedom per contrast (Hotelling's T squared in small samples). For effects of one sign.
        - ``"sds"``: :math:`\sup_t W(t)\,M(t)'\{\widehat{\mathrm{cov}} M(t)\}^{-1}M(t)`, the largest Wald
          statistic (n times the form written in the dissertation, which leaves out the 1/n of the
          covariance), by multiplier resampling. For effects at a few times.
        - ``"squared"``: :math:`\int \sum_j W_j(t) M_j(t)^2\,dt`, by multiplier resampling.

        Parameters
        ----------
        contrast : str, list of str, or array of shape (r, p), (p,) or (times, r, p)
            A covariate or term, several tested jointly, or contrasts of all coefficients.
        value : number or array of shape (r,), (times,) or (times, r), default=0
            What they are under the hypothesis.
        kind : {"ids", "sds", "squared"}
            The statistic.
        time_weight : {"inverse-se"} or array of shape (times,) or (times, r), optional
            ``W``. ``"inverse-se"`` divides each difference by its standard error first; ``"sds"`` does so
            anyway.
        interval : (low, high), optional
            Closed sub-interval of time.
        convention : {"n", "n-1"}
            Divisor of the variance; ``"n-1"`` multiplies it by ``n / (n - 1)``.
        integral : {"left", "trapezoid"}
            Rule of the integral between times.
        n_draws : int, default=5000
            Draws of the process, for ``"sds"`` and ``"squared"``.
        random_state : int, Generator, RandomState or None
            Seed of the draws.
        small_sample : bool, default=True
            With fewer than 150 subjects, or 25 apart from the commonest value of a tested covariate (a small
            arm among many), tests look from the hypothesis: at the curves nearest to the data that it allows,
            the scores of whole subjects for the tested effects are judged, ``"ids"`` by Hotelling's test (its
            reference has the moments of random signs of whole subjects, so that unequal ones count), the
            others by the step from there to the estimate, with the signs of whole subjects drawn at random
            and a covariance of its own in every draw: that of the estimate, but with bounded links and at
            separated times, where that may vanish, that of the hypothesis (`statistic` is theirs, and
            ``time_weight="inverse-se"`` has the standard errors of the hypothesis). The supremum of responses
            0 and 1 has the covariance that their means have under the hypothesis: it is the largest of Rao's
            score statistics. Levels then hold also
            where standard errors grow with an estimate, and times at which the estimate is infinite
            (separation) take part as long as the hypothesis can be estimated there. Close to its limit a
            band, which looks from the estimate, may say otherwise. With more subjects ``"sds"`` has the tails
            of Student's t, and the others are as with False: first-order references as in other software,
            chi-square and normal multipliers, without flagged times. A `SmallSampleWarning` says where levels
            are not known for so few.

        Returns
        -------
        ProcessTest
            With `statistic`, `df`, `pvalue`.
        """
        check_is_fitted(self)
        return run_test(
            self._fitted,
            contrast,
            value,
            kind=kind,
            time_weight=time_weight,
            interval=interval,
            convention=convention,
            integral=integral,
            n_draws=n_draws,
            rng=as_generator(random_state),
            small_sample=small_sample,
        )

    def test_constant(
        self,
        contrast: Contrast,
        kind: Literal["sds", "squared"] = "squared",
        time_weight: Any = None,
        interval: tuple[Any, Any] | None = None,
        convention: Convention = "n",
        integral: Integral = "trapezoid",
        n_draws: int = 5000,
        random_state: RandomState = None,
        small_sample: bool = True,
    ) -> ProcessTest:
        """Goodness of fit of a constant effect: does the curve differ from its own time average?

        A covariate that passes may be put into `constant`.

        Parameters
        ----------
        contrast, time_weight, interval, convention, integral, n_draws, random_state, small_sample
            As in `test`.
        kind : {"squared", "sds"}
            As in `test`; ``"ids"`` is refused, as that integral is zero by construction.

        Returns
        -------
        ProcessTest
        """
        check_is_fitted(self)
        return run_test(
            self._fitted,
            contrast,
            kind=kind,
            against_average=True,
            time_weight=time_weight,
            interval=interval,
            convention=convention,
            integral=integral,
            n_draws=n_draws,
            rng=as_generator(random_state),
            small_sample=small_sample,
        )

    def compare(self, reduced: Self, kind: Statistic = "ids", **options: Any) -> ProcessTest:
        """Test a nested model: are all curves that `reduced` leaves out zero?

        Parameters
        ----------
        reduced : TemporalProcessRegression
            Fitted to the same subjects and times with some of this model's covariates.
        kind : {"ids", "sds", "squared"}
            The statistic.
        **options
            Passed to `test`.

        Returns
        -------
        ProcessTest
        """
        check_is_fitted(self)
        check_is_fitted(reduced)
        mine, others = list(self.coef_.columns), list(reduced.coef_.columns)
        extra = [name for name in others if name not in mine]
        left_out = [name for name in mine if name not in others]
        if extra or not left_out:
            raise ValueError(
                "the other model is not nested in this one: "
                + (f"it adds {', '.join(extra)}" if extra else "it has the same covariates")
            )
        if not np.array_equal(self.times_, reduced.times_) or self.link != reduced.link:
            raise ValueError("nested models must share the link and the times")
        return self.test(left_out, kind=kind, **options)
