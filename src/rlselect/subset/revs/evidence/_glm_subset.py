"""A subset of columns under a generalised linear model, and the reward of every move from it."""

import copy
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import (
    damped_newton,
    laplace_block_add,
    laplace_block_remove,
    laplace_moves,
    laplace_state,
    log_likelihood,
    mean_and_curvature,
    null_intercept,
    small_decrement,
    summed_problem,
)
from rlselect.subset.revs.evidence._block import Block
from rlselect.subset.revs.evidence._look import Look, Scores, glm_scores, paying_z
from rlselect.subset.revs.evidence._rows import Rows

Floats = NDArray[np.float64]

_NEWTON_STEPS = 6
# the root of the decrement is the distance to the mode in standard errors: with a hundredth, the price of
# removing an effect of z standard errors is off by z hundredths of a nat at most
_DECREMENT = 1e-4
# the columns of the subset are kept between the steps of a fit up to this size
_DESIGN_BYTES = 2**27


class GlmSubset:
    r"""Laplace log evidence of logistic or Poisson models, with all moves priced by one Newton step.

    Coefficients in the subset have the prior :math:`N(0, g)` on the standardised scale, the intercept is
    free. A chosen move is refitted by Newton steps from the one-step guess. ``shape=1`` multiplies the prior
    density of the column that moves by :math:`\beta^2 / g`, as in `RidgeSubset`.

    Parameters
    ----------
    rows : Rows
        The rows.
    units : Units
        What enters and leaves together.
    family : {"binomial", "poisson"}
        The distribution.
    slab : float, default=0.03
        g.
    shape : {0, 1}, default=1
        Whether the effects in the model are taken to be alike.
    """

    def __init__(self, rows: Rows, units: Units, family: str, slab: float = 0.03, shape: int = 1) -> None:
        self._rows = rows
        self.units = units
        self.family = family
        self.slab = slab
        self.shape = shape
        self._block_columns = [int(j) for u in units.blocks for j in units.columns[u]]
        self.mask = np.zeros(units.n_units, dtype=bool)
        self._subset: list[int] = []
        self._stretch = 1.0
        first = next(block for block in rows if block is not None)
        self._coef = np.array([null_intercept(family, first.y, first.weight, first.offset)])
        self.reset(self.mask)

    @property
    def size(self) -> int:
        """Number of units in the subset."""
        return int(np.count_nonzero(self.mask))

    @property
    def noise(self) -> float:
        """Dispersion, one by definition."""
        return 1.0

    @property
    def counted(self) -> float:
        """What the rows count: the sum of their weights."""
        return self._rows.counted

    def copy(self) -> "GlmSubset":
        """Another walker over the same rows."""
        twin = copy.copy(self)
        twin.mask, twin._subset, twin._coef = self.mask.copy(), list(self._subset), self._coef.copy()
        return twin

    apart = copy

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self._rows

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Stand in another subset; columns that stay keep their coefficients as a first guess."""
        old = dict(zip(self._subset, self._coef[1:], strict=True))
        self.mask = np.array(mask, dtype=bool)
        self._subset = [int(j) for u in np.flatnonzero(self.mask) for j in self.units.columns[u]]
        self._coef = np.array([self._coef[0], *(old.get(j, 0.0) for j in self._subset)])
        self._fit(steps=25)

    def grow(self, rows: Iterable, *, anew: bool = False, values: Floats | None = None) -> None:
        """Take more rows, or with `anew` these rows only, and stay in the subset."""
        if anew:
            self._rows.clear()
        for block_rows in rows:
            self._rows.append(block_rows)
        self.reset(self.mask)

    def _designs(self) -> list[Floats | None] | None:
        """Columns of the subset, kept for the steps of one fit; None when they are too many for that."""
        if 8 * self._rows.n_rows * (len(self._subset) + 1) > _DESIGN_BYTES:
            return None
        return [None if block is None else _design(block, self._subset) for block in self._rows]

    def _sums(self, coef: Floats, designs: list[Floats | None] | None) -> tuple[float, Floats, Floats]:
        """Minus the log posterior, its curvature and the score, summed over the rows."""
        k = len(coef)
        sums = [np.zeros((k, k)), np.zeros(k), np.zeros(())]

        def add(_: int, parts: tuple) -> None:
            for total, part in zip(sums, parts, strict=True):
                np.add(total, part, out=total)

        self._rows.pour(add, _newton_parts, self._subset, coef, self.family, each=designs)
        hessian, gradient, likelihood = sums
        prior = np.full(k, 1.0 / self.slab)
        prior[0] = 0.0
        hessian[np.diag_indices(k)] += prior
        loss = 0.5 * float(prior @ coef**2) - float(likelihood)
        return loss, hessian, gradient - prior * coef

    def _fit(self, steps: int = _NEWTON_STEPS) -> None:
        designs = self._designs()
        problem = summed_problem(lambda coef: self._sums(coef, designs))
        rule = small_decrement(_DECREMENT)
        # the last step is taken without a look at where it leads: the mode must not depend on the way there
        found = damped_newton(problem, self._coef[None], rule, most_steps=steps)
        fall = 0.5 * float(found.direction.decrement[0]) if found.converged[0] else 0.0
        self._coef, self._value = found.coef[0], fall - float(found.point.loss[0])
        self._price(designs)

    def _price(self, designs: list[Floats | None] | None) -> None:
        k, p = len(self._coef), self.units.n_columns
        score, curvatures, cross = np.zeros((2, p)), np.zeros(p), np.zeros((2, k, p))
        hessian = np.diag(np.full(k, 1.0 / self.slab))
        hessian[0, 0] = 0.0
        blocks = [members for _, members in self.units.by_size]
        within = [np.zeros((*members.shape, members.shape[1])) for members in blocks]

        def add(i: int, parts: tuple) -> None:
            products, squares, own, inside = parts
            np.add(hessian, own, out=hessian)
            score[i % 2] += products[0]
            cross[i % 2] += products[1:]
            np.add(curvatures, squares, out=curvatures)
            for total, part in zip(within, inside, strict=True):
                total += part

        self._rows.pour(add, _price_parts, self._subset, self._coef, self.family, blocks, each=designs)
        self._inverse = np.asarray(np.linalg.pinv(hessian, hermitian=True))
        self._logdet = float(np.linalg.slogdet(hessian)[1]) + (k - 1) * np.log(self.slab)
        self._score_parts, self._residual, self._within = score, score.sum(axis=0), within
        self._cross_parts, self._cross, self._curvature = cross, cross.sum(axis=0), curvatures
        self._schur = laplace_state(self._cross, self._inverse, curvatures, self.slab)

    @property
    def evidence(self) -> float:
        """Laplace log evidence of the subset (the shape factor apart)."""
        return self._value - 0.5 * self._logdet

    @property
    def alike(self) -> float:
        """Log of the shape factor of the subset, zero when it is not in use."""
        free = ~np.isin(self._subset, self._block_columns)
        if not self.shape or not free.any():
            return 0.0
        size = self._coef[1:] ** 2 + np.diagonal(self._inverse)[1:]
        return float(np.log(size[free] / self.slab).sum())

    def moves(self) -> Floats:
        """Change of the log evidence when each unit is toggled."""
        slopes, inverse = self._coef[1:], self._inverse[1:, 1:]
        columns = laplace_moves(self._residual, self._schur, self.slab, self._subset, inverse, slopes)
        if self.shape:
            size = (self._residual / self._schur) ** 2 + 1.0 / self._schur
            size[self._subset] = slopes**2 + np.diagonal(inverse)
            change = np.log(size / self.slab)
            change[self._subset] *= -1.0
            change[self._block_columns] = 0.0
            columns += change
        moves = self.units.spread(columns)
        for (units, members), within in zip(self.units.by_size, self._within, strict=True):
            moves[units] = self._block_adds(members, within)
        for unit in np.flatnonzero(self.mask & self.units.is_block):
            moves[unit] = self._block_remove(int(unit))
        return moves

    def _block_adds(self, columns: NDArray[np.intp], within: Floats) -> Floats:
        across = self._cross[:, columns]
        pull = np.tensordot(self._inverse, across, axes=1)
        schur = within + np.eye(columns.shape[1]) / self.slab - np.einsum("kbi,kbj->bij", across, pull)
        return laplace_block_add(schur, self._residual[columns], self.slab)

    def _block_remove(self, unit: int) -> float:
        places = [self._subset.index(j) + 1 for j in self.units.columns[unit]]
        return laplace_block_remove(self._inverse[np.ix_(places, places)], self._coef[places], self.slab)

    def prepare(self, unit: int, values: Floats) -> None:
        """Nothing to prepare: the rows are at hand."""

    def at_hand(self, values: Floats) -> NDArray[np.intp]:
        """None: every move takes passes over the rows."""
        return np.empty(0, dtype=np.intp)

    def trim(self, values: Floats, keep: NDArray[np.intp]) -> None:
        """Nothing to drop."""

    def toggle(self, unit: int) -> None:
        """Add the unit when it is out, remove it when it is in, and refit."""
        entering = not self.mask[unit]
        for j in self.units.columns[unit]:
            if entering:
                step = self._residual[j] / self._schur[j] if len(self.units.columns[unit]) == 1 else 0.0
                change = (self._inverse @ self._cross[:, j]) * step
                size = len(change)
                self._coef[:size] = self._coef[:size] - change
                self._coef = np.append(self._coef, step)
                self._subset.append(int(j))
            else:
                place = self._subset.index(int(j))
                self._coef = np.delete(self._coef, place + 1)
                self._subset.pop(place)
        self.mask[unit] = entering
        self._fit()

    def varies(self) -> NDArray[np.bool_]:
        """Columns that are not constant."""
        return self._curvature > 1e-18 * self._rows.n_rows

    def z_values(self) -> Floats:
        """|z| of every column: of its coefficient inside, of adding it outside."""
        z = np.abs(self._residual) / np.sqrt(self._schur)
        z[self._subset] = np.abs(self._coef[1:]) / np.sqrt(np.diagonal(self._inverse)[1:])
        return z

    def tangle(self, which: NDArray[np.bool_]) -> float:
        """Largest share of the curvature of one of these columns that the (other) columns inside explain."""
        varies = self.varies()
        left = self._schur - 1.0 / self.slab
        left[self._subset] = 1.0 / np.diagonal(self._inverse)[1:] - 1.0 / self.slab
        left /= np.where(varies, self._curvature, 1.0)
        return 1.0 - float(left[which & varies].min(initial=1.0))

    def look(self, at: "GlmSubset | None" = None) -> tuple[Look, Callable[[Block], Scores]]:
        """A look at the model of the subset, and what makes its scores out of a block.

        With `at`, at the coefficients that this subset has there.
        """
        coef = (self if at is None else at)._coef.copy()
        task = partial(glm_scores, subset=list(self._subset), coef=coef, family=self.family)
        return Look(self.units.n_columns, coef), task

    def seen(self, look: Look) -> "GlmSubset":
        """The subset as one Newton step from the model of a look finds it on all rows of the look.

        Scores are those of the rows looked at, the curvature is that of the rows here, in proportion. It can
        price its moves, but make none.
        """
        twin = self.copy()
        twin._stretch = stretch = look.weight / self.counted
        prior = np.full(len(look.coef), 1.0 / self.slab)
        prior[0] = 0.0
        hessian = stretch * (np.linalg.pinv(self._inverse, hermitian=True) - np.diag(prior)) + np.diag(prior)
        score = look.products.sum(axis=0)
        gradient = np.append(look.total.sum(), score[self._subset]) - prior * look.coef
        twin._inverse = np.asarray(np.linalg.pinv(hessian, hermitian=True))
        step = twin._inverse @ gradient
        twin._coef = look.coef + step
        twin._cross, twin._cross_parts = stretch * self._cross, stretch * self._cross_parts
        twin._score_parts = look.products - 0.5 * step @ twin._cross
        twin._residual = twin._score_parts.sum(axis=0)
        twin._curvature = stretch * self._curvature
        twin._within = [stretch * within for within in self._within]
        twin._schur = laplace_state(twin._cross, twin._inverse, twin._curvature, self.slab)
        return twin

    def paying(self, price: float) -> Floats:
        """|z| from which on each column outside pays the price of a unit."""
        sizes = np.bincount(self.units.unit_of)[self.units.unit_of]
        return paying_z(self._schur, self.slab, self.shape, price, sizes)

    def resolution(self) -> Floats:
        """Standard error that the coefficient of each column outside has, all columns of unit variance."""
        return np.sqrt(self.noise / self._schur)

    def leftover(self, probes: NDArray[np.intp]) -> float:
        """Signal that two parts of the rows agree is left outside the subset, in standard errors.

        As in `RidgeSubset`, on the score; the columns of the curvature matrix are those of the `probes`.
        """
        outside = self.varies()
        outside[self._subset] = False
        probes = probes[outside[probes]]
        if not len(probes):
            return 0.0
        scale = np.sqrt(self._curvature[outside])
        first, second = self._score_parts[:, outside] / scale
        # what the two parts have in common because the coefficients come from both
        own, other = self._cross_parts[:, :, outside] / scale
        agreed = float(first @ second) + float((own * (self._inverse @ other)).sum())
        products = -self._cross[:, probes].T @ self._inverse @ self._cross

        def add(_: int, part: Floats) -> None:
            np.add(products, self._stretch * part, out=products)

        self._rows.pour(add, _probe_parts, self._subset, self._coef, self.family, probes)
        products = products[:, outside] / np.multiply.outer(np.sqrt(self._curvature[probes]), scale)
        norm = float((products**2).sum()) * (np.count_nonzero(outside) / len(probes))
        return agreed / max(0.5 * float(np.sqrt(norm)), 1e-12)


def _design(block: Block, subset: list[int]) -> Floats:
    design = np.ones((len(subset) + 1, len(block)))
    design[1:] = block.columns(subset)
    return design


def _predictor(block: Block, subset: list[int], coef: Floats, design: Floats | None) -> tuple[Floats, Floats]:
    design = _design(block, subset) if design is None else design
    eta = coef @ design
    return design, eta if block.offset is None else eta + block.offset


def _newton_parts(
    block: Block, subset: list[int], coef: Floats, family: str, design: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """What a block adds to the curvature, the gradient and the log likelihood."""
    design, eta = _predictor(block, subset, coef, design)
    mean, curvature = mean_and_curvature(family, eta)
    return (
        (design * block.weighted(curvature)) @ design.T,
        design @ block.weighted(block.y - mean),
        float(block.weighted(log_likelihood(family, block.y, eta)).sum()),
    )


def _price_parts(
    block: Block,
    subset: list[int],
    coef: Floats,
    family: str,
    members: list[NDArray[np.intp]],
    design: Floats | None = None,
) -> tuple[Floats, Floats, Floats, list[Floats]]:
    """What a block adds to the scores and curvatures of all columns, and their products with the subset."""
    design, eta = _predictor(block, subset, coef, design)
    mean, curvature = mean_and_curvature(family, eta)
    weight = block.weighted(curvature)
    bent = design * weight
    products = block.products(np.vstack([block.weighted(block.y - mean), bent]))
    inside = [block.within(columns, weight) for columns in members]
    return products, block.squares(weight), bent @ design.T, inside


def _probe_parts(
    block: Block, subset: list[int], coef: Floats, family: str, probes: NDArray[np.intp]
) -> Floats:
    _, eta = _predictor(block, subset, coef, None)
    _, curvature = mean_and_curvature(family, eta)
    return block.products(block.columns(probes) * block.weighted(curvature))
