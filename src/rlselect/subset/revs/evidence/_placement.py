"""Blocks of rows that are not in memory here: in a temporary file, or with somebody else."""

import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


class Shelf:
    """A temporary file for designs of blocks; it is gone with this object, or with the process."""

    def __init__(self) -> None:
        self._file: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_file": None}

    def put(self, block: Any) -> "Spilled":
        """Write the design of a block."""
        if self._file is None:
            # open as long as a block may be asked for
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        X = np.ascontiguousarray(block.X)
        self._file.seek(0, 2)
        start = self._file.tell()
        self._file.write(X.data)
        self._file.flush()
        return Spilled(self, start, X.shape, X.dtype, replace(block, X=None))

    def get(self, start: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """Read a design."""
        self._file.seek(start)
        return np.fromfile(self._file, dtype=dtype, count=int(np.prod(shape))).reshape(shape)


@dataclass
class Spilled:
    """A block whose design is in a file."""

    shelf: Shelf
    start: int
    shape: tuple[int, ...]
    dtype: Any
    rest: Any

    def load(self) -> Any:
        """Read the design."""
        return replace(self.rest, X=self.shelf.get(self.start, self.shape, self.dtype))


@dataclass
class Placed:
    """A block that somebody else holds.

    Attributes
    ----------
    rows : object
        Which rows, in the words of who holds them.
    size : int
        How many.
    how : callable
        Makes the block of a batch of these rows.
    handle : object, optional
        What the holder finds the block by, once it was made.
    """

    rows: Any
    size: int
    how: Callable[[Any], Any]
    handle: Any = None

    def __len__(self) -> int:
        return self.size
