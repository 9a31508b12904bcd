"""A fitted policy: scores of all actions in any state, and whole episodes for many cases at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.datumwise._encoding import ValueEncoder
from rlselect.datumwise._rules import PurchaseRules
from rlselect.kernels import greedy_rollouts, grow_scores

__all__ = [
    "ALWAYS",
    "NEVER",
    "NO_MARGINS",
    "AdditivePolicy",
    "Cases",
    "Episodes",
    "Margins",
    "PurchasePolicy",
]

# what is taken off the scores of the first purchase and of later ones: one number, or one per unit
Margins: TypeAlias = tuple[float | NDArray, float | NDArray]
NO_MARGINS: Margins = (0.0, 0.0)

# called with the cases that go on and the units they buy
Record: TypeAlias = Callable[[NDArray, NDArray], None]

# Scores that no regression reaches: a policy that buys nothing, or all it can.
NEVER, ALWAYS = -1e30, 1e30

# Numbers that one block of cases holds at a time: small enough for the second-level cache.
_BLOCK = 1 << 17

# NumPy compares this many numbers of a row at once, and shorter rows one number after the other.
_FAST_ROW = 64


@dataclass
class Episodes:
    """What happened to a number of cases.

    Parameters
    ----------
    order : (cases, steps) int array
        Units in the order of purchase, -1 after the last.
    bought : (cases, units) bool array
        What was known in the end: what was bought, and what was known from the start.
    answer : (cases,) int array
        The class that was chosen.
    cost : (cases,) float array
        What the purchases cost.
    decided : (cases,) bool array or None
        Whether the answer is sure enough to be given, where that was asked for.
    """

    order: NDArray
    bought: NDArray
    answer: NDArray
    cost: NDArray
    decided: NDArray | None = None

    @property
    def paid(self) -> NDArray:
        """What was bought, without what was known from the start: cases x units."""
        out = np.zeros_like(self.bought)
        case, step = np.nonzero(self.order >= 0)
        out[case, self.order[case, step]] = True
        return out


class PurchasePolicy(Protocol):
    """What is bought next in any state of knowledge, and what is answered."""

    @property
    def rules(self) -> PurchaseRules:
        """What it keeps to."""

    def action_scores(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Scores of all units and classes in given states: states x actions."""

    def probabilities(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Class probabilities in given states: states x classes."""

    def run(self, codes: NDArray, closed: NDArray, *, held: NDArray | None = None) -> Episodes:
        """Whole episodes from nothing bought; `closed` cannot be bought, `held` is known (cases x units)."""

    def at(self, rules: PurchaseRules, thrift: float | None = None, given: int = 0) -> "PurchasePolicy":
        """The same policy at other prices, or within another budget.

        It chooses as if all prices were `thrift` times as high; None leaves that as it is. So many units are
        `given`: they are known from the start.
        """

    def outlook(self, codes: NDArray, bought: NDArray) -> tuple[NDArray, NDArray]:
        """What an answer costs now (states,), and in the end after each purchase (states, units), on average.

        The price of that purchase is not counted, those of later ones are.
        """

    def score_of(self, cost: float) -> float:
        """By how much a cost lowers a score."""


@dataclass
class Cases:
    """Cases in the middle of their episodes, as the kernels take them.

    Parameters
    ----------
    scores : (m, actions) array
        Scores of all actions, minus infinity for units that are closed or bought.
    table, constants, places, row, depth, held, shut : arrays
        As for `greedy_rollouts`.
    """

    scores: NDArray
    table: NDArray
    constants: NDArray
    places: NDArray
    row: NDArray
    depth: NDArray
    held: NDArray
    shut: NDArray | None

    def grow(self, unit: NDArray) -> None:
        """Let every case buy a unit."""
        place = self.places[self.row, unit]
        self.scores = grow_scores(
            self.scores, self.table, self.constants, place, self.row, self.depth, self.held, self.shut
        )
        self.depth = self.depth + 1

    def part(self, chosen: NDArray) -> "Cases":
        """Some of the cases, copied."""
        return replace(
            self,
            scores=self.scores.take(chosen, axis=0),
            row=self.row[chosen],
            depth=self.depth[chosen],
            held=self.held[chosen],
        )

    def children(self, chosen: NDArray, unit: NDArray, scores: NDArray) -> "Cases":
        """What some of the cases are after a purchase, with scores that are known already."""
        depth, held = self.depth[chosen], self.held[chosen]
        (early,) = np.nonzero(depth < held.shape[1])
        held[early, depth[early]] = self.places[self.row[chosen[early]], unit[early]]
        return replace(self, scores=scores, row=self.row[chosen], depth=depth + 1, held=held)


def _padded(scores: NDArray) -> NDArray:
    """Scores with actions that are never taken, so that rows are long enough for a fast argmax."""
    width = scores.shape[-1]
    if not _FAST_ROW // 2 <= width < _FAST_ROW:
        return scores
    never = np.full((*scores.shape[:-1], _FAST_ROW - width), -np.inf, dtype=scores.dtype)
    return np.concatenate([scores, never], axis=-1)


class AdditivePolicy:
    """Scores that are a constant plus what each bought unit adds; the best open action is taken.

    The weights depend on the stage, that is on how much is bought: none, one, two, or more units.

    Parameters
    ----------
    rules : PurchaseRules
        The rules.
    encoder : ValueEncoder
        Fitted.
    theta : (stages, width, units + classes) array
        Weights of the action scores.
    shares : (stages, width, classes) array
        Weights of the class probabilities.
    margins : pair
        What the scores of purchases lie below what they return on average.
    thrift : float
        Prices in the scores are so many times those of the rules.
    temperatures : (stages,) array, optional
        Class probabilities are taken to the power of one over this, which makes them as sure as they should
        be; ones unless given.
    """

    def __init__(
        self,
        rules: PurchaseRules,
        encoder: ValueEncoder,
        theta: NDArray,
        shares: NDArray,
        margins: Margins = NO_MARGINS,
        thrift: float = 1.0,
        temperatures: NDArray | None = None,
    ) -> None:
        self.rules = rules
        self.temperatures = np.ones(len(theta)) if temperatures is None else temperatures
        self.encoder = encoder
        self.margins, self.thrift = margins, thrift
        nothing = np.zeros((len(theta), 1, theta.shape[2]))
        self.theta = np.concatenate([theta, nothing], axis=1).astype(np.float32)
        self.shares = shares
        self._order, self._starts = rules.order, rules.starts
        self.stage = np.minimum(np.arange(rules.n_units + 2), len(theta) - 1)
        self._table: NDArray | None = None

    def keep_table(self) -> None:
        """Make the table of `start` once for many runs, if it is the same for all rows.

        The weights must not be changed afterwards.
        """
        table = self.encoder.common_table(self.theta, self._starts, self._order)
        self._table = None if table is None else _padded(table)

    def with_margins(self, margins: Margins) -> "AdditivePolicy":
        """The same policy with something taken off the scores of purchases."""
        first, later = (own + more for own, more in zip(self.margins, margins, strict=True))
        theta = self._less(*margins)
        margins, heat = (first, later), self.temperatures
        return AdditivePolicy(self.rules, self.encoder, theta, self.shares, margins, self.thrift, heat)

    def at(self, rules: PurchaseRules, thrift: float | None = None, given: int = 0) -> "AdditivePolicy":
        """As if all that follows a purchase stayed the same: only its own price is changed in the scores.

        How sure it is depends on the stage, and so on what is known, from the start or not.
        """
        thrift = self.thrift if thrift is None else thrift
        change = thrift * rules.prices - self.thrift * self.rules.prices
        theta = self._less(change, change)
        heat = self.temperatures
        return AdditivePolicy(rules, self.encoder, theta, self.shares, self.margins, thrift, heat)

    def _less(self, first: float | NDArray, later: float | NDArray) -> NDArray:
        """Weights with so much taken off the scores of the first purchase and of later ones."""
        theta = self.theta[:, :-1].copy()
        theta[:1, 0, : self.rules.n_units] -= first
        theta[1:, 0, : self.rules.n_units] -= later
        return theta

    def outlook(self, codes: NDArray, bought: NDArray) -> tuple[NDArray, NDArray]:
        """Expected costs now and after each purchase, see `PurchasePolicy`.

        The cost of the answer is that of the class probabilities, which are as sure as rows left out have
        shown; beyond that of the right one it is taken to shrink by the same share as by the scores.
        """
        rules, scores = self.rules, self.action_scores(codes, bought)
        begins = self.stage[bought.sum(axis=1)][:, None] == 0
        purchases = scores[:, : rules.n_units] + np.where(begins, *self.margins)
        # what thrift adds to a price is no cost
        gains = purchases + rules.price(bought) + (self.thrift - 1) * rules.prices
        answers = scores[:, rules.n_units :].max(axis=1)
        now, ideal = rules.answer_costs(self.probabilities(codes, bought))
        scored = np.maximum(-answers - ideal, 1e-12)
        kept = 1 - (gains - answers[:, None]) / scored[:, None]
        return now, ideal[:, None] + (now - ideal)[:, None] * np.clip(kept, 0, 1)

    def score_of(self, cost: float) -> float:
        """By how much a cost lowers a score."""
        return self.thrift * cost

    def start(
        self,
        codes: NDArray,
        closed: NDArray,
        row: NDArray,
        bought: NDArray,
        margins: Margins = NO_MARGINS,
    ) -> Cases:
        """Cases ready to go on: m of them, by their `row` (m,) and what they hold, `bought` (m, units).

        `codes` (rows, features) are encoded values, and `closed` (rows, units) cannot be bought.
        """
        n_units, n_stages = closed.shape[1], len(self.theta)
        table, places = self.encoder.table(self.theta, codes, self._starts, self._order, self._table)
        if self._table is None:
            table = _padded(table)
        constants = self.theta[:, 0].copy()
        constants[:1, :n_units] -= margins[0]
        constants[1:, :n_units] -= margins[1]
        constants = _padded(constants)
        shut = None
        if closed.any():
            shut = np.zeros((len(codes), table.shape[2]), dtype=np.float32)
            shut[:, :n_units][closed] = -np.inf
        depth = bought.sum(axis=1)
        held = np.zeros((len(row), n_stages - 1), dtype=np.intp)
        early = np.flatnonzero(depth < n_stages)
        case, unit = np.nonzero(bought[early])
        position = np.arange(len(case)) - np.searchsorted(case, case)
        case = early[case]
        inside = position < n_stages - 1
        held[case[inside], position[inside]] = places[row[case[inside]], unit[inside]]
        cases = Cases(np.empty(0), table, constants, places, row, depth, held, shut)
        cases.scores = self.sums(cases, bought, np.minimum(depth, n_stages - 1))
        return cases

    def sums(self, cases: Cases, bought: NDArray, stage: NDArray) -> NDArray:
        """Scores (m, actions) with the weights of given stages (m,), minus infinity for what is not open.

        `bought` (m, units) is what the cases of `start` hold.
        """
        scores = cases.constants.take(stage, axis=0)
        for number in np.unique(stage):
            inside = np.flatnonzero((stage == number) & (cases.depth > 0))
            if len(inside) == 0:
                continue
            case, unit = np.nonzero(bought[inside])
            ends = np.concatenate([[0], np.cumsum(cases.depth[inside])])
            ones = np.ones(len(case), dtype=np.float32)
            place = cases.places[cases.row[inside[case]], unit]
            shape = (len(inside), cases.table.shape[1])
            scores[inside] += sparse.csr_array((ones, place, ends), shape=shape) @ cases.table[number]
        if cases.shut is not None:
            scores += cases.shut[cases.row]
        return scores

    def action_scores(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Scores of all units and classes in given states, whether open or not."""
        return self._lookup(self.theta[:, :-1].astype(float), codes, bought)

    def probabilities(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Class probabilities in given states."""
        out = self._lookup(self.shares, codes, bought)
        # A least-squares share can leave [0, 1]; a tiny floor keeps the order of the classes.
        out = np.maximum(out, 1e-6)
        out /= out.sum(axis=1, keepdims=True)
        if (self.temperatures != 1).any():
            out **= 1 / self.temperatures[self.stage[bought.sum(axis=1)], None]
            out /= out.sum(axis=1, keepdims=True)
        return out

    def _lookup(self, weights: NDArray, codes: NDArray, bought: NDArray) -> NDArray:
        out = np.empty((len(codes), weights.shape[2]))
        stage = self.stage[bought.sum(axis=1)]
        block = max(1, _BLOCK * 8 // self.encoder.width_)
        for number in np.unique(stage):
            inside = np.flatnonzero(stage == number)
            for begin in range(0, len(inside), block):
                part = inside[begin : begin + block]
                out[part] = self.encoder.design(codes[part], self.rules.shown(bought[part])) @ weights[number]
        return out

    def run(
        self,
        codes: NDArray,
        closed: NDArray,
        margins: Margins = NO_MARGINS,
        *,
        held: NDArray | None = None,
    ) -> Episodes:
        """Whole episodes from nothing bought: who buys what, in which order, at which cost, and the answers.

        `codes` (cases, features) are encoded values; `closed` cannot be bought, and `held` is known from the
        start (cases, units).
        """
        rules = self.rules
        n, n_units = closed.shape
        longest = n_units if rules.budget is None else min(rules.budget, n_units)
        order = np.full((n, longest), -1, dtype=np.int32)
        count = np.zeros(n, dtype=np.intp)
        answer, cost = np.empty(n, dtype=np.intp), np.empty(n)
        block = self.encoder.rows_at_a_time(8 * _BLOCK, self.theta.shape, n_units)
        for begin in range(0, n, block):
            part = slice(begin, min(begin + block, n))

            def record(case: NDArray, unit: NDArray, begin: int = begin) -> None:
                rows = begin + case
                order[rows, count[rows]] = unit
                count[rows] += 1

            first = np.zeros((part.stop - begin, n_units), dtype=bool) if held is None else held[part].copy()
            cases = self.start(codes[part], closed[part], np.arange(len(first)), first, margins)
            answer[part], cost[part] = self.finish(cases, first, np.zeros(len(first)), record)
        order = order[:, : int(count.max(initial=0))]
        bought = np.zeros((n, n_units), dtype=bool) if held is None else held.copy()
        case, step = np.nonzero(order >= 0)
        bought[case, order[case, step]] = True
        return Episodes(order, bought, answer, cost)

    def finish(
        self, cases: Cases, bought: NDArray, spent: NDArray, record: Record | None = None
    ) -> tuple[NDArray, NDArray]:
        """Play cases to their ends and use them up: the classes chosen (m,), and all that was spent (m,).

        They hold `bought` (m, units), which has cost `spent` (m,).
        """
        if self.rules.plain:
            answer, paid = self.follow(cases, record)
            return answer, spent + paid
        return ruled_rollouts(cases, bought, spent, self.rules, record)

    def follow(self, cases: Cases, record: Record | None = None) -> tuple[NDArray, NDArray]:
        """`finish` for plain rules, by which only the number of purchases counts; gives what is yet spent."""
        rules = self.rules
        left = None if rules.budget is None else rules.budget - cases.depth
        return greedy_rollouts(
            cases.scores, cases.table, cases.constants, cases.places, cases.row, cases.depth,
            cases.held, rules.prices, cases.shut, left, record,
        )  # fmt: skip


def ruled_rollouts(
    cases: Cases, bought: NDArray, spent: NDArray, rules: PurchaseRules, record: Record | None = None
) -> tuple[NDArray, NDArray]:
    """`greedy_rollouts` where prices and choices depend on what is bought, see `AdditivePolicy.finish`."""
    m, n_units = bought.shape
    answer = np.empty(m, dtype=np.intp)
    total = spent.astype(float)
    case = np.arange(m)
    while len(case):
        usable = cases.scores.copy()
        usable[:, :n_units][~rules.open(bought, total[case])] = -np.inf
        best = usable.argmax(axis=1)
        buys = np.flatnonzero(best < n_units)
        ends = np.flatnonzero(best >= n_units)
        answer[case[ends]] = best[ends] - n_units
        case, best, bought, cases = case[buys], best[buys], bought[buys], cases.part(buys)
        if len(case) == 0:
            break
        if record is not None:
            record(case, best)
        step = np.arange(len(case))
        total[case] += rules.price(bought)[step, best]
        cases.grow(best)
        bought[step, best] = True
    return answer, total
