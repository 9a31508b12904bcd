"""Generalised linear regressions on dense rows, one or many at once.

Layout: designs are (regressions, coefficients, rows), ``y`` and ``w`` are (regressions, rows). A row that
takes no part has weight 0 and zeros in the design and `y`. Every regression is computed by its own matrix
products, so one that breaks cannot move another, not even in the last digit.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._families import (
    BOUNDED_LINKS,
    deviance,
    is_canonical,
    link_function,
    starting_mean,
    working_quantities,
)
from rlselect.kernels._newton import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    small_step,
    solve_each,
)

Array = NDArray[np.float64]

# Below this the smallest eigenvalue of a Gram matrix says too little; those few designs get an SVD.
_GRAM_DOUBT = 1e-9
RANK_TOLERANCE = 1e-12


def whiten(x: Array, w: Array) -> tuple[Array, Array, NDArray[np.intp]]:
    """Orthonormal coordinates of each design, so that scales and offsets of columns do not matter.

    Returns ``(q, z, rank)`` with ``q[t] = z[t].T @ x[t]``, ``sum_i w_i q_i q_i' = sum_i w_i I`` and so
    coefficients ``beta = z @ theta``. Where the rank is below the number of columns `q` and `z` are zero.
    """
    n_fits, p, _ = x.shape
    top = np.abs(x).max(axis=2, initial=0.0)
    scale = np.where(top > 0, top, 1.0)
    total = w.sum(axis=1)
    weight = w / np.where(total > 0, total, 1.0)[:, None]
    unit = x / scale[:, :, None]
    gram = (unit * weight[:, None, :]) @ unit.swapaxes(1, 2)
    size = np.sqrt(np.einsum("tkk->tk", gram))
    size = np.where(size > 0, size, 1.0)
    scale = scale * size
    gram = gram / (size[:, :, None] * size[:, None, :])
    values, vectors = np.linalg.eigh(gram)
    sound = values[:, 0] > _GRAM_DOUBT * values[:, -1]
    rank = np.where(sound, p, 0)
    z = np.zeros((n_fits, p, p))
    z[sound] = vectors[sound] / np.sqrt(values[sound])[:, None, :]
    z /= scale[:, :, None]
    q = z.swapaxes(1, 2) @ x
    for t in np.flatnonzero(~sound):
        rank[t], q[t], z[t] = _whiten_one(x[t] / scale[t][:, None], weight[t], scale[t])
    return q, z, rank


def _whiten_one(unit: Array, weight: Array, scale: Array) -> tuple[int, Array, Array]:
    p, n = unit.shape
    rows = weight > 0
    root = np.sqrt(weight[rows])
    q, z = np.zeros((p, n)), np.zeros((p, p))
    if rows.sum() == 0:
        return 0, q, z
    u, s, vt = np.linalg.svd(unit[:, rows] * root, full_matrices=False)
    rank = int((s > RANK_TOLERANCE * s[0]).sum()) if s[0] > 0 else 0
    if rank == p:
        q[:, rows] = vt / root
        z = u / s / scale[:, None]
    return rank, q, z


def information(design: Array, weight: Array) -> Array:
    """``sum_i weight_i x_i x_i'`` of each regression."""
    return (design * weight[:, None, :]) @ design.swapaxes(1, 2)


def linear_predictor(coef: Array, design: Array) -> Array:
    """``x_i'b`` of each regression, (regressions, rows)."""
    return (coef[:, None, :] @ design)[:, 0, :]


