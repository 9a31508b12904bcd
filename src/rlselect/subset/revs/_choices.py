"""What may be selected, how probable each of it is, and what a rule makes of that."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.data import FeatureUnits
from rlselect.learn import Cutoff, DecisionRule, ExpectedF1, RuleName, as_rule
from rlselect.subset.revs._structure import Structure


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
    structure : Structure, optional
        Rules that a selection has to follow.
    likeliest : bool array over units, optional
        The most probable subset, where limits make units exclude each other: then each of them may be less
        likely in than out although one of them surely is.
    nothing : float, optional
        Probability that no unit is in that may be selected or not, where subsets were counted.
    cut : float, default=0.5
        Probability above which the rule "auto" takes a unit, where nothing makes units exclude each other.
    """

    groups: FeatureUnits
    inclusion: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    always: NDArray[np.bool_]
    structure: Structure | None = None
    likeliest: NDArray[np.bool_] | None = None
    nothing: float | None = None
    cut: float = 0.5

    def by(self, rule: RuleName | DecisionRule) -> NDArray[np.bool_]:
        """Mask of the units that a rule, or the rule of a name, takes."""
        if isinstance(rule, str) and rule == "auto":
            return self.units(Cutoff(self.cut)) if self.likeliest is None else self.likeliest.copy()
        return self.units(as_rule(rule))

    def units(self, rule: DecisionRule) -> NDArray[np.bool_]:
        """Mask of the units that a rule takes out of those that may be selected or not."""
        chosen = self.always.copy()
        if rule == ExpectedF1():
            rule = ExpectedF1(self.nothing)
        chosen[self.allowed] = rule.choose(self.inclusion[self.allowed])
        if self.structure is None:
            return chosen
        return self.structure.trimmed(chosen, self.always, self.inclusion)

    def features(self, rule: RuleName | DecisionRule) -> NDArray[np.bool_]:
        """The same as a mask of features."""
        return self.groups.to_features(self.by(rule)).astype(bool)
