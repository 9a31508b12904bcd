r"""A subset's model under many priors of its coefficients at once, from one parabola of the likelihood.

Where the data say more than the priors do, the modes lie next to each other, and the log likelihood is a
parabola in between. A hole at zero, :math:`|\beta|^{2r}`, moves them further: each column's part of it is
taken as a parabola, too, at the mode that all parts have together, and what one column's part is worth beside
those of the others is then computed without that approximation.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import invert_positive, log_hole_factor
from rlselect.subset.revs.evidence._outcome_mode import OutcomeMode

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_STEPS = 30
# of the log posterior
_DECREMENT = 1e-3
# of what is known of a direction, see `_across`
_LEFT = 0.2
# of all curvatures across, and what they have to leave of what is known of a column, see `_sound_share`
_SHARES = (1.0, 0.5, 0.25, 0.125)
_LEFT_BY_ALL = 0.75


class Parabola(NamedTuple):
    """A log likelihood near some parameters: these (K,), its value, gradient, curvature, and log volume."""

    coef: Floats
    value: float
    gradient: Floats
    curvature: Floats
    volume: float

    def at(self, coef: Floats) -> Floats:
        """Its value at other parameters (..., K)."""
        step = coef - self.coef
        return np.asarray(self.value + step @ self.gradient - 0.5 * np.vecdot(step @ self.curvature, step))


def parabola_at(mode: OutcomeMode, columns: Floats, prior: Floats) -> Parabola:
    """The likelihood at a mode of columns (k, n) under a prior of these precisions (K,)."""
    point = mode.point
    return Parabola(mode.coef, point.value, prior * mode.coef, point.hessian(columns), point.volume)


class Models(NamedTuple):
    """Models under t priors.

    Attributes
    ----------
    coef, inverse : array of shape (t, K), (t, K, K)
        Modes and inverse Hessians.
    evidence : array of shape (t,)
        Log evidences.
    means, blocks : array of shape (t, k, q), (t, k, q, q)
        Means and covariances of the coefficients of each column without its own hole.
    """

    coef: Floats
    inverse: Floats
    evidence: Floats
    means: Floats
    blocks: Floats

    def part(self, which: NDArray) -> "Models":
        """Under some of the priors."""
        return Models(*(part[which] for part in self))


class Holes(NamedTuple):
    """Holes at zero: their orders r (t,), the columns that have them, and f and q of the likelihood."""

    orders: Ints
    columns: Ints
    n_own: int
    n_predictors: int


def under_priors(near: Parabola, precisions: Floats, holes: Holes) -> Models:
    """Models under t normal priors, each times a hole at zero, or an order of zero for none.

    Parameters
    ----------
    near : Parabola
        The likelihood.
    precisions : array of shape (t, K)
        Of all parameters, own ones first.
    holes : Holes
        The holes.
    """
    f, q, which = holes.n_own, holes.n_predictors, holes.columns
    t, size = precisions.shape
    k = (size - f) // q
    hessian = near.curvature + precisions[:, :, None] * np.eye(size)
    pulled = near.gradient + near.curvature @ near.coef
    coef = _solved(hessian, np.broadcast_to(pulled, (t, size)))
    site, holed = np.zeros((t, k, q, q)), np.flatnonzero(holes.orders * bool(len(which)))
    if len(holed):
        orders = holes.orders[holed].astype(np.float64)
        # holes keep columns on their sides of zero: those of the fit, since a narrow prior shares an effect
        # among columns that are alike
        start = np.broadcast_to(near.coef, (len(holed), size))
        coef[holed] = _moved(hessian[holed], pulled, start, orders, holes)
        beta = coef[holed][:, f:].reshape(-1, k, q)[:, which]
        site[np.ix_(holed, which)] = _along(beta, orders)
        hessian = hessian + _spread(site, f)
    inverse, logdet = _inverted(hessian)
    blocks, means = _by_column(inverse, f, q), coef[:, f:].reshape(t, k, q).copy()
    if len(holed) and q > 1:
        across = np.zeros((t, k, q, q))
        across[np.ix_(holed, which)] = _across(beta, orders, blocks[np.ix_(holed, which)])
        known = np.asarray(np.linalg.inv(blocks) - site, dtype=np.float64)
        across *= _sound_share(hessian, site, across, known, f)[:, None, None, None]
        site += across
        round_about, logdet = _inverted(hessian + _spread(across, f))
        blocks = _by_column(round_about, f, q)
    value = near.at(coef)
    logdet = logdet - np.log(precisions[:, f:]).sum(axis=1)
    value -= 0.5 * ((precisions * coef**2).sum(axis=1) + logdet + near.volume)
    for order in np.unique(holes.orders[holed]):
        rows = np.flatnonzero(holes.orders == order)
        there = np.ix_(rows, which)
        variance = 1.0 / precisions[rows][:, f::q][:, which]
        added, means[there], blocks[there] = _without_own(
            coef[rows][:, f:].reshape(-1, k, q)[:, which], blocks[there], site[there], variance, int(order)
        )
        value[rows] += added.sum(axis=1)
    return Models(coef, inverse, value, means, blocks)


def _solved(matrices: Floats, right: Floats) -> Floats:
    """Solutions for positive matrices (t, K, K) and one right side (t, K) each."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.array([invert_positive(m)[0] @ r for m, r in zip(matrices, right, strict=True)])


