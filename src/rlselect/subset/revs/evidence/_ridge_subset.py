"""A subset of columns under ridge regression, and the reward of every move from it."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import (
    TiedMoves,
    Ties,
    invert_positive,
    pair_gains,
    prior_logdet,
    ridge_add,
    ridge_block_add,
    ridge_block_remove,
    ridge_evidence_grid,
    ridge_moves,
    ridge_remove,
    ridge_state,
    tied_adds,
    tied_removes,
)
from rlselect.learn import subset_key
from rlselect.subset.revs.evidence._block import Block
from rlselect.subset.revs.evidence._gram import PANEL, LazyGram, Moments
from rlselect.subset.revs.evidence._look import Look, Scores, paying_z
from rlselect.subset.revs.evidence._prior_width import WIDE, widened
from rlselect.subset.revs.evidence._recall import Recall
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES, Shape, tie, tied_rows

Floats = NDArray[np.floating]

# rank-one updates are redone from scratch after so many moves, before rounding shows
_REDO = 200
# what a unit may be short of paying, in nats, for its columns to be expected in a pass over all rows
_NEAR = 2.0
# share of the variance of a column that counts as left beside the subset
_LEAST_LEFT = 1e-6
# what a subset is solved to
_SOLVED = (
    "_subset",
    "_inverse",
    "_coef",
    "_quad",
    "_residual",
    "_schur",
    "_logdet",
    "_ties",
    "_adds",
    "_since",
    "_moves",
)


class Between(NamedTuple):
    """Columns outside a subset that are units of their own, and how they go together beside it.

    `z` are their signed z values, `correlation` is told by rows that count as `counted`.
    """

    columns: NDArray[np.intp]
    z: Floats
    correlation: Floats
    counted: float


class RidgeSubset:
    r"""Log evidence of Gaussian linear models, with all moves priced at once.

    Coefficients in the subset have the prior :math:`N(0, g \sigma^2)` on the standardised scale; with
    ``shape=1`` its density is multiplied by :math:`\beta^2 / (g \sigma^2)` [1]_, which says that the effects
    in the model are alike rather than spread down to zero. That factor is taken at the posterior of the
    column that moves, columns of larger units excepted. With ``share`` > 0 the coefficients have the prior
    correlation :math:`share R + (1 - share) I` (`tied_rows`). All three are read off the data by
    `evidence_table`.

    Parameters
    ----------
    gram : LazyGram
        Sums of products of the rows.
    units : Units
        What enters and leaves together.
    slab : float
        g.
    revisits : bool, default=False
        Whether a walk will come back to its subsets, so that these are remembered.

    References
    ----------
    .. [1] Johnson, Rossell (2012), Bayesian model selection in high-dimensional settings, JASA 107.
    """

    shapes: tuple[Shape, ...] = SHAPES
    relearns = False
    widest = WIDE
    _between: "Between | None" = None

    def __getstate__(self) -> dict[str, Any]:
        # a checkpoint has no use for it: it is made anew
        return {name: value for name, value in self.__dict__.items() if name != "_between"}

    def __init__(self, gram: LazyGram, units: Units, slab: float = 0.1, *, revisits: bool = False) -> None:
        self._gram = gram
        self.units = units
        self.slab = slab
        self.shape = 0
        self.share = 0.0
        self.dispersion = 0.0
        self._recall = Recall() if revisits else None
        self._ties: Ties | None = None
        self._adds: TiedMoves | None = None
        self._moves: Floats | None = None
        self._block_columns = [int(j) for u in units.blocks for j in units.columns[u]]
        self._watched = [gram.watch(columns) for _, columns in units.by_size]
        self._in_block = np.zeros(units.n_columns, dtype=bool)
        self._in_block[self._block_columns] = True
        self.mask = np.zeros(units.n_units, dtype=bool)
        self._rows = np.zeros((2 * PANEL, units.n_columns))
        self.reset(self.mask)

    @property
    def size(self) -> int:
        """Number of units in the subset."""
        return int(np.count_nonzero(self.mask))

    @property
    def noise(self) -> float:
        """Estimated noise variance in units of the variance of y."""
        return self._quad / self._degrees

    @property
    def counted(self) -> float:
        """What the rows count: the sum of their weights."""
        return self._gram.n

    def copy(self) -> "RidgeSubset":
        """Another walker over the same Gram matrix."""
        twin = copy.copy(self)
        twin.mask, twin._rows, twin._subset = self.mask.copy(), self._rows.copy(), list(self._subset)
        twin._recall = None if self._recall is None else self._recall.copy()
        return twin

    def apart(self) -> "RidgeSubset":
        """Another walker that shares the rows only: what it asks for changes nothing here."""
        twin = self.copy()
        twin._gram = self._gram.copy()
        return twin

    def with_response(self, y: NDArray[np.float64]) -> "RidgeSubset":
        """The empty subset of the same columns for another response, less its offset."""
        gram = self._gram.with_response(y)
        return RidgeSubset(gram, self.units, self.slab, revisits=self._recall is not None)

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self._gram.rows

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Stand in another subset, solved from scratch (also after the rows have grown)."""
        self.mask = np.array(mask, dtype=bool)
        self._subset = [int(j) for u in np.flatnonzero(self.mask) for j in self.units.columns[u]]
        self._degrees = max(self._gram.n - 1.0, 1.0)
        self._within = [self._gram.within(number) for number in self._watched]
        self._gram.fetch(self._subset)
        self._ensure(len(self._subset))
        for i, j in enumerate(self._subset):
            self._rows[i] = self._gram.column(j)
        self._solve()

    def grow(self, rows: Iterable, *, anew: bool = False, values: Floats | None = None) -> None:
        """Take more rows, or with `anew` these rows only, and stay in the subset.

        The `values` of the moves tell which columns will be asked for next: a pass over all rows serves them
        too.
        """
        near: list[int] = []
        if values is not None:
            most = max(self._gram.panel + PANEL // 2, int(np.count_nonzero(values > -_NEAR)))
            near += [int(j) for u in _best(values, most) for j in self.units.columns[u]]
        self._gram.grow(rows, anew=anew, expect=near)
        self._recall = None if self._recall is None else Recall()
        self.reset(self.mask)

    def _ensure(self, k: int) -> None:
        while k + 1 > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])

    def _tied(self, share: float) -> Floats:
        """Prior correlation of the subset's coefficients with all."""
        root = 1.0 / np.sqrt(np.maximum(self._gram.diagonal, 1e-300))
        rows = self._rows[: len(self._subset)] * root * root[self._subset, None]
        return tied_rows(rows, self._subset, share, self._in_block)

    def _solve(self) -> None:
        self._moves = self._ties = self._adds = self._between = None
        if self.share:
            self._solve_tied()
            return
        state = ridge_state(
            self._rows[: len(self._subset)],
            self._subset,
            self._gram.cross,
            self._gram.diagonal,
            self._gram.total,
            self.slab,
        )
        self._inverse, self._coef, self._quad, self._residual, self._schur, self._logdet = state
        self._quad = max(self._quad, 1e-12 * self._gram.total, 1e-300)
        self._since = 0

    def _solve_tied(self) -> None:
        subset, rows = self._subset, self._rows[: len(self._subset)]
        self._ties = tie(self._tied(self.share), subset)
        self._inverse, logdet = invert_positive(rows[:, subset] + self._ties.inverse / self.slab)
        self._coef = self._inverse @ self._gram.cross[subset]
        self._quad = max(self._gram.total - float(self._coef @ self._gram.cross[subset]), 1e-300)
        self._quad = max(self._quad, 1e-12 * self._gram.total)
        self._residual = self._gram.cross - self._coef @ rows
        self._logdet = logdet + prior_logdet(len(subset), self.slab, self._ties)
        self._adds = tied_adds(
            self._residual,
            self._gram.diagonal,
            rows,
            self._inverse,
            self._coef,
            self._ties,
            self.slab,
        )
        self._schur = 1.0 / self._adds.variance

    @property
    def evidence(self) -> float:
        """Log evidence of the subset, up to a constant of the data (the shape factor apart)."""
        return -0.5 * self._degrees * float(np.log(self._quad)) - 0.5 * self._logdet

    @property
    def alike(self) -> float:
        """Log of the shape factor of the subset, zero when it is not in use."""
        free = ~self._in_block[self._subset]
        if not self.shape or not free.any():
            return 0.0
        size = self._coef**2 + self.noise * np.diagonal(self._inverse)
        return float(np.log(size[free] / (self.slab * self.noise)).sum())

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
        """Of what is remembered: the subset and the prior of its coefficients."""
        return subset_key(self.mask), self.slab, self.shape, self.share

    def _priced(self) -> Floats:
        columns = (
            self._tied_moves(self._adds)
            if self._adds is not None
            else ridge_moves(
                self._residual,
                self._schur,
                self._quad,
                self._degrees,
                self.slab,
                self._subset,
                self._inverse,
                self._coef,
            )
        )
        if self.shape:
            columns += self._shape_moves()
        moves = self.units.spread(columns)
        for (units, members), within in zip(self.units.by_size, self._within, strict=True):
            moves[units] = self._block_adds(members, within)
        for unit in np.flatnonzero(self.mask & self.units.is_block):
            moves[unit] = self._block_remove(int(unit))
        return moves

    def _tied_moves(self, adds: TiedMoves) -> Floats:
        removes = tied_removes(self._inverse, self._coef, self._ties, self.slab)
        fall, logdet = adds.fall.copy(), adds.logdet.copy()
        fall[self._subset], logdet[self._subset] = removes.fall, removes.logdet
        left = np.maximum(1.0 - 2.0 * fall / self._quad, 1e-12)
        change = -0.5 * self._degrees * np.log(left)
        return change - 0.5 * logdet

    def _shape_moves(self) -> Floats:
        # log of E[beta^2] / (g s^2) for the column that moves
        scale = self.slab * self.noise
        size = self._residual / self._schur if self._adds is None else self._adds.mean.copy()
        size *= size
        size += self.noise / self._schur
        if self._subset:
            size[self._subset] = self._coef**2 + self.noise * np.diagonal(self._inverse)
        change = np.log(np.maximum(size / scale, 1e-300))
        change[self._subset] *= -1.0
        change[self._block_columns] = 0.0
        return change

    def _block_adds(self, columns: NDArray[np.intp], within: Floats) -> Floats:
        across = self._rows[: len(self._subset)][:, columns]
        pull = np.tensordot(self._inverse, across, axes=1)
        schur = within + np.eye(columns.shape[1]) / self.slab - np.einsum("kbi,kbj->bij", across, pull)
        return ridge_block_add(schur, self._residual[columns], self._quad, self._degrees, self.slab)

    def _block_remove(self, unit: int) -> float:
        places = [self._subset.index(j) for j in self.units.columns[unit]]
        inverse = self._inverse[np.ix_(places, places)]
        return ridge_block_remove(inverse, self._coef[places], self._quad, self._degrees, self.slab)

    def prepare(self, unit: int, values: Floats) -> None:
        """Have the columns of a unit ready, and in the same pass those of the next best ones."""
        if all(self._gram.known(int(j)) for j in self.units.columns[unit]):
            return
        best = _best(values, self._gram.panel)
        self._gram.fetch(int(j) for u in [unit, *best] for j in self.units.columns[u])

    def at_hand(self, values: Floats) -> NDArray[np.intp]:
        """The most promising units of one column whose products are known: trying them needs no rows."""
        known = [len(c) == 1 and self._gram.known(int(c[0])) for c in self.units.columns]
        values = np.where(known, values, -np.inf)
        best = _best(values, 2 * PANEL)
        return best[np.isfinite(values[best])]

    def trim(self, values: Floats, keep: NDArray[np.intp]) -> None:
        """Drop columns that are neither in the subset nor near it, before more rows make them dearer."""
        most = self._gram.panel + PANEL // 2
        near = [int(j) for u in _best(values, most) for j in self.units.columns[u]]
        # columns that are kept for good are computed while there are few rows
        self._gram.fetch(keep)
        self._gram.forget([*self._subset, *near, *keep])

    def toggle(self, unit: int) -> None:
        """Add the unit when it is out, remove it when it is in."""
        self.mask[unit] = entering = not self.mask[unit]
        self._between = None
        solved = None if self._recall is None else self._recall.get(self._name)
        if solved is not None:
            self.__dict__.update(solved)
            self._subset = list(solved["_subset"])
            self._ensure(len(self._subset))
            self._rows[: len(self._subset)] = self._gram.get(self._subset, self._subset)
            return
        self._moves = None
        columns = [int(j) for j in self.units.columns[unit]]
        if entering:
            for j, column in zip(columns, self._gram.get(columns, self._subset), strict=True):
                self._enter(j, column)
        else:
            for j in columns:
                self._leave(j)
        self._since += 1
        if self.share or self._since >= _REDO:
            self._solve()

    def _enter(self, j: int, column: Floats) -> None:
        k = len(self._subset)
        self._ensure(k + 1)
        if self.share:
            self._rows[k] = column
            self._subset.append(j)
            return
        schur, residual = self._schur[j], self._residual[j]
        inverse, direction = ridge_add(self._rows[:k], column, self._subset, j, self._inverse, self._schur)
        step = residual / schur
        # the last column of the inverse is (-pull, 1) / schur
        self._coef = np.append(self._coef, 0.0) + inverse[:, k] * residual
        self._inverse = inverse
        self._quad = max(self._quad - residual * step, 1e-12 * self._gram.total)
        self._residual = self._residual - direction * step
        direction *= direction
        direction /= schur
        self._schur = np.maximum(self._schur - direction, 1e-9 / self.slab)
        self._logdet += float(np.log(self.slab * schur))
        self._rows[k] = column
        self._subset.append(j)

    def _leave(self, j: int) -> None:
        k, place = len(self._subset), self._subset.index(j)
        if self.share:
            self._rows[place : k - 1] = self._rows[place + 1 : k]
            self._subset.pop(place)
            return
        coef = self._coef[place]
        row = self._inverse[place]
        inverse, direction, schur = ridge_remove(self._rows[:k], place, self._inverse)
        self._coef = np.delete(self._coef - row * (coef * schur), place)
        self._inverse = inverse
        self._quad += coef * coef * schur
        self._residual = self._residual + direction * (coef * schur)
        direction *= direction
        direction *= schur
        self._schur = self._schur + direction
        self._schur[j], self._residual[j] = schur, coef * schur
        self._logdet -= float(np.log(self.slab * schur))
        self._rows[place : k - 1] = self._rows[place + 1 : k]
        self._subset.pop(place)

    def learn_dispersion(self) -> bool:
        """The noise is known from the residuals: nothing to learn."""
        return False

    def slabs(self) -> Floats:
        """The prior variances that `evidence_table` compares.

        The smallest still makes an effect at the detection limit of 2 log p likely: below it the prior says
        that there is nothing to find, and any noise would do. The largest one is a matter of `widen`.
        """
        smallest = min(2.0 * np.log(max(self.units.n_units, 3)) / self._gram.n, 1.0)
        return np.geomspace(smallest, self.widest, 24)

    def widen(self) -> bool:
        """Compare larger prior variances too, where rows allow for it; whether they do."""
        before, self.widest = self.widest, widened(self.widest, len(self._subset), self._gram.n)
        return self.widest > before

    def evidence_table(self, shapes: Sequence[Shape]) -> Floats:
        """Log evidence of the subset for every slab and shape, shape (n_slabs, n_shapes)."""
        slabs = self.slabs()
        k = len(self._subset)
        if not k:
            return np.zeros((len(slabs), len(shapes)))
        free = ~self._in_block[self._subset]
        columns = {}
        for share in {shape.share for shape in shapes}:
            root = np.linalg.cholesky(self._tied(share)[:, self._subset]) if share else None
            evidence, coef, variance, noise = ridge_evidence_grid(
                self._rows[:k, self._subset],
                self._gram.cross[self._subset],
                self._gram.total,
                self._degrees,
                slabs,
                root,
            )
            alike = np.log((coef**2 + variance)[:, free] / (slabs * noise)[:, None]).sum(axis=1)
            columns[share] = evidence, alike
        return np.column_stack([columns[s.share][0] + s.alike * columns[s.share][1] for s in shapes])

    def set_prior(self, slab: float, shape: Shape) -> None:
        """Change the prior of the coefficients."""
        self.slab, self.shape, self.share = float(slab), shape.alike, shape.share
        self._solve()

    def moments(self, columns: NDArray[np.intp]) -> Moments | None:
        """Sums of products of some columns and y, None where some were not made."""
        return self._gram.moments(columns)

    def varies(self) -> NDArray[np.bool_]:
        """Columns that are not constant."""
        return self._gram.varies

    def z_values(self) -> Floats:
        """|z| of every column: of its coefficient inside, of adding it outside."""
        z = np.abs(self._residual) / np.sqrt(self._schur * self.noise)
        z[self._subset] = np.abs(self._coef) / np.sqrt(np.diagonal(self._inverse) * self.noise)
        return z

    def directions(self) -> Floats:
        """Numbers with the sign of each column's coefficient: inside, or once it is added."""
        signs = self._residual.copy() if self._adds is None else self._adds.mean.copy()
        signs[self._subset] = self._coef
        return signs

    def tangle(self, which: NDArray[np.bool_]) -> float:
        """Largest share of the variance of one of these columns that the (other) columns inside explain."""
        left = self._schur - 1.0 / self.slab
        left[self._subset] = 1.0 / np.diagonal(self._inverse) - 1.0 / self.slab
        left /= self._gram.diagonal
        return 1.0 - float(left[which & self._gram.varies].min(initial=1.0))

    def look(self, at: "RidgeSubset | None" = None) -> tuple[Look, Callable[[Block], Scores]]:
        """A look at the model of the subset, and what makes its scores out of a block.

        With `at`, at the coefficients that this subset has there.
        """
        coef = self._coef if at is None else at._coef
        return Look(self.units.n_columns, coef), self._gram.scores(self._subset, coef)

    def seen(self, look: Look) -> "RidgeSubset":
        """The subset as it would stand on all rows of a look, with the products of the columns known here."""
        twin = self.copy()
        twin._gram = self._gram.seen(look, self._subset)
        twin.reset(self.mask)
        return twin

    def sketch(self) -> "RidgeSubset | None":
        """The subset with the products of all columns at hand, as some rows tell them; None of too many.

        It prices moves that no row has to be read for, with errors of second order.
        """
        left = self._residual.copy()
        if not self.share:
            left[self._subset] = self._coef / self.slab
        gram = self._gram.sketch(self._subset, self._coef, left, self._quad)
        if gram is None:
            return None
        twin = self.copy()
        twin._gram, twin._recall = gram, None
        twin.reset(self.mask)
        return twin

    def between(self) -> Between | None:
        """How the columns that may enter alone go together beside the subset; None of too many columns."""
        across = self._gram.across()
        if self._between is None and across is not None:
            self._between = self._seen_between(*across)
        return self._between

    def _seen_between(self, every: Floats, counted: float) -> Between:
        outside = self._gram.varies & ~self._in_block
        outside[self._subset] = False
        columns = np.flatnonzero(outside)
        left = every[np.ix_(columns, columns)].astype(np.float32, copy=False)
        if self._subset:
            inside = every[self._subset][:, self._subset].astype(np.float64)
            inverse, _ = invert_positive(inside + np.eye(len(inside)) / (self.slab * self._gram.n))
            both = every[self._subset][:, columns]
            left -= both.T @ (inverse.astype(np.float32) @ both)
        root = np.sqrt(np.maximum(np.diagonal(left), _LEAST_LEFT))
        left /= root
        left /= root[:, None]
        np.fill_diagonal(left, 1.0)
        error = np.maximum(self._schur[columns] - 1.0 / self.slab, _LEAST_LEFT * self._gram.n) * self.noise
        return Between(columns, self._residual[columns] / np.sqrt(error), left, counted)

    def paying_pairs(self, between: Between, price: float, slabs: Iterable[float]) -> NDArray[np.intp]:
        """Pairs of units that pay so much together under one of these priors, the best first."""
        # no prior makes more of a fall than the likelihood does
        least = -np.expm1(-2.0 * price / self._degrees) * self._degrees
        both = np.argwhere(np.triu(pair_gains(between.z, between.correlation)) > least)
        columns = between.columns[both]
        root = np.sqrt(np.maximum(self._schur[columns] - 1.0 / self.slab, _LEAST_LEFT * self._gram.n))
        blocks = root[:, :, None] * root[:, None, :]
        blocks *= between.correlation[both[:, :, None], both[:, None, :]]
        values = np.full(len(both), -np.inf)
        for slab in slabs:
            under = ridge_block_add(
                blocks + np.eye(2) / slab, self._residual[columns], self._quad, self._degrees, slab
            )
            values = np.maximum(values, under)
        order = np.argsort(-values, kind="stable")
        return self.units.unit_of[columns[order[values[order] > price]]]

    def paying(self, price: float) -> Floats:
        """|z| from which on each column outside pays the price of a unit."""
        sizes = np.bincount(self.units.unit_of)[self.units.unit_of]
        z = paying_z(self._schur, self.slab, self.shape, price, sizes)
        # a large effect also lowers the noise that it is measured by
        return np.sqrt(-self._degrees * np.expm1(-z * z / self._degrees))

    def resolution(self) -> Floats:
        """Standard error that the coefficient of each column outside has, all columns of unit variance."""
        return np.sqrt(self.noise / self._schur)

    def leftover(self, probes: NDArray[np.intp]) -> float:
        """Signal that two parts of the rows agree is left outside the subset, in standard errors.

        The sum over columns outside of the product of the two parts' correlations with the residual,
        corrected for the coefficients that both parts share, has mean zero when nothing is left. Its variance
        is a quarter of the squared norm of the residual Gram matrix (per row), which is estimated from a few
        columns drawn at random, the `probes`.
        """
        outside = self._gram.varies.copy()
        outside[self._subset] = False
        probes = probes[outside[probes]]
        if not len(probes):
            return 0.0
        self._gram.fetch(probes)
        first, second = self._gram.part_residual(self._subset, self._coef)
        agreed = float(first[outside] @ second[outside]) / (self._gram.n * self.noise)
        explained = self._gram.diagonal + 1.0 / self.slab - self._schur
        agreed += 0.25 * float(explained[outside].sum()) / self._gram.n
        columns = np.array([self._gram.column(int(j)) for j in probes])
        left = columns - columns[:, self._subset] @ self._inverse @ self._rows[: len(self._subset)]
        norm = float((left[:, outside] ** 2).sum()) / self._gram.n**2
        norm *= np.count_nonzero(outside) / len(probes)
        return agreed / max(0.5 * float(np.sqrt(norm)), 1e-12)


def _best(values: Floats, most: int) -> NDArray[np.intp]:
    """The most promising moves; by default as many as one pass over the rows can serve."""
    if len(values) <= most:
        return np.arange(len(values))
    return np.argpartition(-values, most)[:most]
