"""The record of a walk over subsets."""

import time
from bisect import bisect_right
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROW = np.dtype(
    [
        ("action", np.int32),
        ("moved", np.bool_),
        ("segment", np.int32),
        ("size", np.int32),
        ("reward", np.float64),
        ("score", np.float64),
        ("cost", np.float64),
        ("rows", np.int64),
        ("seconds", np.float64),
    ]
)

# A mask is kept every so many rows: a subset is rebuilt from at most this many actions.
_CHECKPOINT = 1024


class Trajectory:
    """Every visited subset with its action, reward, score, cost, rows read and seconds.

    Actions are stored, subsets are rebuilt when asked for: a row takes 53 bytes whatever the number of units.
    Row ``i`` describes stage ``i`` and the subset the walk stood in *after* it.

    Parameters
    ----------
    n_units : int
        Number of selectable units.
    start : bool array of shape (n_units,), default=None
        Subset before the first stage; None is the empty one.

    Notes
    -----
    An action is written as in [1]_: ``+j`` adds unit ``j - 1``, ``-j`` removes it, ``0`` stays.

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS).

    Examples
    --------
    >>> from rlselect.learn import Trajectory
    >>> walk = Trajectory(3)
    >>> walk.append(+2, reward=0.5)
    >>> walk.append(+3, reward=-0.1, moved=False)
    >>> walk.append(+1, reward=0.2)
    >>> walk.subset_at(1)
    array([False,  True, False])
    >>> walk.inclusion()
    array([0.33333333, 1.        , 0.        ])
    """

    def __init__(self, n_units: int, start: ArrayLike | None = None) -> None:
        self.n_units = int(n_units)
        self._rows = np.zeros(64, dtype=_ROW)
        self._n = 0
        self._positions: list[int] = []
        self._masks: list[NDArray[np.uint8]] = []
        self._segments: list[int] = []
        self._mask = np.zeros(self.n_units, dtype=bool)
        self._size = 0
        self._clock = time.perf_counter()
        self.restart(self._mask if start is None else start)

    def __len__(self) -> int:
        """Number of recorded stages."""
        return self._n

    @property
    def current(self) -> NDArray[np.bool_]:
        """The subset the walk stands in now (a copy)."""
        return self._mask.copy()

    @property
    def n_segments(self) -> int:
        """Number of starts: one, and one more for each :meth:`restart`."""
        return len(self._segments)

    def segment_range(self, segment: int) -> tuple[int, int]:
        """First row of a segment and the row after its last one."""
        begin = self._segments[segment]
        following = range(self.n_segments)[segment] + 1
        return begin, self._segments[following] if following < self.n_segments else self._n

    def restart(self, mask: ArrayLike) -> None:
        """Begin a new segment at another subset, without an action; an empty segment is replaced."""
        start = np.array(mask, dtype=bool)
        if start.shape != (self.n_units,):
            raise ValueError(f"a subset is a mask of {self.n_units} units, got shape {start.shape}")
        if self._segments and self._segments[-1] == self._n:
            self._segments.pop()
        self._segments.append(self._n)
        self._mask, self._size = start, int(np.count_nonzero(start))
        self._checkpoint()

    def append(
        self,
        action: int,
        *,
        reward: float = np.nan,
        moved: bool = True,
        score: float = np.nan,
        cost: float = 0.0,
        rows: int = 0,
        seconds: float | None = None,
    ) -> None:
        """Record one stage.

        Parameters
        ----------
        action : int
            ``+j`` adds unit ``j - 1``, ``-j`` removes it, ``0`` stays.
        reward : float
            Reward of the action.
        moved : bool
            Whether the walk took the step; False records an action that was tried and turned down.
        score, cost : float
            Of the subset after the stage.
        rows : int
            Rows read so far.
        seconds : float, default=None
            Time since the start; None reads the clock.
        """
        unit = abs(action) - 1
        if unit >= self.n_units or (action and self._mask[unit] == (action > 0)):
            raise ValueError(self._impossible(action))
        if self._n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        moved = bool(moved and action)
        size = self._size + (0 if not moved else 1 if action > 0 else -1)
        elapsed = time.perf_counter() - self._clock if seconds is None else seconds
        row = (action, moved, len(self._segments) - 1, size, reward, score, cost, rows, elapsed)
        self._rows[self._n] = row
        self._n += 1
        if moved:
            self._mask[unit] = action > 0
            self._size = size
        if self._n - self._positions[-1] >= _CHECKPOINT:
            self._checkpoint()

    def subset_at(self, i: int) -> NDArray[np.bool_]:
        """The subset after stage ``i`` (negative counts from the end), rebuilt in O(n_units)."""
        i = range(self._n)[i]
        place = bisect_right(self._positions, i) - 1
        mask = np.unpackbits(self._masks[place], count=self.n_units).astype(bool)
        stages = self._rows[self._positions[place] : i + 1]
        units = np.abs(stages["action"][stages["moved"]]) - 1
        units, times = np.unique(units, return_counts=True)
        mask[units] ^= times % 2 == 1
        return mask

    def inclusion(
        self, start: int = 0, stop: int | None = None, weights: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Share of rows ``start <= i < stop`` whose subset holds each unit.

        Parameters
        ----------
        start, stop : int
            Range of rows; ``stop=None`` is the end.
        weights : array of shape (stop - start,), default=None
            Weight of each row; None weighs all rows alike.

        Returns
        -------
        array of shape (n_units,)
            Shares between 0 and 1, in O(n_units + rows) whatever the sizes of the subsets.
        """
        stop = self._n if stop is None else stop
        if not 0 <= start < stop <= self._n:
            raise ValueError(f"rows {start} to {stop} are not a part of the {self._n} recorded ones")
        weight = np.ones(stop - start) if weights is None else np.asarray(weights, dtype=float)
        if weight.shape != (stop - start,):
            raise ValueError(
                f"weights must have one entry for each of {stop - start} rows, got {weight.shape}"
            )
        share = np.zeros(self.n_units)
        edges = [start, *(s for s in self._segments if start < s < stop), stop]
        for begin, end in pairwise(edges):
            part = self._rows[begin:end]
            tail = np.cumsum(weight[begin - start : end - start][::-1])[::-1]
            moved = part["moved"]
            action = part["action"][moved]
            share += self._before(begin) * tail[0]
            # Entering at row i adds the weight of rows i, i+1, ...; leaving takes it away.
            share += np.bincount(np.abs(action) - 1, np.sign(action) * tail[moved], minlength=self.n_units)
        return np.clip(share / weight.sum(), 0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Columns as plain arrays: segment, action, moved, size, reward, score, cost, rows, seconds."""
        return {str(name): self._rows[name][: self._n].copy() for name in _ROW.names or ()}

    def _before(self, i: int) -> NDArray[np.bool_]:
        place = bisect_right(self._positions, i) - 1
        if self._positions[place] == i:
            return np.unpackbits(self._masks[place], count=self.n_units).astype(bool)
        return self.subset_at(i - 1)

    def _checkpoint(self) -> None:
        self._positions.append(self._n)
        self._masks.append(np.packbits(self._mask))

    def _impossible(self, action: int) -> str:
        if abs(action) > self.n_units:
            return f"actions run from {-self.n_units} to {self.n_units}, got {action}"
        where = "already in" if action > 0 else "not in"
        return f"action {action:+d}: unit {abs(action) - 1} is {where} the subset"
