"""Estimates, influence functions and flags of all time points."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import (
    BOUNDED_LINKS,
    batched_irls,
    information,
    mean_function,
    separating_direction,
    separation_sentence,
    solve_each,
    variance_function,
    whiten,
    working_quantities,
)
from rlselect.temporal._design import HELD, ProcessDesign
from rlselect.temporal._leverage import Leverage

Array = NDArray[np.float64]

# A linear predictor this far out sends the time point to the linear programme.
_EXTREME = 20.0
# Numbers of a block of times x covariates x subjects: several copies of it are made.
_BLOCK = 4_000_000
# Here the link does not keep the mean where the variance is positive: a solution may sit on the edge.
_LEAKY = (("identity", "binomial"), ("identity", "poisson"), ("log", "binomial"))


@dataclass(frozen=True)
class Estimate:
    """Raw curves.

    Attributes
    ----------
    beta, se : arrays of shape (times, covariates), NaN at flagged times
    psi : array of shape (times, covariates, subjects), or None
        Influence functions: ``beta_hat - beta`` is their mean over subjects, to first order. None where they
        are too many to be held, and of smoothed curves: see `FittedCurves.influence`.
    flags : one entry per time, a reason or None
    n_available : available subjects per time
    """

    beta: Array
    se: Array
    psi: Array | None
    flags: list[str | None]
    n_available: NDArray[np.intp]

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Time points without a flag."""
        return np.array([reason is None for reason in self.flags])

    @property
    def separated(self) -> NDArray[np.bool_]:
        """Time points flagged because an estimate is infinite, where other curves may still be judged."""
        return np.array([reason is not None and reason.startswith("separation") for reason in self.flags])


def standard_errors(psi: Array) -> Array:
    """Standard errors, HC0, of what has the influence functions `psi` (times, columns, subjects)."""
    return np.sqrt(np.einsum("tki,tki->tk", psi, psi)) / psi.shape[2]


def check_response(design: ProcessDesign, link: str, variance: str) -> None:
    """Refuse responses outside the range of the mean."""
    live = design.y[design.w > 0]
    if (variance == "binomial" or link in BOUNDED_LINKS) and ((live < 0) | (live > 1)).any():
        raise ValueError(
            f"link={link!r} with variance={variance!r} needs a response between 0 and 1; {design.response!r} "
            f"runs from {live.min():g} to {live.max():g}. Code it as 0/1 or choose another link"
        )
    if variance == "poisson" and (live < 0).any():
        raise ValueError(
            f"variance='poisson' needs a response that is not negative; {design.response!r} goes down to "
            f"{live.min():g}. Choose another link or variance"
        )


