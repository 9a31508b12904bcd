r"""Squared loss on a kernel matrix: the objective, its leave-one-out residuals and an exact search by bounds.

For ``min_f,b  lambda |f|^2 + sum_i w_i (y_i - f(x_i) - b)^2 / W`` put ``M = K + diag(lambda W / w)``. The
solution is ``f = K a`` with ``a = S y``, where ``S`` is the inverse of ``M`` on the vectors that sum to zero
(the plain inverse without an intercept), and the minimum is ``lambda a'y``. Because

.. math:: y' S y = \max_{a:\,1'a = 0}\; 2 a'y - a'Ma,

every vector gives a lower bound for *every other* kernel matrix, which is what the search below lives on.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from rlselect._clock import stop_if_late

__all__ = [
    "FactoredInverse",
    "best_removals",
    "loo_residuals",
    "loo_residuals_path",
    "projected_inverse",
    "squared_objective",
    "squared_solution",
]

# Conjugate-gradient steps before a factorisation is the cheaper way to an exact value.
_MAX_STEPS = 12
# and the share of the value below which a step adds nothing that the comparison of ties would not see
_SETTLED = 1e-11


def _factor(gram, ridge):
    """Lower triangle ``L`` with ``L L' = gram + diag(ridge)``; zeros above it. O(n^3 / 3)."""
    matrix = gram.copy(order="F")
    matrix[np.diag_indices_from(matrix)] += ridge
    factor, info = lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError("the kernel matrix plus its ridge is not positive definite")
    return factor


class FactoredInverse:
    """What :func:`projected_inverse` returns, to be applied (``@``) rather than looked at.

    Costs a quarter of it, and half with the diagonal; applied to hundreds of single vectors it is the slower
    one.
    """

    def __init__(self, gram: np.ndarray, ridge: np.ndarray, fit_intercept: bool) -> None:
        self.factor = _factor(gram, ridge)
        self.ones = lapack.dpotrs(self.factor, np.ones(len(gram)), lower=1)[0] if fit_intercept else None

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        solved = lapack.dpotrs(self.factor, other, lower=1)[0]
        if self.ones is None:
            return solved
        shift = solved.sum(axis=0) / self.ones.sum()
        return solved - (self.ones * shift if other.ndim == 1 else np.outer(self.ones, shift))

    def diagonal(self) -> np.ndarray:
        """The inverse's diagonal."""
        found = np.square(_triangular_inverse(self.factor)).sum(axis=0)
        return found if self.ones is None else found - self.ones**2 / self.ones.sum()


def projected_inverse(gram, ridge, fit_intercept):
    """Inverse of ``gram + diag(ridge)`` restricted to zero-sum vectors when there is an intercept. O(n^3)."""
    factor = _factor(gram, ridge)
    inverse, _ = lapack.dlauum(_triangular_inverse(factor), lower=1, overwrite_c=1)
    diagonal = inverse.diagonal().copy()
    inverse = inverse + inverse.T
    inverse[np.diag_indices_from(inverse)] = diagonal
    if fit_intercept:
        row_sums = inverse.sum(axis=1)
        inverse -= np.outer(row_sums, row_sums / row_sums.sum())
    return inverse


def _triangular_inverse(factor):
    """Inverse of a lower triangle by halves: matrix products are faster than LAPACK's own loop."""
    n = len(factor)
    if n <= 96:
        return lapack.dtrtri(factor, lower=1)[0]
    half = n // 2
    inverse = np.zeros((n, n), order="F")
    first, last = _triangular_inverse(factor[:half, :half]), _triangular_inverse(factor[half:, half:])
    inverse[:half, :half], inverse[half:, half:] = first, last
    inverse[half:, :half] = -(last @ (factor[half:, :half] @ first))
    return inverse


def squared_solution(gram, y, ridge, fit_intercept):
    """Coefficients ``S y`` and the intercept by one factorisation. O(n^3 / 3)."""
    sides = np.column_stack([y, np.ones_like(y)]) if fit_intercept else y[:, None]
    solved, _ = lapack.dpotrs(_factor(gram, ridge), sides, lower=1)
    if not fit_intercept:
        return solved[:, 0], 0.0
    intercept = float(solved[:, 0].sum() / solved[:, 1].sum())
    return solved[:, 0] - intercept * solved[:, 1], intercept


def squared_objective(gram, y, ridge, fit_intercept):
    """``y' S y`` (the objective divided by lambda). O(n^3 / 3)."""
    return float(y @ squared_solution(gram, y, ridge, fit_intercept)[0])


def loo_residuals(coefficients, inverse_diagonal, ridge, copies):
    """Exact residual of each row when one of the ``copies`` that it stands for is left out (at least one).

    Weights that are counts are ``copies``; a row that merely counts more than others is one. With one copy of
    each this is ``a_i / S_ii``.
    """
    leverage = 1.0 - ridge * inverse_diagonal
    share = 1.0 / np.maximum(copies, 1.0)
    return ridge * coefficients / np.maximum(1.0 - share * leverage, 1e-12)


