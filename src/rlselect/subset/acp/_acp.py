"""ActorCriticPredictor: a stochastic policy over subsets learns which variables predict."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rlselect._capabilities import TABLES, Takes
from rlselect._clock import PARTS, Clock, fit_clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import PredictingSelector, rank
from rlselect._options import (
    AUTO,
    NONE,
    check_value,
    instance,
    number,
    one_of,
    refuse_unused,
    take_settings,
    whole,
)
from rlselect._parallel import one_thread
from rlselect._random import RandomState, as_generator
from rlselect.data import (
    MISSING_MODES,
    TASKS,
    MissingMode,
    NumberResponses,
    Responses,
    Table,
    lone_number,
    number_responses,
    open_responses,
    open_table,
    read_responses,
    read_task,
    require_rows,
)
from rlselect.report import GainDisplay, SelectionDisplay
from rlselect.subset.acp._displays import ThetaDisplay
from rlselect.subset.acp._inputs import Inputs, read_inputs
from rlselect.subset.acp._machine import FittedMachine, final_model
from rlselect.subset.acp._paper import READINGS, PolicyGradient, paper_search
from rlselect.subset.acp._report import report_of
from rlselect.subset.acp._search import Effort
from rlselect.subset.acp._stages import FoundPolicy, PredictorChoice, Stages
from rlselect.subset.acp.masked import MaskedLinear, make_masked

__all__ = ["ActorCriticPredictor"]

_STOPPED = ("time budget", "interrupted", "callback")


class ActorCriticPredictor(FittedMachine, PredictingSelector):
    r"""Select variables of any relation by a policy that tosses a coin for each of them.

    The policy draws subsets, :math:`a_j \sim \mathrm{Bernoulli}(\theta_j)`. A predictor judges each subset by
    its held-out error, and the probabilities follow the natural gradient of the expected reward

    .. math:: \max_\theta\; E_{a \sim \theta} \left[ -\log R(a) - \lambda |a| \right],

    R being the held-out mean squared error (or, for a predictor of probabilities, :math:`\log R` twice the
    log loss). All subsets of a batch are judged on the same folds, the advantages of a batch are
    standardised, the steps are taken on the log odds, and the price :math:`\lambda` of a variable is what
    useless variables gain once in a while: by theory and the strength of those found for linear predictors,
    by permuted columns for others. When the policy is sure, every single change of its subset is judged, and
    what would be better becomes undecided again.

    ``predictor="auto"`` lets a linear predictor lead one actor, gives the kernel of an infinitely wide ReLU
    network a trial on the same data, and goes on with the kernel if its leave-one-out losses are smaller on
    the same subset by a paired test.

    Cost: a batch of B subsets of k variables is O(n p^2 + B k^3) for the linear predictor and O(B n^3) for
    the kernel, which uses at most 500 rows at a time and draws others for each batch.

    Parameters
    ----------
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" is scikit-learn's `type_of_target`: text, truth values and whole numbers are classes (a warning
        doubts many of them with few rows each). Counts need ``task="regression"``.
    predictor : {"auto", "linear", "logistic", "kernel", "network"} or estimator, default="auto"
        What judges a subset. "linear" is least squares, on indicators for classes; "logistic" is logistic or
        multinomial regression; "kernel" is kernel ridge regression with the kernel of an infinitely wide ReLU
        network; "network" trains a network with 128 hidden units for each subset, all of a batch on the same
        rows. An estimator of scikit-learn is refitted for each subset and fold.
    threshold : float, default=0.9
        Variables with a probability above are selected.
    batch_size : int, default=64
        Subsets drawn in an iteration.
    max_iter : int, default=200
        Largest number of iterations of an actor.
    penalty : "auto" or float, default="auto"
        Price of one more variable in units of log likelihood, n / 2 times log risk (BIC's is log(n) / 2).
        "auto" is described above.
    screening : "auto", None or int, default="auto"
        Variables to keep before the search. "auto" keeps 300 of more than 400 for the linear predictor and 60
        of more than 100 for others, by the better of several ranks.
    false_alarm : float, default=0.02
        Largest share of data sets without any relation in which something is selected all the same. Raise it
        where weak relations matter more: what few rows cannot tell from noise is answered by no variable at
        all. 1 does not ask.
    missing : {"error", "drop", "indicator"}, default="error"
        Missing values in a table: refuse them, leave their rows out of `fit`, or impute the mean and add a
        column that marks them, which enters and leaves with its variable.
    search : "auto" or PolicyGradient, default="auto"
        The algorithm; see `ActorCriticPredictor.paper`.
    device : str, default="cpu"
        Where networks are trained: "cpu" with NumPy, "torch" with torch on the CPU, or any other device of
        torch such as "cuda". Other predictors stay on the CPU.
    time_budget : float, optional
        Seconds after which the search stops with what it has found. Networks then learn from as many rows as
        there is time for.
    transform_as : {"columns", "design"}, default="columns"
        Whether `transform` returns the selected columns as they are, or their design: numbers, with
        indicators for text.
    n_jobs : int, optional
        Workers for an estimator's fits. The answer does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search.

    Attributes
    ----------
    inclusion_ : array of shape (n_features,)
        Probability of each feature (theta in the paper), zero for one that was screened out.
    support_ : bool array of shape (n_features,)
        Features with a probability above the threshold. The first of exact copies represents them.
    ranking_ : int array of shape (n_features,)
        A permutation, 1 is best. Selected features first, in the reverse of the order in which they would
        leave if the least missed had to; then by what they would add to those and, beside a linear predictor,
        by their correlation with y.
    gain_ : array of shape (n_features,)
        Held-out log risk that a feature saves in the final subset, or would save if it joined it; NaN where
        it was not judged.
    penalty_ : float
        Price of a variable in the end, in the units of `penalty`.
    path_ : dict of arrays
        One entry per iteration: ``theta``, ``reward`` (mean), ``best``, ``baseline`` (the critic's), ``size``
        (expected), ``price``, ``predictor``.
    predictor_ : PredictorChoice
        Name of the predictor that led to the answer, held-out scores it was chosen by, and their paired t.
    screening_ : dict
        Numbers of the features kept by screening, by predictor; empty when nothing was screened.
    n_fits_, cache_hits_ : int
        Subsets judged, and judgements taken from memory.
    n_iter_ : int
        Iterations of the actor that led to the answer.
    stop_reason_ : str
        "converged", "max iterations", "time budget" (with the rows that networks had time for, where not
        all), "interrupted", "callback" or "nothing to choose from".
    task_ : str
    classes_ : array
        Labels, for classification.
    response_names_ : list of str
        Names of several responses.
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    See Also
    --------
    REVS : For linear, logistic and Poisson models; faster there, and for large data.

    Notes
    -----
    Differs from [1]_ (all of it is `ActorCriticPredictor.paper`): one set of folds for all subsets of a batch
    instead of one random split per subset; log risk with a price instead of the error itself, whose minimum
    holds too many variables; standardised advantages and steps on log odds, which need no scale of y; a
    regression over the last eight batches; kernel machines in closed form instead of networks; a predictor
    chosen by held-out losses; screening built in, and interactions among many variables only where products
    are larger than by chance; a look at every single change before it stops, for classes by the likelihood of
    a logistic model; and data in which a search finds no more than in the permuted response are noise.

    There are no row weights: a row is held out or not. Not meant for more than some thousand variables that
    matter only together, which no screening can find.

    References
    ----------
    .. [1] Y. Le, Y. Bai, F. Zhou (2025), "Reinforced variable selection", Statistical Theory and Related
       Fields.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect import ActorCriticPredictor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 12))
    >>> y = X[:, 0] + X[:, 3] * X[:, 7] + 0.3 * rng.standard_normal(150)
    >>> selector = ActorCriticPredictor(random_state=0).fit(X, y)
    >>> np.flatnonzero(selector.support_)
    array([0, 3, 7])
    >>> selector.predictor_.name
    'kernel'
    """

    displays: ClassVar = (SelectionDisplay, ThetaDisplay, GainDisplay)
    _takes: ClassVar = Takes(
        outcomes=("numbers", "two classes", "several classes", "several responses"),
        data=TABLES,
    )
    _options: ClassVar = {
        "task": one_of(*TASKS),
        "threshold": number("a number between 0 and 1", above=0.0, below=1.0),
        "batch_size": whole(2, most=1_000_000),
        "max_iter": whole(1),
        "penalty": AUTO | number("a number from 0 to 1e100", least=0.0, most=1e100),
        "screening": AUTO | NONE | whole(1, "the number of variables to keep"),
        "false_alarm": number("a number from 0.001 to 1", least=0.001, most=1.0),
        "missing": one_of(*MISSING_MODES),
        "search": AUTO | instance("a PolicyGradient", PolicyGradient),
        "time_budget": NONE | number("a positive number of seconds", above=0.0),
        "transform_as": one_of("columns", "design"),
    }

    def __init__(
        self,
        *,
        task: Literal["auto", "regression", "classification"] = "auto",
        predictor: Any = "auto",
        threshold: float = 0.9,
        batch_size: int = 64,
        max_iter: int = 200,
        penalty: float | Literal["auto"] = "auto",
        screening: int | Literal["auto"] | None = "auto",
        false_alarm: float = 0.02,
        missing: MissingMode = "error",
        search: PolicyGradient | Literal["auto"] = "auto",
        device: str = "cpu",
        time_budget: float | None = None,
        transform_as: Literal["columns", "design"] = "columns",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.task = task
        self.predictor = predictor
        self.threshold = threshold
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.penalty = penalty
        self.screening = screening
        self.false_alarm = false_alarm
        self.missing = missing
        self.search = search
        self.device = device
        self.time_budget = time_budget
        self.transform_as = transform_as
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, *, reading: Literal["literal", "published"] = "literal", **changes: Any) -> Self:
        """Algorithms 1 and 2 of the paper with the values of its Table A1.

        Parameters
        ----------
        reading : {"literal", "published"}, default="literal"
            "literal" is the text of Algorithm 2. It misses the printed tables; "published" is the reading of
            its silent passages that comes closest to them: rewards standardised within the batch, a tenth of
            the step, and for the linear predictor a ridge of 20.
        **changes
            Settings of `PolicyGradient` and other parameters of the constructor. The paper's predictor is
            "network" (the default here), and "linear" for its Figures 3 and A1 and Table 2.

        Returns
        -------
        ActorCriticPredictor
            Unfitted.

        Examples
        --------
        >>> from rlselect import ActorCriticPredictor
        >>> ActorCriticPredictor.paper(random_state=0).search.validation
        0.3
        """
        check_value("reading", reading, one_of(*READINGS))
        given = take_settings(PolicyGradient, changes)
        options = {"predictor": "network", "max_iter": 500, **changes}
        own = {
            name: value
            for name, value in READINGS[reading].items()
            if name != "ridge" or options["predictor"] == "linear"
        }
        return cls(**{"search": PolicyGradient(**{**own, **given}), **options})

    def _classifies(self) -> bool | None:
        task = getattr(self, "task_", self.task)
        return None if task == "auto" else task == "classification"

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the policy, then fit the predictor on the selected variables.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Text and categorical columns become indicators that enter and leave together. A source, such as a
            path or a query (see `REVS.fit`), is loaded if its numbers fit into half of the memory.
        y : array-like of shape (n_samples,) or (n_samples, n_responses), str, or list of str
            Target, or the name of its column in X. Several responses are numbers: one subset serves all of
            them, judged by the sum of their squared errors in units of their variances.

        Returns
        -------
        self
            Fitted, also when the search was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y)

    def _fit(self, progress: Progress, X: Any, y: Any) -> None:
        name = type(self).__name__
        self._require_target(y)
        if isinstance(self.search, PolicyGradient):
            idle = ("penalty", "false_alarm") + (() if self.screening is None else ("screening",))
            fix = "the paper's search has no price, no screening and no question about noise"
            refuse_unused(self, idle, "search=PolicyGradient(...)", fix)
        rng = as_generator(self.random_state)
        given = read_responses(X, y)
        if given is None:
            table = open_table(X, y, missing=self.missing, owner=name)
            require_rows(table.n_rows, 3, name)
            assert table.y is not None
            task = read_task(table.y, self.task)
            inputs = read_inputs(table, task)
            self._lone = lone_number(table.y) if task == "regression" else None
        else:
            (table, responses), task = self._open_several(given, name), "regression"
            inputs = read_inputs(table, task, responses.values)
            self.response_names_ = responses.names
            self._response_center, self._response_scale = responses.center, responses.scale
        effort = Effort()
        with (
            one_thread(),
            fit_clock(self.time_budget, self.max_iter, progress.begin(PARTS)) as clock,
        ):
            some = inputs.in_time(clock.left) if self.predictor == "network" else inputs
            found = self._search(some, rng, clock, effort)
            self._keep(table.encoder, some, task, found, effort)
        if len(some.X) < table.n_rows and clock.reason not in ("interrupted", "callback"):
            self.stop_reason_ = f"time budget, {len(some.X)} of {table.n_rows} rows"
        warn_if_interrupted(found.stop_reason, name, f"{len(effort.history)} iterations")
        self._n_rows = table.n_rows

    def _open_several(self, given: Responses, name: str) -> tuple[Table, NumberResponses]:
        if self.task == "classification":
            raise ValueError(
                f"task='classification' was given with several responses, which {name} takes as numbers; "
                "use REVS for classes."
            )
        if not isinstance(self.predictor, str) or self.predictor == "logistic":
            raise ValueError(
                f"predictor={self.predictor!r} was given with several responses; use 'auto', 'linear', "
                "'kernel' or 'network'."
            )
        table, targets = open_responses(given, missing=self.missing, owner=name)
        require_rows(table.n_rows, 3, name)
        return table, number_responses(given.names, targets, None, name)

    def _search(self, inputs: Inputs, rng: np.random.Generator, clock: Clock, effort: Effort) -> FoundPolicy:
        penalty = None if self.penalty == "auto" else float(self.penalty)
        options = {"penalty": penalty, "batch_size": self.batch_size, "max_iter": self.max_iter}
        stages = Stages(inputs, options, self.screening, self.false_alarm, rng, clock, effort)
        make, name = make_masked(
            self.predictor,
            inputs.target,
            rng=rng,
            device=self.device,
            n_jobs=self.n_jobs,
            paper=isinstance(self.search, PolicyGradient),
        )
        constant = not inputs.target.classifies and not np.any(inputs.target.Y)
        if len(inputs.allowed) == 0 or constant:
            return stages.nothing(make or make_masked("linear", inputs.target, rng=rng)[0])
        if isinstance(self.search, PolicyGradient):
            return self._follow_paper(self.search, stages, make, name, rng, clock, effort)
        return stages.auto() if make is None else stages.one(make, name)

    def _follow_paper(
        self,
        search: PolicyGradient,
        stages: Stages,
        make: Any,
        name: str,
        rng: np.random.Generator,
        clock: Clock,
        effort: Effort,
    ) -> FoundPolicy:
        if make is None:
            raise ValueError("predictor='auto' was given; the paper's search needs one, such as 'network'.")
        inputs = stages.inputs
        columns, _ = inputs.columns_of(inputs.allowed)
        predictor = make(inputs.X[:, columns], inputs.target)
        if isinstance(predictor, MaskedLinear):
            predictor.ridge = search.ridge
        elif search.ridge:
            raise ValueError(f"ridge={search.ridge!r} has no effect with predictor={name!r}; leave it out.")
        found = paper_search(
            predictor,
            inputs,
            search,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            rng=rng,
            clock=clock,
            effort=effort,
        )
        allowed = inputs.allowed
        return FoundPolicy(
            stages.spread(allowed, found.theta),
            stages.spread(allowed, found.mean_theta),
            np.full(inputs.units.n_units, np.nan),
            PredictorChoice(name),
            found.stop_reason,
            predictor,
            0.0,
            {},
            found.iterations,
        )

    def _keep(self, encoder: Any, inputs: Inputs, task: str, found: FoundPolicy, effort: Effort) -> None:
        self.encoder_ = encoder
        self._keep_names(encoder.n_features_in_, encoder.feature_names_in_)
        self.task_ = task
        if inputs.classes is not None:
            self.classes_ = inputs.classes
        chosen = found.theta > self.threshold
        self.inclusion_ = inputs.to_features(found.theta)
        self.support_ = inputs.to_features(chosen).astype(bool)
        self.gain_ = inputs.to_features(found.gains, np.nan)
        self.penalty_ = 0.5 * found.price
        self.path_ = {
            key: np.array([entry[key] for entry in effort.history])
            for key in ("theta", "reward", "best", "baseline", "size", "price", "predictor")
        }
        self.predictor_ = found.choice
        self.screening_ = {
            name: np.flatnonzero(np.isin(inputs.groups.unit_of_feature, kept))
            for name, kept in found.screened.items()
        }
        self.n_fits_, self.cache_hits_ = effort.fits, effort.cache_hits
        self.n_iter_ = found.iterations
        self.stop_reason_ = found.stop_reason
        self.ranking_ = rank(inputs.to_features(found.places), support=self.support_)
        self._fit_final(inputs, found, chosen)

    def _fit_final(self, inputs: Inputs, found: FoundPolicy, chosen: NDArray[np.bool_]) -> None:
        self._columns = np.flatnonzero(chosen[inputs.units.unit_of])
        self._center, self._scale = inputs.center, inputs.scale
        self._target_center, self._target_scale = inputs.target.center, inputs.target.scale
        X = np.ascontiguousarray(inputs.X[:, self._columns])
        predictor = found.predictor.on_columns(X)
        every = np.ones(X.shape[1], dtype=bool)
        if found.predictor.name != "network" or found.stop_reason not in _STOPPED:
            # networks have usual sizes, and take long to be tried out
            predictor.tune(every)
        self._model = final_model(predictor, every, inputs.target)

    def _report(self) -> dict[str, Any]:
        return report_of(self)
