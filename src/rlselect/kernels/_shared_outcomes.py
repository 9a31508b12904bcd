r"""Likelihoods whose rows share hidden levels, as an `Outcome`.

Every predictor of a row has a level beside what its columns say. The levels are at their mode wherever the
likelihood is asked for, and are eliminated from its curvature there, so that what is left is an `Outcome` of
the columns alone: its evidence is that of levels integrated out by Laplace's method.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from rlselect.kernels._hidden_levels import Factor, Levels, Spread, learn_spread
from rlselect.kernels._outcomes import Array, Outcome, OutcomePoint

_NEWTON_STEPS = 50
# half the squared distance from the mode, in standard errors
_DECREMENT = 1e-10
_LEAST_CURVATURE = 1e-8
# numbers that are made at once where the curvature of all columns is asked for
_AT_ONCE = 2**23
# levels whose meeting in a partial likelihood is followed: of more, each pair has next to nothing in common
_MOST_MET = 100


class _Root(Protocol):
    """A root L of the curvature of the levels, and log |LL'| - log |Q|."""

    @property
    def logdet(self) -> float: ...
    def half(self, V: Array) -> Array: ...
    def solve(self, v: Array) -> Array: ...


class _Dense(NamedTuple):
    """A root as a matrix."""

    root: Array
    logdet: float

    def half(self, V: Array) -> Array:
        return np.asarray(solve_triangular(self.root, V, lower=True, check_finite=False))

    def solve(self, v: Array) -> Array:
        return np.asarray(cho_solve((self.root, True), v, check_finite=False))


class SharedOutcome:
    """An outcome whose rows share levels.

    In a partial likelihood all rows at risk meet. Of more than a hundred levels, they are eliminated as if
    the baseline were known, which leaves out about one part in their number: what columns and levels have in
    common has no part in the direction in which all levels rise together, the one that a baseline takes.

    Parameters
    ----------
    outcome : Outcome
        Of the same rows, if each stood for itself.
    levels : Levels
        What rows share, in the order of the table.
    spread : Spread
        How much.
    """

    def __init__(self, outcome: Outcome, levels: Levels, spread: Spread) -> None:
        self.plain, self.levels, self.spread = outcome, levels, spread
        self.n_predictors, self.n_own = outcome.n_predictors, outcome.n_own
        self.order, self.precision = outcome.order, outcome.precision
        # in the order of the likelihood
        self._shared = levels if outcome.order is None else levels.reordered(outcome.order)
        self._level = np.zeros(levels.n_nodes * self.n_predictors)

    def start(self) -> Array:
        """As if each row stood for itself."""
        return self.plain.start()

    def absorb(self, own: Array, shift: Array) -> Array:
        """As if each row stood for itself."""
        return self.plain.absorb(own, shift)

    def at(self, own: Array, eta: Array) -> OutcomePoint:
        """The log likelihood and its derivatives with the levels at their mode."""
        point, _ = self.settled(own, eta)
        hold = _Hold(self._shared, self._root(point))
        beside = point.mixed.transpose(1, 0, 2)
        half = hold.root.half(hold.collect(beside))
        taken = hold.spread(hold.root.solve(hold.collect(beside)), point)
        return _SharedPoint(
            point.value - 0.5 * float(self._level @ self._pull(self._level)),
            point.score,
            point.weights,
            point.own_score,
            point.own_curvature - half.T @ half,
            point.mixed - taken.transpose(1, 0, 2),
            volume=hold.root.logdet,
            plain=point,
            hold=hold,
        )

    def _pull(self, level: Array) -> Array:
        if self.n_predictors == 1:
            return self.levels.pull(level, self.spread)
        by_predictor = level.reshape(-1, self.n_predictors).T
        return np.array([self.levels.pull(v, self.spread) for v in by_predictor]).T.ravel()

    def _rows_of(self, level: Array) -> Array:
        """Levels of the rows, shape (q, n)."""
        return self._shared.to_rows(level.reshape(-1, self.n_predictors)).T

    def settled(self, own: Array, eta: Array) -> tuple[OutcomePoint, Array]:
        """Bring the levels to their mode by Newton's method; the likelihood there, and their rows (q, n)."""

        def there(level: Array) -> tuple[OutcomePoint, float]:
            point = self.plain.at(own, eta + self._rows_of(level))
            return point, 0.5 * float(level @ self._pull(level)) - point.value

        point, here = there(self._level)
        for _ in range(_NEWTON_STEPS):
            if not np.isfinite(here):
                break
            sums = np.stack([self._shared.collect(score) for score in point.score], axis=1)
            gradient = sums.ravel() - self._pull(self._level)
            step = self._step(point, gradient)
            if not 0.5 * float(step @ gradient) > _DECREMENT:
                break
            for _ in range(_NEWTON_STEPS):
                new, loss = there(self._level + step)
                if loss <= here:
                    break
                step = 0.5 * step
            else:
                break
            self._level, point, here = self._level + step, new, loss
        return point, self._rows_of(self._level)

    def _step(self, point: OutcomePoint, gradient: Array) -> Array:
        """Newton's step of the levels; where rows meet, one that knows that a baseline takes their mean."""
        root = self._root(point)
        step = root.solve(gradient)
        if point.means is None or isinstance(root, _Dense):
            return step
        met = self._shared.collect(point.weights[0, 0])
        met /= np.sqrt(max(float(met.sum()), 1e-300))
        moved = root.solve(met)
        return step + moved * (float(met @ step) / max(1.0 - float(met @ moved), 1e-8))

    def _root(self, point: OutcomePoint) -> _Root:
        """Of Z'WZ + Q, the predictors of a node next to each other."""
        q, prior = self.n_predictors, self.levels.precision(self.spread)
        nodes, chained = len(prior.diagonal), bool(prior.below.any())
        bands = np.zeros((q + chained, nodes, q))
        for a in range(q):
            for b in range(a + 1):
                bands[a - b, :, b] += self._shared.collect(point.weights[a, b])
        bands[0] += prior.diagonal[:, None]
        if point.means is not None and nodes <= _MOST_MET:
            met = point.means(self._shared.to_rows(np.eye(nodes)).T)
            below = np.diag(prior.below, -1)
            dense = np.diag(bands[0, :, 0]) + below + below.T - met @ met.T
            root: Array = np.asarray(np.linalg.cholesky(dense), dtype=np.float64)
            return _Dense(root, 2.0 * float(np.log(np.diagonal(root)).sum()) - prior.logdet)
        if chained:
            bands[q, :-1] = prior.below[:, None]
        whole = bands.reshape(len(bands), nodes * q)
        root = np.sqrt(whole) if len(whole) == 1 else np.asarray(lapack.dpbtrf(whole, lower=1)[0])
        return Factor(root, 2.0 * float(np.log(root[0]).sum()) - q * prior.logdet)


