"""Policy iteration by rollouts: sample states, play every action, regress, repeat; keep the best."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from rlselect._clock import OutOfTime, present_clock
from rlselect._parallel import run_tasks
from rlselect._watch import tell
from rlselect.datumwise._calibrate import stage_temperatures
from rlselect.datumwise._folds import evaluate, fold_numbers, frontier_height, mean_return, merit
from rlselect.datumwise._improve import blend, first_policies, improve
from rlselect.datumwise._learned import Learned, PolicyStep, Stop, never
from rlselect.datumwise._margins import choose_margin, unit_ranks
from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._policy import ALWAYS, NEVER, NO_MARGINS, AdditivePolicy
from rlselect.datumwise._problem import PurchaseProblem, split_rows
from rlselect.datumwise._settings import PolicyIteration
from rlselect.datumwise._soft_labels import soft_labels

__all__ = ["iterate_policies"]

# of a time budget; without them the climbs learn from the labels alone
_FOR_SOFT_LABELS = 0.3
# with a time budget: iterations that it should be enough for, and states that each needs at least; one with
# all states takes so many times as long as the first policies, which have to end, from these few
_LEAST_ITERATIONS, _LEAST_STATES, _LONGER = 5, 2000, 4.0


def iterate_policies(
    problem: PurchaseProblem,
    settings: PolicyIteration,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    stop: Stop = never,
) -> Learned:
    """Climb several times, `n_jobs` at a time, and average the best policies.

    `rng` is spawned for the folds, each climb and the soft labels.
    """
    problem = split_rows(problem, settings.n_folds)
    first, *children, trees = rng.spawn(settings.n_restarts + 2)
    folds = fold_numbers(problem.labels, settings.n_folds, first)
    lessons = [problem]
    # Soft labels have to prove themselves on rows left out, and need a climb of their own.
    if settings.soft_labels and settings.n_folds > 1 and settings.n_restarts > 1:
        with suppress(OutOfTime), present_clock().part(_FOR_SOFT_LABELS):
            lessons.append(replace(problem, taught=soft_labels(problem, folds, trees, n_jobs)))
    ranks = unit_ranks(problem, folds)
    tasks = [
        (lessons[number % len(lessons)], folds, ranks, settings, child, number, stop)
        for number, child in enumerate(children)
    ]
    climbs: list[_Climb] = []
    if effective_n_jobs(n_jobs) > 1:
        climbs = run_tasks(_climb, tasks, n_jobs=n_jobs, prefer="threads")
        # climbs in other processes have clocks of their own: this one learns here that time is up
        stop()
    else:
        for task in tasks:
            climbs.append(_climb(*task))
            if climbs[-1].stopped:
                break
    policies, value = _average(climbs, problem, folds, settings)
    last = policies[-1].with_margins(NO_MARGINS)
    last.temperatures = stage_temperatures(problem, policies, folds)
    final = Learned(last, value, merit=merit(problem, policies, folds))
    if problem.rules.even_costs and problem.rules.prices.any():
        final.height = partial(frontier_height, problem, policies, folds)
    final.steps = [step for climb in climbs for step in climb.steps]
    interrupted = any(climb.interrupted for climb in climbs)
    final.reason = "interrupted" if interrupted else f"{len(final.steps)} iterations, the best of them kept"
    return final


@dataclass
class _Climb:
    """Policies that a climb met: the first one, and the best of the others, each with its value."""

    first: tuple[float, list[AdditivePolicy]]
    best: list[tuple[float, list[AdditivePolicy]]]
    steps: list[PolicyStep]
    stopped: bool = False
    interrupted: bool = False


def _climb(
    problem: PurchaseProblem,
    folds: NDArray,
    ranks: NDArray,
    settings: PolicyIteration,
    rng: np.random.Generator,
    number: int,
    stop: Stop,
) -> _Climb:
    began = time.perf_counter()
    few = settings.max_states if present_clock().left is None else min(settings.max_states, _LEAST_STATES)
    begin = replace(settings, max_states=few)
    policies = first_policies(problem, begin, folds, rng, ALWAYS if number % 2 else NEVER)
    last, returns = evaluate(problem, policies, folds)
    climb = _Climb((mean_return(problem, returns), policies), [], [])
    fitting = PLAN.kept_numbers // (len(policies) * policies[0].theta.size)
    most = max(1, min(settings.n_averaged, fitting))
    found = policies
    settings = _hurried(settings, len(problem.labels), time.perf_counter() - began)
    try:
        for iteration in range(1, settings.n_iter + 1):
            # of the first climb there has to be one
            may_stop = number > 0 or iteration > 1
            fresh = improve(problem, settings, policies, last, folds, rng, may_stop)
            found = fresh if iteration == 1 else blend([fresh, found], settings.inertia)
            policies, last, value = choose_margin(problem, found, folds, ranks)
            climb.steps.append(PolicyStep(number, iteration, value, float(last.mean())))
            climb.best = sorted([*climb.best, (value, policies)], key=lambda pair: -pair[0])[:most]
            tell(best=climb.best[0][0])
            if stop():
                climb.stopped = True
                break
    except OutOfTime:
        climb.stopped = True
        stop()
    except KeyboardInterrupt:  # the second Ctrl-C, in the middle of an iteration
        climb.stopped = climb.interrupted = True
    return climb


def _hurried(settings: PolicyIteration, n_rows: int, took: float) -> PolicyIteration:
    """Settings with fewer states, where a time budget is too short for some iterations with all of them.

    The first policies took so many seconds.
    """
    left, needed = present_clock().left, _LONGER * took * _LEAST_ITERATIONS
    if left is None or needed <= left:
        return settings
    states = min(settings.max_states, n_rows * settings.states_per_row)
    share = max(left, 0.0) / needed
    return replace(settings, max_states=max(int(share * states), _LEAST_STATES))


def _average(
    climbs: list[_Climb], problem: PurchaseProblem, folds: NDArray, settings: PolicyIteration
) -> tuple[list[AdditivePolicy], float]:
    """The mean of the best policies, or one of them when that is clearly better, for each fold; its value."""
    value, policies = max((climb.first for climb in climbs), key=lambda pair: pair[0])
    best = sorted((pair for climb in climbs for pair in climb.best), key=lambda pair: -pair[0])

    if not best or best[0][0] <= value:
        return policies, value
    best = best[: settings.n_averaged]
    mean = blend([policies for _, policies in best])
    _, returns = evaluate(problem, mean, folds)
    gap = evaluate(problem, best[0][1], folds)[1] - returns
    error = np.sqrt(mean_return(problem, (gap - mean_return(problem, gap)) ** 2) / len(gap))
    worth = mean_return(problem, returns)
    clearly = mean_return(problem, gap) > PLAN.clearly * error
    return (best[0][1], best[0][0]) if clearly or worth < value else (mean, worth)
