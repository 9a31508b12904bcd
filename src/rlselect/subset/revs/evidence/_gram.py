"""A Gram matrix that knows only the columns that were asked for."""

import copy
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.revs.evidence._block import Block, refuse_overflow
from rlselect.subset.revs.evidence._look import Look, Scores, linear_scores
from rlselect.subset.revs.evidence._placement import Placed
from rlselect.subset.revs.evidence._rows import Rows

Floats = NDArray[np.floating]

# columns multiplied in one pass: enough for BLAS-3 speed, few enough for a short wait
PANEL = 16
# where the rows have to be decoded again for every pass
_SLOW_PANEL = 64
_SLOTS = 1024
# all columns multiplied with each other take half the work of each with all others, and leave nothing to be
# asked for later; beyond this many they would not all be remembered
_WHOLE = 0.5
# how columns go together is told by as many rows as take so many products (about 5 ms), of no more columns
_ACROSS_WORK, _MOST_ACROSS = 4e8, 2000


class Sums(NamedTuple):
    """What one block adds: products with ones, y and the known columns, squares, and sums of y."""

    products: Floats
    squares: Floats
    weight: float
    y: float
    yy: float


class Moments(NamedTuple):
    """Weight, means, and products about the means of some columns and y, on the scale of the data.

    `rounding` is the error of a product, in standard deviations.
    """

    n: float
    mean: Floats
    about: Floats
    rounding: float = 0.0


def _sums(block: Block, known: list[int], center: float, unit: float) -> Sums:
    y = block.y if block.offset is None else block.y - block.offset
    y = (y - center) / unit
    whole = len(known) == block.X.shape[1]
    # one pass over the block serves the sums, X'y and every known column
    left = np.empty((2 + (0 if whole else len(known)), len(block)), dtype=block.X.dtype)
    left[0], left[1] = 1.0, y
    if not whole:
        left[2:] = block.columns(known)
    wy = block.weighted(y)
    weight = float(len(block)) if block.weight is None else float(block.weight.sum())
    # what overflows is found by who adds the sums
    with np.errstate(over="ignore", invalid="ignore"):
        products = block.products(block.weighted(left))
        if whole:
            gram = block.gram()
            squares = np.diagonal(gram)
            products = np.concatenate([products, gram[known]])
        else:
            squares = block.squares(block.weight)
    return Sums(products, squares, weight, float(wy.sum()), float(wy @ y))


def _panel(block: Block, new: list[int]) -> Floats:
    return block.products(block.weighted(block.columns(new)))


def _about(block: Block) -> tuple[Floats, Floats, float]:
    ones = block.weighted(np.ones((1, len(block))))
    return block.gram(), block.products(ones)[0], float(ones.sum())


def _within(block: Block, columns: NDArray[np.intp]) -> Floats:
    return block.within(columns, block.weight)


