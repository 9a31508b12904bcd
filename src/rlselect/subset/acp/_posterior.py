"""Subsets of a logistic model, drawn by their posterior probability.

Few rows leave several subsets about as probable as the best. One that shares most with all of them finds more
of what matters than the most probable one, which is one of many.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock
from rlselect.data import Units
from rlselect.learn import ExpectedF1
from rlselect.subset.acp.masked import MaskedLogistic

__all__ = ["draw_subsets", "most_shared", "settle"]

Array = NDArray[np.float64]
Masks = NDArray[np.bool_]

# chains, rounds of two moves each, and the share of the rounds that count
_CHAINS, _ROUNDS, _COUNTED = 24, 75, 0.75
# rows (of classes of one size) that a coefficient of a drawn model has at least
_ROWS = 5
# numbers in the Hessians' sums over rows of all draws; more rows than those leave little open
_CELLS = 120_000_000
# share of the proposals that do not depend on how much the classes move with a unit
_BLIND = 0.5


def settle(
    predictor: MaskedLogistic,
    units: Units,
    starts: Masks,
    n_variables: int,
    clock: Clock | None = None,
) -> NDArray[np.bool_]:
    """The subset that shares most with all that are about as probable as the best.

    That there is something to find is taken for granted: draws without any unit do not count.

    Parameters
    ----------
    predictor : MaskedLogistic
        On the columns of the units.
    units : Units
    starts : bool array of shape (k, n_units)
        The likeliest subset, and larger ones.
    n_variables : int
        Variables there were to choose from, before any screening.
    clock : Clock, optional

    Returns
    -------
    bool array over units
        The first of `starts` where rows are too many for draws, or too few.
    """
    first, n = starts[0], len(predictor.X)
    log_posterior, most = subset_posterior(predictor, units, n_variables)
    starts = starts[starts.sum(axis=1) <= most]
    if not len(starts) or not most or not _affordable(predictor, units, starts):
        return first
    strength = np.square(predictor.X.T @ predictor.target.Y).sum(axis=1)
    best = np.array([strength[columns].max() for columns in units.columns])
    # a draw of its own: the same data have the same answer for every seed
    draws = draw_subsets(log_posterior, starts, best, most, np.random.default_rng(n), clock)
    draws = draws[draws.any(axis=1)]
    return most_shared(draws, first[None]) if len(draws) else first


def _affordable(predictor: MaskedLogistic, units: Units, starts: Masks) -> bool:
    """Whether subsets as large as some can be drawn in a second or so."""
    coefficients = (starts[:, units.unit_of].sum(axis=1) + 1.0) * (predictor.target.n_classes - 1)
    return bool(2 * _ROUNDS * _CHAINS * len(predictor.X) * np.mean(coefficients**2) <= _CELLS)


def subset_posterior(
    predictor: MaskedLogistic, units: Units, n_variables: int
) -> tuple[Callable[[Masks], Array], int]:
    """Log posterior of subsets of units but for a constant, and how many units the largest may have.

    Every number of units is as probable as any other, and so is every subset of that number.

    Parameters
    ----------
    predictor : MaskedLogistic
        On the columns of the units.
    units : Units
    n_variables : int
        Variables there were to choose from, before any screening.
    """
    seen: dict[bytes, float] = {}
    widest = max(len(columns) for columns in units.columns) * (predictor.target.n_classes - 1)
    most = min(units.n_units, int(predictor.target.telling_rows) // (_ROWS * widest))
    prior = [-_log_subsets(max(n_variables, most), size) for size in range(most + 1)]

    def log_posterior(masks: Masks) -> Array:
        keys = [mask.tobytes() for mask in masks]
        fresh = {key: i for i, key in enumerate(keys) if key not in seen}
        if fresh:
            some = masks[list(fresh.values())]
            values = predictor.log_evidence(some, units)
            sizes = some.sum(axis=1)
            seen.update(zip(fresh, [v + prior[k] for v, k in zip(values, sizes, strict=True)], strict=True))
        return np.array([seen[key] for key in keys])

    return log_posterior, most


def _log_subsets(n: int, size: int) -> float:
    """Log of how many subsets of a size there are."""
    return math.lgamma(n + 1) - math.lgamma(size + 1) - math.lgamma(n - size + 1)


def draw_subsets(
    log_posterior: Callable[[Masks], Array],
    starts: Masks,
    strength: Array,
    most: int,
    rng: np.random.Generator,
    clock: Clock | None = None,
    rounds: int = _ROUNDS,
) -> Masks:
    """Metropolis draws of subsets by chains that let one unit join or leave, and then swap two.

    Parameters
    ----------
    log_posterior : callable
        Masks of shape (m, n_units) -> array of shape (m,).
    starts : bool array of shape (k, n_units)
        Where the chains begin, in turn: far from each other, as a chain seldom gets from a small subset to a
        large one by single steps.
    strength : array over units
        What stronger units are proposed more often by; not negative.
    most : int
        Units of the largest subset.
    rng : Generator
    clock : Clock, optional
        Asked before every round.
    rounds : int

    Returns
    -------
    bool array of shape (m, n_units)
        The last three quarters of the draws, none if the clock stopped at once.
    """
    share = strength / max(float(strength.sum()), 1e-300)
    share = _BLIND / len(share) + (1.0 - _BLIND) * share
    now = np.resize(starts, (_CHAINS, starts.shape[1]))
    value = log_posterior(now)
    draws: list[Masks] = []
    for _ in range(rounds):
        if clock is not None and clock.tick() is not None:
            break
        for move in (_join_or_leave, _swap):
            proposed, log_ratio = move(now, share, rng)
            fits = np.isfinite(log_ratio) & (proposed.sum(axis=1) <= most)
            proposed[~fits] = now[~fits]
            reached = log_posterior(proposed)
            accept = fits & (np.log(rng.random(_CHAINS)) < reached - value + log_ratio)
            now = np.where(accept[:, None], proposed, now)
            value = np.where(accept, reached, value)
        draws.append(now)
    counted = draws[len(draws) - math.ceil(_COUNTED * len(draws)) :]
    return np.concatenate(counted) if counted else np.empty((0, starts.shape[1]), dtype=bool)


def _drawn(weights: Array, rng: np.random.Generator) -> tuple[NDArray[np.intp], Array]:
    """One unit of each row by its weight, and its log probability; minus infinity in a row of zeros."""
    total = weights.sum(axis=1)
    point = rng.random(len(weights)) * total
    which = np.minimum((np.cumsum(weights, axis=1) <= point[:, None]).sum(axis=1), weights.shape[1] - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return which, np.where(total > 0, np.log(weights[np.arange(len(weights)), which] / total), -np.inf)


def _join_or_leave(now: Masks, share: Array, rng: np.random.Generator) -> tuple[Masks, Array]:
    """A unit joins by its share or a member leaves, and the log of the odds of the way back."""
    every, size = np.arange(len(now)), now.sum(axis=1)
    joins = rng.random(len(now)) < 0.5
    weights = np.where(joins[:, None], np.where(now, 0.0, share), now)
    which, there = _drawn(weights, rng)
    new = now.copy()
    new[every, which] ^= True
    outside = np.where(new, 0.0, share).sum(axis=1)
    back = np.where(joins, -np.log(size + 1.0), np.log(share[which] / np.maximum(outside, 1e-300)))
    return new, np.where(np.isfinite(there), back - there, -np.inf)


def _swap(now: Masks, share: Array, rng: np.random.Generator) -> tuple[Masks, Array]:
    """A member gives its place to another unit, and the log of the odds of the way back."""
    every = np.arange(len(now))
    gone, leaves = _drawn(now.astype(np.float64), rng)
    come, there = _drawn(np.where(now, 0.0, share), rng)
    new = now.copy()
    new[every, gone], new[every, come] = False, True
    outside = np.where(new, 0.0, share).sum(axis=1)
    back = np.log(share[gone] / np.maximum(outside, 1e-300))
    return new, np.where(np.isfinite(leaves) & np.isfinite(there), back - there, -np.inf)


def most_shared(draws: Masks, others: Masks) -> NDArray[np.bool_]:
    """The subset of largest mean F1 against draws, among them, their likeliest units, and some others.

    Units that stand for each other share their probability, so that none of them may be likely: one of the
    drawn subsets has one of them all the same.

    Parameters
    ----------
    draws, others : bool arrays of shape (m, n_units) and (k, n_units)

    Returns
    -------
    bool array over units
    """
    distinct, count = np.unique(draws, axis=0, return_counts=True)
    likely = ExpectedF1(float(np.mean(~draws.any(axis=1)))).choose(draws.mean(axis=0))
    candidates = np.concatenate([others, likely[None], distinct])
    drawn = distinct.astype(np.float32)
    shared = candidates.astype(np.float32) @ drawn.T
    total = candidates.sum(axis=1)[:, None] + distinct.sum(axis=1)
    agreement = np.where(total > 0, 2.0 * shared / np.maximum(total, 1), 1.0)
    return np.asarray(candidates[int(np.argmax(agreement @ count))])
