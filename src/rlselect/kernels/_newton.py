"""Damped Newton steps: the one loop behind every fit by likelihood.

The loop minimises a batch of m losses side by side; a single fit is a batch of one. What differs between its
users comes in as hooks, a `NewtonProblem`: how a loss is evaluated (dense rows, sums over blocks or workers,
a kernel matrix), how the system is solved (dense, batched, by Schur complements, least norm), and what part
of the batch goes on. Its users: `_glm` (dense fits, one per time), `_subset_logistic` (one per mask),
`subset.revs` (fits summed over blocks of rows, the paper's search), `machines` (kernel logistic regression)
and `temporal` (curves with constant effects).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

# a loss may grow by this share of its size before a step is halved: more than the rounding of long sums
_SLACK = 1e-9
# halved as often as this, a step is 1e-9 of what it was: whatever the loss says then is rounding
_HALVINGS = 30
# relative to its largest part, what is left of a direction that the other columns explain
SINGULAR = 1e-12


class NewtonPoint(NamedTuple):
    """Where the m problems stand: their losses (m,), and arrays (m, ...) to make the next step from."""

    loss: Array
    kept: tuple[Array, ...] = ()


class NewtonStep(NamedTuple):
    """Newton's steps (m, ...), their decrements (m,), twice the promised fall, and what made them."""

    step: Array
    decrement: Array
    hessian: Any = None


class NewtonProblem(NamedTuple):
    """Hooks of the loop.

    ``evaluate(coef)`` gives a `NewtonPoint`, ``direction(coef, point)`` a `NewtonStep`, and ``part(which)``
    the problem of some of the batch; a single fit needs none.
    """

    evaluate: Callable[[Array], NewtonPoint]
    direction: Callable[[Array, NewtonPoint], NewtonStep]
    part: Callable[[Ints], "NewtonProblem"] | None = None


class Minimum(NamedTuple):
    """Coefficients (m, ...), which of them met the rule (m,), and the last point and direction.

    After a loop with ``polish`` the point lies one step back.
    """

    coef: Array
    converged: Bools
    point: NewtonPoint
    direction: NewtonStep


Rule = Callable[[Array, NewtonPoint, NewtonStep], Bools]


def damped_newton(
    problem: NewtonProblem,
    start: Array,
    finished: Rule,
    *,
    polish: bool = True,
    most_steps: int = 50,
    floor: float = 1.0,
) -> Minimum:
    """Newton steps, each halved while it raises its loss, until every problem of the batch is finished.

    A problem that is finished, or whose step is not a number, stays where it is however long its neighbours
    take: a batch gives the answers of a loop.

    Parameters
    ----------
    problem : NewtonProblem
        The hooks.
    start : array of shape (m, ...)
        First coefficients.
    finished : callable
        ``finished(coef, point, direction)``, true where the next step is small enough; see `small_decrement`
        and `small_step`.
    polish : bool, default=True
        Whether that next step, which squares the error that is left, is taken.
    most_steps : int, default=50
        Number of steps at most.
    floor : float, default=1
        Losses differ by rounding below 1e-9 of their size plus this: one for sums of log likelihoods.

    Returns
    -------
    Minimum
    """
    coef = np.array(start, dtype=np.float64)
    found, converged = coef, np.zeros(len(coef), dtype=bool)
    carried, resting = np.arange(len(coef)), np.zeros(len(coef), dtype=bool)
    here = problem.evaluate(coef)
    for _ in range(most_steps):
        way = problem.direction(coef, here)
        step, sound = way.step, np.isfinite(way.decrement)
        done = finished(coef, here, way) & sound
        ending = done | ~sound | resting
        # counted rather than asked for any or all, which takes longer than the rest for a single fit
        n_ending = np.count_nonzero(ending)
        if n_ending:
            converged[carried[done & ~resting]] = True
            stays = resting | ~sound if polish else ending
            step = np.where(stays.reshape(-1, *[1] * (coef.ndim - 1)), 0.0, step)
            if n_ending == len(ending):
                coef = coef + step
                break
        coef, here = _damped(problem, coef, step, here, floor)
        resting = ending
        # leaving finished ones behind costs a copy of the rest: worth it once a third is done
        if problem.part is not None and 3 * n_ending > len(resting):
            found[carried] = coef
            keep = np.flatnonzero(~resting)
            problem, carried, resting = problem.part(keep), carried[keep], resting[keep]
            coef, here = coef[keep], NewtonPoint(here.loss[keep], tuple(part[keep] for part in here.kept))
    found[carried] = coef
    return Minimum(found, converged, here, way)


