"""One step of policy iteration: sample states, play every purchase in them, regress what they return."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import stop_if_late
from rlselect.datumwise._encoding import Regressors
from rlselect.datumwise._policy import AdditivePolicy
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._regression import shared_fit
from rlselect.datumwise._rollout import Played, play_states
from rlselect.datumwise._settings import PolicyIteration
from rlselect.datumwise._states import States, distinct, sample_states

__all__ = ["blend", "draw_states", "first_policies", "improve", "regress"]


def first_policies(
    problem: PurchaseProblem,
    settings: PolicyIteration,
    folds: NDArray,
    rng: np.random.Generator,
    first: float,
) -> list[AdditivePolicy]:
    """Policies that know the classes, but buy nothing or all, by the score `first` of every purchase."""
    states = draw_states(problem, settings, None, rng)
    policies = regress(problem, settings, states, None, folds)
    n_units = states.bought.shape[1]
    for policy in policies:
        policy.theta[:, :, :n_units] = 0.0
        policy.theta[:, 0, :n_units] = first
    return policies


def draw_states(
    problem: PurchaseProblem, settings: PolicyIteration, last: NDArray | None, rng: np.random.Generator
) -> States:
    """Rows of an iteration and their states."""
    n, n_states = len(problem.labels), settings.states_per_row
    most = max(1, settings.max_states // n_states)
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    bought, spent = sample_states(
        problem.rules,
        problem.closed[rows],
        n_states,
        None if last is None else last[rows],
        settings.on_policy,
        rng,
    )
    flat = bought.reshape(-1, bought.shape[2])
    return distinct(problem.rules, np.repeat(rows, n_states), flat, spent.ravel())


def improve(
    problem: PurchaseProblem,
    settings: PolicyIteration,
    policies: list[AdditivePolicy],
    last: NDArray,
    folds: NDArray,
    rng: np.random.Generator,
    may_stop: bool = False,
) -> list[AdditivePolicy]:
    """Sample states, play all purchases in them, and regress their returns; out of time it may stop."""
    states = draw_states(problem, settings, last, rng)
    shape = len(states.row), states.bought.shape[1] + 1
    ends = Played(np.empty(shape, dtype=np.int32), np.empty(shape))
    for fold in range(int(folds.max()) + 1):
        if may_stop:
            stop_if_late()
        own = np.flatnonzero(folds[states.row] == fold)
        if len(own) == 0:
            continue
        chosen, place = np.unique(states.row[own], return_inverse=True)
        played = play_states(
            policies[fold],
            problem.codes[chosen],
            problem.closed[chosen],
            place,
            states.bought[own],
            states.spent[own],
            None if problem.skipped is None else problem.skipped[chosen],
        )
        ends.answer[own], ends.paid[own] = played.answer, played.paid
    # Buying again what is there changes nothing but the purse: with that target for what cannot be bought,
    # all actions share one regression.
    state, unit = np.nonzero(ends.answer < 0)
    ends.answer[state, unit] = ends.answer[state, -1]
    ends.paid[state, unit] = ends.paid[state, -1] + problem.rules.price(states.bought)[state, unit]
    return regress(problem, settings, states, ends, folds, may_stop)


def regress(
    problem: PurchaseProblem,
    settings: PolicyIteration,
    states: States,
    ends: Played | None,
    folds: NDArray,
    may_stop: bool = False,
) -> list[AdditivePolicy]:
    """Policies with each fold left out, and the one from all rows last; without ends buying is worth 0."""
    rules, row, held = problem.rules, states.row, states.bought
    n_units = held.shape[1]

    def targets(fold: int, some: NDArray) -> NDArray:
        shares = problem.shares(fold, row[some])
        if ends is None:
            return np.hstack([np.zeros((len(some), n_units)), shares])
        return np.hstack([ends.part(some).returns(shares @ rules.losses.T)[0], shares])

    weights = problem.weights[row] * states.count
    stages = np.minimum(held.sum(axis=1), settings.n_stages - 1)
    ridge = settings.ridge * settings.states_per_row
    sums: list[NDArray] = []
    for columns in problem.encoder.regressors_:
        if may_stop:
            stop_if_late()

        def design(some: NDArray, columns: Regressors = columns) -> Any:
            return columns.design(problem.codes[row[some]], rules.shown(held[some]))

        thetas = shared_fit(
            design,
            targets,
            weights,
            folds[row],
            stages,
            settings.n_stages,
            ridge,
            columns.encoder.precision_,
            n_folds=int(folds.max()) + 1,
            differ=problem.taught is not None,
        )
        for place, theta in enumerate(thetas):
            if place == len(sums):
                sums.append(columns.spread(theta))
            else:
                sums[place] += columns.spread(theta)
    out = []
    for theta in sums:
        # In place: with very many features memory takes longer than sums.
        theta /= len(problem.encoder.regressors_)
        shares = theta[..., n_units:]
        # Least squares is linear in its targets: expected losses follow from the shares.
        scores = np.concatenate([theta[..., :n_units], -shares @ rules.losses.T], axis=2)
        out.append(AdditivePolicy(rules, problem.encoder, scores, shares))
    return out


def blend(policies: list[list[AdditivePolicy]], inertia: float | None = None) -> list[AdditivePolicy]:
    """Mean weights of several policies for each fold; of a new and an old one, with the share of the old.

    To move the weights only part of the way is as good as more states and stops oscillation.
    """
    shares = np.full(len(policies), 1 / len(policies)) if inertia is None else [1 - inertia, inertia]
    out = []
    for same in zip(*policies, strict=True):
        theta = sum(share * policy.theta for share, policy in zip(shares, same, strict=True))
        classes = sum(share * policy.shares for share, policy in zip(shares, same, strict=True))
        first, later = (
            sum(share * policy.margins[k] for share, policy in zip(shares, same, strict=True)) for k in (0, 1)
        )
        out.append(AdditivePolicy(same[0].rules, same[0].encoder, theta[:, :-1], classes, (first, later)))
    return out
