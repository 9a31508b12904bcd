"""What each action is worth in sampled states when the policy is followed afterwards."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._policy import AdditivePolicy, Cases

__all__ = ["Played", "play_states"]

# Numbers in the score matrix of the first purchases: it is read three times, and should stay in the cache.
_FIRST = 1 << 17

# Numbers in the score matrix of the cases that go on buying. Smaller blocks would be read faster, but a few
# long episodes make every block take many steps, and steps have a price of their own.
_REST = 1 << 19

# Numbers that the states of one block of rows hold.
_BLOCK = 1 << 21


@dataclass
class Played:
    """How every purchase ends in a number of states, and what the policy itself does there.

    Parameters
    ----------
    answer : (states, units + 1) int array
        The class that is named after buying each unit and following the policy, -1 where that is not played;
        last, after following the policy at once.
    paid : (states, units + 1) array
        What is paid on the way.
    """

    answer: NDArray
    paid: NDArray

    @property
    def n_rollouts(self) -> int:
        """How many episodes were played."""
        return int((self.answer[:, :-1] >= 0).sum())

    def part(self, states: NDArray) -> "Played":
        """Some of the states."""
        return Played(self.answer[states], self.paid[states])

    def returns(self, losses: NDArray) -> tuple[NDArray, NDArray]:
        """Returns of every purchase (states, units), NaN where it is not played, and of the policy (states,).

        `losses` (states, classes) is what each answer costs in each state.
        """
        worth = -self.paid - np.take_along_axis(losses, np.maximum(self.answer, 0), axis=1)
        purchases = np.where(self.answer[:, :-1] < 0, np.nan, worth[:, :-1])
        return purchases, worth[:, -1]


def play_states(
    policy: AdditivePolicy,
    codes: NDArray,
    closed: NDArray,
    row: NDArray,
    bought: NDArray,
    spent: NDArray,
    skipped: NDArray | None = None,
) -> Played:
    """Play every purchase, and the policy itself, in given states.

    A state is a `row` (states,), in rising order, with what it holds, `bought` (states, units), for what
    it has `spent` (states,). `codes` (rows, features) are encoded values; `closed` (rows, units) cannot
    be bought, and purchases that are `skipped` (rows, units) are not played unless the policy makes them
    itself.
    """
    rules = policy.rules
    n, n_units = closed.shape
    shape = len(bought), n_units + 1
    answer, paid = np.full(shape, -1, dtype=np.int32), np.zeros(shape)
    a_row = max(1, -(-len(row) // max(n, 1)))
    block = policy.encoder.rows_at_a_time(max(1, _BLOCK // a_row), policy.theta.shape, n_units)
    for begin in range(0, n, block):
        rows = slice(begin, min(begin + block, n))
        part = slice(*np.searchsorted(row, [rows.start, rows.stop]))
        own, held, before = row[part] - begin, bought[part], spent[part]
        cases = policy.start(codes[rows], closed[rows], own, held)
        may = rules.open(held, before) & (cases.scores[:, :n_units] > -np.inf)
        usable = np.where(may, cases.scores[:, :n_units], -np.inf)
        best = np.concatenate([usable, cases.scores[:, n_units:]], axis=1).argmax(axis=1)
        buys = np.flatnonzero(best < n_units)
        if skipped is not None:
            may &= ~skipped[rows][own]
            may[buys, best[buys]] = True
        state, unit = np.nonzero(may)
        play = _play_plain if rules.plain else _play_ruled
        ends, costs = play(policy, cases, state, unit, held, before)
        place = part.start + state
        answer[place, unit], paid[place, unit] = ends, costs
        place = np.arange(part.start, part.stop)
        answer[place, -1] = best - n_units
        place, unit = place[buys], best[buys]
        answer[place, -1], paid[place, -1] = answer[place, unit], paid[place, unit]
    return Played(answer, paid)


def _ahead(policy: AdditivePolicy, cases: Cases, held: NDArray) -> tuple[NDArray, NDArray]:
    """Scores with the weights that count after one more purchase, and the stage of these weights."""
    stage = np.minimum(cases.depth + 1, len(policy.theta) - 1)
    if (stage == cases.depth).all() or len(policy.theta) == 1:
        return cases.scores, stage
    return policy.sums(cases, held, stage), stage


def _play_plain(
    policy: AdditivePolicy,
    cases: Cases,
    state: NDArray,
    unit: NDArray,
    held: NDArray,
    _: NDArray,
) -> tuple[NDArray, NDArray]:
    """Answers and costs where only the number of purchases is limited; most end with an answer at once."""
    rules = policy.rules
    n_units, n_actions = held.shape[1], cases.scores.shape[1]
    ahead, stage = _ahead(policy, cases, held)
    flat = cases.table.reshape(-1, n_actions)
    first = stage * cases.table.shape[1]
    poor = None if rules.budget is None else cases.depth + 1 >= rules.budget
    answer, cost = np.empty(len(state), dtype=np.intp), rules.prices[unit]
    size, waiting, on_hand = max(1, _FIRST // n_actions), [], 0
    added, scores = np.empty((2, min(size, len(state)), n_actions), dtype=np.float32)
    for begin in range(0, len(state), size):
        s, u = state[begin : begin + size], unit[begin : begin + size]
        after = scores[: len(s)]
        np.take(flat, first[s] + cases.places[cases.row[s], u], axis=0, out=added[: len(s)], mode="clip")
        np.take(ahead, s, axis=0, out=after, mode="clip")
        after += added[: len(s)]
        best = after.argmax(axis=1)
        if poor is not None:
            (over,) = np.nonzero(poor[s])
            best[over] = n_units + after[over, n_units:].argmax(axis=1)
        answer[begin : begin + size] = best - n_units
        (goes,) = np.nonzero(best < n_units)
        if len(goes):
            waiting.append((begin + goes, after.take(goes, axis=0)))
            on_hand += len(goes)
        if waiting and (on_hand * n_actions >= _REST or begin + size >= len(state)):
            pair = np.concatenate([w[0] for w in waiting])
            children = cases.children(state[pair], unit[pair], np.concatenate([w[1] for w in waiting]))
            answer[pair], paid_later = policy.follow(children)
            cost[pair] += paid_later
            waiting, on_hand = [], 0
    return answer, cost


def _play_ruled(
    policy: AdditivePolicy,
    cases: Cases,
    state: NDArray,
    unit: NDArray,
    held: NDArray,
    before: NDArray,
) -> tuple[NDArray, NDArray]:
    """Answers and costs where prices and choices depend on what is bought."""
    rules = policy.rules
    answer, paid = np.empty(len(state), dtype=np.intp), np.empty(len(state))
    size = max(1, _REST // policy.theta.shape[2])
    for begin in range(0, len(state), size):
        s, u = state[begin : begin + size], unit[begin : begin + size]
        step = np.arange(len(s))
        children, owned = cases.part(s), held[s]
        cost = rules.price(owned)[step, u]
        children.grow(u)
        owned[step, u] = True
        part = slice(begin, begin + size)
        answer[part], total = policy.finish(children, owned, before[s] + cost)
        paid[part] = total - before[s]
    return answer, paid