def loo_residuals_path(gram, y, weights, lams, fit_intercept, copies):
    """Leave-one-out residuals for several lambdas, one row each, from one eigendecomposition. O(n^3).

    ``y`` is (n,) or, for several machines, (n, c); the residuals are (lambdas, n) or (lambdas, n, c).
    """
    root = np.sqrt(weights / weights.sum())
    columns = y.reshape(len(y), -1).T
    values, vectors = np.linalg.eigh(gram * root * root[:, None])
    values = np.maximum(values, 0.0)
    rotated = np.vstack([root * columns, root]) @ vectors
    squares = np.square(vectors)
    found = np.empty((len(lams), *y.shape))
    for place, lam in enumerate(lams):
        shrink = 1.0 / (values + lam)
        *solved, ones = root * ((rotated * shrink) @ vectors.T)
        diagonal = root**2 * (squares @ shrink)
        if fit_intercept:
            shifts = [ones @ column / ones.sum() for column in columns]
            solved = [one - ones * shift for one, shift in zip(solved, shifts, strict=True)]
            diagonal = diagonal - ones**2 / ones.sum()
        rows = [loo_residuals(one, diagonal, lam / root**2, copies) for one in solved]
        found[place] = np.transpose(rows).reshape(y.shape)
    return found


def best_removals(
    y: np.ndarray,
    gram: np.ndarray,
    inverse: np.ndarray | FactoredInverse,
    ridge: np.ndarray,
    fit_intercept: bool,
    candidates: list[int],
    without: Callable[[int], np.ndarray],
    shortcut: Callable[..., tuple] | None = None,
    count: int = 1,
    exact: bool = True,
) -> list[tuple[int, float]]:
    """The ``count`` candidates whose removal leaves the smallest ``y' S y``, best first.

    Parameters
    ----------
    y, gram, inverse, ridge, fit_intercept
        The present problem; ``inverse`` is its :func:`projected_inverse`, or the same as factors. Of a ``y``
        with several columns (n, c) the values are added up.
    candidates : list of int
        What may be removed.
    without : callable
        ``without(i)`` is the kernel matrix after removing ``i``.
    shortcut : callable, optional
        ``shortcut(gram, candidates, dtype)`` returns ``(positions, products, build)``: for the candidates at
        ``positions``, ``products(vectors)`` applies all their reduced matrices at once; ``build(i)`` makes
        one reduced matrix of the others. May be asked for single precision: bounds then carry an allowance
        for its rounding.
    count : int
        How many are wanted.
    exact : bool
        False: in the order of their lower bounds, which are returned as values. Much faster, and enough where
        several leave at once and the order of removal is no more than a guess anyway.

    Returns
    -------
    list of (candidate, value)

    Notes
    -----
    A two-dimensional Galerkin step from the present solution bounds every candidate from below at O(n^2)
    each. Candidates are then visited in the order of their bounds and solved by preconditioned conjugate
    gradients, whose iterates are bounds too; the visit ends at the first bound above the ``count``-th best
    value found. Candidates nearer to each other than the solver's accuracy are compared by factorisation,
    equal ones by their number.
    """
    # in a unit of about their size, exactly: in another one, squares and single precision may end
    unit = float(np.ldexp(1.0, int(np.frexp(np.abs(y).max(initial=0.0))[1])))
    targets = list((y / unit).reshape(len(y), -1).T)
    starts = [inverse @ column for column in targets]
    lowest = np.array(
        [
            _galerkin_bounds(column, gram, inverse, ridge, start, candidates, without, shortcut)
            for column, start in zip(targets, starts, strict=True)
        ]
    )
    # where a plane is degenerate, as with targets whose squares are zero, there is no other bound
    lowest = np.maximum(lowest, 0.0)
    bounds = lowest.sum(axis=0)
    if not exact:
        order = np.argsort(bounds, kind="stable")[:count]
        return [(candidates[i], float(bounds[i]) * unit**2) for i in order]
    found: list[tuple[float, int]] = []
    threshold = np.inf
    for position in np.argsort(bounds, kind="stable"):
        if bounds[position] > threshold * (1.0 + 1e-12):
            break
        stop_if_late()
        candidate, limit = candidates[position], threshold * (1.0 + 1e-10)
        matrix, value = without(candidate), float(bounds[position])
        for column, start, low in zip(targets, starts, lowest[:, position], strict=True):
            # a column may take what the bounds of the others leave of the limit
            own = _solve_candidate(
                column, matrix, inverse, ridge, fit_intercept, start, limit - (value - float(low))
            )
            if own is None:
                break
            value += own - float(low)
        else:
            found.append((value, candidate))
            if len(found) >= count:
                threshold = sorted(found)[count - 1][0]

    def from_factors(candidate: int) -> float:
        matrix = without(candidate)
        return sum(squared_objective(matrix, column, ridge, fit_intercept) for column in targets)

    return [(candidate, value * unit**2) for candidate, value in _settle_ties(found, count, from_factors)]


