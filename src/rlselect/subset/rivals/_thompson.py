"""Thompson variable selection: each feature is an arm of a bandit, pulled when its draw says so."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from rlselect._clock import PARTS, Clock, warn_if_interrupted
from rlselect._compat import Progress, with_callbacks
from rlselect._estimator import rank
from rlselect._options import anything, number, one_of, whole
from rlselect._parallel import one_thread
from rlselect._random import RandomState, as_generator
from rlselect.data import TASKS, MissingMode
from rlselect.report import PathWords
from rlselect.subset.rivals._rival import RivalProblem, RivalSelector, read_problem

__all__ = ["ThompsonSelector"]

Array = NDArray[np.float64]


def _is_prior(value: Any) -> bool:
    positive = number("", above=0.0)
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(positive.holds, value))


class ThompsonSelector(RivalSelector):
    r"""Thompson variable selection: Beta-Bernoulli arms that a model rewards when it uses them.

    Each feature j has a :math:`\mathrm{Beta}(a_j, b_j)` belief about how often a model would use it. A round
    draws :math:`\theta_j` from the beliefs, gives the model the features with :math:`\theta_j \geq 1/2`, and
    adds one to :math:`a_j` of those that the model used, to :math:`b_j` of those it did not. Selected are
    features with :math:`a_j / (a_j + b_j)` above `threshold`.

    What "used" means is the reward:

    - "linear": one draw from the posterior of a linear spike-and-slab regression on the features of the
      round (two Gibbs sweeps that go on where the last round ended; prior odds of 1 to the number of
      columns). Two classes are regressed as numbers, K classes as K - 1 of them that share their columns.
    - "trees": a small forest of extremely randomised trees is grown on two thirds of the rows with a shuffled
      copy beside each column; a feature is used if its impurity gain exceeds that of every shuffled copy.

    The original draws trees from a Bayesian additive ensemble (BART), whose prior keeps useless features out;
    shuffled copies do that here, so "trees" is in the spirit of [1]_, not the letter.

    A comparator of the ACP paper. `partial_fit` takes batches of a stream, one after the other. A round is
    O(n k) for "linear". Not meant for features that are weak or correlated: an arm that was unlucky in its
    first rounds is seldom pulled again, which costs recall in small samples.

    Parameters
    ----------
    task : {"auto", "regression", "classification"}, default="auto"
        What y is.
    reward : {"linear", "trees"}, default="linear"
        Which model rewards the arms.
    n_rounds : int, default=500
        Rounds; in `partial_fit`, of each batch.
    threshold : float, default=0.5
        Features whose posterior mean is above are selected.
    prior : (float, float), default=(1.0, 1.0)
        a and b at the start.
    n_trees : int, default=20
        Trees of a round, for ``reward="trees"``.
    missing : {"error", "drop", "indicator"}, default="error"
        What to do with missing values: refuse them, leave out their rows, or impute the mean and add an
        indicator.
    transform_as : {"columns", "design"}, default="columns"
        What `transform` gives: the selected features as they came, or their numeric design columns.
    time_budget : float, optional
        Seconds after which no further round is begun.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        The selected features.
    inclusion_ : array of shape (n_features,)
        Posterior mean of each arm; 0 for one that was never pulled, as of a constant or a copy.
    ranking_ : int array of shape (n_features,)
        A permutation, 1 is best, by posterior mean.
    arms_ : array of shape (n_features, 2)
        a and b.
    path_ : dict of arrays
        One entry per round: arms that were ``pulled``, those of them that were ``used``, and how many were
        above the threshold then (``size``).
    n_rounds_, n_batches_ : int
        Rounds and batches so far.
    stop_reason_ : str
        "all rounds", "time budget", "interrupted", "callback" or "nothing to choose from".
    classes_ : array
        Labels, for classification.
    encoder_ : TableEncoder
        How a table becomes a design.
    n_features_in_, feature_names_in_
        What `fit` has seen.

    References
    ----------
    .. [1] Y. Liu, V. Rockova (2023), "Variable selection via Thompson sampling", Journal of the American
       Statistical Association 118.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.subset import ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> y = X[:, 3] - X[:, 8] + rng.standard_normal(200)
    >>> ThompsonSelector(n_rounds=100, random_state=0).fit(X, y).get_support(indices=True)
    array([3, 8])
    """

    _path_words = PathWords(
        "round", {"pulled": "arms pulled", "used": "arms that the model used", "size": "features selected"}
    )
    _options: ClassVar = {
        "task": one_of(*TASKS),
        "reward": one_of("linear", "trees"),
        "n_rounds": whole(1, most=1_000_000),
        "threshold": number("a number between 0 and 1", above=0.0, below=1.0),
        "prior": anything("two positive numbers", _is_prior),
        "n_trees": whole(1),
        **RivalSelector._options,
    }

    def __init__(
        self,
        *,
        task: Literal["auto", "regression", "classification"] = "auto",
        reward: Literal["linear", "trees"] = "linear",
        n_rounds: int = 500,
        threshold: float = 0.5,
        prior: tuple[float, float] = (1.0, 1.0),
        n_trees: int = 20,
        missing: MissingMode = "error",
        transform_as: Literal["columns", "design"] = "columns",
        time_budget: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.task = task
        self.reward = reward
        self.n_rounds = n_rounds
        self.threshold = threshold
        self.prior = prior
        self.n_trees = n_trees
        self.missing = missing
        self.transform_as = transform_as
        self.time_budget = time_budget
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Play all rounds on these rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Text and categorical columns become indicators that are one arm. A source, such as a path, is
            loaded; see `partial_fit` for what is larger.
        y : array-like of shape (n_samples,) or str
            Target, or the name of its column in X.

        Returns
        -------
        self
            Fitted, also when it was stopped by `time_budget` or Ctrl-C.
        """
        return self._learn_aside(X, y, None)

    @with_callbacks
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Play further rounds on the next batch of a stream; the first call starts anew.

        Parameters
        ----------
        X, y
            As in `fit`. Levels of text columns are those of the first batch.

        Returns
        -------
        self
        """
        return self._learn_aside(X, y, self if hasattr(self, "arms_") else None)

    def _fit(self, progress: Progress, X: Any, y: Any, before: Any) -> None:
        name = type(self).__name__
        self.n_batches_ = 1 if before is None else before.n_batches_ + 1
        # a draw of its own for each batch of a stream
        rng = as_generator(self.random_state).spawn(self.n_batches_)[-1]
        table = self._open(X, y, encoder=None if before is None else before.encoder_)
        problem = read_problem(table, self.task, name)
        self._check_classes(problem, before)
        model = _MODELS[self.reward](problem, self.n_trees)
        arms = self._start(problem, before)
        steps, reason = list[tuple[int, int, int]](), None
        with one_thread(), Clock(self.time_budget, self.n_rounds, progress.begin(PARTS)) as clock:
            while reason is None and len(steps) < self.n_rounds and len(arms):
                pulled = np.flatnonzero(rng.beta(arms[:, 0], arms[:, 1]) >= 0.5)
                used = model.use(pulled, rng)
                arms[pulled[used], 0] += 1.0
                arms[pulled[~used], 1] += 1.0
                steps.append((len(pulled), int(used.sum()), int(self._above(arms).sum())))
                reason = clock.tick()
        self.stop_reason_ = reason or ("all rounds" if len(arms) else "nothing to choose from")
        warn_if_interrupted(self.stop_reason_, name, f"{len(steps)} rounds")
        taken = np.array(steps, dtype=np.intp).reshape(-1, 3)
        path = dict(zip(("pulled", "used", "size"), taken.T, strict=True))
        if before is not None:
            path = {key: np.concatenate([before.path_[key], values]) for key, values in path.items()}
        self.path_, self.n_rounds_ = path, len(path["size"])
        self._keep_table(table, problem.classes)
        self._keep_arms(problem, arms, before)

    def _start(self, problem: RivalProblem, before: Any) -> Array:
        """Beliefs about the units of this batch that can be used."""
        if before is None:
            return np.tile(np.array(self.prior, dtype=np.float64), (len(problem.allowed), 1))
        of_feature = problem.units.unit_of_feature
        first = [int(np.flatnonzero(of_feature == unit)[0]) for unit in problem.allowed]
        return before.arms_[first]

    def _keep_arms(self, problem: RivalProblem, arms: Array, before: Any) -> None:
        whole = np.column_stack([problem.to_features(column, np.nan) for column in arms.T])
        # what could not be used in this batch keeps its belief
        idle = np.isnan(whole[:, 0])
        whole[idle] = np.array(self.prior) if before is None else before.arms_[idle]
        self.arms_ = whole
        self.inclusion_ = self._means(whole)
        self.support_ = self._above(whole)
        self.ranking_ = rank(self.inclusion_)

    def _means(self, arms: Array) -> Array:
        """Posterior means; 0 of arms that were never pulled."""
        pulled = np.any(arms != np.array(self.prior), axis=1)
        return np.where(pulled, arms[:, 0] / arms.sum(axis=1), 0.0)

    def _above(self, arms: Array) -> NDArray[np.bool_]:
        """Which arms are selected."""
        return self._means(arms) > self.threshold

    def _check_classes(self, problem: RivalProblem, before: Any) -> None:
        classes = problem.classes
        known = None if before is None else getattr(before, "classes_", None)
        if before is not None and not np.array_equal(np.array(known), np.array(classes)):
            raise ValueError(
                f"y of this batch has the classes {classes!r}, those before had {known!r}; give batches with "
                "all classes in each."
            )

    def _facts(self) -> dict[str, Any]:
        return {
            "Rounds": self.n_rounds_,
            "Judged by": {"linear": "linear models", "trees": "trees"}[self.reward],
            "Selected above": float(self.threshold),
        }

    def _worth_words(self) -> str:
        return "Inclusion"

    def _worth_note(self) -> str:
        return "Inclusion: how often the variable was of use when it was tried, from 0 to 1."


class RewardModel(Protocol):
    """Says which of the pulled arms it uses."""

    def use(self, pulled: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether each pulled unit is used."""
        ...


