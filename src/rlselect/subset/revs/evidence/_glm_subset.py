"""A subset of columns under a generalised linear model, and the reward of every move from it."""

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import (
    DISPERSION_PROOF,
    TiedMoves,
    Ties,
    damped_newton,
    invert_positive,
    laplace_block_add,
    laplace_block_remove,
    likeliest_dispersion,
    null_intercept,
    prior_logdet,
    small_decrement,
    summed_problem,
    tied_adds,
    tied_removes,
)
from rlselect.learn import subset_key
from rlselect.subset.revs.evidence._block import Block
from rlselect.subset.revs.evidence._glm_parts import (
    block_design,
    dispersion_parts,
    newton_parts,
    price_parts,
    probe_parts,
    tie_parts,
)
from rlselect.subset.revs.evidence._look import Look, Scores, glm_scores, paying_z
from rlselect.subset.revs.evidence._recall import Recall
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES, Shape, tie, tied_rows

Floats = NDArray[np.float64]

_NEWTON_STEPS = 6
# the root of the decrement is the distance to the mode in standard errors: with a hundredth, the price of
# removing an effect of z standard errors is off by z hundredths of a nat at most
_DECREMENT = 1e-4
# the columns of the subset are kept between the steps of a fit up to this size
_DESIGN_BYTES = 2**27
_SLABS = 12
# a dispersion that differs by less changes no price
SAME_DISPERSION = 0.02
# what a subset is solved to
_SOLVED = (
    "_subset",
    "_coef",
    "_value",
    "_inverse",
    "_logdet",
    "_ties",
    "_score_parts",
    "_residual",
    "_within",
    "_cross_parts",
    "_cross",
    "_curvature",
    "_adds",
    "_moves",
)