def _galerkin_bounds(y, gram, inverse, ridge, coefficients, candidates, without, shortcut):
    """Lower bounds of ``y' S_i y`` for every candidate from the span of the solution and its first
    correction.
    """
    value = float(coefficients @ y)
    allowance = 8.0 * np.finfo(np.float32).eps * np.sqrt(len(y)) * max(1.0, float(np.abs(gram).max()))
    # Single precision only where its rounding is far below the differences that matter.
    single = shortcut is not None and allowance * float(coefficients @ coefficients) < 1e-4 * max(
        value, 1e-300
    )
    kind = np.float32 if single else np.float64
    solver = inverse.astype(kind, copy=False) if isinstance(inverse, np.ndarray) else inverse
    image = gram @ coefficients
    batched, products, build = (
        shortcut(gram, candidates, kind) if shortcut is not None else ([], None, without)
    )
    change = np.empty((len(y), len(candidates)))
    direction = np.empty_like(change)
    reach = np.empty_like(change)
    if len(batched):
        change[:, batched] = products(coefficients[:, None].astype(kind)) - image[:, None]
        direction[:, batched] = solver @ change[:, batched].astype(kind)
        reach[:, batched] = products(direction[:, batched].astype(kind))
    start = coefficients.astype(kind)
    for position in np.setdiff1d(np.arange(len(candidates)), batched):
        stop_if_late()
        matrix = build(candidates[position])
        change[:, position] = matrix @ start - image
        direction[:, position] = solver @ change[:, position].astype(kind)
        reach[:, position] = matrix @ direction[:, position].astype(kind)
    slope = coefficients @ change
    own = float(coefficients @ image) + slope + float(ridge @ coefficients**2)
    cross = slope + np.einsum("ij,ij->j", change, direction)
    far = np.einsum("ij,ij->j", direction, reach) + ridge @ direction**2
    bounds, along, away = _two_dimensional_maximum(value, slope, own, cross, far)
    if single:
        lengths = np.einsum("ij,ij->j", direction, direction)
        bounds -= 2.0 * allowance * (coefficients @ coefficients * along**2 + lengths * away**2)
    return bounds - 1e-13 * np.abs(bounds)


def _two_dimensional_maximum(first, second, own, cross, far):
    """Largest ``2 c't - t'Gt`` over each plane and its weights ``t``; a degenerate plane falls back to a
    line.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = cross / own
        height = far - ratio * cross
        lift = second - ratio * first
        flat = ~(height > 1e-10 * np.abs(far))
        away = np.where(flat, 0.0, lift / height)
        along = first / own - away * ratio
        # Evaluated at the weights, not at the closed-form maximum: any weights give a valid bound.
        bound = (
            2.0 * (along * first + away * second)
            - along**2 * own
            - 2.0 * along * away * cross
            - away**2 * far
        )
    broken = ~((own > 0.0) & np.isfinite(bound))
    return np.where(broken, -np.inf, bound), np.where(broken, 0.0, along), np.where(broken, 0.0, away)


def _solve_candidate(y, matrix, inverse, ridge, fit_intercept, coefficients, limit):
    """``y' S_i y`` to working accuracy, or None as soon as a lower bound passes ``limit``."""
    smallest_ridge = float(ridge.min())
    image = matrix @ coefficients + ridge * coefficients
    value = 2.0 * float(coefficients @ y) - float(coefficients @ image)
    residual = y - image
    direction = np.zeros_like(y)
    previous = 1.0
    for step in range(_MAX_STEPS):
        if value > limit:
            return None
        centred = residual - residual.mean() if fit_intercept else residual
        if float(centred @ centred) <= 1e-13 * smallest_ridge * abs(value):
            return value
        preconditioned = inverse @ residual
        inner = float(residual @ preconditioned)
        if inner <= 0.0:
            break
        direction = preconditioned + (inner / previous) * direction if step else preconditioned
        product = matrix @ direction + ridge * direction
        curvature = float(direction @ product)
        if curvature <= 0.0:
            break
        length = inner / curvature
        value += length * inner
        if length * inner <= _SETTLED * abs(value):
            # what further steps add is rounding, which soon grows without bound
            return value
        residual = residual - length * product
        previous = inner
    return squared_objective(matrix, y, ridge, fit_intercept)


def _settle_ties(found, count, exact):
    """Order by value; neighbours closer than the solver's accuracy are recomputed, equal ones keep column
    order.
    """
    found = sorted(found)
    if not found:
        return []
    last = found[min(count, len(found)) - 1][0]
    near = [item for item in found if item[0] <= last + 1e-9 * abs(last)]
    values = np.array([item[0] for item in near])
    if len(near) > 1 and np.any(np.diff(values) <= 1e-9 * np.abs(values[1:])):
        near = [(exact(candidate), candidate) for _, candidate in near]
        scale = 1e-12 * max(abs(value) for value, _ in near)
        near.sort()
        # Values equal up to rounding form one tie, decided by column number.
        tie, leader = 0, near[0][0]
        keyed = []
        for value, candidate in near:
            if value - leader > scale:
                tie, leader = tie + 1, value
            keyed.append((tie, candidate, value))
        near = [(value, candidate) for _, candidate, value in sorted(keyed)]
    return [(candidate, value) for value, candidate in near[:count]]
