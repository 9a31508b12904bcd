"""Support vector solutions to machine precision from a guess of which rows are free and which are at their
bound.
"""

import numpy as np
from scipy.linalg import lapack

__all__ = ["active_set_solution"]


def active_set_solution(gram, y, cost, tube, start, fit_intercept, max_rounds=30):
    """Solve a support vector machine's optimality system, moving rows between sets until it holds.

    Parameters
    ----------
    gram : (n, n) array
    y : (n,) array
        Labels -1 / 1 (``tube`` None) or real values.
    cost : (n,) array
        Bound of each coefficient's absolute value.
    tube : float or None
        Half-width of the tube for regression; None for the hinge loss.
    start : (n,) array
        Coefficients of a nearby problem, or of a rough solution.
    fit_intercept : bool

    Returns
    -------
    (coefficients, intercept) or None
        None when the rounds run out: the caller then asks a general solver. An answer satisfies every
        condition of optimality to 1e-9, so it does not depend on ``start``.
    """
    lower, upper = (np.minimum(0.0, y * cost), np.maximum(0.0, y * cost)) if tube is None else (-cost, cost)
    beta = np.clip(start, lower, upper)
    edge = 1e-8 * cost
    free = (beta > lower + edge) & (beta < upper - edge) & (np.abs(beta) > edge)
    sign = np.where(beta >= 0, 1.0, -1.0) if tube is not None else y
    beta = np.where(free, beta, np.where(np.abs(beta) <= edge, 0.0, np.where(beta > 0, upper, lower)))
    goal = y - (0.0 if tube is None else tube * sign)
    scale = 1e-9 * max(1.0, float(np.abs(y).max()))
    intercept = 0.0
    for _ in range(max_rounds):
        rows = np.flatnonzero(free)
        if fit_intercept and not len(rows):
            return None
        solved = _solve_free(gram, beta, goal, rows, fit_intercept)
        if solved is None:
            return None
        beta[rows], intercept = solved
        decision = gram @ beta + intercept
        beta, free, sign, moved = _move(beta, free, sign, decision, y, cost, lower, upper, tube, scale)
        if not moved:
            exact = np.abs(decision[free] - goal[free]).max(initial=0.0) <= 100.0 * scale
            return (beta, float(intercept)) if exact else None
        goal = y - (0.0 if tube is None else tube * sign)
    return None


def _solve_free(gram, beta, goal, rows, fit_intercept):
    """Coefficients of the free rows that put them exactly on their margin, the others held."""
    held = beta.copy()
    held[rows] = 0.0
    side = goal[rows] - gram[rows] @ held
    if not len(rows):
        return np.empty(0), 0.0
    block = np.array(gram[np.ix_(rows, rows)], order="F")
    # A trace of ridge keeps repeated rows solvable; one refinement step takes its effect out again.
    block[np.diag_indices_from(block)] += 1e-11 * max(float(np.trace(block)) / len(rows), 1e-300)
    factor, info = lapack.dpotrf(block, lower=1, overwrite_a=1)
    if info != 0:
        return None
    ones = np.ones(len(rows))
    flat = lapack.dpotrs(factor, ones, lower=1)[0]
    if not flat.sum() > 0.0:
        # Rows at the origin of the kernel's space fix no intercept.
        return None
    total, shift = -held.sum(), 0.0
    own = np.zeros(len(rows))
    true = gram[np.ix_(rows, rows)]
    for _ in range(3):
        part = lapack.dpotrs(factor, side - true @ own - shift, lower=1)[0]
        step = (part.sum() - (total - own.sum())) / flat.sum() if fit_intercept else 0.0
        own, shift = own + part - step * flat, shift + step
    return own, shift


def _move(beta, free, sign, decision, y, cost, lower, upper, tube, scale):
    """Send rows that break a condition to the set where it can hold."""
    beta, new_free, new_sign = beta.copy(), free.copy(), sign.copy()
    slack = 1e-9 * cost
    if tube is None:
        lowest, highest = lower, upper
        gap = 1.0 - y * decision
        wants_in, wants_out = gap > scale, gap < -scale
    else:
        lowest, highest = np.where(sign > 0, 0.0, lower), np.where(sign > 0, upper, 0.0)
        residual = y - decision
        zero = ~free & (beta == 0.0)
        wants_in = np.where(zero, np.abs(residual) > tube + scale, sign * residual > tube + scale)
        wants_out = np.where(zero, False, sign * residual < tube - scale)
        new_sign = np.where(zero & wants_in, np.sign(residual), new_sign)
    at_zero = ~free & (beta == 0.0)
    at_bound = ~free & (beta != 0.0)
    below, above = free & (beta < lowest - slack), free & (beta > highest + slack)
    beta[below], beta[above] = lowest[below], highest[above]
    new_free[below | above] = False
    entering = (at_zero & wants_in) | (at_bound & wants_out)
    new_free[entering] = True
    moved = bool(below.any() or above.any() or entering.any())
    return beta, new_free, new_sign, moved
