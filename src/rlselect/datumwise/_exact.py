"""Small problems solved exactly: dynamic programming over everything that can be known about a case."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._learned import Learned
from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._problem import PurchaseProblem
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["TablePolicy", "can_solve", "solve", "strides_of"]


def can_solve(problem: PurchaseProblem, most: int) -> bool:
    """Whether a problem has at most so many states of knowledge, and these are all that counts.

    Not where rows lack values, since then the choices differ from case to case, nor where the money left
    depends on the order of the purchases; never with `most` 0.
    """
    rules = problem.rules
    if most <= 0 or problem.closed.any():
        return False
    if rules.cost_budget is not None and rules.unrelated is not None:
        return False
    limit = max(PLAN.tiny, min(most, float(problem.weights.sum())))
    states = 1
    for group in rules.groups:
        states *= 1 + len(np.unique(problem.codes[:, group], axis=0))
        if states > limit:
            return False
    return True


class TablePolicy:
    """A score for each action in each state of knowledge, looked up.

    Parameters
    ----------
    rules : PurchaseRules
        The rules.
    values : list of arrays
        For each unit, the codes that its features take together, one row per value.
    counts : (states, classes) array
        Weight of the training rows that come to each state if they buy what leads to it.
    """

    def __init__(
        self, rules: PurchaseRules, values: list[NDArray], counts: NDArray, thrift: float = 1.0
    ) -> None:
        self.rules = rules
        self.values = values
        self.counts = counts
        self.thrift = thrift
        self.table, self.shares, self.value = _best_actions(self._dear, values, counts)

    @property
    def _dear(self) -> PurchaseRules:
        """The rules at the prices by which it chooses."""
        rules, times = self.rules, self.thrift
        unrelated = None if rules.unrelated is None else times * rules.unrelated
        room = None if rules.cost_budget is None else times * rules.cost_budget
        return replace(rules, prices=times * rules.prices, unrelated=unrelated, cost_budget=room)

    def at(self, rules: PurchaseRules, thrift: float | None = None, given: int = 0) -> "TablePolicy":
        """The best policy at other prices, whatever is known from the start."""
        return TablePolicy(rules, self.values, self.counts, self.thrift if thrift is None else thrift)

    def outlook(self, codes: NDArray, bought: NDArray) -> tuple[NDArray, NDArray]:
        """Expected costs now and after each purchase, see `PurchasePolicy`."""
        scores = self.action_scores(codes, bought)
        after = -scores[:, : self.rules.n_units] - self._dear.price(bought)
        now = -scores[:, self.rules.n_units :].max(axis=1)
        return now, np.minimum(after, now[:, None])

    def score_of(self, cost: float) -> float:
        """By how much a cost lowers a score."""
        return self.thrift * cost

    def _states(self, codes: NDArray, bought: NDArray) -> NDArray:
        levels = unit_levels(codes, self.rules, self.values)
        return ((levels + 1) * bought) @ strides_of(self.values)

    def action_scores(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Scores of all units and classes in given states."""
        return self.table[self._states(codes, bought)]

    def probabilities(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Class probabilities in given states."""
        return self.shares[self._states(codes, bought)]

    def run(self, codes: NDArray, closed: NDArray, *, held: NDArray | None = None) -> Episodes:
        """Whole episodes from nothing bought, as `AdditivePolicy.run`."""
        n, n_units = closed.shape
        levels = unit_levels(codes, self.rules, self.values)
        steps = (levels + 1) * strides_of(self.values)
        bought = np.zeros((n, n_units), dtype=bool) if held is None else held.copy()
        state = (steps * bought).sum(axis=1)
        answer, cost = np.full(n, -1, dtype=np.intp), np.zeros(n)
        order: list[NDArray] = []
        live = np.arange(n)
        while len(live):
            scores = self.table[state[live]]
            scores[:, :n_units][closed[live]] = -np.inf
            best = scores.argmax(axis=1)
            ends = best >= n_units
            answer[live[ends]] = best[ends] - n_units
            live, best = live[~ends], best[~ends]
            if len(live):
                cost[live] += self.rules.price(bought[live])[np.arange(len(live)), best]
                bought[live, best] = True
                state[live] += steps[live, best]
                column = np.full(n, -1, dtype=np.int32)
                column[live] = best
                order.append(column)
        stacked = np.stack(order, axis=1) if order else np.empty((n, 0), dtype=np.int32)
        return Episodes(stacked, bought, answer, cost)


def strides_of(values: list[NDArray]) -> NDArray:
    """What the level of each unit, counted from 1, adds to the number of a state."""
    sizes = np.array([1, *(len(v) + 1 for v in values[:-1])], dtype=np.intp)
    return np.cumprod(sizes)


def unit_levels(codes: NDArray, rules: PurchaseRules, values: list[NDArray]) -> NDArray:
    """Number of the value that each unit shows: rows x units.

    A combination inside a group that learning has not met is taken for the nearest one, which agrees in most
    features.
    """
    out = np.empty((len(codes), rules.n_units), dtype=np.intp)
    for u, (group, known) in enumerate(zip(rules.groups, values, strict=True)):
        agree = (codes[:, group][:, None, :] == known[None, :, :]).sum(axis=2)
        out[:, u] = agree.argmax(axis=1)
    return out


def solve(problem: PurchaseProblem) -> Learned:
    """The policy with the highest mean return on training rows without gaps, O(states x units).

    Every set of bought units and every combination of their values is a state of knowledge.
    """
    rules = problem.rules
    values = [np.unique(problem.codes[:, group], axis=0) for group in rules.groups]
    strides = strides_of(values)
    levels = unit_levels(problem.codes, rules, values)
    n_states = int(np.prod([len(v) + 1 for v in values]))
    counts = np.zeros((n_states, rules.n_classes))
    for number in range(1 << rules.n_units):
        mask = (number >> np.arange(rules.n_units)) & 1
        np.add.at(counts, (((levels + 1) * mask) @ strides, problem.labels), problem.weights)
    policy = TablePolicy(rules, values, counts)
    reason = f"solved exactly, {n_states} states of knowledge"
    return Learned(policy, policy.value, [], reason, scoring="table")


def _best_actions(
    rules: PurchaseRules, values: list[NDArray], counts: NDArray
) -> tuple[NDArray, NDArray, float]:
    """Scores of the actions (states, actions), minus infinity where they may not be taken; class
    probabilities (states, classes); and the value of the first state.

    From the largest sets down, a state's best action is known once the states that it leads to are. States
    that no row reaches answer as the state before them.
    """
    n_units, strides, n_states = rules.n_units, strides_of(values), len(counts)
    digits = (np.arange(n_states)[:, None] // strides) % np.array([len(v) + 1 for v in values])
    bought = digits > 0
    size = bought.sum(axis=1)
    shares = _shares(counts, digits, strides, size)
    spent = bought @ rules.prices
    table = np.full((n_states, n_units + rules.n_classes), -np.inf)
    table[:, n_units:] = -shares @ rules.losses.T
    may = rules.open(bought, spent) & (counts.sum(axis=1) > 0)[:, None]
    price = rules.price(bought)
    best = table.max(axis=1)
    for held in range(n_units, -1, -1):
        states = np.flatnonzero(size == held)
        for u in range(n_units):
            own = states[may[states, u]]
            children = own[:, None] + strides[u] * np.arange(1, len(values[u]) + 1)
            mass = counts[children].sum(axis=2)
            ahead = (mass * best[children]).sum(axis=1) / mass.sum(axis=1)
            table[own, u] = ahead - price[own, u]
        best[states] = table[states].max(axis=1)
    # Equal scores: an answer comes before a purchase.
    table[:, :n_units] -= 1e-12 * (1 + np.abs(table[:, n_units:]).max())
    return table, shares, float(best[0])


def _shares(counts: NDArray, digits: NDArray, strides: NDArray, size: NDArray) -> NDArray:
    """Class shares of each state; of the state before it where no row is."""
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    for state in np.flatnonzero(total[:, 0] == 0)[np.argsort(size[total[:, 0] == 0], kind="stable")]:
        last = int(np.flatnonzero(digits[state])[-1])
        shares[state] = shares[state - digits[state, last] * strides[last]]
    return shares
