"""A fitted policy: scores of all actions in any state, and whole episodes for many cases at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._structure import Structure
from rlselect.kernels._rollouts import greedy_rollouts, ruled_rollouts

__all__ = ["AdditivePolicy", "Episodes"]

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


class AdditivePolicy:
    """Scores that are a constant plus what each bought unit adds; the best open action is taken.

    Parameters
    ----------
    structure : Structure
        The rules.
    encoder : BinEncoder or LinearEncoder
        Fitted.
    theta : (width, units + classes) array
        Weights of the action scores.
    shares : (width, classes) array
        Weights of the class probabilities.
    """

    def __init__(self, structure: Structure, encoder: Any, theta: NDArray, shares: NDArray) -> None:
        self.structure = structure
        self.encoder = encoder
        self.theta = np.vstack([theta, np.zeros((1, theta.shape[1]))]).astype(np.float32)
        self.shares = shares
        self._order, self._starts = structure.order, structure.starts

    def additions(self, codes: NDArray) -> NDArray:
        """What each unit would add to the scores of each case: cases x units x actions."""
        return self.encoder.contributions(self.theta, codes, self._starts, self._order)

    def action_scores(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Scores of all units and classes in given states, whether open or not."""
        design = self.encoder.design(codes, self.structure.shown(bought))
        return (design @ self.theta[:-1].astype(float)).astype(np.float32)

    def probabilities(self, codes: NDArray, bought: NDArray) -> NDArray:
        """Class probabilities in given states."""
        out = np.empty((len(codes), self.shares.shape[1]))
        block = max(1, _BLOCK * 8 // self.encoder.width_)
        for begin in range(0, len(codes), block):
            part = slice(begin, begin + block)
            out[part] = self.encoder.design(codes[part], self.structure.shown(bought[part])) @ self.shares
        # A least-squares share can leave [0, 1]; a tiny floor keeps the order of the classes.
        out = np.maximum(out, 1e-6)
        return out / out.sum(axis=1, keepdims=True)

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
        block = max(1, _BLOCK // (n_units * self.theta.shape[1]))
        for begin in range(0, n, block):
            part = slice(begin, min(begin + block, n))

            def record(case: NDArray, unit: NDArray, begin: int = begin) -> None:
                rows = begin + case
                order[rows, count[rows]] = unit
                count[rows] += 1

            answer[part], cost[part] = self._run_block(codes[part], closed[part], record)
        order = order[:, : int(count.max(initial=0))]
        bought = np.zeros((n, n_units), dtype=bool)
        case, step = np.nonzero(order >= 0)
        bought[case, order[case, step]] = True
        return Episodes(order, bought, answer, cost)

    def _run_block(self, codes: NDArray, closed: NDArray, record: Any) -> tuple[NDArray, NDArray]:
        rules = self.structure
        m, n_units = closed.shape
        additions = self.additions(codes).reshape(m * n_units, -1)
        scores = np.tile(self.theta[0], (m, 1))
        scores[:, :n_units][closed] = -np.inf
        base = np.arange(m) * n_units
        if rules.plain:
            left = None if rules.budget is None else np.full(m, rules.budget)
            return greedy_rollouts(scores, additions, base, rules.prices, left, record)
        nothing = np.zeros((m, n_units), dtype=bool)
        return ruled_rollouts(
            scores, additions, base, nothing, np.zeros(m), (rules.open, rules.price), record
        )
