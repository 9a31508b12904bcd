"""The posterior around a likely subset: the heaviest subsets are looked at, their neighbours go by price."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rlselect.learn import key_mask, subset_key
from rlselect.subset.revs._subset_state import toggled
from rlselect.subset.revs._visited import Visited, merge_visits
from rlselect.subset.revs._walk import Walker

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AroundPlan:
    """How far one looks around.

    Parameters
    ----------
    looks : int
        Subsets that are fitted, at most.
    share : float
        Subsets below this share of all that is known are left to their price.
    swaps : float
        Of every subset above this share each unit is left out once, so that another may take its place.
    reach : float
        Neighbours further below the heaviest subset, in units of log posterior, are forgotten.
    settled : float
        Share of all that is known which the fitted subsets need to have.
    """

    looks: int = 200
    share: float = 0.002
    swaps: float = 0.03
    reach: float = 10.0
    settled: float = 0.5


@dataclass
class Surroundings:
    """Log posteriors of subsets by their keys: of those that were fitted, and by price those next to them."""

    walker: Walker
    plan: AroundPlan
    fitted: dict[bytes, float] = field(default_factory=dict)
    priced: dict[bytes, float] = field(default_factory=dict)

    def look(self, mask: NDArray[np.bool_]) -> None:
        """Fit a subset, unless that was done, and price its neighbours."""
        key, walker = subset_key(mask), self.walker
        if key in self.fitted:
            return
        walker.state.reset(mask)
        self.fitted[key] = here = walker.posterior
        self.priced.pop(key, None)
        there = here + walker.rewards()
        assert walker.order is not None
        for unit in walker.order[there[walker.order] > max(self.fitted.values()) - self.plan.reach]:
            other = subset_key(toggled(mask, int(unit)))
            if other not in self.fitted:
                # a subset may have a price from several sides: one that is looked at in vain costs little
                self.priced[other] = max(self.priced.get(other, -np.inf), float(there[unit]))

    @property
    def is_full(self) -> bool:
        """Whether there is no time, or no leave, for another look."""
        self.walker.stopped = self.walker.stopped or self.walker.tick()
        return self.walker.stopped is not None or len(self.fitted) >= self.plan.looks

    def heaviest(self) -> NDArray[np.bool_] | None:
        """The neighbour of the highest price, None where none is worth a look."""
        key = max(self.priced, key=lambda key: self.priced[key], default=None)
        if key is None or self.priced[key] < self._total + np.log(self.plan.share):
            return None
        return self._mask(key)

    def swapped(self, done: set[bytes]) -> list[NDArray[np.bool_]]:
        """What is left of the heavy subsets without each of their units, of those that are not `done`."""
        floor = self._total + np.log(self.plan.swaps)
        heavy = [key for key, here in self.fitted.items() if here > floor and key not in done]
        done.update(heavy)
        masks = [self._mask(key) for key in heavy]
        return [toggled(mask, int(u)) for mask in masks for u in np.flatnonzero(mask & self.walker.allowed)]

    @property
    def _total(self) -> float:
        return float(logsumexp(np.fromiter(self.fitted.values(), dtype=float)))

    def _mask(self, key: bytes) -> NDArray[np.bool_]:
        return key_mask(key, len(self.walker.allowed))

    @property
    def best(self) -> NDArray[np.bool_]:
        """The heaviest subset that was fitted."""
        return self._mask(max(self.fitted, key=lambda key: self.fitted[key]))

    @property
    def settled(self) -> bool:
        """Whether the fitted subsets are enough to speak for all."""
        known = logsumexp([self._total, *self.priced.values()])
        return bool(self._total - known > np.log(self.plan.settled))

    @property
    def visited(self) -> Visited:
        """All subsets with their shares."""
        visited = merge_visits([self.fitted | self.priced], len(self.walker.allowed))
        assert visited is not None
        return visited

    def inclusion(self) -> Floats:
        """Of every unit."""
        counted = np.zeros(len(self.walker.allowed))
        visited = self.visited
        for units, weight in zip(visited.subsets, visited.weights, strict=True):
            counted[units] += weight
        return np.minimum(counted, 1.0)


def look_around(walker: Walker, plan: AroundPlan | None = None) -> Surroundings:
    """Look at the heaviest subset again and again, until those left hardly count.

    A chain counts subsets as often as it comes by, and goes from a column to one that says nearly the same
    only through subsets with both or none of them, which it hardly ever enters. Here a subset counts what it
    is worth, however it was come by, and swaps have a way of their own.

    Parameters
    ----------
    walker : Walker
        In a likely subset of a state whose prices are near what fits say; it is moved.
    plan : AroundPlan, optional
        How far.

    Returns
    -------
    Surroundings
    """
    around, done = Surroundings(walker, plan or AroundPlan()), set[bytes]()
    ahead = [walker.state.mask.copy()]
    while ahead:
        around.look(ahead.pop())
        if around.is_full:
            break
        if not ahead:
            following = around.heaviest()
            ahead = around.swapped(done) if following is None else [following]
    return around
