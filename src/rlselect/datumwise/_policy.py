"""A fitted policy: scores of all actions in any state, and whole episodes for many cases at once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._structure import Structure
from rlselect.kernels._rollouts import greedy_rollouts, grow_scores

__all__ = ["AdditivePolicy", "Cases", "Episodes", "Learned"]

# Numbers that one block of cases holds at a time: small enough for the second-level cache.
_BLOCK = 1 << 17


@dataclass
class Episodes:
    """What happened to a number of cases.

    Parameters
    ----------
    order : (cases, steps) int array
        Units in the order of purchase, -1 after the last.
    bought : (cases, units) bool array
        What was bought.
    answer : (cases,) int array
        The class that was chosen.
    cost : (cases,) float array
        What the purchases cost.
    """

    order: NDArray
    bought: NDArray
    answer: NDArray
    cost: NDArray


@dataclass
class Learned:
    """A policy and how it came about.

    Parameters
    ----------
    policy : AdditivePolicy or TablePolicy
        The one that is kept.
    value : float
        Its mean return, each row played by a policy that had not seen it.
    history : list of dict
        One entry an iteration.
    reason : str
        Why learning ended.
    """

    policy: Any
    value: float
    history: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""


@dataclass
class Cases:
    """Cases in the middle of their episodes, as the kernels take them.

    Parameters
    ----------
    scores : (m, actions) array
        Scores of all actions, minus infinity for units that are closed or bought.
    additions, constants, stage : arrays
        As for `grow_scores`.
    base, depth, held : arrays
        As for `grow_scores`.
    """

    scores: NDArray
    additions: NDArray
    constants: NDArray
    stage: NDArray
    base: NDArray
    depth: NDArray
    held: NDArray

    def grow(self, unit: NDArray) -> None:
        """Let every case buy a unit."""
        self.scores = grow_scores(
            self.scores, self.additions, self.constants, self.stage, self.base, unit, self.depth, self.held
        )
        self.depth = self.depth + 1

    def part(self, chosen: NDArray) -> "Cases":
        """Some of the cases, copied."""
        return Cases(
            self.scores.take(chosen, axis=0),
            self.additions,
            self.constants,
            self.stage,
            self.base[chosen],
            self.depth[chosen],
            self.held[chosen],
        )


class AdditivePolicy:
    """Scores that are a constant plus what each bought unit adds; the best open action is taken.

    The weights depend on the stage, that is on how much is bought: none, one, two, or more units.

    Parameters
    ----------
    structure : Structure
        The rules.
    encoder : BinEncoder or LinearEncoder
        Fitted.
    theta : (stages, width, units + classes) array
        Weights of the action scores.
    shares : (stages, width, classes) array
        Weights of the class probabilities.
    """

    def __init__(self, structure: Structure, encoder: Any, theta: NDArray, shares: NDArray) -> None:
        self.structure = structure
        self.encoder = encoder
        nothing = np.zeros((len(theta), 1, theta.shape[2]))
        self.theta = np.concatenate([theta, nothing], axis=1).astype(np.float32)
        self.shares = shares
        self._order, self._starts = structure.order, structure.starts
        self.stage = np.minimum(np.arange(structure.n_units + 2), len(theta) - 1)

    def start(self, codes: NDArray, bought: NDArray, closed: NDArray) -> Cases:
        """Cases with K states each, ready to go on.

        Parameters
        ----------
        codes : (rows, features) array
            Encoded values.
        bought : (rows, K, units) bool array
            What is bought in each state.
        closed : (rows, units) bool array
            Units that cannot be bought for a row.

        Returns
        -------
        Cases
            ``rows * K`` of them.
        """
        n, n_states, n_units = bought.shape
        n_stages, _, n_actions = self.theta.shape
        additions = np.zeros((n_stages, n * n_units + 1, n_actions), dtype=np.float32)
        for number, theta in enumerate(self.theta):
            added = self.encoder.contributions(theta, codes, self._starts, self._order)
            additions[number, :-1] = added.reshape(n * n_units, n_actions)
        flat = bought.reshape(-1, n_units)
        depth = flat.sum(axis=1)
        scores = self._sums(additions, bought, self.stage[depth])
        scores[:, :n_units][flat | np.repeat(closed, n_states, axis=0)] = -np.inf
        base = np.repeat(np.arange(n) * n_units, n_states)
        held = np.full((len(flat), n_stages - 1), -1, dtype=np.intp)
        early = np.flatnonzero(depth < n_stages)
        case, unit = np.nonzero(flat[early])
        position = np.arange(len(case)) - np.searchsorted(case, case)
        inside = position < n_stages - 1
        held[early[case[inside]], position[inside]] = base[early[case[inside]]] + unit[inside]
        return Cases(scores, additions, self.theta[:, 0], self.stage, base, depth, held)

    def _sums(self, additions: NDArray, bought: NDArray, stage: NDArray) -> NDArray:
        """Scores of states, each with the weights of its stage."""
        n, n_states, n_units = bought.shape
        scores = self.theta[stage, 0]
        if not bought.any():
            return scores
        for number in np.unique(stage):
            inside = stage == number
            grid = additions[number, :-1].reshape(n, n_units, -1)
            sums = (bought.astype(np.float32) @ grid).reshape(n * n_states, -1)
            scores[inside] += sums[inside]
        return scores

    def action_scores(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Scores of all units and classes in given states, whether open or not."""
        return self._lookup(self.theta[:, :-1].astype(float), codes, bought)

    def probabilities(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Class probabilities in given states."""
        out = self._lookup(self.shares, codes, bought)
        # A least-squares share can leave [0, 1]; a tiny floor keeps the order of the classes.
        out = np.maximum(out, 1e-6)
        return out / out.sum(axis=1, keepdims=True)

    def _lookup(self, weights: NDArray, codes: NDArray, bought: NDArray) -> NDArray:
        out = np.empty((len(codes), weights.shape[2]))
        stage = self.stage[bought.sum(axis=1)]
        block = max(1, _BLOCK * 8 // self.encoder.width_)
        for number in np.unique(stage):
            inside = np.flatnonzero(stage == number)
            for begin in range(0, len(inside), block):
                part = inside[begin : begin + block]
                out[part] = (
                    self.encoder.design(codes[part], self.structure.shown(bought[part])) @ weights[number]
                )
        return out

    def run(self, codes: NDArray, closed: NDArray) -> Episodes:
        """Whole episodes from nothing bought.

        Parameters
        ----------
        codes : (cases, features) array
            Encoded values.
        closed : (cases, units) bool array
            Units that cannot be bought for a case.

        Returns
        -------
        Episodes
            What was bought, in which order, at which cost, and the answers.
        """
        rules = self.structure
        n, n_units = closed.shape
        longest = n_units if rules.budget is None else min(rules.budget, n_units)
        order = np.full((n, longest), -1, dtype=np.int32)
        count = np.zeros(n, dtype=np.intp)
        answer, cost = np.empty(n, dtype=np.intp), np.empty(n)
        block = max(1, 8 * _BLOCK // (n_units * self.theta.shape[0] * self.theta.shape[2]))
        for begin in range(0, n, block):
            part = slice(begin, min(begin + block, n))

            def record(case: NDArray, unit: NDArray, begin: int = begin) -> None:
                rows = begin + case
                order[rows, count[rows]] = unit
                count[rows] += 1

            nothing = np.zeros((part.stop - begin, 1, n_units), dtype=bool)
            cases = self.start(codes[part], nothing, closed[part])
            answer[part], cost[part] = self.finish(cases, nothing[:, 0], np.zeros(len(nothing)), record)
        order = order[:, : int(count.max(initial=0))]
        bought = np.zeros((n, n_units), dtype=bool)
        case, step = np.nonzero(order >= 0)
        bought[case, order[case, step]] = True
        return Episodes(order, bought, answer, cost)

    def finish(
        self, cases: Cases, bought: NDArray, spent: NDArray, record: Any = None
    ) -> tuple[NDArray, NDArray]:
        """Play cases to their ends.

        Parameters
        ----------
        cases : Cases
            Used up.
        bought : (m, units) bool array
            What they hold.
        spent : (m,) array
            What it cost.
        record : callable, optional
            As for `greedy_rollouts`.

        Returns
        -------
        answer : (m,) int array
            The classes chosen.
        cost : (m,) array
            All that was spent, what was spent before included.
        """
        rules = self.structure
        if rules.plain:
            left = None if rules.budget is None else rules.budget - cases.depth
            answer, paid = greedy_rollouts(
                cases.scores, cases.additions, cases.constants, cases.stage, cases.base, cases.depth,
                cases.held, rules.prices, left, record,
            )  # fmt: skip
            return answer, spent + paid
        return ruled_rollouts(cases, bought, spent, rules, record)


def ruled_rollouts(
    cases: Cases, bought: NDArray, spent: NDArray, rules: Structure, record: Any = None
) -> tuple[NDArray, NDArray]:
    """`greedy_rollouts` where prices and choices depend on what is bought.

    Parameters
    ----------
    cases : Cases
        Used up.
    bought : (m, units) bool array
        What is bought at the start.
    spent : (m,) array
        What it cost.
    rules : Structure
        Says which units may be bought, and at which price.
    record : callable, optional
        As for `greedy_rollouts`.

    Returns
    -------
    answer : (m,) int array
        The classes chosen.
    cost : (m,) array
        All that was spent, what was spent at the start included.
    """
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