class GlmSubset:
    r"""Laplace log evidence of logistic or count models, with all moves priced by one Newton step.

    Coefficients in the subset have the prior :math:`N(0, g K)` on the standardised scale, the intercept is
    free; K is the identity, or ties the effects of correlated columns (`tied_rows`). A chosen move is
    refitted by Newton steps from the one-step guess. ``shape=1`` multiplies the prior density of the column
    that moves by :math:`\beta^2 / g`, as in `RidgeSubset`. Counts are Poisson, or negative binomial with the
    `dispersion` that `learn_dispersion` finds.

    Parameters
    ----------
    rows : Rows
        The rows.
    units : Units
        What enters and leaves together.
    family : {"binomial", "poisson", "negative_binomial"}
        The distribution; Poisson counts turn out to be negative binomial where that is more likely.
    slab : float, default=0.03
        g.
    shape : {0, 1}, default=1
        Whether the effects in the model are taken to be alike.
    revisits : bool, default=False
        Whether a walk will come back to its subsets, so that these are remembered.
    """

    shapes = SHAPES
    relearns = False

    def __init__(
        self,
        rows: Rows,
        units: Units,
        family: str,
        slab: float = 0.03,
        shape: int = 1,
        *,
        revisits: bool = False,
    ) -> None:
        self._rows = rows
        self.units = units
        self._proof = 0.0 if family == "negative_binomial" else DISPERSION_PROOF
        self.family = family = "poisson" if family == "negative_binomial" else family
        self.slab = slab
        self.shape = shape
        self.share = 0.0
        self.dispersion = 0.0
        self._recall = Recall() if revisits else None
        self._moves: Floats | None = None
        self._block_columns = [int(j) for u in units.blocks for j in units.columns[u]]
        self._in_block = np.zeros(units.n_columns, dtype=bool)
        self._in_block[self._block_columns] = True
        # rows of the correlation matrix; walkers over the same rows share them
        self._known: dict[int, Floats] = {}
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
        twin.mask, twin._subset = self.mask.copy(), list(self._subset)
        twin._recall = None if self._recall is None else self._recall.copy()
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
        self._known = {}
        self._recall = None if self._recall is None else Recall()
        self.reset(self.mask)

    def _tied(self, share: float) -> Ties | None:
        """Prior correlation of the subset's coefficients with all; None where they are independent."""
        if not share:
            return None
        new = [j for j in self._subset if j not in self._known]
        if new:
            self._known.update(zip(new, self._correlations(new), strict=True))
        rows = np.array([self._known[j] for j in self._subset]).reshape(-1, self.units.n_columns)
        return tie(tied_rows(rows, self._subset, share, self._in_block), self._subset)

    def _correlations(self, columns: list[int]) -> Floats:
        sums = np.zeros((len(columns) + 1, self.units.n_columns))
        squares = np.zeros(self.units.n_columns)

        def add(_: int, parts: tuple) -> None:
            np.add(sums, parts[0], out=sums)
            np.add(squares, parts[1], out=squares)

        self._rows.pour(add, tie_parts, columns)
        n, mean = self.counted, sums[0] / self.counted
        about = sums[1:] - n * np.outer(mean[columns], mean)
        spread = np.sqrt(np.maximum(squares - n * mean**2, 1e-300))
        return about / np.outer(spread[columns], spread)

    def unit_correlations(self) -> Floats:
        """Correlations of the single columns, units by units; 0 of larger units."""
        columns = [int(members[0]) for members in self.units.columns]
        between = self._correlations(columns)[:, columns]
        return np.where(self.units.is_block | self.units.is_block[:, None], 0.0, between)

    def _designs(self) -> list[Floats | None] | None:
        """Columns of the subset, kept for the steps of one fit; None when they are too many for that."""
        if 8 * self._rows.n_rows * (len(self._subset) + 1) > _DESIGN_BYTES:
            return None
        return [None if block is None else block_design(block, self._subset) for block in self._rows]

    def _sums(
        self, coef: Floats, prior: Floats, designs: list[Floats | None] | None
    ) -> tuple[float, Floats, Floats]:
        """Minus the log posterior, its curvature and the score, summed over the rows."""
        k = len(coef)
        sums = [np.zeros((k, k)), np.zeros(k), np.zeros(())]

        def add(_: int, parts: tuple) -> None:
            for total, part in zip(sums, parts, strict=True):
                np.add(total, part, out=total)

        self._rows.pour(add, newton_parts, self._subset, coef, self._likelihood, each=designs)
        hessian, gradient, likelihood = sums
        pull = prior @ coef
        return 0.5 * float(coef @ pull) - float(likelihood), hessian + prior, gradient - pull

    @property
    def _likelihood(self) -> tuple[str, float]:
        return self.family, self.dispersion

    def _prior(self, slab: float, ties: Ties | None) -> Floats:
        """Precision of the intercept and the coefficients."""
        k = len(self._coef)
        if ties is None:
            prior = np.diag(np.full(k, 1.0 / slab))
            prior[0, 0] = 0.0
            return prior
        prior = np.zeros((k, k))
        prior[1:, 1:] = ties.inverse / slab
        return prior

    def _mode(
        self, prior: Floats, designs: list[Floats | None] | None, steps: int
    ) -> tuple[Floats, float, Floats]:
        """Coefficients at the mode, the log posterior there, and the Hessian next to it."""
        problem = summed_problem(lambda coef: self._sums(coef, prior, designs))
        rule = small_decrement(_DECREMENT)
        # the last step is taken without a look at where it leads: the mode must not depend on the way there
        found = damped_newton(problem, self._coef[None], rule, most_steps=steps)
        fall = 0.5 * float(found.direction.decrement[0]) if found.converged[0] else 0.0
        return found.coef[0], fall - float(found.point.loss[0]), found.direction.hessian[0]

    def _fit(self, steps: int = _NEWTON_STEPS) -> None:
        designs = self._designs()
        self._ties = self._tied(self.share)
        prior = self._prior(self.slab, self._ties)
        self._coef, self._value, _ = self._mode(prior, designs, steps)
        self._price(designs, prior)

    def _price(self, designs: list[Floats | None] | None, hessian: Floats) -> None:
        """Sums over the rows at the mode; the Hessian comes with the part of the prior."""
        k, p = len(self._coef), self.units.n_columns
        score, curvatures, cross = np.zeros((2, p)), np.zeros(p), np.zeros((2, k, p))
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

        self._rows.pour(add, price_parts, self._subset, self._coef, self._likelihood, blocks, each=designs)
        self._set_prices(hessian, score, cross, curvatures, within)

    def _set_prices(
        self, hessian: Floats, score: Floats, cross: Floats, curvatures: Floats, within: list[Floats]
    ) -> None:
        """Keep what moves are priced by; scores and products with the subset come in two parts."""
        self._inverse, logdet = invert_positive(hessian)
        self._logdet = logdet + prior_logdet(len(self._coef) - 1, self.slab, self._ties)
        self._score_parts, self._residual, self._within = score, score.sum(axis=0), tuple(within)
        self._cross_parts, self._cross, self._curvature = cross, cross.sum(axis=0), curvatures
        self._adds, self._moves = self._priced_adds(), None

    def _priced_adds(self) -> TiedMoves:
        return tied_adds(
            self._residual,
            self._curvature,
            self._cross,
            self._inverse,
            self._coef[1:],
            self._ties,
            self.slab,
        )

    @property
    def evidence(self) -> float:
        """Laplace log evidence of the subset (the shape factor apart)."""
        return self._value - 0.5 * self._logdet

    @property
    def alike(self) -> float:
        """Log of the shape factor of the subset, zero when it is not in use."""
        variance = np.diagonal(self._inverse)[1:]
        return self._alike(self._coef[1:], variance, self.slab) if self.shape else 0.0

    def _alike(self, coef: Floats, variance: Floats, slab: float) -> float:
        free = ~self._in_block[self._subset]
        return float(np.log((coef**2 + variance)[free] / slab).sum())

    def moves(self) -> Floats:
        """Change of the log evidence when each unit is toggled; not to be changed in place."""
        if self._moves is None:
            self._moves = self._priced()
            if self._recall is not None:
                self._recall.put(self._name, {name: getattr(self, name) for name in _SOLVED})
                # a memory of its own: the list goes on changing
                self._subset = list(self._subset)
        return self._moves

    @property
    def _name(self) -> tuple:
        """Of what is remembered: the subset, the prior of its coefficients and the dispersion."""
        return subset_key(self.mask), self.slab, self.shape, self.share, self.dispersion

    def _priced(self) -> Floats:
        adds, subset = self._adds, self._subset
        removes = tied_removes(self._inverse[1:, 1:], self._coef[1:], self._ties, self.slab)
        columns = adds.fall - 0.5 * adds.logdet
        columns[subset] = removes.fall - 0.5 * removes.logdet
        if self.shape:
            size = adds.mean**2 + adds.variance
            size[subset] = removes.mean**2 + removes.variance
            change = np.log(size / self.slab)
            change[subset] *= -1.0
            change[self._block_columns] = 0.0
            columns += change
        moves = self.units.spread(columns)
        for (units, members), within in zip(self.units.by_size, self._within, strict=True):
            moves[units] = self._block_adds(members, within)
        for unit in np.flatnonzero(self.mask & self.units.is_block):
            moves[unit] = self._block_remove(int(unit))
        return moves

    @property
    def at_once(self) -> bool:
        """Whether all rows are one block in memory."""
        blocks = list(self._rows)
        return len(blocks) == 1 and blocks[0] is not None

    def slabs(self) -> Floats:
        """The prior variances that `evidence_table` compares.

        As in `RidgeSubset`: the smallest still makes an effect at the detection limit of 2 log p likely.
        """
        information = float(np.median(self._curvature))
        smallest = min(2.0 * np.log(max(self.units.n_units, 3)) / max(information, 1e-300), 1.0)
        return np.geomspace(smallest, 4.0, _SLABS)

    def evidence_table(self, shapes: Sequence[Shape]) -> Floats:
        """Log evidence of the subset for every slab and shape, shape (n_slabs, n_shapes)."""
        slabs, designs = self.slabs(), self._designs()
        table = np.zeros((len(slabs), len(shapes)))
        for share in {shape.share for shape in shapes}:
            ties = self._tied(share)
            for i, slab in enumerate(slabs):
                coef, value, hessian = self._mode(self._prior(slab, ties), designs, _NEWTON_STEPS)
                inverse, logdet = invert_positive(hessian)
                evidence = value - 0.5 * (logdet + prior_logdet(len(coef) - 1, slab, ties))
                alike = self._alike(coef[1:], inverse.diagonal()[1:], slab)
                for column, shape in enumerate(shapes):
                    if shape.share == share:
                        table[i, column] = evidence + shape.alike * alike
        return table

    def set_prior(self, slab: float, shape: Shape) -> None:
        """Change the prior of the coefficients."""
        self.slab, self.shape, self.share = float(slab), shape.alike, shape.share
        self._fit()

    def learn_dispersion(self) -> bool:
        """Set the dispersion of counts to the most likely one; whether it has changed."""
        if self.family != "poisson":
            return False

        def likelihoods(grid: Floats) -> Floats:
            sums = np.zeros(len(grid))

            def add(_: int, part: Floats) -> None:
                np.add(sums, part, out=sums)

            self._rows.pour(add, dispersion_parts, self._subset, self._coef, grid)
            return sums

        best = likeliest_dispersion(likelihoods, self._proof)
        if abs(best - self.dispersion) <= SAME_DISPERSION * best:
            return False
        self.dispersion = best
        self._fit()
        return True

    def _block_adds(self, columns: NDArray[np.intp], within: Floats) -> Floats:
        across = self._cross[:, columns]
        pull = np.tensordot(self._inverse, across, axes=1)
        schur = within + np.eye(columns.shape[1]) / self.slab - np.einsum("kbi,kbj->bij", across, pull)
        return laplace_block_add(schur, self._residual[columns], self.slab)

    def _block_remove(self, unit: int) -> float:
        places = [self._subset.index(j) + 1 for j in self.units.columns[unit]]
        inside = self._inverse[np.ix_(places, places)]
        return float(laplace_block_remove(inside, self._coef[places], self.slab))

    def prepare(self, unit: int, values: Floats) -> None:
        """Nothing to prepare: the rows are at hand."""

    def at_hand(self, values: Floats) -> NDArray[np.intp]:
        """None: every move takes passes over the rows."""
        return np.empty(0, dtype=np.intp)

    def trim(self, values: Floats, keep: NDArray[np.intp]) -> None:
        """Nothing to drop."""

    def toggle(self, unit: int) -> None:
        """Add the unit when it is out, remove it when it is in, and refit."""
        self.mask[unit] = entering = not self.mask[unit]
        solved = None if self._recall is None else self._recall.get(self._name)
        if solved is not None:
            self.__dict__.update(solved)
            self._subset = list(solved["_subset"])
            return
        for j in self.units.columns[unit]:
            if entering:
                step = self._adds.mean[j] if len(self.units.columns[unit]) == 1 else 0.0
                change = (self._inverse @ self._cross[:, j]) * step
                rest = np.zeros(len(self._coef) - len(change))
                self._coef = np.append(self._coef - np.append(change, rest), step)
                self._subset.append(int(j))
            else:
                place = self._subset.index(int(j))
                self._coef = np.delete(self._coef, place + 1)
                self._subset.pop(place)
        self._fit()

    def varies(self) -> NDArray[np.bool_]:
        """Columns that are not constant."""
        return self._curvature > 1e-18 * self._rows.n_rows

    def z_values(self) -> Floats:
        """|z| of every column: of its coefficient inside, of adding it outside."""
        z = np.abs(self._adds.mean) / np.sqrt(self._adds.variance)
        z[self._subset] = np.abs(self._coef[1:]) / np.sqrt(np.diagonal(self._inverse)[1:])
        return z

    def directions(self) -> Floats:
        """Numbers with the sign of each column's coefficient: inside, or once it is added."""
        signs = np.array(self._adds.mean, dtype=np.float64)
        signs[self._subset] = self._coef[1:]
        return signs

    def tangle(self, which: NDArray[np.bool_]) -> float:
        """Largest share of the curvature of one of these columns that the (other) columns inside explain."""
        varies = self.varies()
        left = 1.0 / self._adds.variance - 1.0 / self.slab
        left[self._subset] = 1.0 / np.diagonal(self._inverse)[1:] - 1.0 / self.slab
        left /= np.where(varies, self._curvature, 1.0)
        return 1.0 - float(left[which & varies].min(initial=1.0))

    def look(self, at: "GlmSubset | None" = None) -> tuple[Look, Callable[[Block], Scores]]:
        """A look at the model of the subset, and what makes its scores out of a block.

        With `at`, at the coefficients that this subset has there.
        """
        coef = (self if at is None else at)._coef.copy()
        task = partial(glm_scores, subset=list(self._subset), coef=coef, likelihood=self._likelihood)
        return Look(self.units.n_columns, coef), task

    def seen(self, look: Look) -> "GlmSubset":
        """The subset as one Newton step from the model of a look finds it on all rows of the look.

        Scores are those of the rows looked at, the curvature is that of the rows here, in proportion. It can
        price its moves, but make none.
        """
        twin = self.copy()
        twin._stretch = stretch = look.weight / self.counted
        prior = self._prior(self.slab, self._ties)
        hessian = stretch * (np.linalg.pinv(self._inverse, hermitian=True) - prior) + prior
        score = look.products.sum(axis=0)
        gradient = np.append(look.total.sum(), score[self._subset]) - prior @ look.coef
        twin._inverse = np.asarray(np.linalg.pinv(hessian, hermitian=True))
        step = twin._inverse @ gradient
        twin._coef = look.coef + step
        twin._cross, twin._cross_parts = stretch * self._cross, stretch * self._cross_parts
        twin._score_parts = look.products - 0.5 * step @ twin._cross
        twin._residual = twin._score_parts.sum(axis=0)
        twin._curvature = stretch * self._curvature
        twin._within = tuple(stretch * within for within in self._within)
        twin._adds, twin._moves = twin._priced_adds(), None
        return twin

    def paying(self, price: float) -> Floats:
        """|z| from which on each column outside pays the price of a unit."""
        sizes = np.bincount(self.units.unit_of)[self.units.unit_of]
        return paying_z(1.0 / self._adds.variance, self.slab, self.shape, price, sizes)

    def resolution(self) -> Floats:
        """Standard error that the coefficient of each column outside has, all columns of unit variance."""
        return np.sqrt(self._adds.variance)

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

        self._rows.pour(add, probe_parts, self._subset, self._coef, self._likelihood, probes)
        products = products[:, outside] / np.multiply.outer(np.sqrt(self._curvature[probes]), scale)
        norm = float((products**2).sum()) * (np.count_nonzero(outside) / len(probes))
        return agreed / max(0.5 * float(np.sqrt(norm)), 1e-12)
