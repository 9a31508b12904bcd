"""What may be selected, how probable each of it is, and what a rule makes of that."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.data import FeatureUnits
from rlselect.learn import DecisionRule


@dataclass(frozen=True)
class Choices:
    """Units with their probabilities.

    Attributes
    ----------
    groups : FeatureUnits
        What enters and leaves together.
    inclusion : array over units
        Probabilities.
    allowed, always : bool array over units
        What may be selected or not, and what is selected whatever happens.
    """

    groups: FeatureUnits
    inclusion: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    always: NDArray[np.bool_]

    def units(self, rule: DecisionRule) -> NDArray[np.bool_]:
        """Mask of the units that a rule takes out of those that may be selected or not."""
        chosen = self.always.copy()
        chosen[self.allowed] = rule.choose(self.inclusion[self.allowed])
        return chosen

    def features(self, rule: DecisionRule) -> NDArray[np.bool_]:
        """The same as a mask of features."""
        return self.groups.to_features(self.units(rule)).astype(bool)
