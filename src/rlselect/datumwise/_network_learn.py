"""From rows to a policy of networks: training in several ways, and the choice among them on rows left out."""

import itertools
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock, present_clock
from rlselect._parallel import run_tasks
from rlselect.datumwise._folds import fold_numbers
from rlselect.datumwise._gain_reading import read_gains
from rlselect.datumwise._learned import Learned, PolicyStep, Stop, never
from rlselect.datumwise._network import NetworkShape, Singles
from rlselect.datumwise._network_frontier import UNKNOWN, PriceFrontier, best_temperatures
from rlselect.datumwise._network_inputs import ScoreEncoder
from rlselect.datumwise._network_policy import NetworkFamily, NetworkPolicy
from rlselect.datumwise._network_training import Lessons, TrainingTask, cost_shares, train_networks
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._problem import CaseRows, split_rows
from rlselect.datumwise._settings import NetworkTraining

__all__ = ["learn_networks"]

_REWARDS = ("probability", "log")
# of a time budget, where there is no policy yet; the rest is for judging it
_FOR_FIRST_TRAINING = 0.6


@dataclass(frozen=True)
class _Candidate:
    """A way to learn and to look ahead, with a policy for each fold and how they did there."""

    steps: int
    reward: int
    lookahead: bool
    policy: NetworkPolicy
    frontier: PriceFrontier

    def words(self) -> str:
        ahead = "with lookahead" if self.lookahead else "without lookahead"
        return f"{self.steps} steps, {_REWARDS[self.reward]} reward, {ahead}"


def learn_networks(
    problem: CaseRows,
    settings: NetworkTraining,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    stop: Stop = never,
    device: str = "cpu",
) -> Learned:
    """Train networks in every way that the settings leave open and keep the way that suits rows left out.

    A training that time did not suffice for, or for judging it, is no candidate, but for the first one, which
    is taken as it is.
    """
    problem = split_rows(problem, settings.n_members)
    n_rows = float(problem.weights.sum())
    lengths = settings.lengths(n_rows)
    first, *children = rng.spawn(1 + 2 * len(lengths))
    members = max(2, min(settings.n_members, len(problem.labels)))
    folds = fold_numbers(problem.labels, members, first)
    rewards = (0, 1) if settings.reward == "auto" else (_REWARDS.index(settings.reward),)
    gaps = np.isnan(problem.codes)
    codes = np.where(gaps, 0.0, problem.codes).astype(np.float32)
    lessons = Lessons(
        problem.rules, codes, ~gaps, problem.closed, problem.labels, problem.weights, folds, rewards
    )
    found: list[_Candidate] = []
    # answers that are numbers are no classes
    n_classes = problem.rules.n_classes if problem.rules.values is None else 0
    sizes = settings.width(n_rows), settings.states(n_rows, n_classes)
    whole = present_clock()
    for number, steps in enumerate(lengths):
        with nullcontext(whole) if found else whole.part(_FOR_FIRST_TRAINING) as clock:
            rngs = children[2 * number :]
            families = _train(problem, lessons, sizes, members, steps, rngs, n_jobs, clock, not found, device)
        if families is None:
            break
        judged = _judge(problem, lessons, settings, families, steps, device, n_jobs, not found)
        found += judged
        # a training that was cut short is the last one
        whole.reason = whole.reason or clock.reason
        if stop() or not judged:
            break
    best = found[_choose(found)]
    frontier = best.frontier
    mean = float(problem.rules.prices.mean())
    policy = best.policy.at(problem.rules)
    losses, spent, _ = frontier.at(policy.price)
    own = [candidate.frontier.at(candidate.frontier.price_for(mean)) for candidate in found]
    path = [
        PolicyStep(k, candidate.steps, -one[0] - mean * one[1], one[2])
        for k, (candidate, one) in enumerate(zip(found, own, strict=True))
    ]
    merit = float(np.interp(np.log10(policy.price), np.log10(frontier.prices), frontier.worth)) - mean * spent
    words = f"network, {best.words()}" + (f", the best of {len(found)} ways" if len(found) > 1 else "")
    reason = f"{len(found)} ways to learn tried"
    value = -losses - mean * spent
    return Learned(policy, value, path, reason, merit, frontier.height, "network", words)


