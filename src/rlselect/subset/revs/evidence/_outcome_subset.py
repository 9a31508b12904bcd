"""A subset of columns under any likelihood that is an `Outcome`, and the reward of every move from it."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import (
    Outcome,
    OutcomePoint,
    damped_newton,
    laplace_block_add,
    laplace_block_remove,
    log_hole_factor,
    small_decrement,
    summed_problem,
)
from rlselect.subset.revs.evidence._ties import OUTCOME_SHAPES, Shape

Floats = NDArray[np.float64]

_NEWTON_STEPS = 25
# as in `GlmSubset`: a hundredth of a standard error
_DECREMENT = 1e-4
_SLABS = 12
# squares of the columns are kept up to this size
_SQUARES_KEPT = 2**28
# subsets whose prices are remembered
_MOST_SEEN = 4000


class _Priced(NamedTuple):
    """A subset that was fitted: coefficients, log evidence, shape factor, changes by move, directions."""

    coef: Floats
    evidence: float
    alike: float
    moves: Floats
    directions: Floats


class OutcomeSubset:
    r"""Laplace log evidence of a subset under an `Outcome`, with all moves priced by one Newton step.

    Each column has q coefficients with the prior :math:`N(0, v I)` on the standardised scale, and enters or
    leaves with all of them. A ``shape`` r above zero multiplies the prior density of a column by
    :math:`|\beta|^{2r}` [1]_, columns of larger units excepted: effects are alike, the more so the larger r,
    rather than spread down to zero. Whatever r is, g is the prior mean square of a coefficient, so that
    :math:`v = g q / (q + 2r)`. A walk comes back to the same subsets again and again: their prices are
    remembered.

    Parameters
    ----------
    columns : array of shape (p, n)
        Standardised columns, as rows, in the order of the table.
    units : Units
        What enters and leaves together.
    outcome : Outcome
        The likelihood.
    counted : float
        What the rows count.
    slab : float, default=0.09
        g.
    shape : {0, 1, 2}, default=1
        How far the effects in the model are taken to be alike.

    References
    ----------
    .. [1] Johnson, Rossell (2012), Bayesian model selection in high-dimensional settings, JASA 107.
    """

    shapes = OUTCOME_SHAPES
    share = 0.0
    dispersion = 0.0
    noise = 1.0

    def __init__(
        self,
        columns: Floats,
        units: Units,
        outcome: Outcome,
        counted: float,
        slab: float = 0.09,
        shape: int = 1,
    ) -> None:
        self._varies = np.abs(columns).max(axis=1, initial=0.0) > 0
        self.units, self.outcome, self.counted = units, outcome, counted
        self.slab, self.shape = slab, shape
        self._in_block = np.zeros(units.n_columns, dtype=bool)
        self._in_block[[j for u in units.blocks for j in units.columns[u]]] = True
        # where the last fit ended: a subset next to it is a few steps away
        self._last: tuple[Floats, dict[int, Floats]] = (outcome.start(), {})
        # what is known of subsets, by the prior of the coefficients; and which prior suits each
        self._seen: dict[tuple[bytes, float, int], _Priced] = {}
        self._tables: dict[tuple[bytes, int], Floats] = {}
        self._take(columns if outcome.order is None else np.ascontiguousarray(columns[:, outcome.order]))
        self.reset(np.zeros(units.n_units, dtype=bool))

    def _take(self, columns: Floats) -> None:
        """Go on with these columns, in the order of the outcome."""
        self._columns = columns
        self._squared = columns * columns if columns.nbytes <= _SQUARES_KEPT else None
        own = self._null().squares(columns, self._squared)
        self._information = float(np.median(np.einsum("paa->pa", own)))

    def _null(self) -> OutcomePoint:
        """The likelihood without columns."""
        none = np.zeros((self.outcome.n_predictors, self._columns.shape[1]))
        return self.outcome.at(self.outcome.start(), none)

    @property
    def size(self) -> int:
        """Number of units in the subset."""
        return int(np.count_nonzero(self.mask))

    @property
    def evidence(self) -> float:
        """Laplace log evidence of the subset (the shape factor apart)."""
        return self._priced.evidence

    @property
    def alike(self) -> float:
        """Log of the shape factor of the subset, zero when it is not in use."""
        return self._priced.alike

    @property
    def coef(self) -> tuple[Floats, Floats]:
        """Own parameters of the likelihood, and coefficients (k, q) of the columns of the subset."""
        f = self.outcome.n_own
        return self._priced.coef[:f], self._priced.coef[f:].reshape(-1, self.outcome.n_predictors)

    def copy(self) -> "OutcomeSubset":
        """Another walker over the same rows; what it comes to know is its own."""
        twin = copy.copy(self)
        twin.mask, twin._seen, twin._tables = self.mask.copy(), dict(self._seen), dict(self._tables)
        return twin

    def moves(self) -> Floats:
        """Change of the log evidence when each unit is toggled."""
        return self._priced.moves

    def toggle(self, unit: int) -> None:
        """Add the unit when it is out, remove it when it is in, and refit.

        A move that was made has its true price from then on, both ways: where one Newton step is far off, a
        climb would go to and fro.
        """
        before, mask = self._key, self.mask.copy()
        mask[unit] = not mask[unit]
        start = self.evidence + self.alike
        self.reset(mask)
        change = self.evidence + self.alike - start
        for key, price in ((before, change), (self._key, -change)):
            if key in self._seen:
                moves = self._seen[key].moves.copy()
                moves[unit] = price
                self._seen[key] = self._seen[key]._replace(moves=moves)
        self._priced = self._seen[self._key]

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Stand in another subset."""
        self.mask = np.array(mask, dtype=bool)
        if self._key not in self._seen:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            self._seen[self._key] = self._price()
        self._priced = self._seen[self._key]

    @property
    def _key(self) -> tuple[bytes, float, int]:
        return np.packbits(self.mask).tobytes(), self.slab, self.shape

    def learn_dispersion(self) -> bool:
        """Nothing to learn."""
        return False

    def prepare(self, unit: int, values: Floats) -> None:
        """Nothing to prepare: the rows are at hand."""

    def at_hand(self, values: Floats) -> NDArray[np.intp]:
        """None: every move takes a fit."""
        return np.empty(0, dtype=np.intp)

    def directions(self) -> Floats:
        """Numbers with the sign of each column's (first) coefficient: inside, or once it is added."""
        return self._priced.directions

    def varies(self) -> NDArray[np.bool_]:
        """Columns that are not constant."""
        return self._varies

    def slabs(self) -> Floats:
        """The prior variances that `evidence_table` compares, as in `GlmSubset`."""
        information = max(self._information, 1e-300)
        smallest = min(2.0 * np.log(max(self.units.n_units, 3)) / information, 1.0)
        return np.geomspace(smallest, 4.0, _SLABS)

    def evidence_table(self, shapes: Sequence[Shape]) -> Floats:
        """Log evidence of the subset for every slab and shape; effects are not tied here."""
        every = [self._evidence_by_slab(s.alike) for s in shapes]
        tied = np.array([s.share > 0 for s in shapes])
        return np.where(tied, -np.inf, np.column_stack(every))

    def _evidence_by_slab(self, shape: int) -> Floats:
        key = self._key[0], shape
        if key not in self._tables:
            subset, found = self._subset(), []
            for slab in self.slabs():
                mode = self._mode(subset, slab, shape)
                found.append(mode.evidence + self._alike(subset, mode, slab, shape))
            self._tables[key] = np.array(found)
        return self._tables[key]

    def set_prior(self, slab: float, shape: Shape) -> None:
        """Change the prior of the coefficients."""
        self.slab, self.shape = float(slab), shape.alike
        self.reset(self.mask)

    def _subset(self) -> list[int]:
        return [int(j) for u in np.flatnonzero(self.mask) for j in self.units.columns[u]]

    def _variance(self, slab: float, shape: int) -> float:
        """Variance v of the normal factor of the prior of a column that is no part of a larger unit."""
        q = self.outcome.n_predictors
        return float(slab) * q / (q + 2.0 * shape)

    def _variances(self, subset: list[int], slab: float, shape: int) -> Floats:
        return np.where(self._in_block[subset], slab, self._variance(slab, shape))

    def _mode(self, subset: list[int], slab: float, shape: int) -> "OutcomeMode":
        own, known = self._last
        none = np.zeros(self.outcome.n_predictors)
        start = np.concatenate([own, *(known.get(j, none) for j in subset)])
        variances = self._variances(subset, slab, shape)
        mode = outcome_mode(self.outcome, self._columns[subset], variances, start)
        f = self.outcome.n_own
        self._last = mode.coef[:f], dict(zip(subset, mode.coef[f:].reshape(-1, len(none)), strict=True))
        return mode

    def _alike(self, subset: list[int], mode: "OutcomeMode", slab: float, shape: int) -> float:
        f, q, k = self.outcome.n_own, self.outcome.n_predictors, len(subset)
        free = ~self._in_block[subset]
        mean = mode.coef[f:].reshape(k, q)[free]
        blocks = np.einsum("iaib->iab", mode.inverse[f:, f:].reshape(k, q, k, q))[free]
        return float(log_hole_factor(mean, blocks, self._variance(slab, shape), shape).sum())

    def _price(self) -> _Priced:
        subset = self._subset()
        mode = self._mode(subset, self.slab, self.shape)
        score = (mode.point.score @ self._columns.T).T
        moves = self._priced_moves(subset, mode, score)
        directions = score[:, 0].copy()
        directions[subset] = mode.coef[self.outcome.n_own :].reshape(-1, self.outcome.n_predictors)[:, 0]
        alike = self._alike(subset, mode, self.slab, self.shape)
        return _Priced(mode.coef, mode.evidence, alike, moves, directions)

    def seen(self, look: "OutcomeLook") -> tuple[Floats, Floats]:
        """Changes by move as one Newton step from the model of a look finds them on all its rows.

        Scores are those of the rows looked at, the curvature is that of the rows here, in proportion.

        Returns
        -------
        moves : array over units
        coef : array of shape (f + kq,)
            Parameters after the step, at which a second look is sharper.
        """
        subset, stretch = self._subset(), look.counted / self.counted
        mode = self._mode(subset, self.slab, self.shape)
        prior = self._prior(subset)
        hessian = stretch * (np.linalg.pinv(mode.inverse, hermitian=True) - np.diag(prior)) + np.diag(prior)
        inverse = np.asarray(np.linalg.pinv(hessian, hermitian=True))
        step = inverse @ (np.concatenate([look.own, look.score[subset].ravel()]) - prior * look.coef)
        score = look.score - stretch * np.einsum("kpa,k->pa", self._cross(mode.point, subset), step)
        there = mode._replace(coef=look.coef + step, inverse=inverse)
        return self._priced_moves(subset, there, score, stretch), there.coef

    def look(self, coef: Floats | None = None) -> tuple["OutcomeLook", list[int]]:
        """An empty look at the model of the subset, or at other parameters of it, and its columns."""
        at = self._priced.coef if coef is None else coef
        shape = self.units.n_columns, self.outcome.n_predictors
        return OutcomeLook(at, np.zeros(self.outcome.n_own), np.zeros(shape)), self._subset()

    def _prior(self, subset: list[int]) -> Floats:
        """Prior precision of all parameters."""
        variances = self._variances(subset, self.slab, self.shape)
        return np.append(self.outcome.precision, np.repeat(1.0 / variances, self.outcome.n_predictors))

    def _priced_moves(
        self, subset: list[int], mode: "OutcomeMode", score: Floats, stretch: float = 1.0
    ) -> Floats:
        """Changes of the log evidence by move, with the curvature of the rows times `stretch`."""
        q, p = self.outcome.n_predictors, self.units.n_columns
        point, inverse = mode.point, mode.inverse
        own = stretch * point.squares(self._columns, self._squared)
        cross = stretch * self._cross(point, subset)
        pull = (inverse @ cross.reshape(len(inverse), p * q)).reshape(cross.shape)
        variance = self._variance(self.slab, self.shape)
        schur = own - np.einsum("kpa,kpb->pab", cross, pull) + np.eye(q) / variance
        # of a column that the subset explains altogether only its prior is left
        schur = np.where(np.eye(q, dtype=bool), np.maximum(schur, 1e-9 * np.maximum(own, 1.0)), schur)
        columns = np.zeros(p)
        single = np.flatnonzero(~self._in_block)
        columns[single] = self._single_adds(schur[single], score[single], variance)
        moves = self.units.spread(columns)
        moves = moves.copy() if moves is columns else moves
        for units, members in self.units.by_size:
            moves[units] = self._block_adds(members, point, cross, pull, score, stretch)
        self._removes(moves, subset, mode)
        return moves

    def _cross(self, point: OutcomePoint, subset: list[int]) -> Floats:
        """Curvature between the parameters of the subset's model and all columns, shape (f + kq, p, q)."""
        f, q = self.outcome.n_own, self.outcome.n_predictors
        n, p = self._columns.shape[1], self.units.n_columns
        k = len(subset)
        out = np.empty((f + k * q, p, q))
        own = point.mixed.reshape(f * q, n) @ self._columns.T
        out[:f] = own.reshape(f, q, p).transpose(0, 2, 1)
        bent = point.bend(self._columns[subset]).reshape(q * q * k, n) @ self._columns.T
        out[f:] = bent.reshape(q, q, k, p).transpose(2, 1, 3, 0).reshape(k * q, p, q)
        return out

    def _single_adds(self, schur: Floats, score: Floats, variance: float) -> Floats:
        change = laplace_block_add(schur, score, variance)
        if not self.shape:
            return change
        inverse = np.asarray(np.linalg.inv(schur))
        mean = (inverse @ score[:, :, None])[:, :, 0]
        return np.asarray(change + log_hole_factor(mean, inverse, variance, self.shape))

    def _block_adds(
        self,
        members: NDArray[np.intp],
        point: OutcomePoint,
        cross: Floats,
        pull: Floats,
        score: Floats,
        stretch: float,
    ) -> Floats:
        """Changes by units of the same number of columns, given by the rows of `members`."""
        q, (b, m) = self.outcome.n_predictors, members.shape
        out = np.empty(b)
        for i, columns in enumerate(members):
            own = np.einsum("abmn,ln->mbla", point.bend(self._columns[columns]), self._columns[columns])
            inside = np.einsum("kma,klb->malb", cross[:, columns], pull[:, columns])
            schur = (stretch * own - inside).reshape(m * q, m * q) + np.eye(m * q) / self.slab
            out[i] = laplace_block_add(schur, score[columns].ravel(), self.slab)
        return out

    def _removes(self, moves: Floats, subset: list[int], mode: "OutcomeMode") -> None:
        f, q = self.outcome.n_own, self.outcome.n_predictors
        at, variance = 0, self._variance(self.slab, self.shape)
        for unit in np.flatnonzero(self.mask):
            size = len(self.units.columns[unit]) * q
            places = slice(f + at, f + at + size)
            block, coef = mode.inverse[places, places], mode.coef[places]
            moves[unit] = laplace_block_remove(block, coef, variance if size == q else self.slab)
            if size == q:
                moves[unit] -= log_hole_factor(coef, block, variance, self.shape)
            at += size


