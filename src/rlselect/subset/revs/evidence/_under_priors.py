"""Evidence of a small generalised linear model under many priors of its coefficients at once."""

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
_NEWTON_STEPS = 25


class FittedRows(NamedTuple):
    """Columns of a model (k, n), that of ones first; response, weights and offset of its rows."""

    columns: Floats
    y: Floats
    weight: Floats
    offset: Floats


def evidence_under(
    rows: FittedRows, likelihood: tuple[str, float], slabs: Floats, intercept: float, free: NDArray[np.bool_]
) -> Floats:
    """Laplace log evidence of a model for each prior variance of its coefficients, plain and alike.

    Parameters
    ----------
    rows : FittedRows
        The k columns and what they explain.
    likelihood : tuple
        Family and dispersion.
    slabs : array of shape (m,)
        The variances.
    intercept : float
        First guess of the intercept, whose prior is flat.
    free : bool array of shape (k - 1,)
        Coefficients that may be alike: not those of larger units.

    Returns
    -------
    array of shape (m, 2)
        Of effects that are spread to zero, and of those that are alike.
    """
    k = len(rows.columns)
    precision = np.zeros((len(slabs), k))
    precision[:, 1:] = 1.0 / slabs[:, None]
    start = np.zeros((len(slabs), k))
    start[:, 0] = intercept
    problem = _problem(rows, likelihood, precision)
    coef = damped_newton(problem, start, small_decrement(_DECREMENT), most_steps=_NEWTON_STEPS).coef
    point = problem.evaluate(coef)
    hessian = problem.direction(coef, point).hessian
    determinants = np.linalg.slogdet(hessian)[1] + (k - 1) * np.log(slabs)
    plain = -point.loss - 0.5 * determinants
    variance = np.diagonal(np.linalg.inv(hessian), axis1=1, axis2=2)
    alike = np.log((coef**2 + variance)[:, 1:][:, free] / slabs[:, None]).sum(axis=1)
    return np.column_stack([plain, plain + alike])


def _problem(rows: FittedRows, likelihood: tuple[str, float], precision: Floats) -> NewtonProblem:
    """Minus the log posteriors of models of the same rows, one per row of precisions (m, k)."""
    columns, y, weight, offset = rows
    family, dispersion = likelihood
    diagonal = np.arange(len(columns))

    def evaluate(coef: Floats) -> NewtonPoint:
        eta, pull = coef @ columns + offset, precision * coef
        fit = log_likelihood(family, y, eta, dispersion=dispersion) @ weight
        return NewtonPoint(0.5 * np.vecdot(coef, pull) - fit, (eta, pull))

    def direction(coef: Floats, here: NewtonPoint) -> NewtonStep:
        eta, pull = here.kept
        score, curvature = score_and_curvature(family, y, eta, dispersion)
        gradient = (score * weight) @ columns.T - pull
        hessian = (columns * (curvature * weight)[:, None, :]) @ columns.T
        hessian[:, diagonal, diagonal] += precision
        step = solve_each(hessian, gradient[:, :, None])[:, :, 0]
        return NewtonStep(step, np.vecdot(step, gradient), hessian)

    return NewtonProblem(evaluate, direction, lambda which: _problem(rows, likelihood, precision[which]))
