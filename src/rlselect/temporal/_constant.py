"""Partly constant effects: some coefficients shared by all times, the others free at each time."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    NewtonPoint,
    NewtonProblem,
    NewtonStep,
    damped_newton,
    deviance,
    information,
    small_step,
    solve_each,
    whiten,
    working_quantities,
)
from rlselect.temporal._design import ProcessDesign
from rlselect.temporal._estimate import Estimate, estimate, standard_errors, with_offset

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Blocks:
    """The design of the sound times in orthonormal coordinates: free part and constant part."""

    free: Array
    z_free: Array
    shared: Array
    z_shared: Array
    y: Array
    w: Array
    offset: Array | None


def estimate_constant(design: ProcessDesign, positions: list[int], link: str, variance: str) -> Estimate:
    """Solve jointly for free curves and constant effects.

    The equations of the constant effects are summed over all available rows, so this is a generalised linear
    model with time-specific and shared columns and standard errors clustered by subject. A time point whose
    free part alone cannot be estimated is flagged and left out of the sums.
    """
    n_times, p, n = design.x.shape
    shared = np.asarray(positions)
    free = np.setdiff1d(np.arange(p), shared)
    start, flags = _free_part(design, free, link, variance)
    sound = np.array([reason is None for reason in flags])
    counts = (design.w > 0).sum(axis=1)
    beta, psi = np.full((n_times, p), np.nan), np.full((n_times, p, n), np.nan)
    se = np.full((n_times, p), np.nan)
    if sound.any():
        blocks = _blocks(design, free, shared, sound)
        alpha, gamma = _scoring(blocks, start, link, variance, [design.names[k] for k in positions])
        psi_free, psi_shared = _influence(blocks, alpha, gamma, link, variance, n)
        at = np.flatnonzero(sound)
        beta[np.ix_(at, free)] = (blocks.z_free @ alpha[:, :, None])[:, :, 0]
        beta[np.ix_(at, shared)] = blocks.z_shared @ gamma
        psi[np.ix_(at, free)] = blocks.z_free @ psi_free
        psi[np.ix_(at, shared)] = (blocks.z_shared @ psi_shared)[None]
        se[at] = standard_errors(psi[at])
    return Estimate(beta, se, psi, flags, counts)


def _free_part(
    design: ProcessDesign, free: NDArray[np.intp], link: str, variance: str
) -> tuple[Array | None, list[str | None]]:
    """Flags, and curves to start from, of the model without the constant effects."""
    if len(free) == 0:
        none = "no data: no subject is available at this time"
        return None, [None if (w > 0).any() else none for w in design.w]
    names = [design.names[k] for k in free]
    x = np.ascontiguousarray(design.x[:, free, :])
    part = replace(design, x=x, names=names, terms={}, factors={}, spec=None)
    alone = estimate(part, link, variance)
    return alone.beta[alone.sound], alone.flags


def _blocks(
    design: ProcessDesign, free: NDArray[np.intp], shared: NDArray[np.intp], sound: NDArray[np.bool_]
) -> _Blocks:
    x, y, w = design.x[sound], design.y[sound], design.w[sound]
    offset = None if design.offset is None else design.offset[sound]
    n_times, _, n = x.shape
    q_free, z_free = np.zeros((n_times, 0, n)), np.zeros((n_times, 0, 0))
    if len(free):
        q_free, z_free, _ = whiten(np.ascontiguousarray(x[:, free, :]), w)
    tall = x[:, shared, :].swapaxes(0, 1).reshape(1, len(shared), n_times * n)
    q_shared, z_shared, rank = whiten(tall, w.reshape(1, -1))
    if rank[0] < len(shared):
        _refuse([design.names[k] for k in shared])
    q_shared = np.ascontiguousarray(q_shared[0].reshape(len(shared), n_times, n).swapaxes(0, 1))
    return _Blocks(q_free, z_free, q_shared, z_shared[0], y, w, offset)


def _refuse(names: list[str]) -> None:
    raise ValueError(
        f"the constant effects of {', '.join(names)} cannot be told from the other coefficients "
        "(linearly dependent columns); drop one of them or let it vary"
    )


def _predictor(b: _Blocks, alpha: Array, gamma: Array) -> Array:
    own = (alpha[:, None, :] @ b.free)[:, 0, :] + np.einsum("k,tkn->tn", gamma, b.shared)
    return with_offset(own, b.offset)


def _schur(b: _Blocks, weight: Array) -> tuple[Array, Array, Array]:
    """``H_free``, ``H_free^-1 H_free,shared`` and the information left for the constant effects."""
    h_free = information(b.free, weight)
    cross = (b.free * weight[:, None, :]) @ b.shared.swapaxes(1, 2)
    ratio = solve_each(h_free, cross) if b.free.shape[1] else cross
    own = information(b.shared, weight).sum(axis=0)
    return h_free, ratio, own - (cross.swapaxes(1, 2) @ ratio).sum(axis=0)


def _scoring(
    b: _Blocks, start: Array | None, link: str, variance: str, names: list[str]
) -> tuple[Array, Array]:
    n_times, n_free = len(b.y), b.free.shape[1]

    def parts(coef: Array) -> tuple[Array, Array]:
        return coef[0, : n_times * n_free].reshape(n_times, n_free), coef[0, n_times * n_free :]

    def evaluate(coef: Array) -> NewtonPoint:
        eta = _predictor(b, *parts(coef))
        return NewtonPoint(0.5 * deviance(link, variance, eta, b.y, b.w).sum(keepdims=True), (eta[None],))

    def direction(coef: Array, here: NewtonPoint) -> NewtonStep:
        weight, score = working_quantities(link, variance, here.kept[0][0], b.y, b.w)
        h_free, ratio, left = _schur(b, weight)
        own = np.diag(information(b.shared, weight).sum(axis=0))
        if np.linalg.eigvalsh(left / np.sqrt(np.outer(own, own)))[0] < 1e-10:
            _refuse(names)
        g_free = (b.free @ score[:, :, None])[:, :, 0]
        g_shared = np.einsum("tkn,tn->k", b.shared, score)
        d_gamma = np.linalg.solve(left, g_shared - np.einsum("tfk,tf->k", ratio, g_free))
        d_alpha = -(ratio @ d_gamma)
        if n_free:
            d_alpha = d_alpha + solve_each(h_free, g_free[:, :, None])[:, :, 0]
        step = np.append(d_alpha, d_gamma)
        return NewtonStep(step[None], np.array([step @ np.append(g_free, g_shared)]))

    curves = np.zeros(n_times * n_free) if start is None else solve_each(b.z_free, start[:, :, None])
    first = np.append(curves, np.zeros(b.shared.shape[1]))[None]
    problem = NewtonProblem(evaluate, direction)
    with np.errstate(all="ignore"):
        found = damped_newton(problem, first, small_step(1e-10), most_steps=100)
    if found.converged[0]:
        return parts(found.coef)
    raise ValueError(
        f"the model with constant effects of {', '.join(names)} has no finite estimate: together with the "
        "free coefficients they predict the response perfectly somewhere; let them vary, or drop a covariate"
    )


def _influence(
    b: _Blocks, alpha: Array, gamma: Array, link: str, variance: str, n: int
) -> tuple[Array, Array]:
    weight, score = working_quantities(link, variance, _predictor(b, alpha, gamma), b.y, b.w)
    h_free, ratio, left = _schur(b, weight)
    a_free = b.free * score[:, None, :]
    a_shared = np.einsum("tkn,tn->kn", b.shared, score)
    psi_shared = n * np.linalg.solve(left, a_shared - np.einsum("tfk,tfn->kn", ratio, a_free))
    if not b.free.shape[1]:
        return a_free, psi_shared
    return n * solve_each(h_free, a_free) - ratio @ psi_shared, psi_shared