def _inverted(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverses and log determinants of positive matrices (t, K, K)."""
    try:
        lower = np.linalg.cholesky(matrices)
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        if np.all(diagonal**2 > 1e-12 * np.diagonal(matrices, axis1=1, axis2=2)):
            return np.asarray(np.linalg.inv(matrices)), 2.0 * np.log(diagonal).sum(axis=1)
    except np.linalg.LinAlgError:
        pass
    found = [invert_positive(matrix) for matrix in matrices]
    inverse = np.array([matrix for matrix, _ in found]).reshape(matrices.shape)
    return inverse, np.array([logdet for _, logdet in found])


def _by_column(inverse: Floats, f: int, q: int) -> Floats:
    """Blocks (t, k, q, q) of the columns."""
    t, k = len(inverse), (inverse.shape[1] - f) // q
    return np.einsum("tiaib->tiab", inverse[:, f:, f:].reshape(t, k, q, k, q)).copy()


def _spread(site: Floats, f: int) -> Floats:
    """Blocks (t, k, q, q) of the columns as whole matrices."""
    t, k, q, _ = site.shape
    out = np.zeros((t, f + k * q, f + k * q))
    places = f + q * np.arange(k)
    for a in range(q):
        for b in range(q):
            out[:, places + a, places + b] = site[:, :, a, b]
    return out


def _along(beta: Floats, orders: Floats) -> Floats:
    """Curvature of minus the log of a hole in the length of coefficients (t, k, q)."""
    square = (beta * beta).sum(axis=-1)[..., None, None]
    outer = beta[..., :, None] * beta[..., None, :]
    return np.asarray(2.0 * orders[:, None, None, None] * outer / square**2)


def _across(beta: Floats, orders: Floats, blocks: Floats) -> Floats:
    """Curvature across the length, which is negative.

    Weak effects may point anywhere, and no parabola says so: as much of it is taken as leaves a share of what
    else is known of the direction, by the covariances (t, k, q, q) without it.
    """
    square = (beta * beta).sum(axis=-1)[..., None, None]
    flat = np.eye(beta.shape[-1]) - beta[..., :, None] * beta[..., None, :] / square
    bend = 2.0 * orders[:, None, None, None] / square
    known = bend[..., 0, 0] * np.einsum("...ab,...ba->...", flat, blocks)
    share = np.minimum(1.0, (1.0 - _LEFT) / np.maximum(known, 1e-300))
    return np.asarray(-share[..., None, None] * bend * flat)


def _sound_share(hessian: Floats, site: Floats, across: Floats, known: Floats, f: int) -> Floats:
    """How much (t,) of the curvatures across may be taken together: all, a half, and so on, or nothing.

    Near separation columns know so much of each other that all of it is too much. A share of what is known of
    a column without its own hole, which is `known` (t, k, q, q) where nothing is taken, has to be left.
    """
    shares, q, left = np.zeros(len(hessian)), site.shape[2], np.arange(len(hessian))
    for share in _SHARES:
        whole = hessian[left] + _spread(share * across[left], f)
        sound = np.linalg.eigvalsh(whole)[:, 0] > 0
        blocks = _by_column(np.asarray(np.linalg.inv(whole[sound])), f, q)
        some = left[sound]
        apart = np.linalg.inv(blocks) - site[some] - share * across[some] - _LEFT_BY_ALL * known[some]
        sound[sound] = (np.linalg.eigvalsh(apart)[..., 0] > 0).all(axis=1)
        shares[left[sound]] = share
        left = left[~sound]
    return shares


def _moved(hessian: Floats, pulled: Floats, start: Floats, orders: Floats, holes: Holes) -> Floats:
    """Modes beside holes, by Newton steps.

    In the length of a column's coefficients minus the log of a hole is convex and self-concordant: steps that
    are damped by their own length never cross zero. Across it, it is concave, and left out of the Hessian.
    """
    f, q, which = holes.n_own, holes.n_predictors, holes.columns
    t, size = start.shape
    k = (size - f) // q
    coef = _pushed(hessian, start, orders, holes)
    site, push = np.zeros((t, k, q, q)), np.zeros((t, k, q))
    for _ in range(_STEPS):
        beta = coef[:, f:].reshape(t, k, q)[:, which]
        site[:, which] = _along(beta, orders)
        push[:, which] = 2.0 * orders[:, None, None] * beta / (beta * beta).sum(axis=2, keepdims=True)
        gradient = pulled - (hessian @ coef[:, :, None])[:, :, 0]
        gradient[:, f:] += push.reshape(t, k * q)
        step = _solved(hessian + _spread(site, f), gradient)
        decrement = np.maximum(np.vecdot(step, gradient), 0.0)
        coef = coef + step / (1.0 + np.sqrt(decrement / (2.0 * orders)))[:, None]
        if decrement.max() < _DECREMENT:
            break
    return coef


def _pushed(hessian: Floats, start: Floats, orders: Floats, holes: Holes) -> Floats:
    """Modes where a hole would push each column if it were alone."""
    f, q, which = holes.n_own, holes.n_predictors, holes.columns
    t, k = len(start), (start.shape[1] - f) // q
    coef = start.copy()
    beta = coef[:, f:].reshape(t, k, q)
    bend = np.einsum("tii->ti", hessian)[:, f:].reshape(t, k, q).mean(axis=2)[:, which]
    length = np.linalg.norm(beta[:, which], axis=2)
    away = np.where(length[:, :, None] > 0, beta[:, which] / np.maximum(length, 1e-300)[:, :, None], 1.0)
    pushed = 0.5 * (length + np.sqrt(length**2 + 8.0 * orders[:, None] / bend))
    beta[:, which] = away * pushed[:, :, None]
    coef[:, f:] = beta.reshape(t, k * q)
    return coef


def _without_own(
    beta: Floats, blocks: Floats, site: Floats, variance: Floats, order: int
) -> tuple[Floats, Floats, Floats]:
    """What the hole of each column adds to the log evidence, and means and covariances without it."""
    precision = np.linalg.inv(blocks)
    left = precision - site
    cover = np.asarray(np.linalg.inv(left))
    pushed = 2.0 * order * beta / (beta * beta).sum(axis=-1, keepdims=True)
    away = np.einsum("...ab,...b->...a", cover, pushed)
    # the parabola of the hole, which is in the determinant already, makes room for the hole itself
    parabola = -0.5 * (away * pushed).sum(axis=-1)
    parabola += 0.5 * (np.linalg.slogdet(left)[1] - np.linalg.slogdet(precision)[1])
    mean = beta - away
    added = log_hole_factor(mean, cover, variance, order) - parabola
    # where the others push a column across zero, they would do so one by one, and not all at once: it stays
    # on its side, where the parabola is right
    stays = (mean * beta).sum(axis=-1) <= 0
    here = log_hole_factor(beta, np.zeros_like(cover), variance, order)
    return np.where(stays, here, added), mean, cover
