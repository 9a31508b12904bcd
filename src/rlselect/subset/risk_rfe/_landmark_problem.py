"""Elimination from a kernel machine on very many rows, whose functions are spanned by some of them (Nyström).

With landmarks ``z_1, ..., z_m`` among the rows, ``f = sum_k a_k k(., z_k)``, and the machine is a ridge
regression on m columns: O(n m^2) instead of O(n^3), and no matrix larger than some rows by m is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import stop_if_late
from rlselect.machines import AdditiveKernel

__all__ = ["LandmarkProblem", "choose_landmarks"]

Array = NDArray[np.float64]
# numbers of a block of rows by landmarks that are held at a time
_BLOCK = 2_000_000
# candidates whose products are summed in one pass over the rows
_PARCEL = 64
# rows that rank removals in haste: so many kernel values in all
_CELLS, _FEWEST_ROWS, _MOST_ROWS = 20_000_000, 200, 2000
# directions of the landmarks' own kernel matrix below this share of the largest are rounding, mostly
_LEAST = 1e-7


def choose_landmarks(X: Array, count: int) -> Array:
    """Distinct rows, drawn with a fixed seed: neither their order nor copies of rows change the answer."""
    rows = np.unique(X, axis=0)
    if len(rows) <= count:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), count, replace=False))]


class _Moments:
    """Weighted sums over rows of kernel values (m,) and their products with each other and the targets."""

    def __init__(self, m: int, c: int) -> None:
        self.sums, self.gram, self.cross = np.zeros(m), np.zeros((m, m)), np.zeros((m, c))

    def add(self, values: Array, shares: Array, targets: Array) -> None:
        """Take rows (b, m) with their shares of the total weight and their targets (b, c) in."""
        weighted = values * shares[:, None]
        self.sums += shares @ values
        self.gram += weighted.T @ values
        self.cross += weighted.T @ targets


@dataclass(frozen=True)
class _Machine:
    """Functions whose products over the centred rows are zero: what a ridge regression on them needs.

    Attributes
    ----------
    turn : (m, r) array
        Coefficients of the functions at the landmarks.
    means, values : (r,) arrays
        Their means over the rows, and variances.
    side : (r, c) array
        Their covariances with the targets.
    """

    turn: Array
    means: Array
    values: Array
    side: Array


class LandmarkProblem:
    """Squared loss on functions of landmarks; see `rlselect.machines.TunableProblem`.

    Parameters
    ----------
    kernel : AdditiveKernel
    X : (n, d) array
    landmarks : (m, d) array
    targets : (n, c) array
        Objectives and losses of several columns are added.
    weights : (n,) array
    lam, bandwidth : float
    fit_intercept : bool
    groups : sequence of int arrays
        Columns of each group.
    criterion : {"risk", "norm"}
    """

    def __init__(
        self,
        kernel: AdditiveKernel,
        X: Array,
        landmarks: Array,
        targets: Array,
        weights: Array,
        lam: float,
        bandwidth: float,
        fit_intercept: bool,
        groups: Sequence[NDArray[np.intp]],
        criterion: str = "risk",
    ) -> None:
        self.kernel, self.X, self.landmarks, self.targets = kernel, X, landmarks, targets
        self.weights = self.judged_weights = weights
        self.lam, self.bandwidth, self.fit_intercept = lam, bandwidth, fit_intercept
        self.groups, self.criterion = groups, criterion
        self.active = list(range(len(groups)))
        self.hasty = False
        self.objective: float = np.nan
        self.losses: Array = np.empty(0)
        self._shares = weights / weights.sum()
        self._centre = self._shares @ targets if fit_intercept else np.zeros(targets.shape[1])
        self._spread = float(self._shares @ np.square(targets - self._centre).sum(axis=1))

    def _columns(self, groups: Sequence[int]) -> NDArray[np.intp]:
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.groups[g] for g in groups)])

    def _total(self, rows: Array, columns: NDArray[np.intp]) -> Array:
        """Sum of the kernel's parts between rows and landmarks."""
        if not len(columns):
            return np.zeros((len(rows), len(self.landmarks)))
        return np.asarray(self.kernel.part(rows[:, columns], self.landmarks[:, columns]), dtype=np.float64)

    def _blocks(self) -> Iterator[slice]:
        step = max(1, _BLOCK // len(self.landmarks))
        return (slice(start, start + step) for start in range(0, len(self.X), step))

    def _basis(self, total: Array, bandwidth: float) -> Array:
        """Coefficients (m, r) of functions of length one, at right angles, that the landmarks span."""
        values, vectors = np.linalg.eigh(self.kernel.link(total, bandwidth))
        keep = values > max(_LEAST * values[-1], 1e-300)
        return vectors[:, keep] / np.sqrt(values[keep])

    def _objective(self, moments: _Moments, basis: Array) -> float:
        """What a machine on some moments reaches; sums of squares are good enough to compare removals."""
        gram, side = moments.gram, moments.cross
        if self.fit_intercept:
            gram = gram - np.outer(moments.sums, moments.sums)
            side = side - np.outer(moments.sums, self._centre)
        values, vectors = np.linalg.eigh(basis.T @ gram @ basis)
        turned = (basis @ vectors).T @ side
        return self._spread - float(np.sum(np.square(turned) / (np.maximum(values, 0.0) + self.lam)[:, None]))

    def _machine(self, bandwidth: float) -> _Machine:
        """The present set's machine for every lambda, by orthogonal steps.

        Sums of squares would lose half of the digits; so rows that count twice and rows that are there twice
        differ by rounding alone.
        """
        columns, first = self._columns(self.active), int(self.fit_intercept)
        basis = self._basis(self._total(self.landmarks, columns), bandwidth)
        r = basis.shape[1]
        factor = np.zeros((0, first + r + self.targets.shape[1]))
        for rows in self._blocks():
            inside = self.kernel.link(self._total(self.X[rows], columns), bandwidth) @ basis
            block = np.hstack([np.ones((len(inside), first)), inside, self.targets[rows]])
            block *= np.sqrt(self._shares[rows])[:, None]
            factor = np.asarray(np.linalg.qr(np.vstack([factor, block]), mode="r"))
        factor = np.vstack([factor, np.zeros((max(0, first + r - len(factor)), factor.shape[1]))])
        within = slice(first, first + r)
        left, sizes, right = np.linalg.svd(factor[within, within])
        means = factor[0, 0] * factor[0, within] if first else np.zeros(r)
        side = sizes[:, None] * (left.T @ factor[within, first + r :])
        return _Machine(basis @ right.T, right @ means, np.square(sizes), side)

    def refresh(self) -> None:
        """Solve on the present set and leave each row out."""
        columns, machine = self._columns(self.active), self._machine(self.bandwidth)
        shrink = 1.0 / (machine.values + self.lam)
        slopes = shrink[:, None] * machine.side
        self.coefficients = machine.turn @ slopes
        self.objective = self._spread - float(np.sum(machine.side * slopes))
        self.intercept = self._centre - machine.means @ slopes
        self.losses = np.empty(len(self.X))
        self._explained = 0.0
        for rows in self._blocks():
            inside = self.kernel.link(self._total(self.X[rows], columns), self.bandwidth) @ machine.turn
            leverage = np.square(inside - machine.means) @ shrink + float(self.fit_intercept)
            residual = self.targets[rows] - inside @ slopes - self.intercept
            self.losses[rows] = self._left_out(residual, leverage, rows)
            self._explained += float(self._shares[rows] @ np.square(inside).sum(axis=1))

    def _left_out(self, residual: Array, leverage: Array, rows: slice) -> Array:
        """Losses of rows when one unit of their weight is left out."""
        weights = self.weights[rows]
        share = self._shares[rows] * leverage / np.maximum(weights, 1.0)
        return np.square(residual / np.maximum(1.0 - share, 1e-12)[:, None]).sum(axis=1)

    @property
    def kernel_error(self) -> float:
        """Share of the rows' own kernel values that the landmarks do not reach, between 0 and 1."""
        columns = self._columns(self.active)
        diagonal = [
            float(self.kernel.link(self.kernel.part(row, row), self.bandwidth)[0, 0])
            for row in self.landmarks[:, None, columns]
        ]
        return float(np.clip(1.0 - self._explained / max(float(np.mean(diagonal)), 1e-300), 0.0, 1.0))

    def risk_at(self, lams: Sequence[float] | Array, bandwidth: float) -> list[float]:
        """Leave-one-out risk of the present set for other parameters: one decomposition for all lambdas."""
        columns, machine = self._columns(self.active), self._machine(bandwidth)
        shrink = 1.0 / (machine.values[:, None] + np.asarray(lams))
        risks = np.zeros(len(shrink[0]))
        for rows in self._blocks():
            kernel = self.kernel.link(self._total(self.X[rows], columns), bandwidth)
            reach = kernel @ machine.turn - machine.means
            leverage = np.square(reach) @ shrink + float(self.fit_intercept)
            centred = self.targets[rows] - self._centre
            for place in range(len(risks)):
                residual = centred - reach @ (shrink[:, place, None] * machine.side)
                losses = self._left_out(residual, leverage[:, place], rows)
                risks[place] += self._shares[rows] @ losses
        return risks.tolist()

    def removals(self, count: int) -> list[tuple[int, float]]:
        """The ``count`` cheapest removals with the objectives they leave, cheapest first."""
        candidates = list(self.active)
        total = self._total(self.landmarks, self._columns(candidates))
        if self.criterion == "norm":
            grams = (self.kernel.link(rest, self.bandwidth) for rest in self._totals(total, candidates))
            forms = [np.sum(self.coefficients * (gram @ self.coefficients)) for gram in grams]
            order = np.argsort(-np.array(forms), kind="stable")[:count]
            return [(candidates[i], float("nan")) for i in order]
        if self.hasty and count > 1:
            return self._by_slopes(total)[:count]
        found: list[tuple[float, int]] = []
        for start in range(0, len(candidates), _PARCEL):
            some = candidates[start : start + _PARCEL]
            each = zip(some, self._totals(total, some), self._without(some), strict=True)
            for group, rest, moments in each:
                found.append((self._objective(moments, self._basis(rest, self.bandwidth)), group))
        return [(group, value) for value, group in sorted(found)[:count]]

    def _by_slopes(self, total: Array) -> list[tuple[int, float]]:
        """Removals with the objectives they would leave if the coefficients stayed, from some of the rows.

        A first step towards each removal: the best coefficients do not change the objective to first order.
        """
        wanted = _CELLS // (len(self.active) * len(self.landmarks))
        wanted = min(max(wanted, _FEWEST_ROWS), _MOST_ROWS)
        rows = slice(None, None, -(-len(self.X) // wanted))
        X, shares = self.X[rows], self._shares[rows] / self._shares[rows].sum()
        here, gaps = self._total(X, self._columns(self.active)), self.targets[rows] - self.intercept
        found = []
        for group, rest in zip(self.active, self._totals(total, self.active), strict=True):
            stop_if_late()
            values = self.kernel.link(here - self._total(X, self.groups[group]), self.bandwidth)
            norm = np.sum(self.coefficients * (self.kernel.link(rest, self.bandwidth) @ self.coefficients))
            residual = gaps - values @ self.coefficients
            if self.fit_intercept:
                residual -= shares @ residual
            found.append((float(shares @ np.square(residual).sum(axis=1)) + self.lam * float(norm), group))
        return [(group, value) for value, group in sorted(found)]

    def _totals(self, total: Array, some: Sequence[int]) -> Iterator[Array]:
        """The landmarks' sums without each of some groups."""
        return (total - self._total(self.landmarks, self.groups[group]) for group in some)

    def _without(self, some: Sequence[int]) -> list[_Moments]:
        """Moments without each of some groups, from one pass over the rows."""
        found = [_Moments(len(self.landmarks), self.targets.shape[1]) for _ in some]
        columns = self._columns(self.active)
        for rows in self._blocks():
            X, shares, targets = self.X[rows], self._shares[rows], self.targets[rows]
            total = self._total(X, columns)
            for group, moments in zip(some, found, strict=True):
                stop_if_late()
                part = total - self._total(X, self.groups[group])
                moments.add(self.kernel.link(part, self.bandwidth, out=part), shares, targets)
        return found

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.active = [g for g in self.active if g not in set(groups)]
