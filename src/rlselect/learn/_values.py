"""What has been learnt about each action in each subset."""

import math

import numpy as np
from numpy.typing import NDArray


def subset_key(mask: NDArray[np.bool_]) -> bytes:
    r"""Immutable, hashable name of a subset: the mask packed into bits.

    Parameters
    ----------
    mask : bool array of shape (n_units,)
        Which units are in the subset.

    Returns
    -------
    bytes
        ``ceil(n_units / 8)`` bytes; :func:`key_mask` is the inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.learn import subset_key
    >>> subset_key(np.array([True, False, True]))
    b'\xa0'
    """
    return np.packbits(mask).tobytes()


def key_mask(key: bytes, n_units: int) -> NDArray[np.bool_]:
    """Rebuild the mask of a key made by :func:`subset_key`."""
    return np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=n_units).astype(bool)


class ValueTable:
    r"""Values of actions, keyed by subset.

    ``Q(s, a)`` is zero until updated and stored only where visited, so that thousands of subsets with
    ``p + 1`` actions each cost memory only for the pairs that were tried. :meth:`sarsa` is equation (6)
    of [1]_.

    Parameters
    ----------
    n_actions : int
        Number of feasible actions in every subset (``p`` flips and one "stay" make ``p + 1``).

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS).

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.learn import ValueTable, subset_key
    >>> empty, first = (subset_key(np.array(mask, dtype=bool)) for mask in ([0, 0], [1, 0]))
    >>> table = ValueTable(3)
    >>> table.sarsa(empty, 0, reward=2.0, next_key=first, next_action=2, rate=0.5, discount=0.9)
    1.0
    >>> table.values(empty)
    array([1., 0., 0.])
    >>> table.best_actions(first)
    array([0, 1, 2])
    """

    def __init__(self, n_actions: int) -> None:
        if n_actions < 1:
            raise ValueError(f"n_actions must be at least 1, got {n_actions!r}")
        self.n_actions = n_actions
        self._q: dict[bytes, dict[int, float]] = {}
        self._updates: dict[bytes, dict[int, int]] = {}

    def __len__(self) -> int:
        """Number of subsets with a stored value."""
        return len(self._q)

    def get(self, key: bytes, action: int) -> float:
        """``Q(s, a)``; zero when the pair was never updated."""
        return self._q.get(key, {}).get(action, 0.0)

    def visited(self, key: bytes) -> dict[int, float]:
        """Every updated action of a subset with its value (a copy)."""
        return dict(self._q.get(key, {}))

    def values(self, key: bytes) -> NDArray[np.float64]:
        """``Q(s, .)`` over all actions, zero where never updated."""
        return self._dense(self._q.get(key), np.zeros(self.n_actions))

    def counts(self, key: bytes) -> NDArray[np.intp]:
        """How often each action of a subset was updated."""
        return self._dense(self._updates.get(key), np.zeros(self.n_actions, dtype=np.intp))

    @staticmethod
    def _dense(known: dict | None, dense: NDArray) -> NDArray:
        if known:
            dense[list(known)] = list(known.values())
        return dense

    def best_value(self, key: bytes) -> float:
        """Maximum of ``Q(s, .)`` over all actions, the never-updated ones (zero) included."""
        known = self._q.get(key, {})
        top = max(known.values(), default=-math.inf)
        return top if len(known) == self.n_actions else max(top, 0.0)

    def best_actions(self, key: bytes) -> NDArray[np.intp]:
        """All maximisers of ``Q(s, .)``, never-updated actions (zero) included."""
        dense = self.values(key)
        return np.flatnonzero(dense == dense.max())

    def is_best(self, key: bytes, action: int) -> bool:
        """Whether ``action`` maximises ``Q(s, .)``; costs only the visited actions."""
        return self.get(key, action) >= self.best_value(key)

    def sarsa(
        self,
        key: bytes,
        action: int,
        *,
        reward: float,
        next_key: bytes,
        next_action: int,
        rate: float,
        discount: float,
    ) -> float:
        """Equation (6): ``Q(s,a) += rate * (reward + discount * Q(s',a') - Q(s,a))``, which is returned."""
        if not (0 <= action < self.n_actions and 0 <= next_action < self.n_actions):
            raise ValueError(
                f"actions run from 0 to {self.n_actions - 1}, got {action!r} and {next_action!r}"
            )
        old = self.get(key, action)
        new = old + rate * (reward + discount * self.get(next_key, next_action) - old)
        self._q.setdefault(key, {})[action] = new
        updates = self._updates.setdefault(key, {})
        updates[action] = updates.get(action, 0) + 1
        return new