def glm_problem(
    design: Array,
    y: Array,
    w: Array,
    link: str,
    variance: str,
    *,
    offset: Array | None = None,
    ridge: Array | None = None,
    solve: Callable[[Array, Array], Array] | None = None,
) -> NewtonProblem:
    """Half the deviance, plus half the ridge penalty, for `damped_newton` (Fisher scoring).

    Parameters
    ----------
    design : array of shape (m, k, n)
    y, w : arrays of shape (m, n)
    link, variance : str
    offset : array of shape (m, n), optional
    ridge : array of shape (k,), optional
        Penalty of each squared coefficient.
    solve : callable, optional
        Of one system, for designs whose columns may repeat each other; all at once, NaN where singular,
        without.
    """

    def evaluate(coef: Array) -> NewtonPoint:
        eta = linear_predictor(coef, design)
        if offset is not None:
            eta += offset
        loss = 0.5 * deviance(link, variance, eta, y, w)
        return NewtonPoint(loss if ridge is None else loss + 0.5 * (coef * coef) @ ridge, (eta,))

    def direction(coef: Array, here: NewtonPoint) -> NewtonStep:
        weight, score = working_quantities(link, variance, here.kept[0], y, w)
        gradient, hessian = (design @ score[:, :, None])[:, :, 0], information(design, weight)
        if ridge is not None:
            gradient -= ridge * coef
            hessian += np.diag(ridge)
        if solve is None:
            step = solve_each(hessian, gradient[:, :, None])[:, :, 0]
        else:
            step = np.array([solve(*pair) for pair in zip(hessian, gradient, strict=True)])
        return NewtonStep(step, np.vecdot(step, gradient), hessian)

    def part(which: NDArray[np.intp]) -> NewtonProblem:
        known = None if offset is None else offset[which]
        return glm_problem(
            design[which], y[which], w[which], link, variance, offset=known, ridge=ridge, solve=solve
        )

    return NewtonProblem(evaluate, direction, part)


def _first_step(q: Array, y: Array, w: Array, link: str, variance: str, offset: Array | None) -> Array:
    mu = np.where(w > 0, starting_mean(variance, link, y, w), 0.5)
    eta = link_function(link, mu)
    weight, score = working_quantities(link, variance, eta, y, w)
    own = eta if offset is None else eta - offset
    right = (q @ (weight * own + score)[:, :, None])[:, :, 0]
    return solve_each(information(q, weight), right[:, :, None])[:, :, 0]


def _flat_start(q: Array, y: Array, w: Array, link: str) -> Array:
    """The constant mean, for regressions whose first step left the range of the mean."""
    total = w.sum(axis=1)
    level = link_function(link, (w * y).sum(axis=1) / total)
    # q is orthonormal in the weights, so the least squares fit of a constant is an average
    return level[:, None] * (q @ w[:, :, None])[:, :, 0] / total[:, None]


def batched_irls(
    q: Array,
    y: Array,
    w: Array,
    link: str,
    variance: str,
    *,
    start: Array | None = None,
    offset: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 30,
) -> tuple[Array, NDArray[np.bool_]]:
    """Fisher scoring with step halving, all regressions together.

    Parameters
    ----------
    q : array of shape (regressions, coefficients, rows)
        Designs in the coordinates of `whiten`, so that one tolerance serves all.
    y, w : arrays of shape (regressions, rows)
    link, variance : str
    start : array of shape (regressions, coefficients), optional
    offset : array of shape (regressions, rows), optional
        Known part of the linear predictor.
    tol : float
        A regression is done when its largest step is at most ``tol * (1 + largest coefficient)``.
    max_iter : int

    Returns
    -------
    theta : array of shape (regressions, coefficients)
    converged : array of bool
    """
    with np.errstate(all="ignore"):
        theta = _first_step(q, y, w, link, variance, offset) if start is None else start.copy()
        theta[~np.isfinite(theta).all(axis=1)] = 0.0
        if not (link in BOUNDED_LINKS or is_canonical(link, variance)):
            known = 0.0 if offset is None else offset
            lost = ~np.isfinite(deviance(link, variance, linear_predictor(theta, q) + known, y, w))
            theta[lost] = _flat_start(q[lost], y[lost], w[lost], link)
        problem = glm_problem(q, y, w, link, variance, offset=offset)
        found = damped_newton(problem, theta, small_step(tol), most_steps=max_iter)
    return found.coef, found.converged
