"""Why something is bought: what the answer is expected to cost before and after, and what is asked next."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import time_is_up
from rlselect.datumwise._policy import Episodes, PurchasePolicy
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["Explanation", "PurchaseReasons", "purchase_reasons"]

# of more cases, so many tell what a purchase is expected to bring
_CASES = 4000

# what so many of the cases buy next is worth a word, and so many names at most
_OFTEN, _NAMES = 0.15, 2


@dataclass(frozen=True)
class Explanation:
    """Why a feature or group is asked for.

    Parameters
    ----------
    question : object
        Its name.
    price : float
        What it costs.
    now : float
        What an answer would cost now, on average: without `error_costs` the expected error; of numbers, the
        expected squared error as a share of the variance.
    after : float
        What it would cost in the end if this is bought, purchases after this one included. So `now` less
        `after` less `price` is what the purchase is worth.
    then : dict
        What is bought next, with the share of the training rows that did so at the prices of `fit`; shares
        below .15 are left out, and so is all but the two largest, and what is known or cannot be had.
    word : str
        What is expected: "error", "cost" or "squared error".
    """

    question: Any
    price: float
    now: float
    after: float
    then: dict[Any, float]
    word: str

    def __str__(self) -> str:
        change = f"expected {self.word} {_short(self.now)} to {_short(self.after)} for {_short(self.price)}"
        names = [f"{name} ({share:.0%})" for name, share in self.then.items()]
        return f"{change}; opens the way to {', '.join(names)}" if names else change


@dataclass(frozen=True)
class PurchaseReasons:
    """Means over the purchases of some cases.

    Parameters
    ----------
    now, after : (units,) arrays
        Expected costs before and after each unit is bought; NaN for what nobody buys.
    follows : (units, units + 1) array
        Shares of those who buy a unit that buy each other one next; last, of those who buy no more.
    """

    now: NDArray
    after: NDArray
    follows: NDArray

    def next_names(self, unit: int, rules: PurchaseRules) -> dict[Any, float]:
        """What is bought after a unit by many, the most frequent first."""
        shares = self.follows[unit, :-1]
        best = np.argsort(-shares, kind="stable")[:_NAMES]
        return {rules.names[u]: float(shares[u]) for u in best if shares[u] >= _OFTEN}


def purchase_reasons(
    policy: PurchasePolicy, codes: NDArray, episodes: Episodes, weights: NDArray
) -> PurchaseReasons:
    """Why the cases of some episodes bought what they did, each counted by its weight (cases,).

    What purchases promise is not told of the later ones where time is up.
    """
    n_units = policy.rules.n_units
    follows = np.zeros((n_units, n_units + 1))
    order = np.hstack([episodes.order, np.full((len(weights), 1), -1, dtype=episodes.order.dtype)])
    sums = np.zeros((3, n_units))
    some = np.arange(0, len(weights), -(-len(weights) // _CASES) if len(weights) else 1)
    bought = episodes.bought & ~episodes.paid
    for step in range(order.shape[1] - 1):
        case = np.flatnonzero(order[:, step] >= 0)
        # the last column is the end
        np.add.at(follows, (order[case, step], order[case, step + 1]), weights[case])
        own = some[order[some, step] >= 0]
        unit = order[own, step]
        if len(own) and not time_is_up():
            now, after = policy.outlook(codes[own], bought[own])
            for total, value in zip(sums, (1.0, now, after[np.arange(len(own)), unit]), strict=True):
                np.add.at(total, unit, weights[own] * value)
        bought[case, order[case, step]] = True
    count = sums[0]
    now, after = (np.divide(s, count, out=np.full(n_units, np.nan), where=count > 0) for s in sums[1:])
    total = follows.sum(axis=1, keepdims=True)
    return PurchaseReasons(now, after, np.divide(follows, total, out=follows, where=total > 0))


def _short(value: float) -> str:
    return f"{value:.2g}"
