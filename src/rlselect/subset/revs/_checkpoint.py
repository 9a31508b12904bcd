"""Progress of a long search on disk: written whole or not at all, and only for the data it came from."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rlselect._compat import user_level
from rlselect.data import DataSource
from rlselect.persist import (
    NotAtHand,
    Unreadable,
    Unsavable,
    checked_state,
    content_digest,
    load_object,
    save_object,
)

# a save costs far less than so many seconds of search
_EVERY = 30.0
_KIND = "search of REVS"
# what a search may refer to, in words
_OUTSIDE = {"workers": "a Dask cluster (a `Client`)"}
# what a state says that is not whole; what is wrong with the data comes as `ValueError` or `OSError`
_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError)
# reasons after which a search would not go on if it were started again
_FINISHED = (
    "decided",
    "decided on a sample",
    "all rows",
    "memory",
    "converged",
    "nothing to choose from",
    "max stages",
)


class Checkpoint:
    """A file that holds where a search stands: arrays and plain values, see `rlselect.persist`.

    Parameters
    ----------
    path : str or Path
        The file; its folder must exist.
    table : DataSource
        The data, which are not saved.
    options : dict
        What else decides the answer.
    """

    def __init__(self, path: Any, table: DataSource, options: dict[str, Any]) -> None:
        self._path = Path(path)
        self._where = f"checkpoint={str(path)!r}"
        if self._path.is_dir() or not self._path.absolute().parent.is_dir():
            raise ValueError(
                f"{self._where} cannot be written: give the name of a file in a folder that exists."
            )
        self._table = table
        held = [table.n_rows, table.columns, np.dtype(table.dtype), table.fingerprint()]
        try:
            self._print = content_digest({**options, "table": held}, "REVS")
        except Unsavable as error:
            raise ValueError(
                f"{self._where} cannot keep this search: {error} Use a policy of "
                "rlselect.subset, or no checkpoint."
            ) from None
        self._last = time.monotonic()
        self._warned = False

    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._last >= _EVERY

    def save(self, state: dict[str, Any], outside: dict[str, Any]) -> None:
        """Write the state; what is `outside` is only referred to.

        A kill at any moment leaves the file as it was before or as it is after. A disk that is full, or a
        place that cannot be written, is a warning: the search is worth more than its checkpoint.
        """
        whole = {"state": state, "random": outside["rng"].bit_generator.state}
        try:
            save_object(self._path, _KIND, whole, self._shared(outside), self._print, "the search")
        except OSError as error:
            self._warn(f"could not be written ({error.strerror or error}); what was there before is kept")
        self._last = time.monotonic()

    def load(self, outside: dict[str, Any], kinds: dict[str, type]) -> dict[str, Any] | None:
        """Return what was saved, and set the random numbers to where they were; None if nothing was.

        `kinds` are the classes of the parts of the state.
        """
        if not self._path.exists():
            return None
        try:
            found = load_object(self._path, _KIND, self._shared(outside), wanted=self._print)
            if found is not None:
                return _checked(found.thing, outside["rng"].bit_generator, kinds)
        except NotAtHand as error:
            raise ValueError(
                f"{self._where} was written by a search that had {_OUTSIDE.get(error.name, error.name)}, "
                "and this one has not: go on with the same, or remove the file to start anew."
            ) from None
        except (Unreadable, OSError) as error:
            reason = error if isinstance(error, Unreadable) else f"cannot be read ({error.strerror})"
            raise ValueError(
                f"{self._where} is not a checkpoint of this library as it was written: the file {reason}. "
                "Remove it to start anew, or give another name."
            ) from None
        raise ValueError(
            f"{self._where} belongs to other data or other options, or to another version of this library; "
            "remove the file to start anew, or give another name."
        )

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Within it a search goes on from what was loaded: if it breaks, the file held no whole search.

        The checksum and the names of classes were right, so somebody has made the file by hand.
        """
        try:
            yield
        except _BROKEN as error:
            raise ValueError(
                f"{self._where} does not hold a whole search ({type(error).__name__}: {error}). Remove the "
                "file to start anew, or give another name."
            ) from error

    def end(self, stop_reason: str) -> None:
        """Forget the progress of a search that has ended by itself."""
        if stop_reason not in _FINISHED:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"could not be removed ({error.strerror or error})")

    def _shared(self, outside: dict[str, Any]) -> dict[str, Any]:
        return {"table": self._table, **outside}

    def _warn(self, what: str) -> None:
        # once: the next attempts, every half minute, fail for the same reason
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._where} {what}; the fit goes on without it.", UserWarning, stacklevel=user_level()
            )


def _checked(found: Any, bits: np.random.BitGenerator, kinds: dict[str, type]) -> dict[str, Any]:
    state = found.get("state") if isinstance(found, dict) else None
    if not isinstance(state, dict) or state.keys() != kinds.keys():
        raise Unreadable("does not hold a search")
    if not all(type(state[name]) is kind for name, kind in kinds.items()):
        raise Unreadable("does not hold a search")
    bits.state = checked_state(bits.state, found.get("random"))
    return state
