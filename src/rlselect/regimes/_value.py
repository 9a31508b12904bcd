r"""What a regime is worth: plug-in, inverse-probability and doubly robust estimates with intervals.

With :math:`\rho_t = \prod_{s \le t} 1\{A_s = d_s(H_s)\} / \pi_s` the doubly robust score of a subject is

.. math:: V_1(H_1) + \sum_t \gamma^{t-1} \rho_t \{R_t + \gamma V_{t+1}(H_{t+1}) - Q_t(H_t, A_t)\},

with Q-functions of the regime fitted without the subject's fold; its mean is right when either the
Q-functions or the probabilities are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rlselect._parallel import jobs, run_tasks
from rlselect.regimes._propensity import remaining_probabilities, taken_probabilities
from rlselect.regimes._tables import plain_labels
from rlselect.regimes._trial import TrialData, readable_history

__all__ = ["RegimeComparison", "RegimeValue", "compare_regimes", "regime_value"]

_METHODS = ("dr", "ipw", "plug-in")
_SPLITS = 3
Decide = Callable[[int, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RegimeValue:
    """Estimated value of a regime.

    Attributes
    ----------
    value, standard_error : float
    interval : tuple of (float, float)
    confidence : float
    method : {"dr", "ipw", "plug-in", "observed"}
    scores : (n,) array
        One a subject; their mean is ``value`` and their spread gives ``standard_error``. Where they were
        averaged over several splits into folds, the standard error is that of a single split.
    """

    value: float
    standard_error: float
    interval: tuple
    confidence: float
    method: str
    scores: np.ndarray = field(repr=False, compare=False)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.value:.4g} (standard error {self.standard_error:.2g}, {100 * self.confidence:.0f} % "
            f"interval {low:.4g} to {high:.4g})"
        )


def from_scores(scores: np.ndarray, method: str, confidence: float) -> RegimeValue:
    """Mean, standard error and interval of influence-function scores: (n,), or (splits, n).

    Few subjects follow a regime through many stages, and their weights are large: the standard error is then
    uncertain itself. The quantile is Student's with the degrees of freedom that the kurtosis of the scores
    leaves to their variance, about n for normal ones. Several splits are averaged, but the standard error
    stays that of one: it does not know of the regimes and Q-functions that the folds share.
    """
    splits = np.atleast_2d(scores)
    mean, n = splits.mean(axis=0), splits.shape[1]
    value = float(mean.mean())
    error = float(np.sqrt(splits.var(axis=1, ddof=1).mean() / n))
    reach = float(student.ppf(0.5 + 0.5 * confidence, _degrees_of_freedom(mean))) * error
    return RegimeValue(value, error, (value - reach, value + reach), confidence, method, mean)


def _degrees_of_freedom(scores: np.ndarray) -> float:
    """Of the chi-square variable that varies as much, for its mean, as the variance of the scores."""
    n, square = len(scores), np.square(scores - scores.mean())
    if not square.any():
        return n - 1.0
    kurtosis = float(np.mean(square**2) / np.mean(square) ** 2)
    return min(n - 1.0, max(1.0, 2.0 * n / max(kurtosis - 1.0, 1e-12)))


class Evaluation:
    """What every estimate of a trial needs: probabilities, folds and the accounting of who was there."""

    def __init__(self, trial: TrialData, discount: float, sign: float, n_folds: int, rng: Any) -> None:
        self.trial, self.discount, self.sign = trial, discount, sign
        self._orders = np.array([rng.permutation(trial.n_subjects) for _ in range(_SPLITS)])
        self.splits = self.splits_into(n_folds)
        self.folds = self.splits[0]
        numbers = range(1, trial.n_stages + 1)
        self.taken = [taken_probabilities(trial, t) for t in numbers]
        self.remaining = [remaining_probabilities(trial, t) for t in numbers]

    def splits_into(self, n_folds: int) -> np.ndarray:
        """Fold of each subject in each of several splits: (splits, n)."""
        return self._orders % max(2, min(n_folds, self.trial.n_subjects // 2))

    def lost(self, index: int) -> np.ndarray:
        """Subjects lost after a stage (counted from 0): what came of them is not known."""
        stages = self.trial.stages
        if self.trial.leaving == "ends" or index + 1 == len(stages):
            return np.zeros(self.trial.n_subjects, dtype=bool)
        return stages[index].present & ~stages[index + 1].present

    def backward(self, machines: Sequence[Any], rows: np.ndarray, decide: Decide | None) -> list:
        """Machines refitted on some subjects, last stage first, for a fixed regime or for the best one."""
        fitted: list[Any] = [None] * len(machines)
        future = np.zeros(self.trial.n_subjects)
        for t in reversed(range(len(machines))):
            stage = self.trial.stages[t]
            y = self.sign * stage.reward + self.discount * future
            local = np.flatnonzero(rows[machines[t].rows])
            fitted[t] = machines[t].refit(local, y[machines[t].rows[local]])
            here = stage.present
            q = fitted[t].q_values(stage.history[here])
            chosen = self.choose(t, q, stage.history[here], decide)
            future = np.zeros(self.trial.n_subjects)
            future[here] = q[np.arange(len(q)), chosen]
        return fitted

    def choose(self, t: int, q: np.ndarray, history: np.ndarray, decide: Decide | None) -> np.ndarray:
        """Positions of the actions a regime takes; the best feasible ones without a regime."""
        if decide is not None:
            return decide(t, history)
        return best_feasible(q, self.trial.stages[t].allowed(history))

    def scores(self, machines: Sequence[Any], rows: np.ndarray, decide: Decide | None) -> tuple:
        """Doubly robust scores, plug-in values, path weights and returns of some subjects."""
        n, T = self.trial.n_subjects, len(machines)
        values, chosen = np.zeros((T + 1, n)), np.zeros((T, n), dtype=int)
        fitted = np.zeros((T, n))
        for t, stage in enumerate(self.trial.stages):
            here = np.flatnonzero(stage.present & rows)
            if not len(here):
                continue
            q = machines[t].q_values(stage.history[here])
            chosen[t, here] = self.choose(t, q, stage.history[here], decide)
            values[t, here] = q[np.arange(len(here)), chosen[t, here]]
            fitted[t, here] = q[np.arange(len(here)), stage.action[here]]
        score, path = values[0].copy(), np.ones(n)
        for t, stage in enumerate(self.trial.stages):
            agrees = np.where(stage.present, (stage.action == chosen[t]) / self.taken[t], 0.0)
            path = path * agrees
            kept = ~self.lost(t) / self.remaining[t]
            residual = self.sign * stage.reward + self.discount * values[t + 1] - fitted[t]
            score += self.discount**t * np.where(stage.present, path * kept * residual, 0.0)
            path = path * kept
        return self.sign * score[rows], self.sign * values[0][rows]

    def weighted_returns(self, decide_all: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Path weight and return of each subject for given actions (positions, one array a stage)."""
        n = self.trial.n_subjects
        weight, total = np.ones(n), np.zeros(n)
        for t, stage in enumerate(self.trial.stages):
            agrees = (stage.action == decide_all[t]) / self.taken[t]
            weight = weight * np.where(stage.present, agrees * ~self.lost(t) / self.remaining[t], 1.0)
            total += self.discount**t * stage.reward
        return weight, total