class _SpikeAndSlab:
    """Draws which units a linear regression would use, given which may be used.

    Columns have unit variance; coefficients are N(0, s^2), s^2 being the noise, or zero, with odds of 1 to
    the number of columns. A unit of several columns is used if any of them is. Several classes are as many
    responses less one, uncorrelated and of unit variance, which have a column in common or not.
    """

    def __init__(self, problem: RivalProblem, n_trees: int) -> None:
        self._problem = problem
        self._X, self._residual = problem.X, _responses(problem)
        self._norm = np.einsum("ij,ij->j", self._X, self._X)
        self._coef = np.zeros((self._X.shape[1], self._residual.shape[1]))
        self._noise = 1.0
        self._log_odds = -np.log(max(len(problem.columns(range(len(problem.allowed)))), 1))

    def use(self, pulled: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether each pulled unit is in a draw of the posterior."""
        columns = [self._problem.columns([u]) for u in pulled]
        allowed = np.concatenate(columns) if columns else np.empty(0, dtype=np.intp)
        outside = np.setdiff1d(np.flatnonzero(self._coef.any(axis=1)), allowed)
        self._residual += self._X[:, outside] @ self._coef[outside]
        self._coef[outside] = 0.0
        for _ in range(2):
            self._sweep(rng.permutation(allowed), rng)
            rate = 0.5 * (float(np.vdot(self._residual, self._residual)) + 1e-3)
            self._noise = rate / rng.gamma(0.5 * (self._residual.size + 1))
        return np.array([bool(np.any(self._coef[c])) for c in columns], dtype=bool)

    def _sweep(self, order: NDArray[np.intp], rng: np.random.Generator) -> None:
        n_responses = self._residual.shape[1]
        uniforms, normals = rng.random(len(order)), rng.standard_normal((len(order), n_responses))
        for j, u, z in zip(order.tolist(), uniforms, normals, strict=True):
            old = self._coef[j]
            inner = self._X[:, j] @ self._residual + self._norm[j] * old
            precision = self._norm[j] + 1.0
            mean = inner / precision
            log_odds = self._log_odds - 0.5 * n_responses * np.log(precision)
            log_odds += 0.5 * mean @ inner / self._noise
            new = np.zeros(n_responses)
            if np.log(u) < -np.logaddexp(0.0, -log_odds):
                new = mean + z * np.sqrt(self._noise / precision)
            if np.any(new != old):
                self._residual += self._X[:, j, None] * (old - new)
                self._coef[j] = new


def _responses(problem: RivalProblem) -> Array:
    """What a linear model regresses (n, q): y centred and scaled, or of K classes K - 1 such columns."""
    y = problem.y.astype(np.float64)[:, None]
    if problem.classes is not None and len(problem.classes) > 2:
        y = (y == np.arange(len(problem.classes))).astype(np.float64)
    y = y - y.mean(axis=0)
    if y.shape[1] > 1:
        # indicators add up to one; uncorrelated mixtures of them hold the same
        scores, sizes, _ = np.linalg.svd(y, full_matrices=False)
        return scores[:, sizes > 1e-9 * sizes[0]] * np.sqrt(len(y))
    scale = y.std()
    return y / scale if scale > 0 else y


class _ShuffledForest:
    """Tells which units a small forest gains more from than from any shuffled column."""

    def __init__(self, problem: RivalProblem, n_trees: int) -> None:
        self._problem = problem
        kind = ExtraTreesRegressor if problem.classes is None else ExtraTreesClassifier
        self._make = lambda seed: kind(
            n_estimators=n_trees, min_samples_leaf=5, max_features=0.5, random_state=seed
        )

    def use(self, pulled: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether each pulled unit beats all shuffled columns."""
        if not len(pulled):
            return np.zeros(0, dtype=bool)
        columns = [self._problem.columns([u]) for u in pulled]
        # without replacement: two copies of a row would make any column look useful
        rows = rng.permutation(len(self._problem.y))[: -(-2 * len(self._problem.y) // 3)]
        X = self._problem.X[np.ix_(rows, np.concatenate(columns))]
        forest = self._make(int(rng.integers(2**31)))
        forest.fit(np.hstack([X, rng.permuted(X, axis=0)]), self._problem.y[rows])
        gains = forest.feature_importances_
        own = np.split(gains[: X.shape[1]], np.cumsum([len(c) for c in columns])[:-1])
        best = gains[X.shape[1] :].max()
        return np.array([part.max() > best for part in own], dtype=bool)


_MODELS: dict[str, Callable[[RivalProblem, int], RewardModel]] = {
    "linear": _SpikeAndSlab,
    "trees": _ShuffledForest,
}
