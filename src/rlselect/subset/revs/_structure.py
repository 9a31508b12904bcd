"""Which subsets of units may be selected: how many, of what, with which signs, and products beside what."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units

Floats = NDArray[Any]
Mask = NDArray[np.bool_]

_LOG_2 = float(np.log(2.0))


class PricedSubset(Protocol):
    """What a structure asks of a subset."""

    mask: Mask
    units: Units

    def moves(self) -> Floats: ...
    def directions(self) -> Floats: ...


@dataclass(frozen=True)
class Structure:
    """Rules that every subset has to follow.

    The empty subset, or that of the units which are always in, follows them.

    Attributes
    ----------
    members : bool array of shape (n_limits, n_units)
        Units of which no more than some may be in.
    most : int array of shape (n_limits,)
        How many may.
    signs : int array of shape (n_columns,)
        1 or -1 where the coefficient of a column must not have the other sign, else 0.
    parents : int array of shape (n_units, 2)
        Units beside which alone a product may be in; -1 for a unit that is no product.
    """

    members: Mask
    most: NDArray[np.intp]
    signs: NDArray[np.int8]
    parents: NDArray[np.intp]

    @property
    def is_product(self) -> Mask:
        """Units that are products of others."""
        return self.parents[:, 0] >= 0

    @property
    def is_signed(self) -> bool:
        """Whether any coefficient has a sign."""
        return bool(self.signs.any())

    @property
    def is_limited(self) -> bool:
        """Whether there is a largest number of anything."""
        return len(self.most) > 0

    def folded(self, units: Units) -> Floats:
        """Log of what a known sign is worth to each unit: the half of its prior that is left is doubled.

        Noise is none the likelier to be selected for it: half of it has the wrong sign.
        """
        return _LOG_2 * np.bincount(units.unit_of, self.signs != 0, minlength=units.n_units)

    def is_full(self, mask: Mask) -> bool:
        """Whether a limit is reached."""
        return bool(np.any(self.members @ mask.astype(np.intp) >= self.most))

    def barred(self, state: PricedSubset) -> Mask:
        """Moves that lead to a subset that breaks a rule, as far as that is known before they are made."""
        mask = state.mask
        full = self.members @ mask.astype(np.intp) >= self.most
        barred = self.members[full].any(axis=0)
        product = self.is_product
        if product.any():
            barred |= product & ~mask[self.parents].all(axis=1)
        if self.is_signed:
            wrong = state.directions() * self.signs < 0
            barred |= state.units.spread(wrong) & ~state.units.is_block
        barred &= ~mask
        barred[self.parents[product & mask].ravel()] = True
        return barred

    def admits(self, state: PricedSubset) -> bool:
        """Whether the subset follows all rules."""
        return self.fits(state.mask) and not self._wrong(state).any()

    def fits(self, mask: Mask) -> bool:
        """Whether it does, signs apart."""
        few = bool(np.all(self.members @ mask.astype(np.intp) <= self.most))
        return few and bool(mask[self.parents[self.is_product & mask]].all())

    def _wrong(self, state: PricedSubset) -> Mask:
        """Columns inside whose coefficients have the wrong sign."""
        if not self.is_signed:
            return np.zeros(len(self.signs), dtype=bool)
        return (state.directions() * self.signs < 0) & state.mask[state.units.unit_of]

    def fault(self, state: PricedSubset, free: Mask) -> int | None:
        """The unit to leave first, among those that may, of a subset that breaks a rule."""
        mask = state.mask
        orphans = np.flatnonzero(self.is_product & mask & ~mask[self.parents].all(axis=1))
        if len(orphans):
            return int(orphans[0])
        crowded = self.members[self.members @ mask.astype(np.intp) > self.most]
        if len(crowded):
            leaving = np.where(crowded[0] & mask & free, state.moves(), -np.inf)
            return int(np.argmax(leaving)) if np.isfinite(leaving).any() else None
        wrong = np.flatnonzero(self._wrong(state))
        wrong = wrong[free[state.units.unit_of[wrong]]]
        if not len(wrong):
            return None
        return int(state.units.unit_of[wrong[np.argmax(np.abs(state.directions()[wrong]))]])

    def trimmed(self, chosen: Mask, always: Mask, inclusion: Floats) -> Mask:
        """The most probable of the chosen units, as many as follow the rules (signs apart)."""
        if self.fits(chosen):
            return chosen
        kept = always.copy()
        # a product is never more probable than its parents: at equal probability they come first
        order = np.lexsort((self.is_product, -inclusion))
        for unit in order[chosen[order] & ~always[order]]:
            kept[unit] = True
            kept[unit] = self.fits(kept)
        return kept

    def right_signs(self, coef: Floats, columns: NDArray[np.intp]) -> Mask:
        """Whether coefficients (..., k) of some columns have no wrong sign."""
        return np.asarray(np.all(coef * self.signs[columns] >= 0, axis=-1))

    def wrong_unit(self, units: Units, columns: NDArray[np.intp], coef: Floats, scale: Floats) -> int | None:
        """The unit of the largest coefficient of a wrong sign, in standard errors, or None."""
        wrong = np.where(coef * self.signs[columns] < 0, np.abs(coef) / np.maximum(scale, 1e-300), 0.0)
        return int(units.unit_of[columns[np.argmax(wrong)]]) if wrong.any() else None

    def narrowed(self, units: NDArray[np.intp], columns: NDArray[np.intp]) -> "Structure":
        """The rules for some of the units and their columns; products are not among the others."""
        return Structure(self.members[:, units], self.most, self.signs[columns], self.parents[units])