def times_at_once(design: ProcessDesign) -> int:
    """How many times are worked on together, so that blocks hold `_BLOCK` numbers."""
    return max(1, _BLOCK // (design.x.shape[1] * design.x.shape[2]))


def estimate(design: ProcessDesign, link: str, variance: str) -> Estimate:
    """Fit every time point by itself, as many at once as `_BLOCK` numbers hold: one time needs no other."""
    n_times, p, n = design.x.shape
    some = times_at_once(design)
    if n_times <= some:
        return _estimate_together(design, link, variance)
    beta, se = np.empty((n_times, p)), np.empty((n_times, p))
    # weights that were estimated need the influence functions of all times
    psi = np.empty((n_times, p, n)) if n_times * p * n <= HELD or design.dropout is not None else None
    flags: list[str | None] = []
    counts = np.empty(n_times, dtype=np.intp)
    for first in range(0, n_times, some):
        here = slice(first, first + some)
        found = _estimate_together(design.at_times(here), link, variance)
        assert found.psi is not None
        beta[here], counts[here] = found.beta, found.n_available
        if psi is not None:
            se[here], psi[here] = found.se, found.psi
        else:
            se[here] = standard_errors(design.gather_psi(found.psi))
        flags += found.flags
    return Estimate(beta, se, psi, flags, counts)


def _estimate_together(design: ProcessDesign, link: str, variance: str) -> Estimate:
    """Fit some time points, all at once."""
    x, y, w, offset = design.x, design.y, design.w, design.offset
    n_times, p, n = x.shape
    counts = (w > 0).sum(axis=1)
    q, z, rank = whiten(x, w)
    flags = [_design_flag(design, t, int(counts[t]), int(rank[t])) for t in range(n_times)]
    beta, psi = np.full((n_times, p), np.nan), np.full((n_times, p, n), np.nan)
    se = np.full((n_times, p), np.nan)
    good = np.flatnonzero([reason is None for reason in flags])
    if len(good) < n_times:
        q, z, y, w = q[good], z[good], y[good], w[good]
        offset = None if offset is None else offset[good]
    if len(good) == 0:
        return Estimate(beta, se, psi, flags, counts)

    theta, reasons = _solve(design, good, q, y, w, offset, link, variance)
    with np.errstate(all="ignore"):
        eta = with_offset((theta[:, None, :] @ q)[:, 0, :], offset)
        weight, score = working_quantities(link, variance, eta, y, w)
        bread = _inverse(information(q, weight))
        psi_good = (z @ bread * n) @ (q * score[:, None, :])
        beta_good = (z @ theta[:, :, None])[:, :, 0]
        se_good = standard_errors(psi_good)
        naive = np.sqrt(np.einsum("tkj,tjl,tkl->tk", z, bread, z))
    for j, t in enumerate(good):
        flags[t] = reasons[j] or _variance_flag(design, int(t), se_good[j], naive[j], variance)
    kept = np.array([flags[t] is None for t in good])
    if kept.all() and len(good) == n_times:
        return Estimate(beta_good, se_good, psi_good, flags, counts)
    beta[good[kept]], se[good[kept]], psi[good[kept]] = beta_good[kept], se_good[kept], psi_good[kept]
    return Estimate(beta, se, psi, flags, counts)


@dataclass(frozen=True)
class ScoreParts:
    """What the influence functions of the sound times are made of: ``psi = pull * score``.

    Attributes
    ----------
    q : array of shape (times, covariates, subjects)
        The design in orthonormal coordinates.
    back : the same shape
        Inverse information times `q`: scores to changes of the estimate in these coordinates.
    pull : the same shape
        Scores to influence functions of the covariates.
    weight, score : arrays of shape (times, subjects)
    leverage : of the independent units
    """

    q: Array
    back: Array
    pull: Array
    weight: Array
    score: Array
    leverage: Leverage

    def enlarged(self, power: float) -> Array:
        """Scores over ``(1 - leverage) ** power``: 1 is leave-one-unit-out (HC3), 1/2 is HC2."""
        return self.leverage.scores(self.score, power)


def score_parts(design: ProcessDesign, beta: Array, link: str, variance: str) -> ScoreParts:
    """Scores, their leverage and what turns them into influence functions, where all times are sound."""
    x = design.x
    q, z, _ = whiten(x, design.w)
    theta = solve_each(z, beta[:, :, None])
    eta = with_offset((theta.swapaxes(1, 2) @ q)[:, 0, :], design.offset)
    weight, score = working_quantities(link, variance, eta, design.y, design.w)
    back = _inverse(information(q, weight)) @ q
    leverage = Leverage(q, back, weight, design)
    return ScoreParts(q, back, z @ back * x.shape[2], weight, score, leverage)


def estimate_under(
    design: ProcessDesign, matrix: Array, value: Array, link: str, variance: str
) -> tuple[NDArray[np.bool_], Array, ScoreParts]:
    """Curves with ``matrix @ beta = value``, and scores and leverages of what is left free.

    `matrix` is (times, rows, covariates), `value` (times, rows). The first answer says which times can be
    estimated so; the others are of these times.
    """
    r, p = matrix.shape[1:]
    base = (np.linalg.pinv(matrix) @ value[:, :, None])[:, :, 0]
    free = np.linalg.svd(matrix)[2][:, r:]
    known = with_offset((base[:, None, :] @ design.x)[:, 0, :], design.offset)
    names = [f"free {k}" for k in range(p - r)]
    part = replace(design, x=free @ design.x, offset=known, names=names, terms={}, factors={}, spec=None)
    if r == p:
        none = np.zeros_like(part.x)
        weight, score = working_quantities(link, variance, known, design.y, design.w)
        parts = ScoreParts(none, none, none, weight, score, Leverage(none, none, weight, design))
        return np.ones(len(base), dtype=bool), base, parts
    found = estimate(part, link, variance)
    there = np.flatnonzero(found.sound)
    beta = base[there] + (found.beta[there, None, :] @ free[there])[:, 0, :]
    return found.sound, beta, score_parts(part.at_times(there), found.beta[there], link, variance)


def with_offset(eta: Array, offset: Array | None) -> Array:
    """Linear predictors with their known part."""
    return eta if offset is None else eta + offset


def _solve(
    design: ProcessDesign,
    good: NDArray[np.intp],
    q: Array,
    y: Array,
    w: Array,
    offset: Array | None,
    link: str,
    variance: str,
) -> tuple[Array, list[str | None]]:
    """IRLS, then the linear programme for the time points that did not settle or settled far out."""
    theta, converged = batched_irls(q, y, w, link, variance, offset=offset)
    reasons: list[str | None] = [None] * len(good)
    for j in np.flatnonzero(~converged | _far_out(theta, q, w, link)):
        reasons[j] = _separation_flag(design, int(good[j]), link)
    slow = np.flatnonzero(~converged & np.array([r is None for r in reasons]))
    if len(slow):
        theta[slow], converged[slow] = batched_irls(
            q[slow],
            y[slow],
            w[slow],
            link,
            variance,
            start=theta[slow],
            offset=None if offset is None else offset[slow],
            max_iter=500,
        )
    lost = ~converged
    if link in BOUNDED_LINKS and variance != "binomial":
        # away from the likelihood the score also vanishes where the mean is flat: no root to trust
        lost |= _far_out(theta, q, w, link)
    if (link, variance) in _LEAKY:
        mu, rest, _ = mean_function(link, with_offset((theta[:, None, :] @ q)[:, 0, :], offset))
        least = variance_function(variance, mu, rest).min(axis=1, initial=np.inf, where=w > 0)
        lost |= ~(least > 1e-8)
    for j in np.flatnonzero(lost):
        reasons[j] = reasons[j] or _no_solution(link, variance)
    return theta, reasons


def _far_out(theta: Array, q: Array, w: Array, link: str) -> NDArray[np.bool_]:
    """Where a linear predictor reaches values at which the mean has all but reached its limit."""
    if link == "identity":
        return np.zeros(len(theta), dtype=bool)
    reach = np.abs(theta[:, None, :] @ q)[:, 0, :].max(axis=1, initial=0.0, where=w > 0)
    return np.asarray(reach > (7.0 if link == "probit" else _EXTREME))


def hardly_shared(raw: Estimate) -> str:
    """A sentence where most times have too few subjects for an estimate, and nothing otherwise."""
    few = int((raw.n_available <= raw.beta.shape[1]).sum())
    if 2 * few <= len(raw.flags):
        return ""
    return (
        f"At {few} of {len(raw.flags)} times too few subjects are there to estimate anything: if subjects "
        "have times of their own, let visits='carry', visits='bin' or visits='local' count those nearby, too."
    )


def _no_solution(link: str, variance: str) -> str:
    return (
        f"no convergence: link {str(link)!r} with variance {str(variance)!r} has no solution here that keeps "
        "the mean inside its range"
    )


def _inverse(a: Array) -> Array:
    return solve_each(a, np.broadcast_to(np.eye(a.shape[1]), a.shape))


def _design_flag(design: ProcessDesign, t: int, count: int, rank: int) -> str | None:
    p = len(design.names)
    if count == 0:
        return "no data: no subject is available at this time"
    if count <= p:
        return f"too few subjects: {count} available for {p} coefficients, at least {p + 1} are needed"
    if rank == p:
        return None
    return f"rank deficiency: {_dependence(design, t)}"


def _dependence(design: ProcessDesign, t: int) -> str:
    """Name the columns that depend on each other at a time."""
    rows = design.w[t] > 0
    x = design.x[t][:, rows]
    for k, name in enumerate(design.names):
        if name != "Intercept" and np.ptp(x[k]) == 0:
            return f"{name!r} is the same for every available subject"
    top = np.abs(x).max(axis=1)
    u, _, _ = np.linalg.svd(x / np.where(top > 0, top, 1.0)[:, None], full_matrices=False)
    part = np.abs(u[:, -1])
    names = [design.names[k] for k in np.flatnonzero(part > 1e-6 * part.max())]
    return f"the columns {', '.join(names)} are linearly dependent"


def _separation_flag(design: ProcessDesign, t: int, link: str) -> str | None:
    if link not in (*BOUNDED_LINKS, "log"):
        return None
    rows = design.w[t] > 0
    x, y = design.x[t][:, rows].T, design.y[t][rows]
    direction = separating_direction(x, y, upper=link in BOUNDED_LINKS)
    if direction is None:
        return None
    return separation_sentence(x, y, direction, design.names, repr(design.response), "available subject")


def _variance_flag(design: ProcessDesign, t: int, se: Array, naive: Array, variance: str) -> str | None:
    """A standard error of zero is a sign of no residual variation, not of perfect knowledge."""
    if not (np.isfinite(se).all() and np.isfinite(naive).all()):
        return "no standard error: the information matrix is singular at the estimate"
    live = design.y[t][design.w[t] > 0]
    size = np.abs(live).max() if variance == "gaussian" else 1.0
    weight = np.sqrt(design.w[t].max())
    empty = np.flatnonzero(~(se > 1e-11 * size * weight * naive))
    if len(empty) == 0:
        return None
    names = ", ".join(design.names[k] for k in empty)
    return f"no residual variation: {design.response!r} is fitted exactly, the standard error of {names} is 0"
