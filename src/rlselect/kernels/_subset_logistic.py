"""Logistic and multinomial regressions on many subsets of columns at once, by Newton steps.

Every model has its own columns and its own rows to learn from; rows that it does not learn from have weight
zero. A small ridge keeps separated data finite.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._families import log_probabilities
from rlselect.kernels._newton import Bools, NewtonPoint, NewtonProblem, NewtonStep, damped_newton, solve_each

Array = NDArray[np.float64]


def _objective(eta: Array, coef: Array, codes: NDArray[np.intp], weight: Array, penalty: Array) -> Array:
    chosen = log_probabilities(eta)[:, np.arange(len(codes)), codes]
    ridge = 0.5 * (penalty[:, :, None] * np.square(coef)).sum(axis=(1, 2))
    return np.asarray(ridge - (weight * chosen).sum(axis=1))


def _newton_system(
    design: Array, eta: Array, coef: Array, codes: NDArray[np.intp], weight: Array, penalty: Array
) -> tuple[Array, Array]:
    """Hessian (m, s q, s q) and gradient (m, s q) of the objective, coefficients class by class."""
    m, s, _ = design.shape
    q = eta.shape[2]
    share = np.exp(log_probabilities(eta))[:, :, 1:]
    hit = (codes[:, None] == np.arange(1, q + 1)).astype(np.float64)
    gradient = design @ (weight[:, :, None] * (share - hit)) + penalty[:, :, None] * coef
    blocks = np.empty((m, q, s, q, s))
    for a in range(q):
        for b in range(a, q):
            curve = weight * share[:, :, a] * ((a == b) - share[:, :, b])
            block = (design * curve[:, None, :]) @ design.swapaxes(1, 2)
            blocks[:, a, :, b] = block
            blocks[:, b, :, a] = block
    hessian = blocks.reshape(m, q * s, q * s)
    diagonal = np.tile(penalty, (1, q))
    hessian[:, np.arange(q * s), np.arange(q * s)] += diagonal
    return hessian, gradient.swapaxes(1, 2).reshape(m, q * s)


def subset_logistic(
    design: Array,
    codes: NDArray[np.intp],
    weight: Array,
    penalty: Array,
    *,
    n_classes: int,
    tol: float = 1e-8,
    max_iter: int = 50,
) -> Array:
    """Coefficients of ridge-penalised multinomial regressions, all by damped Newton steps together.

    Parameters
    ----------
    design : array of shape (m, s, n)
        Columns of each model, rows last; padding is zero.
    codes : int array of shape (n,)
        Classes 0 to C - 1.
    weight : array of shape (m, n)
        Zero for rows that a model does not learn from.
    penalty : array of shape (m, s)
        Ridge of each coefficient: positive at the padding, zero for the constant.
    n_classes : int
    tol : float
        Stop when the Newton decrement of every model is below.
    max_iter : int

    Returns
    -------
    array of shape (m, s, C - 1)
        Relative to class 0.
    """

    def finished(coef: Array, here: NewtonPoint, way: NewtonStep) -> Bools:
        # all go on together until the slowest is there
        return np.full(len(coef), np.all(way.decrement <= tol))

    start = np.zeros((*design.shape[:2], n_classes - 1))
    problem = _problem(design, codes, weight, penalty)
    return damped_newton(problem, start, finished, most_steps=max_iter).coef


def log_evidence(design: Array, codes: NDArray[np.intp], penalty: Array, coef: Array) -> tuple[Array, Array]:
    """Log probability of the classes under each model, by Laplace's method at its fit, and its effects.

    A coefficient with a ridge has a normal prior, whose precision is the ridge; the constant has a flat one.
    All models of the same data lack the same term.

    Parameters
    ----------
    design, codes, penalty
        See `subset_logistic`; the padding has a ridge of one.
    coef : array of shape (m, s, C - 1)
        What `subset_logistic` gave with all rows.

    Returns
    -------
    evidence : array of shape (m,)
    squares : array of shape (m, s)
        Posterior means of the squares of the coefficients, on average over the classes.
    """
    weight = np.ones((len(design), len(codes)))
    eta = np.asarray(design.swapaxes(1, 2) @ coef)
    hessian, _ = _newton_system(design, eta, coef, codes, weight, penalty)
    priors = coef.shape[2] * np.log(np.where(penalty > 0, penalty, 1.0)).sum(axis=1)
    evidence = 0.5 * (priors - np.linalg.slogdet(hessian)[1]) - _objective(eta, coef, codes, weight, penalty)
    variance = np.linalg.inv(hessian).diagonal(axis1=1, axis2=2).reshape(len(coef), coef.shape[2], -1)
    return evidence, np.square(coef).mean(axis=2) + variance.mean(axis=1)


def _problem(design: Array, codes: NDArray[np.intp], weight: Array, penalty: Array) -> NewtonProblem:
    """Hooks of `damped_newton`; the coefficients are (m, s, C - 1)."""
    rows = design.swapaxes(1, 2)

    def evaluate(coef: Array) -> NewtonPoint:
        eta = np.asarray(rows @ coef)
        return NewtonPoint(_objective(eta, coef, codes, weight, penalty), (eta,))

    def direction(coef: Array, here: NewtonPoint) -> NewtonStep:
        m, s, q = coef.shape
        hessian, gradient = _newton_system(design, here.kept[0], coef, codes, weight, penalty)
        # no class in the rows of one model leaves its constant without curvature
        hessian[:, np.arange(q * s), np.arange(q * s)] += 1e-10
        flat = solve_each(hessian, -gradient[:, :, None])[:, :, 0]
        return NewtonStep(flat.reshape(m, q, s).swapaxes(1, 2), -(flat * gradient).sum(axis=1), hessian)

    def part(which: NDArray[np.intp]) -> NewtonProblem:
        return _problem(design[which], codes, weight[which], penalty[which])

    return NewtonProblem(evaluate, direction, part)


def deviance_changes(
    design: Array,
    codes: NDArray[np.intp],
    penalty: Array,
    coef: Array,
    inside: NDArray[np.bool_],
    groups: Sequence[NDArray[np.intp]],
) -> Array:
    """Forecast of how the deviance of a fitted model changes when groups of columns leave or join it.

    Second-order at the fit: Wald's statistic of a group that leaves, and the score statistic of one that
    joins. One Hessian serves all groups.

    Parameters
    ----------
    design : array of shape (s, n)
        Columns inside and outside of the model, rows last; the first is the constant.
    codes : int array of shape (n,)
    penalty : array of shape (s,)
    coef : array of shape (s, C - 1)
        Of the model, zero outside.
    inside : bool array of shape (s,)
    groups : sequence of int arrays
        Columns that leave or join together, all of them inside or all outside.

    Returns
    -------
    array of shape (n_groups,)
    """
    s, q = coef.shape
    eta = design.T @ coef
    weight = np.ones((1, len(codes)))
    hessian, gradient = _newton_system(design[None], eta[None], coef[None], codes, weight, penalty[None])
    H, g, flat = hessian[0], gradient[0], coef.T.ravel()
    H[np.diag_indices(len(H))] += 1e-10
    within = np.flatnonzero(np.tile(inside, q))
    inverse = np.linalg.inv(H[np.ix_(within, within)])
    place = np.empty(s * q, dtype=np.intp)
    place[within] = np.arange(len(within))
    out = np.empty(len(groups))
    for i, group in enumerate(groups):
        which = (np.arange(q)[:, None] * s + group).ravel()
        if inside[group[0]]:
            block = inverse[np.ix_(place[which], place[which])]
            out[i] = flat[which] @ np.linalg.solve(block, flat[which])
        else:
            across = H[np.ix_(within, which)]
            block = H[np.ix_(which, which)] - across.T @ inverse @ across
            out[i] = -g[which] @ np.linalg.solve(block, g[which])
    return out
