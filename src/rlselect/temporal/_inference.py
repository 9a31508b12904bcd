"""Intervals, bands and tests of a fitted model."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from rlselect._parallel import jobs
from rlselect.kernels import USUAL_VARIANCE
from rlselect.temporal._design import Design
from rlselect.temporal._estimate import Estimate, jackknife_factor
from rlselect.temporal._resample import as_generator, sup_multiplier, sup_refit, variance_df
from rlselect.temporal._results import Band, ProcessTest
from rlselect.temporal._smooth import smooth, smooth_psi
from rlselect.temporal._tests import FlaggedTimeWarning, build_process, centred, run_test

Array = NDArray[np.float64]


def one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, given {value!r}")


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, given {level}")


class InferenceMixin:
    """What can be said about curves once they are estimated; the estimator brings the fitted state."""

    _design: Design
    _raw: Estimate
    link: str
    variance: str | None
    kernel: str
    constant: list[str] | None
    n_jobs: int | None
    bandwidth_: float
    times_: NDArray[Any]
    _estimate: Any
    _curves: Any
    _frame: Any

    @property
    def _variance(self) -> str:
        return self.variance or USUAL_VARIANCE[self.link]

    def _student(self, small_sample: bool) -> bool:
        """Whether draws get the tails of Student's t.

        Where the mean is bounded, standard errors grow with the estimate and the tails are no heavier than
        normal; the committed coverage tables show it.
        """
        return small_sample and self.link in ("identity", "log")

    def _jackknife(self, small_sample: bool) -> Array | None:
        """Factor from influence functions to leave-one-subject-out changes; made when first needed."""
        # exact for linear models only; with shared coefficients leverage is spread over all times
        linear = self.link == "identity" and self._variance == "gaussian"
        if not (small_sample and linear) or self.constant:
            return None
        if not hasattr(self, "_factor"):
            self._factor = jackknife_factor(self._design, self._raw, self.link, self._variance)
        return self._factor

    def _jackknife_psi(self, smoothed: bool) -> Array:
        factor = self._jackknife(True)
        if factor is None:
            return self._curves(smoothed)[2]
        psi = self._raw.psi * factor[:, None, :]
        if smoothed:
            return smooth_psi(psi, self._raw.sound, self._design.clock, self.bandwidth_, self.kernel)
        return psi

    def conf_int(self, level: float = 0.95, *, smoothed: bool = False) -> Band:
        """Pointwise confidence intervals: right at each time, not for a whole curve.

        Parameters
        ----------
        level : float, default=0.95
        smoothed : bool, default=False

        Returns
        -------
        Band
        """
        check_is_fitted(self, "coef_")
        check_level(level)
        critical = float(norm.ppf(0.5 + level / 2.0))
        return self._band(smoothed, np.full(len(self._design.names), critical), level, "pointwise")

    def bands(
        self,
        level: float = 0.95,
        method: str = "sup",
        smoothed: bool = False,
        resample: str = "multiplier",
        n_draws: int = 1000,
        random_state: Any = None,
        small_sample: bool = True,
    ) -> Band:
        """Simultaneous bands: each covers its covariate's whole curve with probability `level`.

        Parameters
        ----------
        level : float, default=0.95
        method : {"sup", "dissertation"}
            Quantile of the supremum of the standardised process used as critical value: `level`, or the
            conservative ``1 - (1 - level) / 2``, the latter always without `small_sample`.
        smoothed : bool, default=False
            Bands of the smoothed curves. They cover the smoothed truth: bias from smoothing is not in them.
        resample : {"multiplier", "refit"}
            Gaussian multipliers on the influence functions, or estimation on subjects drawn with replacement
            (slower by the cost of `n_draws` fits).
        n_draws : int, default=1000
        random_state : int, Generator or None
        small_sample : bool, default=True
            Give multiplier draws the tails of Student's t (links identity and log), with the degrees of
            freedom that the influence functions show, and make them from leave-one-subject-out influence
            functions (link identity). With bounded links standard errors grow with the estimate, which
            offsets this already: there, and with False, draws are normal.

        Returns
        -------
        Band
        """
        check_level(level)
        one_of("method", method, ("sup", "dissertation"))
        one_of("resample", resample, ("multiplier", "refit"))
        if n_draws < 1:
            raise ValueError(f"n_draws must be at least 1, given {n_draws}")
        beta, se, psi = self._curves(smoothed)
        sound, rng = self._raw.sound, as_generator(random_state)
        if resample == "multiplier":
            df = np.full(se.shape, np.inf)
            if self._student(small_sample and method == "sup"):
                df = variance_df((psi / se[:, :, None] / psi.shape[2]) ** 2)
                psi = self._jackknife_psi(smoothed)
            if not sound.all():
                psi, se, df = psi[sound], se[sound], df[sound]
            draws = sup_multiplier(psi, se, df, n_draws, rng)
        else:
            with jobs(self.n_jobs):
                draws, lost = sup_refit(self._refit_curve(smoothed), self._design, beta, se, n_draws, rng)
            if len(draws) == 0:
                raise ValueError("no resample could be estimated; use resample='multiplier'")
            if lost > 0.05:
                warnings.warn(
                    f"{lost:.0%} of the resampled time points could not be estimated and were left out; "
                    "resample='multiplier' does not need them",
                    FlaggedTimeWarning,
                    stacklevel=2,
                )
        quantile = level if method == "sup" else 1.0 - (1.0 - level) / 2.0
        return self._band(smoothed, np.quantile(draws, quantile, axis=0), level, method)

    def _refit_curve(self, smoothed: bool) -> Any:
        def curve(design: Design) -> Array:
            raw = self._estimate(design)
            if not smoothed or not raw.sound.any():
                return raw.beta
            return smooth(raw, design.clock, self.bandwidth_, self.kernel)[0]

        return curve

    def _band(self, smoothed: bool, critical: Array, level: float, kind: str) -> Band:
        beta, se, _ = self._curves(smoothed)
        reach = critical * se
        names = self._design.names
        return Band(
            self._frame(beta),
            self._frame(beta - reach),
            self._frame(beta + reach),
            level,
            {name: float(c) for name, c in zip(names, critical, strict=True)},
            kind,
        )

    def test(
        self,
        contrast: Any,
        value: ArrayLike = 0,
        kind: str = "ids",
        weights: Any = None,
        interval: Any = None,
        convention: str = "n",
        integral: str = "left",
        n_draws: int = 5000,
        random_state: Any = None,
        small_sample: bool = True,
    ) -> ProcessTest:
        r"""Test ``C(t) beta(t) = c(t)`` over time, on the raw estimates.

        With the difference :math:`M(t) = C(t)\hat\beta(t) - c(t)` the statistics are

        - ``"ids"``: :math:`T'\hat\Sigma^{-1}T` with :math:`T = \int M(t)W(t)\,dt`, chi-square with one degree
          of freedom per contrast. For effects of one sign.
        - ``"sds"``: :math:`\sup_t W(t)\,M(t)'\{\widehat{\mathrm{cov}} M(t)\}^{-1}M(t)`, the largest Wald
          statistic (n times the form written in the dissertation, which leaves out the 1/n of the
          covariance), by multiplier resampling. For effects at a few times.
        - ``"squared"``: :math:`\int \sum_j W_j(t) M_j(t)^2\,dt`, by multiplier resampling.

        Parameters
        ----------
        contrast : str, list of str, or array of shape (r, p), (p,) or (times, r, p)
            A covariate or term, several tested jointly, or contrasts of all coefficients.
        value : number or array of shape (r,), (times,) or (times, r), default=0
        kind : {"ids", "sds", "squared"}
        weights : {"inverse-se"} or array of shape (times,) or (times, r), optional
            ``W``. ``"inverse-se"`` divides each difference by its standard error first; ``"sds"`` does so
            anyway.
        interval : (low, high), optional
            Closed sub-interval of time.
        convention : {"n", "n-1"}
            Divisor of the variance; ``"n-1"`` multiplies it by ``n / (n - 1)``.
        integral : {"left", "trapezoid"}
        n_draws : int, default=5000
        random_state : int, Generator or None
        small_sample : bool, default=True
            As in `bands`, for ``"sds"`` only, so that test and band say the same.

        Returns
        -------
        ProcessTest
            With `statistic`, `df`, `pvalue`.
        """
        check_is_fitted(self, "coef_")
        process = build_process(
            self._raw, self._design, contrast, value, interval, self._jackknife(small_sample)
        )
        return run_test(
            process,
            self._design,
            kind=kind,
            weights=weights,
            convention=convention,
            integral=integral,
            n_draws=n_draws,
            rng=as_generator(random_state),
            student=self._student(small_sample),
        )

    def test_constant(
        self,
        contrast: Any,
        kind: str = "squared",
        weights: Any = None,
        interval: Any = None,
        convention: str = "n",
        integral: str = "trapezoid",
        n_draws: int = 5000,
        random_state: Any = None,
        small_sample: bool = True,
    ) -> ProcessTest:
        """Goodness of fit of a constant effect: does the curve differ from its own time average?

        Takes the arguments of `test`; ``kind="ids"`` is refused, as that integral is zero by construction.
        A covariate that passes may be put into `constant`.
        """
        check_is_fitted(self, "coef_")
        one_of("kind", kind, ("squared", "sds"))
        factor = self._jackknife(small_sample)
        process = build_process(self._raw, self._design, contrast, 0, interval, factor)
        process = centred(process, integral)
        return run_test(
            process,
            self._design,
            kind=kind,
            weights=weights,
            convention=convention,
            integral=integral,
            n_draws=n_draws,
            rng=as_generator(random_state),
            student=self._student(small_sample),
        )

    def compare(self, reduced: Any, kind: str = "ids", **options: Any) -> ProcessTest:
        """Test a nested model: are all curves that `reduced` leaves out zero?

        Parameters
        ----------
        reduced : TemporalProcessRegression
            Fitted to the same subjects and times with some of this model's covariates.
        kind : {"ids", "sds", "squared"}
        **options
            Passed to `test`.
        """
        check_is_fitted(self, "coef_")
        check_is_fitted(reduced, "coef_")
        extra = [name for name in reduced._design.names if name not in self._design.names]
        left_out = [name for name in self._design.names if name not in reduced._design.names]
        if extra or not left_out:
            raise ValueError(
                "the other model is not nested in this one: "
                + (f"it adds {', '.join(extra)}" if extra else "it has the same covariates")
            )
        if not np.array_equal(self.times_, reduced.times_) or self.link != reduced.link:
            raise ValueError("nested models must share the link and the times")
        return self.test(left_out, kind=kind, **options)
