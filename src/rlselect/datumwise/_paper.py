"""Rollouts classification policy iteration as sections 3.4 and 6.1 of the paper tell it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.datumwise._policy import AdditivePolicy, Learned
from rlselect.datumwise._rcpi import check_counts, check_share
from rlselect.datumwise._regression import ridge_solve
from rlselect.datumwise._rollout import play_states
from rlselect.datumwise._rows import Problem
from rlselect.datumwise._states import reachable

__all__ = ["PaperIteration", "learn_paper"]


@dataclass(frozen=True)
class PaperIteration:
    """The learning algorithm of the paper.

    Where the paper is silent: the first policy answers at once, with classes regressed on random states; the
    member of the mixture is drawn once for each row and rollout; a ridge of 1e-6 keeps the regressions
    defined; states that the rules do not allow are replaced by their largest allowed part.

    Parameters
    ----------
    n_iter : int, default=10
        Policy iterations.
    states_per_row : int, default=10
        Random states for each training row: each unit is bought with probability one half.
    n_rollouts : int, default=1
        Trajectories for each state and action.
    alpha : float in [0, 1), default=0.7
        The policy of an iteration is the new one with probability ``1 - alpha``, else that of the iteration
        before.
    keep : {"last", "best"}, default="last"
        Which weights are used in the end: those of the last iteration, or those with the highest mean return
        on the training rows.
    """

    n_iter: int = 10
    states_per_row: int = 10
    n_rollouts: int = 1
    alpha: float = 0.7
    keep: str = "last"

    def __post_init__(self) -> None:
        check_counts(self, {"n_iter": 1, "states_per_row": 1, "n_rollouts": 1})
        check_share(self, "alpha", True)
        if self.keep not in ("last", "best"):
            raise ValueError(f"keep={self.keep!r} is not known; use 'last' or 'best'")


def learn_paper(
    problem: Problem, settings: PaperIteration, rng: np.random.Generator, stop: Any = None
) -> Learned:
    """Iterate policies.

    Parameters
    ----------
    problem : Problem
        The training rows.
    settings : PaperIteration
        How.
    rng : Generator
        Random numbers.
    stop : callable, optional
        Asked after each iteration; a true answer ends learning.

    Returns
    -------
    Learned
        The policy that is kept, and one entry of history an iteration.
    """
    mixture = [_first(problem, settings, rng)]
    shares = np.ones(1)
    learned = Learned(mixture[0], -np.inf)
    for iteration in range(1, settings.n_iter + 1):
        bought, spent = _random_states(problem, settings.states_per_row, rng)
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
                truth = problem.structure.losses.T[np.repeat(problem.labels[rows], settings.states_per_row)]
                returns[rows] += played.returns(truth)[0].reshape(len(rows), -1, bought.shape[2])
        policy = _regress(problem, bought, returns / settings.n_rollouts)
        # With nothing learned before it, the first regression is the whole mixture.
        shares = (
            np.append(settings.alpha * shares, 1 - settings.alpha) if iteration > 1 else np.array([0.0, 1.0])
        )
        mixture.append(policy)
        episodes = policy.run(problem.codes, problem.closed)
        gains = -episodes.cost - problem.structure.losses[episodes.answer, problem.labels]
        value = float(np.average(gains, weights=problem.weights))
        entry = {"climb": 0, "iteration": iteration, "value": value, "bought": float(episodes.bought.mean())}
        if settings.keep == "last" or value > learned.value:
            learned = Learned(policy, value, learned.history)
        learned.history.append(entry)
        if stop is not None and stop():
            break
    learned.reason = f"{len(learned.history)} iterations, the {settings.keep} of them kept"
    return learned


def _random_states(problem: Problem, n_states: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    n, n_units = problem.closed.shape
    wanted = rng.random((n, n_states, n_units)) < 0.5
    wanted &= ~problem.closed[:, None, :]
    bought, spent = reachable(problem.structure, wanted.reshape(-1, n_units), rng)
    return bought.reshape(wanted.shape), spent.reshape(n, n_states)


def _first(problem: Problem, settings: PaperIteration, rng: np.random.Generator) -> AdditivePolicy:
    bought, _ = _random_states(problem, settings.states_per_row, rng)
    policy = _regress(problem, bought, np.full(bought.shape, np.nan))
    policy.theta[:, 0, : bought.shape[2]] = -1e30
    return policy


def _regress(problem: Problem, bought: NDArray, returns: NDArray) -> AdditivePolicy:
    """A regression for each action on the states where it can be taken."""
    rules = problem.structure
    n_states, n_units = bought.shape[1:]
    row = np.repeat(np.arange(len(bought)), n_states)
    held, worth = bought.reshape(-1, n_units), returns.reshape(-1, n_units)
    design = problem.encoder.design(problem.codes[row], rules.shown(held))
    design = design.toarray() if sparse.issparse(design) else design
    weights = problem.weights[row]
    theta = np.zeros((1, design.shape[1], n_units + rules.n_classes))
    for u in range(n_units):
        able = np.flatnonzero(~np.isnan(worth[:, u]))
        if len(able):
            part = design[able] * weights[able, None]
            side = part.T @ worth[able, u][:, None]
            theta[0, :, u] = ridge_solve(part.T @ design[able], side, 1e-6, problem.encoder.precision_)[:, 0]
    truth = np.eye(rules.n_classes)[problem.labels[row]]
    weighted = design * weights[:, None]
    shares = ridge_solve(weighted.T @ design, weighted.T @ truth, 1e-6, problem.encoder.precision_)[None]
    theta[..., n_units:] = -shares @ rules.losses.T
    return AdditivePolicy(rules, problem.encoder, theta, shares)
