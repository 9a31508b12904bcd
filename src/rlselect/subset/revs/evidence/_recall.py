"""Subsets that a walk comes back to, as they were solved the last time."""

from collections.abc import Hashable
from typing import Any

import numpy as np

# of two hundred columns some thousand subsets; of many columns the few that a walk goes to and fro between
_BYTES = 3 * 2**23


class Recall:
    """Solved subsets by name; beyond so many bytes those that were not asked for the longest are dropped.

    What is kept must not be changed in place by whoever gets it.

    Parameters
    ----------
    most_bytes : int
        Memory of all arrays together.
    """

    def __init__(self, most_bytes: int = _BYTES) -> None:
        self._left = most_bytes
        self._kept: dict[Hashable, tuple[dict[str, Any], int]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, name: Hashable) -> dict[str, Any] | None:
        """What was put there, None where nothing is left."""
        found = self._kept.pop(name, None)
        if found is None:
            return None
        self._kept[name] = found
        return found[0]

    def put(self, name: Hashable, solved: dict[str, Any]) -> None:
        """Keep what was solved."""
        old = self._kept.pop(name, None)
        size = sum(map(_size, solved.values()))
        self._left += (0 if old is None else old[1]) - size
        self._kept[name] = solved, size
        while self._left < 0 and self._kept:
            _, dropped = self._kept.pop(next(iter(self._kept)))
            self._left += dropped

    def copy(self) -> "Recall":
        """The same subsets, with a memory of its own from here on."""
        twin = Recall(self._left)
        twin._kept = dict(self._kept)
        return twin


def _size(value: Any) -> int:
    """Bytes of an array, or of the arrays in a tuple."""
    if isinstance(value, tuple):
        return sum([part.nbytes for part in value if isinstance(part, np.ndarray)])
    return value.nbytes if isinstance(value, np.ndarray) else 0