@dataclass
class OutcomeLook:
    """Scores of rows that pass by, at some parameters.

    Attributes
    ----------
    coef : array of shape (f + kq,)
        Own parameters of the likelihood, then coefficients of the columns of the subset.
    own : array of shape (f,)
        Derivatives by the own parameters.
    score : array of shape (p, q)
        Derivatives by the coefficients of every column.
    counted, n_rows : float, int
        What the rows count, and their number.
    """

    coef: Floats
    own: Floats
    score: Floats
    counted: float = 0.0
    n_rows: int = 0


class OutcomeMode(NamedTuple):
    """The mode of a posterior: parameters, the point there, the inverse Hessian, the log evidence."""

    coef: Floats
    point: OutcomePoint
    inverse: Floats
    evidence: float
    converged: bool


def outcome_mode(
    outcome: Outcome,
    columns: Floats,
    slab: float | Floats,
    start: Floats,
    *,
    tolerance: float = _DECREMENT,
    most_steps: int = _NEWTON_STEPS,
) -> OutcomeMode:
    """Newton's method for some columns (k, n), in the order of the outcome.

    The slab is the prior variance of all coefficients, or one per column; an infinite one is no prior.
    """
    f, q, k = outcome.n_own, outcome.n_predictors, len(columns)
    slabs = np.broadcast_to(slab, k)
    prior = np.concatenate([outcome.precision, np.repeat(1.0 / slabs, q)])

    def point_at(coef: Floats) -> OutcomePoint:
        return outcome.at(coef[:f], coef[f:].reshape(k, q).T @ columns)

    def sums(coef: Floats) -> tuple[float, Floats, Floats]:
        point = point_at(coef)
        pull = prior * coef
        gradient = np.concatenate([point.own_score, (columns @ point.score.T).ravel()]) - pull
        return (
            0.5 * float(coef @ pull) - point.value,
            point.hessian(columns) + np.diag(prior),
            gradient,
        )

    converged, coef = True, start
    if len(start):
        found = damped_newton(
            summed_problem(sums), start[None], small_decrement(tolerance), most_steps=most_steps
        )
        coef, converged = found.coef[0], bool(found.converged[0])
    point = point_at(coef)
    hessian = point.hessian(columns) + np.diag(prior)
    value = point.value - 0.5 * float(coef @ (prior * coef))
    logdet = float(np.linalg.slogdet(hessian)[1]) if len(start) else 0.0
    evidence = value - 0.5 * (logdet + q * float(np.log(slabs).sum()) + point.volume)
    inverse = np.asarray(np.linalg.pinv(hessian, hermitian=True)) if len(start) else hessian
    return OutcomeMode(coef, point, inverse, evidence, converged)


def outcome_hessian(outcome: Outcome, columns: Floats, coef: Floats) -> Floats:
    """Minus the second derivatives of the log likelihood by own parameters, then coefficients."""
    f, q = outcome.n_own, outcome.n_predictors
    point = outcome.at(coef[:f], coef[f:].reshape(len(columns), q).T @ columns)
    return point.hessian(columns)
