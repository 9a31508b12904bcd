"""Policy iteration by rollouts: sample states, play every action, regress, repeat; keep the best."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from rlselect.datumwise._encoding import Regressors
from rlselect.datumwise._policy import AdditivePolicy, Learned
from rlselect.datumwise._regression import shared_fit
from rlselect.datumwise._rollout import Played, play_states
from rlselect.datumwise._rows import Problem, left_out, split_rows
from rlselect.datumwise._screen import unit_worth
from rlselect.datumwise._soft_labels import soft_labels
from rlselect.datumwise._states import States, distinct, sample_states

__all__ = ["PolicyIteration", "check_counts", "check_share", "learn"]

# Scores that no regression reaches: the first policy buys nothing, or all it can.
_NEVER, _ALWAYS = -1e30, 1e30

# What may be taken off the scores of the first purchase and of later ones, in units of the difference between
# the worst answer and the best; nothing comes first, as the first of equals is taken.
_MARGINS = ((0, 0), (-0.02, -0.02), (0.02, 0.02), (0.05, 0.05), (0, 0.02), (0, 0.05), (0, 0.1), (0, 0.3))

# To how many units the choice may be narrowed where there are more than so many, and what the others lose, in
# the same units.
_REACHES = (30, 20, 14, 10, 7)
_MANY = 10
_FAR = 0.3

# Numbers in the policies that a climb keeps at most; with very many features fewer are averaged.
_KEPT = 1 << 26


@dataclass(frozen=True)
class PolicyIteration:
    """How a policy is learned.

    Parameters
    ----------
    n_iter : int, default=10
        Iterations of a climb.
    n_restarts : int, default=2
        Climbs, by turns from the policy that answers at once and from the one that buys all.
    n_averaged : int, default=8
        The weights of so many policies, the best of all iterations of all climbs, are averaged, which evens
        out what each owes to its sampled states. The best one alone is kept where their average is clearly
        worse, and with 1.
    states_per_row : int, default=20
        States sampled for each training row and iteration.
    on_policy : float in [0, 1], default=0.5
        Share of the states that are random subsets of what the last policy bought; the others are random
        sets.
    n_stages : int, default=4
        Weights differ between so many stages: nothing bought, one unit, two, ..., and all that is more.
        1 has one set of weights, as the paper.
    n_folds : int, default=5
        Each row is played by a policy that was learned without its fold, so that the returns are honest.
        1 plays all rows with the policy they have taught.
    soft_labels : bool, default=True
        Whether every second climb is taught what the class of a row is on average, by a forest that was grown
        without the row and without the fold left out: the chance that is in labels hides small differences
        between purchases. All policies are judged by the labels, so that what the forest has got wrong does
        not count. Without folds, or with one climb only, labels are taught.
    ridge : float, default=0.3
        Penalty of the regression, in rows (of weight one).
    inertia : float in [0, 1), default=0.6
        Share of the weights of the iteration before in those of this one.
    max_states : int, default=40000
        States of an iteration at most; with more rows than that, each iteration takes a random part of them.
    screen : int or None, default=60
        Of more units than this, the ones whose bins tell most about the class, each alone, are learned about;
        the others are never bought. None learns about all.
    exact_states : int, default=256
        A problem with at most so many states of knowledge (values seen so far) and at least as many rows is
        solved by dynamic programming, and so is any with at most 81 (four binary features); 0 never does.
    """

    n_iter: int = 10
    n_restarts: int = 2
    n_averaged: int = 8
    states_per_row: int = 20
    on_policy: float = 0.5
    n_stages: int = 4
    n_folds: int = 5
    soft_labels: bool = True
    ridge: float = 0.3
    inertia: float = 0.6
    max_states: int = 40000
    screen: int | None = 60
    exact_states: int = 256

    def __post_init__(self) -> None:
        least = {"n_iter": 1, "n_restarts": 1, "n_averaged": 1, "states_per_row": 2, "n_stages": 1}
        check_counts(self, {**least, "n_folds": 1, "max_states": 1, "screen": 1, "exact_states": 0})
        if not isinstance(self.soft_labels, bool | np.bool_):
            raise ValueError(f"soft_labels={self.soft_labels!r} must be True or False")
        for name in ("on_policy", "inertia"):
            check_share(self, name, name == "inertia")
        if not self.ridge > 0 or not np.isfinite(self.ridge):
            raise ValueError(f"ridge={self.ridge!r} must be a finite number > 0")


def check_counts(settings: Any, least: dict[str, int]) -> None:
    """Refuse settings that are no integers or too small; `screen` may also be None."""
    for name, low in least.items():
        value = getattr(settings, name)
        if value is None and name == "screen":
            continue
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < low:
            raise ValueError(f"{name}={value!r} must be an integer >= {low}")


def check_share(settings: Any, name: str, below_one: bool) -> None:
    """Refuse a setting that is no share."""
    value = getattr(settings, name)
    if not 0 <= value <= 1 or (below_one and value == 1):
        raise ValueError(f"{name}={value!r} must be a number from 0 to {'below ' if below_one else ''}1")


def learn(
    problem: Problem,
    settings: PolicyIteration,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    stop: Any = None,
) -> Learned:
    """Climb several times and average the best policies.

    Parameters
    ----------
    problem : Problem
        The training rows.
    settings : PolicyIteration
        How.
    rng : Generator
        Spawned for the folds, each climb and the soft labels.
    n_jobs : int, optional
        Climbs at a time, and trees.
    stop : callable, optional
        Asked after each iteration; a true answer ends learning with the best policies so far.

    Returns
    -------
    Learned
        With the iterations of all climbs as history.
    """
    stop = stop or _never
    problem = split_rows(problem, settings.n_folds)
    first, *children, trees = rng.spawn(settings.n_restarts + 2)
    folds = _fold_numbers(problem.labels, settings.n_folds, first)
    lessons = [problem]
    # Soft labels have to prove themselves on rows left out, and need a climb of their own.
    if settings.soft_labels and settings.n_folds > 1 and settings.n_restarts > 1:
        lessons.append(replace(problem, taught=soft_labels(problem, folds, trees, n_jobs)))
    ranks = _unit_ranks(problem, folds)
    jobs = [(lessons[number % len(lessons)], number, child) for number, child in enumerate(children)]
    climbs: list[_Climb] = []
    if effective_n_jobs(n_jobs) > 1:
        climbs = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_climb)(lesson, folds, ranks, settings, child, number, stop)
            for lesson, number, child in jobs
        )
        # climbs in other processes have clocks of their own: this one learns here that time is up
        stop()
    else:
        for lesson, number, child in jobs:
            climbs.append(_climb(lesson, folds, ranks, settings, child, number, stop))
            if climbs[-1].interrupted or stop():
                break
    final = _average(climbs, problem, folds, settings)
    final.history = [entry for climb in climbs for entry in climb.history]
    interrupted = any(climb.interrupted for climb in climbs)
    final.reason = "interrupted" if interrupted else f"{len(final.history)} iterations, the best of them kept"
    return final


def _never() -> bool:
    return False


@dataclass
class _Climb:
    """Policies that a climb met: the first one, and the best of the others, each with its value."""

    first: tuple[float, list[AdditivePolicy]]
    best: list[tuple[float, list[AdditivePolicy]]]
    history: list[dict[str, Any]]
    interrupted: bool = False


def _climb(
    problem: Problem,
    folds: NDArray,
    ranks: NDArray,
    settings: PolicyIteration,
    rng: np.random.Generator,
    number: int,
    stop: Any,
) -> _Climb:
    first = _ALWAYS if number % 2 else _NEVER
    policies = _first_policies(problem, settings, folds, rng, first)
    last, returns = _evaluate(problem, policies, folds)
    climb = _Climb((_mean(problem, returns), policies), [], [])
    most = max(1, min(settings.n_averaged, _KEPT // (len(policies) * policies[0].theta.size)))
    found = policies
    try:
        for iteration in range(1, settings.n_iter + 1):
            fresh = _improve(problem, settings, policies, last, folds, rng)
            found = fresh if iteration == 1 else _blend([fresh, found], settings.inertia)
            policies, last, value = _choose_margin(problem, found, folds, ranks)
            entry = {"climb": number, "iteration": iteration, "value": value, "bought": float(last.mean())}
            climb.history.append(entry)
            climb.best = sorted([*climb.best, (value, policies)], key=lambda pair: -pair[0])[:most]
            if stop():
                break
    except KeyboardInterrupt:
        climb.interrupted = True
    return climb


def _choose_margin(
    problem: Problem, policies: list[AdditivePolicy], folds: NDArray, ranks: NDArray
) -> tuple[list[AdditivePolicy], NDArray, float]:
    """The policies with what is taken off the scores of purchases such that the value is highest.

    The best of many noisy scores is too high, so that something always seems worth buying; how much too high
    is seen on the rows that a policy has not learned from. The fewer units there are to choose from, the less
    of that there is: so it is also tried to take off more from all units but those that tell most about the
    class each alone, as far as the rows show that a policy has learned from.
    """
    losses = problem.structure.losses
    scale = float(losses.max() - losses.min())

    def attempt(margins: tuple[float, float], reach: int) -> tuple[float, Any, tuple[float, float], int]:
        off = _taken_off(scale, margins, ranks, reach)
        bought, returns = _evaluate(problem, policies, folds, off)
        return _mean(problem, returns), bought, margins, reach

    def best(tried: list) -> tuple[float, Any, tuple[float, float], int]:
        return max(tried, key=lambda entry: entry[0])

    for policy in policies:
        policy.keep_table()
    n_units = ranks.shape[1]
    first = best([attempt(margins, n_units) for margins in _MARGINS])
    few = {first[2], *_MARGINS[:2]}  # the fewer to choose from, the less has to be taken off
    # Rows that a policy has learned from would praise any choice.
    useful = n_units > _MANY and len(policies) > 1
    reaches = [reach for reach in _REACHES if reach < n_units and useful]
    narrow = [attempt(margins, reach) for reach in reaches for margins in sorted(few)]
    found = best([first, *narrow])
    if found[3] < n_units:
        found = best([found, *(attempt(margins, found[3]) for margins in _MARGINS)])
    value, bought, margins, reach = found
    off = _taken_off(scale, margins, ranks, reach)
    return [policy.with_margins(*own) for policy, own in zip(policies, off, strict=True)], bought, value


def _taken_off(
    scale: float, margins: tuple[float, float], ranks: NDArray, reach: int
) -> list[tuple[NDArray, NDArray]]:
    """For each policy what is taken off the scores of all units, at the first purchase and later."""
    far = _FAR * (ranks >= reach)
    return [(scale * (margins[0] + own), scale * (margins[1] + own)) for own in far]


def _average(climbs: list[_Climb], problem: Problem, folds: NDArray, settings: PolicyIteration) -> Learned:
    """The mean of the best policies, or one of them when that is clearly better."""
    value, policies = max((climb.first for climb in climbs), key=lambda pair: pair[0])
    best = sorted((pair for climb in climbs for pair in climb.best), key=lambda pair: -pair[0])
    if not best or best[0][0] <= value:
        return Learned(policies[-1], value)
    alone = Learned(best[0][1][-1], best[0][0])
    best = best[: settings.n_averaged]
    mean = _blend([policies for _, policies in best])
    _, returns = _evaluate(problem, mean, folds)
    # The best of many looks better than it is, so the mean may look a little worse.
    gap = _evaluate(problem, best[0][1], folds)[1] - returns
    error = np.sqrt(_mean(problem, (gap - _mean(problem, gap)) ** 2) / len(gap))
    worth = _mean(problem, returns)
    clearly = _mean(problem, gap) > 2 * error
    return alone if clearly or worth < value else Learned(mean[-1], worth)


def _fold_numbers(labels: NDArray, n_folds: int, rng: np.random.Generator) -> NDArray:
    """Folds with about the same share of each class; equal rows, which stand side by side, are spread."""
    n_folds = max(1, min(n_folds, len(labels)))
    folds = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        # Random within each run of n_folds rows, so that neighbours are in different folds.
        runs = -(-len(own) // n_folds)
        folds[own] = np.concatenate([rng.permutation(n_folds) for _ in range(runs)])[: len(own)]
    return folds


def _unit_ranks(problem: Problem, folds: NDArray) -> NDArray:
    """Ranks of the units by what each alone tells about the class, for each policy from its own rows."""
    ranks = []
    for fold in left_out(int(folds.max()) + 1):
        own = folds != fold
        worth = unit_worth(
            problem.codes[own], problem.labels[own], problem.weights[own], problem.structure.groups
        )
        ranks.append(np.argsort(np.argsort(-worth, kind="stable")))
    return np.array(ranks)


def _first_policies(
    problem: Problem, settings: PolicyIteration, folds: NDArray, rng: np.random.Generator, first: float
) -> list[AdditivePolicy]:
    """Policies that know the classes, but buy nothing or all."""
    states = _draw(problem, settings, None, rng)
    policies = _regress(problem, settings, states, None, folds)
    n_units = states.bought.shape[1]
    for policy in policies:
        policy.theta[:, :, :n_units] = 0.0
        policy.theta[:, 0, :n_units] = first
    return policies


def _draw(
    problem: Problem, settings: PolicyIteration, last: NDArray | None, rng: np.random.Generator
) -> States:
    """Rows of an iteration and their states."""
    n, n_states = len(problem.labels), settings.states_per_row
    most = max(1, settings.max_states // n_states)
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    bought, spent = sample_states(
        problem.structure,
        problem.closed[rows],
        n_states,
        None if last is None else last[rows],
        settings.on_policy,
        rng,
    )
    flat = bought.reshape(-1, bought.shape[2])
    return distinct(problem.structure, np.repeat(rows, n_states), flat, spent.ravel())


def _improve(
    problem: Problem,
    settings: PolicyIteration,
    policies: list[AdditivePolicy],
    last: NDArray,
    folds: NDArray,
    rng: np.random.Generator,
) -> list[AdditivePolicy]:
    """Sample states, play all purchases in them, and regress their returns."""
    states = _draw(problem, settings, last, rng)
    shape = len(states.row), states.bought.shape[1] + 1
    ends = Played(np.empty(shape, dtype=np.int32), np.empty(shape))
    for fold in range(int(folds.max()) + 1):
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
    ends.paid[state, unit] = ends.paid[state, -1] + problem.structure.price(states.bought)[state, unit]
    return _regress(problem, settings, states, ends, folds)


def _regress(
    problem: Problem,
    settings: PolicyIteration,
    states: States,
    ends: Played | None,
    folds: NDArray,
) -> list[AdditivePolicy]:
    """Policies with each fold left out, and the one from all rows last; without ends buying is worth 0."""
    rules, row, held = problem.structure, states.row, states.bought
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


def _blend(policies: list[list[AdditivePolicy]], inertia: float | None = None) -> list[AdditivePolicy]:
    """Mean weights of several policies for each fold; of a new and an old one, with the share of the old.

    To move the weights only part of the way is as good as more states and stops oscillation.
    """
    shares = np.full(len(policies), 1 / len(policies)) if inertia is None else [1 - inertia, inertia]
    out = []
    for same in zip(*policies, strict=True):
        theta = sum(share * policy.theta for share, policy in zip(shares, same, strict=True))
        classes = sum(share * policy.shares for share, policy in zip(shares, same, strict=True))
        out.append(AdditivePolicy(same[0].structure, same[0].encoder, theta[:, :-1], classes))
    return out


def _evaluate(
    problem: Problem,
    policies: list[AdditivePolicy],
    folds: NDArray,
    off: list[tuple[NDArray, NDArray]] | None = None,
) -> tuple[NDArray, NDArray]:
    """What each row buys under the policy that has not seen it, and its return."""
    bought = np.empty(problem.closed.shape, dtype=bool)
    returns = np.empty(len(folds))
    for fold in range(int(folds.max()) + 1):
        own = np.flatnonzero(folds == fold)
        margins = (0.0, 0.0) if off is None else off[fold]
        episodes = policies[fold].run(problem.codes[own], problem.closed[own], margins)
        bought[own] = episodes.bought
        returns[own] = -episodes.cost - problem.structure.losses[episodes.answer, problem.labels[own]]
    return bought, returns


def _mean(problem: Problem, returns: NDArray) -> float:
    return float(np.average(returns, weights=problem.weights))
