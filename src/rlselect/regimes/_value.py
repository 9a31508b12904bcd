"""What a regime is worth, whatever it is: a learner, a function, a list of actions or what was done."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rlselect._options import check_value, number, one_of, whole
from rlselect._parallel import jobs, run_tasks
from rlselect._random import RandomState, as_generator
from rlselect.data import read_labels
from rlselect.regimes._estimates import RegimeComparison, RegimeValue
from rlselect.regimes._estimation import decisions_of_halves, estimate_value, feasible_only, observed_value
from rlselect.regimes._evaluation import Decide, Evaluation, Method
from rlselect.regimes._learner import LEVEL, BackwardLearner, check_trial
from rlselect.regimes._overlap import warn_of_poor_overlap
from rlselect.regimes._selection import MODEL
from rlselect.regimes._stages import StageFrame, readable_history
from rlselect.regimes._trial import TrialData

__all__ = ["compare_regimes", "regime_value"]

_ALLOWED = {
    "method": one_of("dr", "ipw", "plug-in"),
    "model": MODEL,
    "n_folds": whole(2),
    "level": LEVEL,
    "discount": number("a number between 0 and 1", least=0.0, most=1.0),
}


def regime_value(
    trial: TrialData,
    regime: Any,
    *,
    method: Method = "dr",
    model: Any = "anova",
    n_folds: int = 5,
    level: float = 0.95,
    discount: float | None = None,
    random_state: RandomState = None,
) -> RegimeValue:
    """Estimate what a regime is worth from a trial.

    Parameters
    ----------
    trial : TrialData
    regime : learner, callable, object with predict, list of actions or "observed"
        A learner that is not fitted is learnt on each fold's complement and judged on the fold, selection
        included. A fitted one, a callable ``regime(history, stage)`` or one action per stage are fixed
        regimes: judge a fitted learner on other subjects than it was fitted on. "observed" is what was done.
    method : {"dr", "ipw", "plug-in"}, default="dr"
        Doubly robust, inverse probability (normalised weights), or the mean of the fitted Q-function, whose
        interval leaves out the error of the model.
    model : as for QLearning, default="anova"
        Q-functions of a fixed regime.
    n_folds : int, default=5
    level : float, default=0.95
        Of the interval.
    discount : float in [0, 1], optional
        Weight of the next stage: 1 by default, and for a learner its own, which nothing else may contradict.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds.

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
    check_trial(trial)
    learner = regime if isinstance(regime, BackwardLearner) else None
    discount = _read_discount(discount, learner)
    given = {"method": method, "model": model, "n_folds": n_folds, "level": level, "discount": discount}
    for name, allowed in _ALLOWED.items():
        check_value(name, given[name], allowed)
    if isinstance(regime, str) and regime == "observed":
        return observed_value(trial, discount, level)
    warn_of_poor_overlap(trial.overlap())
    sign = 1.0 if learner is None or learner.maximize else -1.0
    rng = as_generator(random_state)
    evaluation = Evaluation(trial, discount, sign, n_folds, rng)
    with jobs(None if learner is None else learner.n_jobs):
        if learner is not None and not _is_fitted(learner):
            answers = _learn_without_folds(evaluation, learner)
            pairs = _learn_from_halves(evaluation, learner) if method == "dr" else None
        else:
            answers, pairs = [_as_answer(regime, trial)], None
        decisions = [feasible_only(answer, trial) for answer in answers]
        return estimate_value(evaluation, decisions, method, model, level, rng, pairs)


def _read_discount(discount: float | None, learner: BackwardLearner | None) -> float:
    if learner is None:
        return 1.0 if discount is None else discount
    if discount is not None and discount != learner.discount:
        raise ValueError(
            f"discount={discount!r} was given, but the learner has discount={learner.discount!r}; leave it "
            "out, or give the learner another one."
        )
    return learner.discount


def _is_fitted(learner: BackwardLearner) -> bool:
    try:
        check_is_fitted(learner)
    except NotFittedError:
        return False
    return True


def _learn_without_folds(evaluation: Evaluation, learner: BackwardLearner) -> list[Decide]:
    """What the learner would do in each fold, learnt from the others."""
    folds = np.unique(evaluation.folds)
    tasks = ((learner, evaluation.trial, evaluation.folds != fold) for fold in folds)
    return [fitted._decide_for(evaluation.trial) for fitted in run_tasks(_learn_some, tasks)]


