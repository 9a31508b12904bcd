"""Rollouts classification policy iteration as sections 3.4 and 6.1 of the paper tell it."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect._clock import time_is_up
from rlselect.datumwise._learned import Learned, PolicyStep, Stop, never
from rlselect.datumwise._policy import NEVER, AdditivePolicy
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._regression import ridge_solve
from rlselect.datumwise._rollout import play_states
from rlselect.datumwise._settings import PaperIteration
from rlselect.datumwise._states import reachable

__all__ = ["iterate_as_paper"]


def iterate_as_paper(
    problem: PurchaseProblem, settings: PaperIteration, rng: np.random.Generator, stop: Stop = never
) -> Learned:
    """Iterate policies, and keep the last one or the best."""
    mixture = [_first(problem, settings, rng)]
    shares = np.ones(1)
    learned = Learned(mixture[0], -np.inf)
    for iteration in range(1, settings.n_iter + 1):
        bought, spent = _random_states(problem, settings.states_per_row, rng)
        returns = _play_mixture(problem, settings, mixture, shares, bought, spent, rng)
        policy = _regress(problem, bought, returns, settings.ridge)
        if learned.steps and time_is_up():
            # some of its purchases were not judged: the policies before know more
            break
        # With nothing learned before it, the first regression is the whole mixture.
        shares = (
            np.append(settings.alpha * shares, 1 - settings.alpha) if iteration > 1 else np.array([0.0, 1.0])
        )
        mixture.append(policy)
        episodes = policy.run(problem.codes, problem.closed)
        value = float(np.average(problem.returns(episodes), weights=problem.weights))
        if settings.keep == "last" or value > learned.value:
            learned = Learned(policy, value, learned.steps)
        learned.steps.append(PolicyStep(0, iteration, value, float(episodes.bought.mean())))
        if stop():
            break
    learned.reason = f"{len(learned.steps)} iterations, the {settings.keep} of them kept"
    return learned


def _play_mixture(
    problem: PurchaseProblem,
    settings: PaperIteration,
    mixture: list[AdditivePolicy],
    shares: NDArray,
    bought: NDArray,
    spent: NDArray,
    rng: np.random.Generator,
) -> NDArray:
    """Mean returns of every purchase in every state, (rows, states, units); NaN where it is not played."""
    returns = np.zeros(bought.shape)
    for _ in range(settings.n_rollouts):
        member = rng.choice(len(mixture), size=len(problem.labels), p=shares)
        for number in np.unique(member):
            rows = np.flatnonzero(member == number)
            played = play_states(
                mixture[number],
                problem.codes[rows],
                problem.closed[rows],
                np.repeat(np.arange(len(rows)), settings.states_per_row),
                bought[rows].reshape(-1, bought.shape[2]),
                spent[rows].ravel(),
                None if problem.skipped is None else problem.skipped[rows],
            )
            truth = problem.rules.losses.T[np.repeat(problem.labels[rows], settings.states_per_row)]
            returns[rows] += played.returns(truth)[0].reshape(len(rows), -1, bought.shape[2])
    return returns / settings.n_rollouts


def _random_states(
    problem: PurchaseProblem, n_states: int, rng: np.random.Generator
) -> tuple[NDArray, NDArray]:
    n, n_units = problem.closed.shape
    wanted = rng.random((n, n_states, n_units)) < 0.5
    wanted &= ~problem.closed[:, None, :]
    bought, spent = reachable(problem.rules, wanted.reshape(-1, n_units), rng)
    return bought.reshape(wanted.shape), spent.reshape(n, n_states)


def _first(problem: PurchaseProblem, settings: PaperIteration, rng: np.random.Generator) -> AdditivePolicy:
    bought, _ = _random_states(problem, settings.states_per_row, rng)
    policy = _regress(problem, bought, np.full(bought.shape, np.nan), settings.ridge)
    policy.theta[:, 0, : bought.shape[2]] = NEVER
    return policy


def _regress(problem: PurchaseProblem, bought: NDArray, returns: NDArray, ridge: float) -> AdditivePolicy:
    """A regression for each action on the states where it can be taken."""
    rules = problem.rules
    n_states, n_units = bought.shape[1:]
    row = np.repeat(np.arange(len(bought)), n_states)
    held, worth = bought.reshape(-1, n_units), returns.reshape(-1, n_units)
    design = problem.encoder.design(problem.codes[row], rules.shown(held))
    design = design.toarray() if sparse.issparse(design) else design
    weights = problem.weights[row]
    precision = problem.encoder.precision_

    def fit(states: NDArray | slice, targets: NDArray) -> NDArray:
        part = design[states] * weights[states, None]
        return ridge_solve(part.T @ design[states], part.T @ targets, ridge, precision)

    theta = np.zeros((1, design.shape[1], n_units + rules.n_classes))
    for u in range(n_units):
        if time_is_up():
            # what nobody had time to judge is not bought
            theta[0, 0, u] = NEVER
            continue
        able = np.flatnonzero(~np.isnan(worth[:, u]))
        if len(able):
            theta[0, :, u] = fit(able, worth[able, u][:, None])[:, 0]
    shares = fit(slice(None), np.eye(rules.n_classes)[problem.labels[row]])[None]
    theta[..., n_units:] = -shares @ rules.losses.T
    return AdditivePolicy(rules, problem.encoder, theta, shares)
