"""A subset of columns under a generalised linear model whose rows share hidden levels."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import (
    Levels,
    Spread,
    dispersion_likelihoods,
    learn_spread,
    likeliest_dispersion,
    log_likelihood,
    null_intercept,
    score_and_curvature,
    settle_levels,
)
from rlselect.subset.revs.evidence._dependent_ridge import FIRST_SHARE, alike
from rlselect.subset.revs.evidence._glm_parts import block_design, block_predictor
from rlselect.subset.revs.evidence._glm_subset import SAME_DISPERSION, GlmSubset
from rlselect.subset.revs.evidence._recall import Recall
from rlselect.subset.revs.evidence._rows import Rows

Floats = NDArray[np.float64]

# a row whose response is certain says next to nothing, but its working response is still a number
_LEAST_CURVATURE = 1e-8
# prior variance of the coefficients beside which levels are learnt, and Newton steps to them
WIDE_SLAB = 4.0
_WIDE_STEPS = 10
# a column that levels explain but for rounding is not blown up to what is left
LEAST_LEFT = 1e-6


class DependentGlm(GlmSubset):
    """Laplace log evidence of logistic or count models whose rows share levels.

    The levels are integrated out together with the coefficients: at their joint mode they are eliminated from
    every sum over the rows. `learn_dispersion` learns what rows share, from the linear model that the mode
    looks like. As in `DependentRidge`, the prior of a coefficient is one on the scale of what the levels
    leave of its column: of a column that is the same for all rows of a cluster the clusters are the rows, and
    a prior for as many as there are rows would charge next to nothing for it.

    Parameters
    ----------
    rows : Rows
        All rows, in one block.
    units, family
        As in `GlmSubset`.
    levels : Levels
        What rows share.
    """

    def __init__(self, rows: Rows, units: Units, family: str, levels: Levels) -> None:
        block = next(iter(rows))
        assert block is not None
        # columns on the common scale, and the block that has them on that of what the levels leave
        self._dense = block.columns(np.arange(units.n_columns)).T.astype(np.float64)
        self._weight = np.ones(len(block)) if block.weight is None else block.weight
        self._levels = levels
        # variance of a row's own noise on the scale of the linear predictor, of even odds at first
        self.row_noise = 4.0
        self.spread = Spread(self.row_noise * FIRST_SHARE / (1.0 - FIRST_SHARE), levels.spreads[0].memory)
        self._level = np.zeros(levels.n_nodes)
        self.column_scale = np.ones(units.n_columns)
        self._block = replace(block, X=self._dense, shift=np.zeros(units.n_columns), scale=self.column_scale)
        kind = "binomial" if family == "binomial" else "poisson"
        start = np.full(len(block), null_intercept(kind, block.y, block.weight, block.offset))
        known = start if block.offset is None else start + block.offset
        self._rescale(score_and_curvature(kind, block.y, known)[1])
        super().__init__(rows, units, family, revisits=True)

    def _rescale(self, curvature: Floats) -> None:
        """Give every column as much curvature beside the levels as it would have without them."""
        weight = self._weight * curvature
        given = np.column_stack([self._dense, np.ones(len(weight))])
        alone, beside = (
            _about_the_last(rows, weight) for rows in (given, self._levels.whiten(given, weight, self.spread))
        )
        sound = beside > LEAST_LEFT * alone
        self.column_scale = np.sqrt(np.where(sound, alone, 1.0) / np.where(sound, beside, 1.0))
        self._block = replace(self._block, X=self._dense * self.column_scale)

    def _designs(self) -> list[Floats | None] | None:
        return [block_design(self._block, self._subset)]

    def _point(self, coef: Floats, design: Floats | None) -> tuple[Floats, Floats]:
        """Design and linear predictor with the levels at their mode."""
        design, eta = block_predictor(self._block, self._subset, coef, design)
        self._level = settle_levels(
            self._levels, self.spread, self._likelihood, self._block.y, eta, self._weight, self._level
        )
        return design, eta + self._levels.to_rows(self._level)

    def _sums(
        self, coef: Floats, prior: Floats, designs: list[Floats | None] | None
    ) -> tuple[float, Floats, Floats]:
        design, eta = self._point(coef, None if designs is None else designs[0])
        family, dispersion = self._likelihood
        score, curvature = score_and_curvature(family, self._block.y, eta, dispersion)
        weight = self._weight * curvature
        bent = design * weight
        shared = self._levels.factor(weight, self.spread).half(self._levels.collect(bent.T))
        pull, own = prior @ coef, self._levels.pull(self._level, self.spread)
        likelihood = self._weight @ log_likelihood(family, self._block.y, eta, dispersion=dispersion)
        loss = 0.5 * float(coef @ pull + self._level @ own) - float(likelihood)
        return loss, bent @ design.T - shared.T @ shared + prior, design @ (self._weight * score) - pull

    def _mode(
        self, prior: Floats, designs: list[Floats | None] | None, steps: int
    ) -> tuple[Floats, float, Floats]:
        coef, value, hessian = super()._mode(prior, designs, steps)
        _, eta = self._point(coef, None if designs is None else designs[0])
        _, curvature = score_and_curvature(self._likelihood[0], self._block.y, eta, self._likelihood[1])
        return coef, value - 0.5 * self._levels.factor(self._weight * curvature, self.spread).logdet, hessian

    def _price(self, designs: list[Floats | None] | None, hessian: Floats) -> None:
        block = self._block
        design, eta = self._point(self._coef, None if designs is None else designs[0])
        score, curvature = score_and_curvature(self._likelihood[0], block.y, eta, self._likelihood[1])
        weight = self._weight * curvature
        bent = design * weight
        factor = self._levels.factor(weight, self.spread)
        inner = factor.half(self._levels.collect(bent.T))
        outer = factor.half(self._levels.collect(block.X * weight[:, None]))
        products = block.products(np.vstack([self._weight * score, bent]))
        products[1:] -= inner.T @ outer
        curvatures = np.maximum(block.squares(weight) - np.einsum("ij,ij->j", outer, outer), 0.0)
        within = []
        for _, members in self.units.by_size:
            part = outer[:, members]
            within.append(block.within(members, weight) - np.einsum("nbi,nbj->bij", part, part))
        score_parts, cross_parts = np.zeros((2, products.shape[1])), np.zeros((2, *products[1:].shape))
        score_parts[0], cross_parts[0] = products[0], products[1:]
        hessian = hessian + bent @ design.T - inner.T @ inner
        self._set_prices(hessian, score_parts, cross_parts, curvatures, within)

    @property
    def at_once(self) -> bool:
        """No: evidence of one subset after another would leave out what rows share."""
        return False

    def learn_dispersion(self) -> bool:
        """Learn what rows share beside the subset, and the dispersion of counts; whether either changed."""
        block = self._block
        # a narrow prior of the coefficients would leave their part to the levels, and look from a wrong place
        wide = self._mode(self._prior(WIDE_SLAB, None), None, _WIDE_STEPS)[0]
        design, eta = self._point(wide, None)
        score, curvature = score_and_curvature(self._likelihood[0], block.y, eta, self._likelihood[1])
        curvature = np.maximum(curvature, _LEAST_CURVATURE)
        working = eta + score / curvature - (0.0 if block.offset is None else block.offset)
        self.row_noise = noise = 1.0 / float(np.average(curvature, weights=self._weight))
        new = learn_spread(self._levels, design.T, working, self._weight * curvature, row_noise=noise)
        changed = not alike(new, self.spread, noise)
        if changed:
            self.spread = new
        if self.family == "poisson":
            best = likeliest_dispersion(
                lambda grid: dispersion_likelihoods(block.y, eta, block.weight, grid), self._proof
            )
            if abs(best - self.dispersion) > SAME_DISPERSION * best:
                self.dispersion, changed = best, True
        if changed:
            before = self.column_scale[self._subset]
            self._rescale(curvature)
            self._coef[1:] *= before / self.column_scale[self._subset]
            self._recall = Recall()
            self._fit()
        return changed


def _about_the_last(rows: Floats, weight: Floats) -> Floats:
    """Weighted sums of squares of columns, beside the last one."""
    bent = rows * weight[:, None]
    squares, last = np.einsum("ij,ij->j", bent, rows), bent.T @ rows[:, -1]
    return np.asarray(np.maximum(squares - last**2 / max(last[-1], 1e-300), 0.0)[:-1])
