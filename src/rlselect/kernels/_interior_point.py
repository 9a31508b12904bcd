"""Support vector machines by an interior-point method: a few dozen factorisations, however hard the
problem.
"""

import numpy as np
from scipy.linalg import lapack

__all__ = ["interior_point_solution"]


def interior_point_solution(gram, y, cost, tube, fit_intercept, max_steps=60, tolerance=1e-8):
    """Coefficients and intercept of a support vector machine.

    Solves ``min_b b'Kb / 2 - y'b (+ tube |b|_1)`` over the dual box (and ``sum b = 0`` with an intercept) by
    Mehrotra's predictor and corrector. A step costs O(n^3 / 3).

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

    Returns
    -------
    (coefficients, intercept)
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
        slope = linear + signs * (gram @ beta + shift)[:, None] - low + high
        balance = beta.sum() if fit_intercept else 0.0
        gap = float(np.sum(x * low) + np.sum(room * high))
        size = abs(float(np.sum(linear * x))) + 1e-300
        error = max(gap / size, np.abs(slope).max() / scale, abs(balance) / cost.sum())
        if error < best[0]:
            best = (error, beta, shift)
        # Rounding sets a floor; once past it the iterates only get worse.
        if best[0] <= tolerance or not error <= 1e3 * best[0]:
            break
        barrier = low / x + high / room
        weight = 1.0 / np.sum(1.0 / barrier, axis=1)
        matrix = gram.copy(order="F")
        matrix[np.diag_indices_from(matrix)] += weight
        lower, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            break
        system = (gram, signs, x, room, low, high, slope, barrier, weight, lower, balance, fit_intercept)
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


def _direction(
    gram, signs, x, room, low, high, slope, barrier, weight, lower, balance, fit_intercept, first, second
):
    """Newton step towards complementarity products ``first`` (x, low) and ``second`` (room, high)."""
    side = -slope + first / x - low - second / room + high
    reduced = weight * np.sum(signs * side / barrier, axis=1)
    step = lapack.dpotrs(lower, reduced, lower=1)[0]
    turn = 0.0
    if fit_intercept:
        ones = lapack.dpotrs(lower, np.ones(len(reduced)), lower=1)[0]
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
