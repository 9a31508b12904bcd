"""A subset of columns under any likelihood that is an `Outcome`, and the reward of every move from it."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rlselect.data import Units
from rlselect.kernels import (
    Outcome,
    OutcomePoint,
    laplace_block_add,
    laplace_block_remove,
    log_hole_factor,
)
from rlselect.subset.revs.evidence._outcome_mode import OutcomeMode, outcome_mode
from rlselect.subset.revs.evidence._outcome_priors import (
    Holes,
    Models,
    Parabola,
    parabola_at,
    under_priors,
)
from rlselect.subset.revs.evidence._ties import OUTCOME_SHAPES, Shape

Floats = NDArray[np.float64]

_SLABS = 12
# squares of the columns are kept up to this size
_SQUARES_KEPT = 2**28
# subsets whose prices are remembered
_MOST_SEEN = 4000
# priors of the coefficients that are this much less likely than the best one add nothing to a price
_UNLIKELY = np.log(1e3)
# a unit that costs more when it leaves, by one Newton step, stays: that step makes too little of it at most
_STAYS = 10.0
# nor does a unit enter that one step prices lower than this
_OUT = 2.0
# and where the log likelihood is further from that step's parabola, the move is fitted for its price
_BENT = 0.3
_PLAIN = np.zeros(1, dtype=np.intp)


class _Bent(NamedTuple):
    """Curvature of every column (p, q, q), and between the subset's parameters and it (f + kq, p, q)."""

    own: Floats
    cross: Floats


class _Priced(NamedTuple):
    """A subset that was fitted: coefficients, log evidence, changes by move, directions."""

    coef: Floats
    evidence: float
    moves: Floats
    directions: Floats


class _Step(NamedTuple):
    """Where one Newton step leads: columns, parameters, and the log likelihood there by its parabola."""

    subset: list[int]
    coef: Floats
    value: float


