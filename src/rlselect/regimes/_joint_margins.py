r"""Several machines whose margins count together: a subject is well treated if all its stages agree.

.. math:: \min_{f_1, ..., f_T} \tfrac12 \sum_t |f_t|^2
          + \sum_i c_i \max\{0, \max_t (1 - y_{it} f_t(h_{it}))\}

With one machine this is a support vector machine. Its dual has one number per subject and machine, which are
not negative and add up to :math:`c_i` at most; projections on that are cheap, and accelerated steps find the
maximum.
"""

from collections.abc import Sequence

import numpy as np

__all__ = ["joint_margins", "primal_objective"]

# most steps, and steps between looks at the gap
_STEPS, _LOOK = 20_000, 25


def joint_margins(
    grams: Sequence[np.ndarray], signs: np.ndarray, costs: np.ndarray, gap: float = 1e-6
) -> np.ndarray:
    """Coefficients of the machines: (T, n), where ``f_t = K_t @ coefficients[t]``.

    Parameters
    ----------
    grams : sequence of (n, n) arrays
        Kernel matrices; an intercept is a constant that was added to them.
    signs : (T, n) array
        -1 and 1, and 0 where a subject has no part in a machine.
    costs : (n,) array
        Not negative.
    gap : float
        Share of the objective by which it may lie above the smallest.
    """
    step = 1.0 / max(float(np.linalg.eigvalsh(gram)[-1]) for gram in grams)
    here = ahead = np.zeros(signs.shape)
    momentum = 1.0
    for k in range(_STEPS):
        slope = (1.0 - signs * _functions(grams, signs * ahead)) * (signs != 0)
        there = _project(ahead + step * slope, costs)
        if np.sum((ahead - there) * (there - here)) > 0.0:
            momentum = 1.0  # gone too far: begin anew from here
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = there + (momentum - 1.0) / faster * (there - here)
        here, momentum = there, faster
        if k % _LOOK == _LOOK - 1:
            found = signs * here
            least = primal_objective(grams, signs, costs, found)
            if least - (here.sum() - 0.5 * np.sum(found * _functions(grams, found))) <= gap * least:
                break
    return signs * here


def _functions(grams: Sequence[np.ndarray], coefficients: np.ndarray) -> np.ndarray:
    return np.array([gram @ mine for gram, mine in zip(grams, coefficients, strict=True)])


def primal_objective(
    grams: Sequence[np.ndarray], signs: np.ndarray, costs: np.ndarray, coefficients: np.ndarray
) -> float:
    """What is minimised, for some coefficients."""
    functions = _functions(grams, coefficients)
    losses = np.where(signs == 0, 0.0, 1.0 - signs * functions).max(axis=0)
    return 0.5 * float(np.sum(coefficients * functions)) + float(costs @ np.maximum(losses, 0.0))


def _project(points: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Nearest points (T, n) that are not negative and add up to the costs of their column at most."""
    clipped = np.maximum(points, 0.0)
    over = clipped.sum(axis=0) > costs
    if over.any():
        mine, most = points[:, over], costs[over]
        ordered = -np.sort(-mine, axis=0)
        excess = (np.cumsum(ordered, axis=0) - most) / np.arange(1, len(points) + 1)[:, None]
        last = (ordered > excess).sum(axis=0) - 1
        clipped[:, over] = np.maximum(mine - excess[last, np.arange(len(most))], 0.0)
    return clipped
