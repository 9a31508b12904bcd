"""The value of given decisions: plug-in, inverse-probability and doubly robust estimates."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlselect.regimes._estimates import RegimeValue, from_scores
from rlselect.regimes._evaluation import Decide, Evaluation, Method, cross_fitted
from rlselect.regimes._selection import fit_q_function
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._trial import TrialData

__all__ = [
    "decisions_of_halves",
    "estimate_value",
    "feasible_only",
    "in_all",
    "observed_value",
    "q_functions",
]


def feasible_only(decide: Decide, trial: TrialData) -> Decide:
    """The same decisions, refused where they are not feasible."""

    def checked(t: int, history: np.ndarray) -> np.ndarray:
        chosen = decide(t, history)
        allowed = trial.stages[t].allowed(history)
        bad = np.flatnonzero(~allowed[np.arange(len(chosen)), chosen])
        if len(bad):
            label = trial.stages[t].labels[chosen[bad[0]]]
            raise ValueError(
                f"the regime recommends the infeasible action {label!r} at stage {t + 1} for {len(bad)} "
                "subject(s); choose among the feasible ones (see TrialData's `feasible`)"
            )
        return chosen

    return checked


def estimate_value(
    evaluation: Evaluation,
    decisions: Sequence[Decide],
    method: Method,
    model: Any,
    level: float,
    rng: np.random.Generator,
    pairs: np.ndarray | None = None,
) -> RegimeValue:
    """Value of one regime, or of one per fold for the subjects of the fold.

    Parameters
    ----------
    evaluation : Evaluation
    decisions : sequence of callables
    method : {"dr", "ipw", "plug-in"}
    model
        Of the Q-functions, as `QLearning` takes it.
    level : float
    rng : Generator
    pairs : (divisions, 2, stages, n) int array, optional
        Decisions for everyone of the regimes from two halves of the subjects, where regimes were learnt.
    """
    if method == "ipw":
        return _inverse_probability(evaluation, decisions, level)
    machines = q_functions(evaluation, decisions[0], model, rng)
    folds = evaluation.folds[None]
    found = cross_fitted(evaluation, machines, decisions, method, folds, pairs=pairs, patient=True)
    return in_all(evaluation, found, method, level)


def in_all(evaluation: Evaluation, found: np.ndarray, method: Method, level: float) -> RegimeValue:
    """The value of what `by_subject` has put together, (splits, 1, n) or (splits, 1 + pairs * stages, n)."""
    apart = None
    if found.shape[1] > 1:
        apart = found[:, 1:].reshape(len(found), -1, evaluation.trial.n_stages, found.shape[-1])
    trial = evaluation.trial
    return from_scores(found[:, 0], method, level, trial.sample, apart, trial.limits(evaluation.discount))


def decisions_of_halves(
    evaluation: Evaluation, learn: Callable[[np.ndarray], Decide], count: int = 1
) -> np.ndarray | None:
    """What two halves of the subjects teach for everyone, (count, 2, stages, n), in so many divisions.

    ``learn`` makes a regime of some subjects, a bool array. None where halves are too few.
    """
    halves = evaluation.halves(count)
    if not halves:
        return None
    return np.array([[evaluation.decisions(learn(rows)) for rows in (half, ~half)] for half in halves])


def q_functions(
    evaluation: Evaluation, decide: Decide, model: Any, rng: np.random.Generator
) -> list[StageMachine]:
    """Q-functions of a fixed regime on all history columns, tuned on everyone, ready to be refitted."""

    def fit(t: int, y: np.ndarray) -> StageMachine:
        subjects, weights = evaluation.learners(t)
        stage = evaluation.trial.stages[t]
        machine = fit_q_function(stage, subjects, y[subjects], weights, model, None, rng)[0]
        link = evaluation.links[t]
        return machine if link is None else machine.by_own_loss(link)

    return evaluation.backward(fit, decide)


def _inverse_probability(evaluation: Evaluation, decisions: Sequence[Decide], level: float) -> RegimeValue:
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
    return _weighted_mean(weight, total, "ipw", level, trial, trial.limits(evaluation.discount))


def observed_value(trial: TrialData, discount: float, level: float) -> RegimeValue:
    """Mean return of what was done; those who were not lost stand for those who were."""
    kept = np.ones(trial.n_subjects)
    for number, stage in enumerate(trial.stages, start=1):
        mine = ~trial.lost(number) / trial.remaining_probabilities(number)
        kept *= np.where(stage.present, mine, 1.0)
    returns = trial.returns(discount)
    return _weighted_mean(kept, returns, "observed", level, trial, trial.limits(discount))


def _weighted_mean(
    weight: np.ndarray,
    total: np.ndarray,
    method: str,
    level: float,
    trial: TrialData,
    limits: tuple[float, float],
) -> RegimeValue:
    """Mean of returns (n,) by weights that stand for others, beside those of the sample."""
    own = trial.sample.weights
    if np.ptp(weight):
        value = (weight * own) @ total / (weight * own).sum()
        total = value + weight / (weight * own).mean() * (total - value)
    return from_scores(total, method, level, trial.sample, limits=limits)
