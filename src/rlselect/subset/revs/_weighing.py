"""The posterior of few effects, subset by subset: what each is worth under all priors of the coefficients."""

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from rlselect.learn import key_mask, subset_key
from rlselect.subset.revs._subset_state import toggled
from rlselect.subset.revs._visited import Visited, merge_visits
from rlselect.subset.revs._walk import Walker
from rlselect.subset.revs.evidence import SHAPES, GlmSubset

Floats = NDArray[np.float64]


def average_evidence(table: Floats, slabs: Floats) -> float:
    """Log evidence averaged over slabs and shapes; all standard deviations of effects are equally likely."""
    spread = 0.5 * np.log(slabs)[:, None]
    return float(logsumexp(table + spread) - logsumexp(spread) - np.log(table.shape[1]))


@dataclass(frozen=True)
class WeighPlan:
    """How many subsets are weighed.

    Parameters
    ----------
    ahead : int
        Further units that the first way goes on for after the best subset on it.
    within : float
        Neighbours are weighed whose guessed log posterior is no further below the heaviest subset.
    most : int
        So many that a subset grows into, at most.
    share : float
        Neighbours of subsets below this share of all that was weighed are left alone.
    looks : int
        Subsets whose neighbours are looked at, at most.
    """

    ahead: int = 7
    within: float = 5.0
    most: int = 15
    share: float = 0.004
    looks: int = 60


@dataclass
class Weighed:
    """Subsets by their keys: log posterior, best prior variance, and what was guessed of their neighbours."""

    walker: Walker
    plan: WeighPlan
    slabs: Floats
    posterior: dict[bytes, float] = field(default_factory=dict)
    slab: dict[bytes, float] = field(default_factory=dict)
    rewards: dict[bytes, Floats] = field(default_factory=dict)

    def weigh(self, mask: NDArray[np.bool_]) -> float:
        """Log posterior of a subset, over effects that are spread to zero and effects that are alike."""
        key = subset_key(mask)
        if key not in self.posterior:
            state, prior = cast(GlmSubset, self.walker.state), self.walker.prior
            evidence = state.evidence_of(mask, self.slabs)
            price = sum(map(prior.add, range(int(np.count_nonzero(mask & self.walker.allowed)))))
            if self.walker.neighbours is not None:
                price += self.walker.neighbours.log_prior(mask)
            self.posterior[key] = average_evidence(evidence, self.slabs) + price
            # nothing to read a prior off: one that large effects are likely under, if there are any
            best = float(self.slabs[int(np.argmax(evidence[:, 0]))])
            self.slab[key] = best if (mask & self.walker.allowed).any() else 1.0
        return self.posterior[key]

    def look(self, mask: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Weigh the neighbours of a subset that may matter; those that are larger, the best guess first."""
        key, walker = subset_key(mask), self.walker
        state = cast(GlmSubset, walker.state)
        # set before the subset is, so that it is fitted once
        state.slab, state.shape, state.share = self.slab[key], *SHAPES[0]
        state.reset(mask)
        self.rewards[key] = rewards = walker.rewards()
        for unit in np.flatnonzero(mask & walker.allowed):
            self.weigh(toggled(mask, int(unit)))
        adds = np.where(mask, -np.inf, rewards)[walker.order]
        best = np.argsort(-adds, kind="stable")[: self.plan.most]
        floor = max(self.posterior.values()) - self.weigh(mask) - self.plan.within
        # one step makes little of a unit: the first one is weighed whatever it says
        some = [i for i in best if np.isfinite(adds[i]) and (adds[i] > floor or i == best[0])]
        assert walker.order is not None
        larger = [toggled(mask, int(walker.order[i])) for i in some]
        for other in larger:
            self.weigh(other)
        return larger

    def heaviest(self) -> NDArray[np.bool_] | None:
        """The heaviest subset whose neighbours were not looked at, None where none is worth it."""
        left = [key for key in self.posterior if key not in self.rewards]
        key = max(left, key=lambda key: self.posterior[key], default=None)
        if key is None or len(self.rewards) >= self.plan.looks:
            return None
        total = logsumexp(np.fromiter(self.posterior.values(), dtype=float))
        worth = np.exp(self.posterior[key] - total) > self.plan.share
        return key_mask(key, len(self.walker.allowed)) if worth else None

    @property
    def visited(self) -> Visited:
        """The subsets with their shares."""
        visited = merge_visits([self.posterior], len(self.walker.allowed))
        assert visited is not None
        return visited

    def inclusion(self) -> Floats:
        """Of every unit; those in no subset that was weighed have what was guessed of them."""
        allowed, visited = self.walker.allowed, self.visited
        counted = np.zeros(len(allowed))
        for units, weight in zip(visited.subsets, visited.weights, strict=True):
            counted[units] += weight
        total = logsumexp(np.fromiter(self.posterior.values(), dtype=float))
        guessed = sum(
            np.exp(self.posterior[key] - total) * expit(rewards) for key, rewards in self.rewards.items()
        )
        return np.minimum(np.where(counted > 0.0, counted, np.where(allowed, guessed, 0.0)), 1.0)


def weigh_few(walker: Walker, plan: WeighPlan | None = None) -> Weighed:
    """Weigh the subsets around those of few effects, the heaviest first.

    Between the empty subset and several large effects lie subsets that explain nothing, since the first of
    them explains little while the others are noise. So the best unit is added again and again, whether it
    pays or not, and from all subsets on this way the neighbours of the heaviest one are weighed, until those
    left hardly count. Nothing is drawn: a subset counts what it is worth, however it was come by.

    Parameters
    ----------
    walker : Walker
        In a likely subset of a `GlmSubset` whose rows are `at_once`; it is moved.
    plan : WeighPlan, optional
        How many subsets.

    Returns
    -------
    Weighed
    """
    plan, likely, state = plan or WeighPlan(), walker.state.mask.copy(), cast(GlmSubset, walker.state)
    state.reset(likely & ~walker.allowed)
    weighed = Weighed(walker, plan, state.slabs())
    top, behind, mask = weighed.weigh(state.mask), 0, state.mask.copy()
    weighed.weigh(likely)
    while behind < plan.ahead and not _stopped(walker):
        larger = weighed.look(mask)
        if not larger or np.count_nonzero(larger[0]) >= walker.prior.most:
            break
        mask = max(larger, key=weighed.weigh)
        top, behind = (weighed.weigh(mask), 0) if weighed.weigh(mask) > top else (top, behind + 1)
    while (following := weighed.heaviest()) is not None and not _stopped(walker):
        weighed.look(following)
    return weighed


def _stopped(walker: Walker) -> bool:
    walker.stopped = walker.stopped or walker.tick()
    return walker.stopped is not None
