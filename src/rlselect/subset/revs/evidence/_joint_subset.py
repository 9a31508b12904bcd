"""A subset that serves several responses at once, and the reward of every move from it."""

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Units
from rlselect.subset.revs.evidence._glm_subset import GlmSubset
from rlselect.subset.revs.evidence._outcome_subset import OutcomeSubset
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset

Floats = NDArray[np.float64]
ResponseSubset = RidgeSubset | GlmSubset | OutcomeSubset


class JointSubset:
    """Log evidence of one subset under several models, one per response: the sum of theirs.

    Each model has coefficients, noise and a prior of the coefficients of its own; a unit enters and leaves
    all of them.

    Parameters
    ----------
    parts : sequence of RidgeSubset, GlmSubset or OutcomeSubset
        The models, over the same units.
    weight : float, default=1.0
        What the sum counts: less than one where responses repeat each other.
    """

    relearns = False
    # each model has its own
    share = 0.0
    shape = 0
    noise = 1.0

    def __init__(self, parts: Sequence[ResponseSubset], weight: float = 1.0) -> None:
        self.parts = list(parts)
        self.weight = weight

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The units of the subset."""
        return self.parts[0].mask

    @property
    def units(self) -> Units:
        """What enters and leaves together."""
        return self.parts[0].units

    @property
    def size(self) -> int:
        """Number of units in the subset."""
        return self.parts[0].size

    @property
    def slab(self) -> tuple[float, ...]:
        """Prior variances of the coefficients, by model."""
        return tuple(part.slab for part in self.parts)

    @property
    def dispersion(self) -> tuple[float, ...]:
        """Of counts, by model."""
        return tuple(part.dispersion for part in self.parts)

    @property
    def counted(self) -> float:
        """What the rows count."""
        return self.parts[0].counted

    @property
    def evidence(self) -> float:
        """Log evidence of the subset (the shape factors apart)."""
        return self.weight * sum(part.evidence for part in self.parts)

    @property
    def alike(self) -> float:
        """Log of the shape factors of the subset."""
        return self.weight * sum(part.alike for part in self.parts)

    def moves(self) -> Floats:
        """Change of the log evidence when each unit is toggled."""
        return self.weight * np.sum([part.moves() for part in self.parts], axis=0)

    def toggle(self, unit: int) -> None:
        """Add the unit when it is out, remove it when it is in."""
        for part in self.parts:
            part.toggle(unit)

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Stand in another subset."""
        for part in self.parts:
            part.reset(mask)

    def copy(self) -> "JointSubset":
        """Another walker over the same rows."""
        twin = copy.copy(self)
        twin.parts = [part.copy() for part in self.parts]
        return twin

    def learn_dispersion(self) -> bool:
        """Read the dispersion of counts off the residuals; whether any has changed."""
        return bool(np.any([part.learn_dispersion() for part in self.parts]))

    def prepare(self, unit: int, values: Floats) -> None:
        """Have the columns of a unit ready."""
        for part in self.parts:
            part.prepare(unit, values)

    def at_hand(self, values: Floats) -> NDArray[np.intp]:
        """None: every move is one of all models."""
        return np.empty(0, dtype=np.intp)

    def varies(self) -> NDArray[np.bool_]:
        """Columns that are not constant."""
        return np.any([part.varies() for part in self.parts], axis=0)
