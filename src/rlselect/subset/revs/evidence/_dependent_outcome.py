"""A subset of columns under any `Outcome` whose rows share hidden levels."""

import copy

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.kernels import Levels, Outcome, OutcomePoint, SharedOutcome, Spread, learn_shared
from rlselect.subset.revs.evidence._dependent_glm import LEAST_LEFT, WIDE_SLAB
from rlselect.subset.revs.evidence._dependent_ridge import FIRST_SHARE, alike
from rlselect.subset.revs.evidence._outcome_subset import OutcomeSubset

Floats = NDArray[np.float64]


class DependentOutcome(OutcomeSubset):
    """Laplace log evidence of classes, ordered classes or times whose rows share levels.

    As in `DependentGlm`, levels are integrated out, `learn_dispersion` learns what rows share, and columns
    are on the scale of what the levels leave of them.

    Parameters
    ----------
    columns, units, outcome, counted
        As in `OutcomeSubset`; the outcome is that of rows that stand for themselves.
    levels : Levels
        What rows share.
    """

    outcome: SharedOutcome

    def __init__(
        self, columns: Floats, units: Units, outcome: Outcome, counted: float, levels: Levels
    ) -> None:
        # variance of a row's own noise on the scale of the predictors, of even odds at first
        self.row_noise = 4.0
        first = Spread(self.row_noise * FIRST_SHARE / (1.0 - FIRST_SHARE), levels.spreads[0].memory)
        self.column_scale = np.ones(units.n_columns)
        super().__init__(columns, units, SharedOutcome(outcome, levels, first), counted)
        self._rescale()

    @property
    def spread(self) -> Spread:
        """What rows share."""
        return self.outcome.spread

    def copy(self) -> "DependentOutcome":
        """Another walker over the same rows; what it comes to know is its own."""
        twin = super().copy()
        assert isinstance(twin, DependentOutcome)
        twin.outcome = copy.copy(self.outcome)
        return twin

    def _rescale(self) -> None:
        """Give every column as much curvature beside the levels as it would have without them."""
        before = self.column_scale
        dense = self._columns / before[:, None]
        plain = self.outcome.plain.at(
            self.outcome.start(), np.zeros((self.outcome.n_predictors, dense.shape[1]))
        )
        alone, beside = (_beside_own(point, dense) for point in (plain, self._null()))
        sound = beside > LEAST_LEFT * alone
        self.column_scale = np.sqrt(np.where(sound, alone, 1.0) / np.where(sound, beside, 1.0))
        own, known = self._last
        change = before / self.column_scale
        self._last = own, {j: coef * change[j] for j, coef in known.items()}
        self._seen.clear()
        self._tables.clear()
        self._fitted.clear()
        self._take(dense * self.column_scale[:, None])
        self.reset(self.mask)

    def learn_dispersion(self) -> bool:
        """Learn what rows share beside the subset; whether that has changed."""
        subset = self._subset()
        # a narrow prior of the coefficients would leave their part to the levels
        mode = self._mode(subset, WIDE_SLAB)
        new, self.row_noise = learn_shared(self.outcome, self._columns[subset], mode.coef, self.counted)
        if alike(new, self.outcome.spread, self.row_noise):
            return False
        self.outcome.spread = new
        self._rescale()
        return True


def _beside_own(point: OutcomePoint, columns: Floats) -> Floats:
    """Curvature of each column, summed over the predictors, beside the own parameters."""
    squares = np.einsum("maa->m", point.squares(columns))
    if not len(point.mixed):
        return squares
    cross = point.mixed @ columns.T
    inverse = np.linalg.pinv(point.own_curvature, hermitian=True)
    return np.asarray(squares - np.einsum("fqm,fg,gqm->m", cross, inverse, cross))