def _damped(
    problem: NewtonProblem, coef: Array, step: Array, here: NewtonPoint, floor: float
) -> tuple[Array, NewtonPoint]:
    """The full step, halved for those of the batch whose loss grows by it."""
    limit = here.loss + _SLACK * (floor + np.abs(here.loss))
    to = coef + step
    there = problem.evaluate(to)
    fine = there.loss <= limit
    if np.count_nonzero(fine) == len(fine):
        return to, there
    # from a place without a loss every other one is better
    bad = np.flatnonzero(~fine & np.isfinite(here.loss))
    scale, part = 1.0, None
    for _ in range(_HALVINGS):
        if not len(bad):
            break
        scale *= 0.5
        if part is None:
            part = problem if len(bad) == len(to) or problem.part is None else problem.part(bad)
        to[bad] = coef[bad] + scale * step[bad]
        trial = part.evaluate(to[bad])
        for whole, piece in zip((there.loss, *there.kept), (trial.loss, *trial.kept), strict=True):
            whole[bad] = piece
        better = trial.loss <= limit[bad]
        if better.any():
            bad, part = bad[~better], None
    return to, there


def small_decrement(tol: float, *, relative: bool = False, constant: float = 0.0) -> Rule:
    """Finished where the decrement is at most `tol`, or that share of the loss (plus `constant`).

    The root of the decrement is the distance to the minimum in standard errors.
    """

    def finished(coef: Array, here: NewtonPoint, way: NewtonStep) -> Bools:
        if relative:
            return way.decrement <= tol * np.maximum(np.abs(here.loss + constant), 1.0)
        return way.decrement <= tol

    return finished


def small_step(tol: float) -> Rule:
    """Finished where the largest entry of the step is at most ``tol * (1 + largest coefficient)``."""

    def finished(coef: Array, here: NewtonPoint, way: NewtonStep) -> Bools:
        largest = np.abs(coef).max(axis=1, initial=0.0)
        return np.abs(way.step).max(axis=1, initial=0.0) <= tol * (1.0 + largest)

    return finished


def summed_problem(sums: Callable[[Array], tuple[float, Array, Array]]) -> NewtonProblem:
    """One fit whose loss, Hessian and negative gradient come together, as sums over rows do.

    ``sums(coef)`` gives them for coefficients of shape (k,); the point keeps the other two.
    """

    def evaluate(coef: Array) -> NewtonPoint:
        loss, hessian, gradient = sums(coef[0])
        return NewtonPoint(np.array([loss]), (hessian[None], gradient[None]))

    def direction(coef: Array, here: NewtonPoint) -> NewtonStep:
        hessian, gradient = here.kept
        step = solve_shortest(hessian[0], gradient[0])
        return NewtonStep(step[None], np.array([step @ gradient[0]]), hessian)

    return NewtonProblem(evaluate, direction)


def solve_each(a: Array, b: Array) -> Array:
    """Solve ``a[t] s = b[t]``; NaN where one system is singular, the others untouched."""
    try:
        return np.asarray(np.linalg.solve(a, b), dtype=np.float64)
    except np.linalg.LinAlgError:
        out = np.full(b.shape, np.nan)
        for t in range(len(a)):
            try:
                out[t] = np.linalg.solve(a[t], b[t])
            except np.linalg.LinAlgError:
                continue
        return out


def solve_shortest(hessian: Array, gradient: Array) -> Array:
    """Solve one positive semi-definite system; a singular one is answered by the shortest step.

    Parameters
    ----------
    hessian : array of shape (k, k)
    gradient : array of shape (k,)

    Returns
    -------
    array of shape (k,)
        NaN where the system holds numbers that are none.
    """
    factor, step, info = lapack.dposv(hessian, gradient, lower=1)
    if _is_regular(hessian, factor, info):
        return np.asarray(step)
    try:
        return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=SINGULAR)[0])
    except np.linalg.LinAlgError:
        return np.full(len(gradient), np.nan)


def invert_positive(matrix: Array) -> tuple[Array, float]:
    """Inverse and log determinant of one positive semi-definite matrix.

    Parameters
    ----------
    matrix : array of shape (k, k)

    Returns
    -------
    inverse : array of shape (k, k)
        The pseudo-inverse where some columns add up to another one.
    logdet : float
    """
    k = len(matrix)
    if not k:
        return np.zeros((0, 0)), 0.0
    factor, inverse, info = lapack.dposv(matrix, np.eye(k), lower=1)
    if _is_regular(matrix, factor, info):
        return np.asarray(inverse), 2.0 * float(np.log(factor.diagonal()).sum())
    return np.asarray(np.linalg.pinv(matrix, hermitian=True)), float(np.linalg.slogdet(matrix)[1])


def _is_regular(matrix: Array, factor: Array, info: int) -> bool:
    """Whether no pivot of a factorisation is at rounding level: some columns add up to another one there."""
    return info == 0 and bool((factor.diagonal() ** 2 > SINGULAR * matrix.diagonal()).all())