@dataclass(frozen=True)
class _Hold:
    """What levels hold of vectors over the rows in all predictors."""

    levels: Levels
    root: _Root

    def collect(self, vectors: Array) -> Array:
        """Sums (nodes * q, m) over the rows of each node, of vectors (q, m, n)."""
        q, m, n = vectors.shape
        sums = self.levels.collect(vectors.reshape(q * m, n).T)
        return sums.reshape(self.levels.n_nodes * q, m)

    def spread(self, nodes: Array, point: OutcomePoint) -> Array:
        """The curvature of vectors over the nodes (nodes * q, m), shape (q, m, n)."""
        (size, m), count = nodes.shape, self.levels.n_nodes
        q = size // count
        rows = self.levels.to_rows(nodes.reshape(count, q * m))
        return point.times(rows.T.reshape(q, m, len(rows)))


@dataclass(frozen=True, kw_only=True)
class _SharedPoint(OutcomePoint):
    """A point from which levels are eliminated: `plain` is that with the levels as they are."""

    plain: OutcomePoint
    hold: _Hold

    def bend(self, vectors: Array) -> Array:
        """The curvature times vectors (m, n) that lie in one predictor each (second axis), (q, q, m, n)."""
        bent = self.plain.bend(vectors)
        q, _, m, n = bent.shape
        held = self.hold.root.solve(self.hold.collect(bent.reshape(q, q * m, n)))
        return bent - self.hold.spread(held, self.plain).reshape(bent.shape)

    def squares(self, vectors: Array, squared: Array | None = None) -> Array:
        """The curvature of each of some vectors (m, n) with itself, shape (m, q, q)."""
        own = self.plain.squares(vectors, squared)
        for part in _parts(len(vectors), self.weights.size):
            bent = self.plain.bend(vectors[part])
            q, _, m, n = bent.shape
            half = self.hold.root.half(self.hold.collect(bent.reshape(q, q * m, n))).reshape(-1, q, m)
            own[part] -= np.einsum("eam,ebm->mab", half, half)
        return own


def _parts(m: int, each: int) -> Iterator[slice]:
    """Some at a time of m vectors that take so many numbers each."""
    some = max(_AT_ONCE // max(each, 1), 1)
    return (slice(start, start + some) for start in range(0, m, some))


def learn_shared(outcome: SharedOutcome, columns: Array, coef: Array, counted: float) -> tuple[Spread, float]:
    """What rows share beside some columns, and the variance of a row's own noise, by `learn_spread`.

    The rows are those of the linear model that the likelihood looks like at the mode of the levels.

    Parameters
    ----------
    outcome : SharedOutcome
        The likelihood.
    columns : array of shape (k, n)
        Of the model, in the order of the likelihood.
    coef : array of shape (f + kq,)
        Parameters at the mode: own ones, then those of the columns.
    counted : float
        What the rows count.

    Returns
    -------
    Spread, float
        On the scale of the predictors.
    """
    f, q, k = outcome.n_own, outcome.n_predictors, len(columns)
    point, level = outcome.settled(coef[:f], coef[f:].reshape(k, q).T @ columns)
    precision = np.einsum("aan->an", point.weights)
    noise = 1.0 / max(float(precision.sum()) / (q * max(counted, 1e-300)), _LEAST_CURVATURE)
    # a row whose response is certain says next to nothing, but what it says is still a number
    said = point.score / np.maximum(precision, _LEAST_CURVATURE)
    back = slice(None) if outcome.order is None else np.argsort(outcome.order, kind="stable")
    working = coef[f:].reshape(k, q).T @ columns + level + said
    A = np.column_stack([np.ones(columns.shape[1]), columns.T])[back]
    spread = learn_spread(outcome.levels, A, working[:, back], precision[:, back], row_noise=noise)
    return spread, noise
