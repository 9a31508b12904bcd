"""What learning gives: a policy, its value and the steps that led to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._policy import PurchasePolicy

__all__ = ["Learned", "PolicyStep", "Stop", "never"]

# asked after each iteration; a true answer ends learning with the best so far
Stop: TypeAlias = Callable[[], bool]


def never() -> bool:
    """A `Stop` that never asks to."""
    return False


class PolicyStep(NamedTuple):
    """One iteration: the climb it belongs to, its number there, and value and purchases of its policy."""

    climb: int
    iteration: int
    value: float
    bought: float


@dataclass
class Learned:
    """A policy and how it came about.

    Parameters
    ----------
    policy : PurchasePolicy
        The one that is kept.
    value : float
        Its mean return, each row played by a policy that had not seen it.
    steps : list of PolicyStep
        One per iteration.
    reason : str
        Why learning ended.
    merit : float
        As `value`, but for the mean of what answers cost and of what answers drawn from the class
        probabilities would cost, which is less rough: by it, ways to learn are compared, see `worth`.
    height : callable or None
        Gives the same for the whole frontier: the mean of its upper hull, what answers are worth against what
        is not bought. None for sums where costs differ, or nothing has a price.
    scoring : str
        What gives the scores: "bins", "linear", "network", or "table" where all is solved exactly.
    words : str
        How they came about.
    """

    policy: PurchasePolicy
    value: float
    steps: list[PolicyStep] = field(default_factory=list)
    reason: str = ""
    merit: float = -np.inf
    height: Callable[[], float] | None = None
    scoring: str = ""
    words: str = ""

    def worth(self, even_costs: bool) -> float:
        """What ways to learn are compared by: merit where costs are even, else value.

        Drawn answers do not know what errors cost, and say less about what answers cost the more that varies.
        """
        return self.merit if even_costs else self.value

    def path(self) -> dict[str, NDArray]:
        """The steps as one array per field."""
        columns = zip(*self.steps, strict=True) if self.steps else [()] * len(PolicyStep._fields)
        kinds = PolicyStep.__annotations__.values()
        return {
            name: np.array(column, dtype=kind)
            for name, kind, column in zip(PolicyStep._fields, kinds, columns, strict=True)
        }
