"""Rows that share hidden levels: one per cluster, or a course over time; their noise made independent.

A response is the mean that columns explain, plus a hidden level, plus noise of its own. Levels are normal
with a precision matrix Q that is diagonal (clusters) or tridiagonal (a course over time), so that everything
here costs no more than a pass over the rows.
"""

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from rlselect.kernels._families import log_likelihood, score_and_curvature

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

# shares of the variance of one row that levels may have, and memories of a course
_SHARES = np.array([0.0, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
_MEMORIES = np.array([-0.6, -0.3, 0.2, 0.4, 0.6, 0.75, 0.9, 0.97])
# levels of no variance at all have no precision
_LEAST_SIZE = 1e-6
# rows of a course that tell how it remembers; many spreads are compared on them
_TELLING_ROWS = 5000
_NEWTON_STEPS = 50
# half the squared distance from the mode, in standard errors
_DECREMENT = 1e-10


class Spread(NamedTuple):
    """Variance of a level, and the correlation of a level with the next one; one where all rows share it."""

    size: float
    memory: float = 1.0


class Factor(NamedTuple):
    """Cholesky factor L of Z'WZ + Q, by its diagonals, and log |Z'WZ + Q| - log |Q|."""

    bands: Array
    logdet: float

    def half(self, V: Array) -> Array:
        """``L^-1 V`` of vectors over the nodes, shape (nodes, m)."""
        if len(self.bands) == 1:
            return V / self.bands[0][:, None]
        # LAPACK writes beyond vectors that are none
        return np.asarray(lapack.dtbtrs(self.bands, V, uplo="L")[0]) if V.size else V

    def solve(self, v: Array) -> Array:
        """``(Z'WZ + Q)^-1 v``, of one vector over the nodes or of several, shape (nodes, m)."""
        if len(self.bands) == 1:
            return np.asarray((v.T / self.bands[0] ** 2).T)
        return np.asarray(lapack.dpbtrs(self.bands, v, lower=1)[0]) if v.size else v


class Precision(NamedTuple):
    """Q by its diagonal and what lies below it (nodes - 1), and log |Q|."""

    diagonal: Array
    below: Array
    logdet: float


class Levels(Protocol):
    """What rows share. Z maps levels to rows."""

    @property
    def spreads(self) -> list[Spread]: ...
    @property
    def n_nodes(self) -> int: ...
    def telling(self) -> "tuple[Levels, Ints | slice]": ...
    def reordered(self, rows: Ints) -> "Levels": ...
    def to_rows(self, v: Array) -> Array: ...
    def collect(self, V: Array) -> Array: ...
    def precision(self, spread: Spread) -> Precision: ...
    def pull(self, v: Array, spread: Spread) -> Array: ...
    def factor(self, weight: Array, spread: Spread) -> Factor: ...
    def whiten(self, X: Array, weight: Array, spread: Spread) -> Array: ...


@dataclass(frozen=True)
class ClusterLevels:
    """One level for all rows of a cluster.

    Attributes
    ----------
    code : array of int of shape (n,)
        Cluster of each row, from zero on.
    """

    code: Ints

    @cached_property
    def n_nodes(self) -> int:
        """Number of clusters."""
        return int(self.code.max(initial=-1)) + 1

    @property
    def spreads(self) -> list[Spread]:
        """What is compared, in units of the variance of a row's own noise."""
        return [Spread(float(s / (1.0 - s))) for s in _SHARES]

    def telling(self) -> tuple[Levels, Ints | slice]:
        """Levels and numbers of rows that say how large they are: all of them."""
        return self, slice(None)

    def to_rows(self, v: Array) -> Array:
        """Z v: the level of each row."""
        return v[self.code]

    def collect(self, V: Array) -> Array:
        """Z'V: sums over the rows of each cluster; V has shape (n,) or (n, m)."""
        if V.ndim == 1:
            return np.bincount(self.code, V, minlength=self.n_nodes).astype(np.float64, copy=False)
        return np.asarray(self._sums @ V)

    @cached_property
    def _sums(self) -> sparse.csc_array:
        n = len(self.code)
        return sparse.csc_array((np.ones(n), self.code, np.arange(n + 1)), shape=(self.n_nodes, n))

    def reordered(self, rows: Ints) -> "ClusterLevels":
        """The same of the same rows in another order."""
        return ClusterLevels(self.code[rows])

    def precision(self, spread: Spread) -> Precision:
        """Q."""
        each = np.full(self.n_nodes, 1.0 / max(spread.size, _LEAST_SIZE))
        return Precision(each, np.zeros(max(len(each) - 1, 0)), float(np.log(each).sum()))

    def pull(self, v: Array, spread: Spread) -> Array:
        """Q v."""
        return v / max(spread.size, _LEAST_SIZE)

    def factor(self, weight: Array, spread: Spread) -> Factor:
        """Of Z'WZ + Q."""
        size = max(spread.size, _LEAST_SIZE)
        total = self.collect(weight)
        return Factor(np.sqrt(total + 1.0 / size)[None], float(np.log1p(size * total).sum()))

    def whiten(self, X: Array, weight: Array, spread: Spread) -> Array:
        """Columns (n, m) whose weighted products are those of the inverse covariance of the rows.

        A share of its cluster's mean is taken off each row.
        """
        total = self.collect(weight)
        mean = self.collect(X * weight[:, None]) / np.maximum(total, 1e-300)[:, None]
        share = 1.0 - 1.0 / np.sqrt(1.0 + spread.size * total)
        return X - (share[:, None] * mean)[self.code]


class CourseLevels:
    """A level for each row that remembers that of the row before: an autoregression of order one.

    Parameters
    ----------
    code : array of int of shape (n,)
        Series that each row belongs to; its rows are in order.
    """

    def __init__(self, code: Ints) -> None:
        self._code = code
        self._order = np.argsort(code, kind="stable")
        self._first = np.diff(code[self._order], prepend=-1) != 0

    @property
    def n_nodes(self) -> int:
        """Number of rows."""
        return len(self._order)

    @property
    def spreads(self) -> list[Spread]:
        """What is compared, in units of the variance of a row's own noise."""
        return [Spread(float(s / (1.0 - s)), float(m)) for s in _SHARES for m in _MEMORIES]

    def telling(self) -> tuple[Levels, Ints | slice]:
        """Levels and numbers of rows that say how they remember: some thousands that follow each other."""
        if self.n_nodes <= _TELLING_ROWS:
            return self, slice(None)
        rows = np.sort(self._order[:_TELLING_ROWS])
        return CourseLevels(self._code[rows]), rows

    def to_rows(self, v: Array) -> Array:
        """Z v: the level of each row."""
        out = np.empty_like(v)
        out[self._order] = v
        return out

    def collect(self, V: Array) -> Array:
        """Z'V: the rows in the order of their series."""
        return V[self._order]

    def reordered(self, rows: Ints) -> "CourseLevels":
        """The same of the same rows in another order, which is not that of time any more."""
        twin = copy.copy(self)
        place = np.empty_like(rows)
        place[rows] = np.arange(len(rows))
        twin._order = place[self._order]
        return twin

    def _roots(self, spread: Spread) -> tuple[Array, Array]:
        """Diagonal of B and what lies below it (first entry unused), Q = B'B."""
        size, memory = max(spread.size, _LEAST_SIZE), spread.memory
        step = 1.0 / np.sqrt(size * (1.0 - memory**2))
        own = np.where(self._first, 1.0 / np.sqrt(size), step)
        return own, np.where(self._first, 0.0, -memory * step)

    def pull(self, v: Array, spread: Spread) -> Array:
        """Q v."""
        own, before = self._roots(spread)
        b = own * v
        b[1:] += before[1:] * v[:-1]
        out = own * b
        out[:-1] += before[1:] * b[1:]
        return out

    def precision(self, spread: Spread) -> Precision:
        """Q."""
        own, before = self._roots(spread)
        diagonal = own**2
        diagonal[:-1] += before[1:] ** 2
        return Precision(diagonal, own[1:] * before[1:], 2.0 * float(np.log(own).sum()))

    def factor(self, weight: Array, spread: Spread) -> Factor:
        """Of Z'WZ + Q."""
        prior = self.precision(spread)
        bands = np.zeros((2, self.n_nodes))
        bands[0] = weight[self._order] + prior.diagonal
        bands[1, :-1] = prior.below
        root = lapack.dpbtrf(bands, lower=1)[0]
        return Factor(root, 2.0 * float(np.log(root[0]).sum()) - prior.logdet)

    def whiten(self, X: Array, weight: Array, spread: Spread) -> Array:
        """Columns (n, m) whose weighted products are those of the inverse covariance of the rows.

        The inverse of ``W^-1 + Q^-1`` is ``B' (I + B W^-1 B')^-1 B``.
        """
        own, before = self._roots(spread)
        V = X[self._order]
        w = weight[self._order]
        # what counts nothing has a noise beyond all measure
        noise = 1.0 / np.maximum(w, 1e-12)
        bands = np.zeros((2, len(own)))
        bands[0] = 1.0 + own**2 * noise
        bands[0, 1:] += before[1:] ** 2 * noise[:-1]
        bands[1, :-1] = before[1:] * own[:-1] * noise[:-1]
        moved = own[:, None] * V
        moved[1:] += before[1:, None] * V[:-1]
        root = lapack.dpbtrf(bands, lower=1)[0]
        white = np.asarray(lapack.dtbtrs(root, moved, uplo="L")[0]) if V.shape[1] else moved
        out = np.empty_like(white)
        out[self._order] = white / np.sqrt(np.maximum(w, 1e-12))[:, None]
        return out


def turn_constant(X: Array, ones: Array, weight: Array) -> tuple[Array, float]:
    """Turn whitened rows so that the whitened intercept is a constant again.

    Parameters
    ----------
    X : array of shape (n, m)
        Whitened columns.
    ones : array of shape (n,)
        The whitened column of ones.
    weight : array of shape (n,)

    Returns
    -------
    X : array of shape (n, m)
        After a reflection of the rows, which keeps all weighted products.
    stretch : float
        What the intercept of the turned rows is multiplied by to be that of the rows as they were.
    """
    root = np.sqrt(weight)
    given, wanted = ones * root, root
    length, whole = np.linalg.norm(given), np.linalg.norm(wanted)
    mirror = given / length - wanted / whole
    square = float(mirror @ mirror)
    stretch = float(whole / length)
    if square < 1e-24:
        return X, stretch
    safe = np.where(root > 0, root, 1.0)
    off = (2.0 / square) * (mirror @ (X * root[:, None]))
    return X - np.outer(np.where(root > 0, mirror, 0.0) / safe, off), stretch


def settle_levels(
    levels: Levels,
    spread: Spread,
    likelihood: tuple[str, float],
    y: Array,
    eta: Array,
    weight: Array,
    start: Array,
) -> Array:
    """Levels at the mode of their posterior, given the rest of the linear predictor.

    Parameters
    ----------
    levels, spread
        What rows share, and how much.
    likelihood : (str, float)
        Family ("binomial" or "poisson") and dispersion.
    y, eta, weight : array of shape (n,)
        Response, linear predictor without the levels, and weights.
    start : array of shape (nodes,)
        First guess.

    Returns
    -------
    array of shape (nodes,)
    """
    family, dispersion = likelihood

    def loss(v: Array) -> float:
        fit = log_likelihood(family, y, eta + levels.to_rows(v), dispersion=dispersion)
        return 0.5 * float(v @ levels.pull(v, spread)) - float(weight @ fit)

    level, here = start, loss(start)
    for _ in range(_NEWTON_STEPS):
        score, curvature = score_and_curvature(family, y, eta + levels.to_rows(level), dispersion)
        gradient = levels.collect(weight * score) - levels.pull(level, spread)
        step = levels.factor(weight * curvature, spread).solve(gradient)
        if not 0.5 * float(step @ gradient) > _DECREMENT:
            break
        for _ in range(_NEWTON_STEPS):
            there = loss(level + step)
            if there <= here:
                break
            step = 0.5 * step
        else:
            break
        level, here = level + step, there
    return level


def level_likelihood(
    levels: Levels, spread: Spread, A: Array, y: Array, weight: Array, *, known_noise: bool
) -> float:
    """Restricted log likelihood of a linear model with levels, up to a constant.

    Parameters
    ----------
    levels, spread
        What rows share, and how much, in units of the noise.
    A : array of shape (n, k)
        Columns of the mean, the intercept among them.
    y, weight : array of shape (n,)
        Response, and precision of each row's own noise.
    known_noise : bool
        Whether the variance of that noise is one, and not to be learnt.
    """
    white = levels.whiten(np.column_stack([A, y]), weight, spread)
    gram = (white * weight[:, None]).T @ white
    k = A.shape[1]
    inside = gram[:k, :k] + 1e-10 * np.trace(gram[:k, :k]) / k * np.eye(k)
    fall = float(gram[:k, k] @ np.linalg.solve(inside, gram[:k, k]))
    quad = max(float(gram[k, k]) - fall, 1e-10 * float(gram[k, k]), 1e-300)
    value = quad if known_noise else max(float(weight.sum()) - k, 1.0) * np.log(quad)
    return -0.5 * (value + levels.factor(weight, spread).logdet + float(np.linalg.slogdet(inside)[1]))


def learn_spread(
    levels: Levels, A: Array, y: Array, weight: Array, *, row_noise: float | None = None
) -> Spread:
    """Mean of the posterior of what rows share, all shares of the variance equally likely beforehand.

    The mean, not the likeliest: where few clusters say little, it is not taken for nothing.

    Parameters
    ----------
    levels, A
        As in `level_likelihood`.
    y, weight : array of shape (n,) or (q, n)
        As there; several responses have levels of the same variance, each its own.
    row_noise : float, optional
        Variance of the noise of one row, where the weights are known precisions.

    Returns
    -------
    Spread
        In units of the noise, or as it is where that is known.
    """
    levels, rows = levels.telling()
    A, every = A[rows], list(zip(np.atleast_2d(y)[:, rows], np.atleast_2d(weight)[:, rows], strict=True))
    unit, known = 1.0 if row_noise is None else row_noise, row_noise is not None
    spreads = levels.spreads
    scaled = [s._replace(size=s.size * unit) for s in spreads]
    values = np.array(
        [sum(level_likelihood(levels, s, A, *each, known_noise=known) for each in every) for s in scaled]
    )
    share = np.array([s.size / (1.0 + s.size) for s in spreads])
    memory = np.array([s.memory for s in spreads])
    # the shares of the grid lie closer where they are small
    width = np.gradient(_SHARES)
    posterior = np.exp(values - values.max()) * np.interp(share, _SHARES, width)
    posterior /= posterior.sum()
    mean = float(posterior @ share)
    lasting = posterior * np.maximum(share, 1e-6)
    return Spread(unit * mean / (1.0 - mean), float(lasting @ memory / lasting.sum()))
