"""Support vector machines by an interior-point method: a few dozen factorisations, however hard the
problem.
"""

import numpy as np
from scipy.linalg import lapack

__all__ = ["interior_point_solution", "low_rank_root"]


def low_rank_root(gram, most=0.25):
    """A matrix ``R`` (n, r) with ``R R' = gram`` to rounding, or None where r passes ``most`` of the rows.

    Of a linear kernel r is the number of columns. O(n r^2) by pivots, O(n^3 / 3) at worst.
    """
    size = float(np.max(np.diagonal(gram), initial=0.0))
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=1e-12 * size, lower=1)
    if rank > most * len(gram) or size <= 0.0:
        return None
    root = np.empty((len(gram), rank))
    root[pivots - 1] = np.tril(factor[:, :rank])
    return root


def interior_point_solution(
    gram, y, cost, tube, fit_intercept, root=None, limit=np.inf, max_steps=60, tolerance=1e-8
):
    """Coefficients and intercept of a support vector machine.

    Solves ``min_b b'Kb / 2 - y'b (+ tube |b|_1)`` over the dual box (and ``sum b = 0`` with an intercept) by
    Mehrotra's predictor and corrector. A step costs O(n^3 / 3), with a root of r columns O(n r^2 + n^2).

    Parameters
    ----------
    gram : (n, n) array
    y : (n,) array
        Labels -1 / 1 (``tube`` None) or real values.
    cost : (n,) array
        Bound of each coefficient's absolute value.
    tube : float or None
        Half-width of the regression tube; None for the hinge loss.
    fit_intercept : bool
    root : (n, r) array, optional
        As `low_rank_root` gives it.
    limit : float
        The solution is of no interest once the maximum of the dual is known to lie above it.

    Returns
    -------
    (coefficients, intercept) or None
        None where the limit was passed.
    """
    signs = y[:, None] if tube is None else np.array([[1.0, -1.0]]).repeat(len(y), axis=0)
    linear = -np.ones((len(y), 1)) if tube is None else np.column_stack([tube - y, tube + y])
    scale = max(1.0, float(np.abs(linear).max()))
    # x and room fill the box together; low and high are the multipliers of their signs.
    x = 0.5 * np.broadcast_to(cost[:, None], signs.shape)
    push = linear + signs * (gram @ (signs * x).sum(axis=1))[:, None]
    room, low, high, shift = x.copy(), np.maximum(push, 0.0) + scale, np.maximum(-push, 0.0) + scale, 0.0
    best = (np.inf, np.zeros(len(y)), 0.0)
    for _ in range(max_steps):
        beta = (signs * x).sum(axis=1)
        image = gram @ beta
        slope = linear + signs * (image + shift)[:, None] - low + high
        balance = beta.sum() if fit_intercept else 0.0
        gap = float(np.sum(x * low) + np.sum(room * high))
        size = abs(float(np.sum(linear * x))) + 1e-300
        error = max(gap / size, np.abs(slope).max() / scale, abs(balance) / cost.sum())
        if error < best[0]:
            best = (error, beta, shift)
        if abs(balance) <= 1e-13 * cost.sum() and -0.5 * beta @ image - np.sum(linear * x) > limit:
            return None
        # Rounding sets a floor; once past it the iterates only get worse.
        if best[0] <= tolerance or not error <= 1e3 * best[0]:
            break
        barrier = low / x + high / room
        weight = 1.0 / np.sum(1.0 / barrier, axis=1)
        solve = _from_factors(gram, weight) if root is None else _from_root(root, weight)
        if solve is None:
            break
        ones = solve(np.ones(len(y))) if fit_intercept else None
        system = (gram, signs, x, room, low, high, slope, barrier, weight, solve, balance, ones)
        dx, dlow, dhigh, turn = _direction(*system, 0.0, 0.0)
        reach = min(1.0, _longest(x, room, low, high, dx, dlow, dhigh))
        after = np.sum((x + reach * dx) * (low + reach * dlow)) + np.sum(
            (room - reach * dx) * (high + reach * dhigh)
        )
        centre = max(float(after) / gap, 0.0) ** 3 * gap / (2.0 * x.size)
        dx, dlow, dhigh, turn = _direction(*system, centre - dx * dlow, centre + dx * dhigh)
        reach = min(1.0, 0.995 * _longest(x, room, low, high, dx, dlow, dhigh))
        if not reach >= 0.1:
            # The second-order guess led astray: step towards the middle instead.
            dx, dlow, dhigh, turn = _direction(
                *system, 0.3 * gap / (2.0 * x.size), 0.3 * gap / (2.0 * x.size)
            )
            reach = min(1.0, 0.995 * _longest(x, room, low, high, dx, dlow, dhigh))
        if not np.isfinite(reach) or reach < 1e-8:
            break
        x, room = x + reach * dx, room - reach * dx
        low, high, shift = low + reach * dlow, high + reach * dhigh, shift + reach * turn
    return best[1], float(best[2])


def _from_factors(gram, weight):
    """Solves ``(gram + diag(weight)) u = v``; None where that is not positive definite."""
    matrix = gram.copy(order="F")
    matrix[np.diag_indices_from(matrix)] += weight
    lower, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    return None if info else lambda v: lapack.dpotrs(lower, v, lower=1)[0]


def _from_root(root, weight):
    """The same from a matrix of r by r (Woodbury), refined once for the digits that small weights cost."""
    scaled = root / weight[:, None]
    inner = root.T @ scaled
    inner[np.diag_indices_from(inner)] += 1.0
    lower, info = lapack.dpotrf(inner, lower=1, overwrite_a=1, clean=0)

    def once(v):
        return v / weight - scaled @ lapack.dpotrs(lower, scaled.T @ v, lower=1)[0]

    def twice(v):
        u = once(v)
        return u + once(v - root @ (root.T @ u) - weight * u)

    return None if info else twice


def _direction(gram, signs, x, room, low, high, slope, barrier, weight, solve, balance, ones, first, second):
    """Newton step towards complementarity products ``first`` (x, low) and ``second`` (room, high)."""
    side = -slope + first / x - low - second / room + high
    reduced = weight * np.sum(signs * side / barrier, axis=1)
    step = solve(reduced)
    turn = 0.0
    if ones is not None:
        turn = (step.sum() + balance) / ones.sum()
        step = step - turn * ones
    dx = (side - signs * (gram @ step + turn)[:, None]) / barrier
    return dx, first / x - low - low / x * dx, second / room - high + high / room * dx, turn


def _longest(x, room, low, high, dx, dlow, dhigh):
    """Longest step that keeps everything positive."""
    longest = 2.0
    for value, change in ((x, dx), (room, -dx), (low, dlow), (high, dhigh)):
        shrinking = change < 0
        if shrinking.any():
            longest = min(longest, float(np.min(-value[shrinking] / change[shrinking])))
    return longest
