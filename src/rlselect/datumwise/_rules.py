"""What may be bought, when, and at which price: units, costs, budgets, relations, prerequisites."""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["PurchaseRules"]


@dataclass(frozen=True)
class PurchaseRules:
    """The rules of the decision process, all in terms of units (single features or groups of them).

    Parameters
    ----------
    names : list
        One name per unit.
    groups : list of int arrays
        Features of each unit.
    prices : (units,) array
        Cost of buying a unit.
    losses : (classes, classes) array
        Cost of answering the first when the second is true.
    budget : int or None
        Most purchases per case.
    cost_budget : float or None
        Most that the purchases of a case may cost.
    related : (units, units) bool array or None
        Which units are related.
    relation : {"any", "all", "pairs"}
        Whether one bought relative is enough, or all that is bought must be related, or a unit is paid once
        for itself and once more for everything bought, by whether the two are related.
    unrelated : (units,) array or None
        Price of a unit that is not related to what is bought; None forbids it.
    needs : (units, units) bool array or None
        ``needs[u, v]``: u can only be bought after v.
    copies : int array or None
        Where units share features, a policy has a column of its own for each feature of each unit: the
        feature that each column shows. None where the columns are the features.
    values : (classes,) array or None
        Where answers are numbers: these, in standard deviations. `losses` are their squared distances.
    learned : (features,) bool array or None
        Features of these units that policies look at, at least one of each; None for all.
    """

    names: list[Any]
    groups: list[NDArray]
    prices: NDArray
    losses: NDArray
    budget: int | None = None
    cost_budget: float | None = None
    related: NDArray | None = None
    relation: Literal["any", "all", "pairs"] = "any"
    unrelated: NDArray | None = None
    needs: NDArray | None = None
    copies: NDArray | None = None
    values: NDArray | None = None
    learned: NDArray | None = None

    @property
    def n_units(self) -> int:
        """How many things can be bought."""
        return len(self.groups)

    @property
    def n_classes(self) -> int:
        """How many answers there are."""
        return len(self.losses)

    @property
    def spread(self) -> float:
        """What the worst answer costs more than the best; of numbers a variance, as errors know no bounds."""
        return 1.0 if self.values is not None else float(np.ptp(self.losses)) or 1.0

    @property
    def even_costs(self) -> bool:
        """Whether all errors cost the same, and all purchases do; of numbers, errors are taken to."""
        wrong = self.losses[~np.eye(self.n_classes, dtype=bool)]
        alike = [self.prices] if self.values is not None else [wrong, np.diag(self.losses), self.prices]
        return all(len(np.unique(costs)) <= 1 for costs in alike)

    @property
    def is_ungrouped(self) -> bool:
        """Whether every unit is one feature."""
        return all(len(group) == 1 for group in self.groups)

    @property
    def plain(self) -> bool:
        """Whether prices and choices do not depend on what is bought, but for the number of purchases."""
        limits = (self.related, self.needs, self.cost_budget, self.shared)
        return all(limit is None for limit in limits)

    @cached_property
    def shared(self) -> NDArray | None:
        """Which features each unit shows, (units, features), where some show the same; None where none do."""
        features = self.order if self.copies is None else self.copies[self.order]
        if len(np.unique(features)) == len(features):
            return None
        out = np.zeros((self.n_units, int(features.max()) + 1), dtype=np.float32)
        out[np.repeat(np.arange(self.n_units), [len(g) for g in self.groups]), features] = 1.0
        return out

    @property
    def order(self) -> NDArray:
        """Features in the order of their units."""
        return np.concatenate(self.groups).astype(np.intp)

    @property
    def starts(self) -> NDArray:
        """Where each unit starts in `order`."""
        return np.concatenate([[0], np.cumsum([len(g) for g in self.groups])[:-1]]).astype(np.intp)

    def subset(self, units: NDArray) -> "PurchaseRules":
        """The same rules for some of the units, their features numbered anew in the given order.

        A feature of several units has several numbers, and one that is not learned about has none.
        """
        ends = np.cumsum([0, *(len(self._looked_at(u)) for u in units)])
        square = np.ix_(units, units)
        return replace(
            self,
            names=[self.names[u] for u in units],
            groups=[np.arange(a, b) for a, b in itertools.pairwise(ends)],
            prices=self.prices[units],
            related=None if self.related is None else self.related[square],
            unrelated=None if self.unrelated is None else self.unrelated[units],
            needs=None if self.needs is None else self.needs[square],
            copies=None if self.shared is None else self.columns(units),
            learned=None,
        )

    def columns(self, units: NDArray) -> NDArray:
        """Features of some of the units, in the order of `subset`."""
        return np.concatenate([self._looked_at(u) for u in units])

    def _looked_at(self, unit: int) -> NDArray:
        """Features of a unit that policies look at."""
        group = self.groups[unit]
        return group if self.learned is None else group[self.learned[group]]

    def shown(self, bought: NDArray) -> NDArray:
        """Features that bought units show: cases x features."""
        if self.shared is not None and self.copies is None:
            return bought.astype(np.float32) @ self.shared > 0
        out = np.zeros((len(bought), len(self.order)), dtype=bool)
        out[:, self.order] = np.repeat(bought, [len(g) for g in self.groups], axis=1)
        return out

    def answer_costs(self, shares: NDArray) -> tuple[NDArray, NDArray]:
        """What the best answer costs on average, and what the right one would: (states,) of each.

        `shares` (states, classes) are class probabilities.
        """
        return (shares @ self.losses.T).min(axis=1), shares @ self.losses.min(axis=0)

    def soft_losses(self, shares: NDArray, labels: NDArray) -> NDArray:
        """What answers drawn from class probabilities cost on average; where they are numbers, their mean.

        `shares` (states, classes), `labels` (states,) are the true classes.
        """
        if self.values is not None:
            return (shares @ self.values - self.values[labels]) ** 2
        return (shares * self.losses[:, labels].T).sum(axis=1)

    def is_related(self, bought: NDArray) -> NDArray:
        """Whether each unit is related to what is bought; with nothing bought, all are."""
        assert self.related is not None
        held = bought.astype(np.float32)
        relatives = held @ self.related.T.astype(np.float32)
        count = held.sum(axis=1, keepdims=True)
        enough = relatives >= count if self.relation == "all" else relatives > 0
        return enough | (count == 0)

    def price(self, bought: NDArray) -> NDArray:
        """Price of each unit in each state: cases x units."""
        if self.related is None or self.unrelated is None:
            return np.broadcast_to(self.prices, bought.shape)
        if self.relation == "pairs":
            held = bought.astype(float)
            relatives = held @ self.related.T
            others = held.sum(axis=1, keepdims=True) - relatives
            return self.prices * (1 + relatives) + self.unrelated * others
        return np.where(self.is_related(bought), self.prices, self.unrelated)

    def open(self, bought: NDArray, spent: NDArray) -> NDArray:
        """Which units may be bought next after `bought` (cases, units), which has cost `spent` (cases,)."""
        out = ~bought
        if self.budget is not None:
            out &= bought.sum(axis=1, keepdims=True) < self.budget
        if self.related is not None and self.unrelated is None:
            out &= self.is_related(bought)
        if self.needs is not None:
            missing = (~bought).astype(np.float32) @ self.needs.T.astype(np.float32)
            out &= missing == 0
        if self.shared is not None:
            # all of it has been seen in other units
            unseen = bought.astype(np.float32) @ self.shared == 0
            out &= unseen.astype(np.float32) @ self.shared.T > 0
        if self.cost_budget is not None:
            # Sums of prices are compared with a little room for rounding.
            room = self.cost_budget * (1 + 1e-9) + 1e-12
            out &= spent[:, None] + self.price(bought) <= room
        return out
