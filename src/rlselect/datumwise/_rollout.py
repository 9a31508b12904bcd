"""What each action is worth in sampled states when the policy is followed afterwards."""

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._policy import AdditivePolicy
from rlselect.kernels._rollouts import greedy_rollouts, ruled_rollouts

__all__ = ["state_values"]

# Numbers in the score matrix of one block of rollouts: what the second-level cache holds.
_BLOCK = 1 << 17


def state_values(
    policy: AdditivePolicy,
    codes: NDArray,
    closed: NDArray,
    labels: NDArray,
    bought: NDArray,
    spent: NDArray,
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

    Returns
    -------
    purchases : (rows, K, units) array
        Return of buying each unit and following the policy; NaN where it cannot be bought.
    values : (rows, K) array
        Return of following the policy at once.
    n_rollouts : int
        How many episodes were played.
    """
    rules = policy.structure
    n, n_states, n_units = bought.shape
    purchases = np.full(bought.shape, np.nan, dtype=np.float32)
    values = np.empty((n, n_states))
    n_actions = policy.theta.shape[1]
    played = 0
    block = max(1, 4 * _BLOCK // (n_units * n_actions))
    for begin in range(0, n, block):
        part = slice(begin, min(begin + block, n))
        additions = policy.additions(codes[part])
        held = bought[part]
        m = len(held)
        scores = policy.theta[0] + held.astype(np.float32) @ additions
        shut = held | closed[part][:, None, :]
        scores[..., :n_units][shut] = -np.inf
        flat_held, flat_spent = held.reshape(-1, n_units), spent[part].reshape(-1)
        may = ~shut.reshape(-1, n_units) & rules.open(flat_held, flat_spent)
        state, unit = np.nonzero(may)
        flat_scores = scores.reshape(m * n_states, n_actions)
        flat_labels = np.repeat(labels[part], n_states)
        worth = _play(
            policy, additions.reshape(-1, n_actions), flat_scores, flat_held, flat_spent, flat_labels,
            state, unit, n_states,
        )  # fmt: skip
        played += len(state)
        out = np.full((m * n_states, n_units), np.nan, dtype=np.float32)
        out[state, unit] = worth
        purchases[part] = out.reshape(m, n_states, n_units)
        usable = flat_scores
        usable[:, :n_units][~may] = -np.inf
        best = usable.argmax(axis=1)
        answer = -rules.losses[np.maximum(best - n_units, 0), flat_labels]
        bought_best = out[np.arange(len(best)), np.minimum(best, n_units - 1)]
        values[part] = np.where(best < n_units, bought_best, answer).reshape(m, n_states)
    return purchases, values, played


def _play(
    policy: AdditivePolicy,
    additions: NDArray,
    scores: NDArray,
    held: NDArray,
    spent: NDArray,
    labels: NDArray,
    state: NDArray,
    unit: NDArray,
    n_states: int,
) -> NDArray:
    """Return of buying `unit` in `state` and following the policy, for each pair."""
    rules = policy.structure
    n_units = held.shape[1]
    worth = np.empty(len(state))
    size = max(1, _BLOCK // scores.shape[1])
    count = held.sum(axis=1) if rules.budget is not None else None
    for begin in range(0, len(state), size):
        s, u = state[begin : begin + size], unit[begin : begin + size]
        base = (s // n_states) * n_units
        step = np.arange(len(s))
        start = scores.take(s, axis=0)
        start += additions.take(base + u, axis=0)
        start[step, u] = -np.inf
        if rules.plain:
            left = None if count is None else rules.budget - count[s] - 1
            answer, paid = greedy_rollouts(start, additions, base, rules.prices, left)
            paid += rules.prices[u]
        else:
            before = held[s]
            first = rules.price(before)[step, u]
            before[step, u] = True
            answer, paid = ruled_rollouts(
                start, additions, base, before, spent[s] + first, (rules.open, rules.price)
            )
            paid -= spent[s]
        worth[begin : begin + size] = -paid - rules.losses[answer, labels[s]]
    return worth
