"""Does a finite estimate exist? A linear programme decides; how a fit ended only raises the question.

Users: the refit of selected columns (`subset.revs`) and the fits of single times (`temporal`).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from rlselect.kernels._glm import RANK_TOLERANCE

Array = NDArray[np.float64]

# Newton's step moves a linear predictor without a maximum by about one, and others by next to nothing
_DRIFT = 0.5
# rows that enter the linear programme in one round, and how far a row may be on the wrong side
_ROUND, _ASIDE = 2000, 1e-7
# share of the length of a direction, squared, that rows amid the range may have and stand still
_STILL = 1e-12


def separation_signs(family: str, y: Array, eta: Array, moved: Array, w: Array) -> tuple[float, float]:
    """What the end of a fit with a canonical link shows of separated rows, over the rows that count.

    Parameters
    ----------
    family : {"binomial", "poisson"}
    y, eta, moved, w : arrays of shape (n,)
        Response, linear predictor, its change by the step that comes next, and weight.

    Returns
    -------
    drift, margin : float
        The largest change, and how far the least certain row is on the side of its class (minus infinity for
        counts). Those of several blocks are the largest drift and the smallest margin.
    """
    live = w > 0
    drift = float(np.abs(moved[live]).max(initial=0.0))
    if family != "binomial":
        return drift, -np.inf
    return drift, float(np.where(y > 0.5, eta, -eta)[live].min(initial=np.inf))


def looks_separated(drift: float, margin: float) -> bool:
    """Whether to ask `separating_direction`: the likelihood stands still while rows move on, or all fit."""
    return not drift <= _DRIFT or margin > 0.0


def separating_direction(x: Array, y: Array, *, upper: bool) -> Array | None:
    """Direction of coefficients along which the likelihood never falls, or None.

    Solves ``max sum_i s_i x_i'b`` subject to ``s_i x_i'b >= 0`` where the response lies on the edge of its
    range (``s = 1`` at the upper edge, ``-1`` at the lower) and ``x_i'b = 0`` elsewhere. In orthonormal
    coordinates with ``|b|_inf <= 1`` the optimum is 0 when the estimate is finite and at least ``sqrt(n)``
    when it is not, so no tolerance has to be guessed.

    Parameters
    ----------
    x : array of shape (rows, coefficients)
    y : array of shape (rows,)
    upper : bool
        Whether 1 is an edge that the mean reaches only at infinity (logit, probit, cloglog), beside 0.

    Returns
    -------
    array of shape (coefficients,) or None
        The shortest one where columns depend on each other.

    Notes
    -----
    Cost: O(rows coefficients^2), and linear programmes over the few rows that matter.
    """
    n = len(x)
    top = np.abs(x).max(axis=0)
    scale = np.where(top > 0, top, 1.0)
    u, s, vt = np.linalg.svd(x / scale, full_matrices=False)
    rank = int((s > RANK_TOLERANCE * s[0]).sum())
    q, back = u[:, :rank] * np.sqrt(n), vt[:rank].T / s[:rank] * np.sqrt(n)
    sign = np.where(y <= 0, -1.0, np.where(upper & (y >= 1), 1.0, 0.0))
    edge = sign != 0
    # rows amid the range must not move: what is left are the directions that leave them alone
    if not edge.all():
        values, vectors = np.linalg.eigh(q[~edge].T @ q[~edge])
        free = vectors[:, values <= _STILL * n]
        q, back = q @ free, back @ free
    found = _never_against(q[edge] * sign[edge, None]) if q.shape[1] and edge.any() else None
    if found is None or found[1] < 0.5 * np.sqrt(n):
        return None
    return back @ found[0] / scale


def _never_against(signed: Array) -> tuple[Array, float] | None:
    """Direction in the unit cube with the largest sum of moves and none below zero; that sum.

    Rows that a solution breaks join the programme, and those that none breaks never do.
    """
    total = signed.sum(axis=0)
    inside = np.zeros(len(signed), dtype=bool)
    inside[:: max(1, len(signed) // _ROUND)] = True
    while True:
        rows = signed[inside]
        found = linprog(-total, A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0), method="highs")
        if found.x is None:
            return None
        moves = signed @ found.x
        broken = np.flatnonzero((moves < -_ASIDE) & ~inside)
        if not len(broken):
            return found.x, -float(found.fun)
        inside[broken[np.argsort(moves[broken], kind="stable")[:_ROUND]]] = True


def separation_sentence(
    x: Array, y: Array, direction: Array, names: Sequence[str] | None, response: str, row: str
) -> str:
    """The one message about separation: what predicts how many of the rows perfectly.

    Parameters
    ----------
    x, y, direction : arrays
        As in `separating_direction`.
    names : sequence of str, optional
        Of the coefficients.
    response, row : str
        What is predicted, and what a row is called.
    """
    if np.ptp(y) == 0:
        return f"separation: {response} is {y[0]:g} for every {row}"
    who = "the selected variables"
    if names is not None:
        spread = np.abs(direction) * np.abs(x).max(axis=0)
        who = ", ".join(name for name, part in zip(names, spread, strict=True) if part > 1e-6 * spread.max())
    moves = np.abs(x @ direction)
    moved = np.count_nonzero(moves > 1e-6 * moves.max())
    return f"separation: a combination of {who} predicts {response} perfectly for {moved} of {len(x)} {row}s"
