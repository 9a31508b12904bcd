"""RiskRFE: recursive feature elimination by regularised empirical risk."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rlselect._capabilities import TABLES, Takes
from rlselect._clock import PARTS, Clock, fit_clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._options import (
    AUTO,
    NONE,
    anything,
    flag,
    instance,
    number,
    one_of,
    refuse_unused,
    whole,
    with_methods,
)
from rlselect._parallel import jobs
from rlselect._random import RandomState, as_generator
from rlselect.data import MISSING_MODES, FeatureUnits, TableEncoder, open_table, read_units
from rlselect.machines import (
    KERNELS,
    LOSSES,
    STOPPING_RULES,
    AdditiveKernel,
    ChangePoint,
    ChiSquaredKernel,
    EliminationPath,
    LinearKernel,
    Loss,
    Threshold,
    constant_decision,
    eliminate,
    fit_clone,
    make_kernel,
    name_of_kernel,
    needs_one_curve,
)
from rlselect.subset.risk_rfe._choice import Choice, choose, choose_nothing
from rlselect.subset.risk_rfe._in_time import fits_in_time, rows_in_time, some_rows
from rlselect.subset.risk_rfe._inputs import (
    RiskData,
    choose_loss,
    column_scale,
    make_cycle,
    open_data,
    read_data,
    read_design,
    rows_that_count,
)
from rlselect.subset.risk_rfe._machine import ConstantMachine, FinalMachine, LinearMachine, fit_machine
from rlselect.subset.risk_rfe._problem import Halves, MachinePlan, plan_size, pose_estimator
from rlselect.subset.risk_rfe._report import ReportedElimination
from rlselect.subset.risk_rfe._walk import SizeRule, best_elimination, nearest_place

__all__ = ["RiskRFE"]

Array = NDArray[np.float64]
# beyond, squares of the coefficients are no numbers
_NUMBER = number("a number from 1e-100 to 1e100", least=1e-100, most=1e100)

# of decisions that differ by rounding alone the first class is taken
_TIE = 1e-12


def _has_decision(selector: "RiskRFE") -> bool:
    own = selector.estimator is None or hasattr(selector.estimator, "decision_function")
    return bool(selector._classifies()) and own


def _has_proba(selector: "RiskRFE") -> bool:
    if selector.estimator is not None:
        return hasattr(selector.estimator, "predict_proba")
    loss = getattr(selector, "loss_", selector.loss)
    return getattr(loss, "name", loss) == "logistic"


class RiskRFE(ReportedElimination):
    r"""Recursive feature elimination by the regularised empirical risk of a kernel machine.

    From all features on, remove the one whose absence leaves the smallest

    .. math:: \min_{f \in H^J,\, b}\; \lambda \|f\|^2 + \frac{1}{W} \sum_i w_i\, L(y_i, f(x_i) + b),

    until none is left, then choose a size by a rule on the way that was taken. The order is the one an
    exhaustive loop would give; candidates are skipped only when a bound proves them worse.

    Parameters
    ----------
    estimator : estimator, optional
        Any scikit-learn regressor or classifier, judged by the empirical risk of `loss` (Algorithm 31). Then
        `kernel`, `regularization`, `bandwidth`, `criterion`, `fit_intercept` and `n_landmarks` have no
        effect, and are refused.
    loss : {"auto", "squared", "squared_label", "hinge", "epsilon_insensitive", "logistic"} or object
        "squared" and "epsilon_insensitive" make a regressor, the others a classifier (several classes: the
        objectives of one class against the rest are added). "auto", the default, is "squared" for numbers and
        "squared_label" for classes: text, truth values and whole numbers. Whole numbers that are hardly
        labels (more than twenty, with fewer than five rows each) are refused; quantities such as counts need
        ``loss="squared"``. With an `estimator`, "auto" goes by its kind: "squared", "logistic" or, without
        `predict_proba`, "hinge". ``EpsilonInsensitiveLoss(epsilon)`` changes the tube from 0.1.
    kernel : {"auto", "rbf", "anova", "linear", "poly", "chi2"}, kernel object or callable, default="auto"
        "auto" eliminates by "rbf", by "linear" and by "anova", and takes the one whose selection has the best
        out-of-sample risk for its size; that is done where machines are cheap and can be compared (squared
        losses, up to 1000 rows, parameters and criterion as by default, a size chosen by leave-one-out or
        given), and "auto" is "rbf" elsewhere. "anova" is the product over features of ``1 + exp(-(x - z)^2 /
        bandwidth^2) / d``: effects of single features weigh more than those of pairs, and pairs more than
        triples, so that a wave in one of many features is seen. "chi2" is for histograms (X >= 0).
        ``PolynomialKernel(degree, coef0)`` changes the polynomial from ``(1 + <x, z> / bandwidth^2)^3``.
        :class:`~rlselect.subset.AdditiveKernel` declares a kernel as a function of a sum over features. A
        callable ``kernel(A, B)`` may carry an attribute ``removal``: "zero" (the default: removed columns are
        set to zero), "drop" (they are deleted) or a callable ``removal(X, columns) -> X``.
    regularization : float or {"auto", "paper"}, default="auto"
        :math:`\lambda`. "auto" chooses by out-of-sample risk over ``2 / (n lambda) = 0.01 x 10^i`` at the
        start, whenever the set has halved, at each of the last eight sets (squared losses) and for the final
        machine; where no other loss beats a constant by it, the middle of the grids eliminates. "paper"
        searches i = 0..4 once. A number is never changed.
    bandwidth : float or {"auto", "paper"}, default="auto"
        :math:`\gamma` in ``exp(-|x - z|^2 / gamma^2)``; kernels without a width refuse one. "auto"
        standardises the columns and searches multiples of ``sqrt(2 d)``, d being the number of columns left
        ("anova": of ``sqrt(2)``, the narrowest first); "paper" searches 1, 2, 3, 4 once on X as given. A
        number is never changed and X is used as given. (The linear kernel standardises when
        ``regularization="auto"``.)
    criterion : {"risk", "norm"}, default="risk"
        "norm" removes the feature whose absence changes ``|f|^2`` least with the coefficients held fixed
        (Guyon et al.).
    step : int, float in (0, 1) or callable, default=1
        Features (groups) removed in one cycle: a number, a fraction of those left, or a function of their
        number.
    stopping : {"loo-2se", "loo-ric", "change-point", "held-out"}, Threshold, ChangePoint or int
        "loo-ric", the default: the smallest ``n log(risk) + 2 (k + 1) log(d)`` for k of d features (groups),
        where nothing costs nothing ("hinge" and "logistic": ``n risk``), or a smaller set whose loss is
        larger for a few rows only (four times its squared paired t is below the difference of the charges,
        of at most n / 2). "loo-2se": the smallest set whose out-of-sample risk is within two paired standard
        errors of the best. "change-point": where the objective leaves its straight line. "held-out": half of
        the rows fit, the other half judge both removals and size (Algorithm 26). ``Threshold(delta)``: a
        removal may raise the objective by ``delta`` at most (Algorithms 2 and 21). An integer: so many
        features. Out-of-sample risk is exact leave-one-out for the squared losses and five-fold otherwise.
    safeguard : float in [0, 1], default=0.0
        Also keep the ``floor(safeguard * d)`` next best features (groups).
    fit_intercept : bool, default=True
        Whether the machine has the unpenalised constant b.
    feature_groups : dict, list of lists, or one label per feature, optional
        Features that stay or leave together. The indicators of a text or categorical column always do.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values: refuse them, leave out their rows, or impute the mean and add an
        indicator.
    transform_as : {"columns", "design"}, default="columns"
        What `transform` gives: the selected features as they came, or their numeric design columns.
    n_landmarks : int, None or "auto", default="auto"
        Rows whose kernel functions span a machine with a squared loss (Nyström), for O(n m^2) instead of
        O(n^3) operations. None is all rows. "auto" is all of up to 3000 rows and 300 of more; and at most 300
        where `time_budget` is too short for all.
    time_budget : float, optional
        Seconds after which the elimination stops; the size is chosen among the sets it has visited. In haste
        more features leave at once than `step` says, and machines learn from some rows: `stop_reason_` tells.
    n_jobs : int, optional
        Refits of an `estimator` at a time, see joblib; None leaves it to `joblib.parallel_config`. The
        answer does not depend on it. Kernel machines judge all candidates in closed form, at once.
    random_state : int, Generator, RandomState or None, default=None
        Only used to split the rows for ``stopping="held-out"``.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        Selected features (possibly none).
    ranking_ : int array of shape (n_features,)
        A permutation: 1 is kept longest, the last is eliminated first. Features of a group have neighbouring
        ranks.
    path_ : dict of arrays
        One entry per visited set: ``n_features``, ``objective``, ``risk`` and ``standard_error`` (out of
        sample), ``difference`` and ``difference_standard_error`` (paired, from the best set),
        ``regularization``, ``bandwidth``.
    n_features_ : int
        How many are selected.
    stop_reason_ : str
        Why the set has this size; begins with "interrupted", "time budget" or "callback" when the
        elimination was broken off.
    loss_, kernel_ : str
        Names of the loss and the kernel that were used (`kernel_` without an `estimator`).
    regularization_, bandwidth_ : float
        Of the final machine.
    n_landmarks_, kernel_error_ : int, float
        Kernel machines only: rows that span the machine's functions, and the share of the rows' kernel values
        that they do not reach (0 when all rows are used).
    center_, scale_ : arrays of shape (n_columns,)
        What was subtracted from and divided into the design columns (0 and 1 when X is used as given).
    coef_ : array of shape (n_columns,), or (1 or n_classes, n_columns) for a classifier
        Linear kernel only: one coefficient per design column in its given units, zero where not selected.
    intercept_ : float, or array of shape (1 or n_classes,) for a classifier
        Linear kernel only.
    column_names_ : list of str
        Names of the design columns: features, indicators "city=Paris", gaps "age=missing".
    estimator_ : estimator
        The refitted `estimator`, if one was given and a feature was selected.
    classes_ : array
        Class labels, for classifiers.
    response_names_ : list of str
        Names of several responses; `coef_` has a row, `intercept_` an entry for each.
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    See Also
    --------
    REVS : For linear, logistic and Poisson models; faster there, and for large data.
    MismatchFeatures : Columns for sequences.

    Notes
    -----
    Cost: squared loss O(d n^3) for the factorisations plus O(d^2 n^2) for the bounds (a few per cent of the
    d^2 / 2 candidates are solved); squared loss with the linear kernel O(n d^2 + d^3). Other losses, and
    more than two classes, solve a machine for each candidate that its bound does not exclude. Memory O(n^2),
    O(n d) for the linear kernel; with m landmarks O(d^2 n m^2) and little memory. What does not fit into the
    memory is refused before work starts, and the message says what does.

    Weights count rows: a weight of 2 is the same as the row twice.

    Differs from [1]_: the squared losses, the kernel "anova", the rules on out-of-sample risk and re-tuning
    are ours; :meth:`paper` gives the dissertation's choices.

    References
    ----------
    .. [1] S. Dasgupta (2014), "Non-parametric and semi-parametric methods for parsimonious statistical
       learning with complex data", chapter 3.
    .. [2] I. Guyon et al. (2002), "Gene selection for cancer classification using support vector machines".

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect import RiskRFE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(120, 8))
    >>> y = X[:, 1] * X[:, 4]
    >>> selector = RiskRFE().fit(X, y)
    >>> np.flatnonzero(selector.support_)
    array([1, 4])
    """

    _takes: ClassVar = Takes(
        outcomes=("numbers", "two classes", "several classes", "several responses"),
        data=("sample weights", "feature groups", *TABLES),
    )
    _options: ClassVar = {
        "estimator": NONE
        | with_methods("an estimator with fit and predict", "fit", "predict", "__sklearn_tags__"),
        "loss": one_of("auto", *LOSSES) | instance("a loss object", *LOSSES.values()),
        "kernel": one_of("auto", *KERNELS) | anything("a kernel object or a callable kernel(A, B)", callable),
        "regularization": one_of("auto", "paper") | _NUMBER,
        "bandwidth": one_of("auto", "paper") | _NUMBER,
        "criterion": one_of("risk", "norm"),
        "step": whole(1)
        | number("a fraction between 0 and 1 of the features left", above=0.0, below=1.0)
        | anything("a function of their number", callable),
        "stopping": one_of(*STOPPING_RULES)
        | instance("Threshold(...)", Threshold)
        | instance("ChangePoint(...)", ChangePoint)
        | whole(0, "a number of features"),
        "safeguard": number("a fraction between 0 and 1", least=0.0, most=1.0),
        "fit_intercept": flag(),
        "missing": one_of(*MISSING_MODES),
        "transform_as": one_of("columns", "design"),
        "n_landmarks": AUTO | NONE | whole(2, "the number of rows that span a machine's functions"),
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: Literal["auto", "squared", "squared_label", "hinge", "epsilon_insensitive", "logistic"]
        | Loss = "auto",
        kernel: Literal["auto", "rbf", "anova", "linear", "poly", "chi2"]
        | AdditiveKernel
        | Callable[[Array, Array], Array] = "auto",
        regularization: float | Literal["auto", "paper"] = "auto",
        bandwidth: float | Literal["auto", "paper"] = "auto",
        criterion: Literal["risk", "norm"] = "risk",
        step: float | Callable[[int], int] = 1,
        stopping: Literal["loo-2se", "loo-ric", "change-point", "held-out"]
        | Threshold
        | ChangePoint
        | int = "loo-ric",
        safeguard: float = 0.0,
        fit_intercept: bool = True,
        feature_groups: Any = None,
        missing: Literal["error", "drop", "indicator"] = "error",
        transform_as: Literal["columns", "design"] = "columns",
        n_landmarks: int | Literal["auto"] | None = "auto",
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.kernel = kernel
        self.regularization = regularization
        self.bandwidth = bandwidth
        self.criterion = criterion
        self.step = step
        self.stopping = stopping
        self.safeguard = safeguard
        self.fit_intercept = fit_intercept
        self.feature_groups = feature_groups
        self.missing = missing
        self.transform_as = transform_as
        self.n_landmarks = n_landmarks
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The dissertation's choices: its grids searched once by five folds, X as given, its change point.

        Parameters
        ----------
        **changes
            Parameters of the constructor. The dissertation's machines are support vector machines with a
            Gaussian kernel (``loss="hinge"``, the default here) and support vector regression
            (``loss="epsilon_insensitive"``). One thing differs: equations 3.2 and 3.4 have no intercept, the
            machines of the dissertation's software have one; ``fit_intercept=False`` is the equations.

        Returns
        -------
        RiskRFE
            Unfitted.

        Examples
        --------
        >>> from rlselect import RiskRFE
        >>> RiskRFE.paper(kernel="linear").stopping
        'change-point'
        """
        choices: dict[str, Any] = {"stopping": "change-point"}
        if changes.get("estimator") is None:
            choices |= {"loss": "hinge", "regularization": "paper"}
            kernel = changes.get("kernel", "rbf")
            choices["kernel"] = kernel
            kernel = KERNELS.get(kernel) if isinstance(kernel, str) else kernel
            if getattr(kernel, "uses_bandwidth", False):
                choices["bandwidth"] = "paper"
        return cls(**{**choices, **changes})

    def _takes_several(self) -> bool:
        return self.estimator is None and super()._takes_several()

    def _classifies(self) -> bool | None:
        name = getattr(self, "loss_", self.loss)
        if not isinstance(name, str):
            return bool(getattr(name, "classifies", False))
        if name == "auto":
            return None if self.estimator is None else is_classifier(self.estimator)
        return LOSSES[name].classifies if name in LOSSES else False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.input_tags.positive_only = self.kernel == "chi2" or isinstance(self.kernel, ChiSquaredKernel)
        return tags

    def _takes_sparse(self) -> bool:
        if self.estimator is None:
            return isinstance(self.kernel, LinearKernel) or self.kernel == "linear"
        try:
            return bool(self.estimator.__sklearn_tags__().input_tags.sparse)
        except AttributeError:
            return True

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Eliminate, choose a size and fit the machine on the selected features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            NumPy, pandas, polars, Arrow; sparse for the linear kernel or an estimator that takes it. Text and
            categorical columns become indicators that stay or leave together.
        y : array-like of shape (n_samples,) or (n_samples, n_responses), str, or list of str
            Numbers or class labels, see `loss`, or the name of their column in X. Several responses are
            numbers: their objectives, in units of their variances, are added.
        sample_weight : array-like of shape (n_samples,) or str, optional
            How often each row counts; rows of weight zero are left out.

        Returns
        -------
        self
            Fitted, also when the elimination was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y, sample_weight)

    def _fit(self, progress: Progress, X: Any, y: Any, sample_weight: Any) -> None:
        name = type(self).__name__
        plan, rng = self._plan(), as_generator(self.random_state)
        self._require_target(y)
        table, responses = open_data(X, y, sample_weight, self.missing, name)
        assert table.y is not None
        rows = rows_that_count(table, name)
        loss = choose_loss(self.loss, table.y[rows], self.estimator, responses is not None)
        units = read_units(table.encoder, self.feature_groups)
        data = read_data(table, rows, loss, units.units, self._takes_sparse(), responses)
        self._response_center, self._response_scale = np.zeros(1), np.ones(1)
        if responses is not None:
            self.response_names_ = responses.names
            self._response_center, self._response_scale = responses.center, responses.scale
        self._keep_table(table.encoder, data)
        n_groups = units.units.n_units
        halves = data.halves(rng) if self.stopping == "held-out" else None
        one_curve = needs_one_curve(self.stopping)
        ways = 1 if self.estimator is not None else len(plan.alternatives(data, halves, one_curve))
        clock = fit_clock(self.time_budget, ways * n_groups, progress.begin(min(PARTS, ways * n_groups)))
        if not loss.classifies and self.fit_intercept and np.ptp(data.y) <= 1e-12 * np.abs(data.y).max():
            self._keep_choice(choose_nothing(units), units)
            self._machine: FinalMachine = ConstantMachine(data.weights @ data.targets / data.weights.sum())
            self._kernel = plan.kernel
            return
        if self.estimator is not None:
            self._fit_estimator(data, units, halves, clock)
            return
        try:
            self._fit_kernel(plan, data, units, halves, clock)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "The kernel matrix plus n * lambda is singular to working precision with regularization="
                f"{self.regularization!r}; use a larger number or 'auto'."
            ) from error

    def _plan(self) -> MachinePlan:
        is_open = isinstance(self.kernel, str) and self.kernel == "auto"
        plan = MachinePlan(
            make_kernel("rbf" if is_open else self.kernel),
            self.regularization,
            self.bandwidth,
            self.criterion,
            self.fit_intercept,
            open_kernel=is_open,
        )
        if self.estimator is not None:
            idle = ("kernel", "regularization", "bandwidth", "criterion", "fit_intercept", "n_landmarks")
            refuse_unused(self, idle, "an estimator", "set what the estimator has of it there")
        elif not plan.uses_bandwidth:
            refuse_unused(self, ("bandwidth",), "a kernel that has no width", "leave it out")
        return plan

    def _fit_estimator(
        self, data: RiskData, units: FeatureUnits, halves: Halves | None, clock: Clock
    ) -> None:
        with jobs(self.n_jobs), clock:
            some, halves = fits_in_time(self.estimator, data, halves, clock.left)
            path = eliminate(pose_estimator(self.estimator, some, halves), make_cycle(self.step), hurry=True)
        self._choose(path, units, some_rows(some, len(data.y)))
        if len(self._columns):
            self.estimator_ = fit_clone(self.estimator, some.X[:, self._columns], some.y, some.weights)
        else:
            self._machine = ConstantMachine(constant_decision(data.loss, data.targets, data.weights))

    def _fit_kernel(
        self, plan: MachinePlan, data: RiskData, units: FeatureUnits, halves: Halves | None, clock: Clock
    ) -> None:
        if isinstance(plan.kernel, AdditiveKernel):
            plan.kernel.check(data.X)
        X, n = data.dense, len(data.y)
        if plan.standardises:
            self.center_, self.scale_ = column_scale(X, data.weights)
            X = (X - self.center_) / self.scale_
        data, halves = rows_in_time(plan, replace(data, X=X), halves, self.n_landmarks, clock.left)
        plan = plan_size(plan, data, halves, self.n_landmarks, clock.left, type(self).__name__)
        rule = SizeRule(self.step, self.stopping, self.safeguard)
        with clock:
            plan, path = best_elimination(plan, data, units, halves, rule, clock)
        reason = self._choose(path, units, some_rows(data, n))
        if plan.once or path.broken_off:  # no time is left to choose them for the set that was
            chosen = 0 if plan.once else nearest_place(self.path_["n_features"], self.n_features_)
            plan = plan.with_parameters(path.lam[chosen], path.bandwidth[chosen])
        with clock.afterwards() as rest:
            given = data, self._columns, self.center_, self.scale_
            machine, self.regularization_, self.bandwidth_ = fit_machine(plan, *given)
        if rest.reason and not path.broken_off:
            self.stop_reason_ = f"{rest.reason}; {reason}"
        self._machine, self._kernel, self.kernel_ = machine, plan.kernel, name_of_kernel(plan.kernel)
        self.n_landmarks_ = len(data.y) if plan.n_landmarks is None else plan.n_landmarks
        self.kernel_error_ = getattr(machine, "kernel_error", 0.0)
        if isinstance(machine, LinearMachine):
            coef = machine.coefficients(len(self.column_names_)) * self._response_scale[:, None]
            intercept = machine.intercept * self._response_scale + self._response_center
            whole = data.loss.classifies or len(coef) > 1
            self.coef_ = coef if whole else coef[0]
            self.intercept_ = intercept if whole else float(intercept[0])

    def _keep_table(self, encoder: TableEncoder, data: RiskData) -> None:
        self.encoder_ = encoder
        self._keep_names(encoder.n_features_in_, encoder.feature_names_in_)
        self.column_names_ = list(encoder.column_names_)
        self.loss_, self._lone = data.loss.name, data.lone
        if data.classes is not None:
            self.classes_ = data.classes
            rows = data.y[:, None] == data.classes
            self._shares = data.weights @ rows / data.weights.sum()
        self.center_, self.scale_ = np.zeros(data.X.shape[1]), np.ones(data.X.shape[1])

    def _choose(self, path: EliminationPath, units: FeatureUnits, rows: str = "") -> str:
        early = path.broken_off or ("time budget, several features left at once" if path.hurried else "")
        first, last = path.sizes[0], path.sizes[-1]
        warn_if_interrupted(early, type(self).__name__, f"{first - last} of {first} removals")
        path.broken_off = (early or "time budget") + rows if rows else early
        choice = choose(path, self.stopping, self.safeguard, self.loss_, units)
        self._keep_choice(choice, units)
        return choice.reason

    def _keep_choice(self, choice: Choice, units: FeatureUnits) -> None:
        self.support_, self.ranking_, self.path_ = choice.support, choice.ranking, choice.path
        self.n_features_ = int(choice.support.sum())
        self.stop_reason_ = choice.reason
        self._columns: NDArray[np.intp] = np.flatnonzero(choice.kept[units.units.unit_of])

    def _design(self, X: Any) -> Any:
        """All design columns of new rows."""
        check_is_fitted(self)
        table = open_table(X, encoder=self.encoder_, owner=type(self).__name__)
        design = read_design(table, self._takes_sparse())
        if self.estimator is None and isinstance(self._kernel, AdditiveKernel):
            self._kernel.check(design)
        return design

    def predict(self, X: Any) -> NDArray:
        """Predict from the selected features.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            New rows, with all features.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_responses)
            Class labels, or numbers.
        """
        design = self._design(X)
        if hasattr(self, "estimator_"):
            return np.asarray(self.estimator_.predict(design[:, self._columns]))
        decision = self._machine.decision(design)
        if not hasattr(self, "classes_"):
            numbers = decision * self._response_scale + self._response_center
            return numbers if hasattr(self, "response_names_") else numbers[:, 0]
        if decision.shape[1] == 1:
            return np.asarray(self.classes_[(decision[:, 0] > _TIE).astype(int)])
        best = decision > decision.max(axis=1, keepdims=True) - _TIE
        return np.asarray(self.classes_[np.argmax(best, axis=1)])

    @available_if(_has_decision)
    def decision_function(self, X: Any) -> Array:
        """Decision values.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Of the second of two classes, or of each of several classes.
        """
        design = self._design(X)
        if hasattr(self, "estimator_"):
            return np.asarray(self.estimator_.decision_function(design[:, self._columns]))
        decision = self._machine.decision(design)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    @available_if(_has_proba)
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, of the logistic loss or of the estimator.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        design = self._design(X)
        if hasattr(self, "estimator_"):
            return np.asarray(self.estimator_.predict_proba(design[:, self._columns]))
        if isinstance(self._machine, ConstantMachine):
            return np.tile(self._shares, (design.shape[0], 1))
        share = expit(self._machine.decision(design))
        if share.shape[1] == 1:
            return np.column_stack([1.0 - share[:, 0], share[:, 0]])
        return share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