def best_feasible(q: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Position of the largest allowed entry of each row."""
    return np.where(allowed, q, -np.inf).argmax(axis=1)


def cross_fitted(
    evaluation: Evaluation, machines: Any, decisions: Sequence[Decide | None], method: str, splits: Any
) -> np.ndarray:
    """Scores of every subject from machines, refitted with their parameters, that have not seen its fold.

    ``decisions`` holds one regime for all folds, or one a fold; ``splits`` the folds of the subjects, a row
    a split, as the answer does.
    """
    tests = [(k, folds == fold) for k, folds in enumerate(splits) for fold in np.unique(folds)]
    each = decisions if len(decisions) > 1 else [*decisions] * len(tests)
    found = run_tasks(
        _fold_scores,
        ((evaluation, machines, test, d, method) for (_, test), d in zip(tests, each, strict=True)),
    )
    scores = np.empty(np.shape(splits))
    for (k, test), mine in zip(tests, found, strict=True):
        scores[k, test] = mine
    return scores


def _fold_scores(evaluation, machines, test, decide, method):
    fitted = evaluation.backward(machines, ~test, decide)
    return evaluation.scores(fitted, test, decide)[method != "dr"]


def as_decision(regime: Any, trial: TrialData) -> Decide:
    """A regime as ``decide(stage from 0, history) -> positions``, checked for feasibility."""
    if hasattr(regime, "_decide"):
        check_is_fitted(regime)
        regime._check_same(trial)

        def answer(t, history):
            return regime._decide(t, history)
    elif callable(regime) or hasattr(regime, "predict"):
        ask = regime if callable(regime) else regime.predict

        def answer(t, history):
            stage = trial.stages[t]
            return _positions(ask(readable_history(stage.columns, history), t + 1), stage, t, len(history))
    elif isinstance(regime, (Sequence, np.ndarray)) and not isinstance(regime, str):
        if len(regime) != trial.n_stages:
            raise ValueError(
                f"a fixed regime needs one action a stage: got {len(regime)} for {trial.n_stages} stages"
            )

        def answer(t, history):
            return _positions([regime[t]] * len(history), trial.stages[t], t, len(history))
    else:
        raise TypeError(
            "a regime must be a learner, a callable regime(history, stage), an object with "
            "predict(history, stage), a list with one action a stage or 'observed', got "
            f"{regime!r}"
        )

    def decide(t, history):
        chosen = answer(t, history)
        allowed = trial.stages[t].allowed(history)
        bad = np.flatnonzero(~allowed[np.arange(len(chosen)), chosen])
        if len(bad):
            label = trial.stages[t].labels[chosen[bad[0]]]
            raise ValueError(
                f"the regime recommends the infeasible action {label!r} at stage {t + 1} for {len(bad)} "
                "subject(s); choose among the feasible ones (see TrialData's `feasible`)"
            )
        return chosen

    return decide


def _positions(labels: Any, stage: Any, t: int, n: int) -> np.ndarray:
    found = plain_labels(np.asarray(labels, dtype=object) if not isinstance(labels, np.ndarray) else labels)
    if len(found) != n:
        raise ValueError(f"the regime returned {len(found)} actions for {n} subjects at stage {t + 1}")
    place = {label: position for position, label in enumerate(stage.labels)}
    unknown = sorted({str(label) for label in found if label not in place})
    if unknown:
        raise ValueError(
            f"the regime recommends the infeasible action(s) {unknown} at stage {t + 1}; the actions "
            "there are "
            f"{list(stage.labels)}"
        )
    return np.array([place[label] for label in found])


def regime_value(
    trial: TrialData,
    regime: Any,
    *,
    method: str = "dr",
    model: Any = "anova",
    n_folds: int = 5,
    confidence: float = 0.95,
    discount: float = 1.0,
    random_state: Any = None,
) -> RegimeValue:
    """Estimate what a regime is worth from a trial.

    Parameters
    ----------
    trial : TrialData
    regime : learner, callable, object with predict, list of actions or "observed"
        A learner that is not fitted is learnt on each fold's complement and judged on the fold, selection
        included. A fitted one, a callable ``regime(history, stage)`` or one action a stage are fixed regimes:
        judge a fitted learner on other subjects than it was fitted on. "observed" is what was done.
    method : {"dr", "ipw", "plug-in"}, default="dr"
        Doubly robust, inverse probability (normalised weights), or the mean of the fitted Q-function, whose
        interval leaves out the error of the model.
    model : as for QLearning, default="anova"
        Q-functions of a fixed regime.
    n_folds : int, default=5
    confidence : float, default=0.95
    discount : float, default=1.0
    random_state : int, Generator or None

    Returns
    -------
    RegimeValue

    Examples
    --------
    >>> from rlselect.regimes import TrialData, regime_value
    >>> from rlselect.simulate import make_regime_trial
    >>> simulated = make_regime_trial("I", 200, 5, random_state=0)
    >>> trial = TrialData.from_wide(simulated.columns, simulated.stages)
    >>> best = regime_value(trial, lambda h, t: [1] * len(h["X1_1"]), method="ipw", random_state=0)
    >>> best.interval[0] < best.value < best.interval[1]
    True
    """
    if not isinstance(trial, TrialData):
        raise TypeError(
            f"trial must be a TrialData, got {type(trial).__name__}; build one with TrialData.from_wide or "
            "TrialData.from_long"
        )
    if method not in _METHODS:
        raise ValueError(f"method={method!r} is not known; use one of {list(_METHODS)}")
    if not isinstance(n_folds, (int, np.integer)) or n_folds < 2:
        raise ValueError(f"n_folds={n_folds!r} must be a whole number, at least 2")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1")
    rng = np.random.default_rng(random_state)
    if isinstance(regime, str) and regime == "observed":
        total = sum(discount**t * stage.reward for t, stage in enumerate(trial.stages))
        return from_scores(np.asarray(total), "observed", confidence)
    sign = 1.0
    learn = None
    if hasattr(regime, "_decide"):
        discount, sign = regime.discount, 1.0 if regime.maximize else -1.0
        try:
            check_is_fitted(regime)
        except NotFittedError:
            learn = regime
    evaluation = Evaluation(trial, discount, sign, n_folds, rng)
    with jobs(None if learn is None else learn.n_jobs):
        decisions = [as_decision(regime, trial)] if learn is None else _fold_decisions(evaluation, learn)
        if method == "ipw":
            return _inverse_probability(evaluation, decisions, confidence)
        from rlselect.regimes._q_learning import nuisance_machines

        machines = nuisance_machines(trial, evaluation, model, decisions[0], rng)
        scores = cross_fitted(evaluation, machines, decisions, method, evaluation.folds[None])
    return from_scores(scores, method, confidence)


def _fold_decisions(evaluation: Evaluation, learner: Any) -> list[Decide]:
    folds = np.unique(evaluation.folds)
    fitted = run_tasks(_fit_some, ((learner, evaluation.trial, evaluation.folds != fold) for fold in folds))
    return [as_decision(some, evaluation.trial) for some in fitted]


def _fit_some(learner: Any, trial: TrialData, rows: np.ndarray) -> Any:
    return clone(learner)._fit_rows(trial, rows=rows, value=False)


def _inverse_probability(evaluation: Evaluation, decisions: list, confidence: float) -> RegimeValue:
    trial = evaluation.trial
    chosen = [np.zeros(trial.n_subjects, dtype=int) for _ in trial.stages]
    for fold, decide in enumerate(decisions):
        mine = evaluation.folds == fold if len(decisions) > 1 else np.ones(trial.n_subjects, dtype=bool)
        for t, stage in enumerate(trial.stages):
            here = stage.present & mine
            if here.any():
                chosen[t][here] = decide(t, stage.history[here])
    weight, total = evaluation.weighted_returns(chosen)
    if not weight.any():
        raise ValueError(
            "no subject followed the regime at every stage, so inverse-probability weights are all zero; use "
            "method='dr'"
        )
    value = weight @ total / weight.sum()
    return from_scores(value + weight / weight.mean() * (total - value), "ipw", confidence)


@dataclass(frozen=True, repr=False)
class RegimeComparison:
    """Values of several regimes on the same subjects.

    Attributes
    ----------
    values : dict of RegimeValue
    """

    values: dict

    def difference(self, first: str, second: str) -> RegimeValue:
        """Value of one regime less that of another, with the paired standard error."""
        for name in (first, second):
            if name not in self.values:
                raise ValueError(f"no regime is called {name!r}; the names are {list(self.values)}")
        a, b = self.values[first], self.values[second]
        return from_scores(a.scores - b.scores, a.method, a.confidence)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.values.items())

    __repr__ = __str__


def compare_regimes(trial: TrialData, regimes: Mapping[str, Any], **options: Any) -> RegimeComparison:
    """Estimate several regimes on the same folds.

    Parameters
    ----------
    trial : TrialData
    regimes : mapping
        Name to what :func:`regime_value` takes.
    **options
        Of :func:`regime_value`; ``random_state`` makes the folds the same for all.
    """
    if not isinstance(regimes, Mapping) or not regimes:
        raise ValueError(f"regimes must be a dict from names to at least one regime, got {regimes!r}")
    seed = options.pop("random_state", None)
    seed = int(np.random.default_rng(seed).integers(2**31))
    return RegimeComparison(
        {name: regime_value(trial, regime, random_state=seed, **options) for name, regime in regimes.items()}
    )
