"""The subsets that a walk has counted, and how much each of them weighs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.learn import key_mask, subset_key


@dataclass
class Tally:
    """Weighted mean of conditional inclusion probabilities, safe for weights of any size.

    `seen` has the log weight of each subset by its key.
    """

    n_units: int
    total: NDArray[np.float64] = field(init=False)
    weight: float = 0.0
    top: float = -np.inf
    seen: dict[bytes, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = np.zeros(self.n_units)

    def add(self, probability: NDArray[np.float64], log_weight: float, mask: NDArray[np.bool_]) -> None:
        """Count one visited subset."""
        key = subset_key(mask)
        self.seen[key] = float(np.logaddexp(self.seen.get(key, -np.inf), log_weight))
        if log_weight > self.top:
            shrink = np.exp(self.top - log_weight)
            self.total *= shrink
            self.weight *= shrink
            self.top = log_weight
        weight = np.exp(log_weight - self.top)
        self.total += weight * probability
        self.weight += weight

    @property
    def mean(self) -> NDArray[np.float64]:
        """The weighted mean."""
        return self.total / self.weight if self.weight else self.total


class FreshFolds(NamedTuple):
    """What is said of each row by a climb to a subset of its own, in which the row has no part.

    `eta` and `doubt` are the linear predictor of the subset's posterior mode and its variance, `refit` the
    linear predictor of maximum likelihood in it.
    """

    eta: NDArray[np.float64]
    doubt: NDArray[np.float64]
    refit: NDArray[np.float64]


@dataclass(frozen=True)
class Visited:
    """Subsets of units with their shares of the posterior, the heaviest first.

    Attributes
    ----------
    subsets : list of array of int
        Units of each subset, in order.
    weights : array of shape (n_subsets,)
        Sum to one.
    """

    subsets: list[NDArray[np.intp]]
    weights: NDArray[np.float64]

    def heaviest(self, most: int) -> "Visited":
        """At most so many of them, their weights made to sum to one again."""
        weights = self.weights[:most]
        return Visited(self.subsets[:most], weights / weights.sum())

    def share_without(self, units: NDArray[np.bool_]) -> float:
        """What the subsets weigh that have none of these units."""
        none = [not units[subset].any() for subset in self.subsets]
        return min(float(self.weights[none].sum()), 1.0)

    def mixed(self, other: "Visited", share: float) -> "Visited":
        """These subsets and those of another walk, which have this share together."""
        total: dict[tuple[int, ...], float] = {}
        for visited, part in ((self, 1.0 - share), (other, share)):
            for units, weight in zip(visited.subsets, visited.weights, strict=True):
                key = tuple(units.tolist())
                total[key] = total.get(key, 0.0) + part * float(weight)
        order = sorted(total, key=lambda key: -total[key])
        subsets = [np.array(key, dtype=np.intp) for key in order]
        return Visited(subsets, np.array([total[key] for key in order]))

    def relabelled(self, labels: NDArray[np.intp]) -> "Visited":
        """The same subsets of other units: `labels` are the new numbers, in order."""
        return Visited([labels[units] for units in self.subsets], self.weights)


def merge_visits(chains: Iterable[Mapping[bytes, float]], n_units: int) -> Visited | None:
    """Subsets of all chains, each chain as heavy as any other; None where nothing was counted.

    Parameters
    ----------
    chains : iterable of mappings
        Log weight of each counted subset, by its key.
    n_units : int
        What the keys are made of.

    Returns
    -------
    Visited or None
    """
    total: dict[bytes, float] = {}
    for chain in filter(len, chains):
        log_weight = np.fromiter(chain.values(), dtype=float)
        share = np.exp(log_weight - log_weight.max())
        for key, weight in zip(chain, share / share.sum(), strict=True):
            total[key] = total.get(key, 0.0) + weight
    if not total:
        return None
    keys, weights = list(total), np.fromiter(total.values(), dtype=float)
    order = np.argsort(-weights, kind="stable")
    subsets = [np.flatnonzero(key_mask(keys[i], n_units)) for i in order]
    return Visited(subsets, weights[order] / weights.sum())
