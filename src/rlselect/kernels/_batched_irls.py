"""Iteratively reweighted least squares for many regressions at once.

Layout: ``x`` is (regressions, coefficients, rows), ``y`` and ``w`` are (regressions, rows). A row that takes
no part has weight 0 and zeros in `x` and `y`. Every regression is computed by its own matrix products, so
one that breaks cannot move another, not even in the last digit.
"""

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._glm_families import (
    link_function,
    mean_function,
    starting_mean,
    unit_deviance,
    variance_function,
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


def working_quantities(link: str, variance: str, eta: Array, y: Array, w: Array) -> tuple[Array, Array]:
    """Information weight ``w mu'^2 / V`` and score residual ``w mu' (y - mu) / V`` of every row."""
    mu, rest, slope = mean_function(link, eta)
    if (link, variance) in (("logit", "binomial"), ("log", "poisson"), ("identity", "gaussian")):
        # canonical: mu' equals V, and dividing one by the other would only lose digits
        return w * slope, w * (y - mu)
    v = variance_function(variance, mu, rest)
    ratio = slope / np.where(v > 0, v, np.nan)
    live = w > 0
    return np.where(live, w * slope * ratio, 0.0), np.where(live, w * (y - mu) * ratio, 0.0)


def deviance(link: str, variance: str, eta: Array, y: Array, w: Array) -> Array:
    """Weighted deviance of each regression (up to a term of `y` alone)."""
    if (link, variance) == ("logit", "binomial"):
        terms = np.logaddexp(0.0, eta) - y * eta
        return 2.0 * np.einsum("...i,...i->...", w, terms)
    mu, rest, _ = mean_function(link, eta)
    terms = unit_deviance(variance, y, mu, rest)
    losses: Array = w * np.where(w > 0, terms, 0.0)
    return losses.sum(axis=-1)


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


def information(q: Array, weight: Array) -> Array:
    """``sum_i weight_i q_i q_i'`` of each regression."""
    return (q * weight[:, None, :]) @ q.swapaxes(1, 2)


def _predictor(theta: Array, q: Array) -> Array:
    return (theta[:, None, :] @ q)[:, 0, :]


def _first_step(q: Array, y: Array, w: Array, link: str, variance: str) -> Array:
    mu = np.where(w > 0, starting_mean(variance, link, y, w), 0.5)
    eta = link_function(link, mu)
    weight, score = working_quantities(link, variance, eta, y, w)
    right = (q @ (weight * eta + score)[:, :, None])[:, :, 0]
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
    tol : float
        A regression is done when its largest step is at most ``tol * (1 + largest coefficient)``.
    max_iter : int

    Returns
    -------
    theta : array of shape (regressions, coefficients)
    converged : array of bool
    """
    with np.errstate(all="ignore"):
        theta = _first_step(q, y, w, link, variance) if start is None else start.copy()
        theta[~np.isfinite(theta).all(axis=1)] = 0.0
        converged = np.zeros(len(q), dtype=bool)
        active = np.arange(len(q))
        now_q, now_y, now_w = q, y, w
        eta = _predictor(theta, q)
        loss = deviance(link, variance, eta, y, w)
        lost = np.flatnonzero(~np.isfinite(loss))
        if len(lost):
            theta[lost] = _flat_start(q[lost], y[lost], w[lost], link)
            eta[lost] = _predictor(theta[lost], q[lost])
            loss[lost] = deviance(link, variance, eta[lost], y[lost], w[lost])
        for _ in range(max_iter):
            weight, score = working_quantities(link, variance, eta, now_y, now_w)
            gradient = now_q @ score[:, :, None]
            step = solve_each(information(now_q, weight), gradient)[:, :, 0]
            # a finished regression stays where it is, however long its neighbours take
            step[converged[active]] = 0.0
            moved, eta, loss = _damped(theta[active], step, eta, loss, now_q, now_y, now_w, link, variance)
            theta[active] += moved
            limit = tol * (1.0 + np.abs(theta[active]).max(axis=1, initial=0.0))
            # written so that a NaN step counts as not converged
            done = np.abs(step).max(axis=1, initial=0.0) <= limit
            converged[active[done]] = True
            if done.all():
                break
            keep = np.flatnonzero(~done)
            # dropping finished regressions costs a copy of the rest: worth it once a third is done
            if len(keep) * 3 < len(active) * 2:
                active = active[keep]
                now_q, now_y, now_w = q[active], y[active], w[active]
                eta, loss = eta[keep], loss[keep]
    return theta, converged


def _damped(
    theta: Array,
    step: Array,
    eta: Array,
    loss: Array,
    q: Array,
    y: Array,
    w: Array,
    link: str,
    variance: str,
) -> tuple[Array, Array, Array]:
    """Accept the full step, or halve it while the deviance grows or the mean leaves its range."""
    step = np.where(np.isfinite(step), step, 0.0)
    new_eta = _predictor(theta + step, q)
    new_loss = deviance(link, variance, new_eta, y, w)
    slack = 1e-9 * (1.0 + np.abs(loss))
    bad = np.flatnonzero(~(new_loss <= loss + slack) & np.isfinite(loss))
    for _ in range(30):
        if len(bad) == 0:
            break
        step[bad] *= 0.5
        new_eta[bad] = _predictor((theta + step)[bad], q[bad])
        new_loss[bad] = deviance(link, variance, new_eta[bad], y[bad], w[bad])
        bad = bad[~(new_loss[bad] <= loss[bad] + slack[bad])]
    return step, new_eta, new_loss
