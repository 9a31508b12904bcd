"""risk-RFE: recursive feature elimination by regularised empirical risk."""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rlselect._estimator import Estimator
from rlselect._parallel import jobs
from rlselect.machines import (
    AdditiveKernel,
    EliminationPath,
    EstimatorProblem,
    HeldOutProblem,
    KernelProblem,
    LinearKernel,
    RidgeProblem,
    SquaredKernelProblem,
    Tuner,
    check_estimator_suits,
    check_rule,
    choose_size,
    eliminate,
    fold_numbers,
    make_kernel,
    make_loss,
    make_state,
    needs_one_curve,
    paired_comparison,
)
from rlselect.subset.risk_rfe._inputs import (
    check_gram,
    check_weights,
    column_scale,
    make_cycle,
    parse_feature_groups,
)
from rlselect.subset.risk_rfe._machine import FinalMachine
from rlselect.subset.risk_rfe._report import report_of

__all__ = ["RiskRFE"]

# Below this many rows the size is chosen by next to nothing, and stop_reason_ says so.
_FEW_ROWS = 10


class RiskRFE(FinalMachine, SelectorMixin, Estimator):
    r"""Recursive feature elimination by the regularised empirical risk of a kernel machine.

    From all features on, remove the one whose absence leaves the smallest

    .. math:: \min_{f \in H^J,\, b}\; \lambda \|f\|^2 + \frac{1}{W} \sum_i w_i\, L(y_i, f(x_i) + b),

    until none is left, then choose a size by a rule on the way that was taken. The order is the one an
    exhaustive loop would give; candidates are skipped only when a bound proves them worse.

    Parameters
    ----------
    estimator : estimator, optional
        Any scikit-learn regressor or classifier, judged by the empirical risk of ``loss`` (Algorithm 31).
        Then ``kernel``, ``regularization``, ``bandwidth`` and ``fit_intercept`` are the estimator's own
        business.
    loss : {"squared", "hinge", "epsilon_insensitive", "logistic"} or a loss object, default="squared"
        The first and third make a regressor, the others a classifier (several classes: the objectives of one
        class against the rest are added). ``EpsilonInsensitiveLoss(epsilon)`` changes the tube from 0.1.
    kernel : {"rbf", "linear", "poly", "chi2"}, kernel object or callable, default="rbf"
        ``chi2`` is for histograms (X >= 0). ``PolynomialKernel(degree, coef0)`` changes the polynomial from
        ``(1 + <x, z> / bandwidth^2)^3``. :class:`~rlselect.subset.AdditiveKernel` declares a kernel as a
        function of a sum over features. A callable ``kernel(A, B)`` may carry an attribute ``removal``:
        "zero" (the default: removed columns are set to zero), "drop" (they are deleted) or a callable "
        "``removal(X,
        columns) -> X``.
    regularization : float or {"auto", "paper"}, default="auto"
        :math:`\lambda`. "auto" chooses by out-of-sample risk over ``2 / (n lambda) = 0.01 x 10^i`` at the
        start, whenever the set has halved and for the final machine. "paper" searches i = 0..4 once. A
        number is never changed.
    bandwidth : float or {"auto", "paper"}, default="auto"
        :math:`\gamma` in ``exp(-|x - z|^2 / gamma^2)``; ignored by kernels without a width. "auto"
        standardises the columns and searches multiples of ``sqrt(2 d)``, d being the number of columns left;
        "paper" searches 1, 2, 3, 4 once on X as given. A number is never changed and X is used as given. "
        "(The linear kernel
        standardises when ``regularization="auto"``.)
    criterion : {"risk", "norm"}, default="risk"
        "norm" removes the feature whose absence changes ``|f|^2`` least with the coefficients held fixed "
        "(Guyon et
        al.).
    step : int, float in (0, 1) or callable, default=1
        Features (groups) removed in one cycle: a number, a fraction of those left, or a function of their
        number.
    stopping : {"loo-2se", "loo-ric", "change-point", "held-out"}, Threshold, ChangePoint or int,
    default="loo-2se"
        "loo-2se": the smallest set whose out-of-sample risk is within two paired standard errors of the best.
        "loo-ric": the smallest ``n log(risk) + 2 k log(d)``. "change-point": where the objective leaves "
        "its straight
        line. "held-out": half of the rows fit, the other half judge both removals and size (Algorithm 26).
        ``Threshold(delta)``: a removal may raise the objective by ``delta`` at most (Algorithms 2 and 21).
        An integer: so many features. Out-of-sample risk is exact leave-one-out for the squared loss and
        five-fold otherwise.
    safeguard : float in [0, 1], default=0.0
        Also keep the ``floor(safeguard * d)`` next best features.
    fit_intercept : bool, default=True
        Whether the machine has the unpenalised constant b.
    feature_groups : sequence or mapping, optional
        Features that stay or leave together: one label a feature, or lists of columns (numbers or names).
    n_jobs : int, optional
        Refits of an ``estimator`` at a time, see joblib; None leaves it to `joblib.parallel_config`. The
        answer does not depend on it. Kernel machines judge all candidates in closed form, at once.
    random_state : int, Generator or None, default=None
        Only used to split the rows for ``stopping="held-out"``.

    Attributes
    ----------
    support_ : (d,) bool array
        Selected features (possibly none).
    ranking_ : (d,) int array
        A permutation: 1 is kept longest, d is eliminated first. Features of a group have neighbouring ranks.
    objective_path_ : dict of arrays
        One entry a visited set: ``n_features``, ``objective``, ``risk`` and ``standard_error`` (out of
        sample), ``difference`` and ``difference_standard_error`` (paired, from the best set),
        ``regularization``, ``bandwidth``.
    n_features_ : int
        How many are selected.
    stop_reason_ : str
    regularization_, bandwidth_ : float
        Of the final machine.
    center_, scale_ : (d,) arrays
        What was subtracted from and divided into the columns (0 and 1 when X is used as given).
    coef_, intercept_ : arrays
        Linear kernel only, for the selected features in their given units.
    estimator_ : estimator
        The refitted ``estimator``, if one was given.
    classes_ : array
        Class labels, for classifiers.

    Notes
    -----
    Cost: squared loss O(d n^3) for the factorisations plus O(d^2 n^2) for the bounds (a few per cent of the
    d^2 / 2 candidates are solved); squared loss with the linear kernel O(n d^2 + d^3). Other losses solve a
    machine for each candidate that its bound does not exclude. Memory O(n^2), O(n d) for the linear kernel.
    Beyond some thousand rows use the linear kernel, or another selector.

    Differs from [1]_: the default loss, its leave-one-out rule and re-tuning are ours; :meth:`paper` gives
    the dissertation's choices.

    References
    ----------
    .. [1] S. Dasgupta (2014), "Topics in statistical learning with a focus on large-scale data", chapter 3.
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

    def __init__(
        self,
        estimator=None,
        *,
        loss="squared",
        kernel="rbf",
        regularization="auto",
        bandwidth="auto",
        criterion="risk",
        step=1,
        stopping="loo-2se",
        safeguard=0.0,
        fit_intercept=True,
        feature_groups=None,
        n_jobs=None,
        random_state=None,
    ):
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, loss: Any = "hinge", kernel: Any = "rbf", **changes: Any) -> "RiskRFE":
        """The dissertation's choices: its grid searched once by five folds, X as given, linear-quadratic
        change point.
        """
        choices = {"regularization": "paper", "bandwidth": "paper", "stopping": "change-point", **changes}
        return cls(loss=loss, kernel=kernel, **choices)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        classifies = isinstance(self.loss, str) and self.loss in ("hinge", "logistic")
        classifies = classifies or getattr(self.loss, "classifies", False)
        tags.estimator_type = "classifier" if classifies else "regressor"
        tags.classifier_tags = ClassifierTags() if classifies else None
        tags.regressor_tags = None if classifies else RegressorTags()
        tags.target_tags.required = True
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        tags.input_tags.sparse = self._estimator_takes_sparse() if self.estimator is not None else linear
        tags.input_tags.positive_only = isinstance(self.kernel, str) and self.kernel == "chi2"
        return tags

    def _estimator_takes_sparse(self) -> bool:
        try:
            return bool(self.estimator.__sklearn_tags__().input_tags.sparse)
        except AttributeError:
            return True

    # ------------------------------------------------------------------ fitting

    def fit(self, X, y, sample_weight=None):
        """Eliminate, choose a size and fit the machine on the selected features.

        Parameters
        ----------
        X : (n, d) array, sparse matrix (linear kernel or an estimator that takes it) or data frame
        y : (n,) array
            Numbers for the squared and epsilon-insensitive losses, class labels otherwise.
        sample_weight : (n,) array, optional
            A weight of k counts as k copies of the row; rows of weight zero are left out.

        Returns
        -------
        self
        """
        loss, kernel = make_loss(self.loss), make_kernel(self.kernel)
        X, y, weights = self._validate(X, y, sample_weight, loss, kernel)
        names = getattr(self, "feature_names_in_", None)
        self._groups = parse_feature_groups(self.feature_groups, X.shape[1], names)
        check_rule(self.stopping, len(self._groups))
        targets, y = self._targets(y, loss)
        self._loss, self._kernel = loss, kernel
        for name in ("coef_", "intercept_", "estimator_", "regularization_", "bandwidth_"):
            # Not every fit sets these; none may be left over from the fit before.
            self.__dict__.pop(name, None)
        if not loss.classifies and self.fit_intercept and np.ptp(y) <= 1e-12 * np.abs(y).max():
            return self._nothing_to_explain(X, y, targets, weights)
        if self.estimator is not None:
            check_estimator_suits(self.estimator, loss)
            self.center_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
            problem = self._estimator_problem(X, y, targets, weights)
            with jobs(self.n_jobs):
                self._choose(eliminate(problem, make_cycle(self.step), interruptible=True), X.shape[1])
            self._fit_estimator(X, y, targets, weights)
            return self
        X = self._scaled(X, weights, kernel)
        try:
            problem, tuner = self._kernel_problem(X, y, targets, weights)
            tuner.tune(problem)
            retune = None if needs_one_curve(self.stopping) else tuner.again
            path = eliminate(problem, make_cycle(self.step), retune, interruptible=True)
            self._choose(path, X.shape[1])
            self._fit_machine(X, y, targets, weights)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"the kernel matrix plus n * lambda is singular to working precision with regularization="
                f"{self.regularization!r}; use a larger number or 'auto'"
            ) from error
        return self

    def _validate(self, X, y, sample_weight, loss, kernel):
        if self.criterion not in ("risk", "norm"):
            raise ValueError(f"criterion={self.criterion!r} is not known; use 'risk' or 'norm'")
        for name in ("regularization", "bandwidth"):
            value = getattr(self, name)
            good = (
                value in ("auto", "paper")
                if isinstance(value, str)
                else isinstance(value, Real) and float(value) > 0
            )
            if not good:
                raise ValueError(f"{name}={value!r} must be 'auto', 'paper' or a number > 0")
        if not 0.0 <= self.safeguard <= 1.0:
            raise ValueError(f"safeguard={self.safeguard!r} must be a fraction between 0 and 1")
        takes_sparse = self.__sklearn_tags__().input_tags.sparse
        if sparse.issparse(X) and not takes_sparse:
            raise TypeError(
                f"sparse X is accepted with kernel='linear' or an estimator that takes it, not with kernel="
                f"{self.kernel!r}; pass X.toarray()"
            )
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if takes_sparse else False,
            dtype=np.float64,
            ensure_min_samples=2,
            y_numeric=not loss.classifies,
        )
        weights = check_weights(sample_weight, X.shape[0])
        keep = weights > 0
        X, y, weights = (X, y, weights) if keep.all() else (X[keep], y[keep], weights[keep])
        if isinstance(kernel, AdditiveKernel) and self.estimator is None:
            kernel.check(X)
        return X, y, weights

    def _targets(self, y, loss):
        """Columns of -1 / 1 for classes (one for two classes), the numbers themselves otherwise."""
        if not loss.classifies:
            y = np.asarray(y, dtype=np.float64)
            return y[:, None], y
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y holds 1 class ({only!r}); a classifier needs at least 2")
        if len(self.classes_) == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None], y
        return np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0), y

    def _scaled(self, X, weights, kernel):
        X = X.toarray() if sparse.issparse(X) else X
        named = self.bandwidth if getattr(kernel, "uses_bandwidth", False) else self.regularization
        standardize = named == "auto" and isinstance(kernel, AdditiveKernel) and kernel.trusted
        standardize = standardize and self.kernel != "chi2"
        self.center_, self.scale_ = column_scale(X, weights, standardize)
        return (X - self.center_) / self.scale_ if standardize else X

    def _split(self, X, y):
        """Half of the distinct rows to fit, half to judge: copies of a row are on one side."""
        number = self._folds(X, y, n_folds=len(y))
        n_rows = int(number.max()) + 1
        judge = np.random.default_rng(self.random_state).permutation(n_rows)[: n_rows // 2]
        inside = np.isin(number, judge)
        return np.flatnonzero(~inside), np.flatnonzero(inside)

    def _folds(self, X, y, n_folds=5):
        _, codes = np.unique(y, return_inverse=True)
        dense = X.toarray() if sparse.issparse(X) else X
        return fold_numbers(dense, codes.astype(float), n_folds)

    def _tuner(self, weights, columns_of):
        return Tuner(
            self.regularization,
            self.bandwidth,
            float(weights.sum()),
            getattr(self._kernel, "uses_bandwidth", False),
            columns_of,
            self._loss.name == "squared",
        )

    def _kernel_problem(self, X, y, targets, weights):
        tuner = self._tuner(weights, lambda problem: sum(len(self._groups[g]) for g in problem.active))
        lam = float(tuner.lams[0])
        squared = self._loss.name == "squared"
        held_out = self.stopping == "held-out"
        if squared and isinstance(self._kernel, LinearKernel) and not held_out:
            problem: Any = RidgeProblem(X, y, weights, lam, self.fit_intercept, self._groups, self.criterion)
            return problem, tuner
        state = make_state(self._kernel, X, self._groups, tuner.start_width(n_columns=X.shape[1]))
        if not getattr(self._kernel, "trusted", False):
            check_gram(state.gram(), len(X))
        # The squared loss leaves single rows out in closed form and needs no folds.
        folds = self._folds(X, y) if held_out or not squared else None
        common = (state, targets, weights, self._loss, lam, self.fit_intercept)
        if held_out:
            train, test = self._split(X, y)
            return HeldOutProblem(*common, train, test, folds), tuner
        kind = SquaredKernelProblem if squared else KernelProblem
        return kind(*common, folds, self.criterion), tuner

    def _estimator_problem(self, X, y, targets, weights):
        if self.criterion == "norm":
            raise ValueError(
                "criterion='norm' needs a kernel machine; with an estimator use criterion='risk'"
            )
        held_out = self.stopping == "held-out"
        plain = type(self.estimator) is LinearRegression and not self.estimator.positive
        if plain and self._loss.name == "squared" and not held_out:
            dense = X.toarray() if sparse.issparse(X) else X
            try:
                # Least squares has Gram moves and an exact leave-one-out; dependent columns fall through to
                # the loop.
                return RidgeProblem(dense, y, weights, 0.0, self.estimator.fit_intercept, self._groups)
            except np.linalg.LinAlgError:
                pass
        rows = self._split(X, y) if held_out else (None, None)
        return EstimatorProblem(
            self.estimator, X, y, targets, weights, self._loss, self._groups, self._folds(X, y), *rows
        )

    # ------------------------------------------------------------------ choosing

    def _choose(self, path: EliminationPath, n_features: int) -> None:
        """Ranking, path, size and support from an elimination."""
        columns = np.concatenate([self._groups[g] for g in path.order])
        self.ranking_ = np.empty(n_features, dtype=int)
        self.ranking_[columns] = np.arange(n_features, 0, -1)
        lengths = np.array([len(self._groups[g]) for g in path.order])
        left = np.concatenate([[0], np.cumsum(lengths[::-1])])
        self.objective_path_ = {
            "n_features": left[np.array(path.sizes)],
            "objective": np.array(path.objective),
            **paired_comparison(path),
            "regularization": np.array(path.lam),
            "bandwidth": np.array(path.bandwidth),
        }
        if isinstance(self.stopping, str) or not isinstance(self.stopping, (int, np.integer)):
            kept, reason = choose_size(self.stopping, path, self._loss.name)
        else:
            kept = int(np.flatnonzero(left <= self.stopping)[-1])
            reason = f"{self.stopping} features were asked for"
            if left[kept] != self.stopping:
                reason += f"; the sets on the path allow {left[kept]}"
        extra = int(np.floor(self.safeguard * len(path.order)))
        if extra and kept < len(path.order):
            extra = min(extra, len(path.order) - kept)
            kept, reason = kept + extra, f"{reason}, and {extra} more as a safeguard"
        if kept == 0:
            reason += "; no feature is needed"
        if len(path.weights) < _FEW_ROWS and isinstance(self.stopping, str):
            reason += f"; only {len(path.weights)} rows judge the size, which is hardly more than noise"
        self.stop_reason_ = f"interrupted; {reason}" if path.interrupted else reason
        self._kept = sorted(path.order[len(path.order) - kept :])
        self.support_ = np.zeros(n_features, dtype=bool)
        for group in self._kept:
            self.support_[self._groups[group]] = True
        self.n_features_ = int(self.support_.sum())

    def _nothing_to_explain(self, X, y, targets, weights):
        """A constant y: no feature can matter, whatever the loss."""
        d = X.shape[1]
        sizes = np.arange(d, -1, -1)
        zero, unknown = np.zeros(d + 1), np.full(d + 1, np.nan)
        self.ranking_ = np.arange(1, d + 1)
        self.objective_path_ = {
            "n_features": sizes,
            "objective": zero,
            "risk": zero,
            "standard_error": zero,
            "difference": zero,
            "difference_standard_error": zero,
            "regularization": unknown,
            "bandwidth": unknown,
        }
        self.stop_reason_ = "y is constant: there is nothing to explain and no feature is needed"
        self.support_ = np.zeros(d, dtype=bool)
        self.n_features_, self._kept = 0, []
        self.center_, self.scale_ = np.zeros(d), np.ones(d)
        self._constant = weights @ targets / weights.sum()
        self._machine = None
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _report(self) -> dict[str, Any]:
        return report_of(self)