class OutcomeSubset:
    r"""Laplace log evidence of a subset under an `Outcome`, with moves priced by one Newton step.

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
    shape : int, default=1
        How far the effects in the model are taken to be alike.

    References
    ----------
    .. [1] Johnson, Rossell (2012), Bayesian model selection in high-dimensional settings, JASA 107.
    """

    shapes = OUTCOME_SHAPES
    relearns = False
    share = 0.0
    # the shape factor is part of the evidence
    alike = 0.0
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
        # whether prices are taken over all priors, and not only over this one
        self._mixed = False
        self._in_block = np.zeros(units.n_columns, dtype=bool)
        self._in_block[[j for u in units.blocks for j in units.columns[u]]] = True
        # where the last fit ended: a subset next to it is a few steps away
        self._last: tuple[Floats, dict[int, Floats]] = (outcome.start(), {})
        # what is known of subsets, by the prior of the coefficients; and which prior suits each
        self._seen: dict[tuple[bytes, float, int], _Priced] = {}
        self._tables: dict[tuple[bytes, int], Floats] = {}
        # log evidences without holes, by subset and slab
        self._fitted: dict[tuple[bytes, float], float] = {}
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
        """Laplace log evidence of the subset."""
        return self._priced.evidence

    @property
    def coef(self) -> tuple[Floats, Floats]:
        """Own parameters of the likelihood, and coefficients (k, q) of the columns, without a hole."""
        f = self.outcome.n_own
        return self._priced.coef[:f], self._priced.coef[f:].reshape(-1, self.outcome.n_predictors)

    def copy(self) -> "OutcomeSubset":
        """Another walker over the same rows; what it comes to know is its own."""
        twin = copy.copy(self)
        twin.mask, twin._seen, twin._tables = self.mask.copy(), dict(self._seen), dict(self._tables)
        twin._fitted = dict(self._fitted)
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
        start = self.evidence
        self.reset(mask)
        change = self.evidence - start
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
        return np.column_stack(
            [
                np.full(_SLABS, -np.inf) if shape.share else self._evidence_by_slab(shape.alike)
                for shape in shapes
            ]
        )

    def _evidence_by_slab(self, shape: int) -> Floats:
        key = self._key[0], shape
        if key not in self._tables:
            subset, slabs = self._subset(), self.slabs()
            found = []
            for slab in slabs:
                near = self._near(subset, self._mode(subset, slab), slab)
                found.append(self._models(near, subset, np.array([slab]), np.array([shape])).evidence[0])
            self._tables[key] = np.array(found)
        return self._tables[key]

    def _models(self, near: Parabola, subset: list[int], slabs: Floats, shapes: NDArray[np.intp]) -> Models:
        """The subset's model under t slabs and shapes, from one parabola of its likelihood."""
        f, q = self.outcome.n_own, self.outcome.n_predictors
        holes = Holes(shapes, np.flatnonzero(~self._in_block[subset]), f, q)
        return under_priors(near, self._precisions(subset, slabs, shapes), holes)

    def set_prior(self, slab: float, shape: Shape) -> None:
        """Change the prior of the coefficients."""
        self.slab, self.shape = float(slab), shape.alike
        self.reset(self.mask)

    def _subset(self) -> list[int]:
        return [int(j) for u in np.flatnonzero(self.mask) for j in self.units.columns[u]]

    def _variance(self, slab: Floats, shape: NDArray[np.intp]) -> Floats:
        """Variance v of the normal factor of the prior of a column that is no part of a larger unit."""
        q = self.outcome.n_predictors
        return slab * q / (q + 2.0 * shape)

    def _precisions(self, subset: list[int], slabs: Floats, shapes: NDArray[np.intp]) -> Floats:
        """Prior precision (t, f + kq) of all parameters under t slabs and shapes."""
        variances = np.where(self._in_block[subset], slabs[:, None], self._variance(slabs, shapes)[:, None])
        own = np.broadcast_to(self.outcome.precision, (len(slabs), self.outcome.n_own))
        return np.hstack([own, np.repeat(1.0 / variances, self.outcome.n_predictors, axis=1)])

    def _mode(self, subset: list[int], slab: float) -> OutcomeMode:
        """The mode under a slab without a hole: those under other priors are near it."""
        own, known = self._last
        none = np.zeros(self.outcome.n_predictors)
        start = np.concatenate([own, *(known.get(j, none) for j in subset)])
        f = self.outcome.n_own
        mode = outcome_mode(self.outcome, self._columns[subset], slab, start)
        self._last = mode.coef[:f], dict(zip(subset, mode.coef[f:].reshape(-1, len(none)), strict=True))
        return mode

    def _near(self, subset: list[int], mode: OutcomeMode, slab: float) -> Parabola:
        """The likelihood near a mode under a slab."""
        prior = self._precisions(subset, np.array([slab]), _PLAIN)[0]
        return parabola_at(mode, self._columns[subset], prior)

    def _price(self) -> _Priced:
        subset, slab, shape = self._subset(), np.array([self.slab]), np.array([self.shape])
        mode = self._mode(subset, self.slab)
        near = self._near(subset, mode, self.slab)
        score = (mode.point.score @ self._columns.T).T
        bent = _Bent(mode.point.squares(self._columns, self._squared), self._cross(mode.point, subset))
        directions = score[:, 0].copy()
        directions[subset] = mode.coef[self.outcome.n_own :].reshape(-1, self.outcome.n_predictors)[:, 0]
        if not self._mixed:
            models = self._models(near, subset, slab, shape)
            moves = self._priced_moves(mode.point, near, models, score, bent, slab, self.shape)[0]
            return _Priced(mode.coef, float(models.evidence[0]), moves, directions)
        evidence, moves = self._mixture(subset, mode.point, near, score, bent)
        self._bend(moves, mode, near, score, bent)
        return _Priced(mode.coef, evidence, moves, directions)

    def _bend(self, moves: Floats, mode: OutcomeMode, near: Parabola, score: Floats, bent: _Bent) -> None:
        """Correct prices where the likelihood is no parabola from here to there, as near separation.

        What a fit says beyond one Newton step is the same under all priors, or nearly so: it is taken from
        the one under which the subset is fitted, without holes.
        """
        subset, slab = self._subset(), np.array([self.slab])
        doubtful = np.flatnonzero(moves > np.where(self.mask, -_STAYS, -_OUT))
        steps = {int(u): self._stepped(subset, mode, score, bent, int(u)) for u in doubtful}
        steps = {unit: step for unit, step in steps.items() if self._is_bent(*step)}
        if not steps:
            return
        models = self._models(near, subset, slab, _PLAIN)
        plain = self._priced_moves(mode.point, near, models, score, bent, slab, 0)[0]
        for unit, step in steps.items():
            moves[unit] += self._fit_beside(unit, step.subset) - mode.evidence - plain[unit]

    def _mixture(
        self, subset: list[int], point: OutcomePoint, near: Parabola, score: Floats, bent: _Bent
    ) -> tuple[float, Floats]:
        """Log evidence over all priors, and its changes by move."""
        models, slabs, shapes, table = self._under_all(subset, near)
        evidence, changes = float(logsumexp(table)), []
        likely = table > table.max() - _UNLIKELY
        for shape in np.unique(shapes[likely]):
            which = np.flatnonzero(likely & (shapes == shape))
            some = models.part(which)
            moves = self._priced_moves(point, near, some, score, bent, slabs[which], int(shape))
            changes.append(moves + table[which, None])
        return evidence, np.asarray(logsumexp(np.vstack(changes), axis=0) - evidence)

    def _under_all(
        self, subset: list[int], near: Parabola
    ) -> tuple[Models, Floats, NDArray[np.intp], Floats]:
        """Models under all priors that may count, slabs and shapes of these, and log evidence times prior."""
        # without a hole at zero the prior calls what has no effect a very small one: among many columns such
        # effects, none of them worth anything alone, add up to several that nobody has seen
        slabs, orders = self.slabs(), np.array([shape.alike for shape in self.shapes if shape.alike])
        spread = 0.5 * np.log(slabs)
        spread -= logsumexp(spread) + np.log(len(orders))
        # a size of effects that the data rule out without a hole at zero is no likelier with one
        plain = self._models(near, subset, slabs, np.zeros(_SLABS, dtype=np.intp))
        fitted = self._fitted_slabs(subset, near, plain, spread)
        kept = np.flatnonzero(fitted + spread > (fitted + spread).max() - _UNLIKELY)
        which, shapes = np.tile(kept, len(orders)), np.repeat(orders, len(kept))
        models = self._models(near, subset, slabs[which], shapes)
        beyond = (fitted - plain.evidence + spread)[which]
        table = np.nan_to_num(models.evidence + beyond, nan=-np.inf)
        return models, slabs[which], shapes, table

    def _fitted_slabs(self, subset: list[int], near: Parabola, plain: Models, spread: Floats) -> Floats:
        """Log evidence without holes by slab, by fits where the likelihood is no parabola up to there."""
        evidence, slabs, last = plain.evidence.copy(), self.slabs(), self._last
        best = float((evidence + spread)[int(np.argmin(np.abs(np.log(slabs / self.slab))))])
        likely = np.flatnonzero(evidence + spread > best - _UNLIKELY)
        for way in (likely[slabs[likely] < self.slab][::-1], likely[slabs[likely] > self.slab]):
            furthest = plain.coef[way[-1:]]
            if not any(self._is_bent(subset, coef, float(near.at(coef))) for coef in furthest):
                continue
            for done, i in enumerate(way):
                evidence[i] = self._mode(subset, float(slabs[i])).evidence
                best = max(best, float(evidence[i] + spread[i]))
                if evidence[i] + spread[i] < best - _UNLIKELY:
                    evidence[way[done:]] = -np.inf
                    break
        self._last = last
        return evidence

    def _stepped(self, subset: list[int], mode: OutcomeMode, score: Floats, bent: _Bent, unit: int) -> _Step:
        """One Newton step from a mode to the model with a unit, or to that without it."""
        f, q, moving = self.outcome.n_own, self.outcome.n_predictors, self.units.columns[unit]
        if self.mask[unit]:
            gone = f + np.flatnonzero(np.repeat(self.units.unit_of[subset] == unit, q))
            pull = np.linalg.solve(mode.inverse[np.ix_(gone, gone)], mode.coef[gone])
            coef = np.delete(mode.coef - mode.inverse[:, gone] @ pull, gone)
            left = [j for j in subset if self.units.unit_of[j] != unit]
            return _Step(left, coef, self._value_after(mode, coef, -0.5 * float(mode.coef[gone] @ pull)))
        size = len(moving) * q
        cross, push = bent.cross[:, moving].reshape(-1, size), score[moving].ravel()
        own = np.einsum("abmn,ln->mbla", mode.point.bend(self._columns[moving]), self._columns[moving])
        schur = own.reshape(size, size) - cross.T @ mode.inverse @ cross + np.eye(size) / self.slab
        added = np.linalg.solve(schur, push)
        coef = np.concatenate([mode.coef - mode.inverse @ (cross @ added), added])
        inside = [*subset, *map(int, moving)]
        return _Step(inside, coef, self._value_after(mode, coef, 0.5 * float(push @ added)))

    def _value_after(self, mode: OutcomeMode, coef: Floats, gain: float) -> float:
        """The log likelihood where a step from a mode leads, if it gains so much of the log posterior."""
        f, own = self.outcome.n_own, self.outcome.precision

        def price(coef: Floats) -> float:
            return 0.5 * float(own @ coef[:f] ** 2 + (coef[f:] ** 2).sum() / self.slab)

        return mode.point.value - price(mode.coef) + gain + price(coef)

    def _is_bent(self, subset: list[int], coef: Floats, value: float) -> bool:
        """Whether the log likelihood of a model is another than a parabola says."""
        f, q = self.outcome.n_own, self.outcome.n_predictors
        there = self.outcome.at(coef[:f], coef[f:].reshape(-1, q).T @ self._columns[subset])
        return not abs(there.value - value) < _BENT

    def _fit_beside(self, unit: int, subset: list[int]) -> float:
        """Log evidence without holes of the subset that a unit more or less makes of this one."""
        mask = self.mask ^ (np.arange(len(self.mask)) == unit)
        key = np.packbits(mask).tobytes(), self.slab
        if key not in self._fitted:
            last = self._last
            self._fitted[key] = self._mode(subset, self.slab).evidence
            self._last = last
        return self._fitted[key]

    def mix_priors(self) -> None:
        """Take evidence and prices over all slabs and shapes from now on, each as likely as the subset says.

        All shapes with a hole at zero, and all standard deviations of the effects, are equally likely
        beforehand. The prior that
        suits one subset best is too sure of itself: effects that were seen are larger than those still to be
        found.
        """
        self._mixed = True
        self._seen.clear()
        self.reset(self.mask)

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
        point, slab = self._mode(subset, self.slab).point, np.array([self.slab])
        gradient = np.concatenate([look.own, look.score[subset].ravel()])
        near = Parabola(look.coef, 0.0, gradient, stretch * point.hessian(self._columns[subset]), 0.0)
        own, cross = point.squares(self._columns, self._squared), self._cross(point, subset)
        bent = _Bent(stretch * own, stretch * cross)
        models = self._models(near, subset, slab, np.array([self.shape]))
        moves = self._priced_moves(point, near, models, look.score, bent, slab, self.shape, stretch)
        return moves[0], self._models(near, subset, slab, _PLAIN).coef[0]

    def look(self, coef: Floats | None = None) -> tuple["OutcomeLook", list[int]]:
        """An empty look at the model of the subset, or at other parameters of it, and its columns."""
        at = self._priced.coef if coef is None else coef
        shape = self.units.n_columns, self.outcome.n_predictors
        return OutcomeLook(at, np.zeros(self.outcome.n_own), np.zeros(shape)), self._subset()

    def _priced_moves(
        self,
        point: OutcomePoint,
        near: Parabola,
        models: Models,
        score: Floats,
        bent: _Bent,
        slabs: Floats,
        shape: int,
        stretch: float = 1.0,
    ) -> Floats:
        """Changes (t, units) of the log evidence by move under t slabs; `bent` is stretched already."""
        q, p, (t, size) = self.outcome.n_predictors, self.units.n_columns, models.coef.shape
        scores = score - np.einsum("kpa,tk->tpa", bent.cross, models.coef - near.coef)
        pull = (models.inverse @ bent.cross.reshape(size, p * q)).reshape(t, size, p, q)
        variance = self._variance(slabs, np.array(shape))
        ridge = np.multiply.outer(1.0 / variance, np.eye(q))[:, None]
        schur = bent.own - np.einsum("kpa,tkpb->tpab", bent.cross, pull) + ridge
        # of a column that the subset explains altogether only its prior is left
        schur = np.where(np.eye(q, dtype=bool), np.maximum(schur, 1e-9 * np.maximum(bent.own, 1.0)), schur)
        columns = np.zeros((p, t))
        single = np.flatnonzero(~self._in_block & ~self.mask[self.units.unit_of])
        columns[single] = _single_adds(schur[:, single], scores[:, single], variance[:, None], shape).T
        moves = self.units.spread(columns)
        moves = moves.copy() if moves is columns else moves
        for units, members in self.units.by_size:
            for unit, inside in zip(units, members, strict=True):
                moves[unit] = self._block_add(inside, point, bent, pull, scores, stretch, slabs)
        self._removes(moves, models, slabs, shape)
        return moves.T

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

    def _block_add(
        self,
        columns: NDArray[np.intp],
        point: OutcomePoint,
        bent: _Bent,
        pull: Floats,
        score: Floats,
        stretch: float,
        slabs: Floats,
    ) -> Floats:
        """Changes (t,) when these columns enter together."""
        size = len(columns) * self.outcome.n_predictors
        own = stretch * np.einsum("abmn,ln->mbla", point.bend(self._columns[columns]), self._columns[columns])
        inside = np.einsum("kma,tklb->tmalb", bent.cross[:, columns], pull[:, :, columns])
        schur = (own - inside).reshape(-1, size, size) + np.multiply.outer(1.0 / slabs, np.eye(size))
        return laplace_block_add(schur, score[:, columns].reshape(-1, size), slabs)

    def _removes(self, moves: Floats, models: Models, slabs: Floats, shape: int) -> None:
        f, q = self.outcome.n_own, self.outcome.n_predictors
        subset = np.array(self._subset(), dtype=np.intp)
        single, variance = ~self._in_block[subset], self._variance(slabs, np.array(shape))[:, None]
        means, blocks = models.means[:, single], models.blocks[:, single]
        alone = laplace_block_remove(blocks, means, variance)
        alone -= log_hole_factor(means, blocks, variance, shape)
        moves[self.units.unit_of[subset[single]]] = alone.T
        for unit in np.unique(self.units.unit_of[subset[~single]]):
            first, count = np.flatnonzero(self.units.unit_of[subset] == unit)[[0, -1]]
            places = slice(f + first * q, f + (count + 1) * q)
            moves[unit] = laplace_block_remove(
                models.inverse[:, places, places], models.coef[:, places], slabs
            )


def _single_adds(schur: Floats, score: Floats, variance: Floats, shape: int) -> Floats:
    change = laplace_block_add(schur, score, variance)
    if not shape:
        return change
    inverse = np.asarray(np.linalg.inv(schur))
    mean = (inverse @ score[..., None])[..., 0]
    return np.asarray(change + log_hole_factor(mean, inverse, variance, shape))


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
