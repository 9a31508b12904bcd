"""The estimator: temporal process regression."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rlselect._capabilities import Takes
from rlselect._clock import fit_clock, warn_if_interrupted
from rlselect._compat import Progress, user_level, with_callbacks
from rlselect._options import NONE, anything, check_value, instance, number, one_of, refuse_unused, whole
from rlselect._parallel import jobs
from rlselect._random import RandomState, as_generator
from rlselect.kernels import LINKS, USUAL_VARIANCE, VARIANCES
from rlselect.report import Marks, Summary
from rlselect.temporal._curves import FittedCurves
from rlselect.temporal._design import LongData, ProcessDesign, build_design
from rlselect.temporal._displays import AvailabilityDisplay, EffectCurvesDisplay, MeanEffectDisplay
from rlselect.temporal._equations import Equations, Link, Variance
from rlselect.temporal._estimate import Estimate, check_response, hardly_shared
from rlselect.temporal._hypotheses import FlaggedTimeWarning, Statistic
from rlselect.temporal._inference import CurveInference
from rlselect.temporal._prediction import CurvePrediction
from rlselect.temporal._report import marks_of, report_of
from rlselect.temporal._selection import Selection, reduced_formula, select_backward
from rlselect.temporal._smooth import KERNELS, N_FOLDS, RULES, Kernel, Rule, Window, score_bandwidths
from rlselect.temporal._splines import fit_splines
from rlselect.temporal._visits import SEVERAL, VISITS, Grid, Schedule, Several, Visits

Array = NDArray[np.float64]


_QUANTILE = number("a number above 0 and at most 1", above=0.0, most=1.0)


def _are_names(value: Any) -> bool:
    return isinstance(value, str | list | tuple) and all(isinstance(name, str) for name in value)


class TemporalProcessRegression(CurveInference, CurvePrediction):
    r"""Generalised linear model whose coefficients are curves over time.

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
    variance : {"auto", "gaussian", "binomial", "poisson"}, default="auto"
        Working variance. "auto" takes the link's usual family.
    bandwidth : float or {"cv", "cv-times"}, optional
        Width of the Nadaraya-Watson smoother in the units of time (days when times are dates). ``"cv"``
        chooses it by five folds over subjects, ``"cv-times"`` by leaving out one time after the other.
        None: no smoothing.
    kernel : {"triangular", "epanechnikov", "gaussian"}, default="triangular"
        Of the smoother.
    n_splines : int, optional
        B-splines per curve of penalised splines, fitted to all rows together, instead of a bandwidth; 10 suit
        most curves. Each curve has its own penalty, chosen by restricted likelihood over subjects.
    visits : {"exact", "carry", "bin", "local"}, default="exact"
        Which of a subject's rows count at a time. "exact": those of that very time. "carry": the last one
        before it, as in a process that jumps, from the subject's first row to the last; a row that is not
        available or not complete ends what is carried until the next, so that subjects may leave and return.
        "bin": those in a bin, by the rule `several`; times are then the middles of the bins. "local": all
        rows within the kernel of width `bandwidth`, weighted by nearness, so that times may be continuous.
        What bends within the window is flattened: intervals and bands are about effects that are quadratic
        in time there, wide at both ends, and need not have the curve in their middle.
    grid : array or int, optional
        Times at which curves are estimated (edges of the bins for "bin"), or how many of them, evenly spaced.
        Not for "exact"; "carry" takes all times of the data without.
    several : {"mean", "first", "last", "nearest"}, default="mean"
        Which of several visits in one bin counts: their weighted mean, or the one first, last, or nearest to
        the middle.
    constant : list of str, optional
        Covariates (or terms) whose effect is one number for all times, estimated jointly with the curves.
    time_budget : float, optional
        Seconds after which the search of ``bandwidth="cv"`` stops: the folds done choose, or the times
        where there is none. With ``visits="local"`` a budget that is too short for the curves themselves
        leaves a random sample of the subjects, as large as there is time for; elsewhere it is refused.
    n_jobs : int, optional
        Folds of ``bandwidth="cv"``, and parcels of 50 refits of ``bands(resample="refit")``, at a time; see
        joblib. None leaves it to `joblib.parallel_config`. The answer does not depend on it.

    Attributes
    ----------
    times_, subjects_ : arrays
        The distinct times and ids, sorted.
    coef_, se_ : data frames, times x covariates
        Raw estimates and their standard errors (sandwich with expected information, HC0).
    smoothed_coef_, smoothed_se_ : data frames
        Only when a bandwidth or `n_splines` is set. Splines have values at flagged times, too.
    penalties_, edf_ : data series
        Of penalised splines: the chosen penalty and the effective degrees of freedom of each curve.
    bandwidth_ : float
        Only when a bandwidth is set.
    path_ : dict of arrays
        Candidates (``bandwidth``) and their scores (``score``, the smallest is chosen) of the search for a
        bandwidth, empty when nothing was searched.
    stop_reason_ : str
        Why that search ended: "all candidates", "interrupted", "callback" (then the folds done decide), or
        "nothing to choose from"; or, after "time budget", how many of the subjects the curves are from.
    variance_ : str
        The working variance that was used.
    dropout_coef_ : data series
        Of the model of staying; only with `dropout`.
    n_effective_ : array of shape (times,)
        Subjects of equal weight with as much information as those available, the squared sum of their weights
        over the sum of squares; only with `dropout`.
    influence_ : array of shape (subjects, times, covariates)
        ``coef_ - beta`` is their mean over subjects, to first order; over clusters where they are given.
    n_independent_ : int
        Independent units: subjects, or clusters where they are given.
    n_available_ : array of shape (times,)
        Subjects with a row; with visits "local", visits in reach.
    flags_ : list
        One entry per time: None where the estimate is sound, otherwise why it is not. A flagged time is NaN
        in all curves, the others are what they would be without it. It takes no part in tests, but for
        separated times of few subjects, see `test`.

    See Also
    --------
    rlselect.temporal.two_sample_cvm : do two groups differ in repeated measures?
    rlselect.temporal.EffectCurvesDisplay : plot of the curves with their bands.

    Notes
    -----
    Cost: O(iterations x times x subjects x covariates^2); memory is that of one number per time, subject and
    covariate, and some blocks: beyond 32 million of them influence functions are worked out anew, some times
    at a time, whenever they are needed, and large files, queries, Dask collections and functions that make
    batches (the last three through a temporary file) are read by columns and stretches of rows. Not for
    data where hardly two subjects share a time: see `visits`. Responses are compared
    across subjects at one time, so a subject-specific trend is not modelled.

    Row weights are sampling weights: the estimate with weight k is that of the row repeated k times, the
    standard error is the sandwich of a weighted estimating equation.

    Nothing is selected by `fit`, so there is no `support_`; `backward_selection` gives a `Selection`.

    Differs from [2]_: bands use the `level` quantile of the supremum unless ``method="dissertation"``;
    bandwidths come from folds over subjects; separated time points are flagged.

    References
    ----------
    .. [1] Fine, Yan and Kosorok (2004), Temporal process regression. Biometrika 91.
    .. [2] Dasgupta (2014), "Non-parametric and semi-parametric methods for parsimonious statistical learning
       with complex data", dissertation, University of North Carolina at Chapel Hill, chapter 2.

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

    displays: ClassVar = (MeanEffectDisplay, AvailabilityDisplay, EffectCurvesDisplay)
    _takes: ClassVar = Takes(
        outcomes=("numbers", "two classes", "counts"),
        data=(
            "sample weights",
            "offsets",
            "clusters of rows",
            "missing values",
            "text columns",
            "time budget",
        ),
    )
    _options: ClassVar = {
        "formula": NONE | instance("text such as 'y ~ x'", str),
        "link": one_of(*LINKS),
        "variance": one_of("auto", *VARIANCES),
        "bandwidth": NONE | one_of(*RULES) | number("a positive number", above=0.0),
        "kernel": one_of(*KERNELS),
        "visits": one_of(*VISITS),
        "several": one_of(*SEVERAL),
        "n_splines": NONE | whole(4),
        "constant": NONE | anything("a list of names of covariates or terms", _are_names),
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
    }

    def __init__(
        self,
        formula: str | None = None,
        *,
        link: Link = "identity",
        variance: Variance | Literal["auto"] = "auto",
        bandwidth: float | Rule | None = None,
        kernel: Kernel = "triangular",
        n_splines: int | None = None,
        visits: Visits = "exact",
        grid: Grid = None,
        several: Several = "mean",
        constant: str | Sequence[str] | None = None,
        time_budget: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.formula = formula
        self.link = link
        self.variance = variance
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.n_splines = n_splines
        self.visits = visits
        self.grid = grid
        self.several = several
        self.constant = constant
        self.time_budget = time_budget
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self,
        data: Any,
        y: Any = None,
        *,
        id: Any,
        time: Any,
        sample_weight: Any = None,
        available: Any = None,
        offset: Any = None,
        cluster: Any = None,
        dropout: Sequence[str] | None = None,
        dropout_quantile: float = 1.0,
    ) -> Self:
        """Estimate the curves from long data, one row per subject and time.

        Parameters
        ----------
        data : pandas, polars or Arrow table, dict of columns, array, or source
            A source is a path or another one that `rlselect.data.open_source` takes. With a formula, a table.
            Without one, the covariates (an intercept is added), either an array with
            `y` or the tuple ``(X, y)``, or a table whose other columns are all covariates.
        y : array or str, optional
            Response, or the name of its column; only without a formula.
        id, time : str or array
            Columns (or arrays) that say whom and when a row is about. Times are numbers or dates.
        sample_weight : str or array, optional
            How often rows count in curves: a weight of k is k copies. To standard errors a subject is one
            subject, whatever it weighs. 0 takes a row out.
        available : str or array, optional
            True where a row counts as observed. Absent rows and rows with a missing response or covariate
            are unavailable anyway.
        offset : str or array, optional
            Known part of the linear predictor, such as the logarithm of an exposure.
        cluster : str or array, optional
            Group of subjects that are not independent of each other, such as a family or a hospital; the same
            for all rows of a subject. Influence functions, bands and tests are then those of clusters, with
            the leverage of whole clusters (CR2) where they are few.
        dropout : list of str, optional
            Columns (numbers) on which it may depend whether a subject stays, such as the response. A logistic
            regression of being there at the next time or later, on these columns as last seen and on time,
            gives every row the inverse of the probability that its subject is still there as a weight
            (missing at random; a gap before a subject's return is no drop-out). That the weights are
            estimated is part of the influence functions. With visits "bin" the times are bins; with "carry"
            and "local" the regression is about rows, whatever the grid: does the subject have another one?
            Rows so late that another one, after a long gap, might lie beyond the end, are not asked.
        dropout_quantile : float, default=1.0
            Weights above this quantile of those at the same time (with visits "carry" and "local": of rows
            with as many before them) are cut to it, so that no subject who was very likely to leave rules a
            curve: .99 makes curves steadier, at the price of some bias. 1 leaves all as they are.
            ``n_effective_`` tells how many subjects of equal weight would know as much; a
            `SmallSampleWarning` of intervals and tests says where they are less than half of those available,
            or would be by the model of staying: who happened to stay may look better.

        Returns
        -------
        self
            Fitted. When ``bandwidth="cv"`` is stopped by `time_budget`, Ctrl-C or a callback, the folds done
            choose.
        """
        check_value("dropout_quantile", dropout_quantile, _QUANTILE)
        if dropout is None and dropout_quantile != 1.0:
            raise ValueError(
                f"dropout_quantile={dropout_quantile!r} was given without dropout, whose weights it cuts: "
                "leave it out, or name the columns on which staying depends."
            )
        roles = (sample_weight, available, offset, cluster, dropout, float(dropout_quantile))
        long = LongData(data, y, id, time, *roles)
        read = partial(build_design, self.formula, long)
        return self._learn_aside(read, time if isinstance(time, str) else "time")

    def _fit(self, progress: Progress, read: Callable[[Schedule], ProcessDesign], time_name: str) -> None:
        if self.bandwidth is None:
            refuse_unused(self, ["kernel"], "bandwidth=None", "give a bandwidth to smooth, or leave it out")
        elif self.n_splines is not None:
            refuse_unused(self, ["n_splines"], "a bandwidth", "smooth by one of them")
        self.variance_ = USUAL_VARIANCE[self.link] if self.variance == "auto" else self.variance
        equations = Equations(self.link, self.variance_, self._constant_names())
        with fit_clock(self.time_budget):
            design = read(self._schedule())
            check_response(design, self.link, self.variance_)
            design.refuse_long(self.time_budget)
            raw = equations.solve(design)
            _refuse_all_flagged(raw)
            if self.visits == "exact" and hardly_shared(raw):
                warnings.warn(hardly_shared(raw), FlaggedTimeWarning, stacklevel=user_level())
            window = self._choose_window(progress, design, equations, raw)
            splines = None
            if self.n_splines is not None:
                splines = fit_splines(design, equations, raw, self.n_splines)
        if design.n_given is not None:
            self.stop_reason_ = f"time budget, {len(design.subjects)} of {design.n_given} subjects"
        self._keep(FittedCurves(design, equations, raw, time_name, window, splines))

    def _schedule(self) -> Schedule:
        if self.visits != "bin":
            refuse_unused(self, ["several"], f"visits={self.visits!r}", "it is a rule for visits='bin'")
        if self.visits != "local":
            return Schedule(self.visits, self.grid, self.several)
        if self.bandwidth is None or isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} was given; visits='local' needs a number: how far a visit "
                "reaches."
            )
        window = Window(float(self.bandwidth), self.kernel)
        return Schedule(self.visits, self.grid, self.several, window.weights, window.width)

    def _constant_names(self) -> tuple[str, ...]:
        return (self.constant,) if isinstance(self.constant, str) else tuple(self.constant or ())

    def _choose_window(
        self, progress: Progress, design: ProcessDesign, equations: Equations, raw: Estimate
    ) -> Window | None:
        """How to smooth, after a search if asked for; None without smoothing."""
        self.path_ = {"bandwidth": np.zeros(0), "score": np.zeros(0)}
        self.stop_reason_ = "nothing to choose from"
        report = progress.begin(N_FOLDS if self.bandwidth == "cv" else 1)
        if self.bandwidth is None or self.visits == "local":
            return None
        if isinstance(self.bandwidth, str):
            with jobs(self.n_jobs):
                self.path_, self.stop_reason_ = score_bandwidths(
                    self.bandwidth, design, equations, raw, self.kernel, report
                )
            warn_if_interrupted(self.stop_reason_, type(self).__name__, "some of the folds of bandwidth='cv'")
            self.bandwidth_ = float(self.path_["bandwidth"][np.nanargmin(self.path_["score"])])
        else:
            self.bandwidth_ = float(self.bandwidth)
        return Window(self.bandwidth_, self.kernel)

    def _keep(self, fitted: FittedCurves) -> None:
        raw = fitted.raw
        self._fitted = fitted
        self.times_, self.subjects_ = fitted.design.times, fitted.design.subjects
        self.coef_, self.se_ = fitted.frame(raw.beta), fitted.frame(raw.se)
        self.n_independent_ = fitted.design.n_independent
        self.n_available_, self.flags_ = raw.n_available, raw.flags
        import pandas as pd

        stays = fitted.design.dropout
        if stays is not None:
            self.dropout_coef_ = pd.Series(stays.coef, index=stays.names)
            self.n_effective_ = fitted.design.n_effective()
        if fitted.splines is not None:
            self.penalties_, self.edf_ = (
                pd.Series(values, index=fitted.design.names)
                for values in (fitted.splines.penalties, fitted.splines.edf)
            )
        if fitted.is_smoothed:
            smoothed = fitted.curves(smoothed=True)
            self.smoothed_coef_, self.smoothed_se_ = fitted.frame(smoothed.beta), fitted.frame(smoothed.se)

    @property
    def influence_(self) -> Array:
        """Influence functions, (subjects, times, covariates), where many worked out at every look."""
        check_is_fitted(self)
        return self._fitted.whole_influence().transpose(2, 0, 1)

    def backward_selection(
        self,
        alpha: float = 0.05,
        kind: Statistic = "ids",
        always_select: Sequence[str] = (),
        n_draws: int = 5000,
        random_state: RandomState = None,
    ) -> Selection[Self]:
        """Drop the least significant term, refit, and repeat until all are significant.

        Terms are tested as a whole (all columns of a category); a term inside an interaction is only tested
        once the interaction is gone; the intercept stays. All steps use the rows that are complete for the
        full model, so that their p-values can be compared.

        Parameters
        ----------
        alpha : float, default=0.05
            Size of the tests: a term with a larger p-value may be dropped.
        kind : {"ids", "sds", "squared"}
            The statistic, as in `test`.
        always_select : sequence of str
            Terms that are never dropped.
        n_draws : int, default=5000
            Draws per test, for ``"sds"`` and ``"squared"``.
        random_state : int, Generator, RandomState or None
            Seed of the draws.

        Returns
        -------
        Selection
            With `model`, `selected`, `dropped` and the table `steps`.
        """
        check_is_fitted(self)
        return select_backward(
            self,
            self._fitted.design,
            self._refit,
            alpha=alpha,
            kind=kind,
            always_select=always_select,
            n_draws=n_draws,
            rng=as_generator(random_state),
        )

    def _refit(self, terms: list[str]) -> Self:
        """A new estimator, fitted to some of the terms on the same rows."""
        design = self._fitted.design.with_terms(terms)
        new = clone(self)
        if self.formula is not None:
            new.formula = reduced_formula(self.formula, design.spec.formula)
        named = (*design.names, *design.terms)
        new.constant = [name for name in self._constant_names() if name in named] or None
        return new._learn_aside(lambda schedule: design, self._fitted.time_name)

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: RandomState = 0,
    ) -> Summary:
        """Account of the effects: for each covariate its average, range, both tests of no effect, and curve.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it, whole or not at all: the name ends in .html, .md or .json.
        level : float, default=0.95
            Probability that a band covers the whole curve.
        n_draws : int, default=1000
            Draws of the process for bands and tests.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the draws.

        Returns
        -------
        Summary
            ``str()`` gives text, ``dict`` the values behind it; notebooks show a page, ``save`` writes one.
        """
        return self._written(
            path, lambda: self._report(level=level, n_draws=n_draws, random_state=random_state)
        )

    def _report(self, **options: Any) -> dict[str, Any]:
        return report_of(self._fitted, self.formula, self._how_visits_meet(), **options) | {
            "seconds": self._seconds
        }

    def _how_visits_meet(self) -> str:
        """Which visits count at a time, in words; nothing where they are those of that time."""
        one = "their mean" if self.several == "mean" else f"the {self.several} of several"
        return {
            "carry": "the last one counts until the next",
            "bin": f"those within a bin, {one}",
            "local": f"those near a time, {self.kernel} kernel, bandwidth {self.bandwidth}",
        }.get(self.visits, "")

    def _marks(self) -> Marks:
        """What the fit says of each covariate, for `rlselect.report.side_by_side`."""
        return marks_of(self._report())


def _refuse_all_flagged(raw: Estimate) -> None:
    if not raw.sound.any():
        reasons = [reason for reason in raw.flags if reason]
        common = max(set(reasons), key=reasons.count)
        raise ValueError(f"none of the {len(reasons)} time points can be estimated; most often: {common}")