class LazyGram:
    """Sums of products of a growing set of rows, centred and scaled to unit variance.

    ``X'x_j`` is computed for the columns that are asked for and kept up to date as rows come: with k columns
    known, a row costs O(p k) instead of O(p^2), and no p x p matrix is formed.

    Parameters
    ----------
    rows : Rows
        The rows; `grow` takes more of them.
    n_columns : int
        Number of design columns p.
    n_parts : int, default=1
        Keep the sums of so many interleaved parts of the blocks apart.

    Attributes
    ----------
    n : float
        Sum of the weights.
    cross, diagonal : array of shape (p,)
        X'y and the diagonal of X'X, in the common scale; zero and one for constant columns.
    total : float
        y'y in that scale.
    varies : bool array of shape (p,)
        Columns that are not constant in the rows seen.
    panel : int
        Columns that are worth computing in one pass over the rows.
    """

    def __init__(self, rows: Rows, n_columns: int, n_parts: int = 1) -> None:
        self._rows = rows
        self._p = n_columns
        self._parts = n_parts
        self.panel = _SLOW_PANEL if rows.slow else PANEL
        self._weight = np.zeros(n_parts)
        self._sum = np.zeros((n_parts, n_columns))
        self._square = np.zeros(n_columns)
        self._xy = np.zeros((n_parts, n_columns))
        self._y = np.zeros(n_parts)
        self._yy = 0.0
        self._center: float | None = None
        self._unit = 1.0
        self._faint = 0.0
        self._stretch = 1.0
        self._look: tuple[Floats, Floats] | None = None
        self._across: tuple[Floats, float] | None = None
        self._slot: dict[int, int] = {}
        self._raw = np.zeros((n_parts, PANEL, n_columns))
        self._column = np.zeros((PANEL, n_columns))
        self._blocks: list[tuple[NDArray[np.intp], Floats]] = []
        self._lock = threading.Lock()
        self.n = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    @property
    def rows(self) -> Rows:
        """The rows so far."""
        return self._rows

    def copy(self) -> "LazyGram":
        """The same sums of the same rows, with its own memory of the columns that were asked for."""
        twin = copy.copy(self)
        twin._slot, twin._raw, twin._column = dict(self._slot), self._raw.copy(), self._column.copy()
        return twin

    def with_response(self, y: NDArray[np.float64]) -> "LazyGram":
        """The same rows with another response, less its offset: products of columns are not made again."""
        # where all columns are known nobody will write into what is shared
        twin = copy.copy(self) if len(self._slot) == self._p else self.copy()
        twin._blocks, twin._center, twin._yy = [], None, 0.0
        twin._y, twin._xy = np.zeros_like(self._y), np.zeros_like(self._xy)
        start = 0
        for i, block in enumerate(self._rows):
            assert block is not None
            mine = replace(block, y=y[start : start + len(block)], offset=None)
            if twin._center is None:
                twin._center = twin._set_scale(mine.y if mine.weight is None else mine.y[mine.weight > 0])
            sums = _sums(mine, [], twin._center, twin._unit)
            twin._xy[i % self._parts] += sums.products[1]
            twin._y[i % self._parts] += sums.y
            twin._yy += sums.yy
            start += len(block)
        twin._refresh()
        return twin

    def grow(self, rows: Iterable, *, anew: bool = False, expect: Iterable[int] = ()) -> None:
        """Take more rows, block by block, and bring all sums up to date.

        `anew` drops the rows so far; columns that are expected to be asked for then come in the same pass.
        """
        if anew:
            self._expect([int(j) for j in expect])
            # the rows so far are a sample, the first of all rows may be of one kind
            self._across = self.across() if len(self._slot) < self._p else None
            self._rows.clear()
            for sums in (self._weight, self._sum, self._square, self._xy, self._y, self._raw):
                sums[...] = 0.0
            for _, within in self._blocks:
                within[...] = 0.0
            self._yy = 0.0
        placed = []
        known = sorted(self._slot, key=self._slot.__getitem__)
        for block_rows in rows:
            part = len(self._rows) % self._parts
            block = self._rows.append(block_rows)
            if isinstance(block, Placed):
                placed.append((part, block))
                continue
            if self._center is None:
                y = block.y if block.offset is None else block.y - block.offset
                self._center = self._set_scale(y if block.weight is None else y[block.weight > 0])
            self._add(part, _sums(block, known, self._center, self._unit))
            for columns, within in self._blocks:
                within += block.within(columns, block.weight)
            # a view would keep all of the rows that it came with while the next ones are read
            del block
        answers = self._rows.ask([block for _, block in placed], _sums, known, self._center, self._unit)
        for (part, _), sums in zip(placed, answers, strict=True):
            self._add(part, sums)
        if placed and self._blocks:
            self._watch_again()
        self._refresh()

    def _expect(self, columns: list[int]) -> None:
        """Have room for more columns in the sums that are about to be made anew, for all if they are many."""
        wanted = len({*self._slot, *columns})
        # to decode the rows again for a column that was forgotten costs more than all columns now
        if (self._rows.slow or _WHOLE * self._p <= wanted) and self._p <= _SLOTS:
            self._slot = {}
            columns = list(range(self._p))
        self._make_room(dict.fromkeys(j for j in columns if j not in self._slot))

    def _add(self, part: int, sums: "Sums") -> None:
        if not np.isfinite(sums.squares.sum()):
            refuse_overflow(~np.isfinite(sums.squares))
        self._weight[part] += sums.weight
        self._y[part] += sums.y
        self._yy += sums.yy
        self._sum[part] += sums.products[0]
        self._xy[part] += sums.products[1]
        self._square += sums.squares
        self._raw[part, : len(sums.products) - 2] += sums.products[2:]

    @property
    def _y_scale(self) -> tuple[float, float]:
        return float(self._center or 0.0), self._unit

    def _set_scale(self, y: Floats) -> float:
        """Mean of the first y: far from zero its digits would be lost in the squares, a huge one overflow."""
        center = float(y.mean()) if len(y) else 0.0
        largest = float(np.abs(y - center).max(initial=0.0))
        rounding = 1e-13 * abs(center)
        self._unit = max(largest, rounding) or 1.0
        # in that unit, the variance that the rounding of a constant can have
        self._faint = 1e-4 if largest <= rounding else 0.0
        return center

    def _refresh(self) -> None:
        self.n = float(self._weight.sum())
        total = self._sum.sum(axis=0)
        self._mean = total / self.n
        variance = self._square / self.n - self._mean**2
        # what is left of a constant after a shift is rounding
        rounding = np.where(self._rows.scale[0] != 0, 1e-28, 0.0)
        self.varies = variance > np.maximum(1e-12 * self._square / self.n, rounding)
        self._sd = np.where(self.varies, np.sqrt(np.where(self.varies, variance, 1.0)), np.inf)
        self._y_mean = float(self._y.sum() / self.n)
        spread = self._yy / self.n - self._y_mean**2
        varied = spread > max(1e-12 * self._yy / self.n, self._faint)
        self._y_sd = float(np.sqrt(spread)) if varied else np.inf
        self.total = self.n if varied else 0.0
        self.cross = (self._xy.sum(axis=0) - total * self._y_mean) / (self._sd * self._y_sd)
        self.diagonal = np.where(self.varies, self.n, 1.0)
        known = np.fromiter(self._slot, dtype=np.intp, count=len(self._slot))
        self._scale_columns(known)

    def _scale_columns(self, which: NDArray[np.intp]) -> None:
        slots = [self._slot[j] for j in which]
        raw = self._raw[:, slots].sum(axis=0)
        raw -= np.multiply.outer(self._mean[which], self._sum.sum(axis=0))
        self._column[slots] = self._stretch * raw / self._sd / self._sd[which, None]

    def known(self, j: int) -> bool:
        """Whether column j has been computed."""
        return j in self._slot

    def fetch(self, which: Iterable[int]) -> None:
        """Compute more columns over all rows so far. Cost O(rows p) each."""
        with self._lock:
            new = list(dict.fromkeys(int(j) for j in which if j not in self._slot))
            for start in range(0, len(new), 8 * PANEL):
                self._fetch_panel(new[start : start + 8 * PANEL])

    def _fetch_panel(self, new: list[int]) -> None:
        fresh = np.zeros((self._parts, len(new), self._p))

        def add(i: int, products: Floats) -> None:
            fresh[i % self._parts] += products

        self._rows.pour(add, _panel, new)
        first = len(self._slot)
        self._make_room(new)
        self._raw[:, first : first + len(new)] = fresh
        self._scale_columns(np.array(new, dtype=np.intp))

    def _make_room(self, new: Collection[int]) -> None:
        first = len(self._slot)
        while first + len(new) > self._raw.shape[1]:
            self._raw = np.concatenate([self._raw, np.zeros_like(self._raw)], axis=1)
            self._column = np.concatenate([self._column, np.zeros_like(self._column)], axis=0)
        self._slot.update({j: first + i for i, j in enumerate(new)})

    def get(self, which: list[int], keep: list[int]) -> Floats:
        """X'x_j of these columns, computed where they are not known; when too many are, only `keep` stays."""
        with self._lock:
            new = [j for j in which if j not in self._slot]
            if new and len(self._slot) > _SLOTS:
                self._forget([*keep, *which])
            if new:
                self._fetch_panel(new)
            return self._column[[self._slot[j] for j in which]]

    def forget(self, but: Iterable[int]) -> None:
        """Drop all columns but these."""
        with self._lock:
            self._forget(but)

    def _forget(self, but: Iterable[int]) -> None:
        keep = list(dict.fromkeys(int(j) for j in but if j in self._slot))
        slots = [self._slot[j] for j in keep]
        self._raw[:, : len(keep)] = self._raw[:, slots]
        self._column[: len(keep)] = self._column[slots]
        self._slot = {j: i for i, j in enumerate(keep)}

    def watch(self, columns: NDArray[np.intp]) -> int:
        """Keep the products of the columns of each block (a row of `columns`); the number to ask for them."""
        self._blocks.append((columns, self._sum_within(columns)))
        return len(self._blocks) - 1

    def _sum_within(self, columns: NDArray[np.intp]) -> Floats:
        within = np.zeros((*columns.shape, columns.shape[1]))

        def add(_: int, products: Floats) -> None:
            np.add(within, products, out=within)

        self._rows.pour(add, _within, columns)
        return within

    def _watch_again(self) -> None:
        self._blocks = [(columns, self._sum_within(columns)) for columns, _ in self._blocks]

    def within(self, number: int) -> Floats:
        """X_b'X_b of every block b that is watched, shape (blocks, m, m)."""
        columns, within = self._blocks[number]
        mean, sd = self._mean[columns], self._sd[columns]
        centred = within - self._weight.sum() * mean[:, :, None] * mean[:, None, :]
        return self._stretch * centred / sd[:, :, None] / sd[:, None, :]

    def column(self, j: int) -> Floats:
        """X'x_j of a column that was fetched."""
        return self._column[self._slot[j]]

    def moments(self, columns: NDArray[np.intp]) -> Moments | None:
        """What a final model of these columns is made of, None where one of them was not fetched."""
        which = [int(j) for j in columns]
        if not all(j in self._slot for j in which):
            return None
        k = len(which)
        total = np.append(self._sum.sum(axis=0)[which], self._y.sum())
        raw = np.empty((k + 1, k + 1))
        raw[:k, :k] = self._raw[:, [self._slot[j] for j in which]].sum(axis=0)[:, which]
        raw[:k, :k] = 0.5 * (raw[:k, :k] + raw[:k, :k].T)
        raw[:k, k] = raw[k, :k] = self._xy.sum(axis=0)[which]
        raw[k, k] = self._yy
        mean = total / self.n
        about = raw - self.n * np.outer(mean, mean)
        # a mean far from zero takes its square out of the digits of a variance
        square, spread = np.diagonal(raw), np.diagonal(about)
        lost = np.max(square / np.maximum(spread, 1e-300 + 1e-12 * square), initial=1.0)
        shift, scale = (
            np.append(v[which], v_y) for v, v_y in zip(self._rows.scale, self._y_scale, strict=True)
        )
        return Moments(
            self.n, shift + scale * mean, about * np.outer(scale, scale), float(lost * self._rows.rounding)
        )

    def across(self) -> tuple[Floats, float] | None:
        """Correlations of all columns, and what the rows that tell them count; None where they are too many.

        They are those of all rows where all products are known, else of some that were drawn first.
        """
        if self._across is None and len(self._slot) == self._p:
            return self._column[[self._slot[j] for j in range(self._p)]] / self.n, self.n / self._stretch
        if self._across is None and self._p <= _MOST_ACROSS:
            self._across = self._correlate(int(_ACROSS_WORK / self._p**2))
        return self._across

    def _correlate(self, n_rows: int) -> tuple[Floats, float]:
        raw, total, weight = np.zeros((self._p, self._p)), np.zeros(self._p), 0.0

        def add(_: int, sums: tuple[Floats, Floats, float]) -> None:
            nonlocal weight
            np.add(raw, sums[0], out=raw)
            np.add(total, sums[1], out=total)
            weight += sums[2]

        self._rows.pour_first(n_rows, add, _about)
        mean = total / max(weight, 1.0)
        spread = np.diagonal(raw) - mean * total
        varies = self.varies & (spread > 0)
        scale = np.where(varies, 1.0 / np.sqrt(np.where(varies, spread, 1.0)), 0.0)
        raw -= np.multiply.outer(mean, total)
        raw *= scale
        found = np.multiply(raw, scale[:, None], dtype=np.float32, casting="same_kind")
        np.fill_diagonal(found, 1.0)
        return found, weight

    def sketch(self, subset: list[int], coef: Floats, left: Floats, quad: float) -> "LazyGram | None":
        """The same sums with all products of columns, as `across` tells them; None where it does not.

        A model of the subset with these coefficients leaves what it leaves here: X'r is `left`, r'r is
        `quad`. What is off in the products meets only what is added to it.
        """
        across = self.across()
        if across is None:
            return None
        twin = copy.copy(self)
        twin._slot, twin._across = {j: j for j in range(self._p)}, across
        twin._column = self.n * across[0].astype(np.float64)
        twin._column[~self.varies] = twin._column[:, ~self.varies] = 0.0
        np.fill_diagonal(twin._column, self.diagonal)
        twin.cross = left + coef @ twin._column[subset]
        twin.total = quad + float(coef @ twin.cross[subset])
        return twin

    def scores(self, subset: list[int], coef: Floats) -> Callable[[Block], Scores]:
        """What makes the scores of a model of these columns out of a block, for a `Look`."""
        scaled = coef * self._y_sd / self._sd[subset]
        level = self._y_mean - float(scaled @ self._mean[subset])
        center, unit = self._y_scale
        return partial(linear_scores, subset=subset, coef=scaled, level=level, center=center, unit=unit)

    def seen(self, look: Look, subset: list[int]) -> "LazyGram":
        """The sums as all rows of a look would make them.

        X'y is that of the rows looked at; products of columns are those of the rows so far, in proportion.
        The model that was looked at has nearly solved the equations, and what is off in the products of
        columns meets only what is left of them: the error is of second order.
        """
        twin = self.copy()
        weight = float(self._weight.sum())
        twin._stretch, twin.n = look.weight / weight, look.weight
        twin._column *= twin._stretch
        twin.diagonal = np.where(self.varies, twin.n, 1.0)
        scores = (look.products - np.multiply.outer(look.total, self._mean)) / (self._sd * self._y_sd)
        fitted = look.coef @ twin._column[[self._slot[j] for j in subset]]
        left = (look.square - float(look.total.sum()) ** 2 / look.weight) / self._y_sd**2
        twin.cross = scores.sum(axis=0) + fitted
        twin.total = left + float(look.coef @ (2.0 * twin.cross[subset] - fitted[subset]))
        twin._look = scores, fitted
        return twin

    def part_residual(self, subset: list[int], coef: Floats) -> Floats:
        """x_j'(y - X_s coef) of every part apart, shape (n_parts, p)."""
        if self._look is not None:
            scores, fitted = self._look
            change = coef @ self._column[[self._slot[j] for j in subset]] - fitted
            return scores - change / len(scores)
        slots = [self._slot[j] for j in subset]
        scaled = coef / self._sd[subset]
        residual = self._xy / self._y_sd - np.einsum("k,akp->ap", scaled, self._raw[:, slots])
        # centre with the common means: subtract mean_j times the part's summed residual, and the mean's part
        level = self._y_mean / self._y_sd - scaled @ self._mean[subset]
        residual -= self._sum * level
        summed = self._y / self._y_sd - self._sum[:, subset] @ scaled - level * self._weight
        residual -= np.multiply.outer(summed, self._mean)
        return residual / self._sd