def _learn_from_halves(evaluation: Evaluation, learner: BackwardLearner) -> np.ndarray | None:
    trial = evaluation.trial
    return decisions_of_halves(evaluation, lambda rows: _learn_some(learner, trial, rows)._decide_for(trial))


def _learn_some(learner: BackwardLearner, trial: TrialData, rows: np.ndarray) -> BackwardLearner:
    return clone(learner)._fit_rows(trial, rows)


def _as_answer(regime: Any, trial: TrialData) -> Decide:
    """A fixed regime as a function from a stage, counted from 0, and a history to positions of actions."""
    if isinstance(regime, BackwardLearner):
        regime._check_same(trial)
        return regime._decide_for(trial)
    if callable(regime) or hasattr(regime, "predict"):
        ask = regime if callable(regime) else regime.predict

        def answer(t: int, history: np.ndarray) -> np.ndarray:
            stage = trial.stages[t]
            return _positions(ask(readable_history(stage.columns, history), t + 1), stage, t, len(history))

        return answer
    if isinstance(regime, Sequence | np.ndarray) and not isinstance(regime, str):
        if len(regime) != trial.n_stages:
            raise ValueError(
                f"a fixed regime needs one action per stage: got {len(regime)} for {trial.n_stages} stages"
            )
        return lambda t, history: _positions([regime[t]] * len(history), trial.stages[t], t, len(history))
    raise TypeError(
        "a regime must be a learner, a callable regime(history, stage), an object with "
        f"predict(history, stage), a list with one action per stage or 'observed', got {regime!r}"
    )


def _positions(labels: Any, stage: StageFrame, t: int, n: int) -> np.ndarray:
    found = read_labels(labels, f"the regime's answer at stage {t + 1}")
    if len(found) != n:
        raise ValueError(f"the regime returned {len(found)} actions for {n} subjects at stage {t + 1}")
    if stage.doses is not None:
        return _dose_positions(found, stage, t)
    place = {label: position for position, label in enumerate(stage.labels)}
    unknown = sorted({str(label) for label in found if label not in place})
    if unknown:
        raise ValueError(
            f"the regime recommends the infeasible action(s) {unknown} at stage {t + 1}; the actions there "
            f"are {list(stage.labels)}"
        )
    return np.array([place[label] for label in found])


def _dose_positions(found: np.ndarray, stage: StageFrame, t: int) -> np.ndarray:
    """Candidates next to the doses that a regime recommends."""
    assert stage.doses is not None
    try:
        doses = found.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"the regime recommends {found[0]!r} at stage {t + 1}; doses are numbers") from None
    low, high = stage.labels[0], stage.labels[-1]
    outside = doses[~((doses >= low) & (doses <= high))]
    if len(outside):
        raise ValueError(
            f"the regime recommends the dose {outside[0]:g} at stage {t + 1}; those given there were {low} "
            f"to {high}"
        )
    return stage.doses.place(doses)


def compare_regimes(
    trial: TrialData, regimes: Mapping[str, Any], *, random_state: RandomState = None, **options: Any
) -> RegimeComparison:
    """Estimate several regimes on the same folds.

    Parameters
    ----------
    trial : TrialData
    regimes : mapping
        Name to what :func:`regime_value` takes.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, which are the same for all.
    **options
        Of :func:`regime_value`.

    Returns
    -------
    RegimeComparison

    Examples
    --------
    >>> from rlselect.regimes import TrialData, compare_regimes
    >>> from rlselect.simulate import make_regime_trial
    >>> simulated = make_regime_trial("I", 200, 5, random_state=0)
    >>> trial = TrialData.from_wide(simulated.columns, simulated.stages)
    >>> compared = compare_regimes(trial, {"always 1": [1, 1], "as it was": "observed"}, method="ipw")
    >>> list(compared.values)
    ['always 1', 'as it was']
    """
    if not isinstance(regimes, Mapping) or not regimes:
        raise ValueError(f"regimes must be a dict from names to at least one regime, got {regimes!r}")
    seed = int(as_generator(random_state).integers(2**31))
    return RegimeComparison(
        {name: regime_value(trial, regime, random_state=seed, **options) for name, regime in regimes.items()}
    )
