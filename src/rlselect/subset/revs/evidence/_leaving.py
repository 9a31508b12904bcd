"""What a generalised linear model loses with each of its columns, by Newton steps to the model without it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    log_likelihood,
    score_and_curvature,
    small_decrement,
    solve_each,
)

Floats = NDArray[np.float64]

# of the log posterior, before the last step squares what is left
_DECREMENT = 0.02
_NEWTON_STEPS = 6


class FittedRows(NamedTuple):
    """Columns of a model (k, n), that of ones first; response, weights and offset of its rows."""

    columns: Floats
    y: Floats
    weight: Floats
    offset: Floats


def evidence_without(
    rows: FittedRows, likelihood: tuple[str, float], prior: Floats, out: NDArray[np.intp], start: Floats
) -> Floats:
    """Laplace log evidence of a model without each of some columns, the determinants of the priors apart.

    Parameters
    ----------
    rows : FittedRows
        The k columns and what they explain.
    likelihood : tuple
        Family and dispersion.
    prior : array of shape (k, k)
        Precision of all coefficients.
    out : array of int of shape (m,)
        The columns that leave, one from each model.
    start : array of shape (m, k)
        First coefficients; that of the column that leaves is taken as zero.

    Returns
    -------
    array of shape (m,)
    """
    gone = np.zeros((len(out), len(prior)), dtype=bool)
    gone[np.arange(len(out)), out] = True
    # what is left of the precision when the coefficient that leaves is integrated out
    priors = prior - prior[out, :, None] * prior[out, None, :] / prior[out, out][:, None, None]
    problem, rule = _problem(rows, likelihood, priors, gone), small_decrement(_DECREMENT)
    coef = damped_newton(problem, np.where(gone, 0.0, start), rule, most_steps=_NEWTON_STEPS).coef
    point = problem.evaluate(coef)
    hessian = problem.direction(coef, point).hessian
    return np.asarray(-point.loss - 0.5 * np.linalg.slogdet(hessian)[1])


def _problem(
    rows: FittedRows, likelihood: tuple[str, float], priors: Floats, gone: NDArray[np.bool_]
) -> NewtonProblem:
    """Minus the log posteriors of models of the same rows; the coefficient that is gone stays at zero."""
    columns, y, weight, offset = rows
    family, dispersion = likelihood
    stays = ~gone[:, :, None] & ~gone[:, None, :]
    fixed = gone[:, :, None] * np.eye(gone.shape[1])

    def evaluate(coef: Floats) -> NewtonPoint:
        eta = coef @ columns + offset
        pull = (priors @ coef[:, :, None])[:, :, 0]
        fit = log_likelihood(family, y, eta, dispersion=dispersion) @ weight
        return NewtonPoint(0.5 * np.vecdot(coef, pull) - fit, (eta, pull))

    def direction(coef: Floats, here: NewtonPoint) -> NewtonStep:
        eta, pull = here.kept
        score, curvature = score_and_curvature(family, y, eta, dispersion)
        gradient = np.where(gone, 0.0, (score * weight) @ columns.T - pull)
        bent = columns * (curvature * weight)[:, None, :]
        hessian = np.where(stays, bent @ columns.T + priors, fixed)
        step = solve_each(hessian, gradient[:, :, None])[:, :, 0]
        return NewtonStep(step, np.vecdot(step, gradient), hessian)

    return NewtonProblem(
        evaluate, direction, lambda which: _problem(rows, likelihood, priors[which], gone[which])
    )