def _train(
    problem: CaseRows,
    lessons: Lessons,
    sizes: tuple[int, int],
    members: int,
    steps: int,
    rngs: list[np.random.Generator],
    n_jobs: int | None,
    clock: Clock,
    must_end: bool,
    device: str,
) -> tuple[NetworkFamily, ...] | None:
    """Both kinds of networks, each with every second fold to leave out; None if there was no time.

    `sizes` are the hidden units of the trunk and the states of a step.
    """
    hidden, batch = sizes
    assert isinstance(problem.encoder, ScoreEncoder)
    kinds, rules = problem.encoder.kinds, problem.rules
    tasks = []
    for k, columns in enumerate(kinds):
        shape = NetworkShape(
            columns.width,
            hidden,
            max(hidden // 2, 1),
            rules.n_classes,
            rules.n_units,
            len(lessons.rewards),
        )
        left_out = np.arange(k, members, len(kinds))
        tasks.append(TrainingTask(lessons, columns, shape, left_out, steps, batch, rngs[k]))
    weights: Sequence[Singles | None]
    if device == "cpu":
        calls = [(task, clock, must_end) for task in tasks]
        weights = run_tasks(train_networks, calls, n_jobs=n_jobs, prefer="threads")
    else:
        from rlselect.datumwise._torch_networks import train_on_device

        weights = train_on_device(tasks, device, clock, must_end)
    learned = [one for one in weights if one is not None]
    if len(learned) < len(tasks):
        return None
    readings = [
        (task, one, rng.spawn(1)[0], clock) for task, one, rng in zip(tasks, learned, rngs, strict=False)
    ]
    read = run_tasks(read_gains, readings, n_jobs=n_jobs, prefer="threads")
    return tuple(NetworkFamily(task.columns, task.shape, one) for task, one in zip(tasks, read, strict=True))


def _judge(
    problem: CaseRows,
    lessons: Lessons,
    settings: NetworkTraining,
    families: tuple[NetworkFamily, ...],
    steps: int,
    device: str,
    n_jobs: int | None,
    must_end: bool,
) -> list[_Candidate]:
    """Candidates of one training; each network plays the rows that it has not seen.

    Without time for all of them there are none, or, if it `must_end`, those that there was time for.
    """
    aheads = (False, True) if settings.lookahead == "auto" else (settings.lookahead,)
    ways = list(itertools.product(enumerate(lessons.rewards), aheads))
    policies = [
        NetworkPolicy(problem.rules, families, place, lookahead, 1.0, UNKNOWN, device, logarithm=reward == 1)
        for (place, reward), lookahead in ways
    ]
    clock = present_clock()
    tasks = [
        (
            problem,
            lessons.folds,
            policy,
            (NETWORK.prices[reward][0], NETWORK.dearest[reward]),
            clock,
            must_end and number == 0,
        )
        for number, (policy, ((_, reward), _)) in enumerate(zip(policies, ways, strict=True))
    ]
    frontiers = run_tasks(_left_out, tasks, n_jobs=n_jobs if device == "cpu" else 1, prefer="threads")
    out = [
        _Candidate(steps, reward, lookahead, replace(policy, frontier=frontier), frontier)
        for policy, ((_, reward), lookahead), frontier in zip(policies, ways, frontiers, strict=True)
        if frontier is not None
    ]
    return out if must_end or len(out) == len(ways) else []


def _left_out(
    problem: CaseRows,
    folds: NDArray,
    policy: NetworkPolicy,
    ends: tuple[float, float],
    clock: Clock,
    must_end: bool,
) -> PriceFrontier | None:
    """How rows left out fare at prices between two ends; by the first folds alone if it `must_end`."""
    prices = np.geomspace(*ends, NETWORK.grid)
    cost = cost_shares(problem.rules)
    step = -(-len(folds) // NETWORK.judged)
    sums = np.zeros((4, NETWORK.grid))
    total = 0.0
    judged: list[NDArray] = []
    logs, asked = [], []
    # of very few rows, a fold may hold none
    began = time.perf_counter()
    for fold in np.unique(folds).tolist():
        if (judged or not must_end) and clock.late(began) is not None:
            if not must_end:
                return None
            break
        began = time.perf_counter()
        own = np.flatnonzero(folds == fold)[::step]
        total += problem.weights[own].sum()
        rows = np.tile(own, len(prices))
        alone = policy.part(fold)
        episodes = alone.run(problem.codes[rows], problem.closed[rows], prices=np.repeat(prices, len(own)))
        shares = alone.probabilities(problem.codes[rows], episodes.bought)
        labels, losses = problem.labels[rows], problem.rules.losses
        hard = losses[episodes.answer, labels]
        soft = problem.rules.soft_losses(shares, labels)
        columns = (-(hard + soft) / 2, hard, episodes.bought @ cost, episodes.bought.mean(axis=1))
        for place, column in enumerate(columns):
            sums[place] += column.reshape(len(prices), -1) @ problem.weights[own]
        judged.append(own)
        # with nothing bought, nothing can have been learned by heart
        asked.append(episodes.bought.any(axis=1).reshape(len(prices), len(own)))
        logs.append(np.log(np.maximum(shares, 1e-12)).reshape(len(prices), len(own), -1))
    rows, others = np.concatenate(judged), np.concatenate(logs, axis=1)
    counts = problem.weights[rows] * np.concatenate(asked, axis=1)
    single = best_temperatures(others, problem.labels[rows], counts, problem.rules.losses)
    worth, losses, spent, bought = sums / total
    return PriceFrontier(prices, worth, losses, spent, bought, NETWORK.averaged * single)


def _choose(found: list[_Candidate]) -> int:
    """The candidate with the best sum of main effects: single heights are noisier than their means."""
    heights = np.array([candidate.frontier.height() for candidate in found])
    keys = [(candidate.steps, candidate.reward, candidate.lookahead) for candidate in found]
    predicted = np.zeros(len(found))
    for factor in range(3):
        for k, key in enumerate(keys):
            same = [own for own, other in zip(heights, keys, strict=True) if other[factor] == key[factor]]
            predicted[k] += np.mean(same)
    return int(np.argmax(predicted))
