"""What each action is worth in sampled states when the policy is followed afterwards."""

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._policy import AdditivePolicy

__all__ = ["state_values"]

# Numbers in the score matrix of one block of rollouts. Blocks that fit into the cache of a core would be read
# faster, but a few long episodes make every block take many steps, and steps have a price of their own.
_BLOCK = 1 << 19


def state_values(
    policy: AdditivePolicy,
    codes: NDArray,
    closed: NDArray,
    labels: NDArray,
    bought: NDArray,
    spent: NDArray,
    skipped: NDArray | None = None,
) -> tuple[NDArray, NDArray, int]:
    """Returns of every purchase, and of the policy itself, in K states of each row.

    Parameters
    ----------
    policy : AdditivePolicy
        Followed after the first action.
    codes : (rows, features) array
        Encoded values.
    closed : (rows, units) bool array
        Units that cannot be bought for a row.
    labels : (rows,) int array
        True classes.
    bought : (rows, K, units) bool array
        The states.
    spent : (rows, K) array
        What they cost.
    skipped : (rows, units) bool array, optional
        Purchases that are not played, unless the policy makes them itself.

    Returns
    -------
    purchases : (rows, K, units) array
        Return of buying each unit and following the policy; NaN where that is not played.
    values : (rows, K) array
        Return of following the policy at once.
    n_rollouts : int
        How many episodes were played.
    """
    rules = policy.structure
    n, n_states, n_units = bought.shape
    purchases = np.empty(bought.shape)
    values = np.empty((n, n_states))
    n_stages, _, n_actions = policy.theta.shape
    played = 0
    block = max(1, 2 * _BLOCK // (n_units * n_actions * n_stages))
    size = max(1, _BLOCK // n_actions)
    for begin in range(0, n, block):
        part = slice(begin, min(begin + block, n))
        cases = policy.start(codes[part], bought[part], closed[part])
        held, paid = bought[part].reshape(-1, n_units), spent[part].reshape(-1)
        truth = np.repeat(labels[part], n_states)
        may = rules.open(held, paid) & (cases.scores[:, :n_units] > -np.inf)
        usable = np.where(may, cases.scores[:, :n_units], -np.inf)
        best = np.concatenate([usable, cases.scores[:, n_units:]], axis=1).argmax(axis=1)
        buys = np.flatnonzero(best < n_units)
        if skipped is not None:
            may &= ~np.repeat(skipped[part], n_states, axis=0)
            may[buys, best[buys]] = True
        state, unit = np.nonzero(may)
        worth = np.full(held.shape, np.nan)
        for first in range(0, len(state), size):
            s, u = state[first : first + size], unit[first : first + size]
            step = np.arange(len(s))
            children, owned = cases.part(s), held[s]
            cost = rules.price(owned)[step, u]
            children.grow(u)
            owned[step, u] = True
            answer, total = policy.finish(children, owned, paid[s] + cost)
            worth[s, u] = paid[s] - total - rules.losses[answer, truth[s]]
        played += len(state)
        follow = -rules.losses[np.maximum(best - n_units, 0), truth]
        follow[buys] = worth[buys, best[buys]]
        purchases[part] = worth.reshape(-1, n_states, n_units)
        values[part] = follow.reshape(-1, n_states)
    return purchases, values, played
