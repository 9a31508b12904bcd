"""The estimator: temporal process regression."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rlselect._parallel import jobs
from rlselect.kernels import LINKS, VARIANCES, mean_function
from rlselect.temporal._constant import constant_positions, estimate_constant
from rlselect.temporal._design import Design, build_design
from rlselect.temporal._estimate import Estimate, check_response, estimate
from rlselect.temporal._inference import InferenceMixin, check_level, one_of
from rlselect.temporal._predict import covariates_at, curves_at
from rlselect.temporal._resample import as_generator
from rlselect.temporal._results import Selection, Summary, frame
from rlselect.temporal._selection import backward
from rlselect.temporal._smooth import KERNELS, choose_bandwidth, smooth
from rlselect.temporal._summary import summarise

Array = NDArray[np.float64]


class TemporalProcessRegression(InferenceMixin, BaseEstimator):
    r"""Generalized linear model whose coefficients are curves over time.

    At every observed time :math:`t` the mean of the response is
    :math:`E\{Y(t) \mid X(t)\} = g^{-1}\{\beta(t)'X(t)\}` [1]_. Nothing is assumed about the shape of
    :math:`\beta(t)` nor about the dependence within a subject: the estimating equation

    .. math:: \sum_i R_i(t)\, D_i(t)' V_i(t)^{-1} \{Y_i(t) - \mu_i(t)\} = 0

    is solved at each time, and the influence functions of the subjects, kept in `influence_`, carry the
    dependence between times into standard errors, simultaneous bands and tests.

    Parameters
    ----------
    formula : str, optional
        ``"response ~ covariates"`` in Wilkinson notation, read by the package formulaic; ``a*b`` adds an
        interaction. None when `fit` gets arrays.
    link : {"identity", "logit", "probit", "cloglog", "log"}, default="identity"
    variance : {"gaussian", "binomial", "poisson"}, optional
        Working variance. None takes the link's usual family.
    bandwidth : float or {"cv", "cv-times"}, optional
        Width of the Nadaraya-Watson smoother in the units of time (days when times are dates). ``"cv"``
        chooses it by five folds over subjects, ``"cv-times"`` by leaving out one time after the other.
        None: no smoothing.
    kernel : {"triangular", "epanechnikov", "gaussian"}, default="triangular"
    constant : list of str, optional
        Covariates (or terms) whose effect is one number for all times, estimated jointly with the curves.
    n_jobs : int, optional
        Folds of ``bandwidth="cv"``, and parcels of 50 refits of ``bands(resample="refit")``, at a time; see
        joblib. None leaves it to `joblib.parallel_config`. The answer does not depend on it.

    Attributes
    ----------
    times_ : array of shape (times,)
    coef_, se_ : data frames, times x covariates
        Raw estimates and their standard errors (sandwich with expected information, HC0).
    smoothed_coef_, smoothed_se_ : data frames
        Only when a bandwidth is set.
    bandwidth_ : float
        Only when a bandwidth is set; `bandwidth_path_` holds the candidates and their scores.
    influence_ : array of shape (subjects, times, covariates)
        ``coef_ - beta`` is their mean over subjects, to first order; `subjects_` are the ids in this order.
    n_available_ : array of shape (times,)
    flags_ : list
        One entry per time: None where the estimate is sound, otherwise why it is not. A flagged time is NaN
        in all curves and takes no part in tests; the others are what they would be without it.

    See Also
    --------
    rlselect.temporal.two_sample_cvm : do two groups differ in repeated measures?
    rlselect.temporal.EffectCurveDisplay : plot of a curve with its band.

    Notes
    -----
    Cost: O(iterations x times x subjects x covariates^2), memory O(times x subjects x covariates). Not for
    data where hardly two subjects share a time: round the times to a grid first. Responses are compared
    across subjects at one time, so a subject-specific trend is not modelled.

    Row weights are sampling weights: the estimate with weight k is that of the row repeated k times, the
    standard error is the sandwich of a weighted estimating equation.

    Differs from [2]_: bands use the 1 - alpha quantile of the supremum unless ``method="dissertation"``;
    bandwidths come from folds over subjects; separated time points are flagged.

    References
    ----------
    .. [1] Fine, Yan and Kosorok (2004), Temporal process regression. Biometrika 91.
    .. [2] Dasgupta (2014), dissertation, chapter 2, University of North Carolina at Chapel Hill.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.temporal import TemporalProcessRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 5, 1))
    >>> y = 1 + np.linspace(0, 2, 5) * x[:, :, 0] + rng.standard_normal((200, 5))
    >>> ids, times = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    >>> model = TemporalProcessRegression().fit(x.reshape(-1, 1), y.ravel(), id=ids, time=times)
    >>> model.coef_["x0"].round(1).tolist()
    [0.2, 0.5, 1.0, 1.5, 2.1]
    >>> bool(model.test("x0").pvalue < 0.001)
    True
    """

    def __init__(
        self,
        formula: str | None = None,
        *,
        link: str = "identity",
        variance: str | None = None,
        bandwidth: Any = None,
        kernel: str = "triangular",
        constant: list[str] | None = None,
        n_jobs: int | None = None,
    ):
        self.formula = formula
        self.link = link
        self.variance = variance
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.constant = constant
        self.n_jobs = n_jobs

    def fit(
        self,
        data: Any,
        y: Any = None,
        *,
        id: Any,
        time: Any,
        weights: Any = None,
        available: Any = None,
    ) -> "TemporalProcessRegression":
        """Estimate the curves from long data, one row per subject and time.

        Parameters
        ----------
        data : pandas, polars or Arrow table, dict of columns, or array
            With a formula, a table. Without one, the covariates (an intercept is added), either an array with
            `y` or the tuple ``(X, y)``, or a table whose other columns are all covariates.
        y : array or str, optional
            Response, or the name of its column; only without a formula.
        id, time : str or array
            Columns (or arrays) that say whom and when a row is about. Times are numbers or dates.
        weights : str or array, optional
            Row weights; 0 takes a row out.
        available : str or array, optional
            True where a row counts as observed. Absent rows and rows with a missing response or covariate
            are unavailable anyway.

        Returns
        -------
        TemporalProcessRegression
        """
        self._check_parameters()
        design = build_design(self.formula, data, y, id=id, time=time, weights=weights, available=available)
        time_name = time if isinstance(time, str) else "time"
        return self._fit_design(design, time_name)

    def _check_parameters(self) -> None:
        one_of("link", self.link, LINKS)
        if self.variance is not None:
            one_of("variance", self.variance, VARIANCES)
        one_of("kernel", self.kernel, KERNELS)
        width = self.bandwidth
        if isinstance(width, str):
            one_of("bandwidth", width, ("cv", "cv-times"))
        elif width is not None and not (isinstance(width, Real) and 0 < float(width) < np.inf):
            raise ValueError(
                f"bandwidth must be a positive number, 'cv', 'cv-times' or None, given {width!r}"
            )

    def _estimate(self, design: Design) -> Estimate:
        shared = constant_positions(self.constant, design)
        if shared:
            return estimate_constant(design, shared, self.link, self._variance)
        return estimate(design, self.link, self._variance)

    def _fit_design(self, design: Design, time_name: str) -> "TemporalProcessRegression":
        check_response(design, self.link, self._variance)
        raw = self._estimate(design)
        if not raw.sound.any():
            reasons = [r for r in raw.flags if r]
            common = max(set(reasons), key=reasons.count)
            raise ValueError(f"none of the {len(reasons)} time points can be estimated; most often: {common}")
        self._design, self._raw, self._time_name = design, raw, time_name
        self.times_, self.subjects_ = design.times, design.subjects
        self.coef_, self.se_ = self._frame(raw.beta), self._frame(raw.se)
        self.influence_ = raw.psi.transpose(2, 0, 1)
        self.n_available_, self.flags_ = raw.n_available, raw.flags
        self._fit_smoothed()
        return self

    def _fit_smoothed(self) -> None:
        for name in ("_factor", "bandwidth_", "bandwidth_path_", "smoothed_coef_", "smoothed_se_", "_smooth"):
            self.__dict__.pop(name, None)
        if self.bandwidth is None:
            return
        with jobs(self.n_jobs):
            self.bandwidth_, candidates, scores = choose_bandwidth(
                self.bandwidth,
                self._design,
                self._raw,
                self._estimate,
                self.link,
                self._variance,
                self.kernel,
            )
        self.bandwidth_path_ = {"bandwidth": candidates, "score": scores}
        self._smooth = smooth(self._raw, self._design.clock, self.bandwidth_, self.kernel)
        self.smoothed_coef_, self.smoothed_se_ = self._frame(self._smooth[0]), self._frame(self._smooth[1])

    def _frame(self, values: Array) -> Any:
        return frame(values, self._design.times, self._design.names, self._time_name)

    def _curves(self, smoothed: bool) -> tuple[Array, Array, Array]:
        check_is_fitted(self, "coef_")
        if not smoothed:
            return self._raw.beta, self._raw.se, self._raw.psi
        if not hasattr(self, "_smooth"):
            raise ValueError(
                "smoothed=True needs a smoothed fit; set bandwidth to a number or 'cv' and fit again"
            )
        return self._smooth

    def backward_selection(
        self,
        alpha: float = 0.05,
        test: str = "ids",
        keep: Sequence[str] = (),
        n_draws: int = 5000,
        random_state: Any = None,
    ) -> Selection:
        """Drop the least significant term, refit, and repeat until all are significant.

        Terms are tested as a whole (all columns of a category); a term inside an interaction is only tested
        once the interaction is gone; the intercept stays. All steps use the rows that are complete for the
        full model, so that their p-values can be compared.

        Parameters
        ----------
        alpha : float, default=0.05
        test : {"ids", "sds", "squared"}
        keep : sequence of str
            Terms that are never dropped.
        n_draws : int, default=5000
        random_state : int, Generator or None

        Returns
        -------
        Selection
            With `model`, `selected`, `dropped` and the step table `steps`.
        """
        check_is_fitted(self, "coef_")
        one_of("test", test, ("ids", "sds", "squared"))
        return backward(self, alpha, test, list(keep), n_draws, as_generator(random_state))

    def predict(self, data: Any, *, time: Any = None, smoothed: bool = False) -> Array:
        """Mean of the response for rows of new data.

        Parameters
        ----------
        data : table or array, as in `fit`
        time : str or array, optional
            Times of the rows; by default the column used in `fit`. Between observed times curves are
            interpolated linearly; times outside the observed range are refused.
        smoothed : bool, default=False

        Returns
        -------
        array of shape (rows,)
            NaN where a covariate is missing or the time is flagged.
        """
        beta, _, _ = self._curves(smoothed)
        x, clock = covariates_at(self, data, self._time_name if time is None else time)
        eta = np.einsum("rk,rk->r", x, curves_at(beta, self._design, clock))
        return mean_function(self.link, eta)[0]

    def summary(self, level: float = 0.95, n_draws: int = 1000, random_state: Any = 0) -> Summary:
        """One row per covariate: average effect, its range, and both tests of no effect."""
        check_is_fitted(self, "coef_")
        check_level(level)
        return summarise(self, level, n_draws, random_state)
