"""Modes of a posterior under any `Outcome`, by Newton's method."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    Outcome,
    OutcomePoint,
    damped_newton,
    invert_positive,
    small_decrement,
    summed_problem,
)

Floats = NDArray[np.float64]

_NEWTON_STEPS = 25
# as in `GlmSubset`: a hundredth of a standard error
_DECREMENT = 1e-4


class OutcomeMode(NamedTuple):
    """The mode of a posterior: parameters, the point there, the inverse Hessian, the log evidence."""

    coef: Floats
    point: OutcomePoint
    inverse: Floats
    evidence: float
    converged: bool


def outcome_mode(
    outcome: Outcome,
    columns: Floats,
    slab: float | Floats,
    start: Floats,
    *,
    tolerance: float = _DECREMENT,
    most_steps: int = _NEWTON_STEPS,
) -> OutcomeMode:
    """Newton's method for some columns (k, n), in the order of the outcome.

    The slab is the prior variance of all coefficients, or one per column; an infinite one is no prior.
    """
    f, q, k = outcome.n_own, outcome.n_predictors, len(columns)
    slabs = np.broadcast_to(slab, k)
    prior = np.concatenate([outcome.precision, np.repeat(1.0 / slabs, q)])

    def point_at(coef: Floats) -> OutcomePoint:
        return outcome.at(coef[:f], coef[f:].reshape(k, q).T @ columns)

    def sums(coef: Floats) -> tuple[float, Floats, Floats]:
        point = point_at(coef)
        pull = prior * coef
        gradient = np.concatenate([point.own_score, (columns @ point.score.T).ravel()]) - pull
        return (
            0.5 * float(coef @ pull) - point.value,
            point.hessian(columns) + np.diag(prior),
            gradient,
        )

    converged, coef = True, start
    if len(start):
        found = damped_newton(
            summed_problem(sums), start[None], small_decrement(tolerance), most_steps=most_steps
        )
        coef, converged = found.coef[0], bool(found.converged[0])
    point = point_at(coef)
    hessian = point.hessian(columns) + np.diag(prior)
    value = point.value - 0.5 * float(coef @ (prior * coef))
    inverse, logdet = invert_positive(hessian)
    evidence = value - 0.5 * (logdet + q * float(np.log(slabs).sum()) + point.volume)
    return OutcomeMode(coef, point, inverse, evidence, converged)


def outcome_hessian(outcome: Outcome, columns: Floats, coef: Floats) -> Floats:
    """Minus the second derivatives of the log likelihood by own parameters, then coefficients."""
    f, q = outcome.n_own, outcome.n_predictors
    point = outcome.at(coef[:f], coef[f:].reshape(len(columns), q).T @ columns)
    return point.hessian(columns)
